"""Write a file so that a reader finds the old content or the new, and never half of it."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say in one line which file cannot be written, and what to do, where the ``with`` block finds that it cannot.

    Args:
        path: what the block writes: a file, or a folder.

    Raises:
        OSError: of the kind that the block raised, or that PyTorch made a RuntimeError of.

    Example:
        >>> with writing(Path("runs/score.txt")):
        ...     raise OSError(errno.ENOSPC, "No space left on device")
        Traceback (most recent call last):
        OSError: runs/score.txt cannot be written (No space left on device); make room there, or choose another folder
    """
    try:
        yield
    except (OSError, RuntimeError) as error:
        cause = error.__context__ if isinstance(error, RuntimeError) else error
        if not isinstance(cause, OSError) or cause.strerror is None:  # nothing of ours, or said already
            raise
        advice = "make room there" if cause.errno in FULL else f"make {path.parent} writable"
        message = f"{path} cannot be written ({cause.strerror}); {advice}, or choose another folder"
        raise type(cause)(message) from error


@contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` once the ``with`` block has ended.

    The block writes to a file beside it, with ``.part`` added to the name. That file reaches the disk before it is
    renamed, and renaming is atomic: a process that is killed in between leaves ``path`` as it was. If the block raises
    an error, ``path`` stays as it was too, and the other file is removed.

    Args:
        path: the file to write; its folder must exist.

    Yields:
        The file to write to, in binary mode.

    Raises:
        OSError: the file cannot be written or renamed; what was there stays.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "score.txt")
        ...     with replace_file(path) as file:
        ...         _ = file.write(b"1.25")
        ...     path.read_text()
        '1.25'
    """
    part = path.with_name(path.name + ".part")
    try:
        with writing(path):
            with part.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
    except BaseException:  # Ctrl-C too: a half-written file is of no use to anybody
        part.unlink(missing_ok=True)
        raise

"""Real corpora by name: downloaded once, verified every time, split once and for all.

Files are read from the folder that ``UNROLLED_MIRROR`` names, and nothing is ever written there. Without a mirror they
come from the cache, and pooch downloads what is missing or damaged there. Either way, each file must have the digest
that ``registry.txt`` gives.
"""

import difflib
import os
from dataclasses import dataclass
from pathlib import Path

from unrolled.text.sources import SOURCES, STAND_INS, CorpusError, File, Source


@dataclass(frozen=True)
class Corpus:
    """A text in its parts, as `load_corpus` returns it.

    Attributes:
        name: its name in `SOURCES`.
        train: the text to train on.
        validation: the text to choose by.
        test: the text to report on, once; empty where the split has only two parts.
        files: the files it was read from: a stand-in where only that is there, not the published file.

    >>> Corpus("fox", "The quick brown fox", " jumps", "", ()).validation
    ' jumps'
    """

    name: str
    train: str
    validation: str
    test: str
    files: tuple[File, ...]


def source(name: str) -> Source:
    """Return a corpus's row of the table.

    Raises:
        ValueError: no corpus has that name; the message suggests the nearest.
    """
    if name not in SOURCES:
        near = difflib.get_close_matches(name, SOURCES, n=1)
        suggestion = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"no corpus is called {name!r}; {suggestion}There are {', '.join(SOURCES)}")
    return SOURCES[name]


def load_corpus(name: str) -> Corpus:
    """Return a corpus, downloaded the first time and verified every time.

    Args:
        name: one of `SOURCES`.

    Raises:
        ValueError: no corpus has that name; the message suggests the nearest.
        CorpusError: a file cannot be read, downloaded or stored, or is not the published one.

    >>> load_corpus("tiny-shakespear")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: no corpus is called 'tiny-shakespear'; did you mean 'tiny-shakespeare'? There are ...
    """
    row = source(name)
    for file in row.files:
        if not _intact(file):
            _download(name, file)
    files = tuple(map(_intact, row.files))
    texts = {file.path: (folder() / file.path).read_bytes().decode(file.encoding) for file in files}
    return Corpus(name, *row.split(texts), files)


def state(name: str) -> str:
    """Return whether a corpus can be read without a download: "mirrored", "cached", "damaged" or "not here".

    Raises:
        ValueError: no corpus has that name.
    """
    files = source(name).files
    if all(map(_intact, files)):
        return "mirrored" if os.environ.get("UNROLLED_MIRROR") else "cached"
    return "damaged" if all((folder() / file.path).exists() for file in files) else "not here"


def folder() -> Path:
    """Return the folder that corpora are read from: the mirror that ``UNROLLED_MIRROR`` names, else the cache.

    The cache is the folder that ``UNROLLED_CACHE`` names, or ``unrolled`` in the user's cache folder.
    """
    if named := os.environ.get("UNROLLED_MIRROR") or os.environ.get("UNROLLED_CACHE"):
        return Path(named).expanduser()
    import pooch  # here, since only a corpus needs it and importing it takes a moment

    return pooch.os_cache("unrolled")


def _intact(file: File) -> File | None:
    """Return the file, or else its stand-in, if the folder holds it with the right digest."""
    choices = filter(None, (file, STAND_INS.get(file.path)))
    return next((choice for choice in choices if choice.matches(folder() / choice.path)), None)


def _download(name: str, file: File) -> None:
    """Put a file into the cache; raise CorpusError, and leave nothing there, if that fails or there is a mirror."""
    path = folder() / file.path
    if os.environ.get("UNROLLED_MIRROR"):
        raise CorpusError(
            f"{name}: {path} cannot be read or is another file: its {file.check} must begin with {file.digest[:12]}; "
            "put the right file there, or unset UNROLLED_MIRROR to download it"
        )
    import pooch

    def download(url: str, part: str, cache: pooch.Pooch) -> None:
        os.unlink(part)  # pooch made it for this user only; made again, it follows the umask
        pooch.HTTPDownloader(progressbar=True)(url, part, cache)
        if not known and not file.matches(Path(part)):
            raise ValueError(f"its {file.check} must begin with {file.digest[:12]}")

    known = file.digest if file.check == "SHA-256" else None  # pooch cannot check a git blob id
    cache = pooch.create(folder(), "", registry={file.path: known}, urls={file.path: file.url}, retry_if_failed=2)
    try:
        path.unlink(missing_ok=True)
        cache.fetch(file.path, downloader=download)
    except (OSError, ValueError) as error:  # the network's errors are OSErrors too
        raise CorpusError(
            f"{name}: cannot download {file.url} to {path} ({error}); try again with a network and room on the disk, "
            f"set UNROLLED_CACHE to another folder, or set UNROLLED_MIRROR to a folder that holds {file.path}"
        ) from error

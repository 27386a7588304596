"""A file is replaced as a whole or not at all."""

import errno
import re
import signal
import subprocess
import sys
import textwrap

import pytest

from unrolled.whole_files import replace_file


def test_the_new_content_takes_the_place_of_the_old(tmp_path):
    path = tmp_path / "run.pt"
    path.write_bytes(before := b"first")
    for content in (b"2nd", b"last"):
        with replace_file(path) as file:
            file.write(content)
            file.flush()
            assert path.read_bytes() == before  # which a reader finds until the block ends
        assert path.read_bytes() == (before := content)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_an_error_in_the_block_leaves_the_old_content_alone(tmp_path, error):
    path = tmp_path / "run.pt"
    path.write_bytes(b"old")
    with pytest.raises(error), replace_file(path) as file:
        file.write(b"new")
        raise error
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("step", ["os.fsync", "os.replace"])
def test_a_disk_that_fails_at_the_end_leaves_the_old_content_alone(tmp_path, monkeypatch, step):
    def full_disk(*_):
        raise OSError(28, "No space left on device")

    path = tmp_path / "run.pt"
    path.write_bytes(b"old")
    monkeypatch.setattr(step, full_disk)
    with pytest.raises(OSError, match="No space left"), replace_file(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


def test_a_process_killed_in_the_middle_leaves_the_old_content_and_the_next_one_writes(tmp_path):
    path = tmp_path / "run.pt"
    path.write_bytes(b"old")
    script = """
        import os, signal, sys
        from pathlib import Path
        from unrolled.whole_files import replace_file
        with replace_file(Path(sys.argv[1])) as file:
            file.write(b"new")
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script), path])
    assert killed.returncode == -signal.SIGKILL and path.read_bytes() == b"old"
    with replace_file(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new" and list(tmp_path.iterdir()) == [path]


def test_a_folder_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError), replace_file(tmp_path / "nowhere" / "run.pt"):
        raise AssertionError("there is nothing to write to")


@pytest.mark.parametrize("name", ["score.txt", "weights.pt"])  # PyTorch makes another error of the disk's
def test_of_a_full_disk_the_error_says_which_file_and_what_to_do(tmp_path, name):
    script = """
        import resource, sys, torch
        from pathlib import Path
        from unrolled.whole_files import replace_file
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            with replace_file(Path(sys.argv[1])) as file:
                torch.save(torch.zeros(9999), file) if sys.argv[1].endswith("pt") else file.write(bytes(9999))
        except OSError as error:
            print(error)
    """
    path = tmp_path / name
    process = subprocess.run([sys.executable, "-c", textwrap.dedent(script), path], capture_output=True, text=True)
    expected = f"{path} cannot be written (File too large); make room there, or choose another folder\n"
    assert (process.stdout, list(tmp_path.iterdir())) == (expected, []), process.stderr


def test_a_folder_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def read_only(*_):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("os.replace", read_only)
    expected = f"{tmp_path / 'run.pt'} cannot be written (Read-only file system); make {tmp_path} writable, or choose"
    with pytest.raises(OSError, match=re.escape(expected)), replace_file(tmp_path / "run.pt") as file:
        file.write(b"new")

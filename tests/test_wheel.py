"""The package: the wheel, installed alone, has what the library reads; the source archive makes the same one."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import address
from places import ROOT
from unrolled.text import stories

pytestmark = pytest.mark.book
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
READ = """
from pathlib import Path
import unrolled
from unrolled import records
from unrolled.text import stories

print(Path(unrolled.__file__).parent, all(records.load(name) for name in records.names()))
print(stories.corpus(1).text, end="")
"""


def run(*command: str, **options) -> str:
    """Return what a command prints; fail with it if the command fails."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """A copy of the project's own files, so that building leaves nothing beside the originals."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so the project's own files are unknown")
    folder = tmp_path_factory.mktemp("source")
    for path in address.files(ROOT):
        (copy := folder / path.relative_to(ROOT)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
    return folder


def build(source: Path, into: Path) -> Path:
    """Build the wheel of a folder or a source archive, and return it."""
    run(*PIP, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(into), str(source))
    (wheel,) = into.glob("unrolled-*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory) -> Path:
    """The wheel of the project."""
    return build(source, tmp_path_factory.mktemp("wheel"))


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files in a wheel, name to content."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_an_installed_wheel_reads_every_record_and_draws_a_story(wheel, tmp_path):
    run(*PIP, "install", "--no-deps", "--no-index", "--no-compile", "--target", str(tmp_path / "installed"), str(wheel))
    # -P keeps the working directory off the path; the target goes before the environment's own packages
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "installed")}
    printed = run(sys.executable, "-P", "-c", READ, cwd=tmp_path, env=environment)
    assert printed == f"{tmp_path / 'installed' / 'unrolled'} True\n{stories.corpus(1).text}"


def test_the_wheel_has_every_file_of_the_library_and_nothing_else(source, wheel):
    library = {str(path.relative_to(source / "lib")) for path in (source / "lib/unrolled").rglob("*") if path.is_file()}
    assert {name for name in contents(wheel) if ".dist-info/" not in name} == library
    assert "unrolled/py.typed" in library


def test_the_source_archive_makes_the_same_wheel(source, wheel, tmp_path):
    backend = "from setuptools.build_meta import build_sdist; import sys; build_sdist(sys.argv[1])"
    run(sys.executable, "-c", backend, str(tmp_path), cwd=source)
    (archive,) = tmp_path.glob("unrolled-*.tar.gz")
    assert contents(build(archive, tmp_path)) == contents(wheel)

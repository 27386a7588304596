"""The package: the wheel, installed alone, has what the library reads; the source archive makes the same one."""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import address
from unrolled.text import stories

ROOT = Path(__file__).resolve().parent.parent
pytestmark = pytest.mark.book

READ = """
import json, sys
from pathlib import Path
import unrolled
from unrolled.text import stories

package = Path(unrolled.__file__).parent
records = {path.name: len(json.loads(path.read_text(encoding="utf-8"))) for path in package.rglob("records/*.json")}
print(json.dumps([str(package), stories.corpus(1).text, records]))
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
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(into), str(source))
    (wheel,) = into.glob("unrolled-*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(source, tmp_path_factory) -> Path:
    """The wheel of the project."""
    return build(source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The folder where the wheel is installed, alone."""
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-deps", "--no-index"]
    run(*pip, "--no-compile", "--target", str(target), str(wheel))
    return target


def python(installed: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    """Run Python with the installed library."""
    # -P keeps the working directory off the path; the target goes before the environment's own packages
    environment = os.environ | {"PYTHONPATH": str(installed)}
    command = [sys.executable, "-P", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


def test_an_installed_wheel_draws_a_story_and_has_every_record(installed, tmp_path):
    done = python(installed, "-c", READ, cwd=tmp_path)
    package, story, records = json.loads(done.stdout)
    assert Path(package) == installed / "unrolled"
    assert story == stories.corpus(1).text
    assert set(records) == {path.name for path in (ROOT / "lib" / "unrolled").rglob("records/*.json")}
    assert records and all(records.values())


def contents(wheel: Path) -> dict[str, bytes]:
    """Return the files in a wheel, name to content."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_the_wheel_has_every_file_of_the_library_and_says_that_it_is_typed(source, wheel):
    library = {str(path.relative_to(source / "lib")) for path in (source / "lib").rglob("*") if path.is_file()}
    library = {name for name in library if name.startswith("unrolled/")}  # not what building leaves beside it
    assert {name for name in contents(wheel) if name.startswith("unrolled/")} == library
    assert "unrolled/py.typed" in library


def test_the_source_archive_makes_the_same_wheel(source, wheel, tmp_path):
    backend = "from setuptools.build_meta import build_sdist; import sys; build_sdist(sys.argv[1])"
    run(sys.executable, "-c", backend, str(tmp_path), cwd=source)
    (archive,) = tmp_path.glob("unrolled-*.tar.gz")
    assert contents(build(archive, tmp_path)) == contents(wheel)


def test_the_laboratory_is_never_installed(installed, wheel, tmp_path):
    assert not [name for name in contents(wheel) if name.startswith(("lab/", "tests/", "tools/"))]
    done = python(installed, "-c", "import unrolled.records as r; r.load('coin')", cwd=tmp_path)
    assert "there is no record of 'coin'; measure it, in a clone of the book, with: python -m lab run" in done.stderr

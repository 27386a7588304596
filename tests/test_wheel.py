"""The wheel, installed alone: what the library reads at run time is in it."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from unrolled.text import stories

ROOT = Path(__file__).resolve().parent.parent

READ = """
import json, sys
from pathlib import Path
import unrolled
from unrolled.text import stories

package = Path(unrolled.__file__).parent
records = {path.name: len(json.loads(path.read_text(encoding="utf-8"))) for path in package.rglob("measured/*.json")}
print(json.dumps([str(package), stories.corpus(1).text, records]))
"""


def builds() -> bool:
    """Return whether this environment has a setuptools that pyproject.toml allows."""
    try:
        return int(version("setuptools").split(".")[0]) >= 77
    except PackageNotFoundError:
        return False


def run(*command: str, **options) -> str:
    """Return what a command prints; fail with it if the command fails."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.book
def test_an_installed_wheel_draws_a_story_and_has_every_record(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    for path in (ROOT / "pyproject.toml", ROOT / "README.md", *ROOT.glob("LICENSE*")):
        shutil.copy(path, source)
    shutil.copytree(ROOT / "lib", source / "lib", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    here = ["--no-build-isolation"] if builds() else []
    run(*pip, "wheel", "--no-deps", *here, "--wheel-dir", str(tmp_path), str(source))
    (wheel,) = tmp_path.glob("unrolled-*.whl")
    run(*pip, "install", "--no-deps", "--no-index", "--no-compile", "--target", str(target), str(wheel))

    # -P keeps the working directory off the path; the target goes before the environment's own packages
    printed = run(sys.executable, "-P", "-c", READ, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(target)})
    package, story, records = json.loads(printed)
    assert Path(package) == target / "unrolled"
    assert story == stories.corpus(1).text
    assert set(records) == {path.name for path in (ROOT / "lib" / "unrolled").rglob("measured/*.json")}
    assert records and all(records.values())

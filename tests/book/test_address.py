"""The bootstrap cell of every notebook, and the book's address and version, wherever they stand."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

import address
from exercises import bootstrap_cell
from places import ROOT

pytestmark = pytest.mark.book
NOTEBOOKS = sorted(p for folder in ("chapters", "solutions", "exercises") for p in ROOT.glob(f"{folder}/*.ipynb"))


def test_the_bootstrap_cell_is_the_first_code_and_the_same_everywhere():
    for path in NOTEBOOKS:
        code = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
        assert code[0] == bootstrap_cell(), f"{path}: renew it: make exercises"


def test_the_bootstrap_cell_does_nothing_where_the_library_is(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it called pip"))
    exec(bootstrap_cell(), {})


def test_the_bootstrap_cell_says_what_it_could_not_install_and_fetches_nothing_from_the_placeholder(tmp_path):
    """In a Python without the library, also where a folder has the library's name."""
    hide = "import sys; sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)]\n"
    hide += "sys.path = [''] + [p for p in sys.path if not p.endswith('/lib')]\n"
    placeholder = re.sub(r"git\+[^@]+@", "git+https://github.com/OWNER/unrolled@", bootstrap_cell())
    (tmp_path / "unrolled").mkdir()
    for settings, code, message in (
        ({"UNROLLED_ADDRESS": "./nowhere"}, bootstrap_cell(), "pip could not install ./nowhere"),
        ({"UNROLLED_ADDRESS": ""}, placeholder.replace('"UNROLLED_ADDRESS"', '"NONE"'), "the book has no address yet"),
    ):
        command = [sys.executable, "-c", hide + code]
        done = subprocess.run(command, cwd=tmp_path, env=os.environ | settings, capture_output=True, text=True)
        assert done.returncode and message in done.stderr


@pytest.fixture
def copy(tmp_path) -> Path:
    """A git checkout with a copy of the project's own files."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout, so the project's own files are unknown")
    for path in address.files(ROOT):
        target = tmp_path / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


def holding(root: Path, words: str) -> list[str]:
    """Return the project's files below `root` that hold an expression, each with how often."""
    texts = ((path, path.read_bytes().decode("utf8", "replace")) for path in address.files(root))
    return [f"{path.relative_to(root)}: {count}" for path, text in texts if (count := len(re.findall(words, text)))]


def test_address_and_version_change_everywhere_and_again(copy):
    owner, name = address.HOLDER.search((ROOT / "pyproject.toml").read_text()).groups()
    version = address.VERSION.search((ROOT / "pyproject.toml").read_text("utf8"))[1]
    places = holding(copy, rf"{owner}/{name}\b|{owner}\.github\.io/{name}\b")
    tags = (
        r'/blob/v{0}/|@v{0}\b|^version: {0}$|^__version__ = "{0}"|^  branch: v{0}\b|\(Version {0}\)|version = \{{{0}\}}'
    )
    versions = holding(copy, "(?m)" + tags.format(re.escape(version)))
    assert len(places) > len(NOTEBOOKS) + 4 and len(versions) > len(NOTEBOOKS) + 4
    project = copy / "pyproject.toml"
    for new in (("mary", "loops"), ("grace-h", "unrolled")):
        project.write_text(address.VERSION.sub('version = "12.3.0rc1"', project.read_text("utf8")), "utf8")
        address.move(copy, f"https://github.com/{'/'.join(new)}")
        assert holding(copy, rf"\b{owner}/{name}\b|\b{owner}\.github\.io") == []
        owner, name = new
        assert holding(copy, rf"\b{owner}/{name}\b|\b{owner}\.github\.io/{name}\b") == places
        assert holding(copy, "(?m)" + tags.format(re.escape("12.3.0rc1"))) == versions
    for path in copy.glob("chapters/*.ipynb"):
        nbformat.validate(nbformat.read(path, as_version=4))


@pytest.mark.parametrize("url", ["github.com/ada/unrolled", "https://github.com/ada", "https://github.com/a/un rolled"])
def test_a_malformed_address_is_refused_with_a_right_one(url, tmp_path):
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    with pytest.raises(SystemExit, match=r"right is: make address URL=https://github\.com/you/unrolled"):
        address.move(tmp_path, url)

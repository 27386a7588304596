"""The bootstrap cell of every notebook, and the book's address and version, wherever they stand."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

import address
import bootstrap_cell
from places import ROOT

pytestmark = pytest.mark.book
NOTEBOOKS = sorted(p for folder in ("chapters", "solutions", "exercises") for p in ROOT.glob(f"{folder}/*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_bootstrap_cell_is_the_first_code_and_the_same_everywhere(path):
    code = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert code[0] == bootstrap_cell.text(), "renew it: .venv/bin/python tools/bootstrap_cell.py"
    assert not [source for source in code[1:] if source.startswith(bootstrap_cell.MARK)]


def test_the_bootstrap_cell_does_nothing_where_the_library_is(monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("it called pip"))
    exec(bootstrap_cell.text(), {})


def bootstrap(folder: Path, code: str = bootstrap_cell.text(), **settings: str) -> str:
    """Run the bootstrap cell in a folder, in a Python without the library, and return what it says when it fails."""
    hide = "import sys; sys.meta_path = [f for f in sys.meta_path if 'editable' not in repr(f)]\n"
    hide += "sys.path = [''] + [p for p in sys.path if not p.endswith('/lib')]\n"
    environment = {name: value for name, value in os.environ.items() if name != "UNROLLED_ADDRESS"} | settings
    command = [sys.executable, "-c", hide + code]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode
    return done.stderr


@pytest.mark.parametrize("beside", ["nothing", "unrolled"])
def test_the_bootstrap_cell_says_what_it_could_not_install(tmp_path, beside):
    """An address that leads nowhere fails with that address, also where a folder has the library's name."""
    (tmp_path / beside).mkdir()
    assert "pip could not install ./nowhere" in bootstrap(tmp_path, UNROLLED_ADDRESS="./nowhere")


def test_the_bootstrap_cell_fetches_nothing_from_the_placeholder(tmp_path):
    code = bootstrap_cell.TEXT.replace("{repository}", "https://github.com/OWNER/unrolled")
    called = "import subprocess; subprocess.run = lambda *_, **__: sys.exit('it called pip')\n"
    message = bootstrap(tmp_path, called + code).splitlines()[-1]
    assert message.startswith("RuntimeError: the book has no address yet: set UNROLLED_ADDRESS, or run make address")
    assert "it called pip" in bootstrap(tmp_path, called + code, UNROLLED_ADDRESS="./here")


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
    """Return the project's files below `root` that hold an expression."""
    texts = ((path, path.read_bytes().decode("utf8", "replace")) for path in address.files(root))
    return [str(path.relative_to(root)) for path, text in texts if re.search(words, text)]


def test_the_address_changes_everywhere_and_again(copy, monkeypatch):
    monkeypatch.setattr(bootstrap_cell, "ROOT", copy)
    owner, name = address.HOLDER.search((ROOT / "pyproject.toml").read_text()).groups()
    places = holding(copy, rf"{owner}/{name}|{owner}\.github\.io")
    assert {"pyproject.toml", "_config.yml", "README.md", "CITATION.cff"} <= set(places)
    for new_owner, new_name in (("ada", "rnn-book"), ("grace-h", "unrolled")):
        address.move(copy, f"https://github.com/{new_owner}/{new_name}")
        assert holding(copy, rf"\b{owner}/{name}\b|\b{owner}\.github\.io") == []
        assert holding(copy, rf"\b{new_owner}/{new_name}\b|\b{new_owner}\.github\.io") == places
        assert f"git+https://github.com/{new_owner}/{new_name}@v" in bootstrap_cell.text()
        for path in copy.glob("chapters/*.ipynb"):
            nbformat.validate(nbformat.read(path, as_version=4))
        owner, name = new_owner, new_name


def versions(root: Path) -> dict[str, set[str]]:
    """Return the versions, or tags, that buttons, notebooks, metadata and library name, by the place."""
    read = {path: path.read_text("utf8") for path in address.files(root) if path.suffix in (".ipynb", ".md")}
    versions = {path.name: set(re.findall(r"git\+https://[^@\s]+@([^\"\\]+)", text)) for path, text in read.items()}
    versions |= {"badges": {tag for text in read.values() for tag in re.findall(r"colab\S+/blob/([^/]+)/", text)}}
    versions["buttons"] = {yaml.safe_load((root / "_config.yml").read_text("utf8"))["repository"]["branch"]}
    versions["citation"] = {"v" + str(yaml.safe_load((root / "CITATION.cff").read_text("utf8"))["version"])}
    library = (root / "lib" / "unrolled" / "__init__.py").read_text("utf8")
    versions["library"] = {"v" + re.search(r'^__version__ = "(.+)"$', library, re.MULTILINE)[1]}
    return {place: tags for place, tags in versions.items() if tags}


def test_text_library_and_buttons_are_of_one_tag_which_the_version_decides(copy):
    now = versions(copy)
    assert {"badges", "buttons", "citation", "library"} | {path.name for path in NOTEBOOKS} == set(now)
    tag = "v" + address.VERSION.search((ROOT / "pyproject.toml").read_text("utf8"))[1]
    assert set().union(*now.values()) == {tag}, "renew them: make address"
    project = copy / "pyproject.toml"
    project.write_text(address.VERSION.sub('version = "12.3.0rc1"', project.read_text("utf8")), "utf8")
    address.move(copy, "https://github.com/ada/rnn-book")
    address.move(copy)
    assert versions(copy) == {place: {"v12.3.0rc1"} for place in now}
    assert holding(copy, re.escape(f"{tag}/")) == []


@pytest.mark.parametrize(
    "url", ["", "github.com/ada/unrolled", "https://github.com/ada", "https://github.com/ada/un rolled"]
)
def test_a_malformed_address_is_refused_with_a_right_one(url):
    with pytest.raises(ValueError, match=r"right is: make address URL=https://github\.com/you/unrolled"):
        address.parse(url)


def test_other_names_are_left_alone():
    text = "lib/unrolled https://github.com/lib/unrolled-two https://github.com/lib/unrolled.git"
    moved = address.replace(text, ("lib", "unrolled"), ("ada", "book"))
    assert moved == "lib/unrolled https://github.com/lib/unrolled-two https://github.com/ada/book.git"

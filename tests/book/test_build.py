"""The pages: every one is listed, what leads nowhere stops the build, and an address is said where there is one."""

import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import nbformat
import pytest
import yaml

import book
import vendor
from places import ROOT

pytestmark = pytest.mark.book


def test_every_page_and_every_notebook_is_in_the_table_of_contents():
    toc = list(book.parse_toc_data(book.contents(student=False)))
    assert [name for name in toc if not any((ROOT / f"{name}{end}").is_file() for end in (".md", ".ipynb"))] == []
    for folder in ("chapters", "exercises", "solutions"):
        notebooks = [f"{folder}/{path.stem}" for path in sorted(ROOT.glob(f"{folder}/*.ipynb"))]
        assert notebooks == [name for name in toc if name.startswith(f"{folder}/")]


def test_nothing_in_the_student_edition_leads_to_the_solutions():
    whole, given = (list(book.parse_toc_data(book.contents(student))) for student in (False, True))
    assert [name for name in whole if name not in given] == [name for name in whole if name.startswith("solutions/")]
    for path in (ROOT / f"{name}{end}" for name in given for end in (".md", ".ipynb")):
        assert not path.is_file() or not re.search(r"\]\([./]*solutions/|`[./]*solutions/\d", path.read_text()), path


def test_a_page_of_solutions_is_called_one_and_shows_no_comments_for_the_generator(tmp_path):
    code = "def double(x):\n    ### BEGIN SOLUTION\n    ### HINT add\n    return x + x  ### kept\n    ### END SOLUTION"
    graded = nbformat.v4.new_code_cell("assert double(1) == 2", metadata={"nbgrader": {"grade": True}})
    task = nbformat.v4.new_markdown_cell(
        "## Exercise 9.1: Twice\n\n*Build.*\n\nDo it.\n\n<details>\nA hint.\n</details>"
    )
    cells = [nbformat.v4.new_markdown_cell("# Exercises: twice\n\nHow."), task, nbformat.v4.new_code_cell(code), graded]
    path = tmp_path / "solutions" / "99-scratch.ipynb"
    path.parent.mkdir()
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    first, told, second, folded = book.stored(path).cells
    assert first.source.startswith("# Solutions: twice\n\nEach task") and "hint" not in told.source
    assert (
        told.source.endswith("<summary>The task</summary>\n\nDo it.\n\n</details>")
        and second.source == "def double(x):\n    return x + x  ### kept"
    )
    assert folded.metadata.tags == ["hide-input"] and "tags" not in second.metadata


GOOD = "See {doc}`pages/bibliography`, {eq}`eq-x` and {cite:t}`Elman1990`.\n\n$$ x $$ (eq-x)\n"
BROKEN = {"{doc}`nowhere`": "nowhere", "{eq}`eq-none`": "eq-none", "{numref}`fig-none`": "fig-none"}
BROKEN |= {"{ref}`no-label`": "no-label", "{cite:t}`Nobody1900`": "Nobody1900", "[there](#no-anchor)": "no-anchor"}


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A function that builds a book of two pages, the first with a text, at an address, and returns its folder."""
    old = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["html"]["baseurl"].rstrip("/")

    def built(text: str, address: str) -> Path:
        for folder in ("data", "figures", "exercises"):
            (tmp_path / folder).mkdir()
        for folder in ("_static", "_templates"):
            shutil.copytree(ROOT / "pages" / folder, tmp_path / "pages" / folder)
        for name in ("data/references.bib", "pages/bibliography.md", "constraints.txt"):
            shutil.copyfile(ROOT / name, tmp_path / name)
        content = (ROOT / "_config.yml").read_text(encoding="utf8")
        content = content.replace("/OWNER/", f"/{urlsplit(address).netloc.partition('.')[0]}/")  # the repository's
        (tmp_path / "_config.yml").write_text(content.replace(old, address.rstrip("/")), encoding="utf8")
        toc = "{format: jb-book, root: intro, parts: [{chapters: [{file: pages/bibliography}]}]}"
        (tmp_path / "_toc.yml").write_text(toc)
        (tmp_path / "intro.md").write_text(f"# Title\n\n{text}\n")
        for name, path in {"ROOT": ".", "BUILD": "_build", "SOURCE": "_build/source"}.items():
            monkeypatch.setattr(book, name, tmp_path / path)
        book.assemble({}, None, student=False)
        book.sphinx()
        return tmp_path / "_build" / "html"

    return built


def test_references_that_lead_nowhere_stop_the_build_and_are_named(build, capfd):
    with pytest.raises(SystemExit, match="none counts as built"):
        build("\n\n".join([GOOD, *BROKEN]), "https://OWNER.github.io/unrolled/")
    errors = capfd.readouterr().err
    assert [name for name in BROKEN.values() if name not in errors] == []


def test_an_address_is_on_the_pages_where_there_is_one(build):
    address = "https://ada.github.io/rnn-book/"
    html = build(GOOD, address)
    page = (html / "pages" / "bibliography.html").read_text(encoding="utf8")
    assert f'<link rel="canonical" href="{address}pages/bibliography.html"' in page
    assert f'<meta property="og:url" content="{address}pages/bibliography.html"' in page
    assert f"<loc>{address}pages/bibliography.html</loc>" in (html / "sitemap.xml").read_text(encoding="utf8")
    assert 'href="https://github.com/ada/unrolled/issues/new?title=pages/bibliography">Report an error</a>' in page
    assert 'href="/rnn-book/_static/' in (html / "404.html").read_text(encoding="utf8")


@pytest.mark.parametrize("owner, has", [("OWNER", False), ("ada", True)])
def test_without_an_address_there_are_no_buttons_and_without_npm_no_scripts(owner, has):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))
    config["html"]["baseurl"] = f"https://{owner}.github.io/unrolled/"
    made = book.settled(config, serves_scripts=not has)
    options = made["sphinx"]["config"]
    assert ("mathjax_path" in options) != has and ("sphinx_sitemap" in options["extensions"]) == has
    assert any(name.startswith(("ogp_", "sitemap_")) for name in options) == has


def test_a_script_that_is_not_the_pinned_one_is_refused_and_without_npm_that_is_said(tmp_path, monkeypatch):
    npm = tmp_path / "npm"
    npm.write_text("#!/bin/sh\necho something else > mathjax.tgz\n")
    npm.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda name: str(npm))
    with pytest.raises(vendor.VendorError, match=r"mathjax@3.2.2 has SHA-256 .*, not 1b9c0.* as pinned"):
        vendor.fetch(tmp_path / "vendor")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(vendor.VendorError, match="npm is not installed"):
        vendor.fetch(tmp_path / "vendor")

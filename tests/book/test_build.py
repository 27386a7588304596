"""The pages: every one is listed, what leads nowhere stops the build, and an address is said where there is one."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
import yaml

import book
import vendor
from places import ROOT

pytestmark = pytest.mark.book


def test_every_page_in_the_table_of_contents_exists_and_every_notebook_is_in_it():
    toc = book.pages(yaml.safe_load((ROOT / "_toc.yml").read_text()))
    assert [name for name in toc if not any((ROOT / f"{name}{end}").is_file() for end in (".md", ".ipynb"))] == []
    for folder in ("chapters", "exercises", "solutions"):
        notebooks = [f"{folder}/{path.stem}" for path in sorted(ROOT.glob(f"{folder}/*.ipynb"))]
        assert notebooks == [name for name in toc if name.startswith(f"{folder}/")]


def test_a_chapter_has_a_short_name_and_under_it_its_exercises_and_solutions():
    parts = {part["caption"]: part["chapters"] for part in book.contents(student=False)["parts"]}
    for chapter in parts["Chapters"]:
        name = chapter["file"].removeprefix("chapters/")
        assert len(chapter["title"]) <= 22, f"{chapter['title']!r} does not fit into the sidebar"
        assert chapter["sections"] == [
            {"file": f"exercises/{name}", "title": "Exercises"},
            {"file": f"solutions/{name}", "title": "Solutions"},
        ]


def test_the_student_edition_lacks_the_solutions_and_nothing_leads_to_them():
    whole, given = book.pages(book.contents(student=False)), book.pages(book.contents(student=True))
    assert [name for name in whole if name not in given] == [name for name in whole if name.startswith("solutions/")]
    assert len(given) < len(whole)
    files = [ROOT / f"{name}{end}" for name in given for end in (".md", ".ipynb")]
    leading = [
        path.name
        for path in files
        if path.is_file() and re.search(r"\]\([./]*solutions/|`[./]*solutions/\d", path.read_text())
    ]
    assert leading == []


def test_pages_of_solutions_show_no_comments_for_the_generator(tmp_path):
    code = "def double(x):\n    ### BEGIN SOLUTION\n    ### HINT add\n    return x + x  ### kept\n    ### END SOLUTION"
    cells = [nbformat.v4.new_markdown_cell("# Exercises: twice\n\n### A heading"), nbformat.v4.new_code_cell(code)]
    for folder, title, expected in (
        ("solutions", "# Solutions", "def double(x):\n    return x + x  ### kept"),
        ("exercises", "# Exercises", code),
    ):
        path = tmp_path / folder / "99-scratch.ipynb"
        path.parent.mkdir()
        nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
        first, second = book.stored(path).cells
        assert first.source == f"{title}: twice\n\n### A heading"
        assert second.source == expected
        assert nbformat.read(path, as_version=4).cells[1].source == code


def test_the_checks_of_an_exercise_are_folded_below_its_task(tmp_path):
    graded = nbformat.v4.new_code_cell("assert double(1) == 2", metadata={"nbgrader": {"grade": True}})
    task = nbformat.v4.new_code_cell("def double(x): ...", metadata={"nbgrader": {"grade": False}})
    (tmp_path / "exercises").mkdir()
    path = tmp_path / "exercises" / "99-scratch.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# One"), task, graded]), path)
    _, shown, folded = book.stored(path).cells
    assert "tags" not in shown.metadata and folded.metadata.tags == ["hide-input"]
    assert folded.metadata.mystnb.code_prompt_show == "How it is checked"


GOOD = "See {doc}`pages/bibliography`, {eq}`eq-x` and {cite:t}`Elman1990`.\n\n$$ x $$ (eq-x)\n"
BROKEN = {"{doc}`nowhere`": "nowhere", "{eq}`eq-none`": "eq-none", "{numref}`fig-none`": "fig-none"}
BROKEN |= {"{ref}`no-label`": "no-label", "{cite:t}`Nobody1900`": "Nobody1900", "[there](#no-anchor)": "no-anchor"}


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A function that builds a book of two pages, the first with a text, at an address, and returns its folder."""
    here, now = "https://OWNER.github.io/unrolled/", yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["html"]

    def built(text: str, address: str = here) -> Path:
        for folder in ("data", "figures"):
            (tmp_path / folder).mkdir()
        shutil.copytree(ROOT / "pages" / "_static", tmp_path / "pages" / "_static")
        for name in ("data/references.bib", "pages/bibliography.md", "constraints.txt"):
            shutil.copyfile(ROOT / name, tmp_path / name)
        for source in (ROOT / "_config.yml", ROOT / "CITATION.cff"):
            content, old = source.read_text(encoding="utf8"), now["baseurl"].rstrip("/")
            assert old in content
            (tmp_path / source.name).write_text(content.replace(old, address.rstrip("/")), encoding="utf8")
        toc = "{format: jb-book, root: intro, parts: [{chapters: [{file: pages/bibliography}]}]}"
        (tmp_path / "_toc.yml").write_text(toc)
        (tmp_path / "intro.md").write_text(f"# Title\n\n{text}\n")
        for name, path in {
            "ROOT": tmp_path,
            "BUILD": tmp_path / "_build",
            "SOURCE": tmp_path / "_build/source",
        }.items():
            monkeypatch.setattr(book, name, path)
        book.assemble({}, None, student=False)
        book.sphinx()
        return tmp_path / "_build" / "html"

    return built


def test_references_that_lead_nowhere_stop_the_build_and_are_named(build, tmp_path, capfd):
    with pytest.raises(SystemExit, match="none counts as built"):
        build("\n\n".join([GOOD, *BROKEN]))
    errors = capfd.readouterr().err
    assert [name for name in BROKEN.values() if name not in errors] == []
    assert not (tmp_path / "_build" / "html.key").exists()


@pytest.mark.parametrize("address", ["https://OWNER.github.io/unrolled/", "https://ada.github.io/rnn-book/"])
def test_addresses_are_on_the_pages_where_there_is_one(build, address, capfd):
    html = build(GOOD, address)
    assert "eq-x" not in capfd.readouterr().err and html.with_suffix(".key").exists()
    page = (html / "pages" / "bibliography.html").read_text(encoding="utf8")
    has = "OWNER" not in address
    assert (f'<link rel="canonical" href="{address}pages/bibliography.html"' in page) == has
    assert (f'<meta property="og:url" content="{address}pages/bibliography.html"' in page) == has
    text = re.sub("<[^>]*>", "", page)
    assert "@software{unrolled" in text and (f"[Computer software]. {address.rstrip('/')}" in text) == has
    assert (html / "sitemap.xml").is_file() == has
    if has:
        assert f"<loc>{address}pages/bibliography.html</loc>" in (html / "sitemap.xml").read_text(encoding="utf8")
    assert f'href="{book.urlsplit(address).path}_static/' in (html / "404.html").read_text(encoding="utf8")


@pytest.mark.parametrize("owner, has", [("OWNER", False), ("ada", True)])
def test_buttons_for_colab_are_there_where_there_is_an_address(owner, has):
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))
    config["html"]["baseurl"] = f"https://{owner}.github.io/unrolled/"
    made = book.settled(config, serves_scripts=not has)
    options = made["sphinx"]["config"]
    assert ("launch_buttons" in made) == has and (options["myst_substitutions"]["colab"] == book.NO_COLAB) != has
    assert ("mathjax_path" in options) != has, "scripts that the site serves are loaded from there"


def test_a_script_that_is_not_the_pinned_one_is_refused(tmp_path):
    archive = tmp_path / "mathjax.tgz"
    archive.write_bytes(b"something else")
    with pytest.raises(vendor.VendorError, match=r"mathjax\.tgz has SHA-256 .*, not 1b9c0.* as pinned"):
        vendor.unpack(archive, vendor.PACKAGES["mathjax@3.2.2"][0], {}, tmp_path)


def test_without_npm_the_book_says_that_it_falls_back(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(vendor.VendorError, match="npm is not installed"):
        vendor.fetch(tmp_path / "vendor")

"""The commands and the tools behind them: each error in one clear line, nothing stale, nothing left behind."""

import base64
import io
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import nbformat
import pytest
import yaml
from PIL import Image, ImageChops

import address
import book
import bootstrap_cell
import chapters
import citation
import compat
import environment
import execute
import lint_scripts
import vendor
from places import ROOT

pytestmark = pytest.mark.book
NOTEBOOKS = sorted(p for folder in ("chapters", "solutions", "exercises") for p in ROOT.glob(f"{folder}/*.ipynb"))


def notebook(folder: Path, *cells: str, name: str = "99-scratch.ipynb") -> Path:
    """Write a notebook of code cells and return its path."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    content = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbformat.write(content, path)
    return path


# The environment


@pytest.mark.parametrize("version", [(3, 10), (3, 14)])
def test_an_unsupported_python_is_named_with_a_way_out(version):
    said = environment.obstacle(version, has_venv=True)
    assert re.search(rf"Python {version[0]}\.{version[1]} .*3\.11, 3\.12 or 3\.13.*PYTHON=python3\.12", said)
    assert "\n" not in said


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_a_missing_venv_module_is_named_with_its_package(version):
    said = environment.obstacle(version, has_venv=False)
    assert f"apt install python3.{version[1]}-venv" in said and "\n" not in said
    assert environment.obstacle(version, has_venv=True) is None


def test_the_environment_is_complete_by_its_stamp():
    """A stamp of another content, or none, starts the installation over; this one was found right by `make`."""
    assert environment.stamp() == subprocess.run(
        [sys.executable, "-c", "import environment; print(environment.fingerprint(), end='')"],
        cwd=ROOT / "tools", capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip


def test_a_failed_installation_quotes_pip_and_leaves_no_stamp(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "LOG", str(tmp_path / "pip.log"))
    failing = tmp_path / "python"
    failing.write_text("#!/bin/sh\necho Collecting torch==2.13.0\necho 'ERROR: no space left'\nexit 1\n")
    failing.chmod(0o755)
    with pytest.raises(SystemExit, match=r"ERROR: no space left\nThe installation failed .* starts it over"):
        environment.install(str(failing))


def pins(name: str) -> dict[str, str]:
    """Return the packages pinned in a requirements file, name to version; a line that is no exact pin fails."""
    versions = {}
    for line in (ROOT / name).read_text().splitlines():
        if line.split("#")[0].strip():
            package, version = re.fullmatch(r"([\w.-]+)==([\w.]+)\s*(?:#.*)?", line).groups()
            versions[re.sub(r"[-_.]+", "-", package).lower()] = version
    return versions


def test_requirements_are_pinned_exactly_and_each_says_why():
    assert "playwright" in pins("requirements.txt") and "nbgrader" in pins("requirements.txt")
    for line in (ROOT / "requirements.txt").read_text().splitlines():
        assert not line or line.startswith("#") or re.fullmatch(r"\S+\s+# .{10,}", line), f"no reason: {line}"


def test_constraints_pin_every_requirement_at_the_same_version_and_more():
    required, frozen = pins("requirements.txt"), pins("constraints.txt")
    assert required.items() <= frozen.items()
    assert len(frozen) > 4 * len(required)
    assert not {name for name in frozen if name.startswith(("nvidia", "triton", "cuda"))}, "of one platform only"


# The commands


def test_help_lists_every_command():
    printed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^make (\w+) +\S", printed, re.MULTILINE)
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert set(listed) == set(phony) - {"environment"}
    assert {"book", "html", "chapters", "exercises", "records", "check", "test", "bench", "compat"} <= set(listed)


def test_what_the_commands_call_exists():
    called = re.findall(r"\b((?:tools|benchmarks)/\w+\.py)", (ROOT / "Makefile").read_text())
    assert len(called) >= 8
    assert [name for name in called if not (ROOT / name).is_file()] == []


STAGES = ("ruff check", "ruff format", "lint_scripts.py", "tools/book.py", "tools/validate.py", "--durations=10")
STANDS_FOR_PYTHON = """#!/bin/sh
echo "$@" >> ../calls
case "$*" in *"$CHANGED_BY"*) echo more >> "$FILE" ;; *"$FAILED_BY"*) exit 3 ;; esac
"""


def make_test(folder: Path, **settings: str) -> tuple[subprocess.CompletedProcess, list[str]]:
    """Run `make test` in a small checkout where each stage only does what the settings say; return the stages begun."""
    root = folder / "project"
    root.mkdir()
    shutil.copyfile(ROOT / "Makefile", root / "Makefile")
    (root / "python").write_text(STANDS_FOR_PYTHON)
    (root / "python").chmod(0o755)
    subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    subprocess.run(["git", "add", "--all"], cwd=root, check=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "all"], cwd=root, check=True)
    nothing = {"CHANGED_BY": "no stage", "FAILED_BY": "no stage", "FILE": "Makefile"}
    ours = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}  # not an outer make's
    made = subprocess.run(
        ["make", "test", "PYTHON=true", "RUN=./python"],
        cwd=root, capture_output=True, text=True, env=ours | nothing | settings,
    )  # fmt: skip
    return made, (folder / "calls").read_text().splitlines()


def test_make_test_runs_every_stage_and_says_nothing_after_the_last(tmp_path):
    made, calls = make_test(tmp_path)
    assert made.returncode == 0 and made.stdout.splitlines()[-1] == "== tests"
    assert len(calls) == len(STAGES) and all(stage in call for stage, call in zip(STAGES, calls, strict=True))


@pytest.mark.parametrize("number", range(len(STAGES)))
def test_a_stage_that_fails_stops_make_test(tmp_path, number):
    made, calls = make_test(tmp_path, FAILED_BY=STAGES[number])
    assert made.returncode and len(calls) == number + 1


@pytest.mark.parametrize("file", ["Makefile", "left-over.txt"])
@pytest.mark.parametrize("number, name", list(enumerate(["lint", "format", "scripts", "book", "chapters", "tests"])))
def test_a_stage_that_changes_the_projects_own_files_stops_make_test(tmp_path, number, name, file):
    made, calls = make_test(tmp_path, CHANGED_BY=STAGES[number], FILE=file)
    assert made.returncode and len(calls) == number + 1
    assert f"FAILED: '{name}' changed the project's own files" in made.stdout


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


def test_a_skip_fails_where_nothing_may_be_skipped(tmp_path, monkeypatch):
    shutil.copyfile(ROOT / "tests" / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / "test_one.py").write_text("import pytest\ndef test_one():\n    pytest.skip('no browser')\n")
    (tmp_path / "test_two.py").write_text("import pytest\npytest.importorskip('no_such_module')\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null", tmp_path]
    command += ["--continue-on-collection-errors"]
    for name in ("UNROLLED_STRICT", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    lenient = subprocess.run(command, capture_output=True, text=True)
    monkeypatch.setenv("UNROLLED_STRICT", "1")
    strict = subprocess.run(command, capture_output=True, text=True)
    assert "2 skipped" in lenient.stdout and "failed" not in lenient.stdout
    assert strict.returncode and "and yet this was skipped: Skipped: no browser" in strict.stdout
    assert "no_such_module" in strict.stdout and "skipped in" not in strict.stdout


# Execution


def test_a_failing_cell_is_reported_with_chapter_number_and_cause(tmp_path):
    path = notebook(
        tmp_path, "x = 1", "def shallow():\n    assert x > 1, 'x is too small'\nshallow()", "print('never')"
    )
    with pytest.raises(execute.ChapterError, match=r"99-scratch, cell 2 \(code cell 2\):") as caught:
        execute.execute(path, tmp_path)
    assert "AssertionError: x is too small" in str(caught.value) and "\x1b" not in str(caught.value)


def test_a_chapter_that_takes_too_long_is_stopped_and_reported(tmp_path):
    path = notebook(tmp_path, "pass", "import time; time.sleep(60)")
    with pytest.raises(execute.ChapterError, match=r"99-scratch, cell 2 .*\n.*longer than 3 s; .* load was \d"):
        execute.execute(path, tmp_path, timeout=3)


def test_a_kernel_that_dies_is_reported(tmp_path):
    path = notebook(tmp_path, "import os; os._exit(1)")
    with pytest.raises(execute.ChapterError, match=r"99-scratch, cell 1 .*\n.*kernel died"):
        execute.execute(path, tmp_path)


def test_the_kernel_is_told_its_switches_and_where_figures_go(tmp_path):
    path = notebook(tmp_path, "import os; print(os.environ['UNROLLED_FIGURES'], os.environ['UNROLLED_SEED'])")
    done = execute.execute(path, tmp_path, UNROLLED_SEED="4")
    assert done.cells[0].outputs[0].text == f"{tmp_path} 4\n"


def test_a_picture_has_few_colours_and_looks_the_same(tmp_path):
    path = notebook(
        tmp_path,
        "from PIL import Image\nimage = Image.radial_gradient('L')\nImage.merge('RGB', [image, image, image])",
    )
    picture = execute.execute(path, tmp_path).cells[0].outputs[0].data["image/png"]
    shown, drawn = Image.open(io.BytesIO(base64.b64decode(picture))), Image.radial_gradient("L")
    assert shown.mode == "P" and shown.size == drawn.size
    assert ImageChops.difference(shown.convert("L"), drawn).getextrema()[1] <= 2


DRAW = "import os, pathlib\nprint(1)\npathlib.Path(os.environ['UNROLLED_FIGURES'], 'square.svg').write_text('<svg/>')"


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    """A small project: one chapter, a library of two files, and pins."""
    notebook(tmp_path / "chapters", DRAW)
    (tmp_path / "tools").mkdir()
    for name in ("execute.py", "side_by_side.py"):
        shutil.copyfile(ROOT / "tools" / name, tmp_path / "tools" / name)
    (tmp_path / "lib" / "unrolled").mkdir(parents=True)
    for name in ("lib/unrolled/cells.py", "lib/unrolled/experiments.toml", "requirements.txt", "constraints.txt"):
        (tmp_path / name).write_text("one")
    monkeypatch.setattr(execute, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "name", ["lib/unrolled/cells.py", "lib/unrolled/experiments.toml", "lib/unrolled/new.py", "requirements.txt"]
)
def test_a_changed_library_or_pin_makes_a_chapter_stale(project, name):
    chapter = project / "chapters" / "99-scratch.ipynb"
    before = execute.key(chapter)
    (project / name).write_text("two")
    assert execute.key(chapter) != before


def test_changed_code_or_profile_makes_a_chapter_stale_but_prose_does_not(project, monkeypatch):
    chapter = project / "chapters" / "99-scratch.ipynb"
    before = execute.key(chapter)
    content = nbformat.read(chapter, as_version=4)
    content.cells.append(nbformat.v4.new_markdown_cell("more prose"))
    nbformat.write(content, chapter)
    assert execute.key(chapter) == before
    monkeypatch.setenv("UNROLLED_PROFILE", "full")
    assert execute.key(chapter) != before
    monkeypatch.delenv("UNROLLED_PROFILE")
    content.cells[0].source = "print(2)"
    nbformat.write(content, chapter)
    assert execute.key(chapter) != before


def test_a_cached_chapter_keeps_its_outputs_and_takes_todays_prose(project, capsys):
    chapter = project / "chapters" / "99-scratch.ipynb"
    execute.executed([chapter])
    content = nbformat.read(chapter, as_version=4)
    content.cells.insert(0, nbformat.v4.new_markdown_cell("today's prose"))
    nbformat.write(content, chapter)
    again = nbformat.read(execute.executed([chapter])[chapter], as_version=4)
    assert "cached" in capsys.readouterr().out
    assert [cell.cell_type for cell in again.cells] == ["markdown", "code"]
    assert again.cells[1].outputs[0].text == "1\n"
    (project / "lib" / "unrolled" / "cells.py").write_text("two")
    execute.executed([chapter])
    assert "cached" not in capsys.readouterr().out


def test_what_make_chapters_has_run_make_book_does_not_run_again(project, capsys):
    chapter = project / "chapters" / "99-scratch.ipynb"
    execute.run([chapter])
    assert chapters.store(chapter, project) == ["square.svg"] and (project / "square.svg").is_file()
    assert "cached" not in capsys.readouterr().out
    copy = nbformat.read(execute.executed([chapter])[chapter], as_version=4)
    assert "cached" in capsys.readouterr().out
    assert copy.cells[0].outputs == nbformat.read(chapter, as_version=4).cells[0].outputs
    assert [figure.name for figure in execute.figures_of(chapter).iterdir()] == ["square.svg"]


def test_of_a_chapter_that_fails_nothing_is_kept_and_nothing_is_changed(project, monkeypatch):
    chapter = project / "chapters" / "99-scratch.ipynb"
    execute.executed([chapter])
    before = notebook(project / "chapters", DRAW + "\nassert False").read_bytes()
    monkeypatch.setattr(chapters, "ROOT", project)
    monkeypatch.setattr(sys, "argv", ["chapters.py"])
    with pytest.raises(SystemExit, match=r"99-scratch, cell 1 .*\n[^$]*AssertionError"):
        chapters.main()
    assert chapter.read_bytes() == before and not (project / "figures").exists()
    with pytest.raises(execute.ChapterError):
        execute.executed([chapter])


EXPLORER = "import ipywidgets\nipywidgets.VBox([ipywidgets.IntSlider(description='k')])"


def test_what_is_stored_holds_nothing_that_changes_from_run_to_run(project):
    path = notebook(project / "chapters", "print(1)", EXPLORER)
    stored = []
    for _ in range(2):
        execute.run([path])
        chapters.store(path, project)
        stored.append(path.read_bytes())
    assert stored[0] == stored[1]
    content = json.loads(stored[0])
    assert set(content["metadata"]) == {"kernelspec", "language_info"}
    assert [cell["execution_count"] for cell in content["cells"]] == [1, 2]


def test_pages_from_stored_outputs_say_where_the_explorer_is(project):
    path = notebook(project / "chapters", EXPLORER)
    execute.run([path])
    chapters.store(path, project)
    book.stored(path, project / "page.ipynb")
    assert book.NO_WIDGET in (project / "page.ipynb").read_text()


def test_pages_of_solutions_show_no_comments_for_the_generator(tmp_path):
    code = "def double(x):\n    ### BEGIN SOLUTION\n    ### HINT add\n    return x + x  ### kept\n    ### END SOLUTION"
    text = nbformat.v4.new_markdown_cell("# Exercises: twice\n\n### A heading")
    for folder, title, expected in (
        ("solutions", "# Solutions", "def double(x):\n    return x + x  ### kept"),
        ("exercises", "# Exercises", code),
    ):
        path = notebook(tmp_path / folder, code)
        content = nbformat.read(path, as_version=4)
        content.cells.insert(0, text)
        nbformat.write(content, path)
        book.stored(path, tmp_path / "page.ipynb")
        first, second = nbformat.read(tmp_path / "page.ipynb", as_version=4).cells
        assert first.source == f"{title}: twice\n\n### A heading"
        assert second.source == expected
        assert nbformat.read(path, as_version=4).cells[1].source == code


GOOD = "See {doc}`pages/bibliography`, {eq}`eq-x` and {cite:t}`Elman1990`.\n\n$$ x $$ (eq-x)\n"
BROKEN = {"{doc}`nowhere`": "nowhere", "{eq}`eq-none`": "eq-none", "{numref}`fig-none`": "fig-none"}
BROKEN |= {"{ref}`no-label`": "no-label", "{cite:t}`Nobody1900`": "Nobody1900", "[there](#no-anchor)": "no-anchor"}


@pytest.mark.parametrize("broken", [False, True])
def test_references_that_lead_nowhere_stop_the_build_and_are_named(tmp_path, monkeypatch, capfd, broken):
    for folder in ("data", "figures", "pages"):
        (tmp_path / folder).mkdir()
    for name in ("_config.yml", "references.bib", "pages/bibliography.md", "constraints.txt"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "_static", tmp_path / "_static")
    (tmp_path / "_toc.yml").write_text(
        "{format: jb-book, root: intro, parts: [{chapters: [{file: pages/bibliography}]}]}"
    )
    (tmp_path / "intro.md").write_text(f"# Title\n\n{GOOD}\n" + "\n\n".join(BROKEN if broken else []))
    for name, path in {"ROOT": tmp_path, "BUILD": tmp_path / "_build", "SOURCE": tmp_path / "_build/source"}.items():
        monkeypatch.setattr(book, name, path)
    book.assemble({}, None, student=False)
    with pytest.raises(SystemExit, match="none counts as built") if broken else nullcontext():
        book.sphinx()
    said = capfd.readouterr().err
    assert [name for name in BROKEN.values() if name not in said] == ([] if broken else list(BROKEN.values()))
    assert (tmp_path / "_build" / "html.key").exists() != broken


CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf8"))


def test_without_an_address_nothing_is_written_that_needs_one():
    made = book.settled(CONFIG | {"html": CONFIG["html"] | {"baseurl": "https://OWNER.github.io/unrolled/"}}, True)
    options = made["sphinx"]["config"]
    assert "baseurl" not in made["html"] and not set(book.NEED_ADDRESS) & set(options["extensions"])
    assert not [name for name in options if name.startswith(("ogp_", "sitemap_"))]
    assert options["notfound_urls_prefix"] == "/unrolled/" and "mathjax_path" in options
    assert "launch_buttons" not in made and options["myst_substitutions"] == {"colab": book.NO_COLAB}


def test_with_an_address_pages_say_theirs():
    html = CONFIG["html"] | {"baseurl": "https://ada.github.io/rnn-book/"}
    made = book.settled(CONFIG | {"html": html}, serves_scripts=False)
    options = made["sphinx"]["config"]
    assert made["html"]["baseurl"] == options["ogp_site_url"] == "https://ada.github.io/rnn-book/"
    assert options["notfound_urls_prefix"] == "/rnn-book/" and set(book.NEED_ADDRESS) <= set(options["extensions"])
    assert not {"mathjax_path", "nb_ipywidgets_js"} & set(options)
    assert made["launch_buttons"] == CONFIG["launch_buttons"] and "rocket" in options["myst_substitutions"]["colab"]


@pytest.mark.parametrize("address", ["https://OWNER.github.io/unrolled/", "https://ada.github.io/rnn-book/"])
def test_addresses_are_on_the_pages_where_there_is_one(tmp_path, monkeypatch, address):
    for folder in ("data", "figures", "pages"):
        (tmp_path / folder).mkdir()
    for name in ("references.bib", "pages/bibliography.md", "constraints.txt"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    config = (ROOT / "_config.yml").read_text(encoding="utf8")
    assert (now := CONFIG["html"]["baseurl"]) in config
    (tmp_path / "_config.yml").write_text(config.replace(now, address), encoding="utf8")
    cited = citation.SOURCE.read_text(encoding="utf8")
    assert now.rstrip("/") in cited
    (tmp_path / "CITATION.cff").write_text(cited.replace(now.rstrip("/"), address.rstrip("/")), encoding="utf8")
    monkeypatch.setattr(citation, "SOURCE", tmp_path / "CITATION.cff")
    shutil.copytree(ROOT / "_static", tmp_path / "_static")
    (tmp_path / "_toc.yml").write_text(
        "{format: jb-book, root: intro, parts: [{chapters: [{file: pages/bibliography}]}]}"
    )
    (tmp_path / "intro.md").write_text(f"# Title\n\n{GOOD}\n")
    for name, path in {"ROOT": tmp_path, "BUILD": tmp_path / "_build", "SOURCE": tmp_path / "_build/source"}.items():
        monkeypatch.setattr(book, name, path)
    book.assemble({}, None, student=False)
    book.sphinx()
    html = tmp_path / "_build" / "html"
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


def test_a_script_that_is_not_the_pinned_one_is_refused(tmp_path):
    archive = tmp_path / "requirejs.tgz"
    archive.write_bytes(b"something else")
    with pytest.raises(vendor.VendorError, match=r"requirejs\.tgz has SHA-256 .*, not 31f33.* as pinned"):
        vendor.unpack(archive, vendor.PACKAGES["requirejs@2.3.7"][0], {}, tmp_path)


def test_without_npm_the_scripts_are_not_linted_and_a_line_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(lint_scripts, "BIOME", tmp_path / "biome")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.delenv("UNROLLED_STRICT", raising=False)
    lint_scripts.main()
    assert capsys.readouterr().out == "The scripts are not linted: npm is not installed.\n"
    monkeypatch.setenv("UNROLLED_STRICT", "1")
    with pytest.raises(SystemExit, match="npm is not installed"):
        lint_scripts.main()


def test_a_script_with_a_mistake_is_found(tmp_path, monkeypatch):
    if reason := lint_scripts.obstacle():
        pytest.skip(reason)
    monkeypatch.setattr(lint_scripts, "ROOT", tmp_path)
    monkeypatch.setattr(lint_scripts, "SETTINGS", tmp_path / "tools" / "lint_scripts.json")
    script = tmp_path / "_static" / "one.js"
    script.parent.mkdir()
    (tmp_path / "tools").mkdir()
    shutil.copyfile(ROOT / "tools" / "lint_scripts.json", lint_scripts.SETTINGS)
    script.write_text("const one = 1;\nconsole.log(one);\n")
    lint_scripts.main()
    for wrong in ("console.log(two);\n", "console.log( 1 )\n"):
        script.write_text(wrong)
        with pytest.raises(SystemExit, match="one.js"):
            lint_scripts.main()


def test_without_npm_the_book_says_that_it_falls_back(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(vendor.VendorError, match="npm is not installed"):
        vendor.fetch(tmp_path / "vendor")


# Elsewhere


def test_colabs_python_is_one_that_runs_and_no_shim(tmp_path, monkeypatch, capsys):
    shim = tmp_path / "python3.9"  # as pyenv leaves one of a version that is not chosen
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.9: command not found' >&2\nexit 127\n")
    shim.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    monkeypatch.setattr(compat, "COLAB_PYTHON", "3.9")
    assert shutil.which("python3.9") == str(shim) and compat.interpreter() == sys.executable
    assert re.match(r"Colab: no Python 3\.9 runs here, so it is tried on 3\.1\d", capsys.readouterr().out)
    monkeypatch.setattr(compat, "COLAB_PYTHON", f"{sys.version_info.major}.{sys.version_info.minor}")
    assert compat.interpreter() != str(shim) and capsys.readouterr().out == ""


def test_every_processor_is_tried_and_one_that_differs_is_named(monkeypatch):
    tried = []

    def run(*command, **settings):
        tried.append((command, settings))
        return "ATEN_CPU_CAPABILITY" in settings

    monkeypatch.setattr(compat, "run", run)
    both = "MKL_CBWR=COMPATIBLE ATEN_CPU_CAPABILITY=default OMP_NUM_THREADS=1"
    assert compat.processors() == ["ATEN_CPU_CAPABILITY=default", both]
    for command, settings in tried:
        assert {"chapters", "--nbval"} < set(command) and settings["UNROLLED_FIGURES"].startswith(str(compat.PLACE))
    assert [len(settings) for _, settings in tried] == [2, 2, 4]


# The bootstrap cell and the address


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
    said = bootstrap(tmp_path, called + code).splitlines()[-1]
    assert said.startswith("RuntimeError: the book has no address yet: set UNROLLED_ADDRESS, or run make address")
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
    found = {path.name: set(re.findall(r"git\+https://[^@\s]+@([^\"\\]+)", text)) for path, text in read.items()}
    found |= {"badges": {tag for text in read.values() for tag in re.findall(r"colab\S+/blob/([^/]+)/", text)}}
    found["buttons"] = {yaml.safe_load((root / "_config.yml").read_text("utf8"))["repository"]["branch"]}
    found["citation"] = {"v" + str(yaml.safe_load((root / "CITATION.cff").read_text("utf8"))["version"])}
    library = (root / "lib" / "unrolled" / "__init__.py").read_text("utf8")
    found["library"] = {"v" + re.search(r'^__version__ = "(.+)"$', library, re.MULTILINE)[1]}
    return {place: tags for place, tags in found.items() if tags}


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

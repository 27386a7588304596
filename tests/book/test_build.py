"""The commands and the tools behind them: each error in one clear line, nothing stale, nothing left behind."""

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

import book
import citation
import environment
import lint_scripts
import vendor
from places import ROOT

pytestmark = pytest.mark.book


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


GOOD = "See {doc}`bibliography`, {eq}`eq-x` and {cite:t}`Elman1990`.\n\n$$ x $$ (eq-x)\n"
BROKEN = {"{doc}`nowhere`": "nowhere", "{eq}`eq-none`": "eq-none", "{numref}`fig-none`": "fig-none"}
BROKEN |= {"{ref}`no-label`": "no-label", "{cite:t}`Nobody1900`": "Nobody1900", "[there](#no-anchor)": "no-anchor"}


@pytest.mark.parametrize("broken", [False, True])
def test_references_that_lead_nowhere_stop_the_build_and_are_named(tmp_path, monkeypatch, capfd, broken):
    for name in ("_config.yml", "references.bib", "bibliography.md", "constraints.txt"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "_static", tmp_path / "_static")
    (tmp_path / "figures").mkdir()
    (tmp_path / "_toc.yml").write_text("{format: jb-book, root: intro, parts: [{chapters: [{file: bibliography}]}]}")
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
    for name in ("references.bib", "bibliography.md", "constraints.txt"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    config = (ROOT / "_config.yml").read_text(encoding="utf8")
    assert (now := CONFIG["html"]["baseurl"]) in config
    (tmp_path / "_config.yml").write_text(config.replace(now, address), encoding="utf8")
    cited = citation.SOURCE.read_text(encoding="utf8")
    assert now.rstrip("/") in cited
    (tmp_path / "CITATION.cff").write_text(cited.replace(now.rstrip("/"), address.rstrip("/")), encoding="utf8")
    monkeypatch.setattr(citation, "SOURCE", tmp_path / "CITATION.cff")
    shutil.copytree(ROOT / "_static", tmp_path / "_static")
    (tmp_path / "figures").mkdir()
    (tmp_path / "_toc.yml").write_text("{format: jb-book, root: intro, parts: [{chapters: [{file: bibliography}]}]}")
    (tmp_path / "intro.md").write_text(f"# Title\n\n{GOOD}\n")
    for name, path in {"ROOT": tmp_path, "BUILD": tmp_path / "_build", "SOURCE": tmp_path / "_build/source"}.items():
        monkeypatch.setattr(book, name, path)
    book.assemble({}, None, student=False)
    book.sphinx()
    html = tmp_path / "_build" / "html"
    page = (html / "bibliography.html").read_text(encoding="utf8")
    has = "OWNER" not in address
    assert (f'<link rel="canonical" href="{address}bibliography.html"' in page) == has
    assert (f'<meta property="og:url" content="{address}bibliography.html"' in page) == has
    text = re.sub("<[^>]*>", "", page)
    assert "@software{unrolled" in text and (f"[Computer software]. {address.rstrip('/')}" in text) == has
    assert (html / "sitemap.xml").is_file() == has
    if has:
        assert f"<loc>{address}bibliography.html</loc>" in (html / "sitemap.xml").read_text(encoding="utf8")
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
    shutil.copyfile(ROOT / "biome.json", tmp_path / "biome.json")
    monkeypatch.setattr(lint_scripts, "ROOT", tmp_path)
    script = tmp_path / "_static" / "one.js"
    script.parent.mkdir()
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

"""The commands and what they need: each error in one clear line, nothing left behind, nothing skipped unseen."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest

import environment
from places import ROOT

pytestmark = pytest.mark.book


# The environment


@pytest.mark.parametrize("version", [(3, 10), (3, 14)])
def test_an_unsupported_python_is_named_with_a_way_out(version):
    message = environment.obstacle(version, has_venv=True)
    assert re.search(rf"Python {version[0]}\.{version[1]} .*3\.11, 3\.12 or 3\.13.*PYTHON=python3\.12", message)
    assert "\n" not in message


def test_a_missing_venv_module_is_named_with_its_package():
    message = environment.obstacle((3, 12), has_venv=False)
    assert "apt install python3.12-venv" in message and "\n" not in message
    assert not any(environment.obstacle((3, minor), has_venv=True) for minor in (11, 12, 13))


def test_the_environment_is_complete_by_its_stamp():
    """A stamp of another content, or none, starts the installation over; this one was found right by `make`."""
    assert environment.stamp() == environment.fingerprint()


def test_a_failed_installation_stops_and_leaves_no_stamp(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "VENV", str(tmp_path / "venv"))
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(SystemExit, match="The installation failed, see above"):
        environment.main()
    assert environment.stamp() is None


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


def test_the_container_has_a_python_for_the_book_and_runs_one_of_its_commands():
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf8"))
    version = re.fullmatch(r"python:(3)\.(\d+)", container["image"]).groups()
    assert environment.obstacle(tuple(map(int, version)), has_venv=True) is None
    assert re.search(rf"^{container['postCreateCommand'].removeprefix('make ')}: environment", makefile(), re.MULTILINE)


# The commands


def makefile() -> str:
    return (ROOT / "Makefile").read_text(encoding="utf8")


def test_what_a_reader_without_make_types_is_what_make_runs():
    page = (ROOT / "pages" / "running.md").read_text(encoding="utf8")
    rows = re.findall(r"^\| `(make [^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE)
    assert len(rows) > 4
    for command, typed in rows:
        dry = [*command.split(), "--dry-run", "--no-print-directory"]  # as it is under `make test`, too
        printed = subprocess.run(dry, cwd=ROOT, capture_output=True, text=True, check=True)
        assert printed.stdout.splitlines()[-1].split() == [".venv/bin/python", *typed.split()]


def test_help_lists_every_command():
    printed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^make (\w+) +\S", printed, re.MULTILINE)
    phony = re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert set(listed) == set(phony) - {"environment"}


def test_what_the_commands_call_exists():
    called = re.findall(r"\b((?:tools|benchmarks)/[\w.]+)", (ROOT / "Makefile").read_text())
    assert len(called) >= 8
    assert [name for name in called if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("script", ["benchmarks/run.py", "tools/demonstrations.py", "tools/notebooks"])
def test_what_needs_the_laboratory_finds_it(script):
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, ROOT / script, "--help"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=alone, check=True).stdout
    assert printed.startswith("usage: ")


def test_every_part_of_make_compat_is_there():
    named = re.search(r"\(PART=([\w|]+)", (ROOT / "Makefile").read_text())[1].split("|")
    command = [sys.executable, "-m", "nox", "--noxfile", "tests/noxfile.py", "--list", "--json"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {session["name"] for session in json.loads(listed)} == set(named)


@pytest.fixture(scope="module")
def noxfile():
    return runpy.run_path(str(ROOT / "tests" / "noxfile.py"))


@pytest.mark.parametrize("part", ["tests", "newest", "processors", "colab", "grading"])
def test_a_part_of_make_compat_works_at_the_root(part, noxfile, monkeypatch):
    monkeypatch.chdir(ROOT / "tests")  # where nox begins
    places, session = [], mock.Mock(chdir=os.chdir)
    session.run.side_effect = session.install.side_effect = lambda *_, **__: places.append(Path.cwd()) or ""
    noxfile[part].func(session, **({"settings": {}} if part == "processors" else {}))
    assert places and set(places) == {ROOT}


STAGES = ("ruff check", "ruff format", "biome --version", "biome check")
STAGES += ("tools/book.py", "notebooks validate", "--durations=10")
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
        ["make", "test", "PYTHON=true", "RUN=./python", "BIOME=./python biome"],
        cwd=root, capture_output=True, text=True, env=ours | nothing | settings,
    )  # fmt: skip
    return made, (folder / "calls").read_text().splitlines()


def test_make_test_runs_every_stage_and_says_nothing_after_the_last(tmp_path):
    made, calls = make_test(tmp_path)
    assert made.returncode == 0 and made.stdout.splitlines()[-1] == "== tests"
    assert len(calls) == len(STAGES) and all(stage in call for stage, call in zip(STAGES, calls, strict=True))


@pytest.mark.parametrize("number", [0, 3])
def test_a_stage_that_fails_stops_make_test(tmp_path, number):
    made, calls = make_test(tmp_path, FAILED_BY=STAGES[number])
    assert made.returncode and len(calls) == number + 1


@pytest.mark.parametrize("number, name, file", [(0, "lint", "Makefile"), (5, "chapters", "left-over.txt")])
def test_a_stage_that_changes_the_projects_own_files_stops_make_test(tmp_path, number, name, file):
    made, calls = make_test(tmp_path, CHANGED_BY=STAGES[number], FILE=file)
    assert made.returncode and len(calls) == number + 1
    assert f"FAILED: '{name}' changed the project's own files" in made.stdout


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


@pytest.fixture
def lint(tmp_path):
    """A function that lints the scripts of a folder, which has one, as `make check` does."""
    (tmp_path / "pages" / "_static").mkdir(parents=True)
    (tmp_path / "tools").mkdir()
    shutil.copyfile(ROOT / "tools" / "lint_scripts.json", tmp_path / "tools" / "lint_scripts.json")
    makefile = (ROOT / "Makefile").read_text() + "\nscripts:\n\t@$(LINT_JS)\n"

    def linted(script: str = "", **settings: str) -> subprocess.CompletedProcess:
        (tmp_path / "pages" / "_static" / "one.js").write_text(script)
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "UNROLLED_STRICT"))}
        command = ["make", "--file=-", "scripts", "PYTHON=true"]
        return subprocess.run(
            command, cwd=tmp_path, input=makefile, capture_output=True, text=True, env=ours | settings
        )

    return linted


def test_without_npm_the_scripts_are_not_linted_and_a_line_says_so(tmp_path, lint):
    (tmp_path / "bin").mkdir()
    for program in ("make", "sh", "sed"):
        (tmp_path / "bin" / program).symlink_to(shutil.which(program))
    done = lint(PATH=str(tmp_path / "bin"))
    assert (done.returncode, done.stdout.count("\n")) == (0, 1) and "not linted: npm is not installed" in done.stdout
    assert lint(PATH=str(tmp_path / "bin"), UNROLLED_STRICT="1").returncode


def test_a_script_with_a_mistake_is_found(lint):
    right = lint("const one = 1;\nconsole.log(one);\n")
    if "not linted" in right.stdout:
        pytest.skip(right.stdout)
    assert right.returncode == 0, right.stdout + right.stderr
    for wrong in ("console.log(two);\n", "console.log( 1 )\n"):
        found = lint(wrong)
        assert found.returncode and "one.js" in found.stdout + found.stderr

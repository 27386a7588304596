"""The commands and what they need: each error in one clear line, nothing left behind, nothing skipped unseen."""

import json
import re
import shutil
import subprocess
import sys

import pytest

import environment
from places import ROOT

pytestmark = pytest.mark.book
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf8")


def printed(*command: str) -> str:
    """Return what a command prints, run in the project's folder."""
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("version", [(3, 10), (3, 14)])
def test_a_python_that_cannot_build_the_book_is_told_so_in_a_line_with_a_way_out(version, monkeypatch):
    monkeypatch.setattr(sys, "version_info", version)
    with pytest.raises(SystemExit, match=r"Python 3\.1[04] .*3\.11, 3\.12 or 3\.13.* PYTHON=python3\.12$"):
        environment.main()


def test_a_failed_installation_stops_and_leaves_no_stamp(monkeypatch, tmp_path):
    monkeypatch.setattr(environment, "VENV", str(tmp_path / "venv"))
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    with pytest.raises(SystemExit, match="The installation failed, see above"):
        environment.main()
    assert not (tmp_path / "venv" / "unrolled-complete").exists()


def pins(name: str) -> dict[str, str]:
    """Return the packages pinned in a requirements file, name to version; a line that is no exact pin fails."""
    lines = [line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines()]
    found = [re.fullmatch(r"([\w.-]+)==([\w.]+)", line).groups() for line in lines if line]
    return {re.sub(r"[-_.]+", "-", package).lower(): version for package, version in found}


def test_constraints_pin_every_requirement_at_the_same_version_and_more():
    required, frozen = pins("requirements.txt"), pins("constraints.txt")
    assert required.items() <= frozen.items() and len(frozen) > 4 * len(required)
    assert not {name for name in frozen if name.startswith(("nvidia", "triton", "cuda"))}, "of one platform only"


def test_what_a_reader_without_make_types_is_what_make_runs():
    page = (ROOT / "pages" / "running.md").read_text(encoding="utf8")
    rows = re.findall(r"^\| `(make [^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE)
    assert len(rows) > 4
    for command, typed in rows:
        last = printed(*command.split(), "--dry-run", "--no-print-directory").splitlines()[-1]
        assert last.split() == [".venv/bin/python", *typed.split()]


def test_help_lists_every_command_and_what_they_call_exists():
    listed = re.findall(r"^make (\w+) +\S", printed("make"), re.MULTILINE)
    phony = re.search(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)[1].split()
    assert set(listed) == set(phony) - {"environment"}
    called = re.findall(r"\b((?:tools|benchmarks|tests)/[\w.]+)", MAKEFILE)
    assert len(called) >= 8 and [name for name in called if not (ROOT / name).exists()] == []


def test_every_part_of_make_compat_is_there():
    named = re.search(r"\(PART=([\w|]+)", MAKEFILE)[1].split("|")
    listed = printed(sys.executable, "-m", "nox", "--noxfile", "tests/noxfile.py", "--list", "--json")
    assert {session["name"] for session in json.loads(listed)} == set(named)


STANDS_FOR_PYTHON = """#!/bin/sh
case "$*" in *"$CHANGED_BY"*) echo more >> Makefile ;; *"$FAILED_BY"*) echo said; exit 3 ;; esac
"""


@pytest.mark.parametrize(
    ("setting", "stages"),
    [
        ({}, ["lint", "format", "scripts", "chapters", "book", "tests"]),
        ({"FAILED_BY": "ruff format"}, ["lint", "format"]),
        ({"FAILED_BY": "--nbval"}, ["lint", "format", "scripts", "chapters"]),
        ({"CHANGED_BY": "tools/book.py"}, ["lint", "format", "scripts", "chapters", "book"]),
    ],
)
def test_make_test_stops_at_a_stage_that_fails_or_changes_the_projects_files(tmp_path, monkeypatch, setting, stages):
    """In a small checkout, where each stage only does what the settings say."""
    shutil.copyfile(ROOT / "Makefile", tmp_path / "Makefile")
    (tmp_path / "chapters").mkdir()
    (tmp_path / "chapters" / "01.ipynb").touch()
    (tmp_path / "python").write_text(STANDS_FOR_PYTHON)
    (tmp_path / "python").chmod(0o755)
    for command in ("init -q", "add --all", "-c user.name=a -c user.email=a@b commit -qm all"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    for name, value in ({"CHANGED_BY": "no stage", "FAILED_BY": "no stage", "MAKEFLAGS": ""} | setting).items():
        monkeypatch.setenv(name, value)
    command = ["make", "test", "PYTHON=true", "RUN=./python", "BIOME=./python biome"]
    made = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert re.findall(r"^== (\w+)$", made.stdout, re.MULTILINE) == stages and bool(made.returncode) == bool(setting)
    assert ("changed the project's own files" in made.stdout) == ("CHANGED_BY" in setting)
    assert ("said" in made.stdout) == ("FAILED_BY" in setting)


def test_a_skip_fails_where_nothing_may_be_skipped(tmp_path, monkeypatch):
    shutil.copyfile(ROOT / "tests" / "conftest.py", tmp_path / "conftest.py")
    (tmp_path / "test_one.py").write_text("import pytest\ndef test_one():\n    pytest.skip('no browser')\n")
    (tmp_path / "test_two.py").write_text("import pytest\npytest.importorskip('no_such_module')\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null", tmp_path]
    command += ["--continue-on-collection-errors"]
    for name in ("UNROLLED_STRICT", "PYTEST_ADDOPTS"):
        monkeypatch.delenv(name, raising=False)
    assert "2 skipped" in subprocess.run(command, capture_output=True, text=True).stdout
    monkeypatch.setenv("UNROLLED_STRICT", "1")
    strict = subprocess.run(command, capture_output=True, text=True)
    assert strict.returncode and "and yet this was skipped: Skipped: no browser" in strict.stdout
    assert "no_such_module" in strict.stdout and "skipped in" not in strict.stdout

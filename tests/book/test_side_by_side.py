"""Chapters side by side, on a busy machine and when stopped: each failure is shown once, nothing is left."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import nbformat
import pytest

from notebooks import side_by_side
from places import ROOT

pytestmark = pytest.mark.book
RUN = "from notebooks import chapters, copies; copies.run(chapters())"  # as `make book` does
WAYS = {"book": ["-c", RUN], "nbval": ["tools/notebooks", "validate"]}
LOOP = "import os, pathlib, time\npathlib.Path('{}.pid').write_text(str(os.getpid()))\nwhile True: time.sleep(0.1)"


@pytest.fixture
def project(tmp_path) -> Path:
    """A small project: the tools that run chapters, where a cell has four seconds; and no chapter yet."""
    shutil.copytree(ROOT / "tools" / "notebooks", tmp_path / "tools" / "notebooks")
    (tmp_path / "chapters").mkdir()
    for name in ("chapters/conftest.py", "pyproject.toml", "requirements.txt", "constraints.txt"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    replace(tmp_path / "tools" / "notebooks" / "running.py", "TIMEOUT = 600", "TIMEOUT = 4")
    return tmp_path


def replace(path: Path, old: str, new: str) -> None:
    """Replace what must be in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def chapter(project: Path, name: str, *sources: str) -> None:
    """Write a chapter of code cells, each stored as if it had been run and had shown nothing."""
    cells = [nbformat.v4.new_code_cell(source, execution_count=n) for n, source in enumerate(sources, start=1)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), project / "chapters" / f"{name}.ipynb")


def begin(project: Path, way: str) -> subprocess.Popen:
    """Start running all chapters, in a process group of its own, as a terminal does."""
    settings = {"PYTHONPATH": str(project / "tools"), "UNROLLED_STRICT": "1"}
    return subprocess.Popen(
        [sys.executable, *WAYS[way]], cwd=project, env={**os.environ, **settings}, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a background job's children ignore it
    )  # fmt: skip


def alive(process: int) -> bool:
    """Return whether a process is there and is not a zombie."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout
    return bool(state.strip()) and not state.startswith("Z")


@pytest.mark.parametrize("cores, together", [(1, 1), (8, 2)])
def test_at_most_two_run_at_a_time_and_what_each_says_is_given_with_its_status(tmp_path, monkeypatch, cores, together):
    monkeypatch.setattr(side_by_side, "cores", lambda: cores)
    log = tmp_path / "log"
    script = f"echo 1 >> {log}; sleep 1; echo -1 >> {log}; "
    ends = {"a": "echo one; echo two >&2", "b": "echo three; exit 3", "c": "kill -9 $$"}
    ended = side_by_side.side_by_side({Path(name): ["sh", "-c", script + end] for name, end in ends.items()})
    outcomes = {command.path.name: (command.status, command.output) for command in ended}
    assert outcomes == {"a": (0, "one\ntwo"), "b": (3, "three"), "c": (-9, "")}
    running = [int(line) for line in log.read_text().split()]
    assert max(sum(running[:n]) for n in range(len(running) + 1)) == together


@pytest.mark.parametrize("way", WAYS)
def test_every_chapter_has_a_line_and_every_failure_is_shown_and_fails(project, way):
    chapter(project, "01-good", "x = 1")
    chapter(project, "02-bad", "x = 1", "assert x == 2, 'x is not two'")
    chapter(project, "03-bad", "raise ValueError('no such thing')")
    chapter(project, "04-crash", "import os, signal; os.kill(os.getppid(), signal.SIGKILL)")
    chapter(project, "05-good", *["import time; time.sleep(2.2)"] * 2)  # four seconds for a cell, not for all
    process = begin(project, way)
    output = process.communicate()[0]
    assert process.returncode == 1, output
    lines = re.findall(r"^\[(\d)/5\] (\S+) +(.*)", output, re.MULTILINE)
    assert [number for number, _, _ in lines] == list("12345"), output
    outcomes = {name: outcome for _, name, outcome in lines}
    passed = r"passed|\d+ s"
    expected = {"01-good": passed, "02-bad": "failed", "04-crash": "exit status -9|failed", "05-good": passed}
    for name, outcome in expected.items():
        assert re.search(outcome, outcomes[name]), output
    for shown in ("x is not two", "no such thing", "04-crash.*exit status -9"):
        assert re.search(shown, output), output


@pytest.mark.parametrize("way", WAYS)
def test_a_cell_that_takes_too_long_is_one_failure_that_names_cell_seconds_and_load(project, way):
    chapter(project, "01-slow", "x = 1", "while True: pass", "assert False", "while True: pass", "x = 2")
    process = begin(project, way)
    output = process.communicate()[0]
    assert process.returncode == 1, output
    assert len(re.findall(r"the machine's load was \d+\.\d on \d+ cores", output)) == 1, output
    if way == "book":
        assert re.search(r"01-slow, cell 2 \(code cell 2\):\n    took longer than 4 s;", output), output
    else:
        assert "01-slow.ipynb::Cell 1 " in output and "Timeout of 4 seconds" in output, output
        assert "1 failed, 1 passed, 3 skipped in" in output, output


@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_ends_all_that_runs_begins_nothing_more_and_is_silent(project, way):
    for name in ("01", "02", "03"):
        chapter(project, name, LOOP.format(name))
    replace(project / "tools" / "notebooks" / "running.py", "TIMEOUT = 4", "TIMEOUT = 60")
    replace(project / "tools" / "notebooks" / "side_by_side.py", "min(2, cores())", "2")
    process, pids = begin(project, way), [project / "chapters" / f"{name}.pid" for name in ("01", "02", "03")]
    deadline = time.monotonic() + 240  # a kernel's start takes long on a busy machine
    while not (pids[0].is_file() and pids[1].is_file()) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert process.poll() is None, process.communicate()[0]
    time.sleep(0.5)
    kernels = [int(path.read_text()) for path in pids[:2]]
    assert all(alive(kernel) for kernel in kernels)
    os.killpg(process.pid, signal.SIGINT)
    try:
        output = process.communicate(timeout=40)[0]
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 130 and output.removeprefix("Chapters to execute: 3\n") == "", output
    while any(alive(kernel) for kernel in kernels) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(alive(kernel) for kernel in kernels)
    assert not pids[2].exists()

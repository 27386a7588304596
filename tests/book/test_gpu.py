"""`make gpu`: the order of its parts, their time, what is written down, and that it goes on; stand-ins run, no GPU."""

import tarfile
from types import SimpleNamespace

import nbformat
import pytest
import torch

import lab
from notebooks import gpu
from places import ROOT

pytestmark = pytest.mark.book
CPU = torch.device("cpu")


@pytest.fixture
def book(tmp_path):
    """A folder with two solutions and a chapter, of a cell each."""
    for name in ("solutions/01-a", "solutions/02-b", "chapters/01-a"):
        write(tmp_path, name, "assert True")
    return tmp_path


def write(root, name: str, source: str) -> None:
    path = root / f"{name}.ipynb"
    path.parent.mkdir(exist_ok=True)
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)], metadata=kernel), path)


@pytest.fixture
def clock(monkeypatch):
    """The time, which nothing moves but what runs."""
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(gpu.time, "monotonic", lambda: now.seconds)
    return now


@pytest.fixture
def ran(monkeypatch, clock):
    """The parts that were run, each in a minute, where none is; what is called b fails, and what lacks time stops."""
    names = []

    def outcome(name, seconds, root):
        names.append(name)
        clock.seconds += min(60, seconds)
        if seconds < 60:
            return gpu.STOPPED
        return "NameError: | is gone" if name.endswith("b") else "runs"

    monkeypatch.setattr(gpu, "outcome", outcome)
    monkeypatch.setattr(gpu, "EXPERIMENTS", {"coin": 60})
    monkeypatch.setattr(gpu, "find", lambda name: name)
    monkeypatch.setattr(gpu.store, "missing", lambda name: [] if f"lab/{name}" in names else [[name, 0]])
    return names


def test_without_a_gpu_it_refuses_in_a_sentence_and_runs_nothing(monkeypatch, ran):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="no GPU here that PyTorch can use, so nothing was run"):
        gpu.run_here()
    assert not ran


def test_every_experiment_that_needs_a_gpu_every_chapter_and_every_solution_has_its_turn():
    names = [f"{folder}/{path.stem}" for folder in ("chapters", "solutions") for path in ROOT.glob(f"{folder}/*.ipynb")]
    names += [f"lab/{name}" for name, experiment in lab.experiments().items() if experiment.on_gpu]
    assert len(names) > 20 and sorted(gpu.queue(ROOT)) == sorted(names)
    assert gpu.queue(ROOT)[:5] == [
        "lab/gpu-writing",
        "lab/gpu-layers",
        "chapters/12-cost",
        "chapters/13-modern-recurrence",
        "lab/wikitext-2-ladder",
    ]


def test_each_is_written_down_as_soon_as_it_has_ended_and_only_what_failed_or_changed_runs_again(
    book, ran, monkeypatch
):
    file = book / "gpu.json"
    assert gpu.run_all(book, file, CPU) == ["solutions/02-b"]
    assert ran == ["lab/coin", "chapters/01-a", "solutions/01-a", "solutions/02-b"]
    first = gpu.read(file)
    assert first["solutions/01-a"].keys() == {
        "outcome", "seconds", "digest", "hardware", "versions", "commit", "date"
    }  # fmt: skip
    gpu.run_all(book, file, CPU)
    assert ran[4:] == ["solutions/02-b"]
    write(book, "chapters/01-a", "assert 1")

    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(gpu, "outcome", killed)
    with pytest.raises(KeyboardInterrupt):
        gpu.run_all(book, file, CPU)
    assert gpu.read(file).keys() == first.keys(), "what was written before it was killed is still there"
    assert gpu.digest("chapters/01-a", book) != first["chapters/01-a"]["digest"]


def test_what_should_not_end_in_time_waits_and_what_took_less_goes_before_it(book, ran):
    file, rest = book / "gpu.json", ["chapters/01-a", "solutions/01-a", "solutions/02-b"]
    assert gpu.run_all(book, file, CPU, seconds=50) == ["lab/coin", *rest]
    assert ran == ["lab/coin"] and not gpu.read(file), "stopped on the way: no word on it, and it goes on"
    ran.clear()
    assert gpu.run_all(book, file, CPU, seconds=60 + gpu.NOTEBOOK) == rest[1:]
    assert ran == ["lab/coin", "chapters/01-a"] and gpu.read(file).keys() == set(ran)
    write(book, "chapters/01-a", "assert 1")
    assert gpu.run_all(book, file, CPU, seconds=70) == rest[1:]
    assert ran[2:] == ["chapters/01-a"], "it took a minute when it ran"


def test_a_switch_reaches_the_notebook_and_counts_in_its_digest(book, monkeypatch):
    name = "solutions/01-a"
    on_the_gpu = gpu.digest(name, book)
    monkeypatch.setattr(gpu, "SWITCHES", {"solutions": {"UNROLLED_SEED": "5"}})
    assert gpu.digest(name, book) != on_the_gpu
    write(book, name, "import os\nassert os.environ['UNROLLED_SEED'] == '5'")
    assert gpu.outcome(name, 60, book) == "runs"
    write(book, name, "raise ValueError('no such device')")
    assert "no such device" in gpu.outcome(name, 60, book)


def test_a_notebook_that_does_not_end_in_time_is_stopped_though_no_cell_takes_so_long(book):
    path = book / "solutions" / "01-a.ipynb"
    cells = [nbformat.v4.new_code_cell("import time\ntime.sleep(2)") for _ in range(20)]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    assert gpu.outcome("solutions/01-a", 8, book) == gpu.STOPPED


def test_an_experiment_is_measured_by_its_command_and_is_given_time_to_end(monkeypatch, tmp_path):
    here = tmp_path / "lab.py"
    here.write_text(
        "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: (open('kept', 'w'), sys.exit(143)))\n"
        "print(sys.argv, file=open('asked', 'w'), flush=True)\n"
        "time.sleep(60 if 'slow' in sys.argv else 0)\nsys.exit('fast' in sys.argv and 'lab: it broke')"
    )
    monkeypatch.setattr(gpu, "ROOT", tmp_path)
    monkeypatch.setattr(gpu, "GRACE", 0)
    assert gpu.outcome("lab/slow", 2) == gpu.STOPPED and (tmp_path / "kept").exists()
    assert gpu.outcome("lab/fast", 60) == "lab: it broke"
    assert gpu.outcome("lab/good", 60) == "runs"
    assert "'run', 'good', '--device', 'cuda', '--record'" in (tmp_path / "asked").read_text()


def test_an_archive_holds_what_was_written_and_unpacks_over_another_clone(book, monkeypatch):
    for name in ("gpu.json", "records/coin.json", "runs/coin/heads/part.json", "runs/other/part.json"):
        (book / name).parent.mkdir(parents=True, exist_ok=True)
        (book / name).write_text(name)
    places = {"ROOT": book, "WRITTEN": book / "gpu.json", "RUNS": book / "runs", "EXPERIMENTS": {"coin": 60, "die": 60}}
    for name, value in places.items():
        monkeypatch.setattr(gpu, name, value)
    monkeypatch.setattr(gpu.records, "FOLDER", book / "records")
    gpu.pack(book / "gpu.tar.gz")
    with tarfile.open(book / "gpu.tar.gz") as archive:
        archive.extractall(book / "clone", filter="data")
    files = {str(path.relative_to(book / "clone")) for path in (book / "clone").rglob("*") if path.is_file()}
    assert files == {"gpu.json", "records/coin.json", "runs/coin/heads/part.json"}


def test_an_experiment_whose_record_is_complete_is_left_alone(book, ran, monkeypatch):
    monkeypatch.setattr(gpu.store, "missing", lambda name: [])
    gpu.run_all(book, book / "gpu.json", CPU, seconds=600)
    assert ran and "lab/coin" not in ran

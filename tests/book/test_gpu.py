"""`make gpu`: what it runs, what it writes down, and that it goes on where it was; stand-ins run in place of a GPU."""

import nbformat
import pytest
import torch

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
def ran(monkeypatch):
    """The notebooks that were run, where none is; what is called b fails."""
    names = []

    def outcome(path):
        names.append(f"{path.parent.name}/{path.stem}")
        return "NameError: | is gone" if path.stem.endswith("b") else "runs"

    monkeypatch.setattr(gpu, "outcome", outcome)
    return names


def test_without_a_gpu_it_refuses_in_a_sentence_and_runs_nothing(monkeypatch, ran):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(SystemExit, match="no GPU here that PyTorch can use, so nothing was run"):
        gpu.run_here()
    assert not ran


def test_every_solution_and_every_chapter_is_among_what_runs():
    names = [f"{folder}/{path.stem}" for folder in ("chapters", "solutions") for path in ROOT.glob(f"{folder}/*.ipynb")]
    assert len(names) > 20 and sorted(gpu.notebooks(ROOT)) == sorted(names)


def test_each_is_written_down_as_soon_as_it_has_ended_and_only_what_failed_or_changed_runs_again(
    book, ran, monkeypatch
):
    file = book / "gpu.json"
    assert gpu.run_all(book, file, CPU) == ["solutions/02-b"] and len(ran) == 3
    first = gpu.read(file)
    assert first["solutions/01-a"].keys() == {
        "outcome", "seconds", "digest", "hardware", "versions", "commit", "date"
    }  # fmt: skip
    gpu.run_all(book, file, CPU)
    assert ran[3:] == ["solutions/02-b"]
    write(book, "chapters/01-a", "assert 1")

    def stopped(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(gpu, "outcome", stopped)
    with pytest.raises(KeyboardInterrupt):
        gpu.run_all(book, file, CPU)
    assert gpu.read(file).keys() == first.keys(), "what was written before it was stopped is still there"
    assert gpu.digest(book / "chapters" / "01-a.ipynb") != first["chapters/01-a"]["digest"]


def test_a_switch_reaches_the_notebook_and_counts_in_its_digest(book, monkeypatch):
    path = book / "solutions" / "01-a.ipynb"
    on_the_gpu = gpu.digest(path)
    monkeypatch.setattr(gpu, "SWITCHES", {"solutions": {"UNROLLED_SEED": "5"}})
    assert gpu.digest(path) != on_the_gpu
    write(book, "solutions/01-a", "import os\nassert os.environ['UNROLLED_SEED'] == '5'")
    assert gpu.outcome(path) == "runs"
    write(book, "solutions/01-a", "raise ValueError('no such device')")
    assert "no such device" in gpu.outcome(path)

"""Several processes: two that share the streams train as one does with all of them, and stop and go on together."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import processes
from places import HELPERS
from unrolled.training import distributed

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process finds, and the folder that it trained in."""
    folder = tmp_path_factory.mktemp("alone")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    found = {name: processes.run(name, folder) for name in processes.RUNS}
    torch.set_num_threads(threads)
    return found, folder


@pytest.fixture(scope="module")
def found(tmp_path_factory, alone):
    """What each of two processes found, and the folder that they trained in."""
    folder = tmp_path_factory.mktemp("together")
    assert processes.stopped("lstm", folder, file="from-one", watch=processes.stop_after(5, rank=0)) == 143
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([*TORCHRUN, str(HELPERS / "processes.py"), str(folder)], check=True, env=environment, timeout=300)
    return [torch.load(folder / f"found-{rank}.pt", weights_only=True) for rank in range(2)], folder


def logged(checkpoint: Path) -> list[int]:
    return [json.loads(line)["update"] for line in Path(f"{checkpoint}.jsonl").read_text().splitlines()]


def close(one: dict, other: dict, atol: float, rtol: float = 1e-5) -> bool:
    """Whether two runs are the same up to so much."""
    pairs = [(torch.as_tensor(one[what]), torch.as_tensor(other[what])) for what in one]
    return all(torch.allclose(a, b, atol=atol, rtol=rtol) for a, b in pairs)


@pytest.mark.parametrize("name", [name for name in processes.RUNS if name != "dropout"])
def test_two_processes_go_the_way_of_one_with_the_whole_batch(alone, found, name):
    (expected, _), ((first, second), _) = alone, found
    assert len(first[name]["losses"]) == 12 and len(first[name]["scores"]) == 3
    assert close(first[name], expected[name], atol=1e-2 if name == "bf16" else 1e-5)
    assert close(first[name], second[name], atol=0, rtol=0)


def test_the_processes_draw_different_random_numbers(alone, found):
    """Alike, they would drop the same units of different streams. The first draws what it would draw alone."""
    (_, folder), (_, together) = alone, found
    one, both = (torch.load(at / "dropout.pt", weights_only=True)["random"] for at in (folder, together))
    first, second = both.chunk(2)
    assert len(both) == 2 * len(one) and not torch.equal(first, second)
    assert close(found[0][0]["dropout"], found[0][1]["dropout"], atol=0, rtol=0)


def test_the_first_process_alone_writes_one_log_and_one_checkpoint_with_all_states(alone, found):
    (_, folder), (_, together) = alone, found
    assert logged(together / "rnn.pt") == logged(folder / "rnn.pt")
    one, both = (torch.load(at / "rnn.pt", weights_only=True) for at in (folder, together))
    assert both["state"].shape == (4, 16) and torch.allclose(both["state"], one["state"], atol=1e-5)


@pytest.mark.parametrize("name", ["dropout", "lstm"])
def test_a_signal_to_one_process_stops_all_after_the_same_update_and_they_go_on_exactly(found, name):
    for one in found[0]:
        assert one[f"{name}-stopped"]["code"] == 128 + signal.SIGTERM and one[f"{name}-stopped"]["done"] == 5
        stopped = {what: one[f"{name}-stopped"][what] for what in one[name]}
        assert close(stopped, one[name], atol=0, rtol=0)
    assert logged(found[1] / f"{name}-stopped.pt") == logged(found[1] / f"{name}.pt")


def test_a_signal_in_the_last_update_is_obeyed_by_all(found):
    assert [one["stopped-late"] for one in found[0]] == [143, 143]


def test_one_process_goes_on_where_two_stopped_and_two_where_one_did(alone, found):
    (expected, _), ((first, _), together) = alone, found
    assert close(processes.run("lstm", together, seed=9, file="for-one"), expected["lstm"], atol=1e-5)
    assert close(first["from-one"], expected["lstm"], atol=1e-5)


def test_all_processes_say_what_is_wrong(found):
    for one in found[0]:
        shared, damaged = one["errors"]
        assert shared == "batch is 3, which 2 processes cannot share equally; start another number"
        assert "damaged-0.pt is damaged" in damaged or "damaged-1.pt is damaged" in damaged


def test_what_the_first_process_measured_is_kept_and_told_to_all(found):
    assert [one["kept"] for one in found[0]] == [0, 0]
    assert json.loads((found[1] / "kept.json").read_text()) == {"rank": 0}


def test_each_process_needs_a_gpu_of_its_own(monkeypatch):
    monkeypatch.setattr(distributed, "launched", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("LOCAL_RANK", "2")
    with (
        pytest.raises(ValueError, match="there is no GPU for process 3 of this machine, only 2; start fewer"),
        distributed.together(torch.device("cuda")),
    ):
        pass


def test_without_torchrun_there_is_one_process():
    with distributed.together(torch.device("cuda")):
        assert distributed.count() == 1 and distributed.rank() == 0 and distributed.share(5) == slice(0, 5)

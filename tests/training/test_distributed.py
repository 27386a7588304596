"""Several processes: two that share the streams train as one does with all of them, and stop and resume together."""

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
    """The results of one process, and the folder that it trained in."""
    folder = tmp_path_factory.mktemp("alone")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    results = {name: processes.run(name, folder) for name in processes.RUNS}
    torch.set_num_threads(threads)
    return results, folder


@pytest.fixture(scope="module")
def together(tmp_path_factory, alone):
    """The results of each of two processes, and the folder that they trained in."""
    folder = tmp_path_factory.mktemp("together")
    assert processes.stopped("lstm", folder, file="from-one", watch=processes.stop_after(5, rank=0)) == 143
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run([*TORCHRUN, str(HELPERS / "processes.py"), str(folder)], check=True, env=environment, timeout=300)
    return [torch.load(folder / f"results-{rank}.pt", weights_only=True) for rank in range(2)], folder


def logged(checkpoint: Path) -> list[int]:
    return [json.loads(line)["update"] for line in Path(f"{checkpoint}.jsonl").read_text().splitlines()]


def close(result: dict, other: dict, atol: float, rtol: float = 1e-5) -> bool:
    """Whether the results of two runs are equal within a tolerance."""
    pairs = [(torch.as_tensor(result[name]), torch.as_tensor(other[name])) for name in result]
    return all(torch.allclose(a, b, atol=atol, rtol=rtol) for a, b in pairs)


@pytest.mark.parametrize("name", [name for name in processes.RUNS if name != "dropout"])
def test_two_processes_train_as_one_does_with_the_whole_batch(alone, together, name):
    (expected, _), ((first, second), _) = alone, together
    assert len(first[name]["losses"]) == 12 and len(first[name]["scores"]) == 3
    assert close(first[name], expected[name], atol=1e-2 if name == "bf16" else 1e-5)
    assert close(first[name], second[name], atol=0, rtol=0)


def test_the_processes_draw_different_random_numbers(alone, together):
    """Otherwise they would drop the same units of different streams. The first draws what it would draw alone."""
    (_, folder_alone), ((first, second), folder) = alone, together
    state, states = (torch.load(path / "dropout.pt", weights_only=True)["random"] for path in (folder_alone, folder))
    first_state, second_state = states.chunk(2)
    assert len(states) == 2 * len(state) and not torch.equal(first_state, second_state)
    assert close(first["dropout"], second["dropout"], atol=0, rtol=0)


def test_the_first_process_alone_writes_one_log_and_one_checkpoint_with_all_states(alone, together):
    (_, folder_alone), (_, folder) = alone, together
    assert logged(folder / "rnn.pt") == logged(folder_alone / "rnn.pt")
    state, states = (torch.load(path / "rnn.pt", weights_only=True)["state"] for path in (folder_alone, folder))
    assert states.shape == (4, 16) and torch.allclose(states, state, atol=1e-5)


@pytest.mark.parametrize("name", ["dropout", "lstm"])
def test_a_signal_to_one_process_stops_all_after_the_same_update_and_they_resume_exactly(together, name):
    results, folder = together
    for result in results:
        stopped = result[f"{name}-stopped"]
        assert stopped["code"] == 128 + signal.SIGTERM and stopped["done"] == 5
        assert close(result[name], stopped, atol=0, rtol=0)
    assert logged(folder / f"{name}-stopped.pt") == logged(folder / f"{name}.pt")


def test_a_signal_in_the_last_update_is_obeyed_by_all(together):
    assert [result["stopped-late"] for result in together[0]] == [143, 143]


def test_one_process_resumes_what_two_began_and_two_what_one_began(alone, together):
    (expected, _), ((first, _), folder) = alone, together
    assert close(processes.run("lstm", folder, seed=9, file="for-one"), expected["lstm"], atol=1e-5)
    assert close(first["from-one"], expected["lstm"], atol=1e-5)


def test_all_processes_say_what_is_wrong(together):
    for result in together[0]:
        shared, damaged = result["errors"]
        assert shared == "batch is 3, which 2 processes cannot share equally; start another number"
        assert "damaged-0.pt is damaged" in damaged or "damaged-1.pt is damaged" in damaged


def test_what_the_first_process_returns_is_returned_in_all(together):
    assert [result["first"] for result in together[0]] == [0, 0]


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

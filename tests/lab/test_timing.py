"""What is timed is measured fairly: in microseconds, in turn, for the same work."""

import itertools

import pytest
from unrolled.experiments import base, find, timing

from unrolled import cells
from unrolled.measure import hardware


@pytest.fixture
def clock(monkeypatch):
    """A clock by which everything takes a second."""
    monkeypatch.setattr(hardware.time, "perf_counter", itertools.count().__next__)


def contenders(name, **size):
    return {label: config | size for label, config in find(name).contenders["quick"].items()}


def test_works_take_turns_and_the_warm_up_does_not_count(monkeypatch):
    done, ticks = [], iter([*[0, 99] * 4, 0, 1, 0, 5, 0, 3, 0, 7, 0, 2, 0, 6])
    monkeypatch.setattr(hardware.time, "perf_counter", lambda: next(ticks))
    works = {name: lambda name=name: done.append(name) for name in "ab"}
    assert timing.medians(works, {"warm_up": 2, "rounds": 3}) == {"a": 2, "b": 6}
    assert "".join(done) == "ab" * 5


def test_loop_times_are_microseconds_a_step(clock, tmp_path):
    configs = contenders("rnn-loop-time", lengths=[4, 10], hidden_size=3, warm_up=1, rounds=2)
    metrics = timing.measure_loop(configs, 0, tmp_path)
    assert metrics == {label: {"microseconds": [250_000, 100_000]} for label in ("loop", "no-loop")}


def test_a_step_of_each_cell_is_timed_for_equal_sizes_and_equal_weights(clock, tmp_path):
    configs = contenders("cells-time", batch=2, length=5, warm_up=1, rounds=2)
    assert {*configs} == {"rnn", "gru", "lstm", "gru-as-rnn", "lstm-as-rnn", "rnn-as-lstm", "gru-as-lstm"}
    metrics = timing.measure_cells(configs, 0, tmp_path)
    for label, config in configs.items():
        assert label.startswith(config["core"])
        assert metrics[label]["hidden_size"] == config["hidden_size"]
        assert metrics[label]["parameters"] == timing.core_parameters(config["core"], config["hidden_size"])
        assert metrics[label]["ours"] == metrics[label]["torch"] == 200_000


@pytest.mark.parametrize("profile, size", [("quick", 128), ("full", 512)])
def test_the_cells_timed_have_one_size_or_equally_many_weights(profile, size):
    weights = {}
    for label, config in find("cells-time").contenders[profile].items():
        assert (config["hidden_size"] == size) == ("-as-" not in label)
        cell = cells.CELLS[config["core"]](config["input_size"], config["hidden_size"])
        weights[label] = base.parameters(cell)
        assert weights[label] == timing.core_parameters(config["core"], config["hidden_size"])
    for label in weights:
        if "-as-" in label:  # one unit more or less would be further off
            assert weights[label] == pytest.approx(weights[label.split("-as-")[1]], rel=0.012)


@pytest.mark.parametrize("core", ["rnn", "lstm", "gru"])
def test_the_hidden_size_that_is_chosen_is_the_nearest(core):
    for size in (1, 57, 300):
        low, high = (timing.core_parameters(core, size + more) for more in (0, 1))
        nearest = [timing.hidden_size_for(core, low + part) for part in (0, (high - low) // 3)]
        assert nearest == [size, size]
        assert timing.hidden_size_for(core, high - (high - low) // 3) == size + 1


SMALL = {"batches": [1, 4], "least": 16, "warm_up": 1, "rounds": 3}


@pytest.fixture
def batching():
    """The contenders of `batching-time`, small: windows of two symbols."""
    configs = contenders("batching-time", **SMALL)
    for config in configs.values():
        config["recipe"] = config["recipe"] | {"seq_len": 2}
        config["model"] = config["model"] | {"options": config["model"]["options"] | {"hidden_size": 4}}
    return configs


def test_an_update_is_timed_for_each_symbol(batching, clock, tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(timing, "train", lambda model, tokens, recipe, progress: trained.append((model, recipe)))
    metrics = timing.measure_batching(batching, 0, tmp_path)
    assert list(metrics) == [f"{core} {bits}" for core in ("lstm", "torch-lstm") for bits in ("float32", "bf16")]
    assert all(times == {"microseconds": [1e6 / 16, 1e6 / 16]} for times in metrics.values())
    assert len(trained) == 4 * 2 * (3 + 1)
    assert {recipe.updates * recipe.batch * recipe.seq_len for _, recipe in trained} == {16}
    assert {(recipe.batch, recipe.precision) for _, recipe in trained} == set(
        itertools.product([1, 4], ["float32", "bf16"])
    )
    assert len({id(model) for model, _ in trained}) == 4


def test_what_is_timed_is_all_the_updates_of_a_real_training(batching, tmp_path, monkeypatch):
    train, done = timing.train, []

    def watched(*given, **options):
        done.append((given[2].batch, train(*given, **options).losses))

    monkeypatch.setattr(timing, "train", watched)
    metrics = timing.measure_batching(batching, 0, tmp_path)
    assert all(time > 0 for times in metrics.values() for time in times["microseconds"])
    assert {(batch, len(losses)) for batch, losses in done} == {(1, 8), (4, 2)}

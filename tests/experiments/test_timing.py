"""What is timed is told fairly: in microseconds, for the same work."""

import itertools

from unrolled import experiments
from unrolled.experiments import gated, timing


def test_time_is_told_in_microseconds_a_step_for_equal_sizes_and_equal_weights(tmp_path, monkeypatch):
    config = experiments.find("cells-time").configs["quick"]
    models = experiments.find("gated-stories").configs["quick"]["models"]
    assert {*config["cells"]} == {"rnn", "gru", "lstm", "gru-as-rnn", "lstm-as-rnn", "rnn-as-lstm", "gru-as-lstm"}
    assert all(models[label].items() >= told.items() for label, told in config["cells"].items())
    monkeypatch.setattr(timing.time, "perf_counter", itertools.count().__next__)  # everything takes a second
    metrics = timing.measure_time(config | {"batch": 2, "length": 5, "repeats": 3}, 0, tmp_path)
    assert {metrics[f"{label}-{whose}"] for label in config["cells"] for whose in ("ours", "torch")} == {200_000}
    assert metrics["gru-as-lstm-parameters"] == gated.parameters("gru", metrics["gru-as-lstm-hidden-size"])


def test_an_update_is_timed_for_each_symbol(tmp_path, monkeypatch):
    config = experiments.find("batching-time").configs["quick"]
    config |= {"batches": [1, 4], "seq_len": 2, "least": 16, "hidden_size": 4, "repeats": 3}
    trained, clock = [], itertools.count()
    monkeypatch.setattr(timing, "train", lambda model, tokens, recipe, progress: trained.append((model, recipe)))
    monkeypatch.setattr(timing.time, "perf_counter", clock.__next__)  # every training takes a second
    metrics = timing.measure_batching(config, 0, tmp_path)
    assert metrics.pop("batches") == [1, 4] and len(metrics) == 4
    assert all(times == [1e6 / 16, 1e6 / 16] for times in metrics.values())
    assert len(trained) == 4 * 2 * (3 + 1)
    assert {recipe.updates * recipe.batch * recipe.seq_len for _, recipe in trained} == {16}
    assert {(recipe.batch, recipe.precision) for _, recipe in trained} == set(
        itertools.product([1, 4], ["float32", "bf16"])
    )
    assert len({id(model) for model, _ in trained}) == 2


def test_what_is_timed_is_all_the_updates_of_a_real_training(tmp_path, monkeypatch):
    config = experiments.find("batching-time").configs["quick"]
    config |= {"batches": [1, 8], "seq_len": 4, "least": 32, "hidden_size": 4, "repeats": 1}
    train, done = timing.train, []
    monkeypatch.setattr(timing, "train", lambda *given, **how: done.append((given, train(*given, **how))))
    timing.measure_batching(config, 0, tmp_path)
    assert [len(history.losses) for (_, _, recipe), history in done if recipe.batch == 8] == [1] * 8
    assert [len(history.losses) for (_, _, recipe), history in done if recipe.batch == 1] == [8] * 8

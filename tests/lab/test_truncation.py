"""Windows of a vanilla RNN: what is trained, and in which ways it is scored."""

import pytest
from unrolled.experiments import base, find, truncation

from small_experiments import small
from unrolled.measure import evaluate


def contenders(name):
    """Return the small contenders of an experiment, each with the windows of its label."""
    return {
        label: small(config, recipe=config["recipe"] | {"updates": 3, "batch": 4})
        for label, config in find(name).contenders["quick"].items()
    }


def test_windows_are_trained_as_their_labels_say():
    for name, seq_lens in (("rnn-windows", (16, 32, 64)), ("rnn-truncation", (1, 2, 4, 8, 16, 32, 64))):
        configs = find(name).contenders["quick"]
        assert list(configs) == [f"{state} {seq_len}" for state in ("reset", "carried") for seq_len in seq_lens]
        for label, config in configs.items():
            recipe = base.recipe_of(config)
            assert label == f"{'carried' if recipe.carry else 'reset'} {recipe.seq_len}"
            assert recipe.batch * recipe.seq_len == 2048


@pytest.mark.parametrize("state", ["reset", "carried"])
def test_windows_are_scored_in_both_ways(state, tmp_path):
    config = contenders("rnn-truncation")[f"{state} 4"]
    metrics = truncation.measure_windows(config, 0, tmp_path / "a")
    network, read, history, _ = base.fit(config, 0, tmp_path / "b")
    assert metrics["curve"] == history.validation and metrics["updates"] == [1, 2, 3]
    assert metrics["scored_carried"] == pytest.approx(evaluate(network, read.held_out).nats_per_symbol)
    assert metrics["scored_reset"] == pytest.approx(evaluate(network, read.held_out, window=4).nats_per_symbol)
    assert metrics["scored_carried"] != metrics["scored_reset"]


def test_an_initial_state_is_learned_where_the_label_says_so(tmp_path):
    for label, config in contenders("rnn-initial-state").items():
        state, beginning = label.split()
        metrics = truncation.measure_initial_state(config, 0, tmp_path / label)
        network, read, *_ = base.fit(config, 0, tmp_path / "again" / label)
        assert network.h_0.requires_grad == (beginning == "learned")
        assert base.recipe_of(config).carry == (state == "carried")
        window = None if state == "carried" else 16
        assert metrics["nats"] == pytest.approx(evaluate(network, read.held_out, window=window).nats_per_symbol)

"""Comparisons are fair: as many trials and weights for each, and as much text, of which nothing is read twice."""

import pytest

import lab
from lab.ch08_fair_comparisons import memory, model_kinds
from lab.engine.draws import DRAWS
from lab.engine.search import with_setting
from lab.engine.training import model_of, parameters, recipe_of
from unrolled.text import stories

SEARCHES = [name for name, experiment in lab.experiments().items() if "chosen" in experiment.metrics]
READ_ONCE = [f"{name}-tuning" for name in ("cells", "depth", "memory", "names", "stories-chars")]
READ_ONCE += ["cells-over-budget", "gates-over-budget", "input-gradient", "depth-against-width"]
READ_ONCE += ["memory-by-lag", "names", "names-textbook", "recipe-factors", "stories-chars"]


@pytest.mark.parametrize("name", SEARCHES)
def test_all_contenders_of_a_search_have_as_many_trials_for_as_many_updates(name):
    experiment, trials = lab.find(name), {}
    for config in map(experiment.config, experiment.contenders):
        updates = config["recipe"]["updates"] if "recipe" in config else config["updates"]
        count = config.get("draws", DRAWS) if "space" in config else len(config["grid"])
        trials.setdefault(updates, set()).add((count, str(config.get("keep"))))
    assert all(len(each) == 1 for each in trials.values())
    assert len(set.union(*trials.values())) <= 2  # fewer at the largest number of updates


@pytest.mark.parametrize(
    "name, prefix, symbols, spread",
    [
        ("cells-tuning", "", [59], 1.04),
        ("depth-tuning", "", [59], 1.03),
        ("memory-tuning", "", [1171], 1.1),
        ("names-tuning", "", [1171], 1.01),
        ("recipe-factors", "", [59], 1.02),
        ("stories-chars-tuning", "", [57], 1.15),
        ("tagging-stopped-tuning", "", [864, 14], 1.04),
        ("induction-heads", "transformer-2", [26], 1.0),
        ("induction-heads", "lstm", [26], 1.0),
    ],
)
def test_all_have_about_as_many_weights_in_every_variant(name, prefix, symbols, spread):
    experiment, weights = lab.find(name), {}
    for label in (label for label in experiment.contenders if label.startswith(prefix)):
        config = experiment.config(label)
        for setting in config.get("grid", [{}]):
            tried = with_setting(config, setting | {"learning_rate": 1.0})
            weights[label, str(setting)] = parameters(model_of(tried, *symbols))
    assert max(weights.values()) <= spread * min(weights.values()), weights


@pytest.mark.parametrize("name", READ_ONCE)
def test_all_read_equally_much_and_nothing_twice(name):
    experiment, grammar, amounts = lab.find(name), stories.grammar(), {}
    word = grammar.expected_length() / grammar.expected_words()
    for label in experiment.contenders:
        config = experiment.config(label)
        if "recipe" in config:
            recipe = recipe_of(config)
            symbols = recipe.updates * recipe.batch * recipe.seq_len
            amounts.setdefault(label.split()[-1] if label[-1].isdigit() else "", set()).add(symbols)
            characters = symbols * word if config["text"].get("words") else symbols
            assert config["text"]["characters"] > characters + recipe.batch and config["text"]["three_parts"]
    assert all(len(each) == 1 for each in amounts.values()), amounts


def test_a_window_holds_a_story():
    assert stories.grammar().expected_words() < memory.SEQ_LEN


def test_a_cell_begins_as_the_search_of_the_cells_chose():
    for name in model_kinds.CELLS:
        chosen = lab.find("cells-over-budget").config(f"{name} 8000")["model"]["cell_options"]
        options = lab.find("stories-chars").config(name)["model"]["cell_options"]
        assert options == {key: value for key, value in chosen.items() if key != "reset"}


def test_input_gradients_and_forget_gates_are_those_of_the_cells_compared():
    compared, gradients, gates = (
        lab.find(name) for name in ("cells-over-budget", "input-gradient", "gates-over-budget")
    )
    for label in gradients.contenders:
        config, beside = gradients.config(label), compared.config(f"{label} 2000")
        assert all(config[part] == beside[part] for part in ("text", "model", "recipe"))
        assert config["points"] == [0, 200, 2000]
    assert len(gates.contenders) == 12
    for label in gates.contenders:
        config, (gate, _, updates) = gates.config(label), label.rpartition(" ")
        beside = compared.config(f"lstm {updates}")
        assert config["recipe"] == beside["recipe"] and config["text"] == beside["text"]
        begun = {"initialisation": "orthogonal", "forget_bias": -1 if gate == "bias -1" else 1}
        assert begun.items() <= config["model"]["cell_options"].items()
        assert config["stuck"] == {"open": {"f": 100}, "shut": {"f": -100}}.get(gate, {})


def test_windows_are_trained_as_their_labels_say_on_equally_much_text():
    for name, seq_lens in (("rnn-windows", (16, 32, 64)), ("rnn-truncation", (1, 2, 4, 8, 16, 32, 64))):
        contenders = lab.find(name).contenders
        assert list(contenders) == [f"{state} {seq_len}" for state in ("reset", "carried") for seq_len in seq_lens]
        for label, config in contenders.items():
            recipe = recipe_of(config)
            assert label == f"{'carried' if recipe.carry else 'reset'} {recipe.seq_len}"
            assert recipe.batch * recipe.seq_len == 2048

"""Every experiment measures what it declares, its record is of its configurations, and each model trains as it did."""

import json
import math
from pathlib import Path

import pytest
import torch

import lab
from lab import names
from lab.experiment import CHOSEN_BY, digest, missing, model, recipe, text
from lab.training import answers, fit, model_of, recipe_of
from small_experiments import CHARACTERS, config_of, little_held_out, shrunk
from unrolled import records
from unrolled.models import LanguageModel, TaggingNetwork, load_model
from unrolled.text import CorpusError, Examples, Vocabulary, WordVocabulary, pad_pairs, pad_tagged, stories
from unrolled.training import train, train_examples

EXPERIMENTS = lab.experiments()
OF_THE_RECIPE = ("recall-of-names", "spelling", "memory-tasks")  # their measurement goes on
GOLDEN = Path(__file__).with_name("golden.json")
KINDS = {  # each kind of model and of cell
    "rnn": model("LanguageModel", core="rnn"),
    "lstm": model("LanguageModel", core="lstm"),
    "gru": model("LanguageModel", core="gru"),
    "torch-lstm, tied, dropout": model(
        "LanguageModel", core="torch-lstm", num_layers=2, dropout=0.3, tied=True, embedding_size=16, hidden_size=16
    ),
    "mingru, residual": model("ResidualLM", core="mingru"),
    "delta": model("ResidualLM", core="delta", cell_options={"num_heads": 2}),
    "transformer": model("TransformerLM", context=32, num_layers=1, num_heads=2),
    "window": model("FixedWindowLM", window=4),
    "tagger": model("Tagger", direction="both"),
    "encoder–decoder": model("EncoderDecoder", core="gru", direction="both", attention="additive"),
}


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_measures_what_it_declares(name, tmp_path):
    experiment = EXPERIMENTS[name]
    label, *_ = experiment.runs
    config = shrunk(experiment, config_of(experiment, label))
    try:
        with little_held_out():
            if experiment.together:
                configs = {each: shrunk(experiment, of) for each, of in experiment.runs.items()}
                metrics = experiment.measure(configs, 0, tmp_path)[label]
            else:
                metrics = experiment.measure(config, 0, tmp_path)
    except CorpusError as error:
        pytest.skip(f"a corpus is not here ({error})")
    experiment.check(metrics, config)
    assert metrics and {*metrics} <= {*experiment.metrics}


@pytest.mark.parametrize("name", [name for name, each in EXPERIMENTS.items() if each.trial])
def test_a_trial_says_what_it_is_chosen_by(name, tmp_path):
    experiment = EXPERIMENTS[name]
    label, *_ = experiment.trials
    try:
        with little_held_out():
            found = experiment.trial(shrunk(experiment, config_of(experiment, label)), 0, tmp_path)
    except CorpusError as error:
        pytest.skip(f"a corpus is not here ({error})")
    assert {*found} == {CHOSEN_BY} and 0 < found[CHOSEN_BY] < 10


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_record_is_of_the_configurations_that_stand_here(name):
    lacking = list(missing(EXPERIMENTS[name], records.FOLDER))
    assert not lacking or name in OF_THE_RECIPE, [(work.label, work.seed) for work in lacking]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_configuration_is_json_and_can_be_made(name):
    experiment = EXPERIMENTS[name]
    for label in experiment.runs:
        config = config_of(experiment, label)
        assert json.loads(json.dumps(config, allow_nan=False)) == config
        if {"model", "recipe"} <= {*config}:
            steps = recipe_of(config)
            if config["model"]["kind"] == "TransformerLM":
                assert steps.seq_len == config["model"]["context"] and not steps.carry
            with torch.device("meta"):
                model_of(config, 100, 20 if answers(config) else None)


def test_the_stories_are_those_that_were_read():
    kept = json.loads(GOLDEN.read_text(encoding="utf8"))["stories"]
    assert digest(stories.corpus(CHARACTERS, seed=0).text) == kept


def first_updates(kind: str) -> dict[str, list[float]]:
    """Return what three updates of a small model come to: losses, gradient norms, and the norms of its weights."""
    steps = {"updates": 3, "batch": 4, "seq_len": 32, "learning_rate": 1e-2, "carry": "core" in KINDS[kind]}
    config = {"model": {"hidden_size": 16} | KINDS[kind], "recipe": recipe(**steps)}
    torch.manual_seed(0)
    if answers(config):
        network, steps = model_of(config, 11), recipe_of({"recipe": steps | {"carry": False, "seq_len": 1}})
        rows = [torch.arange(3 + number % 5) * 7 % 11 for number in range(12)]
        pairs = [(row, row.flip(0)) for row in rows]
        padded = pad_tagged if isinstance(network, TaggingNetwork) else lambda pairs: pad_pairs(pairs, start=0)
        history = train_examples(network, Examples(pairs, 4, padded), steps, progress=False)
    else:
        read = stories.corpus(5000, seed=0).text
        vocabulary = Vocabulary(read)
        network = model_of(config, len(vocabulary))
        history = train(network, vocabulary.encode(read), recipe_of(config), progress=False)
    norms = [float(weight.detach().norm()) for weight in network.parameters() if weight.requires_grad]
    return {"losses": history.losses, "norms": history.norms, "weights": norms}


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_trains_as_it_did_when_the_records_were_measured(kind):
    """A default that no configuration names decides here: a first weight, an optimizer's constant, an order."""
    kept, now = json.loads(GOLDEN.read_text(encoding="utf8"))[kind], first_updates(kind)
    for what, values in now.items():
        assert len(values) == len(kept[what])
        close = [math.isclose(a, b, rel_tol=1e-3, abs_tol=1e-6) for a, b in zip(values, kept[what], strict=True)]
        assert all(close), f"{what} of {kind} were {kept[what]} and are {values}"


def test_a_training_goes_on_and_ends_where_one_that_was_never_stopped_does(tmp_path):
    config = {
        "text": text("stories", 20_000),
        "model": model("LanguageModel", core="gru", hidden_size=8),
        "recipe": recipe(updates=20, symbols_per_update=64, seq_len=16, learning_rate=1e-2),
    }
    whole = fit(config, 0, tmp_path / "whole")
    stopped = fit(config, 0, tmp_path / "stopped", until=7)
    assert len(stopped.history.losses) == 7 and not (tmp_path / "stopped" / "model.model").exists()
    again = fit(config, 0, tmp_path / "stopped")
    assert again.history.losses == whole.history.losses and again.history.validated == [*range(2, 21, 2)]
    saved, _ = load_model(tmp_path / "stopped" / "model.model")
    assert all(map(torch.equal, again.model.parameters(), saved.parameters()))
    assert fit(config, 1, tmp_path / "other").history.losses != whole.history.losses


@pytest.mark.parametrize("core, gate, bias", [("lstm", "f", 1), ("gru", "z", -1), ("mingru", "z", -1)])
def test_the_recipe_begins_as_it_says(core, gate, bias):
    from lab.recipe import begun

    network = begun({"model": names.MODELS[core], "bias": 1}, 50)
    for cell in network.core.layers:
        assert (cell.block(gate).b_h == bias).all()
        for block in map(cell.block, cell.blocks):
            if block.W_hh is not None:
                assert torch.allclose(block.W_hh @ block.W_hh.T, torch.eye(cell.hidden_size), atol=1e-5)
                assert abs(block.W_xh.std() * cell.input_size**0.5 - 1) < 0.1


def test_the_race_asks_for_the_name_before_each_word():
    vocabulary = WordVocabulary(sorted({word for hero in names.HEROES for word in names.told(hero)} | {"\n"}))
    torch.manual_seed(0)
    network = LanguageModel(len(vocabulary), hidden_size=8)
    for row, (hero, place) in zip(names.race(network, vocabulary)[::5], [("Ada", 30), ("Oscar", 90)], strict=True):
        words = names.told(hero)
        read = vocabulary.encode(["\n", *words[:place]])
        probability = network(read[None])[0][0, -1].softmax(dim=0)[vocabulary[hero]].item()
        assert len(row) == len(words) and row[place] == round(probability, 4)


def test_gates_begin_by_the_rule_where_the_lag_is_known():
    from lab.memory import contender, network_of
    from unrolled.tasks import FlipFlop

    lstm, gru = (network_of(contender("flip-flop", 50, core), FlipFlop(50)).cell for core in ("lstm", "gru"))
    keeps = [torch.sigmoid(lstm.block("f").b_h), 1 - torch.sigmoid(gru.block("z").b_h)]
    assert all(torch.allclose(each, torch.tensor(50 / 51)) for each in keeps)
    assert torch.allclose(torch.sigmoid(lstm.block("i").b_h), torch.tensor(1 / 51))
    irnn = network_of(contender("flip-flop", 50, "irnn"), FlipFlop(50)).cell
    assert torch.equal(irnn.W_hh, torch.eye(93)) and irnn.W_xh.std() < 2e-3 and not irnn.b_h.any()


if __name__ == "__main__":  # writes the golden file anew, where a change is meant
    kept = {"stories": digest(stories.corpus(CHARACTERS, seed=0).text)}
    kept |= {
        kind: {what: [float(f"{value:.5g}") for value in values] for what, values in first_updates(kind).items()}
        for kind in KINDS
    }
    GOLDEN.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf8")

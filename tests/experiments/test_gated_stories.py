"""The experiments on gated cells train what they say, with each cell, and measure it."""

import pytest
import torch

from unrolled import experiments
from unrolled.cells import trace
from unrolled.experiments import base, gated_stories, reading
from unrolled.measure import gradients, recall_by_lag
from unrolled.models import LanguageModel
from unrolled.text import stories

QUICK = experiments.find("gated-stories").contenders["quick"]
BLOCKS = {"rnn": 1, "gru": 3, "lstm": 4, "lstm-1997": 3}


def small(config: dict) -> dict:
    """Return a configuration of the book's with four units, on little text."""
    options = config["model"]["options"] | {"hidden_size": 4}
    return config | {
        "text": reading.text("stories", 20_000),
        "model": config["model"] | {"options": options},
        "recipe": config["recipe"] | {"updates": 3, "batch": 4, "seq_len": 16},
        "sequences": 3,
        "steps": 6,
        "edges": [1, 50, 500],
        "asked": 20_000,
    }


@pytest.mark.parametrize("profile, size", [("quick", 128), ("full", 512)])
def test_the_comparison_is_fair_in_both_senses(profile, size):
    configs, weights = experiments.find("gated-stories").contenders[profile], {}
    for label, config in configs.items():
        options = config["model"]["options"]
        core = base.model_of(config, 30).core
        weights[label] = base.parameters(core)
        assert config["recipe"]["learning_rate"] == gated_stories.RATES[options["core"]]
        assert label.startswith(options["core"]) and (options["hidden_size"] == size) == ("-as-" not in label)
        if options["core"] in ("rnn", "lstm", "gru"):
            assert weights[label] == gated_stories.core_parameters(options["core"], options["hidden_size"])
    for label in configs:
        if "-as-" in label:  # one unit more or less would be further off
            assert weights[label] == pytest.approx(weights[label.split("-as-")[1]], rel=0.012)


@pytest.mark.parametrize("core", ["rnn", "lstm", "gru"])
def test_the_hidden_size_that_is_chosen_is_the_nearest(core):
    for size in (1, 57, 300):
        low, high = (gated_stories.core_parameters(core, size + more) for more in (0, 1))
        nearest = [gated_stories.hidden_size_for(core, low + part) for part in (0, (high - low) // 3)]
        assert nearest == [size, size]
        assert gated_stories.hidden_size_for(core, high - (high - low) // 3) == size + 1


@pytest.mark.parametrize("core", ["rnn", "lstm", "gru"])
def test_a_model_is_probed(core):
    torch.manual_seed(0)
    model, tokens = LanguageModel(7, hidden_size=4, core=core), torch.randint(7, (3, 6))
    probed = gated_stories.probe(model, tokens)
    parts, gates = {"rnn": ("h", ""), "lstm": ("hc", "fio"), "gru": ("h", "zr")}[core]
    names = [*(f"lag_{part}" for part in parts), *(f"gate_{gate}" for gate in gates), *["half_life"] * bool(gates)]
    assert list(probed) == names
    inputs, cell = model.embedding(tokens[:, :-1]), model.core.cell
    for part in parts:
        norms = gradients.gradient_by_lag(cell, inputs, gated_stories.last_loss(model, tokens[:, -1]), part=part)
        assert probed[f"lag_{part}"] == pytest.approx((norms / norms[:, :1]).median(0).values.tolist())
    values = trace(cell, inputs)
    assert all(probed[f"gate_{gate}"] == pytest.approx(values[gate].mean().item()) for gate in gates)
    if gates:
        kept = probed["gate_f"] if core == "lstm" else 1 - probed["gate_z"]
        assert kept ** probed["half_life"] == pytest.approx(0.5)


def test_a_forget_bias_begins_with_its_half_life():
    for bias, steps in ((0, 1.0), (1, 2.2), (2, 5.5)):
        model = LanguageModel(7, hidden_size=4, core="lstm", cell_options={"forget_bias": bias})
        torch.nn.init.zeros_(model.core.cell.W_hh)
        torch.nn.init.zeros_(model.embedding.weight)
        assert gated_stories.probe(model, torch.randint(7, (3, 6)))["half_life"] == pytest.approx(steps, abs=0.05)


def test_each_model_is_trained_scored_asked_and_probed_before_and_after(tmp_path, monkeypatch):
    begun, probed, train, probe = [], [], base.train, gated_stories.probe

    def weights(model):
        return {name: weight.clone() for name, weight in model.state_dict().items()}

    def watched(model, *given, **options):
        begun.append(weights(model))
        return train(model, *given, **options)

    def looked(model, tokens):
        probed.append(weights(model))
        assert tokens.shape == (3, 7)
        return probe(model, tokens)

    monkeypatch.setattr(base, "train", watched)
    monkeypatch.setattr(gated_stories, "probe", looked)
    forget = {}
    for place, (label, config) in enumerate(QUICK.items()):
        metrics = gated_stories.measure(small(config), 1, tmp_path / label)
        before, after = probed[2 * place], probed[2 * place + 1]
        assert all(torch.equal(before[name], weight) for name, weight in begun[place].items())
        assert not torch.equal(before["core.cell.W_hh"], after["core.cell.W_hh"])
        assert metrics["lag_h"][0] != metrics["lag_h"][1]
        assert metrics["curve"][-1] == pytest.approx(metrics["nats"], rel=1e-4)
        assert metrics["updates"] == [1, 2, 3] and metrics["hidden_size"] == 4
        assert metrics["parameters"] == BLOCKS[config["model"]["options"]["core"]] * (4 * (4 + 32) + 4)
        assert 0 <= metrics["name"][0] <= 1 and metrics["pronoun_asked"][0] > 0
        forget[label] = metrics.get("gate_f", [None])[0]
        assert ("half_life" in metrics) == (config["model"]["options"]["core"] in ("lstm", "gru"))
    biases = [forget[f"lstm{variant}"] for variant in ("-bias-minus-1", "-bias-0", "", "-bias-2")]
    assert biases == sorted(biases) and forget["lstm-1997"] is None


def test_recall_is_asked_in_stories_that_were_not_trained_on(tmp_path, monkeypatch):
    asked = []

    def watched(model, vocabulary, corpus, kind, edges):
        asked.append((kind, {story.text for story in corpus.stories}))
        return recall_by_lag(model, vocabulary, corpus, kind, edges)

    monkeypatch.setattr(gated_stories, "recall_by_lag", watched)
    config = small(experiments.find("rnn-recall").contenders["quick"]["rnn"])
    metrics = gated_stories.measure_one(config, 0, tmp_path)
    assert [kind for kind, _ in asked] == ["name", "pronoun"]
    read = {story.text for story in stories.corpus(20_000).stories}
    assert all(heard and heard.isdisjoint(read) for _, heard in asked)
    assert all(0 <= share <= 1 for share in metrics["name"] + metrics["pronoun"])
    assert min(metrics["name_asked"] + metrics["pronoun_asked"]) > 0 and metrics["nats"] > 0


def test_long_runs_read_nothing_twice():
    for configs in experiments.find("gated-recall").contenders.values():
        assert {*configs} == {"rnn", "gru", "lstm"}
        assert len({config["model"]["options"]["hidden_size"] for config in configs.values()}) == 1
        for config in configs.values():
            recipe = config["recipe"]
            assert 0.9 * config["text"]["characters"] > recipe["updates"] * recipe["batch"] * recipe["seq_len"]

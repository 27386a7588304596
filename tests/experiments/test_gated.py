"""The experiments on gated cells train what they say, with each cell, and measure it."""

import pytest
import torch

from unrolled import experiments
from unrolled.cells import GRUCell, LSTMCell, OriginalLSTMCell, trace
from unrolled.experiments import gated, memory
from unrolled.measure import gradients
from unrolled.models import LanguageModel
from unrolled.tasks import Adding, Outcome


@pytest.fixture
def tasks():
    config = experiments.find("gated-memory-tasks").configs["quick"]
    small = {"updates": 4, "batch": 3, "hidden_size": 5, "sequences": 20}
    lengths = {"adding": [2, 4], "copy": [1]}
    return config | {
        "tasks": {name: told | small | {"lengths": lengths[name]} for name, told in config["tasks"].items()}
    }


@pytest.fixture
def stories():
    config = experiments.find("gated-stories").configs["quick"]
    small = {"characters": 20_000, "symbols_per_update": 64, "updates": 3, "seq_len": 16, "sequences": 3, "steps": 6}
    models = {label: told | {"hidden_size": 4} for label, told in config["models"].items()}
    return config | small | {"edges": [1, 50, 500], "asked": 20_000, "models": models}


def test_the_tasks_are_those_of_chapter_4_with_more_to_copy():
    for profile, copy in (("quick", 20), ("full", 100)):
        ours, theirs = (experiments.find(f"{name}memory-tasks").configs[profile]["tasks"] for name in ("gated-", ""))
        assert ours["adding"] == theirs["adding"]
        assert ours["copy"]["lengths"] == [*theirs["copy"]["lengths"], copy]
        assert all(ours["copy"][key] == value for key, value in theirs["copy"].items() if key != "lengths")


def test_the_configuration_that_chapter_4_was_recorded_with_names_no_cell():
    for config in experiments.find("memory-tasks").configs.values():
        assert all({*remedy} == {*memory._TANH} for remedy in config["remedies"].values())
        assert not any("remedies" in told for told in config["tasks"].values())


def test_every_gated_cell_is_tried_and_a_killed_run_goes_on(tasks, tmp_path, monkeypatch):
    metrics = experiments.find("gated-memory-tasks").measure(tasks, 0, tmp_path)
    assert {key for key in metrics if key.endswith("solved")} == {
        *(f"adding-{label}-solved" for label in tasks["remedies"]),
        *(f"copy-{label}-solved" for label in ("lstm", "lstm-1997", "gru")),
    }
    assert metrics["adding-gru-updates"] == [4, 4] and metrics["copy-lstm-updates"] == [4]
    assert len({tuple(metrics[f"adding-{label}-loss"]) for label in tasks["remedies"]}) == 6
    asked, train_one = [], memory.train_one

    def watched(told, remedy, task, seed):
        asked.append((remedy, task))
        return train_one(told, remedy, task, seed)

    monkeypatch.setattr(memory, "train_one", watched)
    (tmp_path / "adding-lstm-bias-2-4.json").unlink()
    assert experiments.find("gated-memory-tasks").measure(tasks, 0, tmp_path) == metrics
    assert asked == [(tasks["remedies"]["lstm-bias-2"], Adding(4))]


def test_a_remedy_is_the_cell_that_its_name_says(tasks, monkeypatch):
    asked = {}

    def train(model, task, **how):
        asked.update(how, cell=model.cell)
        return Outcome(updates=4, scores=[task.trivial])

    monkeypatch.setattr(memory.tasks, "solve", train)
    for label, remedy in tasks["remedies"].items():
        memory.train_one(tasks["tasks"]["adding"], remedy, Adding(4), 7)
        cell = asked["cell"]
        assert (asked["clip"], asked["seed"], cell.hidden_size) == (1.0, 7, 5)
        assert type(cell) is {"gru": GRUCell, "lstm-1997": OriginalLSTMCell}.get(label, LSTMCell)
        if isinstance(cell, LSTMCell):
            bias = {"lstm": 1, "lstm-bias-minus-1": -1, "lstm-bias-0": 0, "lstm-bias-2": 2}[label]
            assert (cell.block("f").b_h == bias).all()


@pytest.mark.parametrize("profile, size", [("quick", 128), ("full", 512)])
def test_the_comparison_is_fair_in_both_senses(profile, size):
    models = experiments.find("gated-stories").configs[profile]["models"]
    weights = {}
    for label, told in models.items():
        cell, options = memory.resolved(told["core"], told["options"])
        core = LanguageModel(30, hidden_size=told["hidden_size"], core=cell, cell_options=options).core
        weights[label] = sum(weight.numel() for weight in core.parameters())
        assert told["learning_rate"] == models[told["core"]]["learning_rate"]
        assert label.startswith(told["core"]) and (told["hidden_size"] == size) == ("-as-" not in label)
    assert weights["lstm"] == gated.parameters("lstm", size) and weights["rnn"] == gated.parameters("rnn", size)
    for label in models:
        if "-as-" in label:  # one unit more or less would be further off
            assert weights[label] == pytest.approx(weights[label.split("-as-")[1]], rel=0.012)


@pytest.mark.parametrize("core", ["rnn", "lstm", "gru"])
def test_the_hidden_size_that_is_found_is_the_nearest(core):
    for size in (1, 57, 300):
        here, one_more = (gated.parameters(core, size + more) for more in (0, 1))
        assert gated.hidden_size_for(core, here) == gated.hidden_size_for(core, here + (one_more - here) // 3) == size
        assert gated.hidden_size_for(core, one_more - (one_more - here) // 3) == size + 1


@pytest.mark.parametrize("core", ["rnn", "lstm", "gru"])
def test_a_model_is_probed(core):
    torch.manual_seed(0)
    model, tokens = LanguageModel(7, hidden_size=4, core=core), torch.randint(7, (3, 6))
    found = gated.probe(model, tokens)
    parts, gates = {"rnn": ("h", ""), "lstm": ("hc", "fio"), "gru": ("h", "zr")}[core]
    assert {*found} == {
        *(f"lag-{part}" for part in parts),
        *(f"gate-{gate}" for gate in gates),
        *(["half-life"] if gates else []),
    }
    for part in parts:
        norms = gradients.gradient_by_lag(
            model.core.cell, model.embedding(tokens[:, :-1]), gated.last_loss(model, tokens[:, -1]), part=part
        )
        assert found[f"lag-{part}"] == pytest.approx((norms / norms[:, :1]).median(0).values.tolist())
    values = trace(model.core.cell, model.embedding(tokens[:, :-1]))
    assert all(found[f"gate-{gate}"] == pytest.approx(values[gate].mean().item()) for gate in gates)
    if gates:
        kept = found["gate-f"] if core == "lstm" else 1 - found["gate-z"]
        assert kept ** found["half-life"] == pytest.approx(0.5)


def test_a_forget_bias_begins_with_its_half_life():
    for bias, steps in ((0, 1.0), (1, 2.2), (2, 5.5)):
        model = LanguageModel(7, hidden_size=4, core="lstm", cell_options={"forget_bias": bias})
        torch.nn.init.zeros_(model.core.cell.W_hh)
        torch.nn.init.zeros_(model.embedding.weight)
        assert gated.probe(model, torch.randint(7, (3, 6)))["half-life"] == pytest.approx(steps, abs=0.05)


def test_each_model_is_trained_scored_asked_and_probed_before_and_after(stories, tmp_path, monkeypatch):
    made, train = {}, gated.trained

    def watched(make, config, seed, checkpoint):
        def kept(vocab_size):
            model = make(vocab_size)
            made[checkpoint.stem] = {name: weight.clone() for name, weight in model.state_dict().items()}
            return model

        return train(kept, config, seed, checkpoint)

    probed, probe = [], gated.probe

    def looked(model, tokens):
        probed.append({name: weight.clone() for name, weight in model.state_dict().items()})
        assert tokens.shape == (3, 7)
        return probe(model, tokens)

    monkeypatch.setattr(gated, "trained", watched)
    monkeypatch.setattr(gated, "probe", looked)
    metrics = gated.measure_stories(stories, 1, tmp_path)
    assert metrics["lags"] == list(range(7)) and metrics["edges"] == [1, 50, 500]
    for place, label in enumerate(stories["models"]):
        before, after = probed[2 * place], probed[2 * place + 1]
        assert all(torch.equal(before[name], weight) for name, weight in made[label].items())
        assert not torch.equal(before["core.cell.W_hh"], after["core.cell.W_hh"])
        assert metrics[f"{label}-before-lag-h"] != metrics[f"{label}-after-lag-h"]
        assert metrics[f"{label}-curve"][-1] == pytest.approx(metrics[f"{label}-nats"], rel=1e-4)
        assert metrics[f"{label}-updates"] == [1, 2, 3] and metrics[f"{label}-hidden-size"] == 4
        blocks = 3 if label == "lstm-1997" else {"rnn": 1, "gru": 3, "lstm": 4}[label.split("-")[0]]
        assert metrics[f"{label}-parameters"] == blocks * (4 * (4 + 32) + 4)
        assert 0 <= metrics[f"{label}-name"][0] <= 1 and metrics[f"{label}-pronoun-asked"][0] > 0
    forget = [metrics[f"lstm{variant}-before-gate-f"] for variant in ("-bias-minus-1", "-bias-0", "", "-bias-2")]
    assert forget[0] < forget[1] < forget[2] < forget[3]
    assert "lstm-1997-before-gate-f" not in metrics and "lstm-1997-before-half-life" not in metrics


def test_a_killed_run_goes_on_with_the_next_model(stories, tmp_path, monkeypatch):
    stories["models"] = {label: stories["models"][label] for label in ("rnn", "gru")}
    metrics = gated.measure_stories(stories, 0, tmp_path)
    (tmp_path / "gru.json").unlink()
    asked, train = [], gated.trained
    monkeypatch.setattr(gated, "trained", lambda *told: asked.append(told[-1].stem) or train(*told))
    again = gated.measure_stories(stories, 0, tmp_path)
    assert asked == ["gru"] and again.keys() == metrics.keys() and again["gru-nats"] == metrics["gru-nats"]


def test_long_runs_read_nothing_twice():
    for config in experiments.find("gated-recall").configs.values():
        assert 0.9 * config["characters"] > config["updates"] * config["symbols_per_update"]
        assert {*config["models"]} == {"rnn", "gru", "lstm"}
        assert len({told["hidden_size"] for told in config["models"].values()}) == 1

"""The experiments that train, on a few updates: what is trained, what is scored and under which name."""

import itertools

import pytest
import torch
from torch import nn

from unrolled.experiments import base, recurrent, windows
from unrolled.measure import evaluate
from unrolled.models import FixedWindowLM, LanguageModel
from unrolled.text import Vocabulary, stories
from unrolled.training import History, Recipe

TINY = {
    "corpus": "stories",
    "characters": 20_000,
    "symbols_per_update": 64,
    "updates": 3,
    "hidden_size": 8,
    "learning_rate": 1e-2,
    "seq_len": 16,
    "carry": True,
}


def reader(vocab_size):
    return LanguageModel(vocab_size, hidden_size=8)


def test_a_configuration_becomes_a_recipe(tmp_path, monkeypatch):
    asked = {}

    def train(model, tokens, recipe, **how):
        asked.update(how, tokens=tokens, recipe=recipe)
        return History()

    monkeypatch.setattr(base, "train", train)
    _, held_out, _ = base.trained(reader, TINY | {"carry": False, "updates": 20}, 0, tmp_path / "a.pt")
    assert asked["recipe"] == Recipe(updates=20, batch=4, seq_len=16, learning_rate=1e-2, carry=False)
    training, validation = base.texts(TINY)
    vocabulary = Vocabulary(training + validation)
    assert "".join(vocabulary.decode(asked["tokens"])) == training
    assert "".join(vocabulary.decode(held_out)) == validation and torch.equal(asked["validation"], held_out)
    assert (asked["validate_every"], asked["checkpoint"]) == (2, tmp_path / "a.pt")
    for validations, every in ((4, 5), (100, 1)):
        base.trained(reader, TINY | {"updates": 20, "validations": validations}, 0, tmp_path / "a.pt")
        assert asked["validate_every"] == every
    assert 8 < len(training) / len(validation) < 10


def test_a_seed_decides_the_first_weights(tmp_path):
    first, again, other = (
        base.trained(reader, TINY, seed, tmp_path / f"{run}.pt")[2].losses for run, seed in enumerate((0, 0, 1))
    )
    assert first == again != other


def test_windows_are_trained_and_scored_as_their_names_say(tmp_path):
    metrics = recurrent.measure_windows(TINY | {"seq_lens": [4, 16]}, 0, tmp_path)
    assert len(metrics) == 2 * 2 * 3 + 1 and metrics["updates"] == [1, 2, 3]
    for name, carry in (("reset-4", False), ("carried-4", True)):
        model, held_out, history = base.trained(reader, TINY | {"seq_len": 4, "carry": carry}, 0, tmp_path / "own.pt")
        (tmp_path / "own.pt").unlink()
        assert metrics[f"{name}-curve"] == history.validation
        assert metrics[f"{name}-scored-carried"] == pytest.approx(evaluate(model, held_out).nats_per_symbol)
        assert metrics[f"{name}-scored-reset"] == pytest.approx(evaluate(model, held_out, window=4).nats_per_symbol)
    assert len({value for name, value in metrics.items() if "-scored-" in name}) == 8


def test_recall_is_asked_in_stories_that_were_not_trained_on(tmp_path, monkeypatch):
    asked, recall = [], recurrent.recall.recall_by_lag

    def watched(model, vocabulary, corpus, kind, edges):
        asked.append((kind, {story.text for story in corpus.stories}))
        return recall(model, vocabulary, corpus, kind, edges)

    monkeypatch.setattr(recurrent.recall, "recall_by_lag", watched)
    metrics = recurrent.measure_recall(TINY | {"asked": 20_000, "edges": [1, 50, 500]}, 0, tmp_path)
    assert [kind for kind, _ in asked] == ["name", "pronoun"]
    told = {story.text for story in stories.corpus(20_000).stories}
    assert all(heard and heard.isdisjoint(told) for _, heard in asked)
    assert all(0 <= share <= 1 for share in metrics["name"] + metrics["pronoun"])
    assert min(metrics["name-asked"] + metrics["pronoun-asked"]) > 0


def test_a_text_is_scored_and_continued(tmp_path):
    metrics = recurrent.measure_text(TINY, 0, tmp_path)
    assert len(metrics["sample"]) == 401 and metrics["sample"][0] == "\n"
    assert metrics["curve"][-1] == pytest.approx(metrics["nats"], rel=1e-4) and metrics["updates"] == [1, 2, 3]
    vocab_size = len(Vocabulary("".join(base.texts(TINY))))
    # an embedding of 32, the cell's two matrices and bias, the output's matrix and bias; h_0 is not trained
    assert metrics["parameters"] == 32 * vocab_size + 8 * (32 + 8 + 1) + (8 + 1) * vocab_size


def test_an_initial_state_is_learned_where_the_name_says_so(tmp_path, monkeypatch):
    made, train = {}, base.train

    def watched(model, tokens, recipe, *, checkpoint, **how):
        made[checkpoint.stem] = (recipe.carry, model.h_0.requires_grad)
        return train(model, tokens, recipe, checkpoint=checkpoint, **how)

    monkeypatch.setattr(base, "train", watched)
    metrics = recurrent.measure_initial_state(TINY, 0, tmp_path)
    assert made == {
        "reset-zero": (False, False),
        "reset-learned": (False, True),
        "carried-zero": (True, False),
        "carried-learned": (True, True),
    }
    model, held_out, _ = base.trained(reader, TINY | {"carry": False}, 0, tmp_path / "own.pt")
    assert metrics["reset-zero"] == pytest.approx(evaluate(model, held_out, window=16).nats_per_symbol)


def test_loop_times_are_microseconds_a_symbol(tmp_path, monkeypatch):
    monkeypatch.setattr(recurrent.time, "perf_counter", itertools.count().__next__)  # everything takes a second
    told = {"lengths": [4, 10], "batch": 1, "hidden_size": 3, "repeats": 5}
    metrics = recurrent.measure_loop_time(told, 0, tmp_path)
    assert metrics == {"lengths": [4, 10], "loop": [250_000, 100_000], "no-loop": [250_000, 100_000]}


def test_window_networks_begin_and_are_normalised_as_their_names_say(tmp_path, monkeypatch):
    made = {}

    def trained(make, config, seed, checkpoint):
        torch.manual_seed(seed)
        made[checkpoint.stem] = model = make(5)
        return model, torch.arange(5), History(losses=[1.0])

    monkeypatch.setattr(windows, "trained", trained)
    windows.measure_initialisation({"initialisations": ["normal", "xavier"]}, 0, tmp_path)
    assert list(made) == ["normal-plain", "normal-norm", "xavier-plain", "xavier-norm"]
    for name, model in made.items():
        layers = list(model.layers)
        assert any(isinstance(layer, nn.LayerNorm) for layer in layers) == name.endswith("norm")
        assert (layers[0].weight.std() > 0.5) == name.startswith("normal")


def test_windows_of_several_sizes_are_trained(tmp_path):
    metrics = windows.measure_size(TINY | {"windows": [1, 3], "updates": 1}, 0, tmp_path)
    vocab_size = len(Vocabulary("".join(base.texts(TINY))))
    expected = [sum(weight.numel() for weight in FixedWindowLM(vocab_size, window=m).parameters()) for m in (1, 3)]
    assert metrics["windows"] == [1, 3] and metrics["parameters"] == expected
    assert len(set(metrics["nats"])) == 2

"""Every kind of model is scored on the same stories, and the loss is found where it is."""

import numpy as np
import pytest
import torch

from small_experiments import small
from unrolled.experiments import base, find, model_kinds, reading
from unrolled.experiments.gradients import windows_of
from unrolled.measure import breakdown, evaluate, token_nats
from unrolled.models import load_model
from unrolled.ngram import Counts, ModifiedKneserNey
from unrolled.text import stories

CONTENDERS = find("stories-chars").contenders["quick"]
HELD_OUT = stories.corpus(20_000).split(0.9)[1]


def test_the_text_is_the_held_out_stories_themselves(tmp_path):
    metrics = model_kinds.measure(small(CONTENDERS["text"]), 0, tmp_path)
    assert metrics["nats"] == HELD_OUT.nats_per_character and metrics["characters"] == len(HELD_OUT.text)
    shares = breakdown.by_class(np.zeros(len(HELD_OUT.text)), HELD_OUT)
    assert metrics["classes"] == list(shares)
    assert metrics["class_words"] == [share.words for share in shares.values()]
    assert metrics["class_characters"] == [share.characters for share in shares.values()]


def test_ngrams_of_each_order_are_scored(tmp_path):
    metrics = {label: model_kinds.measure(small(CONTENDERS[label]), 0, tmp_path) for label in ("1-gram", "3-gram")}
    text = reading.encoded(small(CONTENDERS["3-gram"]))
    counted = ModifiedKneserNey(Counts(text.training, len(text.vocabulary), 12), 3)
    assert metrics["3-gram"]["nats"] == pytest.approx(evaluate(counted, text.held_out).nats_per_symbol)
    assert metrics["1-gram"]["bytes"] < metrics["3-gram"]["bytes"] == counted.nbytes
    nats = token_nats(counted, text.held_out, start=text.vocabulary["\n"])
    assert sum(metrics["3-gram"]["by_class"]) == pytest.approx(nats.sum())


@pytest.mark.parametrize("label", ["window", "rnn", "gru", "lstm", "transformer"])
def test_each_network_is_asked_in_every_respect(label, tmp_path):
    config = small(CONTENDERS[label], positions=[0, 1, 2000], edges=[1, 50, 500], asked=20_000)
    if label != "window":
        config |= {"sequences": 3, "steps": 6}
    metrics = model_kinds.measure(config, 0, tmp_path)
    text, (network, vocabulary) = reading.encoded(config), load_model(tmp_path / "model.model")
    nats = token_nats(network, text.held_out, start=vocabulary["\n"])
    assert sum(metrics["by_class"]) == pytest.approx(nats.sum())
    assert metrics["by_story"] == pytest.approx(breakdown.by_story(nats, HELD_OUT), abs=0.01)
    first = breakdown.by_position(nats, HELD_OUT, [0, 1]).item()
    assert metrics["by_position"][0] == pytest.approx(first, rel=1e-4) and len(metrics["by_position"]) == 2
    assert metrics["pronoun_asked"][0] > 0 and 0 <= metrics["name"][0] <= 1
    assert ("lag" in metrics) == (label != "window")
    if "lag" in metrics:
        expected = model_kinds.gradient_by_lag(network, windows_of(text.held_out, 3, 6))
        assert metrics["lag"] == pytest.approx(expected, rel=1e-4) and metrics["lag"][0] == 1
    assert model_kinds.axes(config).get("lag", range(0)) == range(len(metrics.get("lag", ())))


def test_the_lag_of_a_transformer_is_by_its_inputs():
    torch.manual_seed(0)
    config = {"model": base.model("TransformerLM", context=8, hidden_size=4, num_layers=2, num_heads=2)}
    network, tokens = base.model_of(config, 7), torch.randint(7, (3, 6))
    inputs = network.embedding(tokens[:, :-1]).detach().requires_grad_()
    logits = network.output(network.attend(inputs)[:, -1])
    torch.nn.functional.cross_entropy(logits, tokens[:, -1], reduction="sum").backward()
    norms = inputs.grad.norm(dim=-1).flip(1)
    expected = (norms / norms[:, :1]).median(0).values.tolist()
    assert model_kinds.gradient_by_lag(network, tokens) == pytest.approx(expected, rel=1e-4)


def test_equally_many_weights_are_compared():
    networks = [config for config in CONTENDERS.values() if "model" in config]
    weights = [base.parameters(base.model_of(config, 57)) for config in networks]
    assert len(networks) == 5 and min(weights) > 300_000 and max(weights) < 350_000

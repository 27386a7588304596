"""Chapter 3's experiments: scores of both ways to carry a state, an initial state, and gradients that are cut."""

import pytest
import torch

import lab
from lab.ch03_backpropagation import truncation
from lab.engine.training import fit, model_of, recipe_of
from small_experiments import small
from unrolled import bptt
from unrolled.measure import evaluate
from unrolled.models import LanguageModel
from unrolled.text import Streams


@pytest.mark.parametrize("state", ["reset", "carried"])
def test_windows_are_scored_in_both_ways(state, tmp_path):
    config = small("rnn-truncation", f"{state} 4")
    metrics = truncation.measure_windows(config, 0, tmp_path / "a")
    network, read, history, _ = fit(config, 0, tmp_path / "b")
    assert metrics["curve"] == history.validation and metrics["updates"] == [1, 2, 3]
    assert metrics["scored_carried"] == pytest.approx(evaluate(network, read.held_out).nats_per_symbol)
    assert metrics["scored_reset"] == pytest.approx(evaluate(network, read.held_out, window=16).nats_per_symbol)
    assert metrics["scored_carried"] != metrics["scored_reset"]


@pytest.mark.parametrize("label", lab.find("rnn-initial-state").contenders)
def test_an_initial_state_is_learned_and_scored_as_the_label_says(label, tmp_path):
    config, (state, beginning) = small("rnn-initial-state", label), label.split()
    assert model_of(config, 5).h_0.requires_grad == (beginning == "learned")
    assert recipe_of(config).carry == (state == "carried")
    metrics = truncation.measure_initial_state(config, 0, tmp_path / "a")
    network, read, *_ = fit(config, 0, tmp_path / "b")
    window = None if state == "carried" else 16
    assert metrics["nats"] == pytest.approx(evaluate(network, read.held_out, window=window).nats_per_symbol)


def test_a_truncated_gradient_is_that_of_the_backward_pass_by_hand():
    torch.manual_seed(0)
    network = LanguageModel(7, hidden_size=5).double()
    streams = Streams(torch.randint(7, (2 * 24 + 1,)), batch=2, seq_len=12)
    cell, output = network.core.layers[0], network.output
    weights = (cell.W_xh, cell.W_hh, output.weight, cell.b_h, output.bias)
    parameters = bptt.rnn.Parameters(*(each.detach().numpy() for each in weights))
    for length in (1, 3, 12):
        found, h_0 = truncation.truncated_gradients(network, streams, 2, length), None
        for number in range(2):  # the state is carried from batch to batch
            inputs, targets, _ = streams.window(number)
            vectors = network.embed(inputs).detach().numpy()
            _, trace = bptt.rnn.forward(parameters, vectors, targets.numpy(), h_0)
            right = bptt.rnn.backward(trace, truncate=length).W_hh
            assert found[number].numpy() == pytest.approx(right.ravel(), rel=1e-9)
            h_0 = trace.h[-1]


def test_what_is_not_cut_is_compared_with_itself():
    torch.manual_seed(0)
    network, rhyme = LanguageModel(7, hidden_size=5), torch.tensor([0, 1, 2, 0, 3, 4]).repeat(30)
    found = truncation.compare(network, Streams(rhyme, batch=4, seq_len=8), {"batches": 4, "lengths": [2, 8]})
    assert found["cosine"][1] == pytest.approx(1) and found["kept"][1] == pytest.approx(1)
    cut, whole = found["cosine_same_batch"]
    assert cut < 0.999 and whole == pytest.approx(1)
    assert 0 < found["cosine_halves"] <= 1


def test_batches_that_are_too_few_are_refused(monkeypatch):
    opposed = torch.tensor([[1.0, 0.0], [1.0, 0.1], [-1.0, 0.0], [-1.0, 0.1]], dtype=torch.float64)
    monkeypatch.setattr(truncation, "truncated_gradients", lambda *_: opposed)
    streams = Streams(torch.arange(41) % 7, batch=4, seq_len=8)
    with pytest.raises(ValueError, match="halves of 4 batches point apart; average over more"):
        truncation.compare(LanguageModel(7, hidden_size=5), streams, {"batches": 4, "lengths": [2]})

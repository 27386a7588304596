"""Gradients by input: their terms add up to the gradient of the embedding, and a minibatch's noise is what it says."""

import pytest
import torch
from torch.nn.functional import cross_entropy
from unrolled.experiments import cells_over_budget, find, input_gradient, reading, records
from unrolled.experiments.gradients import windows_of

from unrolled.models import LanguageModel

STEPS = 6


@pytest.fixture
def network():
    torch.manual_seed(0)
    return LanguageModel(5, core="gru", hidden_size=4, embedding_size=3, embedding_scale=2.0).double()


def drawn(sequences: int, steps: int = STEPS, seed: int = 0) -> torch.Tensor:
    return torch.randint(5, (sequences, steps + 1), generator=torch.Generator().manual_seed(seed))


def test_the_terms_of_all_lags_add_up_to_the_gradient_of_the_embedding(network):
    tokens = drawn(7)
    _, mean = input_gradient.terms(network, tokens)
    logits, _ = network(tokens[:, :-1])
    cross_entropy(logits[:, -1], tokens[:, -1]).backward()
    torch.testing.assert_close(mean.sum(dim=0), network.embedding.weight.grad)
    assert mean.shape == (STEPS, 5, 3)


def test_the_term_of_a_lag_is_that_of_the_symbols_read_then(network):
    tokens = torch.tensor([[0, 0, 0, 1, 0, 0, 2]])  # symbol 1 two steps before the last input
    medians, mean = input_gradient.terms(network, tokens)
    assert [bool(term[1].any()) for term in mean] == [lag == 2 for lag in range(STEPS)]
    assert not mean[:, 2:].any() and medians[0] == 1 and (medians > 0).all()


def test_noise_falls_with_the_root_of_the_batch(network):
    small, large = (input_gradient.noise(network, drawn(200 * batch, seed=batch), 200) for batch in (4, 64))
    assert small / large == pytest.approx(4, rel=0.15)


def test_equal_minibatches_have_no_noise(network):
    assert input_gradient.noise(network, drawn(8).repeat(5, 1), 5) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("name", cells_over_budget.CELLS)
def test_each_cell_is_looked_at_before_on_the_way_and_after(name, tmp_path, hold_out):
    hold_out(20_000)
    config = cells_over_budget.configuration(name, 4, 4, characters_per_update=512) | {"validations": 0}
    config["text"]["characters"] = 30_000
    config |= {"points": [0, 2, 4], "sequences": 64, "steps": 12, "minibatches": 4}
    measured = input_gradient.measure(config, 0, tmp_path)
    find("input-gradient").check(records.Contender(name, config, [measured], input_gradient.axes(config)))
    again = input_gradient.measure(config, 0, tmp_path)
    assert again == measured and len({str(lags) for lags in measured["lag"]}) == 3
    assert all(noise > 0 for noise in measured["noise"])


def test_a_signal_is_what_both_halves_agree_on(network, monkeypatch):
    """The norm of a mean of random vectors is never zero; the product of two such means is, on average."""
    read = reading.Encoded(None, drawn(1, 400)[0], drawn(1, 400, seed=1)[0])
    config = {"recipe": {"batch": 4, "seq_len": 8}, "sequences": 20, "steps": STEPS, "minibatches": 3}
    agreed, halves = torch.randn(STEPS, 5, 3), []

    def terms(network, tokens):
        halves.append(tokens)
        return torch.ones(STEPS), agreed * (-1) ** (len(halves) > 1 and opposed)

    monkeypatch.setattr(input_gradient, "terms", terms)
    opposed = False
    torch.testing.assert_close(
        torch.tensor(input_gradient.probe(network, read, config)["signal"]), agreed.flatten(1).norm(dim=1)
    )
    assert torch.equal(torch.stack(halves, dim=1).flatten(0, 1), windows_of(read.held_out, 20, STEPS))
    halves.clear()
    opposed = True
    assert not any(input_gradient.probe(network, read, config)["signal"])


def test_the_moments_are_those_of_the_middle_budget(monkeypatch, tmp_path):
    chosen = {"learning_rate": 4e-3, "initialisation": "orthogonal"}
    monkeypatch.setattr(input_gradient.cells_over_budget.COMPARISON.__class__, "chosen", lambda *_: chosen)
    contenders = find("input-gradient").contenders["quick"]
    assert list(contenders) == list(cells_over_budget.CELLS)
    assert all(config["points"] == [0, 200, 2000] for config in contenders.values())
    assert all(config["recipe"]["learning_rate"] == 4e-3 for config in contenders.values())

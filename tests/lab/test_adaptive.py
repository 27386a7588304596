"""An adaptive softmax prices a word by what its clusters say, as PyTorch's does whose projections do nothing."""

import pytest
import torch
from torch import nn

from lab.ch07_words import AdaptiveLM, AdaptiveSoftmax
from unrolled.models import NeuralModel, load_model, save_model
from unrolled.text import WordVocabulary
from unrolled.training import Recipe, train

WORDS, CUTOFFS = 50, [10, 30]


@pytest.fixture
def model():
    torch.manual_seed(0)
    made = AdaptiveLM(WORDS, begins=[0.2, 0.6], hidden_size=8, core="lstm")
    for weights in made.parameters():
        nn.init.normal_(weights)  # biases too, so that nothing hides behind a zero
    return made


@pytest.fixture
def window():
    return torch.randint(WORDS, (2, 4, 30), generator=torch.Generator().manual_seed(1))


def test_what_a_target_costs_is_less_the_logarithm_of_its_probability(model, window):
    inputs, targets = window
    log_p, last = model(inputs)
    assert torch.allclose(log_p.exp().sum(dim=-1), torch.ones(inputs.shape), atol=1e-5)
    expected = -log_p.gather(2, targets[..., None])[..., 0].double()
    costs, state = model.costs(inputs, targets)
    assert torch.allclose(costs, expected, atol=1e-5) and torch.allclose(state[0], last[0])
    mean, _ = model.mean_cost(inputs, targets)
    assert mean.item() == pytest.approx(expected.mean().item(), rel=1e-5)


def test_in_training_it_is_the_mean_over_all_probabilities_with_the_same_dropout(window):
    torch.manual_seed(0)
    trained = AdaptiveLM(WORDS, begins=[0.2, 0.6], hidden_size=8, core="lstm", dropout=0.5).train()
    assert trained.embedding.weight is trained.output.weight
    torch.manual_seed(1)
    expected, _ = NeuralModel.mean_cost(trained, *window)
    torch.manual_seed(1)
    found, _ = trained.mean_cost(*window)
    assert torch.allclose(found, expected, rtol=1e-5)


def test_it_is_pytorchs_where_the_projections_of_that_one_do_nothing(model, window):
    inputs, targets = window
    peer = nn.AdaptiveLogSoftmaxWithLoss(8, WORDS, CUTOFFS, div_value=1.0, head_bias=True)
    with torch.no_grad():
        model.output.bias[CUTOFFS[0] :] = 0  # its tails have no biases
        peer.head.weight.copy_(torch.cat([model.output.weight[:10], model.output.clusters.weight]))
        peer.head.bias.copy_(torch.cat([model.output.bias[:10], model.output.clusters.bias]))
        for tail, members in zip(peer.tail, model.output.members, strict=True):
            tail[0].weight.copy_(torch.eye(8))
            tail[1].weight.copy_(model.output.weight[members])
    states, _ = model.hidden_states(inputs)
    expected = peer(states.flatten(0, 1), targets.flatten()).loss
    found, _ = model.mean_cost(inputs, targets)
    assert torch.allclose(found, expected, rtol=1e-5)
    ours, theirs = (torch.autograd.grad(loss, model.core.parameters()) for loss in (found, expected))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(ours, theirs, strict=True))


def test_targets_of_one_cluster_need_no_other(model):
    inputs = torch.randint(WORDS, (1, 20))
    for lowest, highest in ((0, 10), (10, 30), (30, 50)):
        targets = torch.randint(lowest, highest, (1, 20))
        model.zero_grad()
        model.mean_cost(inputs, targets)[0].backward()
        reached = torch.where(model.output.bias.grad != 0)[0].tolist()
        assert reached == [*range(10), *range(max(lowest, 10), highest if lowest else 10)]


def test_it_learns_and_a_file_holds_it(model, tmp_path):
    words = [f"w{n}" for n in range(WORDS - 1) for _ in range(WORDS - n)]
    vocabulary = WordVocabulary(words)
    tokens = torch.arange(4 * WORDS) % WORDS
    history = train(model, tokens, Recipe(150, 2, 20, learning_rate=3e-2), progress=False)
    assert history.losses[-1] < 0.5 * history.losses[0]
    save_model(tmp_path / "adaptive", model, vocabulary)
    again, _ = load_model(tmp_path / "adaptive")
    assert torch.equal(
        again.costs(tokens[None, :9], tokens[None, 1:10])[0], model.costs(tokens[None, :9], tokens[None, 1:10])[0]
    )


@pytest.mark.parametrize("cutoffs", [[], [0, 10], [10, 10], [30, 10], [10, 50]])
def test_cutoffs_out_of_order_are_refused(cutoffs):
    with pytest.raises(ValueError, match=r"cutoffs is .*ascend between 0 and 50"):
        AdaptiveSoftmax(8, WORDS, cutoffs)

"""The language model, over the book's core and over PyTorch's."""

import pytest
import torch

from unrolled.models import CORES, LanguageModel


def pair() -> tuple[LanguageModel, LanguageModel]:
    """Return two models with the same weights, one over each core."""
    theirs = LanguageModel(11, embedding_size=5, hidden_size=7, core="torch-rnn").double()
    ours = LanguageModel(11, embedding_size=5, hidden_size=7, core="rnn").double()
    ours.embedding.load_state_dict(theirs.embedding.state_dict())
    ours.output.load_state_dict(theirs.output.state_dict())
    ours.core.cell = type(ours.core.cell).from_torch(theirs.core.rnn)
    return ours, theirs


def test_both_cores_predict_the_same():
    tokens, state = torch.randint(11, (3, 9)), torch.randn(3, 7, dtype=torch.float64)
    ours, theirs = pair()
    for start in (None, state):
        for a, b in zip(ours(tokens, start), theirs(tokens, start), strict=True):
            assert torch.allclose(a, b, atol=1e-10, rtol=0)


@pytest.mark.parametrize("core", CORES)
def test_reading_in_pieces_equals_reading_at_once(core):
    model = LanguageModel(11, hidden_size=7, core=core)
    tokens = torch.randint(11, (3, 10))
    whole, last = model(tokens)
    first, state = model(tokens[:, :4])
    second, end = model(tokens[:, 4:], state)
    assert whole.shape == (3, 10, 11) and last.shape == (3, 7)
    assert torch.allclose(torch.cat([first, second], dim=1), whole, atol=1e-6)
    assert torch.allclose(end, last, atol=1e-6)


@pytest.mark.parametrize("core", CORES)
def test_no_prediction_depends_on_the_future(core):
    model = LanguageModel(11, hidden_size=7, core=core)
    tokens = torch.randint(11, (1, 10))
    changed = tokens.clone()
    changed[0, 6] = (changed[0, 6] + 1) % 11
    difference = (model(tokens)[0] - model(changed)[0]).abs().amax(dim=(0, 2))
    assert (difference[:6] == 0).all() and (difference[6:] > 0).all()


def test_the_initial_state_is_learned_only_if_asked():
    for learned in (False, True):
        model = LanguageModel(11, learn_initial_state=learned)
        model(torch.randint(11, (2, 5)))[0].sum().backward()
        assert (model.h_0.grad is not None) == learned


@pytest.mark.parametrize("core", CORES)
def test_bad_input_is_named(core):
    model = LanguageModel(11, hidden_size=7, core=core)
    with pytest.raises(ValueError, match=r"two axes are expected: \(batch, time\)"):
        model(torch.zeros(4, dtype=torch.long))
    with pytest.raises(ValueError, match=r"axis 1 \(hidden_size\) is 8 and should be 7"):
        model(torch.zeros(2, 4, dtype=torch.long), torch.zeros(2, 8))


def test_an_unknown_core_is_named():
    with pytest.raises(ValueError, match="core is 'rmn'; it can be one of rnn, torch-rnn"):
        LanguageModel(11, core="rmn")

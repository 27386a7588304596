"""A tagger of two language models' states reads each from its own side, and leaves them as they are."""

import pytest
import torch
from torch import nn

from lab.ch10_depth_and_direction.pretrained import LayerMixture, PretrainedTagger
from unrolled.models import LanguageModel, load_model, save_model
from unrolled.text import Vocabulary, pad_tagged

OPTIONS = {"embedding_size": 4, "hidden_size": 6}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def tagger(**options) -> PretrainedTagger:
    return PretrainedTagger(9, 4, language_model=OPTIONS | options, hidden_size=5)


def test_each_word_has_a_tag_whatever_the_pads():
    model = tagger(num_layers=2).double()
    rows = [torch.randint(9, (n,)) for n in (6, 1, 4)]
    batch = pad_tagged([(row, row % 4) for row in rows], pad=8)
    logits, nats = model(batch.inputs, batch.lengths), 0.0
    for row, sentence in enumerate(rows):
        alone = model(sentence[None], torch.tensor([len(sentence)]))[0]
        assert torch.allclose(alone, logits[row, : len(sentence)], rtol=0, atol=1e-10)
        nats += nn.functional.cross_entropy(alone, sentence % 4, reduction="sum").item()
    assert model.loss(batch).item() == pytest.approx(nats / 11)


def test_what_is_no_sentence_is_refused():
    with pytest.raises(ValueError, match="lengths run from 0 to 2; a row has 1 to 2"):
        tagger()(torch.zeros(2, 2, dtype=torch.long), torch.tensor([0, 2]))
    with pytest.raises(ValueError, match="run from 0 to 9; symbols are numbered 0 to 8"):
        tagger()(torch.tensor([[0, 9]]), torch.tensor([2]))


def test_language_models_are_adopted_stay_as_they_are_and_read_their_own_side():
    forward, backward = (LanguageModel(9, **OPTIONS, core="gru") for _ in range(2))
    model = tagger(core="gru").adopt(forward, backward)
    tokens, lengths = torch.randint(9, (3, 6)), torch.tensor([6, 1, 4])
    embedded, states = model.all_layers(tokens, lengths)
    for row, length in enumerate(lengths.tolist()):
        sentence = tokens[row : row + 1, :length]
        left, _ = forward.hidden_states(sentence)
        right, _ = backward.hidden_states(sentence.flip(1))
        assert torch.allclose(states[row, :length, :6], left[0], atol=1e-6)
        assert torch.allclose(states[row, :length, 6:], right.flip(1)[0], atol=1e-6)
        assert torch.equal(embedded[row, :length, :4], forward.embedding(sentence)[0])
        assert not embedded[row, :length, 4:6].any()
    model.loss(pad_tagged([(row, row % 4) for row in tokens])).backward()
    assert all(weight.grad is None and not weight.requires_grad for weight in model.readers.parameters())
    assert model.mixture.w.grad.abs().sum() > 0 and model.output.weight.grad.abs().sum() > 0


def test_a_mixture_is_its_formula():
    mixture = LayerMixture(2)
    with torch.no_grad():
        mixture.w.copy_(torch.tensor([1.0, 3.0]).log())
        mixture.gamma.fill_(2.0)
    lower, upper = torch.randn(2, 5, 3), torch.randn(2, 5, 3)
    assert torch.allclose(mixture([lower, upper]), 2 * (0.25 * lower + 0.75 * upper))
    with pytest.raises(ValueError, match="there are 3 layers; the mixture has 2 weights"):
        mixture([lower, lower, upper])


def test_it_is_made_again_from_its_file(tmp_path):
    model = tagger().eval()
    save_model(tmp_path / "a.model", model, Vocabulary("abcdefghi"), Vocabulary("uvwx"))
    again, *_ = load_model(tmp_path / "a.model")
    given = torch.randint(9, (2, 6)), torch.tensor([6, 4])
    assert type(again) is PretrainedTagger and torch.equal(again(*given), model(*given))


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"dropout": 0.1}, "leave out dropout"),
        ({"core": "torch-gru"}, "take a core of ours"),
        ({"embedding_size": 32, "hidden_size": 4}, "embedding_size is 32 and hidden_size 4"),
    ],
)
def test_what_cannot_be_made_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        tagger(**wrong)

"""Scheduled sampling reads what it should, and a run with it goes on exactly where it was stopped."""

import pytest
import torch

from lab.ch09_generating_text.scheduled_sampling import ScheduledSampling
from small_runs import RECIPE, TOKENS, stopped_and_resumed, weights
from unrolled.models import LanguageModel
from unrolled.training import train


def sampling(least=0.5, ramp=10, **options):
    torch.manual_seed(0)
    return ScheduledSampling(7, least=least, ramp=ramp, embedding_size=4, hidden_size=16, core="lstm", **options)


def test_the_text_is_trusted_less_and_less_and_never_less_than_asked():
    model, tokens = sampling(least=0.4, ramp=3), torch.randint(7, (2, 5))
    trust = []
    for _ in range(5):
        trust.append(model.trust)
        model(tokens)
    assert trust == pytest.approx([1.0, 0.8, 0.6, 0.4, 0.4])
    model.eval()
    model(tokens)
    assert model.calls == 5


def test_without_training_or_with_full_trust_it_is_a_language_model():
    model, tokens = sampling(), torch.randint(7, (3, 9))
    plain = LanguageModel(7, embedding_size=4, hidden_size=16, core="lstm")
    plain.load_state_dict({name: value for name, value in model.state_dict().items() if name != "calls"})
    assert torch.equal(model(tokens)[0], plain(tokens)[0])
    model.calls.fill_(10)
    assert not torch.equal(model(tokens)[0], plain(tokens)[0])
    assert torch.equal(model.eval()(tokens)[0], plain(tokens)[0])


def test_what_is_not_trusted_is_drawn_from_the_prediction_after_what_was_read():
    model = sampling(least=0.0, ramp=1)
    model.calls.fill_(1)
    model.embedding.weight.data *= 5
    model.output.weight.data *= 20  # so that what was read makes a difference
    tokens = torch.full((4000, 3), 2)
    state = tuple(torch.randn(1, 16).expand(4000, -1) for _ in "hc")
    read = model.mixed(tokens, state)
    assert (read[:, 0] == 2).all()  # nothing predicts the first
    logits, after = LanguageModel.forward(model, tokens[:1, :1], tuple(part[:1] for part in state))
    first = logits[0, 0].softmax(-1)
    assert torch.bincount(read[:, 1], minlength=7) / 4000 == pytest.approx(first.tolist(), abs=0.03)
    chosen = int(first.argmax())  # the second draw follows the first, not the text
    logits, _ = LanguageModel.forward(model, torch.tensor([[chosen]]), after)
    rows = read[read[:, 1] == chosen]
    assert torch.bincount(rows[:, 2], minlength=7) / len(rows) == pytest.approx(
        logits[0, 0].softmax(-1).tolist(), abs=0.06
    )


def test_the_text_is_trusted_as_often_as_asked():
    model = sampling(least=0.7, ramp=1)
    model.calls.fill_(1)
    tokens = torch.full((400, 11), 6)
    model.output.bias.data[6] = -100  # it would never write the text itself
    share = (model.mixed(tokens)[:, 1:] == 6).float().mean()
    assert share.item() == pytest.approx(0.7, abs=0.03)


def test_the_loss_is_of_the_text_after_what_was_read(monkeypatch):
    model = sampling(least=0.0, ramp=1)
    model.calls.fill_(1)
    tokens = torch.randint(7, (3, 5))
    drawn = torch.randint(7, (3, 5))
    monkeypatch.setattr(model, "mixed", lambda tokens, state: drawn)
    logits, state = model(tokens)
    expected, after = LanguageModel.forward(model, drawn)
    assert torch.equal(logits, expected) and all(map(torch.equal, state, after))


def test_a_stopped_run_goes_on_to_the_bit(tmp_path):
    whole = sampling()
    train(whole, TOKENS, RECIPE, progress=False)
    again = stopped_and_resumed(lambda _: sampling(), RECIPE, tmp_path / "run")
    assert torch.equal(weights(again), weights(whole)) and again.calls == whole.calls == RECIPE.updates


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"least": -0.1}, "least is -0.1; it is a probability"),
        ({"ramp": 0}, "ramp is 0; it must be 1 or more"),
        ({"dropout": 0.5}, "dropout is 0.5; scheduled sampling works without dropout: leave it out"),
    ],
)
def test_what_cannot_be_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        sampling(**wrong)

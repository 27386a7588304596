"""Training on examples with an answer: one step by hand, to be stopped and resumed to the bit, and what is refused."""

import copy
from dataclasses import replace
from functools import partial

import pytest
import torch

from unrolled.models import EncoderDecoder, Tagger
from unrolled.tasks.rewriting import START, Fresh, Reversal
from unrolled.text import Examples, pad_pairs, pad_tagged
from unrolled.training import CheckpointError, Recipe, distributed, train_examples

RECIPE = Recipe(updates=12, batch=4, seq_len=1, carry=False, learning_rate=0.02, clip=0.5)


def examples(kind, seed=0):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 7, (11,), generator=generator).tolist()
    rows = [torch.randint(2, 9, (n,), generator=generator) for n in lengths]
    if kind == "tagger":
        return Examples([(row, row % 3) for row in rows], 4, pad_tagged)
    if kind == "fresh":
        return Fresh(Reversal(5, letters=7), 4)
    return Examples([(row, row.flip(0)) for row in rows], 4, partial(pad_pairs, start=START))


def model(kind, dropout=0.2):
    torch.manual_seed(0)
    if kind == "tagger":
        return Tagger(9, 3, hidden_size=6, num_layers=2, dropout=dropout)
    return EncoderDecoder(9, 9, hidden_size=6, attention="additive", dropout=dropout)


KINDS = ["tagger", "encoder-decoder", "fresh"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_what_it_is_by_hand(kind):
    ours, theirs, read = model(kind, dropout=0.0), model(kind, dropout=0.0), examples(kind)
    recipe = replace(RECIPE, updates=2, schedule="constant")
    history = train_examples(ours, read, recipe, progress=False)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.02)
    for update in range(2):
        loss = theirs.loss(read.batch_of(update))
        assert loss.item() == pytest.approx(history.losses[update], rel=1e-5)
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        assert norm.item() == pytest.approx(history.norms[update], rel=1e-4)
        optimizer.step()
    pairs = zip(ours.parameters(), theirs.parameters(), strict=True)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in pairs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_that_was_stopped_ends_with_the_same_bits(kind, tmp_path):
    whole, stopped, read = model(kind), model(kind), examples(kind)
    torch.manual_seed(5)
    expected = train_examples(whole, read, RECIPE, checkpoint=tmp_path / "whole.pt", progress=False)
    torch.manual_seed(5)
    train_examples(stopped, read, RECIPE, checkpoint=tmp_path / "run.pt", until=7, progress=False)
    again = model(kind)
    torch.manual_seed(99)  # what the checkpoint restores
    history = train_examples(again, read, RECIPE, checkpoint=tmp_path / "run.pt", progress=False)
    assert history.losses == expected.losses
    assert all(torch.equal(a, b) for a, b in zip(whole.parameters(), again.parameters(), strict=True))


def test_a_checkpoint_of_other_examples_or_another_model_is_refused(tmp_path):
    saved = {"checkpoint": tmp_path / "run.pt", "progress": False}
    train_examples(model("tagger"), examples("tagger"), RECIPE, until=3, **saved)
    with pytest.raises(CheckpointError, match="belongs to another run .text is"):
        train_examples(model("tagger"), examples("tagger", seed=1), RECIPE, **saved)
    with pytest.raises(CheckpointError, match="belongs to another run .model is Tagger"):
        train_examples(model("tagger", dropout=0.1), examples("tagger"), RECIPE, **saved)


def test_the_weights_with_the_lowest_score_are_kept():
    trained, kept, scores = model("tagger"), [], iter([3.0, 1.0, 2.0, 2.5])

    def score():
        kept.append(copy.deepcopy(trained.state_dict()))
        return next(scores)

    recipe = replace(RECIPE, patience=2, schedule="constant")
    history = train_examples(trained, examples("tagger"), recipe, score=score, validate_every=2, progress=False)
    assert history.validated == [2, 4, 6, 8] and history.validation == [3.0, 1.0, 2.0, 2.5]
    assert all(torch.equal(value, kept[1][name]) for name, value in trained.state_dict().items())


def test_what_cannot_be_trained_is_refused(monkeypatch):
    read = examples("tagger")
    for change, message in [
        ({"carry": True}, "carry is True; examples begin afresh, so it must be False"),
        ({"batch": 5}, "batch is 5, and that of the examples 4; they must be equal"),
        ({"patience": 1}, "which needs scores"),
    ]:
        with pytest.raises(ValueError, match=message):
            train_examples(model("tagger"), read, replace(RECIPE, **change), progress=False)
    monkeypatch.setattr(distributed, "count", lambda: 2)
    with pytest.raises(ValueError, match="2 processes share this training; examples are trained by one"):
        train_examples(model("tagger"), read, RECIPE, progress=False)
    with pytest.raises(TypeError, match="there is no option validation; those of a training are validate_every, until"):
        train_examples(model("tagger"), read, RECIPE, validation=read)

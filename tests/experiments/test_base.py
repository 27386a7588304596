"""What the experiments share: a configuration becomes a text, a recipe and a training."""

import pytest
import torch

from small_experiments import small
from unrolled.experiments import base, find
from unrolled.text import Vocabulary
from unrolled.training import History, Recipe


@pytest.fixture
def config():
    return small(find("rnn-windows").contenders["quick"]["carried 16"])


def test_a_configuration_becomes_a_training(config, tmp_path, monkeypatch):
    asked = {}

    def train(model, tokens, recipe, **options):
        asked.update(options, tokens=tokens, recipe=recipe)
        return History()

    monkeypatch.setattr(base, "train", train)
    config["recipe"] = config["recipe"] | {"updates": 20, "carry": False}
    fitted = base.fit(config, 0, tmp_path)
    assert asked["recipe"] == Recipe(updates=20, batch=4, seq_len=16, learning_rate=1e-2, carry=False)
    training, held_out = base.texts(config)
    vocabulary = Vocabulary(training + held_out)
    assert "".join(vocabulary.decode(asked["tokens"])) == training
    assert "".join(vocabulary.decode(fitted.text.held_out)) == held_out
    assert torch.equal(fitted.text.held_out, asked["validation"])
    assert (asked["validate_every"], asked["checkpoint"]) == (2, tmp_path / "model.pt")
    for validations, every in ((4, 5), (100, 1)):
        base.fit(config | {"validations": validations}, 0, tmp_path)
        assert asked["validate_every"] == every
    assert 8 < len(training) / len(held_out) < 10


def test_a_seed_decides_the_first_weights(config, tmp_path):
    first, again, other = (
        base.fit(config, seed, tmp_path / str(run)).history.losses for run, seed in enumerate((0, 0, 1))
    )
    assert first == again != other

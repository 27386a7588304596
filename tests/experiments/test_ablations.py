"""Each rung of the ladder adds one thing, and is trained as it says."""

import math

import pytest

from small_experiments import small, watch
from unrolled.experiments import ablations, base, find, scoring

CONTENDERS = find("stories-ablations").contenders["quick"]
CHANGES = {
    "forget-bias": {"forget_bias": 1.0},
    "clipping": {"clip": 0.25},
    "schedule": {"schedule": "cosine"},
    "tying": {"tied": True},
    "dropout": {"dropout": 0.2},
}


def settings(label):
    """Return all that is chosen for a contender: of its recipe, its model and its cell."""
    config = CONTENDERS[label]
    options = config["model"]["options"]
    return {**config["recipe"], **options, **options["cell_options"], "cell_options": None}


@pytest.mark.parametrize("below, rung", list(zip(["bare", *ablations.RUNGS], ablations.RUNGS, strict=False)))
def test_each_rung_adds_one_thing(below, rung):
    assert settings(rung) == settings(below) | CHANGES[rung]


@pytest.mark.parametrize("left_out", list(ablations.RUNGS)[:-1])
def test_each_is_left_out_of_the_whole(left_out):
    lacking, bare = settings(f"without-{left_out}"), settings("bare")
    assert lacking | CHANGES[left_out] == settings("dropout")
    assert all(lacking[name] == bare[name] for name in CHANGES[left_out])


def test_the_whole_has_a_variational_variant_and_there_is_no_more():
    assert settings("variational") == settings("dropout") | {"variational": True}
    assert len(CONTENDERS) == 6 + 4 + 1


def test_the_ladder_is_trained_as_its_rungs_say(tmp_path, monkeypatch):
    watched, metrics, recipes, models = watch(monkeypatch), {}, {}, {}
    for label in ("bare", "forget-bias", "clipping", "schedule", "tying", "dropout", "variational"):
        metrics[label] = scoring.measure(small(CONTENDERS[label]), 0, tmp_path / label)
        recipes[label], models[label] = watched.recipes["model"], watched.models["model"]
    assert math.isinf(recipes["bare"].clip) and recipes["clipping"].clip == 0.25
    assert recipes["clipping"].schedule == "constant" and recipes["schedule"].schedule == "cosine"
    assert models["tying"].embedding.weight is models["tying"].output.weight
    assert models["variational"].dropout.variational and models["dropout"].dropout.rate == 0.2
    for pair in (("bare", "forget-bias"), ("clipping", "schedule"), ("tying", "dropout"), ("dropout", "variational")):
        assert len({metrics[label]["nats"] for label in pair}) == 2
    assert metrics["tying"]["parameters"] == metrics["schedule"]["parameters"] - 4 * metrics["tying"]["symbols"]


def test_the_text_is_short_enough_to_be_learned_by_heart():
    for config in CONTENDERS.values():
        recipe = base.recipe_of(config)
        assert recipe.updates * recipe.batch * recipe.seq_len > 40 * 0.9 * config["text"]["characters"]

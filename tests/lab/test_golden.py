"""Every experiment measures what it declares, and does what it did: a change that no configuration names is noticed."""

import json

import pytest
import torch

import lab
from lab.engine import golden
from lab.engine.experiment import model, recipe, text
from unrolled.cells import LSTMCell
from unrolled.models import base
from unrolled.text import CorpusError
from unrolled.training import distributed, loop

EXPERIMENTS = lab.experiments()
KEPT = json.loads(golden.GOLDEN.read_text(encoding="utf8"))
AGAIN = (
    "take the change back; or, where it is meant, measure again what it concerns (python -m lab run NAME --record "
    "--fresh), and then write the golden file: python -m lab.engine.golden NAME"
)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_does_what_it_did(name):
    try:
        now = golden.entry(EXPERIMENTS[name])  # which checks that it measures what it declares
    except CorpusError as error:
        pytest.skip(f"a corpus is not here ({error})")
    assert list(now) == list(KEPT[name]), f"the contenders of {name} have changed; {AGAIN}"
    for label, row in now.items():
        tolerances = {"updates": golden.UPDATES_AGREE, "metrics": golden.METRICS_AGREE}
        for what, tolerance in tolerances.items():
            changed = golden.differences(KEPT[name][label][what], row[what], tolerance)
            before = KEPT[name][label][what]
            assert not changed, (
                f"{name}, {label}: {', '.join(changed)} of the {what} were {before} and are {row[what]}; {AGAIN}"
            )


def test_the_stories_are_those_that_were_read():
    assert golden.stories_digest() == KEPT["stories"]


def config(kind: str = "LanguageModel", words: bool = False, **options) -> dict:
    """Return a configuration with a model of a kind, and a recipe."""
    return {
        "text": text("wikitext-2", words=True) if words else text("stories", 20_000),
        "model": model(kind, **options),
        "recipe": recipe(updates=1000, seq_len=64, symbols_per_update=2048, learning_rate=1e-2),
    }


def wider_tables(monkeypatch):
    """The transformer's tables begin with a spread of 0.03 in place of 0.02."""
    normal = torch.nn.init.normal_
    monkeypatch.setattr(
        torch.nn.init, "normal_", lambda w, mean=0.0, std=1.0: normal(w, mean, 0.03 if std == 0.02 else std)
    )
    return config("TransformerLM")


def more_bias(monkeypatch):
    """The forget gate's bias is another default."""
    monkeypatch.setitem(LSTMCell.__init__.__kwdefaults__, "forget_bias", 1.1)
    return config(core="lstm")


def clipped_shorter(monkeypatch):
    """Gradients are clipped to nine tenths of what the recipe says."""
    clip = loop.clip_grad_norm_
    monkeypatch.setattr(loop, "clip_grad_norm_", lambda weights, norm: clip(weights, 0.9 * norm))
    return config()


def more_momentum(monkeypatch):
    """Adam's momentum is that of another default."""
    adam = torch.optim.Adam
    monkeypatch.setattr(
        "unrolled.training.recipe.OPTIMIZERS", {"adam": lambda *a, **b: adam(*a, **b | {"betas": (0.95, 0.999)})}
    )
    return config()


def larger_scores(monkeypatch):
    """The loss is a sum over the batch in place of a mean."""
    entropy = base.cross_entropy
    monkeypatch.setattr(base, "cross_entropy", lambda logits, targets: 4 * entropy(logits, targets))
    return config("FixedWindowLM")


@pytest.mark.parametrize("plant", [wider_tables, more_bias, clipped_shorter, more_momentum, larger_scores])
def test_a_change_that_no_configuration_names_is_noticed(plant, monkeypatch):
    with monkeypatch.context() as patch:
        contender = plant(patch)
        planted = golden.first_updates(contender)
    assert golden.differences(planted, golden.first_updates(contender), golden.UPDATES_AGREE)


def test_a_rounding_is_not_a_change():
    row = {"losses": [4.1, 3.2], "weights": [12.0]}
    assert golden.differences(row, {"losses": [4.1 * (1 + 9e-4), 3.2], "weights": [12.0]}, 1e-3) == []
    assert golden.differences(row, {"losses": [4.1 * (1 + 2e-3), 3.2], "weights": [12.0]}, 1e-3) == ["losses"]
    assert golden.differences(row, {"losses": [4.1], "weights": [12.0]}, 1e-3) == ["losses"]
    assert golden.differences(row, {}, 1e-3) == ["losses", "weights"]


@pytest.mark.parametrize("contender", [config("FixedWindowLM"), config(core="gru"), config(words=True)])
def test_it_is_the_same_each_time_and_disturbs_nothing(contender, monkeypatch):
    monkeypatch.setenv("UNROLLED_MIRROR", "/nowhere")  # it reads no corpus
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first = golden.first_updates(contender)
    assert torch.equal(torch.rand(3), expected)
    torch.manual_seed(6)
    assert golden.first_updates(contender) == first == json.loads(json.dumps(first))
    assert golden.first_updates({"teacher": contender}) == first  # it is found where it is
    assert golden.first_updates({"recipe": contender["recipe"]}) == {}


def test_one_process_of_several_takes_it_alone(monkeypatch):
    expected = golden.first_updates(config())
    monkeypatch.setattr(distributed.dist, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed.dist, "get_world_size", lambda: 3)
    assert golden.first_updates(config()) == expected and distributed.count() == 3

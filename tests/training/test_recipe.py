"""Recipes: every optimizer and schedule against steps written out by hand, early stopping, and mixed precision."""

import math

import pytest
import torch
from torch import nn

from small_runs import TOKENS, model, weights
from unrolled.measure import Score, evaluate
from unrolled.models import base
from unrolled.training import History, Recipe, loop, train

SMALL = {"batch": 4, "seq_len": 8}


def scores(monkeypatch, values) -> None:
    """Let the validations give these values, nats per symbol, one after the other."""
    values = iter(values)
    monkeypatch.setattr(loop, "evaluate", lambda *_, **__: Score(next(values), 1))


def gradients(by_hand, update: int, state, clip: float):
    """Return the clipped gradients of an update's window, by autograd and by hand, and the state for the next one."""
    window = loop.Streams(TOKENS, 4, 8).window(update)
    logits, state = by_hand(window.inputs, state)
    by_hand.zero_grad()
    nn.functional.cross_entropy(logits.mT, window.targets).backward()
    unclipped = [weight.grad for weight in by_hand.parameters() if weight.requires_grad]
    norm = math.sqrt(sum((gradient**2).sum().item() for gradient in unclipped))
    return [gradient * min(1.0, clip / norm) for gradient in unclipped], state.detach()


@pytest.mark.parametrize("decay", [0.0, 0.4])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_an_optimizers_steps_are_those_written_out(optimizer, decay):
    rate, clip = 0.05, 0.3
    how = {"learning_rate": rate, "clip": clip, "optimizer": optimizer, "weight_decay": decay, "schedule": "constant"}
    recipe = Recipe(4, **SMALL, **how)
    trained, by_hand, state = model(), model(), None
    train(trained, TOKENS, recipe, progress=False)
    own = [weight for weight in by_hand.parameters() if weight.requires_grad]
    first, second = ([torch.zeros_like(weight) for weight in own] for _ in range(2))
    for update in range(4):
        clipped, state = gradients(by_hand, update, state, clip)
        with torch.no_grad():
            for w, g, m, v in zip(own, clipped, first, second, strict=True):
                w -= rate * decay * w
                if optimizer == "sgd":
                    w -= rate * g
                    continue
                m += (1 - 0.9) * (g - m)
                v += (1 - 0.999) * (g**2 - v)
                w -= rate * (m / (1 - 0.9 ** (update + 1))) / ((v / (1 - 0.999 ** (update + 1))).sqrt() + 1e-8)
    assert torch.allclose(weights(trained), weights(by_hand), atol=2e-5)
    assert not torch.allclose(weights(trained), weights(model()), atol=1e-3)


@pytest.mark.parametrize(
    "schedule, rates",
    [
        ("constant", [1.0] * 11),
        ("cosine", [1.0] + [0.5 * (1 + math.cos(math.pi * k / 10)) for k in range(10)]),
    ],
)
def test_a_schedules_steps_are_those_written_out(schedule, rates):
    recipe = Recipe(11, **SMALL, learning_rate=1.0, optimizer="sgd", schedule=schedule)
    trained, by_hand, state = model(), model(), None
    train(trained, TOKENS, recipe, progress=False)
    for update, rate in enumerate(rates):
        clipped, state = gradients(by_hand, update, state, 1.0)
        with torch.no_grad():
            for weight, gradient in zip((w for w in by_hand.parameters() if w.requires_grad), clipped, strict=True):
                weight -= rate * gradient
    assert torch.allclose(weights(trained), weights(by_hand), atol=1e-5)


def test_the_cosine_warms_up_and_falls_to_zero():
    recipe = Recipe(updates=100, learning_rate=2.0)
    rates = [recipe.rate(update) for update in range(100)]
    assert rates[0] == pytest.approx(0.2) and max(rates) == rates[9] == pytest.approx(2.0)
    assert rates[10:] == sorted(rates[10:], reverse=True) and 0 < rates[-1] < 0.01


def test_the_warm_up_takes_its_share_of_the_updates():
    recipe = Recipe(updates=100, learning_rate=1.0, warm_up=0.4)
    assert [round(recipe.rate(update), 3) for update in (0, 39, 40, 70)] == [0.025, 1.0, 1.0, 0.5]
    assert Recipe(updates=100, learning_rate=1.0, warm_up=0.0).rate(0) == 1.0


def test_beta2_is_adams():
    weights = [torch.zeros(2, requires_grad=True)]
    assert Recipe(1, beta2=0.9).optimizer_of(weights).defaults["betas"] == (0.9, 0.9)
    assert Recipe(1).optimizer_of(weights).defaults["betas"] == (0.9, 0.999)


def test_the_mean_is_a_plain_one_at_first_and_then_a_running_one_and_is_what_is_scored():
    recipe = Recipe(8, **SMALL, learning_rate=3e-2, averaging=0.8)
    trained, seen = model(), []
    history = train(
        trained,
        TOKENS,
        recipe,
        validation=TOKENS[:500],
        validate_every=8,
        progress=False,
        watch=lambda _: seen.append(weights(trained)),
    )
    mean = torch.stack(seen[:5]).mean(dim=0)  # a fifth of each of five
    for later in seen[5:]:
        mean = 0.8 * mean + 0.2 * later
    assert torch.allclose(weights(trained), mean, atol=1e-6) and not torch.allclose(mean, seen[-1], atol=1e-3)
    assert history.validation == [evaluate(trained, TOKENS[:500]).nats_per_symbol]


def test_waiting_is_since_the_lowest_score():
    for validation, waited in (
        ([], 0),
        ([3.0], 0),
        ([3.0, 2.0, 1.0], 0),
        ([3.0, 3.0], 1),
        ([3.0, 1.0, 2.0, 1.5], 2),
        ([3.0, 4.0, 1.0, 2.0, 0.5], 0),
    ):
        assert History(validation=validation).waited == waited, validation


@pytest.mark.parametrize(
    "patience, values, done, best",
    [
        (2, [3.0, 2.0, 2.5, 2.0], 20, 10),  # to be as good again is not to be better
        (2, [3.0, 2.0, 2.5, 1.0, 1.2, 1.1], 30, 20),
        (9, [3.0, 2.0, 2.5, 2.4, 2.3, 2.2, 2.1, 2.05], 40, 10),  # the updates end first
        (1, [3.0, 2.9, 2.8, 2.7, 2.6, 2.5, 2.4, 2.3], 40, 40),
        (0, [3.0, 2.0, 2.5, 2.4, 2.3, 2.2, 2.1, 2.05], 40, 40),  # no patience was asked for: the last weights stay
    ],
)
def test_early_stopping_gives_back_the_best_weights(tmp_path, monkeypatch, patience, values, done, best):
    scores(monkeypatch, values)
    recipe = Recipe(40, **SMALL, learning_rate=1e-2, patience=patience)
    trained, seen = model(), {}

    def watch(update):
        seen[update] = weights(trained)

    options = {"validation": TOKENS, "validate_every": 5, "checkpoint": tmp_path / "run.pt", "progress": False}
    history = train(trained, TOKENS, recipe, watch=watch, **options)
    assert len(history.losses) == max(seen) == done and history.validation == values
    assert torch.equal(weights(trained), seen[best])
    again = model(seed=9)
    assert train(again, TOKENS, recipe, **options) == history  # it is over: nothing is trained or scored again
    assert torch.equal(weights(again), seen[best])


def test_what_needs_scores_says_so():
    for given in ({}, {"validation": TOKENS}, {"validate_every": 5}):
        with pytest.raises(ValueError, match="needs scores; give a validation text and validate_every"):
            train(model(), TOKENS, Recipe(40, **SMALL, patience=3), progress=False, **given)


KERNEL = ["torch-lstm"] if torch.ops.mkldnn._is_mkldnn_bf16_supported() else []  # PyTorch's LSTM, where it has bf16


@pytest.mark.parametrize("core", ["rnn", "lstm", "gru", *KERNEL])
def test_mixed_precision_multiplies_in_bfloat16_and_keeps_the_weights(monkeypatch, core):
    seen, real = [], base.cross_entropy

    def watched(logits, targets):
        seen.append(logits.dtype)
        return real(logits, targets)

    monkeypatch.setattr(base, "cross_entropy", watched)
    histories, trained = {}, {}
    for precision, dtype in (("float32", torch.float32), ("bf16", torch.bfloat16)):
        trained[precision] = model(core=core)
        recipe = Recipe(40, **SMALL, learning_rate=3e-2, precision=precision)
        histories[precision] = train(
            trained[precision], TOKENS, recipe, validation=TOKENS[:500], validate_every=40, progress=False
        )
        assert set(seen) == {dtype}
        seen.clear()
    exact, rounded = histories["float32"], histories["bf16"]
    assert rounded.losses[0] == pytest.approx(exact.losses[0], rel=1e-2) and rounded.losses != exact.losses
    assert rounded.losses[-1] < 0.4 * rounded.losses[0]
    assert all(weight.dtype == torch.float32 for weight in trained["bf16"].parameters())
    score = evaluate(trained["bf16"], TOKENS[:500])  # not under autocast: neither was the validation
    assert rounded.validation == [score.nats_per_symbol]


@pytest.mark.parametrize(
    "name, value, complaint",
    [
        *((name, 0, f"{name} is 0; it must be a whole number, 1 or more") for name in ("updates", "batch", "seq_len")),
        ("updates", 2.5, "updates is 2.5; it must be a whole number, 1 or more"),
        ("learning_rate", math.inf, "learning_rate is inf; it must be a finite number"),
        ("learning_rate", 0, "learning_rate is 0; it must be above 0"),
        ("learning_rate", math.nan, "learning_rate is nan; it must be above 0"),
        ("clip", 0, "clip is 0; it must be above 0"),
        ("beta2", 1.0, "beta2 is 1.0; it must be 0 or more and below 1"),
        ("averaging", 1.0, "averaging is 1.0; it must be 0 or more and below 1"),
        ("weight_decay", -0.1, "weight_decay is -0.1; it must be 0 or more, and finite"),
        ("warm_up", 1.0, "warm_up is 1.0; it must be 0 or more and below 1"),
        ("patience", -1, "patience is -1; it must be 0 or more"),
        ("optimizer", "lion", "optimizer is 'lion'; it can be one of adam, sgd"),
        ("schedule", "linear", "schedule is 'linear'; it can be one of cosine, constant"),
        ("precision", "fp16", "precision is 'fp16'; it can be one of float32, bf16"),
    ],
)
def test_a_recipe_refuses_what_cannot_be(name, value, complaint):
    with pytest.raises(ValueError, match=complaint):
        Recipe(**({"updates": 10} | {name: value}))

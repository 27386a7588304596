"""Recipes: every optimizer and schedule against steps written out by hand, early stopping, and mixed precision."""

import math

import pytest
import torch
from torch import nn

from small_runs import RECIPE, TOKENS, model, weights
from unrolled.measure import Score, evaluate
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


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_an_optimizers_steps_are_those_written_out(optimizer, decay):
    rate, clip = 0.05, 0.3
    recipe = Recipe(
        4, **SMALL, learning_rate=rate, clip=clip, optimizer=optimizer, weight_decay=decay, schedule="constant"
    )
    trained, by_hand, state = model(), model(), None
    train(trained, TOKENS, recipe, progress=False)
    own = [weight for weight in by_hand.parameters() if weight.requires_grad]
    first, second = ([torch.zeros_like(weight) for weight in own] for _ in range(2))
    for update in range(4):
        clipped, state = gradients(by_hand, update, state, clip)
        with torch.no_grad():
            for w, g, m, v in zip(own, clipped, first, second, strict=True):
                if optimizer == "adamw":
                    w -= rate * decay * w
                else:
                    g = g + decay * w
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
        ("plateau", [1.0] * 6 + [0.25] * 4 + [0.0625]),  # scores 3, 2, 2, 1.5, 1.6: after updates 2, 4, 6, 8 and 10
    ],
)
def test_a_schedules_steps_are_those_written_out(monkeypatch, schedule, rates):
    scores(monkeypatch, [3.0, 2.0, 2.0, 1.5, 1.6, 1.0])
    recipe = Recipe(11, **SMALL, learning_rate=1.0, optimizer="sgd", schedule=schedule)
    trained, by_hand, state = model(), model(), None
    train(trained, TOKENS, recipe, validation=TOKENS, validate_every=2, progress=False)
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


def test_a_plateau_of_any_length_has_a_rate():
    assert Recipe(updates=1, schedule="plateau").rate(0, setbacks=10_000) == 0.0


def test_setbacks_are_all_that_brought_nothing_and_waiting_is_since_the_lowest():
    for validation, setbacks, waited in (
        ([], 0, 0),
        ([3.0], 0, 0),
        ([3.0, 2.0, 1.0], 0, 0),
        ([3.0, 3.0], 1, 1),
        ([3.0, 1.0, 2.0, 1.5], 2, 2),
        ([3.0, 4.0, 1.0, 2.0, 0.5], 2, 0),
    ):
        history = History(validation=validation)
        assert (history.setbacks, history.waited) == (setbacks, waited), validation


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
    for needy in ({"patience": 3}, {"schedule": "plateau"}):
        for given in ({}, {"validation": TOKENS}, {"validate_every": 5}):
            with pytest.raises(ValueError, match="needs scores; give a validation text and validate_every"):
                train(model(), TOKENS, Recipe(40, **SMALL, **needy), progress=False, **given)


KERNEL = ["torch-lstm"] if torch.ops.mkldnn._is_mkldnn_bf16_supported() else []  # PyTorch's LSTM, where it has bf16


@pytest.mark.parametrize("core", ["rnn", "lstm", "gru", *KERNEL])
def test_mixed_precision_multiplies_in_bfloat16_and_keeps_the_weights(monkeypatch, core):
    seen, real = [], loop.cross_entropy

    def watched(logits, targets):
        seen.append(logits.dtype)
        return real(logits, targets)

    monkeypatch.setattr(loop, "cross_entropy", watched)
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


def test_a_model_is_compiled_on_request(monkeypatch):
    compiled, calls = [], []

    def compile(module):
        compiled.append(module)
        return lambda *inputs: calls.append(inputs) or module(*inputs)

    monkeypatch.setattr(torch, "compile", compile)
    plain, translated = model(), model()
    train(plain, TOKENS, RECIPE, progress=False)
    assert not compiled
    train(translated, TOKENS, Recipe(40, **SMALL, learning_rate=1e-2, compile=True), progress=False)
    assert compiled == [translated] and len(calls) == 40
    assert torch.equal(weights(translated), weights(plain))


@pytest.mark.parametrize(
    "name, value, complaint",
    [
        *((name, 0, f"{name} is 0; it must be a whole number, 1 or more") for name in ("updates", "batch", "seq_len")),
        ("updates", 2.5, "updates is 2.5; it must be a whole number, 1 or more"),
        ("learning_rate", math.inf, "learning_rate is inf; it must be a finite number"),
        ("learning_rate", 0, "learning_rate is 0; it must be above 0"),
        ("learning_rate", math.nan, "learning_rate is nan; it must be above 0"),
        ("clip", 0, "clip is 0; it must be above 0"),
        ("weight_decay", -0.1, "weight_decay is -0.1; it must be 0 or more"),
        ("patience", -1, "patience is -1; it must be 0 or more"),
        ("optimizer", "lion", "optimizer is 'lion'; it can be one of adam, adamw, sgd"),
        ("schedule", "linear", "schedule is 'linear'; it can be one of cosine, constant, plateau"),
        ("precision", "fp16", "precision is 'fp16'; it can be one of float32, bf16"),
    ],
)
def test_a_recipe_refuses_what_cannot_be(name, value, complaint):
    with pytest.raises(ValueError, match=complaint):
        Recipe(**({"updates": 10} | {name: value}))

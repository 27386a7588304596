"""Training: truncated BPTT step by step, its log and its bar, and its errors."""

import functools
import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from small_runs import RECIPE, TOKENS, model, weights
from unrolled.cells import detach
from unrolled.measure import evaluate
from unrolled.models import FixedWindowLM, base
from unrolled.training import Recipe, TrainingDiverged, loop, progress, train


def test_the_loss_falls():
    history = train(model(), TOKENS, RECIPE, validation=TOKENS[:500], validate_every=15, progress=False)
    assert history.losses[-1] < 0.2 * history.losses[0]
    assert history.validated == [15, 30, 40] and history.validation[-1] < history.validation[0]
    assert len(history.losses) == len(history.norms) == 40


def test_a_run_can_stop_in_the_middle_of_its_schedule_and_go_on(tmp_path):
    whole = model()
    history = train(whole, TOKENS, RECIPE, progress=False)
    parts = model()
    for until, done in ((10, 10), (10, 10), (25, 25), (None, 40)):
        again = train(parts, TOKENS, RECIPE, until=until, checkpoint=tmp_path / "run.pt", progress=False)
        assert len(again.losses) == done
    assert again.losses == history.losses and torch.equal(weights(parts), weights(whole))


@pytest.mark.parametrize("options", [{"core": "lstm"}, {"core": "gru", "learn_initial_state": True}])
def test_streams_that_always_start_afresh_carry_nothing(options):
    sizes = {"updates": 5, "batch": 4, "seq_len": 8}
    always, never = (
        train(model(**options), TOKENS, Recipe(**sizes, **how), progress=False)
        for how in ({"reset": 1.0}, {"carry": False})
    )
    assert always.losses == never.losses and always.norms == never.norms


def test_streams_start_afresh_as_often_as_the_recipe_says(monkeypatch):
    begun, restart = [], loop.restart

    def noted(state, initial, rows):
        begun.append(rows.float().mean().item())
        assert not initial.any()
        return restart(state, initial, rows)

    monkeypatch.setattr(loop, "restart", noted)
    train(model(), TOKENS, Recipe(updates=80, batch=20, seq_len=8, reset=0.25), progress=False)
    assert len(begun) > 70 and fmean(begun) == pytest.approx(0.25, abs=0.03)


def test_a_watcher_sees_the_model_after_every_update():
    watched, seen = model(), []
    recipe = Recipe(updates=3, batch=4, seq_len=8)
    train(watched, TOKENS, recipe, progress=False, watch=lambda done: seen.append((done, weights(watched))))
    assert [done for done, _ in seen] == [1, 2, 3]
    assert not torch.equal(seen[0][1], seen[1][1]) and torch.equal(seen[2][1], weights(watched))


@pytest.mark.parametrize("options", [{}, {"core": "lstm"}, {"core": "gru"}, {"core": "lstm", "num_layers": 2}])
def test_by_default_it_is_this_loop_to_the_bit(options):
    """What the records and the chapters were computed with."""
    trained, by_hand = model(**options), model(**options)
    history = train(trained, TOKENS, RECIPE, progress=False)
    streams, state = loop.Streams(TOKENS, 4, 8), None
    own = [weight for weight in by_hand.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(own, fused=True)
    losses, norms = [], []
    for update in range(40):
        inputs, targets, _ = streams.window(update)
        logits, state = by_hand(inputs, None if state is None else detach(state))
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(own, 1.0).item())
        optimizer.param_groups[0]["lr"] = (
            1e-2 * (update + 1) / 4 if update < 4 else 1e-2 * 0.5 * (1 + math.cos(math.pi * (update - 4) / 36))
        )
        optimizer.step()
        losses.append(loss.item())
    assert torch.equal(weights(trained), weights(by_hand))
    assert history.losses == losses and history.norms == norms


def test_the_log_has_a_line_every_so_often_and_for_each_validation_and_the_last_update(tmp_path, monkeypatch):
    clock = itertools.accumulate(itertools.count())  # the updates take 1, 3, 5, … ms
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: next(clock) / 1000))
    monkeypatch.setattr(progress, "EVERY", 12)
    scored = {"validation": TOKENS[:500], "validate_every": 15}
    history = train(model(), TOKENS, RECIPE, **scored, checkpoint=tmp_path / "run.pt", progress=False)
    lines = [json.loads(line) for line in Path(tmp_path, "run.pt.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines] == [12, 15, 24, 30, 36, 40]
    before = 0
    for line in lines:
        assert line["loss"] == pytest.approx(fmean(history.losses[before : line["update"]]))
        assert line["perplexity"] == pytest.approx(math.exp(line["loss"]))
        assert line["gradient_norm"] == pytest.approx(fmean(history.norms[before : line["update"]]))
        assert line["learning_rate"] == RECIPE.rate(line["update"] - 1)
        assert line["tokens_per_second"] == round(4 * 8 / (line["update"] + before) * 1000)
        before = line["update"]
    scores = {line["update"]: line["validation"] for line in lines if "validation" in line}
    assert scores == dict(zip(history.validated, history.validation, strict=True))
    assert lines[1]["validation_perplexity"] == pytest.approx(math.exp(lines[1]["validation"]))


def test_the_bar_shows_loss_perplexity_and_speed(monkeypatch, capsys):
    monkeypatch.setattr(progress, "tqdm", functools.partial(progress.tqdm, mininterval=0))
    clock = itertools.count()
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: next(clock) / 64))
    history = train(model(), TOKENS, RECIPE, label="small")
    shown = capsys.readouterr().err
    loss = history.losses[-1]
    assert "small" in shown and "40/40" in shown
    assert f"loss={loss:.3f}, perplexity={math.exp(loss):.2f}, tokens/s=2,048" in shown
    train(model(), TOKENS, RECIPE, progress=False)
    assert capsys.readouterr().err == ""


def test_the_validation_is_scored_as_the_model_is_trained():
    for carry in (True, False):
        trained = model()
        recipe = Recipe(updates=5, batch=4, seq_len=8, carry=carry)
        history = train(trained, TOKENS, recipe, validation=TOKENS[:500], validate_every=5, progress=False)
        score = evaluate(trained, TOKENS[:500], window=None if carry else 8)
        assert history.validation == [score.nats_per_symbol]


@pytest.mark.parametrize("culprit, shown", [("loss", "nan"), ("gradient's norm", "inf"), ("gradient's norm", "nan")])
def test_what_is_no_number_stops_the_run_and_never_reaches_the_weights(tmp_path, monkeypatch, culprit, shown):
    module, name = (base, "cross_entropy") if culprit == "loss" else (loop, "clip_grad_norm_")
    real, calls, seen, trained = getattr(module, name), iter(range(1000)), {}, model()
    monkeypatch.setattr(module, name, lambda *given: real(*given) * (float(shown) if next(calls) == 25 else 1.0))
    options = {"checkpoint": tmp_path / "run.pt", "checkpoint_every": 10, "progress": False}
    complaint = f"{culprit} is {shown} at update 25; lower learning_rate .*; the state after 20 updates is in .*run.pt"
    with pytest.raises(TrainingDiverged, match=complaint):
        train(trained, TOKENS, RECIPE, watch=lambda done: seen.update({done: weights(trained)}), **options)
    assert torch.equal(weights(trained), seen[25])
    assert torch.load(tmp_path / "run.pt", weights_only=True)["done"] == 20


@pytest.mark.parametrize("cut", ['{"update": 50}', '{"upd', "{}", "[]", "null", "7", '{"update": null}'])
def test_a_log_that_was_cut_off_or_is_ahead_of_its_checkpoint_is_cut_back(tmp_path, monkeypatch, cut):
    monkeypatch.setattr(progress, "EVERY", 10)
    log, saved = tmp_path / "run.pt.jsonl", {"checkpoint": tmp_path / "run.pt", "progress": False}
    log.write_text('{"update": 10}\n{"update": 20}\n')  # no checkpoint: they are of a run that is begun again
    train(model(), TOKENS, RECIPE, **saved)
    whole = log.read_text()
    assert [json.loads(line)["update"] for line in whole.splitlines()] == [10, 20, 30, 40]
    log.write_text(whole + cut)
    train(model(), TOKENS, RECIPE, **saved)
    assert log.read_text() == whole


def test_without_a_checkpoint_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "EVERY", 1)
    train(model(), TOKENS, RECIPE, progress=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "tokens, options, complaint",
    [
        (TOKENS, {"checkpoint_every": 0}, "checkpoint_every is 0; it must be above 0"),
        (TOKENS, {"validate_every": -1}, "validate_every is -1; it must be 0 or more"),
        (TOKENS, {"validation": TOKENS[:1], "validate_every": 9}, "validation is 1; it must be 2 or more to be scored"),
        (
            TOKENS,
            {"checkpionts": 5},
            "no option checkpionts; those of a training are .*checkpoint_every, watch",
        ),
        (TOKENS[:20], {}, "seq_len is 8, but 20 symbols in 4 streams leave 4 a stream"),
        (TOKENS.float(), {}, "tokens are torch.float32; symbol numbers are integers"),
        (torch.cat([TOKENS, torch.tensor([-100])]), {}, "tokens run from -100 to 6; symbols are numbered 0 to 6"),
        (torch.cat([TOKENS, torch.tensor([999])]), {}, "tokens run from 0 to 999; symbols are numbered 0 to 6"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_the_first_update(tokens, options, complaint):
    with pytest.raises((ValueError, TypeError), match=complaint):
        train(model(), tokens, RECIPE, watch=pytest.fail, progress=False, **options)


def test_integers_of_any_type_are_symbol_numbers():
    assert train(model(), TOKENS.int(), RECIPE, progress=False) == train(model(), TOKENS, RECIPE, progress=False)


def test_a_model_without_an_initial_state_is_not_reset():
    with pytest.raises(ValueError, match=r"reset is 0\.1, but a FixedWindowLM has no initial state"):
        train(FixedWindowLM(7, window=2), TOKENS, replace(RECIPE, reset=0.1), progress=False)

"""Training: truncated BPTT step by step, its log and its bar, and its errors."""

import functools
import itertools
import json
import math
from statistics import fmean
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from small_runs import RECIPE, TOKENS, model, stopped_and_resumed, weights
from unrolled.cells import detach
from unrolled.measure import evaluate
from unrolled.models import FixedWindowLM
from unrolled.training import Recipe, TrainingDiverged, loop, progress, train


def test_the_loss_falls():
    history = train(model(), TOKENS, RECIPE, validation=TOKENS[:500], validate_every=15, progress=False)
    assert history.losses[-1] < 0.2 * history.losses[0]
    assert history.validated == [15, 30, 40] and history.validation[-1] < history.validation[0]
    assert len(history.losses) == len(history.norms) == 40


def test_the_first_update_is_the_gradient_clipped_by_norm():
    """One step of the loop against the same step written out by hand."""
    recipe = Recipe(updates=1, batch=2, seq_len=5, learning_rate=1e-3, clip=1e-2)
    trained, by_hand = model(), model()
    history = train(trained, TOKENS, recipe, progress=False)
    window = loop.Streams(TOKENS, 2, 5).window(0)
    logits, _ = by_hand(window.inputs)
    loss = torch.nn.functional.cross_entropy(logits.transpose(1, 2), window.targets)
    loss.backward()
    gradients = [weight.grad for weight in by_hand.parameters() if weight.grad is not None]
    norm = torch.sqrt(sum((gradient**2).sum() for gradient in gradients))
    assert history.losses == [pytest.approx(loss.item())] and history.norms == [pytest.approx(norm.item())]
    assert norm > recipe.clip
    for gradient in gradients:
        gradient *= recipe.clip / norm
    torch.optim.Adam([w for w in by_hand.parameters() if w.requires_grad], lr=recipe.rate(0)).step()
    assert torch.allclose(weights(trained), weights(by_hand), atol=1e-6)


def test_carrying_the_state_changes_the_second_window_and_not_the_first():
    losses = {
        carry: train(model(), TOKENS, Recipe(updates=2, batch=4, seq_len=8, carry=carry), progress=False).losses
        for carry in (True, False)
    }
    assert losses[True][0] == losses[False][0] and losses[True][1] != losses[False][1]


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


def test_a_run_with_resets_goes_on_where_it_was(tmp_path):
    recipe = Recipe(updates=40, batch=4, seq_len=8, learning_rate=1e-2, reset=0.3)
    train(whole := model(), TOKENS, recipe, progress=False)
    assert torch.equal(weights(stopped_and_resumed(model, recipe, tmp_path / "run.pt")), weights(whole))


def test_a_model_without_an_initial_state_is_not_reset():
    with pytest.raises(ValueError, match=r"reset is 0\.1, but a FixedWindowLM has no initial state"):
        train(FixedWindowLM(7, window=2), TOKENS, Recipe(updates=1, batch=4, seq_len=8, reset=0.1), progress=False)


@pytest.mark.parametrize("core", [{"core": "lstm"}, {"core": "gru"}, {"core": "lstm", "num_layers": 2}])
def test_gated_cores_learn_and_the_gradient_stops_at_the_windows_edge(core):
    recipe = Recipe(updates=40, batch=4, seq_len=8, learning_rate=3e-2)
    history = train(model(**core), TOKENS, recipe, progress=False)
    assert history.losses[-1] < 0.3 * history.losses[0]
    carried = train(model(**core), TOKENS, Recipe(updates=2, batch=4, seq_len=8), progress=False)
    by_hand = model(**core)
    window = loop.Streams(TOKENS, 4, 8).window
    optimizer = torch.optim.Adam([w for w in by_hand.parameters() if w.requires_grad], lr=Recipe(updates=2).rate(0))
    logits, state = by_hand(window(0).inputs)
    torch.nn.functional.cross_entropy(logits.mT, window(0).targets).backward()
    torch.nn.utils.clip_grad_norm_(by_hand.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    logits, _ = by_hand(window(1).inputs, detach(state))
    torch.nn.functional.cross_entropy(logits.mT, window(1).targets).backward()
    norm = torch.sqrt(sum((w.grad**2).sum() for w in by_hand.parameters() if w.grad is not None))
    assert carried.norms[1] == pytest.approx(norm.item(), rel=1e-4)


def test_same_seed_same_weights():
    runs = [model(3) for _ in range(2)]
    for trained in runs:
        train(trained, TOKENS, RECIPE, progress=False)
    assert torch.equal(weights(runs[0]), weights(runs[1]))


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    checkpoint = tmp_path / "run.pt"
    real = loop.cross_entropy
    calls = iter(range(1000))
    monkeypatch.setattr(loop, "cross_entropy", lambda *a: real(*a) * (float("nan") if next(calls) == 25 else 1.0))
    with pytest.raises(TrainingDiverged, match="the loss is nan at update 25; lower learning_rate"):
        train(model(), TOKENS, RECIPE, checkpoint=checkpoint, checkpoint_every=10, progress=False)
    content = torch.load(checkpoint, weights_only=True)
    assert content["done"] == 20
    assert all(torch.isfinite(weight).all() for weight in content["model"].values())


def test_a_text_too_short_is_named():
    with pytest.raises(ValueError, match="seq_len is 8, but 20 symbols in 4 streams leave 4 a stream"):
        train(model(), TOKENS[:20], RECIPE, progress=False)


def test_a_watcher_sees_the_model_after_every_update():
    watched, seen = model(), []
    recipe = Recipe(updates=3, batch=4, seq_len=8)
    train(watched, TOKENS, recipe, progress=False, watch=lambda done: seen.append((done, weights(watched))))
    assert [done for done, _ in seen] == [1, 2, 3]
    assert not torch.equal(seen[0][1], seen[1][1]) and torch.equal(seen[2][1], weights(watched))


def test_by_default_it_is_this_loop_to_the_bit():
    """What the records and the chapters were computed with."""
    trained, by_hand = model(), model()
    history = train(trained, TOKENS, RECIPE, progress=False)
    streams, state = loop.Streams(TOKENS, 4, 8), None
    own = [weight for weight in by_hand.parameters() if weight.requires_grad]
    optimizer = torch.optim.Adam(own, fused=True)
    losses = []
    for update in range(40):
        inputs, targets, _ = streams.window(update)
        logits, state = by_hand(inputs, None if state is None else state.detach())
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(own, 1.0)
        optimizer.param_groups[0]["lr"] = (
            1e-2 * (update + 1) / 4 if update < 4 else 1e-2 * 0.5 * (1 + math.cos(math.pi * (update - 4) / 36))
        )
        optimizer.step()
        losses.append(loss.item())
    assert torch.equal(weights(trained), weights(by_hand)) and history.losses == losses


@pytest.mark.parametrize("norm", [math.inf, math.nan])
def test_a_gradient_that_is_no_number_never_reaches_the_weights(tmp_path, monkeypatch, norm):
    trained, before = model(), weights(model())
    monkeypatch.setattr(loop, "clip_grad_norm_", lambda *_: torch.tensor(norm))
    with pytest.raises(TrainingDiverged, match=f"the gradient's norm is {norm} at update 0; lower learning_rate"):
        train(trained, TOKENS, RECIPE, checkpoint=tmp_path / "run.pt", progress=False)
    assert torch.equal(weights(trained), before) and not (tmp_path / "run.pt").exists()


def logged(checkpoint) -> list[dict]:
    return [json.loads(line) for line in checkpoint.with_name(checkpoint.name + ".jsonl").read_text().splitlines()]


def test_the_log_has_a_line_every_so_often_and_for_each_validation_and_the_last_update(tmp_path, monkeypatch):
    clock = itertools.accumulate(itertools.count())  # the updates take 1, 3, 5, … ms
    monkeypatch.setattr(loop, "time", SimpleNamespace(perf_counter=lambda: next(clock) / 1000))
    monkeypatch.setattr(progress, "EVERY", 12)
    scored = {"validation": TOKENS[:500], "validate_every": 15}
    history = train(model(), TOKENS, RECIPE, **scored, checkpoint=tmp_path / "run.pt", progress=False)
    lines = logged(tmp_path / "run.pt")
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


def test_a_log_that_was_cut_off_or_is_ahead_of_its_checkpoint_is_cut_back(tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 10)
    checkpoint, log = tmp_path / "run.pt", tmp_path / "run.pt.jsonl"
    log.write_text('{"update": 10}\n{"update": 20}\n')  # no checkpoint: they are of a run that is begun again
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    lines = log.read_text().splitlines()
    assert [json.loads(line)["update"] for line in lines] == [10, 20, 30, 40]
    log.write_text("\n".join([*lines, '{"update": 50}']))
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    assert log.read_text().splitlines() == lines
    log.write_text("\n".join([*lines, '{"upd']))
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    assert log.read_text().splitlines() == lines


def test_without_a_checkpoint_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "EVERY", 1)
    train(model(), TOKENS, RECIPE, progress=False)
    assert not list(tmp_path.iterdir())


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


def test_a_perplexity_beyond_all_numbers_is_still_a_number():
    assert math.isfinite(progress.perplexity(1e6)) and progress.perplexity(2.0) == math.exp(2.0)


def test_checkpoints_every_zero_updates_are_refused(tmp_path):
    with pytest.raises(ValueError, match="checkpoint_every is 0; it must be above 0"):
        train(model(), TOKENS, RECIPE, checkpoint=tmp_path / "run.pt", progress=False, checkpoint_every=0)


def test_validating_every_minus_one_updates_is_refused():
    with pytest.raises(ValueError, match="validate_every is -1; it must be 0 or more"):
        train(model(), TOKENS, RECIPE, validation=TOKENS, validate_every=-1, progress=False)


def test_a_validation_too_short_to_be_scored_is_refused_before_any_work_is_done():
    with pytest.raises(ValueError, match="the length of validation is 1; it must be 2 or more to be scored"):
        train(model(), TOKENS, RECIPE, validation=TOKENS[:1], validate_every=40, watch=pytest.fail, progress=False)


def test_the_validation_is_scored_as_the_model_is_trained():
    for carry in (True, False):
        trained = model()
        recipe = Recipe(updates=5, batch=4, seq_len=8, carry=carry)
        history = train(trained, TOKENS, recipe, validation=TOKENS[:500], validate_every=5, progress=False)
        score = evaluate(trained, TOKENS[:500], window=None if carry else 8)
        assert history.validation == [score.nats_per_symbol]


def test_a_text_of_other_symbols_is_refused_before_the_first_update():
    text = TOKENS.clone()
    for wrong in (-100, 10**6):
        text[-1] = wrong  # never read, since no window reaches so far
        with pytest.raises(ValueError, match=f"tokens run from .*{wrong}.*; symbols are numbered 0 to"):
            train(model(), text, RECIPE, progress=False, watch=lambda done: pytest.fail("it began"))
    with pytest.raises(ValueError, match="tokens are torch.float32; symbol numbers are integers"):
        train(model(), TOKENS.float(), RECIPE, progress=False)
    assert train(model(), TOKENS.int(), RECIPE, progress=False) == train(model(), TOKENS, RECIPE, progress=False)

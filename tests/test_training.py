"""Training: one loop against others written by hand, and runs that are stopped, killed, shared, damaged and refused."""

import math
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from functools import partial
from statistics import fmean
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from places import HELPERS
from small_runs import RECIPE, TOKENS, Stopped, model, weights
from unrolled import training
from unrolled.cells import detach
from unrolled.measure import Score, evaluate
from unrolled.models import EncoderDecoder, LanguageModel, Tagger
from unrolled.tasks.rewriting import START, Fresh, Reversal
from unrolled.text import Examples, pad_pairs, pad_tagged
from unrolled.training import Recipe, TrainingDiverged, train, train_examples

SMALL = {"batch": 4, "seq_len": 8}
DROPOUT = {"core": "torch-lstm", "num_layers": 2, "dropout": 0.5}  # random numbers in every update
quiet = partial(train, progress=False)
ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join([str(HELPERS), *sys.path]), "OMP_NUM_THREADS": "1"}


# The loop


DECAYING = partial(torch.optim.AdamW, betas=(0.9, 0.95), weight_decay=0.4)


@pytest.mark.parametrize(
    "options, changes, made",
    [
        ({}, {}, torch.optim.Adam),
        ({"core": "gru"}, {"carry": False}, torch.optim.Adam),
        ({"core": "gru", "learn_initial_state": True}, {"beta2": 0.95, "weight_decay": 0.4, "clip": 0.05}, DECAYING),
        ({"core": "lstm"}, {"optimizer": "sgd", "learning_rate": 9.0, "clip": 0.05}, partial(torch.optim.SGD, lr=0)),
    ],
)
def test_it_is_this_loop_to_the_bit(options, changes, made):
    """What the records and the chapters were computed with."""
    trained, by_hand, recipe, watched = model(**options), model(**options), replace(RECIPE, **changes), []
    history = quiet(trained, TOKENS[:600], recipe, watch=watched.append)
    inputs, targets = TOKENS[:596].view(4, 149), TOKENS[1:597].view(4, 149)
    own = [weight for weight in by_hand.parameters() if weight.requires_grad]
    optimizer, state, losses, norms = made(own, fused=True), None, [], []
    for update in range(40):
        place = update % 18 * 8  # 18 windows of 8 are read in a pass
        state = detach(state) if recipe.carry and place else None
        logits, state = by_hand(inputs[:, place : place + 8], state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets[:, place : place + 8].flatten())
        optimizer.zero_grad()
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(own, recipe.clip).item())
        share = (update + 1) / 4 if update < 4 else 0.5 * (1 + math.cos(math.pi * (update - 4) / 36))
        optimizer.param_groups[0]["lr"] = recipe.learning_rate * share
        optimizer.step()
        losses.append(loss.item())
    assert torch.equal(weights(trained), weights(by_hand))
    assert history.losses == losses and history.norms == norms and losses[-1] < 0.9 * losses[0]
    assert watched == [*range(1, 41)]


def test_the_rates_are_those_of_the_schedule():
    assert {Recipe(9, learning_rate=0.3, schedule="constant").rate(update) for update in range(9)} == {0.3}
    recipe = Recipe(updates=100, learning_rate=1.0, warm_up=0.4)
    assert [round(recipe.rate(update), 3) for update in (0, 39, 40, 70)] == [0.025, 1.0, 1.0, 0.5]
    assert Recipe(updates=100, learning_rate=1.0, warm_up=0.0).rate(0) == 1.0


def test_the_mean_is_a_plain_one_at_first_and_then_a_running_one_and_is_what_is_scored():
    recipe, trained, seen = Recipe(8, **SMALL, learning_rate=3e-2, averaging=0.8), model(), []
    scored = {"validation": TOKENS[:500], "validate_every": 4}
    history = quiet(trained, TOKENS, recipe, **scored, watch=lambda _: seen.append(weights(trained)))
    plain = model()
    quiet(plain, TOKENS, replace(recipe, averaging=0))
    assert torch.equal(seen[-1], weights(plain))  # to be scored by the mean changes nothing
    mean = torch.stack(seen[:5]).mean(dim=0)  # a fifth of each of five
    for later in seen[5:]:
        mean = 0.8 * mean + 0.2 * later
    assert torch.allclose(weights(trained), mean, atol=1e-6) and not torch.allclose(mean, seen[-1], atol=1e-3)
    assert history.validated == [4, 8] and history.validation[-1] == evaluate(trained, TOKENS[:500]).nats_per_symbol


def test_streams_start_afresh_as_often_as_the_recipe_says(monkeypatch):
    begun, restart = [], training.restart

    def noted(state, initial, rows):
        begun.append(rows.float().mean().item())
        return restart(state, initial, rows)

    monkeypatch.setattr(training, "restart", noted)
    quiet(model(), TOKENS, Recipe(updates=80, batch=20, seq_len=8, reset=0.25))
    assert len(begun) > 70 and fmean(begun) == pytest.approx(0.25, abs=0.03) and len(set(begun)) > 5
    for options in ({"core": "lstm"}, {"core": "gru", "learn_initial_state": True}):
        how = ({"reset": 1.0}, {"carry": False})
        always, never = (quiet(model(**options), TOKENS, Recipe(5, **SMALL, **each)) for each in how)
        assert always == never


def test_the_validation_is_scored_as_the_model_is_trained():
    for carry in (True, False):
        trained, recipe = model(dropout=0.5), Recipe(7, **SMALL, carry=carry)
        history = quiet(trained, TOKENS, recipe, validation=TOKENS[:500], validate_every=5)
        score = evaluate(trained, TOKENS[:500], window=None if carry else 8)
        assert history.validated == [5, 7] and history.validation[-1] == score.nats_per_symbol


@pytest.mark.parametrize(
    "patience, values, done, best",
    [
        (2, [3.0, 2.0, 2.5, 2.0], 20, 10),  # to be as good again is not to be better
        (2, [3.0, 2.0, 2.5, 1.0, 1.2, 1.1], 30, 20),
        (9, [3.0, 2.0, 2.5, 2.4, 2.3, 2.2, 2.1, 2.05], 40, 10),  # the updates end first
        (0, [3.0, 2.0, 2.5, 2.4, 2.3, 2.2, 2.1, 2.05], 40, 40),  # no patience was asked for: the last weights stay
    ],
)
def test_early_stopping_gives_back_the_best_weights(tmp_path, monkeypatch, patience, values, done, best):
    left = iter(values)
    monkeypatch.setattr(training, "evaluate", lambda *_, **__: Score(next(left), 1))
    recipe, trained, seen = Recipe(40, **SMALL, learning_rate=1e-2, patience=patience), model(), {}
    options = {"validation": TOKENS, "validate_every": 5, "checkpoint": tmp_path / "run.pt"}
    history = quiet(trained, TOKENS, recipe, watch=lambda n: seen.update({n: weights(trained)}), **options)
    assert len(history.losses) == max(seen) == done and history.validation == values
    assert torch.equal(weights(trained), seen[best])
    again = model(seed=9)
    assert quiet(again, TOKENS, recipe, **options) == history  # it is over: nothing is trained or scored again
    assert torch.equal(weights(again), seen[best])


def test_mixed_precision_multiplies_in_bfloat16_and_keeps_weights_and_scores_in_float32():
    trained, seen = model(core="gru").eval(), []  # as one that was loaded
    trained.register_forward_hook(lambda module, _, output: seen.append((module.training, output[0].dtype)))
    recipe = Recipe(40, **SMALL, learning_rate=3e-2, precision="bf16")
    history = quiet(trained, TOKENS, recipe, validation=TOKENS[:500], validate_every=40)
    assert set(seen) == {(True, torch.bfloat16), (False, torch.float32)}
    assert history.losses[-1] < 0.4 * history.losses[0]
    assert {weight.dtype for weight in trained.parameters()} == {torch.float32}


def test_the_bar_shows_the_loss_and_the_last_score_and_can_be_hidden(monkeypatch, capsys):
    monkeypatch.setattr(training, "tqdm", partial(training.tqdm, mininterval=0))
    scored = {"validation": TOKENS[:500], "validate_every": 20}
    history = train(model(), TOKENS, RECIPE, label="small", **scored)
    shown = capsys.readouterr().err
    assert "small" in shown and "40/40" in shown
    assert f"loss {history.losses[-1]:.3f}, score {history.validation[-1]:.3f}" in shown
    quiet(model(), TOKENS, RECIPE)
    assert capsys.readouterr().err == ""


class Cursed(LanguageModel):
    """A model whose update 25 has a loss or a gradient that is no number."""

    culprit, updates = "loss", -1

    def mean_cost(self, *window):
        loss, state = super().mean_cost(*window)
        self.updates += 1
        if self.updates == 25:
            loss = loss * math.nan if self.culprit == "loss" else loss + (0 * self.output.bias).sum().sqrt()
        return loss, state


@pytest.mark.parametrize("culprit", ["loss", "gradient's norm"])
def test_what_is_no_number_stops_the_run_and_never_reaches_the_weights(tmp_path, culprit):
    trained, seen, path = Cursed(7, hidden_size=16), {}, tmp_path / "run.pt"
    trained.culprit = culprit
    with pytest.raises(TrainingDiverged, match=f"the {culprit} is nan at update 25; lower learning_rate .now 0.01"):
        watch = lambda done: seen.update({done: weights(trained)})  # noqa: E731
        quiet(trained, TOKENS, RECIPE, watch=watch, checkpoint=path, checkpoint_every=10)
    assert torch.equal(weights(trained), seen[25]) and torch.load(path)["done"] == 20


# Examples with an answer


def examples(kind, seed=0):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, 7, (11,), generator=generator).tolist()
    rows = [torch.randint(2, 9, (n,), generator=generator) for n in lengths]
    if kind == "tagger":
        return Examples([(row, row % 3) for row in rows], 4, pad_tagged)
    if kind == "fresh":
        return Fresh(Reversal(5, letters=7), 4)
    return Examples([(row, row.flip(0)) for row in rows], 4, partial(pad_pairs, start=START))


@pytest.mark.parametrize("kind", ["tagger", "encoder-decoder", "fresh"])
def test_training_on_examples_is_what_it_is_by_hand_and_is_resumed(tmp_path, kind):
    def made(dropout):
        torch.manual_seed(0)
        if kind == "tagger":
            return Tagger(9, 3, hidden_size=6, num_layers=2, dropout=dropout)
        return EncoderDecoder(9, 9, hidden_size=6, attention="additive", dropout=dropout)

    recipe, read = Recipe(8, 4, 1, learning_rate=0.02, clip=0.5, schedule="constant"), examples(kind)
    ours, theirs = made(0.0), made(0.0)
    history = train_examples(ours, read, recipe, progress=False)
    optimizer = torch.optim.Adam(theirs.parameters(), lr=0.02)
    for update in range(8):
        loss = theirs.loss(read.batch_of(update))
        assert loss.item() == pytest.approx(history.losses[update], rel=1e-3)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 0.5)
        optimizer.step()
    assert torch.allclose(weights(ours), weights(theirs), atol=1e-4)

    scores = [5.0, 1.0, 2.0, 3.0]
    how = {"validate_every": 2, "checkpoint": tmp_path / "run.pt", "progress": False}
    whole, stopped, resumed = made(0.2), made(0.2), made(0.2)
    recipe = replace(recipe, patience=3)
    torch.manual_seed(5)
    expected = train_examples(whole, read, recipe, score=iter(scores).__next__, **how | {"checkpoint": None})
    torch.manual_seed(5)
    left = iter(scores)
    train_examples(stopped, read, recipe, score=left.__next__, until=5, **how)
    torch.manual_seed(9)  # the checkpoint knows better
    assert train_examples(resumed, read, recipe, score=left.__next__, **how) == expected
    assert torch.equal(weights(resumed), weights(whole)) and expected.validated == [2, 4, 6, 8]
    if kind == "tagger":
        with pytest.raises(ValueError, match="another run .data is"):
            train_examples(made(0.2), examples(kind, seed=1), recipe, score=scores.pop, **how)


# Stopped, killed, shared


@pytest.mark.parametrize(
    "options, changes",
    [
        ({}, {"reset": 0.3}),
        ({"core": "lstm", "learn_initial_state": True}, {"optimizer": "sgd", "learning_rate": 3.0}),
        ({"core": "torch-gru"}, {"carry": False, "schedule": "constant", "precision": "bf16"}),
        (DROPOUT, {"patience": 20}),
        ({"core": "gru", "weight_drop": 0.5}, {"averaging": 0.9, "weight_decay": 0.1, "patience": 20}),
    ],
)
def test_a_run_that_was_stopped_ends_with_the_same_bits(tmp_path, options, changes):
    def stop(done):
        if done == 25:
            raise Stopped

    recipe, resumed = replace(RECIPE, **changes), model(seed=99, **options)  # all must come from the checkpoint
    scored = {"validation": TOKENS[:200], "validate_every": 3}
    kept = scored | {"checkpoint": tmp_path / "folder" / "run.pt", "checkpoint_every": 10}
    whole = model(**options)
    expected = quiet(whole, TOKENS, recipe, **scored)
    with pytest.raises(Stopped):
        quiet(model(**options), TOKENS, recipe, watch=stop, **kept)
    begun = []
    assert quiet(resumed, TOKENS, recipe, watch=begun.append, **kept) == expected and begun[0] == 21
    assert torch.equal(weights(resumed), weights(whole)) and [path.name for path in tmp_path.rglob("*.pt*")] == [
        "run.pt"
    ]


def test_a_run_is_kept_every_minute_and_knows_how_long_its_updates_took(tmp_path, monkeypatch):
    clock, path, kept = SimpleNamespace(now=0.0), tmp_path / "run.pt", []
    monkeypatch.setattr(training, "_replace", lambda _, content: kept.append(content["done"]))

    def tick():
        clock.now += 0.5
        return clock.now

    def watch(_):
        clock.now += 24

    monkeypatch.setattr(training, "time", SimpleNamespace(monotonic=lambda: clock.now, perf_counter=tick))
    history = quiet(model(), TOKENS, RECIPE, checkpoint=path, watch=watch)
    assert kept == [*range(4, 40, 4), 40][: len(kept)] and len(kept) == 10 and history.seconds == 20
    monkeypatch.undo()
    first = quiet(model(), TOKENS, RECIPE, checkpoint=path, until=20).seconds
    assert quiet(model(), TOKENS, RECIPE, checkpoint=path).seconds > first > 0


def test_a_process_that_is_killed_leaves_a_run_that_goes_on(tmp_path):
    script = """
        import os, signal, sys
        from small_runs import RECIPE, TOKENS, model
        from unrolled.training import train
        die = lambda done: done == 25 and os.kill(os.getpid(), signal.SIGKILL)
        train(model(), TOKENS, RECIPE, checkpoint=sys.argv[1], checkpoint_every=10, watch=die, progress=False)
    """
    path = tmp_path / "run.pt"
    killed = subprocess.run([sys.executable, "-c", textwrap.dedent(script), str(path)], env=ENVIRONMENT)
    assert killed.returncode == -signal.SIGKILL and torch.load(path)["done"] == 20
    path.with_name("run.pt.part").write_bytes(b"what a kill in the middle of writing leaves")
    whole, resumed = model(), model(seed=99)
    assert quiet(resumed, TOKENS, RECIPE, checkpoint=path).losses == pytest.approx(quiet(whole, TOKENS, RECIPE).losses)
    assert torch.allclose(weights(resumed), weights(whole), atol=1e-6)


def test_two_processes_train_as_one_does_with_the_whole_batch_and_go_on(tmp_path):
    script = """
        import sys
        import torch
        from small_runs import TOKENS, model, weights
        from unrolled.training import Recipe, train
        torch.distributed.init_process_group("gloo")
        rank, folder, text = torch.distributed.get_rank(), sys.argv[1], TOKENS[:2900]  # no two streams are alike
        recipe = Recipe(12, 4, 8, learning_rate=2.0, clip=0.08, optimizer="sgd")
        how = {"validation": TOKENS[:200], "validate_every": 4, "progress": False, "checkpoint": folder + "/run.pt"}
        options = {"core": "lstm", "num_layers": 2, "learn_initial_state": True}
        train(model(seed=rank, **options), text, recipe, until=5, **how)  # only the first one's weights count
        history = train(trained := model(seed=7, **options), text, recipe, **how)
        train(model(), text, recipe, progress=False, until=1)
        seed = torch.initial_seed()
        try:
            train(model(), text, Recipe(12, 3, 8), progress=False)
        except ValueError as error:
            kept = weights(trained), history.losses, history.validation, str(error), seed
            torch.save(kept, f"{folder}/{rank}")
        torch.distributed.destroy_process_group()
    """
    (tmp_path / "script.py").write_text(textwrap.dedent(script))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    subprocess.run([*torchrun, tmp_path / "script.py", tmp_path], env=ENVIRONMENT, check=True, timeout=300)
    first, second = (torch.load(tmp_path / str(rank)) for rank in range(2))
    alone = model(core="lstm", num_layers=2, learn_initial_state=True)
    recipe = Recipe(12, 4, 8, learning_rate=2.0, clip=0.08, optimizer="sgd")
    history = quiet(alone, TOKENS[:2900], recipe, validation=TOKENS[:200], validate_every=4)
    assert torch.equal(first[0], second[0]) and torch.allclose(first[0], weights(alone), atol=1e-5)
    assert first[1:4] == second[1:4] and "batch is 3, which 2 processes cannot share equally" in first[3]
    assert first[1] == pytest.approx(history.losses) and first[2] == pytest.approx(history.validation)
    assert first[4] != second[4]  # each drops units of its own
    with pytest.raises(ValueError, match=r"run\.pt is the checkpoint of another run .processes is 2 there and 1 here"):
        quiet(alone, TOKENS[:2900], recipe, checkpoint=tmp_path / "run.pt")


# What is refused


@pytest.mark.parametrize(
    "damage, change, complaint",
    [
        (lambda file: file[:999], {}, "run.pt is no checkpoint that can be read; delete it to begin again"),
        (lambda _: b"", {}, "run.pt is no checkpoint"),
        (lambda _: b"not a checkpoint", {}, "run.pt is no checkpoint"),
        (None, {"recipe": replace(RECIPE, batch=2, clip=2.0)}, "another run .batch is 4 there and 2 here; clip is 1.0"),
        (None, {"tokens": TOKENS.flip(0)}, "another run .data is [0-9a-f]{16} there"),
        (None, {"model": model(dropout=0.5)}, "another run .model is LanguageModel.* there and .*'dropout': 0.5"),
    ],
)
def test_a_damaged_checkpoint_and_that_of_another_run_are_refused(tmp_path, damage, change, complaint):
    path = tmp_path / "run.pt"
    quiet(model(), TOKENS, RECIPE, checkpoint=path, until=5)
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=complaint):
        quiet(**{"model": model(), "tokens": TOKENS, "recipe": RECIPE, "checkpoint": path} | change)
    torch.save({"model": model().state_dict()}, path)  # a file of PyTorch's, and something else
    with pytest.raises(ValueError, match="run.pt is no checkpoint"):
        quiet(model(), TOKENS, RECIPE, checkpoint=path)


@pytest.mark.parametrize(
    "tokens, recipe, complaint",
    [
        (TOKENS[:20], {}, "seq_len is 8, but 20 symbols in 4 streams leave 4 a stream"),
        (TOKENS.float(), {}, "tokens are torch.float32"),
        (TOKENS - 1, {}, "tokens run from -1 to 5"),
        (TOKENS + 1, {}, "tokens run from 1 to 7"),
        (TOKENS, {"patience": 3}, "patience is 3, which needs scores; give a validation text and validate_every"),
        (TOKENS, {"updates": 0}, "updates is 0; it must be above 0"),
        (TOKENS, {"learning_rate": math.nan}, "learning_rate is nan; it must be above 0"),
        (TOKENS, {"reset": 1.1}, "reset is 1.1; it is a share, from 0 to 1"),
        (TOKENS, {"optimizer": "lion"}, "optimizer is 'lion'; it can be one of adam, sgd"),
        (TOKENS, {"schedule": "linear"}, "schedule is 'linear'; it can be one of cosine, constant"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_the_first_update(tokens, recipe, complaint):
    with pytest.raises(ValueError, match=complaint):
        quiet(model(), tokens, replace(RECIPE, **recipe), watch=pytest.fail, validation=TOKENS)


def test_examples_need_their_own_batch_and_one_process(monkeypatch):
    with pytest.raises(ValueError, match="batch is 5, and that of the examples 4; they must be equal"):
        train_examples(Tagger(9, 3), examples("tagger"), Recipe(3, 5))
    monkeypatch.setattr(training, "_processes", lambda: (0, 2))
    with pytest.raises(ValueError, match="2 processes share this training; examples are trained by one, so start one"):
        train_examples(Tagger(9, 3), examples("tagger"), Recipe(3, 4))

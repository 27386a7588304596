"""Training: truncated BPTT, and runs that cannot be lost."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import torch

from unrolled import training
from unrolled.cells import detach
from unrolled.models import LanguageModel
from unrolled.training import CheckpointError, Recipe, TrainingDiverged, train

TOKENS = torch.arange(3000) % 7  # a text that is easy to learn
RECIPE = Recipe(updates=40, batch=4, seq_len=8, learning_rate=1e-2)


def model(seed: int = 0, **core) -> LanguageModel:
    torch.manual_seed(seed)
    return LanguageModel(7, embedding_size=4, hidden_size=16, **core)


def weights(model: LanguageModel) -> torch.Tensor:
    return torch.cat([weight.detach().flatten() for weight in model.parameters()])


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
    window = training.Streams(TOKENS, 2, 5).window(0)
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


@pytest.mark.parametrize("core", [{"core": "lstm"}, {"core": "gru"}, {"core": "lstm", "num_layers": 2}])
def test_gated_cores_learn_and_the_gradient_stops_at_the_windows_edge(core):
    recipe = Recipe(updates=40, batch=4, seq_len=8, learning_rate=3e-2)
    history = train(model(**core), TOKENS, recipe, progress=False)
    assert history.losses[-1] < 0.3 * history.losses[0]
    carried = train(model(**core), TOKENS, Recipe(updates=2, batch=4, seq_len=8), progress=False)
    by_hand = model(**core)
    window = training.Streams(TOKENS, 4, 8).window
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


def test_the_rate_warms_up_and_falls_to_zero():
    recipe = Recipe(updates=100, learning_rate=2.0)
    rates = [recipe.rate(update) for update in range(100)]
    assert rates[0] == pytest.approx(0.2) and max(rates) == rates[9] == pytest.approx(2.0)
    assert rates[10:] == sorted(rates[10:], reverse=True) and 0 < rates[-1] < 0.01


def test_same_seed_same_weights():
    runs = [model(3) for _ in range(2)]
    for one in runs:
        train(one, TOKENS, RECIPE, progress=False)
    assert torch.equal(weights(runs[0]), weights(runs[1]))


@pytest.mark.parametrize(
    "carry, core",
    [
        (True, {}),
        (False, {}),
        (True, {"core": "lstm"}),
        (True, {"core": "lstm", "num_layers": 2}),
        (True, {"core": "torch-lstm", "num_layers": 2}),
        (True, {"core": "gru", "learn_initial_state": True}),
    ],
)
def test_a_resumed_run_is_exact(tmp_path, monkeypatch, carry, core):
    recipe = Recipe(updates=40, batch=4, seq_len=8, learning_rate=1e-2, carry=carry)
    whole = model(**core)
    expected = train(whole, TOKENS, recipe, progress=False)

    class Killed(Exception):
        pass

    saved = training._save

    def save_then_die(checkpoint, model, optimizer, recipe, history, done, state):
        saved(checkpoint, model, optimizer, recipe, history, done, state)
        if done == 21:
            raise Killed

    monkeypatch.setattr(training, "_save", save_then_die)
    with pytest.raises(Killed):
        train(model(**core), TOKENS, recipe, checkpoint=tmp_path / "run.pt", checkpoint_every=7, progress=False)
    monkeypatch.undo()
    resumed = model(seed=99, **core)  # other first weights: they must come from the checkpoint
    history = train(resumed, TOKENS, recipe, checkpoint=tmp_path / "run.pt", checkpoint_every=7, progress=False)
    assert torch.equal(weights(resumed), weights(whole))
    assert history == expected


def test_a_process_killed_at_any_moment_resumes_to_the_same_weights(tmp_path):
    script = textwrap.dedent(
        """
        import sys, torch
        sys.path.insert(0, sys.argv[2])
        from test_training import TOKENS, model, weights
        from unrolled.training import Recipe, train
        one = model()
        recipe = Recipe(updates=1500, batch=4, seq_len=8)
        train(one, TOKENS, recipe, checkpoint=sys.argv[1] + "/run.pt", checkpoint_every=5, progress=False)
        torch.save(weights(one), sys.argv[1] + "/weights.pt")
        """
    )
    expected = model()
    train(expected, TOKENS, Recipe(updates=1500, batch=4, seq_len=8), progress=False)
    command = [sys.executable, "-c", script, str(tmp_path), os.path.dirname(__file__)]
    kills = 0
    while True:
        process = subprocess.Popen(command)
        while kills < 3 and process.poll() is None and not (tmp_path / "run.pt").exists():
            time.sleep(0.01)  # let the first checkpoint come
        try:
            process.wait(timeout=0.3 if kills == 0 else 4.0 if kills < 3 else 120)
            break
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            kills += 1
    assert process.returncode == 0 and kills >= 1
    assert torch.equal(torch.load(tmp_path / "weights.pt", weights_only=True), weights(expected))


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_checkpoint(tmp_path, monkeypatch):
    checkpoint = tmp_path / "run.pt"
    real = training.cross_entropy
    calls = iter(range(1000))
    monkeypatch.setattr(training, "cross_entropy", lambda *a: real(*a) * (float("nan") if next(calls) == 25 else 1.0))
    with pytest.raises(TrainingDiverged, match="the loss is nan at update 25; lower learning_rate"):
        train(model(), TOKENS, RECIPE, checkpoint=checkpoint, checkpoint_every=10, progress=False)
    content = torch.load(checkpoint, weights_only=True)
    assert content["done"] == 20
    assert all(torch.isfinite(weight).all() for weight in content["model"].values())


def test_a_damaged_checkpoint_says_so(tmp_path):
    checkpoint = tmp_path / "run.pt"
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    whole = checkpoint.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"not a checkpoint"):
        checkpoint.write_bytes(damaged)
        with pytest.raises(CheckpointError, match="is damaged and cannot be read; delete it"):
            train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    torch.save([1, 2], checkpoint)
    with pytest.raises(CheckpointError, match="is damaged"):
        train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    checkpoint = tmp_path / "run.pt"
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    with pytest.raises(CheckpointError, match="belongs to a run with updates=40"):
        train(model(), TOKENS, Recipe(updates=50, batch=4, seq_len=8, learning_rate=1e-2), checkpoint=checkpoint)
    with pytest.raises(CheckpointError, match="belongs to another model"):
        train(LanguageModel(7, hidden_size=9), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)


def test_an_unwritable_folder_is_said_before_any_work_is_done(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match="checkpoints cannot be written to .*file.*choose another folder"):
        train(model(), TOKENS, RECIPE, checkpoint=tmp_path / "file" / "run.pt", progress=False)


def test_a_checkpoint_that_cannot_be_finished_leaves_the_last_one(tmp_path, monkeypatch):
    checkpoint = tmp_path / "run.pt"
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    before = checkpoint.read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(training.torch, "save", full_disk)
    with pytest.raises(CheckpointError, match="No space left on device; the last one stays"):
        training._save(checkpoint, model(), torch.optim.Adam(model().parameters()), RECIPE, training.History(), 1, None)
    assert checkpoint.read_bytes() == before


@pytest.mark.parametrize("name", ["updates", "learning_rate", "clip"])
def test_a_recipe_refuses_what_cannot_be(name):
    with pytest.raises(ValueError, match=f"{name} is 0; it must be above 0"):
        Recipe(**{"updates": 10, name: 0})


def test_a_text_too_short_is_named():
    with pytest.raises(ValueError, match="seq_len is 8, but 20 symbols in 4 streams leave 4 a stream"):
        train(model(), TOKENS[:20], RECIPE, progress=False)


def test_a_watcher_sees_the_model_after_every_update():
    watched, seen = model(), []
    recipe = Recipe(updates=3, batch=4, seq_len=8)
    train(watched, TOKENS, recipe, progress=False, watch=lambda done: seen.append((done, weights(watched))))
    assert [done for done, _ in seen] == [1, 2, 3]
    assert not torch.equal(seen[0][1], seen[1][1]) and torch.equal(seen[2][1], weights(watched))

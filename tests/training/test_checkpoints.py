"""Checkpoints: a run that is killed at any moment ends as if nothing had happened; of another file, what is wrong."""

import io
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest
import torch

from small_runs import DROPOUT, RECIPE, TOKENS, Stopped, logged, model, weights
from unrolled.models import LanguageModel
from unrolled.training import CheckpointError, Recipe, Run, checkpoints, progress, train

SCORED = {"validation": TOKENS[:200], "validate_every": 3, "progress": False}


@pytest.mark.parametrize(
    "options, changes",
    [
        ({}, {}),
        ({}, {"carry": False}),
        ({}, {"reset": 0.3}),
        ({"core": "lstm"}, {"optimizer": "sgd", "learning_rate": 3.0}),
        ({"core": "lstm", "num_layers": 2}, {"schedule": "constant"}),
        ({"core": "torch-lstm", "num_layers": 2}, {"optimizer": "sgd", "schedule": "constant"}),
        ({"core": "gru", "learn_initial_state": True}, {}),
        ({"core": "lstm"}, {"precision": "bf16"}),
        (DROPOUT, {}),
        (DROPOUT, {"patience": 2, "schedule": "constant", "learning_rate": 0.5}),
        (DROPOUT, {"patience": 20}),
        ({"core": "gru", "weight_drop": 0.5}, {"averaging": 0.9, "weight_decay": 0.1}),
        ({}, {"averaging": 0.9, "patience": 20}),
    ],
)
def test_a_resumed_run_is_exact(tmp_path, monkeypatch, options, changes):
    monkeypatch.setattr(progress, "EVERY", 4)
    recipe = Recipe(**{"updates": 40, "batch": 4, "seq_len": 8, "learning_rate": 1e-2} | changes)
    whole = model(**options)
    expected = train(whole, TOKENS, recipe, checkpoint=tmp_path / "whole.pt", checkpoint_every=7, **SCORED)
    assert len(expected.losses) > 8  # it was not over when it was killed

    def save_then_die(path, run, save=checkpoints.save_checkpoint):
        save(path, run)
        if run.done == (7 if recipe.patience == 2 else 21):
            raise Stopped

    with monkeypatch.context() as patch, pytest.raises(Stopped):
        patch.setattr(checkpoints, "save_checkpoint", save_then_die)
        train(model(**options), TOKENS, recipe, checkpoint=tmp_path / "run.pt", checkpoint_every=7, **SCORED)
    resumed = model(seed=99, **options)  # other weights and random numbers: they must come from the checkpoint
    history = train(resumed, TOKENS, recipe, checkpoint=tmp_path / "run.pt", checkpoint_every=7, **SCORED)
    assert torch.equal(weights(resumed), weights(whole))
    assert history == expected
    assert logged(tmp_path / "run.pt") == logged(tmp_path / "whole.pt")


def test_a_run_is_written_when_its_updates_or_its_minutes_are_over(tmp_path, monkeypatch):
    clock, written = SimpleNamespace(now=0.0), []
    monkeypatch.setattr(checkpoints, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(checkpoints, "save_checkpoint", lambda path, run: written.append(run.done))

    def watch(done):
        clock.now += 25  # seconds

    def writings(minutes=checkpoints.MINUTES, **every):
        written.clear()
        monkeypatch.setattr(checkpoints, "MINUTES", minutes)
        train(model(), TOKENS, RECIPE, checkpoint=tmp_path / "run.pt", watch=watch, progress=False, **every)
        return list(written)

    assert writings(checkpoint_every=15, minutes=1e9) == [15, 30, 40]
    assert writings(checkpoint_every=1000, minutes=5) == [12, 24, 36, 40]
    assert writings(checkpoint_every=10, minutes=3) == [8, 10, 18, 20, 28, 30, 38, 40]
    assert writings() == [*range(3, 40, 3), 40]  # every minute, and at the end


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The bytes of the checkpoint of a run that is over, and its weights."""
    trained, path = model(), tmp_path_factory.mktemp("finished") / "run.pt"
    train(trained, TOKENS, RECIPE, checkpoint=path, progress=False)
    return path.read_bytes(), weights(trained)


@pytest.fixture
def checkpoint(tmp_path, finished):
    """The checkpoint of a run that is over, to be altered."""
    (tmp_path / "run.pt").write_bytes(finished[0])
    return tmp_path / "run.pt"


def resume(checkpoint, resumed=None, tokens=TOKENS, recipe=RECIPE) -> None:
    train(resumed or model(), tokens, recipe, checkpoint=checkpoint, progress=False)


def altered(content: bytes) -> bytes:
    """Return a checkpoint in which one weight is another."""
    weight = torch.load(io.BytesIO(content), weights_only=True)["model"]["output.weight"].numpy().tobytes()
    place = content.index(weight)
    content = content[:place] + bytes(8) + content[place + 8 :]
    torch.load(io.BytesIO(content), weights_only=True)  # which has nothing to say
    return content


@pytest.mark.parametrize("damage", [lambda file: file[:999], lambda _: b"", lambda _: b"not a checkpoint", altered])
def test_a_damaged_checkpoint_says_so(checkpoint, damage):
    checkpoint.write_bytes(damage(checkpoint.read_bytes()))
    cause = "its part .* was altered" if damage is altered else "it is no archive of PyTorch's: .*"
    with pytest.raises(CheckpointError, match=rf"run.pt is damaged and cannot be read \({cause}\); delete it"):
        resume(checkpoint)


@pytest.mark.parametrize(
    "changes, cause",
    [
        ({"recipe": None, "done": None}, "it lacks recipe, done"),
        *[({name: []}, f"its {name} is of the type list") for name in checkpoints.FIELDS],
        *[({name: 7.5}, f"its {name} is of the type float") for name in checkpoints.FIELDS],
        ({"history": {"losses": None}}, "its history does not consist of lists"),
        ({"history": {"x": []}}, ".* unexpected keyword argument 'x'"),
        ({"best": {}}, "its best weights are not those of its model"),
    ],
)
def test_a_checkpoint_that_holds_something_else_says_what(checkpoint, finished, changes, cause):
    content = torch.load(io.BytesIO(finished[0]), weights_only=True) | changes
    torch.save({name: value for name, value in content.items() if changes.get(name, 0) is not None}, checkpoint)
    with pytest.raises(CheckpointError, match=rf"run.pt is damaged and cannot be read \({cause}\); delete it"):
        resume(checkpoint)


def frozen() -> LanguageModel:
    """Return a model with the run's weights, of which it trains fewer."""
    other = model()
    other.embedding.weight.requires_grad_(False)
    return other


OLD = {"version": "0.0.9", "recipe": {name: value for name, value in asdict(RECIPE).items() if name != "clip"}}
MADE = r"model is LanguageModel\(7, .*\) there and LanguageModel"


@pytest.mark.parametrize(
    "changes, other, unlike",
    [
        ({}, {"recipe": replace(RECIPE, updates=50, batch=2)}, "updates is 40 there and 50 here; batch is 4 there"),
        ({}, {"tokens": TOKENS.flip(0)}, "text is [0-9a-f]{16} there and [0-9a-f]{16} here"),
        ({}, {"resumed": LanguageModel(7, hidden_size=9)}, rf"{MADE}\(7, hidden_size=9\) here"),
        ({}, {"resumed": model(dropout=0.5)}, rf"{MADE}.*dropout=0.5.* here"),  # the weights would fit
        ({}, {"resumed": model(learn_initial_state=True)}, rf"{MADE}.*learn_initial_state=True.* here"),
        ({}, {"resumed": frozen()}, "its weights do not fit: .* parameter group"),
        ({"optimizer": {}}, {}, "its weights do not fit"),
        ({"model": {}}, {}, "its weights do not fit: .*output.weight"),
        (OLD, {}, "clip is absent there and 1.0 here"),
    ],
)
def test_a_checkpoint_of_another_run_says_what_differs(checkpoint, changes, other, unlike):
    torch.save(torch.load(checkpoint, weights_only=True) | changes, checkpoint)
    version = changes.get("version", checkpoints.__version__)
    with pytest.raises(CheckpointError, match=rf"run.pt, of version {version}, .* another run \({unlike}.*\); go on"):
        resume(checkpoint, **other)


def test_a_run_from_a_gpu_goes_on_without_one(checkpoint, finished):
    content = torch.load(checkpoint, weights_only=True)
    torch.save(content | {"cuda-random": torch.zeros(16, dtype=torch.uint8)}, checkpoint)
    resume(checkpoint, resumed := model(seed=99))
    assert torch.equal(weights(resumed), finished[1])


def test_nobody_is_advised_to_delete_a_checkpoint_that_is_not_damaged(checkpoint, tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    with pytest.raises(CheckpointError, match=r"folder cannot be read \(Is a directory\); make it readable"):
        resume(tmp_path / "folder")

    def no_memory(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(checkpoints.torch, "load", no_memory)
    with pytest.raises(torch.OutOfMemoryError):
        resume(checkpoint)


def test_an_unwritable_folder_is_named_before_any_work_is_done(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match=r"run.pt cannot be written \(File exists\); .* choose another"):
        train(model(), TOKENS, RECIPE, checkpoint=tmp_path / "file" / "run.pt", watch=pytest.fail, progress=False)


@pytest.mark.parametrize("step", ["torch.save", "os.replace"])
def test_a_checkpoint_that_cannot_be_finished_leaves_the_last_one(checkpoint, finished, monkeypatch, step):
    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(step, full_disk)
    expected = r"run.pt cannot be written \(No space left on device\); make room there, .*; what was there stays"
    with pytest.raises(CheckpointError, match=expected):
        checkpoints.save_checkpoint(checkpoint, Run(model(), RECIPE, done=1))
    assert checkpoint.read_bytes() == finished[0] and not checkpoint.with_name("run.pt.part").exists()

"""Checkpoints: a run that is stopped, killed or interrupted at any moment ends as if nothing had happened."""

import io
import json
import signal
import threading
from contextlib import nullcontext
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest
import torch

from small_runs import DROPOUT, RECIPE, TOKENS, model, weights
from unrolled.models import LanguageModel
from unrolled.training import CheckpointError, Recipe, Run, checkpoints, progress, train

SCORED = {"validation": TOKENS[:200], "validate_every": 3, "progress": False}


@pytest.fixture(autouse=True)
def ctrl_c():
    """Have Ctrl-C obeyed even where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Killed(Exception):
    """The process ended here."""


def logged(checkpoint) -> list[dict]:
    """Return the lines of the log, without the speed, which no two runs share."""
    lines = checkpoint.with_name(checkpoint.name + ".jsonl").read_text().splitlines()
    return [{name: value for name, value in json.loads(line).items() if name != "tokens_per_second"} for line in lines]


@pytest.mark.parametrize(
    "options, changes",
    [
        ({}, {}),
        ({}, {"carry": False}),
        ({"core": "lstm"}, {"optimizer": "sgd", "learning_rate": 3.0, "schedule": "plateau"}),
        ({"core": "lstm", "num_layers": 2}, {"optimizer": "adamw", "weight_decay": 0.1, "schedule": "constant"}),
        ({"core": "torch-lstm", "num_layers": 2}, {"optimizer": "sgd", "weight_decay": 0.01}),
        ({"core": "gru", "learn_initial_state": True}, {"schedule": "plateau"}),
        ({"core": "lstm"}, {"precision": "bf16"}),
        (DROPOUT, {}),
        (DROPOUT, {"patience": 2, "schedule": "constant", "learning_rate": 0.5}),
        (DROPOUT, {"patience": 20}),
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
            raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(checkpoints, "save_checkpoint", save_then_die)
        train(model(**options), TOKENS, recipe, checkpoint=tmp_path / "run.pt", checkpoint_every=7, **SCORED)
    resumed = model(seed=99, **options)  # other weights and random numbers: they must come from the checkpoint
    history = train(resumed, TOKENS, recipe, checkpoint=tmp_path / "run.pt", checkpoint_every=7, **SCORED)
    assert torch.equal(weights(resumed), weights(whole))
    assert history == expected
    assert logged(tmp_path / "run.pt") == logged(tmp_path / "whole.pt")


def test_the_best_weights_survive_a_kill(tmp_path, monkeypatch):
    """The lowest score came before the checkpoint, and the patience runs out after it."""
    recipe = Recipe(updates=40, batch=4, seq_len=8, learning_rate=1e-2, patience=4)
    values = [3.0, 2.0, 2.5, 2.5, 2.5, 2.5]
    left, seen, trained = iter(values), {}, model()
    monkeypatch.setattr("unrolled.training.loop.evaluate", lambda *_, **__: SimpleNamespace(nats_per_symbol=next(left)))

    def watch(done):
        seen[done] = weights(trained)
        if done == 10:
            raise Killed

    saved = {"checkpoint": tmp_path / "run.pt", "checkpoint_every": 9}
    with pytest.raises(Killed):
        train(trained, TOKENS, recipe, watch=watch, **SCORED, **saved)
    resumed = model(seed=99)
    history = train(resumed, TOKENS, recipe, **SCORED, **saved)
    assert history.validation == values and len(history.losses) == 18
    assert torch.equal(weights(resumed), seen[6])


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


def interrupt_at(update: int, *signals: int):
    """Return a watcher that sends signals to this process after an update."""

    def watch(done: int) -> None:
        if done == update:
            for number in signals:
                signal.raise_signal(number)

    return watch


@pytest.mark.parametrize("number, error", [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)])
@pytest.mark.parametrize("at", [13, 40])
def test_an_interruption_ends_the_update_writes_the_run_and_obeys(tmp_path, monkeypatch, number, error, at):
    monkeypatch.setattr(progress, "EVERY", 10)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    whole, checkpoint = model(), tmp_path / "run.pt"
    expected = train(whole, TOKENS, RECIPE, checkpoint=tmp_path / "whole.pt", progress=False)
    with pytest.raises(error) as caught:
        train(model(), TOKENS, RECIPE, watch=interrupt_at(at, number), checkpoint=checkpoint, progress=False)
    assert error is KeyboardInterrupt or caught.value.code == 143
    assert torch.load(checkpoint, weights_only=True)["done"] == at
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    resumed = model(seed=99)
    assert train(resumed, TOKENS, RECIPE, checkpoint=checkpoint, progress=False) == expected
    assert torch.equal(weights(resumed), weights(whole))
    assert logged(checkpoint) == logged(tmp_path / "whole.pt")


def test_a_second_ctrl_c_stops_at_once(tmp_path):
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(
            model(), TOKENS, RECIPE, watch=interrupt_at(13, signal.SIGINT, signal.SIGINT),
            checkpoint=tmp_path / "run.pt", checkpoint_every=5, progress=False,
        )  # fmt: skip
    assert torch.load(tmp_path / "run.pt", weights_only=True)["done"] == 10  # there was no time to write
    assert signal.getsignal(signal.SIGINT) is handler


def test_without_a_checkpoint_ctrl_c_stops_at_once():
    past = []

    def watch(done):
        signal.raise_signal(signal.SIGINT)
        past.append(done)

    with pytest.raises(KeyboardInterrupt):
        train(model(), TOKENS, RECIPE, watch=watch, progress=False)
    assert not past


@pytest.mark.parametrize("end", [None, Killed])
def test_the_handlers_from_before_come_back_however_a_run_ends(tmp_path, end):
    def mine(*_):
        raise AssertionError("this is not the time")

    def watch(done):
        assert signal.getsignal(signal.SIGTERM) is not mine
        if end:
            raise end

    before = signal.signal(signal.SIGTERM, mine)
    try:
        with pytest.raises(end) if end else nullcontext():
            train(model(), TOKENS, RECIPE, watch=watch, checkpoint=tmp_path / "run.pt", progress=False)
        assert signal.getsignal(signal.SIGTERM) is mine
    finally:
        signal.signal(signal.SIGTERM, before)


def test_an_ignored_signal_stays_ignored(tmp_path):
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        watch = interrupt_at(13, signal.SIGTERM)
        history = train(model(), TOKENS, RECIPE, watch=watch, checkpoint=tmp_path / "run.pt", progress=False)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert len(history.losses) == 40


def test_in_another_thread_signals_are_left_alone(tmp_path):
    handler, handlers, ended = signal.getsignal(signal.SIGTERM), set(), []

    def work():
        watch = lambda done: handlers.add(signal.getsignal(signal.SIGTERM))  # noqa: E731
        ended.append(train(model(), TOKENS, RECIPE, watch=watch, checkpoint=tmp_path / "run.pt", progress=False))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert handlers == {handler} and len(ended[0].losses) == 40


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


def resume(checkpoint, resumed=None, tokens=TOKENS, recipe=RECIPE):
    train(resumed or model(), tokens, recipe, checkpoint=checkpoint, progress=False)


def rewrite(checkpoint, **changes) -> None:
    """Change some fields of a checkpoint."""
    torch.save(torch.load(checkpoint, weights_only=True) | changes, checkpoint)


def altered(content: bytes) -> bytes:
    """Return a checkpoint in which one weight is another."""
    weight = torch.load(io.BytesIO(content), weights_only=True)["model"]["output.weight"].numpy().tobytes()
    place = content.index(weight)
    content = content[:place] + bytes(8) + content[place + 8 :]
    torch.load(io.BytesIO(content), weights_only=True)  # which has nothing to say
    return content


@pytest.mark.parametrize(
    "damage, cause",
    [
        (lambda content: content[: len(content) // 2], "it is no archive of PyTorch's"),
        (lambda content: b"", "it is no archive of PyTorch's"),
        (lambda content: b"not a checkpoint", "it is no archive of PyTorch's"),
        (altered, "its part .* was altered"),
    ],
)
def test_a_damaged_checkpoint_says_so(checkpoint, damage, cause):
    checkpoint.write_bytes(damage(checkpoint.read_bytes()))
    with pytest.raises(CheckpointError, match=rf"run.pt is damaged and cannot be read \({cause}.*\); delete it"):
        resume(checkpoint)


def test_a_checkpoint_that_lacks_something_says_so(checkpoint):
    content = torch.load(checkpoint, weights_only=True)
    for other, cause in (([1, 2], "it lacks version, recipe"), (content, "it lacks done")):
        if other is content:
            del content["done"]
        torch.save(other, checkpoint)
        with pytest.raises(CheckpointError, match=rf"run.pt is damaged and cannot be read \({cause}.*\); delete it"):
            resume(checkpoint)


@pytest.mark.parametrize("name", checkpoints.FIELDS)
def test_a_field_of_another_type_is_named(checkpoint, name):
    for wrong in ([], 7.5):
        rewrite(checkpoint, **{name: wrong})
        with pytest.raises(CheckpointError, match=rf"run.pt is damaged .*\(its {name} is of the type .*; delete it"):
            resume(checkpoint)


@pytest.mark.parametrize(
    "change, complaint",
    [
        ({"history": {"losses": None}}, "its history does not consist of lists.; delete it to start again"),
        ({"history": {"x": []}}, "unexpected keyword argument 'x'.; delete it to start again"),
        ({"best": {}}, "its best weights are not those of its model.; delete it to start again"),
        ({"optimizer": {}}, "its weights do not fit: .* or use another file"),
        ({"model": {}}, "its weights do not fit: .* or use another file"),
    ],
)
def test_a_checkpoint_that_is_empty_inside_says_so_in_a_line(checkpoint, change, complaint):
    rewrite(checkpoint, **change)
    with pytest.raises(CheckpointError, match=f"run.pt.*{complaint}") as error:
        resume(checkpoint)
    assert "\n" not in str(error.value)


def frozen() -> LanguageModel:
    """Return a model that has the weights of the run's and trains fewer of them."""
    other = model()
    other.embedding.weight.requires_grad_(False)
    return other


@pytest.mark.parametrize(
    "other, differences",
    [
        (
            {"recipe": replace(RECIPE, updates=50, batch=2)},
            "updates is 40 there and 50 here; batch is 4 there and 2 here",
        ),
        ({"tokens": TOKENS.flip(0)}, "text is [0-9a-f]{16} there and [0-9a-f]{16} here"),
        (
            {"resumed": LanguageModel(7, hidden_size=9)},
            r"model is LanguageModel\(7, .*\) there and LanguageModel\(7, hidden_size=9\) here",
        ),
        ({"resumed": model(dropout=0.5)}, r"model is .* there and .*, dropout=0.5, .*\) here"),  # the weights would fit
        ({"resumed": model(learn_initial_state=True)}, "model is .* there and .*learn_initial_state=True.* here"),
        ({"resumed": frozen()}, "its weights do not fit: .*parameter group"),
    ],
)
def test_a_checkpoint_of_another_run_says_what_differs(checkpoint, other, differences):
    before, pattern = (
        checkpoint.read_bytes(),
        rf"run.pt, of version .*, belongs to another run \({differences}.*\); go on",
    )
    with pytest.raises(
        CheckpointError, match=f"{pattern} with the same recipe, text, model and version, or use another"
    ):
        resume(checkpoint, **other)
    assert checkpoint.read_bytes() == before


def test_a_recipe_of_another_version_says_so(checkpoint):
    recipe = {name: value for name, value in asdict(RECIPE).items() if name != "clip"} | {"momentum": 0.9}
    rewrite(checkpoint, recipe=recipe, version="0.0.9")
    with pytest.raises(
        CheckpointError, match=r"of version 0\.0\.9, .*clip is absent there and 1.0 here; momentum is 0.9"
    ):
        resume(checkpoint)


def test_a_run_from_a_gpu_goes_on_without_one(checkpoint, finished):
    rewrite(checkpoint, **{"cuda-random": torch.zeros(16, dtype=torch.uint8)})
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
    with pytest.raises(
        CheckpointError, match=r"file/run\.pt cannot be written \(File exists\); .* choose another folder"
    ):
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

"""Checkpoints: a run that is stopped, killed or interrupted at any moment ends as if nothing had happened."""

import io
import json
import signal
import threading
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
        if end:
            with pytest.raises(end):
                train(model(), TOKENS, RECIPE, watch=watch, checkpoint=tmp_path / "run.pt", progress=False)
        else:
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
    handler, seen, ended = signal.getsignal(signal.SIGTERM), set(), []

    def work():
        watch = lambda done: seen.add(signal.getsignal(signal.SIGTERM))  # noqa: E731
        ended.append(train(model(), TOKENS, RECIPE, watch=watch, checkpoint=tmp_path / "run.pt", progress=False))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == {handler} and len(ended[0].losses) == 40


def test_a_damaged_checkpoint_says_so(tmp_path):
    checkpoint = tmp_path / "run.pt"
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    whole = checkpoint.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", b"not a checkpoint"):
        checkpoint.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"is damaged and cannot be read \(.*\); delete it"):
            train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    content = torch.load(io.BytesIO(whole), weights_only=True)
    done = {name: value for name, value in content.items() if name != "done"}
    for other, cause in (([1, 2], "lacks"), (done, "it lacks done"), (content | {"recipe": None}, "NoneType")):
        torch.save(other, checkpoint)
        with pytest.raises(CheckpointError, match=rf"is damaged and cannot be read \(.*{cause}"):
            train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)


def test_a_single_altered_weight_is_noticed(tmp_path):
    checkpoint = tmp_path / "run.pt"
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    content = checkpoint.read_bytes()
    place = content.index(torch.load(checkpoint, weights_only=True)["model"]["output.weight"].numpy().tobytes())
    checkpoint.write_bytes(content[:place] + bytes(8) + content[place + 8 :])
    torch.load(checkpoint, weights_only=True)  # which has nothing to say
    with pytest.raises(CheckpointError, match=r"is damaged and cannot be read \(its part .* was altered\)"):
        train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)


def test_a_recipe_of_another_version_says_so_and_nothing_is_to_be_deleted(tmp_path):
    checkpoint = tmp_path / "run.pt"
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    content = torch.load(checkpoint, weights_only=True)
    recipe = {name: value for name, value in content["recipe"].items() if name != "clip"} | {"momentum": 0.9}
    torch.save(content | {"recipe": recipe, "version": "0.0.9"}, checkpoint)
    with pytest.raises(
        CheckpointError,
        match="written by version 0.0.9, whose recipes differ in clip, momentum .*go on with that version",
    ):
        train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    checkpoint = tmp_path / "run.pt"
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    with pytest.raises(CheckpointError, match="belongs to a run with updates=40"):
        train(model(), TOKENS, Recipe(updates=50, batch=4, seq_len=8, learning_rate=1e-2), checkpoint=checkpoint)
    with pytest.raises(CheckpointError, match=r"another model, made by LanguageModel\(7, .* by LanguageModel\(7, h"):
        train(LanguageModel(7, hidden_size=9), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    for options in ({"dropout": 0.5}, {"learn_initial_state": True}):  # the weights would fit
        with pytest.raises(CheckpointError, match="belongs to another model"):
            train(model(**options), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    with pytest.raises(CheckpointError, match="belongs to a run on another text; use the same text to go on"):
        train(model(), TOKENS.flip(0), RECIPE, checkpoint=checkpoint, progress=False)


def test_a_run_from_a_gpu_goes_on_without_one(tmp_path):
    checkpoint, whole = tmp_path / "run.pt", model()
    train(whole, TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    content = torch.load(checkpoint, weights_only=True)
    torch.save(content | {"cuda-random": torch.zeros(16, dtype=torch.uint8)}, checkpoint)
    resumed = model(seed=99)
    train(resumed, TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    assert torch.equal(weights(resumed), weights(whole))


def test_weights_that_are_trained_no_more_are_another_model(tmp_path):
    train(model(), TOKENS, RECIPE, checkpoint=tmp_path / "run.pt", progress=False)
    frozen = model()
    frozen.embedding.weight.requires_grad_(False)
    with pytest.raises(CheckpointError, match="belongs to another model; use another file"):
        train(frozen, TOKENS, RECIPE, checkpoint=tmp_path / "run.pt", progress=False)


def test_nobody_is_advised_to_delete_a_checkpoint_that_is_not_damaged(tmp_path, monkeypatch):
    (tmp_path / "folder").mkdir()
    with pytest.raises(CheckpointError, match=r"folder cannot be read \(Is a directory\); make it readable"):
        train(model(), TOKENS, RECIPE, checkpoint=tmp_path / "folder", progress=False)
    train(model(), TOKENS, RECIPE, checkpoint=tmp_path / "run.pt", progress=False)

    def no_memory(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(checkpoints.torch, "load", no_memory)
    with pytest.raises(torch.OutOfMemoryError):
        train(model(), TOKENS, RECIPE, checkpoint=tmp_path / "run.pt", progress=False)


def test_an_unwritable_folder_is_named_before_any_work_is_done(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(CheckpointError, match="checkpoints cannot be written to .*file.*choose another folder"):
        train(model(), TOKENS, RECIPE, checkpoint=tmp_path / "file" / "run.pt", progress=False)


@pytest.mark.parametrize("step", ["torch.save", "os.replace"])
def test_a_checkpoint_that_cannot_be_finished_leaves_the_last_one(tmp_path, monkeypatch, step):
    checkpoint = tmp_path / "run.pt"
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    before = checkpoint.read_bytes()

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(step, full_disk)
    with pytest.raises(CheckpointError, match="No space left on device.*; make room there, .*; the last one stays"):
        checkpoints.save_checkpoint(checkpoint, Run(model(), torch.optim.Adam(model().parameters()), RECIPE, done=1))
    assert checkpoint.read_bytes() == before and not (tmp_path / "run.pt.part").exists()


@pytest.mark.parametrize("name", checkpoints.FIELDS)
def test_a_field_of_another_type_is_named(tmp_path, name):
    checkpoint = tmp_path / "run.pt"
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    content = torch.load(checkpoint, weights_only=True)
    for wrong in ([], 7.5):
        torch.save(content | {name: wrong}, checkpoint)
        with pytest.raises(CheckpointError, match=rf"run.pt is damaged .*\(its {name} is of the type .*; delete it"):
            train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)


def test_a_checkpoint_that_is_empty_inside_is_told_in_a_line(tmp_path):
    checkpoint = tmp_path / "run.pt"
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    content = torch.load(checkpoint, weights_only=True)
    for change in (
        {"history": {"losses": None}},
        {"history": {"x": []}},
        {"best": {}},
        {"optimizer": {}},
        {"model": {}},
    ):
        torch.save(content | change, checkpoint)
        with pytest.raises(CheckpointError, match=r"run.pt .*; (delete it to start again|use another file)") as told:
            train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
        assert "\n" not in str(told.value)


@pytest.mark.parametrize("line", ["{}", "[]", "null", "7", '{"update": null}'])
def test_a_line_of_the_log_that_says_nothing_is_cut_off(tmp_path, line):
    checkpoint, log = tmp_path / "run.pt", tmp_path / "run.pt.jsonl"
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    whole = log.read_text()
    log.write_text(f"{whole}{line}\n")
    train(model(), TOKENS, RECIPE, checkpoint=checkpoint, progress=False)
    assert log.read_text() == whole

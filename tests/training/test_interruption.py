"""Ctrl-C and SIGTERM end a run after the update in progress, and the same call resumes it."""

import signal
import threading

import pytest
import torch

from small_runs import RECIPE, TOKENS, Stopped, logged, model, weights
from unrolled.training import progress, train


@pytest.fixture(autouse=True)
def handlers():
    """Have Ctrl-C obeyed even where the tests run in the background, and undo what a test sets."""
    before = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for number, handler in before:
        signal.signal(number, handler)


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
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    whole, checkpoint = model(), tmp_path / "run.pt"
    expected = train(whole, TOKENS, RECIPE, checkpoint=tmp_path / "whole.pt", progress=False)
    with pytest.raises(error) as caught:
        train(model(), TOKENS, RECIPE, watch=interrupt_at(at, number), checkpoint=checkpoint, progress=False)
    assert error is KeyboardInterrupt or caught.value.code == 143
    assert torch.load(checkpoint, weights_only=True)["done"] == at
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before
    resumed = model(seed=99)
    assert train(resumed, TOKENS, RECIPE, checkpoint=checkpoint, progress=False) == expected
    assert torch.equal(weights(resumed), weights(whole))
    assert logged(checkpoint) == logged(tmp_path / "whole.pt")


def test_a_second_ctrl_c_stops_at_once(tmp_path):
    twice, saved = interrupt_at(13, signal.SIGINT, signal.SIGINT), {"checkpoint": tmp_path / "run.pt"}
    with pytest.raises(KeyboardInterrupt):
        train(model(), TOKENS, RECIPE, watch=twice, **saved, checkpoint_every=5, progress=False)
    assert torch.load(tmp_path / "run.pt", weights_only=True)["done"] == 10  # there was no time to write
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_without_a_checkpoint_ctrl_c_stops_at_once():
    past = []
    watch = lambda done: past.append(signal.raise_signal(signal.SIGINT))  # noqa: E731
    with pytest.raises(KeyboardInterrupt):
        train(model(), TOKENS, RECIPE, watch=watch, progress=False)
    assert not past


def test_the_handlers_from_before_come_back_when_a_run_ends_by_an_error(tmp_path):
    def mine(*_):
        raise AssertionError("this is not the time")

    def watch(done):
        assert signal.getsignal(signal.SIGTERM) is not mine
        raise Stopped

    signal.signal(signal.SIGTERM, mine)
    with pytest.raises(Stopped):
        train(model(), TOKENS, RECIPE, watch=watch, checkpoint=tmp_path / "run.pt", progress=False)
    assert signal.getsignal(signal.SIGTERM) is mine


def test_an_ignored_signal_stays_ignored(tmp_path):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    watch = interrupt_at(13, signal.SIGTERM)
    history = train(model(), TOKENS, RECIPE, watch=watch, checkpoint=tmp_path / "run.pt", progress=False)
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

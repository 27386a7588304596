"""Let the step in progress end before Ctrl-C or SIGTERM ends the process."""

from __future__ import annotations

import signal
import threading
from types import FrameType

from unrolled.training import distributed


class Interruption:
    """Note a request to stop, and obey it at the end of the ``with`` block.

        with Interruption() as interruption:
            while work is left and not interruption.requested():
                take a step
            save

    Then the end of the block raises what the request stands for: KeyboardInterrupt for Ctrl-C (SIGINT), SystemExit with
    code 143 for SIGTERM. A second request raises it at once, wherever the block is. A signal that the process ignores
    goes on being ignored. Only the main thread is sent signals: in any other this does nothing. Where several processes
    work together, each in such a block, a request to one is a request to all.

    Args:
        active: False: do nothing, so that a request stops the block at once.
    """

    def __init__(self, active: bool = True):
        self._active = active and threading.current_thread() is threading.main_thread()
        self._signal, self._agreed = 0, 0  # what this process was sent, and what all processes know of
        self._handlers = {}  # those that were there before

    def __enter__(self) -> Interruption:
        if self._active:
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) not in (signal.SIG_IGN, None):  # None: it is not Python's to restore
                    self._handlers[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, error: type[BaseException] | None, *_) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if error is None and self.requested():
            self._obey(self._agreed)

    def requested(self) -> bool:
        """Return whether there was a request; all processes have to ask together, and get the same answer."""
        if self._active:
            self._agreed = distributed.largest(self._signal)
        return self._agreed > 0

    def _note(self, number: int, _: FrameType | None) -> None:
        again, self._signal = self._signal, number
        if again:
            self._obey(number)

    def _obey(self, number: int) -> None:
        if number == signal.SIGTERM:
            raise SystemExit(128 + signal.SIGTERM)
        raise KeyboardInterrupt

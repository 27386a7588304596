"""Let the update in progress end before Ctrl-C or SIGTERM ends the process."""

import signal
import threading
from types import FrameType

from unrolled.training import distributed


class Interruption:
    """Note a request to stop, and obey it at the end of the ``with`` block.

    Ctrl-C (SIGINT) then raises KeyboardInterrupt, and SIGTERM raises SystemExit with code 143. A second request raises
    at once, wherever the block is. A signal that the process ignores stays ignored. Only the main thread receives
    signals; in any other thread this does nothing. Where several processes work together, each in such a block, a
    request to one is a request to all.

    Args:
        active: if False, do nothing: a request stops the block at once.

    Example:
        >>> done = 0
        >>> try:
        ...     with Interruption() as interruption:
        ...         while done < 10 and not interruption.requested():
        ...             done += 1
        ...             if done == 3:
        ...                 signal.raise_signal(signal.SIGTERM)
        ...         print("save after step", done)
        ... except SystemExit as stop:
        ...     print("exit code", stop.code)
        save after step 3
        exit code 143
    """

    def __init__(self, active: bool = True):
        self._active = active and threading.current_thread() is threading.main_thread()
        self._signal = 0  # that this process was sent
        self._handlers = {}  # the handlers from before the block

    def __enter__(self) -> "Interruption":
        if self._active:
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) not in (signal.SIG_IGN, None):  # None: Python could not restore it
                    self._handlers[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, error: type[BaseException] | None, *_) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        if error is None and (number := self.requested()):
            self._obey(number)

    def requested(self) -> int:
        """Return the signal that requests a stop, or 0; all processes must ask together and get the same answer."""
        return distributed.largest(self._signal) if self._active else 0

    def _note(self, number: int, _: FrameType | None) -> None:
        again, self._signal = self._signal, number
        if again:
            self._obey(number)

    def _obey(self, number: int) -> None:
        if number == signal.SIGTERM:
            raise SystemExit(128 + signal.SIGTERM)
        raise KeyboardInterrupt

"""Read the book's few settings: profile, device, seed and threads.

Every environment variable that changes what a chapter computes is read here and nowhere else:

- ``UNROLLED_PROFILE``: ``quick`` (the default: CPU, minutes) or ``full`` (a GPU if there is one, published sizes);
- ``UNROLLED_DEVICE``: ``cpu``, ``cuda`` or ``mps``, to override the profile's device;
- ``UNROLLED_SEED``: the base seed, 0 by default (``make claims`` tries others);
- ``UNROLLED_THREADS``: the number of CPU threads for PyTorch, by default its own choice.
"""

import os
import random
from typing import TypeVar

import numpy as np
import torch

PROFILES = ("quick", "full")
LAST = 2**32 - 1  # the last seed that every generator takes
Amount = TypeVar("Amount")


def profile() -> str:
    """Return the current profile, ``"quick"`` or ``"full"``.

    Raises:
        ValueError: ``UNROLLED_PROFILE`` is set to something else.
    """
    name = os.environ.get("UNROLLED_PROFILE", "quick")
    if name not in PROFILES:
        raise ValueError(f"UNROLLED_PROFILE is {name!r}; it can be one of {', '.join(PROFILES)}")
    return name


def budget(quick: Amount, full: Amount) -> Amount:
    """Return the amount for the current profile.

    Args:
        quick: what a reader's CPU can do within the chapter's minute.
        full: the published size.

    Example:
        >>> budget(quick=200, full=20_000)
        200
    """
    return quick if profile() == "quick" else full


def devices() -> list[str]:
    """Return the names of the available devices, the fastest first."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    return [name for name, is_available in available.items() if is_available]


def device() -> torch.device:
    """Return the device to compute on.

    It is the one that ``UNROLLED_DEVICE`` names; by default the CPU in the quick profile, and the fastest of `devices`
    in the full one.

    Raises:
        ValueError: ``UNROLLED_DEVICE`` names a device that is not available.
    """
    name = os.environ.get("UNROLLED_DEVICE", budget("cpu", devices()[0]))
    if name not in devices():
        raise ValueError(f"UNROLLED_DEVICE is {name!r}; on this machine it can be one of {', '.join(devices())}")
    return torch.device(name)


def _integer(text: str, variable: str, minimum: int) -> int:
    """Return the value of a variable as an integer; raise ValueError if it is not one from the minimum to `LAST`."""
    if not text.isdecimal() or not minimum <= int(text) <= LAST:
        raise ValueError(f"{variable} is {text!r}; it must be an integer, {minimum} or more, and at most {LAST}")
    return int(text)


def begin() -> int:
    """Set threads and seeds as the environment says, and return the base seed.

    A chapter calls this once, at its top. Everything random in it follows from the returned seed.

    Raises:
        ValueError: ``UNROLLED_SEED`` or ``UNROLLED_THREADS`` is not an integer in range.
    """
    if (threads := os.environ.get("UNROLLED_THREADS")) is not None:
        torch.set_num_threads(_integer(threads, "UNROLLED_THREADS", minimum=1))
    seed = _integer(os.environ.get("UNROLLED_SEED", "0"), "UNROLLED_SEED", minimum=0)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return seed

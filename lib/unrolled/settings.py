"""Read the few switches that the book has: profile, seed, threads and device.

Every environment variable that changes what a chapter computes is read here and nowhere else:

- ``UNROLLED_PROFILE``: ``quick`` (default: CPU, minutes) or ``full`` (a GPU if there is one, published sizes);
- ``UNROLLED_DEVICE``: ``cpu``, ``cuda`` or ``mps``, where it shall not be the profile's;
- ``UNROLLED_SEED``: the base seed, 0 unless told otherwise (``make claims`` tries others);
- ``UNROLLED_THREADS``: CPU threads for PyTorch, its own choice unless told otherwise.
"""

from __future__ import annotations

import os
import random
from typing import TypeVar

import numpy as np
import torch

PROFILES = ("quick", "full")
Amount = TypeVar("Amount")


def profile() -> str:
    """Return the profile in force, ``"quick"`` or ``"full"``.

    Raises:
        ValueError: ``UNROLLED_PROFILE`` is set to something else.
    """
    name = os.environ.get("UNROLLED_PROFILE", "quick")
    if name not in PROFILES:
        raise ValueError(f"UNROLLED_PROFILE is {name!r}; it can be one of {', '.join(PROFILES)}")
    return name


def budget(quick: Amount, full: Amount) -> Amount:
    """Return the amount that the profile in force affords.

    Args:
        quick: what a reader's CPU does within the chapter's minute.
        full: the published size.
    """
    return quick if profile() == "quick" else full


def devices() -> list[str]:
    """Return the names of the devices that there are, the fastest first."""
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    return [name for name, is_there in there.items() if is_there]


def device() -> torch.device:
    """Return the device to compute on: the one that ``UNROLLED_DEVICE`` names.

    Without that it is the CPU in the quick profile, and the fastest of `devices` in the full one.

    Raises:
        ValueError: ``UNROLLED_DEVICE`` names none that is there.
    """
    name = os.environ.get("UNROLLED_DEVICE", budget("cpu", devices()[0]))
    if name not in devices():
        raise ValueError(f"UNROLLED_DEVICE is {name!r}; on this machine it can be one of {', '.join(devices())}")
    return torch.device(name)


def _integer(variable: str, default: int, least: int) -> int:
    text = os.environ.get(variable, str(default))
    if not text.isdecimal() or int(text) < least:
        raise ValueError(f"{variable} is {text!r}; it must be a whole number, {least} or more")
    return int(text)


def begin() -> int:
    """Set threads and seeds as the environment asks, and return the base seed.

    A chapter calls it once, at its top. Everything random in it follows from the seed returned.

    Raises:
        ValueError: ``UNROLLED_SEED`` or ``UNROLLED_THREADS`` is no whole number in range.
    """
    if "UNROLLED_THREADS" in os.environ:
        torch.set_num_threads(_integer("UNROLLED_THREADS", default=1, least=1))
    seed = _integer("UNROLLED_SEED", default=0, least=0)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return seed

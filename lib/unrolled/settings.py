"""The book's one switch, and the device and seed that go with it, read from the environment here and nowhere else.

- ``UNROLLED_PROFILE``: ``quick`` (the default: CPU, minutes) or ``full`` (a GPU if there is one, published sizes);
- ``UNROLLED_DEVICE``: ``cpu``, ``cuda`` or ``mps``, to override the profile's device;
- ``UNROLLED_SEED``: the base seed, 0 by default.
"""

import os
import random
from typing import TypeVar

import numpy as np
import torch

Amount = TypeVar("Amount")


def budget(quick: Amount, full: Amount) -> Amount:
    """Return the amount for the current profile: what a CPU can do within the chapter's minute, or the published size.

    Example:
        >>> budget(quick=200, full=20_000)
        200
    """
    profile = os.environ.get("UNROLLED_PROFILE", "quick")
    if profile not in ("quick", "full"):
        raise ValueError(f"UNROLLED_PROFILE is {profile!r}; it can be one of quick, full")
    return quick if profile == "quick" else full


def devices() -> list[str]:
    """Return the names of the available devices, the fastest first."""
    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    return [name for name, is_available in available.items() if is_available]


def device() -> torch.device:
    """Return the device that ``UNROLLED_DEVICE`` names; else the CPU, or the fastest device in the full profile."""
    name = os.environ.get("UNROLLED_DEVICE", budget("cpu", devices()[0]))
    if name not in devices():
        raise ValueError(f"UNROLLED_DEVICE is {name!r}; on this machine it can be one of {', '.join(devices())}")
    return torch.device(name)


def begin() -> int:
    """Seed every generator, and return the base seed; a chapter calls this once, at its top."""
    text = os.environ.get("UNROLLED_SEED", "0")
    if not text.isdecimal() or int(text) >= 2**32:
        raise ValueError(f"UNROLLED_SEED is {text!r}; it must be an integer from 0 to {2**32 - 1}")
    seed = int(text)
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return seed

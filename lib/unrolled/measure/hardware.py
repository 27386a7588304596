"""How fast is the machine that runs this: operations a second, and bytes a second (chapter 12)?"""

import time
from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple, TypeVar

import torch

from unrolled import settings

Key = TypeVar("Key", bound=Hashable)
TURN = 0.03  # seconds


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes; on a GPU, until it is done there."""
    wait = torch.cuda.synchronize if settings.device().type == "cuda" else (lambda: None)
    started = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - started


def fastest(works: Mapping[Key, Callable[[], object]], rounds: int = 10) -> dict[Key, float]:
    """Return the shortest time of each work, in seconds, in so many rounds after a first that does not count.

    The works take turns, so that whatever else the machine does slows all of them alike; a short one is repeated in
    each of its turns, for `TURN` seconds. The shortest time is the one that was disturbed least.
    """
    for work in works.values():
        work()
    taken = {key: [] for key in works}
    for _ in range(rounds):
        for key, work in works.items():
            left = TURN
            while left > 0:
                taken[key].append(seconds(work))
                left -= taken[key][-1]
    return {key: min(times) for key, times in taken.items()}


class Roofs(NamedTuple):
    """What a machine can do at most.

    Attributes:
        peak: operations a second in a product of two square matrices.
        memory: bytes a second that are read from more bytes than most caches hold.
        cache: the same for few bytes, which a cache does hold.

    Example:
        >>> roofs, taken = measure({"nothing": lambda: None}, rounds=1)
        >>> roofs.peak > 0, list(taken)
        (True, ['nothing'])
    """

    peak: float
    memory: float
    cache: float


@torch.no_grad()
def measure(
    works: Mapping[Key, Callable[[], object]],
    rounds: int = 10,
    *,
    side: int = 384,
    large: int = 2**27,
    small: int = 2**21,
    dtype: torch.dtype = torch.float32,
) -> tuple[Roofs, dict[Key, float]]:
    """Return the roofs of this machine, and the shortest time of each work, in seconds, all timed in turn by `fastest`.

    Args:
        works: what to time beside the roofs.
        rounds: how often.
        side: the rows and columns of the matrices; 384 make a product of milliseconds on a processor, which other
            programs seldom interrupt. A GPU needs thousands.
        large: bytes that no cache holds.
        small: bytes that a cache does hold.
        dtype: of the product whose speed is the peak.
    """
    device = settings.device()
    left, right = torch.rand(2, side, side, device=device, dtype=dtype)
    memory, cache = (torch.ones(size // 4, device=device) for size in (large, small))
    ours = {"peak": lambda: left @ right, "memory": memory.sum, "cache": cache.sum}
    both = {("roof", name): work for name, work in ours.items()} | {("work", key): work for key, work in works.items()}
    taken = fastest(both, rounds)
    amounts = {"peak": 2 * side**3, "memory": large, "cache": small}
    roofs = Roofs(**{name: amount / taken["roof", name] for name, amount in amounts.items()})
    return roofs, {key: taken["work", key] for key in works}

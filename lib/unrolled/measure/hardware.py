"""How fast is the machine that runs this: operations a second, and bytes a second (chapter 12)?"""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

from unrolled import settings


def seconds(work: Callable[[], object]) -> float:
    """Return how long some work takes; on a GPU, until it is done there."""
    wait = torch.cuda.synchronize if settings.device().type == "cuda" else (lambda: None)
    started = time.perf_counter()
    work()
    wait()
    return time.perf_counter() - started


def fastest(work: Callable[[], object], rounds: int = 10) -> float:
    """Return the shortest time that some work takes, in seconds, in so many rounds after a first that does not count.

    The shortest is the one that other programs disturbed least, and a roof is what can be reached.

    Raises:
        ValueError: there is no round.
    """
    if rounds < 1:
        raise ValueError(f"rounds is {rounds}; it must be 1 or more")
    work()
    return min(seconds(work) for _ in range(rounds))


@torch.no_grad()
def peak(size: int = 1024, rounds: int = 10) -> float:
    """Return the operations a second of a large product: two square matrices of float32 numbers, 2 size³ operations.

    Args:
        size: the number of rows and columns; below a few hundred, starting the product takes a share of the time.
        rounds: how many products are timed; the fastest counts.

    Raises:
        ValueError: the size or the number of rounds is below 1.
    """
    if size < 1:
        raise ValueError(f"size is {size}; it must be 1 or more")
    left, right = torch.rand(2, size, size, device=settings.device())
    result = torch.empty_like(left)
    return 2 * size**3 / fastest(lambda: torch.mm(left, right, out=result), rounds)


@torch.no_grad()
def bandwidth(size: int = 2**28, rounds: int = 10) -> float:
    """Return the bytes a second at which numbers are read, each once: those of a matrix, for its product with a vector.

    Where they are more than the last cache holds, they come from memory every time; where they are fewer, from a cache.

    Args:
        size: how many bytes are read, 4 for each number; a multiple of 4096.
        rounds: how many times; the fastest counts.

    Raises:
        ValueError: the size is no positive multiple of 4096, or there is no round.
    """
    if size < 1 or size % 4096:
        raise ValueError(f"size is {size}; it must be a positive multiple of 4096 bytes, a row of 1024 numbers")
    matrix = torch.ones(size // 4096, 1024, device=settings.device())
    vector = torch.ones(1024, device=settings.device())
    return size / fastest(lambda: torch.mv(matrix, vector), rounds)

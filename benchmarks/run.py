"""Measure the library against its peers, as ratios: ``make bench``.

Absolute times say more about the machine than about the code. Here each pair is timed in alternation in the same
run, and the median of the ratios is printed with its quartiles: 1.0 is as fast as the peer, below 1.0 is faster.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import nn

from unrolled.cells import RNNCell, unroll


def seconds(run: Callable[[], None]) -> float:
    """Return how long one call takes."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def ratios(ours: Callable[[], None], peer: Callable[[], None], pairs: int) -> list[float]:
    """Return ours ÷ peer for each of so many alternating pairs, after a warm-up of three."""
    for _ in range(3):
        ours(), peer()
    return [seconds(ours) / seconds(peer) for _ in range(pairs)]


def rnn(batch: int, time_steps: int, size: int, forward_only: bool) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return the book's RNN and ``torch.nn.RNN`` on the same input: forward, or forward and backward."""
    theirs = nn.RNN(size, size, batch_first=True)
    cell = RNNCell.from_torch(theirs)
    inputs = torch.randn(batch, time_steps, size, requires_grad=not forward_only)

    def call(layer: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]) -> None:
        with torch.set_grad_enabled(not forward_only):
            states, _ = layer(inputs)
        if not forward_only:
            states.sum().backward()

    return lambda: call(lambda x: unroll(cell, x)), lambda: call(theirs)


BENCHMARKS = {
    "RNN, forward + backward, B=32 T=64 d=h=128": lambda: rnn(32, 64, 128, False),
    "RNN, forward, B=32 T=64 d=h=128": lambda: rnn(32, 64, 128, True),
    "RNN, forward + backward, B=64 T=128 d=h=256": lambda: rnn(64, 128, 256, False),
    "RNN, forward + backward, B=1 T=64 d=h=128": lambda: rnn(1, 64, 128, False),
}


def main() -> None:
    """Run all benchmarks and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=60, help="alternating pairs a row (default: %(default)s)")
    pairs = parser.parse_args().pairs
    torch.manual_seed(0)
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {pairs} alternating pairs")
    print(f"{'ours ÷ torch.nn; below 1 is faster':46}  median   quartiles")
    for name, make in BENCHMARKS.items():
        low, middle, high = statistics.quantiles(ratios(*make(), pairs), n=4)
        print(f"{name:46}  {middle:6.2f}   {low:.2f} – {high:.2f}", flush=True)


if __name__ == "__main__":
    main()

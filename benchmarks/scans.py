"""Recurrences without a loop over time: a scan against a loop and PyTorch's GRU; linear against softmax attention.

minGRU and a GRU are two models, as linear and softmax attention are: what is compared is the time of one layer of equal
width, and not its answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import torch
from torch import nn

from cells import Layer, at_once, both_passes, pair
from pairs import Pair
from unrolled.cells import LinearAttentionCell, MinGRUCell, unroll
from unrolled.models import MultiHeadAttention, causal_mask

LENGTHS = [(32, 64, 128), (8, 512, 128), (2, 2048, 128)]  # batch, time steps, d = h
ATTENDED = [(8, 64, 128), (8, 256, 128), (2, 1024, 128)]
HEADS = 4


def against_loop() -> Iterator[Pair]:
    """Yield the comparisons of a scan with the loop that gives the same states and gradients."""
    for batch, time_steps, size in LENGTHS:
        cell = MinGRUCell(size, size)
        ways = (at_once(partial(unroll, cell, plain=plain)) for plain in (False, True))
        yield timed("minGRU", batch, time_steps, size, *ways, within=1e-4)


def against_gru() -> Iterator[Pair]:
    """Yield the comparisons of a scan with PyTorch's GRU, which goes step by step."""
    for batch, time_steps, size in LENGTHS:
        ours = at_once(partial(unroll, MinGRUCell(size, size)))
        theirs = at_once(nn.GRU(size, size, batch_first=True))
        yield timed("minGRU", batch, time_steps, size, ours, theirs)


def against_softmax() -> Iterator[Pair]:
    """Yield the comparisons of linear attention with attention by a softmax, both causal, by scores (time, time)."""
    for batch, time_steps, size in ATTENDED:
        ours = at_once(partial(unroll, LinearAttentionCell(size, size, num_heads=HEADS)))
        theirs = at_once(partial(MultiHeadAttention(size, HEADS), allowed=causal_mask(time_steps)))
        yield timed(f"{HEADS} heads", batch, time_steps, size, ours, theirs)


def timed(
    name: str, batch: int, time_steps: int, size: int, ours: Layer, peer: Layer, within: float = math.inf
) -> Pair:
    """Return two layers on the same input, forward and backward."""
    inputs = torch.randn(batch, time_steps, size, requires_grad=True)
    return pair(f"{name}, B={batch} T={time_steps} d=h={size}", both_passes, inputs, ours, peer, within)

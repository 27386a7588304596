"""The book's attention and encoder–decoder against PyTorch's attention, and against the same model of ``torch.nn``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from cells import both_passes, forward
from pairs import Pair
from unrolled.cells import CELLS
from unrolled.models import EncoderDecoder, MultiHeadAttention, TransformerBlock, causal_mask, scaled_dot_product
from unrolled.text import PairBatch, pad_pairs

PRODUCTS = [(16, 64, 32), (16, 256, 32)]  # heads · batch, places, length of a query
HEADS = [(8, 64, 128, 4), (8, 256, 128, 4)]  # batch, places, hidden size, heads
WRITERS = [("lstm", None), ("gru", None), ("lstm", "additive"), ("lstm", "scaled")]  # core, score
BATCH = 64
LENGTH = 12  # of sources and targets
SOURCES, TARGETS, SIZE = 28, 41, 128


def attention() -> Iterator[Pair]:
    """Yield the comparisons of attention, causal, forward and backward, and of a layer without gradients."""
    for batch, places, size in PRODUCTS:
        x, mask = torch.randn(batch, places, size, requires_grad=True), causal_mask(places)

        def ours(x: torch.Tensor, mask: torch.Tensor = mask) -> torch.Tensor:
            return scaled_dot_product(x, x, x, mask)[0]

        def theirs(x: torch.Tensor, mask: torch.Tensor = mask) -> torch.Tensor:
            return scaled_dot_product_attention(x, x, x, attn_mask=mask)

        yield twin(f"one head, B={batch} T={places} d={size}", both_passes, x, ours, theirs)
    for batch, places, size, heads in HEADS:
        x, mask = torch.randn(batch, places, size, requires_grad=True), causal_mask(places)
        peer = nn.MultiheadAttention(size, heads, batch_first=True)
        own = MultiHeadAttention.from_torch(peer)

        def ours(x: torch.Tensor, own: nn.Module = own, mask: torch.Tensor = mask) -> torch.Tensor:
            return own(x, allowed=mask)[0]

        def theirs(x: torch.Tensor, peer: nn.Module = peer, mask: torch.Tensor = mask) -> torch.Tensor:
            return peer(x, x, x, attn_mask=~mask, need_weights=False)[0]

        yield twin(f"{heads} heads, B={batch} T={places} h={size}", both_passes, x, ours, theirs)
        layer = nn.TransformerEncoderLayer(
            size, heads, 4 * size, 0.0, activation="gelu", batch_first=True, norm_first=True
        ).eval()
        block = TransformerBlock.from_torch(layer).eval()

        def ours(x: torch.Tensor, block: nn.Module = block, mask: torch.Tensor = mask) -> torch.Tensor:
            return block(x, mask)[0]

        def theirs(x: torch.Tensor, layer: nn.Module = layer, mask: torch.Tensor = mask) -> torch.Tensor:
            return layer(x, src_mask=~mask)

        yield twin(f"layer, scored, B={batch} T={places} h={size}", forward, x, ours, theirs)


def writers() -> Iterator[Pair]:
    """Yield the comparisons of a training update of an encoder–decoder: our cells against those of ``torch.nn``."""
    for core, score in WRITERS:
        generator = torch.Generator().manual_seed(0)
        rows = [torch.randint(2, SOURCES, (LENGTH - n % 4,), generator=generator) for n in range(BATCH)]
        pairs = pad_pairs([(row, row.flip(0)) for row in rows], start=0)
        options = {"hidden_size": SIZE, "attention": score, "direction": "both" if score else "backward"}
        theirs = EncoderDecoder(SOURCES, TARGETS, core=f"torch-{core}", **options)
        own = with_our_cells(theirs, core, **options)
        name = f"{core}, {score or 'no attention'}, B={BATCH} T={LENGTH} h={SIZE}"
        yield Pair(name, update(own, pairs), update(theirs, pairs), within=1e-4)


def with_our_cells(theirs: EncoderDecoder, core: str, **options) -> EncoderDecoder:
    """Return the model with the same weights whose layers are the book's cells."""
    ours = EncoderDecoder(SOURCES, TARGETS, core=core, **options)
    ours.load_state_dict(theirs.state_dict(), strict=False)  # all but the cells
    ours.core.layers[0] = CELLS[core].from_torch(theirs.core.layers[0])
    for own, other in zip(ours.encoder.layers, theirs.encoder.layers, strict=True):
        for side, layer in other.items():
            own[side] = CELLS[core].from_torch(layer)
    return ours


def update(model: EncoderDecoder, batch: PairBatch) -> Callable[[], float]:
    """Return what an update computes, forward and backward; its answer is the norm of the gradient."""

    def run() -> float:
        model.zero_grad()
        model.loss(batch).backward()
        shared = (model.embedding, model.source_embedding, model.bridge, model.output)
        return sum(float(part.weight.grad.norm()) for part in shared)

    return run


def twin(
    name: str,
    passes: Callable[[Callable, torch.Tensor], float],
    x: torch.Tensor,
    ours: Callable[[torch.Tensor], torch.Tensor],
    theirs: Callable[[torch.Tensor], torch.Tensor],
) -> Pair:
    """Return the two functions on the same input."""
    return Pair(name, lambda: passes(ours, x), lambda: passes(theirs, x), within=1e-4)

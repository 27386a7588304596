"""Begin a recurrent cell with recurrent weights of a chosen kind and spectral radius."""

from __future__ import annotations

import torch
from torch import nn

from unrolled.cells.rnn import RNNCell


def _gaussian(weights: torch.Tensor, generator: torch.Generator | None) -> None:
    nn.init.normal_(weights, generator=generator)
    weights /= torch.linalg.eigvals(weights).abs().max()


def _orthogonal(weights: torch.Tensor, generator: torch.Generator | None) -> None:
    nn.init.orthogonal_(weights, generator=generator)


def _identity(weights: torch.Tensor, generator: torch.Generator | None) -> None:
    nn.init.eye_(weights)


KINDS = {"gaussian": _gaussian, "orthogonal": _orthogonal, "identity": _identity}


@torch.no_grad()
def initialise(cell: RNNCell, kind: str, radius: float = 1.0, generator: torch.Generator | None = None) -> RNNCell:
    """Give the cell recurrent weights of this kind, their largest eigenvalue `radius` in absolute value; b_h = 0.

        W_hh = radius · G / ρ(G)    gaussian: G's elements are independent, of normal distribution
        W_hh = radius · Q           orthogonal: Q is uniform among the matrices with QᵀQ = I
        W_hh = radius · I           identity: with ReLU, the IRNN of Le et al. 2015

    All singular values of the last two are `radius`; those of the first spread from near 0 to about twice that. The
    input weights W_xh stay as they are (Le et al. 2015 make theirs small, of standard deviation 0.001).

    Args:
        cell: the cell, changed in place.
        kind: ``"gaussian"``, ``"orthogonal"`` or ``"identity"``.
        radius: ρ(W_hh), the spectral radius.
        generator: decides the random kinds; PyTorch's own where None.

    Returns:
        The same cell.

    Raises:
        ValueError: an unknown kind, or a radius that is not above 0.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it can be one of {', '.join(KINDS)}")
    if not radius > 0:
        raise ValueError(f"radius is {radius}; it must be above 0")
    KINDS[kind](cell.W_hh, generator)
    cell.W_hh *= radius
    nn.init.zeros_(cell.b_h)
    return cell

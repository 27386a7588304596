"""Initialise the recurrent weights of a vanilla cell with a chosen distribution and spectral radius."""

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
    """Draw the recurrent weights of a cell, scale them to a spectral radius, and set its bias to 0.

        W_hh = radius · G / ρ(G)    gaussian: the elements of G are independent and standard normal
        W_hh = radius · Q           orthogonal: Q is uniform among the matrices with QᵀQ = I
        W_hh = radius · I           identity: with ReLU, the IRNN of Le et al. 2015

    The spectral radius ρ(W_hh) is the largest absolute value of an eigenvalue. All singular values of the last two
    kinds equal `radius`; those of the first range from near 0 to about twice that. The input weights W_xh are left
    alone (Le et al. 2015 draw theirs with a standard deviation of 0.001).

    Args:
        cell: the cell, changed in place.
        kind: ``"gaussian"``, ``"orthogonal"`` or ``"identity"``.
        radius: ρ(W_hh), above 0.
        generator: the source of random numbers; PyTorch's global one where None.

    Returns:
        The same cell.

    Raises:
        ValueError: an unknown kind, or a radius that is not above 0.

    Example:
        >>> cell = initialise(RNNCell(3, 4), "orthogonal", radius=0.9)
        >>> bool((torch.linalg.svdvals(cell.W_hh) - 0.9).abs().max() < 1e-6)
        True
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; it can be one of {', '.join(KINDS)}")
    if not radius > 0:
        raise ValueError(f"radius is {radius}; it must be above 0")
    KINDS[kind](cell.W_hh, generator)
    cell.W_hh *= radius
    nn.init.zeros_(cell.b_h)
    return cell

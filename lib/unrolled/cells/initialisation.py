"""Initialise all weights of a cell by a named choice, or the recurrent weights of a vanilla cell by their radius."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from unrolled.cells.base import Cell
    from unrolled.cells.rnn import RNNCell


def _uniform(cell: Cell, t_max: int | None) -> None:
    for parameter in cell.parameters():
        nn.init.uniform_(parameter, -(cell.hidden_size**-0.5), cell.hidden_size**-0.5)


def _torch(cell: Cell, t_max: int | None) -> None:
    _uniform(cell, t_max)
    for name in cell.blocks:
        if cell.second_bias(name) is None:  # PyTorch's two biases, which are only ever added
            bias = cell.block(name).b_h
            bias += torch.empty_like(bias).uniform_(-(cell.hidden_size**-0.5), cell.hidden_size**-0.5)


def _orthogonal(cell: Cell, t_max: int | None) -> None:
    for parameter in cell.parameters():
        nn.init.zeros_(parameter)
    for name in cell.blocks:
        block = cell.block(name)
        nn.init.normal_(block.W_xh, std=cell.input_size**-0.5)
        if block.W_hh is not None:
            nn.init.orthogonal_(block.W_hh)


def _chrono(cell: Cell, t_max: int | None) -> None:
    _orthogonal(cell, t_max)
    lengths = torch.empty(cell.hidden_size).uniform_(1, t_max - 1).log_()
    for name, sign in cell.chrono_blocks.items():
        cell.block(name).b_h.copy_(sign * lengths)


INITIALISATIONS = {"uniform": _uniform, "torch": _torch, "orthogonal": _orthogonal, "chrono": _chrono}


@torch.no_grad()
def draw(cell: Cell, initialisation: str, t_max: int | None = None) -> None:
    """Draw all weights of a cell, in place, from PyTorch's global source of random numbers.

        uniform       weights and biases from U(−1/√h, 1/√h)
        torch         the same, and every bias is the sum of two such numbers: PyTorch's own initialisation
        orthogonal    each block of W_hh uniform among the orthogonal matrices (Saxe et al. 2014), W_xh normal with
                      variance 1/d, biases 0
        chrono        orthogonal, but b_f = ln U(1, T_max − 1) and b_i = −b_f in an LSTM (:eq:`eq-chrono`), and
                      b_z = −ln U(1, T_max − 1) in a GRU (Tallec & Ollivier 2018, whose z is the book's 1 − z)

    Args:
        cell: the cell.
        initialisation: one of `INITIALISATIONS`.
        t_max: T_max of ``"chrono"``, the longest dependence expected, in steps: 3 or more. Given with no other.

    Raises:
        ValueError: an unknown initialisation; T_max is too small, missing, or given where nothing uses it; or chrono
            for a cell without a gate that keeps its state.

    Example:
        >>> from unrolled.cells import LSTMCell
        >>> cell = LSTMCell(3, 4, initialisation="orthogonal")
        >>> W_f = cell.block("f").W_hh
        >>> torch.allclose(W_f.T @ W_f, torch.eye(4), atol=1e-6), cell.block("o").b_h.tolist()
        (True, [0.0, 0.0, 0.0, 0.0])
        >>> cell = LSTMCell(3, 4, initialisation="chrono", t_max=200, forget_bias=None)
        >>> b_f, b_i = cell.block("f").b_h, cell.block("i").b_h
        >>> bool((b_f >= 0).all() and (b_f.exp() <= 199.01).all()), torch.equal(b_i, -b_f)
        (True, True)
    """
    if initialisation not in INITIALISATIONS:
        raise ValueError(f"initialisation is {initialisation!r}; it can be one of {', '.join(INITIALISATIONS)}")
    if initialisation == "chrono":
        if not cell.chrono_blocks:
            raise ValueError(f"initialisation is 'chrono', but no gate of a {type(cell).__name__} keeps its state")
        if t_max is None or not t_max >= 3:
            raise ValueError(f"t_max is {t_max}; chrono needs the longest dependence expected, 3 steps or more")
    elif t_max is not None:
        raise ValueError(f"t_max is {t_max}, but initialisation is {initialisation!r}; only 'chrono' uses it")
    INITIALISATIONS[initialisation](cell, t_max)


def _gaussian_radius(weights: torch.Tensor, generator: torch.Generator | None) -> None:
    nn.init.normal_(weights, generator=generator)
    weights /= torch.linalg.eigvals(weights).abs().max()


def _orthogonal_radius(weights: torch.Tensor, generator: torch.Generator | None) -> None:
    nn.init.orthogonal_(weights, generator=generator)


def _identity_radius(weights: torch.Tensor, generator: torch.Generator | None) -> None:
    nn.init.eye_(weights)


KINDS = {"gaussian": _gaussian_radius, "orthogonal": _orthogonal_radius, "identity": _identity_radius}


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
        >>> from unrolled.cells import RNNCell
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

"""How the weights of a cell are drawn."""

import torch
from torch import nn


def _gaussian(weights: torch.Tensor, generator: torch.Generator | None) -> None:
    nn.init.normal_(weights, generator=generator)
    weights /= torch.linalg.eigvals(weights).abs().max()


MATRICES = {
    "gaussian": _gaussian,
    "orthogonal": nn.init.orthogonal_,
    "identity": lambda weights, generator: nn.init.eye_(weights),
    "chrono": nn.init.orthogonal_,
}
INITIALISATIONS = ("uniform", "torch", *MATRICES)


@torch.no_grad()
def initialise(
    cell: nn.Module,
    initialisation: str,
    radius: float = 1.0,
    generator: torch.Generator | None = None,
    *,
    t_max: int | None = None,
    input_weights: bool = False,
) -> nn.Module:
    """Draw the recurrent weights of a cell and its biases, in place, and return the cell.

        uniform       W_hh and biases from U(−1/√h, 1/√h)
        torch         the same, and every bias is the sum of two such numbers: PyTorch's own initialisation
        gaussian      W_hh = radius · G / ρ(G): the elements of G are independent and standard normal; biases 0
        orthogonal    W_hh = radius · Q: Q is uniform among the matrices with QᵀQ = I (Saxe et al. 2014); biases 0
        identity      W_hh = radius · I: with ReLU, the IRNN of Le et al. 2015; biases 0
        chrono        orthogonal, but b_f = ln U(1, T_max − 1) and b_i = −b_f in an LSTM (:eq:`eq-chrono`), and
                      b_z = −ln U(1, T_max − 1) in a GRU (Tallec & Ollivier 2018, whose z is the book's 1 − z)

    where W_hh is that of each gate and candidate, and the spectral radius ρ its largest absolute eigenvalue.

    A new cell also draws its input weights: from U(−1/√h, 1/√h) with the first two, else normal with variance 1/d. A
    cell that is drawn again keeps them (Le et al. 2015 draw theirs with a standard deviation of 0.001).

    Args:
        cell: a `Cell`, changed in place.
        initialisation: one of `INITIALISATIONS`.
        radius: ρ(W_hh), above 0; 1 with ``"uniform"`` and ``"torch"``, which do not use it.
        generator: the source of random numbers; PyTorch's global one where None.
        t_max: T_max of ``"chrono"``, the longest dependence expected, in steps, 3 or more.
        input_weights: whether W_xh is drawn too, and all else that a new cell has.

    Example:
        >>> from unrolled.cells import RNNCell
        >>> cell = initialise(RNNCell(3, 4), "orthogonal", radius=0.9)
        >>> bool((torch.linalg.svdvals(cell.W_hh) - 0.9).abs().max() < 1e-6)
        True
    """
    if initialisation not in INITIALISATIONS:
        raise ValueError(f"initialisation is {initialisation!r}; it can be one of {', '.join(INITIALISATIONS)}")
    if radius != 1 and initialisation not in MATRICES:
        raise ValueError(f"radius is {radius}, but {initialisation!r} does not use it; leave it out")
    if initialisation == "chrono" and not cell.chrono_blocks:
        raise ValueError(f"initialisation is 'chrono', but no gate of a {type(cell).__name__} keeps its state")
    if (initialisation == "chrono") != (t_max is not None):
        raise ValueError(f"initialisation is {initialisation!r} and t_max is {t_max}; 'chrono' needs it, and no other")
    bound = cell.hidden_size**-0.5
    for name, parameter in cell.named_parameters():
        if input_weights or name != "W_xh":
            if initialisation in MATRICES:
                nn.init.zeros_(parameter)
            else:
                nn.init.uniform_(parameter, -bound, bound, generator)
    for name in cell.blocks:
        W_xh, W_hh, b_h = cell.block(name)
        if initialisation in MATRICES:
            if input_weights:
                nn.init.normal_(W_xh, std=cell.input_size**-0.5, generator=generator)
            if W_hh is not None:
                MATRICES[initialisation](W_hh, generator=generator)
                W_hh *= radius
        elif initialisation == "torch" and cell.second_bias(name) is None:  # PyTorch's two biases are only ever added
            b_h += torch.empty_like(b_h).uniform_(-bound, bound, generator=generator)
    if initialisation == "chrono":
        lengths = cell.b_h.new_empty(cell.hidden_size).uniform_(1, t_max - 1, generator=generator).log_()
        for name, sign in cell.chrono_blocks.items():
            cell.block(name).b_h.copy_(sign * lengths)
    return cell

"""What a network costs, counted from its sizes: parameters, operations, and numbers to keep (chapter 12).

The formulas are plain arithmetic, so that they take numbers and SymPy's symbols alike. Each is compared with what is
measured: parameters with ``numel``, operations with PyTorch's own counter, numbers kept with those that autograd saves.
"""

from typing import Any, NamedTuple

CELLS = {  # blocks of weights; numbers kept for the backward pass, and numbers carried, each for one unit
    "rnn": (1, 1, 1),  # h
    "lstm": (4, 7, 2),  # f, i, c̃, o, c, tanh(c), h
    "gru": (3, 5, 1),  # z, r, r ⊙ h, h̃, h
    "mingru": (2, 5, 1),
}
NOT_RECURRENT = ("mingru",)  # its blocks multiply no state


class Cost(NamedTuple):
    """What one layer costs; a sum of two is what both cost.

    Attributes:
        parameters: the number of weights and biases.
        flops: floating-point operations of the matrix products for one token, forward: a product of (m, n) with (n, k)
            has 2 m n k. The backward pass has twice as many. Sums, products and nonlinearities of single numbers are
            left out, as in `torch.utils.flop_counter`.
        kept: how many numbers a token leaves behind for the backward pass, the layer's input included.
        state: how many numbers are carried from one token to the next when the network is used.

    Example:
        >>> Cost(8, 16, 3, 1) + Cost(2, 4, 1, 0)
        Cost(parameters=10, flops=20, kept=4, state=1)
    """

    parameters: Any
    flops: Any
    kept: Any
    state: Any

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*(ours + theirs for ours, theirs in zip(self, other, strict=True)))


def recurrent(kind: str, d: Any, h: Any) -> Cost:
    """Return the cost of a layer of one of `CELLS`, from d inputs to h units, with one bias for each block.

        parameters = blocks · (h (h + d) + h),   flops = 2 · blocks · h (h + d)

    Example:
        >>> recurrent("lstm", 512, 512)
        Cost(parameters=2099200, flops=4194304, kept=4096, state=1024)
        >>> import sympy as sp
        >>> d, h = sp.symbols("d h")
        >>> sp.factor(recurrent("gru", d, h).parameters)
        3*h*(d + h + 1)
    """
    if kind not in CELLS:
        raise ValueError(f"kind is {kind!r}; it can be one of {', '.join(CELLS)}")
    blocks, kept, carried = CELLS[kind]
    width = d if kind in NOT_RECURRENT else h + d
    return Cost(blocks * (h * width + h), 2 * blocks * h * width, kept * h + d, carried * h)


def attention(h: Any, n: Any, heads: Any = 1) -> Cost:
    """Return the cost of a layer of self-attention of h units whose tokens look at n tokens each, themselves included.

        parameters = 4 h² + 4 h,   flops = 8 h² + 4 n h

    Queries, keys, values and the output have a product with an (h, h) matrix each; the scores and the weighted sum of
    the values have n h products each. The n scores of each head are kept after their softmax, beside seven vectors: the
    input, the query and the key, as they are and scaled, the value, and what goes into the last product. (Kernels that
    compute the scores again in the backward pass keep 5 h numbers and one for each head.) The state is the cache of all
    keys and values.
    """
    return Cost(4 * h * h + 4 * h, 8 * h * h + 4 * n * h, 7 * h + n * heads, 2 * n * h)


def feed_forward(h: Any, width: Any) -> Cost:
    """Return the cost of two products, from h to some width and back, with a nonlinearity between."""
    return Cost(2 * h * width + width + h, 4 * h * width, 2 * width + h, 0 * h)


def norm(h: Any) -> Cost:
    """Return the cost of a layer normalisation, which keeps its input, its mean and its spread."""
    return Cost(2 * h, 0 * h, h + 2, 0 * h)


def transformer_layer(h: Any, n: Any, heads: Any = 1) -> Cost:
    """Return the cost of a transformer's layer: `attention`, a feed-forward part of width 4 h, two normalisations.

    parameters = 12 h² + 13 h,   flops = 24 h² + 4 n h
    """
    return attention(h, n, heads) + feed_forward(h, 4 * h) + norm(h) + norm(h)


def output(V: Any, h: Any) -> Cost:
    """Return the cost of the layer that turns a state of h numbers into V logits; it keeps the probabilities."""
    return Cost(V * h + V, 2 * V * h, 1 * V, 0 * V)


def embedding(V: Any, d: Any) -> Cost:
    """Return the cost of looking up the vector of one of V tokens, of length d: many parameters, and no operation."""
    return Cost(V * d, 0 * d, 0 * d, 0 * d)


def intensity(rows: Any, columns: Any, batch: Any, number_bytes: Any = 4) -> Any:
    """Return the operations of a product for each byte that has to be moved (:eq:`eq-cost-intensity`).

        operations = 2 rows · columns · batch,   bytes = number_bytes (rows · columns + columns · batch + rows · batch)

    The matrix of weights is read once, every vector of the batch is read, and its result written. A step of a cell with
    several blocks is such a product with blocks · h rows and h + d columns.

    Args:
        rows, columns: the shape of the matrix.
        batch: how many vectors it is multiplied with at once.
        number_bytes: the bytes of a number: 4 of float32, 2 of float16.
    """
    return 2 * rows * columns * batch / (number_bytes * (rows * columns + columns * batch + rows * batch))


def roof(intensity: float, peak: float, bandwidth: float) -> float:
    """Return the most operations a second that a machine can do at an intensity (:eq:`eq-cost-roof`, Williams 2009).

    Either the arithmetic units are busy all the time, at `peak` operations a second, or the way to memory is, at
    `bandwidth` bytes a second.
    """
    return min(peak, intensity * bandwidth)

"""Linear recurrences h_t = a_t ⊙ h_{t−1} + b_t without a loop over time (chapter 13).

Two steps of such a recurrence are again one: (a_1, b_1) followed by (a_2, b_2) is (a_2 a_1, a_2 b_1 + b_2). This
combination is associative, so the steps may be combined in any grouping, neighbours first: a tree of depth log T takes
the place of a loop of length T (Blelloch 1990; Martin & Cundy 2018).
"""

import torch
from torch.autograd.function import FunctionCtx, once_differentiable


def scan(a: torch.Tensor, b: torch.Tensor, initial: torch.Tensor | None = None) -> torch.Tensor:
    """Return h_1 to h_T of a linear recurrence, by a tree of products and sums, of the shape of a.

        h_t = a_t ⊙ h_{t−1} + b_t

    The backward pass is a recurrence of the same kind that runs from the last step to the first, and so a scan too:

        δ_t = ∂L/∂h_t + a_{t+1} ⊙ δ_{t+1}
        ∂L/∂b_t = δ_t,   ∂L/∂a_t = δ_t ⊙ h_{t−1},   ∂L/∂h_0 = a_1 ⊙ δ_1

    Args:
        a, b: the factors and what is added, (batch, time, …) both.
        initial: h_0, (batch, …); zeros where None.

    Example:
        >>> a, b = torch.full((1, 4, 1), 0.5), torch.ones(1, 4, 1)
        >>> scan(a, b).flatten().tolist()
        [1.0, 1.5, 1.75, 1.875]
        >>> scan(a, b, torch.full((1, 1), 8.0)).flatten().tolist()
        [5.0, 3.5, 2.75, 2.375]
    """
    _check(a, b)
    initial = torch.zeros_like(b[:, 0]) if initial is None else initial
    return _Scan.apply(a, b, initial)


def scan_by_logs(log_a: torch.Tensor, log_b: torch.Tensor) -> torch.Tensor:
    """Return h_1 to h_T of a linear recurrence of positive numbers, computed with logarithms (Heinsen 2023).

        ln h_t = p_t + ln Σ_{s≤t} exp(ln b_s − p_s),   p_t = Σ_{s≤t} ln a_s

    where h_0 is 0, ln a_s is at most 0, and ln b_s −inf where b_s is 0; both are (batch, time, …). A running sum and a
    running log-sum-exp are all it takes, but p grows with the length, and what is small beside it is rounded away.

    Example:
        >>> a, b = torch.full((1, 4, 1), 0.5), torch.ones(1, 4, 1)
        >>> scan_by_logs(a.log(), b.log()).flatten().round(decimals=3).tolist()
        [1.0, 1.5, 1.75, 1.875]
    """
    _check(log_a, log_b)
    p = log_a.cumsum(dim=1)
    return (p + torch.logcumsumexp(log_b - p, dim=1)).exp()


def _check(a: torch.Tensor, b: torch.Tensor) -> None:
    if a.shape != b.shape or a.ndim < 2 or a.shape[1] == 0:
        shapes = f"{tuple(a.shape)} and {tuple(b.shape)}"
        raise ValueError(f"factors and what is added have the shapes {shapes}; twice (batch, time, …) is expected")


class _Scan(torch.autograd.Function):
    """`scan` as one operation, with the backward pass derived by hand."""

    @staticmethod
    def forward(ctx: FunctionCtx, a: torch.Tensor, b: torch.Tensor, initial: torch.Tensor) -> torch.Tensor:
        first = a[:, :1] * initial[:, None] + b[:, :1]  # h_1, from which on no state comes in
        states = _tree(a, torch.cat([first, b[:, 1:]], dim=1))
        ctx.save_for_backward(a, states, initial)
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, error: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        a, states, initial = ctx.saved_tensors
        after = torch.cat([a[:, 1:], torch.zeros_like(a[:, :1])], dim=1)  # a_{t+1}
        delta = _tree(after.flip(1), error.flip(1)).flip(1)
        before = torch.cat([initial[:, None], states[:, :-1]], dim=1)  # h_{t−1}
        return delta * before, delta, a[:, 0] * delta[:, 0]


def _tree(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return h_1 to h_T from h_0 = 0: combine neighbours, solve for every second step, then fill in the others."""
    time = b.shape[1]
    if time == 1:
        return b
    even = time - time % 2
    first_a, first_b, second_a, second_b = (part[:, start:even:2] for start in (0, 1) for part in (a, b))
    every_second = _tree(first_a * second_a, torch.addcmul(second_b, second_a, first_b))  # h_2, h_4, …
    states = torch.empty_like(b)
    states[:, 1::2] = every_second
    states[:, 0] = b[:, 0]
    states[:, 2::2] = torch.addcmul(b[:, 2::2], a[:, 2::2], every_second[:, : (time - 1) // 2])
    return states

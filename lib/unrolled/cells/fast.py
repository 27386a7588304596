"""Which cell has a fast path: another way to the numbers of its steps, equal up to rounding.

`FAST` is looked up by the exact type of a cell. So a subclass, which may have steps of its own, has them run.
"""

from collections.abc import Callable

import torch

from unrolled.cells import fused
from unrolled.cells.base import Cell
from unrolled.cells.delta import DeltaCell
from unrolled.cells.gru import GRUCell
from unrolled.cells.linear import DiagonalCell, LinearCell, MinGRUCell, MinLSTMCell
from unrolled.cells.linear_attention import LinearAttentionCell
from unrolled.cells.lstm import LSTMCell
from unrolled.cells.parallel_scan import scan
from unrolled.cells.rnn import RNNCell
from unrolled.cells.state import State
from unrolled.cells.twin import TwinCell

KERNEL_STEPS = 16  # without gradients, shorter sequences do not make up for copying the weights into PyTorch's order

Result = tuple[torch.Tensor, State] | None
"""The states after every step, (batch, time, hidden_size), and the last state; None where the plain steps are best."""


def rnn(cell: RNNCell, inputs: torch.Tensor, state: torch.Tensor, gradients: bool) -> Result:
    """Take PyTorch's kernel where no gradient is recorded and there is one for the nonlinearity."""
    kernel = {"tanh": torch.rnn_tanh, "relu": torch.rnn_relu}.get(cell.nonlinearity)
    return by_kernel(kernel, cell, inputs, state) if kernel and not gradients and pays(inputs) else None


def lstm(cell: LSTMCell, inputs: torch.Tensor, state: tuple[torch.Tensor, torch.Tensor], gradients: bool) -> Result:
    """Take PyTorch's kernel, with its backward pass, and the derivative of that; the compiler cannot follow them."""
    if not pays(inputs, gradients) or (gradients and torch.compiler.is_compiling()):
        return None
    return by_kernel(torch.lstm, cell, inputs, state, gradients)


def gru(cell: GRUCell, inputs: torch.Tensor, state: torch.Tensor, gradients: bool) -> Result:
    """Take `fused`, or where no gradient is recorded and PyTorch has the cell, its kernel."""
    if cell.reset == "after" and not gradients and pays(inputs):
        return by_kernel(torch.gru, cell, inputs, state)
    projected = cell.project(inputs.transpose(0, 1))  # (time, batch, 3 · hidden)
    if cell.reset == "before":
        states, h = fused.GRUResetBefore.apply(projected, cell.W_hh, state)
    else:
        states, h = fused.GRUResetAfter.apply(projected, cell.W_hh, cell.b_hh, state)
    return states.transpose(0, 1), h  # (time, batch, hidden) → (batch, time, hidden)


def linear(cell: LinearCell, inputs: torch.Tensor, state: torch.Tensor, gradients: bool) -> Result:
    """Take `scan`, a tree in place of a loop."""
    values = cell.coefficients(cell.project(inputs))
    states = scan(values["a"], values["b"], state)
    return states, states[:, -1]


def linear_attention(cell: LinearAttentionCell, inputs: torch.Tensor, state: State, gradients: bool) -> Result:
    """Take the scores of all steps with the steps so far."""
    return cell.by_scores(inputs, state)


def delta(cell: DeltaCell, inputs: torch.Tensor, state: State, gradients: bool) -> Result:
    """Take chunks of steps."""
    return cell.by_chunks(inputs, state)


FAST: dict[type[Cell], Callable[[Cell, torch.Tensor, State, bool], Result]] = {
    RNNCell: rnn,
    LSTMCell: lstm,
    GRUCell: gru,
    MinGRUCell: linear,
    MinLSTMCell: linear,
    DiagonalCell: linear,
    LinearAttentionCell: linear_attention,
    DeltaCell: delta,
}
"""The fast path of each cell: from the cell, inputs (batch, time, input_size), the state before the first step, and
whether gradients are recorded."""


def pays(inputs: torch.Tensor, gradients: bool = False) -> bool:
    """Return whether PyTorch's kernel is worth its copies of the weights, and exact: on a GPU it rounds to 10 bits."""
    return inputs.device.type == "cpu" and inputs.shape[1] >= (2 if gradients else KERNEL_STEPS)


def by_kernel(
    kernel: Callable[..., tuple[torch.Tensor, ...]],
    cell: TwinCell,
    inputs: torch.Tensor,
    state: State,
    gradients: bool = False,
) -> tuple[torch.Tensor, State]:
    """Return what `cells.unroll` does, computed by PyTorch's kernel from the current weights.

    The arguments are those of `FAST`, and the kernel: ``torch.lstm``, ``torch.gru``, ``torch.rnn_tanh`` or
    ``torch.rnn_relu``.
    """
    before = tuple(part.unsqueeze(0) for part in state) if isinstance(state, tuple) else state.unsqueeze(0)
    states, *last = kernel(
        inputs,
        before,
        cell.torch_weights(),
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=gradients,
        bidirectional=False,
        batch_first=True,
    )
    return states, cell.state_of({name: part[0] for name, part in zip(cell.state_names, last, strict=True)})

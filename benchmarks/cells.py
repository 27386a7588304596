"""The book's recurrent cells against PyTorch's, and what each rung of the ladder to the fast ones is worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import nn

from pairs import Pair
from unrolled.cells import CELLS, Cell, GRUCell, LSTMCell, unroll

TRAINED = [  # cell, batch, time steps, d = h
    ("RNN", 32, 64, 128),
    ("RNN", 64, 128, 256),
    ("RNN", 1, 64, 128),
    ("LSTM", 1, 64, 128),
    ("GRU", 1, 64, 128),
]
RESET_BEFORE = "GRU, reset before"  # PyTorch's GRU resets after the product: another model, whose time is compared
SCORED = [
    ("RNN", 32, 64, 128),
    ("LSTM", 32, 64, 128),
    ("GRU", 32, 64, 128),
    (RESET_BEFORE, 32, 64, 128),
    ("RNN", 1, 64, 128),
    ("LSTM", 1, 64, 128),
    ("GRU", 1, 64, 128),
    ("LSTM", 64, 128, 128),
    ("GRU", 64, 128, 128),
]
STEPPED = ("RNN", "LSTM", "GRU", RESET_BEFORE)  # one step at a time, as in sampling
DEFAULT = {"lstm": "PyTorch's kernel", "gru": "backward pass by hand"}  # the last rung of each ladder
BATCH, TIME_STEPS, SIZE = 64, 128, 128  # of the ladder; the single steps have the last two

Layer = Callable[[torch.Tensor], torch.Tensor]  # (batch, time, d) → the hidden states, (batch, time, h)


def training() -> Iterator[Pair]:
    """Yield the comparisons with gradients: whole sequences, forward and backward, as the library runs them."""
    for kind, batch, time_steps, size in TRAINED:
        theirs, cell = twins(kind, size)
        inputs = torch.randn(batch, time_steps, size, requires_grad=True)
        name = f"{kind}, B={batch} T={time_steps} d=h={size}"
        yield pair(name, both_passes, inputs, at_once(partial(unroll, cell)), at_once(theirs))


def scoring() -> Iterator[Pair]:
    """Yield the comparisons without gradients: whole sequences, then single steps, each with the state of the last."""
    cases = [(f"{kind}, B={b} T={t} d=h={size}", kind, b, t, size, at_once) for kind, b, t, size in SCORED]
    cases += [(f"{kind}, single steps, B=1 d=h={SIZE}", kind, 1, TIME_STEPS, SIZE, by_steps) for kind in STEPPED]
    for name, kind, batch, time_steps, size, layer in cases:
        theirs, cell = twins(kind, size)
        inputs = torch.randn(batch, time_steps, size)
        within = math.inf if kind == RESET_BEFORE else 1e-4
        yield pair(name, forward, inputs, layer(partial(unroll, cell)), layer(theirs), within)


def ladder(kind: str, compiled: bool) -> Iterator[Pair | str]:
    """Yield the rungs from the loop that reads like the equations to the fast one, forward and backward.

    Args:
        kind: ``"lstm"`` or ``"gru"``.
        compiled: whether ``torch.compile`` is tried, which takes a minute.
    """
    theirs, cell = twins(kind.upper(), SIZE)
    inputs = torch.randn(BATCH, TIME_STEPS, SIZE, requires_grad=True)
    rungs: dict[str, Layer] = {
        "naive loop": lambda x: by_gates(cell, x, hoisted=False),
        "input projection hoisted": lambda x: by_gates(cell, x, hoisted=True),
        "gates fused: the plain steps": at_once(partial(unroll, cell, plain=True)),
        f"the default: {DEFAULT[kind]}": at_once(partial(unroll, cell)),
    }
    for name, layer in rungs.items():
        yield pair(name, both_passes, inputs, layer, at_once(theirs))
    if not compiled:
        yield "torch.compile is left out: --quick"
        return
    try:
        layer = compiled_steps(cell)
        both_passes(layer, inputs)
    except Exception as error:  # whatever a compiler may say
        yield f"torch.compile is left out: it does not work here: {str(error).splitlines()[0]}"
        return
    yield pair("plain steps, compiled", both_passes, inputs, layer, at_once(theirs))


def twins(kind: str, size: int) -> tuple[nn.RNNBase, Cell]:
    """Return PyTorch's network of one layer, and the book's cell with the same weights (not for `RESET_BEFORE`)."""
    if kind == RESET_BEFORE:
        return nn.GRU(size, size, batch_first=True), GRUCell(size, size)
    theirs = CELLS[kind.lower()].torch_layer(size, size, batch_first=True)
    return theirs, CELLS[kind.lower()].from_torch(theirs)


def pair(
    name: str,
    passes: Callable[[Layer, torch.Tensor], float],
    inputs: torch.Tensor,
    ours: Layer,
    peer: Layer,
    within: float = 1e-4,
) -> Pair:
    """Return the two layers on the same input."""
    return Pair(name, lambda: passes(ours, inputs), lambda: passes(peer, inputs), within)


def at_once(core: Callable) -> Layer:
    """Return the layer that reads the whole sequence by (inputs, state) → (states, state)."""
    return lambda inputs: core(inputs)[0]


def by_steps(core: Callable) -> Layer:
    """Return the layer that reads the same one step at a time, as in sampling, and returns the last hidden state."""

    def layer(inputs: torch.Tensor) -> torch.Tensor:
        states, state = core(inputs[:, :1])
        for t in range(1, inputs.shape[1]):
            states, state = core(inputs[:, t : t + 1], state)
        return states

    return layer


def forward(layer: Layer, inputs: torch.Tensor) -> float:
    """forward: return the mean size of a hidden state's element."""
    with torch.no_grad():
        return layer(inputs).abs().mean().item()


def both_passes(layer: Layer, inputs: torch.Tensor) -> float:
    """forward + backward: return the mean size of an element of the gradient by the inputs."""
    inputs.grad = None
    layer(inputs).sum().backward()
    return inputs.grad.abs().mean().item()


def by_gates(cell: LSTMCell | GRUCell, inputs: torch.Tensor, hoisted: bool) -> torch.Tensor:
    """Return the hidden states by a loop with products of its own for each gate, (batch, time, hidden).

    Args:
        cell: an LSTM, or a GRU whose reset gate acts after the product.
        inputs: (batch, time, input_size).
        hoisted: make the products with the inputs before the loop, one for each gate, not one for each gate and step.
    """
    step = lstm_step if isinstance(cell, LSTMCell) else gru_step
    blocks = {name: cell.block(name) for name in cell.blocks}
    if hoisted:
        ready = {name: (inputs @ W_xh.T + b_h).unbind(1) for name, (W_xh, _, b_h) in blocks.items()}
    state, hidden = cell.initial_state(inputs), []
    for t, x in enumerate(inputs.unbind(1)):
        if hoisted:
            projected = {name: steps[t] for name, steps in ready.items()}
        else:
            projected = {name: x @ W_xh.T + b_h for name, (W_xh, _, b_h) in blocks.items()}
        state = step(cell, projected, {name: block.W_hh.T for name, block in blocks.items()}, state)
        hidden.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(hidden, dim=1)


def lstm_step(cell: LSTMCell, a: dict[str, torch.Tensor], W: dict[str, torch.Tensor], state):
    """Return (h, c) after a step, from the gates' projected inputs and transposed recurrent weights."""
    h, c = state
    f = torch.sigmoid(a["f"] + h @ W["f"])
    i = torch.sigmoid(a["i"] + h @ W["i"])
    candidate = torch.tanh(a["candidate"] + h @ W["candidate"])
    c = f * c + i * candidate
    o = torch.sigmoid(a["o"] + h @ W["o"])
    return o * torch.tanh(c), c


def gru_step(cell: GRUCell, a: dict[str, torch.Tensor], W: dict[str, torch.Tensor], h: torch.Tensor):
    """Return h after a step, from the gates' projected inputs and transposed recurrent weights."""
    z = torch.sigmoid(a["z"] + h @ W["z"])
    r = torch.sigmoid(a["r"] + h @ W["r"])
    candidate = torch.tanh(a["candidate"] + r * (h @ W["candidate"] + cell.b_hh))
    return (1 - z) * h + z * candidate


def compiled_steps(cell: Cell) -> Layer:
    """Return the plain steps, each of them compiled."""
    step = torch.compile(cell.step)

    def layer(inputs: torch.Tensor) -> torch.Tensor:
        state, hidden = cell.initial_state(inputs), []
        for projected in cell.project(inputs).unbind(1):
            state = step(projected, state)
            hidden.append(state[0] if isinstance(state, tuple) else state)
        return torch.stack(hidden, dim=1)

    return layer

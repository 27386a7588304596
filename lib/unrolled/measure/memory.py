"""What does a backward pass need: the bytes that autograd keeps at each moment of a training window (chapter 12)?"""

import weakref
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

from unrolled.cells import Cell, LSTMCell, detach, unroll

WAYS = ("whole", "truncated", "recomputed")


@dataclass(eq=False)
class _Saved:
    """A saved tensor that can be watched until autograd lets go of it."""

    tensor: torch.Tensor


class Kept(saved_tensors_hooks):
    """Count the bytes that autograd keeps for backward passes, each storage once, while a ``with`` block runs.

    It sees what `torch.autograd` saves and when it is released. Values on the way that are forgotten at once, and
    gradients, are not in it.

    Args:
        without: tensors that do not count, since they are there anyhow, such as the weights.

    Attributes:
        now: the bytes that are kept at the moment.
        most: the most that were kept at a time.

    Example:
        >>> x = torch.ones(10, requires_grad=True)
        >>> with Kept() as kept:
        ...     y = x.exp()  # its derivative is its value
        ...     kept.now
        ...     y.sum().backward()
        ...     kept.now, kept.most
        40
        (0, 40)
    """

    def __init__(self, without: Iterable[torch.Tensor] = ()):
        super().__init__(self._pack, lambda saved: saved.tensor)
        self._without = {tensor.untyped_storage().data_ptr() for tensor in without}
        self._users, self.now, self.most = Counter(), 0, 0

    def __enter__(self) -> "Kept":
        super().__enter__()
        return self

    def _pack(self, tensor: torch.Tensor) -> _Saved:
        saved, storage = _Saved(tensor), tensor.untyped_storage()
        place, size = storage.data_ptr(), storage.nbytes()
        if place not in self._without:
            if not self._users[place]:
                self.now += size
                self.most = max(self.most, self.now)
            self._users[place] += 1
            weakref.finalize(saved, self._release, place, size)
        return saved

    def _release(self, place: int, size: int) -> None:
        self._users[place] -= 1
        if not self._users[place]:
            self.now -= size


def pass_through(cell: Cell, inputs: torch.Tensor, way: str, segment: int | None = None) -> None:
    """Go forward and backward through a window of which the loss is the sum of all hidden states.

    The gradients are added to those of the cell and of the inputs. Three ways differ in what has to be kept:

    - ``"whole"``: everything, until the backward pass comes to it;
    - ``"truncated"``: what one segment leaves; its backward pass stops at its edge, and the state goes on without it;
    - ``"recomputed"``: the states at the edges of the segments, from which the backward pass computes each segment
      again. The gradient is that of ``"whole"`` (Chen et al. 2016).

    An LSTM takes its plain steps: PyTorch's kernel keeps twice as much.

    Args:
        cell: the cell.
        inputs: (batch, time, input_size); they need a gradient, as the output of a layer below does.
        way: one of `WAYS`.
        segment: the number of steps of a segment; the whole window where None.
    """
    if way not in WAYS or not inputs.requires_grad:
        needs = "need" if inputs.requires_grad else "do not need"
        raise ValueError(f"way is {way!r}, and the inputs {needs} a gradient; they should, and it is one of {WAYS}")

    def through(piece: torch.Tensor, *parts: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden, state = unroll(cell, piece, parts if len(parts) > 1 else parts[0], plain=isinstance(cell, LSTMCell))
        return hidden.sum(), *(state if isinstance(state, tuple) else (state,))

    loss, state = 0.0, cell.initial_state(inputs)
    state = state if isinstance(state, tuple) else (state,)
    pieces = [inputs] if way == "whole" or segment is None else inputs.split(segment, dim=1)
    for piece in pieces:
        if way == "recomputed":
            part, *state = checkpoint(through, piece, *state, use_reentrant=True, preserve_rng_state=False)
        else:
            part, *state = through(piece, *state)
        if way == "truncated":
            part.backward()
            part, state = part.detach(), detach(tuple(state))
        loss = loss + part
    if way != "truncated":
        loss.backward()

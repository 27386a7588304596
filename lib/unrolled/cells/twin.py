"""What the cells that PyTorch has too share: its kernels, and the weights in its order and with its signs."""

from collections.abc import Callable
from typing import Any, Self

import torch
from torch import nn

from unrolled.cells.base import Cell, State

WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # PyTorch's names, in the order that its kernels take


class TwinCell(Cell):
    """A cell with a twin in PyTorch, which computes the same from the same weights in another order.

    `torch_blocks` names the blocks in PyTorch's order, each with −1 where PyTorch's weights have the opposite sign.

    Example:
        >>> from unrolled.cells import LSTMCell, unroll
        >>> theirs, inputs = nn.LSTM(3, 4, batch_first=True), torch.randn(2, 5, 3)
        >>> states, _ = unroll(LSTMCell.from_torch(theirs), inputs)
        >>> torch.allclose(states, theirs(inputs)[0], atol=1e-6)
        True
    """

    torch_cell: type[nn.RNNCellBase]
    torch_layer: type[nn.RNNBase]
    torch_blocks: dict[str, int]

    def kernel(self) -> Callable | None:
        """Return PyTorch's function for whole sequences of this cell; None where it has none, as for a subclass."""
        raise NotImplementedError

    @classmethod
    def options_from_torch(cls, module: nn.RNNCellBase | nn.RNNBase) -> dict[str, Any]:
        """Return the keyword arguments of the cell that computes what PyTorch's module does."""
        return {}

    @classmethod
    @torch.no_grad()
    def from_torch(cls, module: nn.RNNCellBase | nn.RNNBase, layer: int = 0) -> Self:
        """Return a cell with the weights of PyTorch's cell, or of one layer of its network, counted from 0.

        PyTorch has two biases. Where they are only ever added, b_h is their sum.
        """
        if not isinstance(module, (cls.torch_cell, cls.torch_layer)) or getattr(module, "bidirectional", False):
            raise ValueError(f"a {cls.__name__} takes weights from PyTorch's in one direction, not from {module}")
        suffix = f"_l{layer}" if isinstance(module, nn.RNNBase) else ""
        weights = [getattr(module, name + suffix) for name in WEIGHTS[: 4 if module.bias else 2]]
        weights += [torch.zeros_like(weights[0][:, 0])] * (4 - len(weights))
        cell = cls(weights[0].shape[1], module.hidden_size, **cls.options_from_torch(module)).to(weights[0])
        chunks = zip(*(weight.chunk(len(cell.blocks)) for weight in weights), strict=True)
        for (name, sign), (W_ih, W_hh, b_ih, b_hh) in zip(cls.torch_blocks.items(), chunks, strict=True):
            block, second = cell.block(name), cell.second_bias(name)
            block.W_xh.copy_(sign * W_ih)
            block.W_hh.copy_(sign * W_hh)
            block.b_h.copy_(sign * (b_ih if second is not None else b_ih + b_hh))
            if second is not None:
                second.copy_(sign * b_hh)
        return cell

    @torch.no_grad()
    def to_torch(self) -> nn.RNNCellBase:
        """Return PyTorch's cell with these weights; its second bias is zero wherever the two are only ever added."""
        if self.kernel() is None:
            raise ValueError(
                f"{self} has no twin in PyTorch, which has RNNs of tanh and relu, and GRUs that reset after"
            )
        module = self.torch_cell(self.input_size, self.hidden_size).to(self.W_xh)
        if isinstance(module, nn.RNNCell):
            module.nonlinearity = self.nonlinearity
        for name, weight in zip(WEIGHTS, self.torch_weights(), strict=True):
            getattr(module, name).copy_(weight)
        return module

    def torch_weights(self) -> list[torch.Tensor]:
        """Return PyTorch's `WEIGHTS`, in its order and with its signs; gradients flow back through them."""
        seconds = [self.second_bias(name) for name in self.blocks]
        second_biases = [self.b_h.new_zeros(self.hidden_size) if bias is None else bias for bias in seconds]
        weights = [stacked.chunk(len(self.blocks)) for stacked in (self.W_xh, self.W_hh, self.b_h)]
        of_blocks = [dict(zip(self.blocks, parts, strict=True)) for parts in (*weights, second_biases)]
        signs = self.torch_blocks.items()
        return [torch.cat([rows[name] if sign > 0 else -rows[name] for name, sign in signs]) for rows in of_blocks]

    def unroll(self, inputs: torch.Tensor, state: State) -> tuple[torch.Tensor, State]:
        """Return what `Cell.unroll` does, by PyTorch's kernel where there is one, it is exact, and it is faster.

        On a GPU it rounds to 10 bits. In training only the LSTM's is faster than the plain steps.
        """
        kernel = self.kernel()
        if kernel is None or not inputs.is_cpu or (torch.is_grad_enabled() and kernel is not torch.lstm):
            return super().unroll(inputs, state)
        before = tuple(part[None] for part in state) if isinstance(state, tuple) else state[None]
        options = {"has_biases": True, "num_layers": 1, "dropout": 0.0, "bidirectional": False, "batch_first": True}
        states, *last = kernel(inputs, before, self.torch_weights(), train=torch.is_grad_enabled(), **options)
        return states, self.state_of({name: part[0] for name, part in zip(self.state_names, last, strict=True)})

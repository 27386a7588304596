"""What the cells that PyTorch has too share: the conversion of weights in both directions."""

from typing import Any, Self

import torch
from torch import nn

from unrolled.cells.base import Cell

WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # PyTorch's names, in the order that its kernels take


class TwinCell(Cell):
    """A cell with a twin in PyTorch, which computes the same from the same weights in another order.

    Attributes:
        torch_cell: PyTorch's cell of this kind.
        torch_layer: PyTorch's layer of such cells.
        torch_blocks: the names of the blocks in PyTorch's order, each with 1, or with −1 where PyTorch's weights have
            the opposite sign.

    Example:
        >>> from unrolled.cells import LSTMCell, unroll
        >>> theirs = nn.LSTM(3, 4, batch_first=True)
        >>> inputs = torch.randn(2, 5, 3)
        >>> states, _ = unroll(LSTMCell.from_torch(theirs), inputs)
        >>> torch.allclose(states, theirs(inputs)[0], atol=1e-6)
        True
    """

    torch_cell: type[nn.RNNCellBase]
    torch_layer: type[nn.RNNBase]
    torch_blocks: dict[str, int]

    @classmethod
    @torch.no_grad()
    def from_torch(cls, module: nn.RNNCellBase | nn.RNNBase, layer: int = 0) -> Self:
        """Return a cell with the weights of PyTorch's cell, or of one layer of PyTorch's network.

        PyTorch has two biases. Where they are only ever added, b_h is their sum.

        Args:
            module: PyTorch's cell or network.
            layer: which layer of the network, counted from 0.

        Raises:
            ValueError: the module is of another kind, bidirectional, with a projection, or without such a layer.
        """
        if not isinstance(module, (cls.torch_cell, cls.torch_layer)):
            raise ValueError(
                f"a {cls.__name__} is made from torch.nn's {cls.torch_cell.__name__} or {cls.torch_layer.__name__}, "
                f"not from {type(module).__name__}"
            )
        if getattr(module, "bidirectional", False) or getattr(module, "proj_size", 0):
            raise ValueError("the module has two directions or a projection; only one direction without is converted")
        if not 0 <= layer < getattr(module, "num_layers", 1):
            raise ValueError(f"layer is {layer}; the module has layers 0 to {getattr(module, 'num_layers', 1) - 1}")
        suffix = f"_l{layer}" if isinstance(module, nn.RNNBase) else ""
        weights = [getattr(module, name + suffix) for name in WEIGHTS[: 4 if module.bias else 2]]
        if not module.bias:
            weights += [torch.zeros_like(weights[0][:, 0])] * 2
        cell = cls(weights[0].shape[1], module.hidden_size, **cls.options_from_torch(module)).to(weights[0])
        chunks = zip(*(weight.chunk(len(cell.blocks)) for weight in weights), strict=True)
        for (name, sign), (W_ih, W_hh, b_ih, b_hh) in zip(cls.torch_blocks.items(), chunks, strict=True):
            block, second_bias = cell.block(name), cell.second_bias(name)
            block.W_xh.copy_(sign * W_ih)
            block.W_hh.copy_(sign * W_hh)
            if second_bias is None:
                block.b_h.copy_(sign * (b_ih + b_hh))
            else:
                block.b_h.copy_(sign * b_ih)
                second_bias.copy_(sign * b_hh)
        return cell

    @torch.no_grad()
    def to_torch(self) -> nn.RNNCellBase:
        """Return PyTorch's cell with these weights; its second bias is zero wherever the two are only ever added.

        Raises:
            ValueError: PyTorch has no such cell.
        """
        module = self.torch_cell(self.input_size, self.hidden_size, **self.options_for_torch()).to(self.W_xh)
        for name, weight in zip(WEIGHTS, self.torch_weights(), strict=True):
            getattr(module, name).copy_(weight)
        return module

    def torch_weights(self) -> list[torch.Tensor]:
        """Return PyTorch's `WEIGHTS`, in its order and with its signs: copies, where there are several blocks.

        Gradients flow back through them.
        """
        weights = [self.W_xh, self.W_hh, self.b_h]
        if len(self.blocks) > 1:
            for k, stacked in enumerate(weights):
                rows = dict(zip(self.blocks, stacked.chunk(len(self.blocks)), strict=True))
                ordered = [rows[name] if sign > 0 else -rows[name] for name, sign in self.torch_blocks.items()]
                weights[k] = torch.cat(ordered)
        return [*weights, torch.zeros_like(self.b_h)]

    def options_for_torch(self) -> dict[str, Any]:
        """Return the keyword arguments of PyTorch's cell of this kind; raise ValueError where there is no such cell."""
        return {}

    @classmethod
    def options_from_torch(cls, module: nn.RNNCellBase | nn.RNNBase) -> dict[str, Any]:
        """Return the keyword arguments of the cell that computes what PyTorch's module does."""
        return {}

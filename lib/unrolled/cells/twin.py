"""Cells that PyTorch has too: their weights taken from PyTorch's modules, and written into them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import torch
from torch import nn

from unrolled.cells.base import Cell


class TwinCell(Cell):
    """A cell with a twin in PyTorch, which computes the same from the same weights in another order.

    Attributes:
        torch_cell: PyTorch's cell of this kind.
        torch_layer: PyTorch's layer of such cells.
        torch_blocks: PyTorch's order of the blocks; the value is 1, or −1 where PyTorch's weights have the other sign.
    """

    torch_cell: type[nn.RNNCellBase]
    torch_layer: type[nn.RNNBase]
    torch_blocks: dict[str, int]

    @classmethod
    @torch.no_grad()
    def from_torch(cls, module: nn.RNNCellBase | nn.RNNBase, layer: int = 0) -> Self:
        """Return a cell with the weights of PyTorch's one, or of one layer of its network.

        PyTorch's two biases are added up wherever they are only ever added.

        Raises:
            ValueError: a module of another kind, in two directions or with a projection; or a layer that it has not.
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
        weights = getattr(module, f"weight_ih{suffix}")
        cell = cls(weights.shape[1], module.hidden_size, **cls.options_from_torch(module)).to(weights)
        for name, sign, (W_ih, W_hh, b_ih, b_hh) in cell._torch_rows(module, suffix):
            block, second = cell.block(name), cell.second_bias(name)
            block.W_xh.copy_(sign * W_ih)
            block.W_hh.copy_(sign * W_hh)
            if second is None:
                block.b_h.copy_(sign * (b_ih + b_hh))
            else:
                block.b_h.copy_(sign * b_ih)
                second.copy_(sign * b_hh)
        return cell

    def to_torch(self) -> nn.RNNCellBase:
        """Return PyTorch's cell with these weights; its second bias is zero wherever the two are only ever added.

        Raises:
            ValueError: PyTorch has no such cell.
        """
        module = self.torch_cell(self.input_size, self.hidden_size, **self.options_for_torch()).to(self.W_xh)
        self.write_into(module)
        return module

    @torch.no_grad()
    def write_into(self, module: nn.RNNCellBase | nn.RNNBase, suffix: str = "") -> None:
        """Copy the weights into PyTorch's module, into those whose names end on the suffix."""
        for name, sign, (W_ih, W_hh, b_ih, b_hh) in self._torch_rows(module, suffix):
            block, second = self.block(name), self.second_bias(name)
            W_ih.copy_(sign * block.W_xh)
            W_hh.copy_(sign * block.W_hh)
            b_ih.copy_(sign * block.b_h)
            b_hh.copy_(torch.zeros_like(b_hh) if second is None else sign * second)

    def _torch_rows(self, module, suffix: str) -> Iterator[tuple[str, int, list[torch.Tensor]]]:
        """Yield each block's name, its sign at PyTorch, and PyTorch's two weights and two biases of it, as views."""
        weights = [getattr(module, f"weight_{which}{suffix}") for which in ("ih", "hh")]
        if module.bias:
            weights += [getattr(module, f"bias_{which}{suffix}") for which in ("ih", "hh")]
        else:
            weights += [torch.zeros_like(weights[0][:, 0])] * 2
        for place, (name, sign) in enumerate(self.torch_blocks.items()):
            rows = slice(place * self.hidden_size, (place + 1) * self.hidden_size)
            yield name, sign, [weight[rows] for weight in weights]

    def second_bias(self, name: str) -> torch.Tensor | None:
        """Return the bias of the block's recurrent product, (hidden_size,), where it is kept apart from b_h."""
        return None

    def options_for_torch(self) -> dict[str, Any]:
        """Return the keywords of PyTorch's cell of this kind; raise ValueError where it has none."""
        return {}

    @classmethod
    def options_from_torch(cls, module: nn.RNNCellBase | nn.RNNBase) -> dict[str, Any]:
        """Return the keywords that make a cell that computes what PyTorch's does."""
        return {}

"""The door for tokens, the numbers of symbols: they are integers with the right axes, and each is in the vocabulary."""

from collections.abc import Sequence

import numpy as np
import torch


def symbol_numbers(
    numbers: torch.Tensor | np.ndarray | Sequence[int],
    axes: Sequence[str] = ("batch", "time"),
    name: str = "tokens",
    *,
    empty: bool = False,
) -> torch.Tensor:
    """Return tokens as int64, whatever integers they were, and refuse what has another type or other axes.

    The name and the axes, one or two, are for the message; `empty` allows that there are none. This waits for no GPU,
    and ``torch.func`` and ``torch.compile`` can follow it; `check_range` looks at the values.

    >>> symbol_numbers(torch.tensor([[0.0, 1.7]]))
    Traceback (most recent call last):
    ValueError: tokens are torch.float32; symbol numbers are integers: use what a vocabulary's encode returns
    """
    numbers = torch.as_tensor(numbers)
    if numbers.ndim != len(axes) or not (empty or numbers.numel()):
        expected = f"one axis is expected: ({axes[0]},)"
        if len(axes) == 2:
            expected = f"two axes are expected: ({', '.join(axes)})"
        steps = "" if empty else ", with at least one step"
        raise ValueError(f"{name} have shape {tuple(numbers.shape)}; {expected}{steps}")
    if numbers.numel() and (numbers.is_floating_point() or numbers.is_complex() or numbers.dtype == torch.bool):
        raise ValueError(
            f"{name} are {numbers.dtype}; symbol numbers are integers: use what a vocabulary's encode returns"
        )
    return numbers.long()


def check_range(numbers: torch.Tensor, vocab_size: int | None = None, name: str = "tokens", *, least: int = 0) -> None:
    """Refuse integers of which one is below the least, or no symbol of the vocabulary. This waits for a GPU.

    >>> check_range(torch.tensor([0, -5, 2]), vocab_size=5)
    Traceback (most recent call last):
    ValueError: tokens run from -5 to 2; symbols are numbered 0 to 4: encode them with the same vocabulary
    """
    low, high = (int(end) for end in numbers.aminmax()) if numbers.numel() else (least, least)
    if low < least or (vocab_size is not None and high >= vocab_size):
        known = "from 0" if vocab_size is None else f"0 to {vocab_size - 1}"
        raise ValueError(
            f"{name} run from {low} to {high}; symbols are numbered {known}: encode them with the same vocabulary"
        )

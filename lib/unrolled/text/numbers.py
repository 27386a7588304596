"""Check symbol numbers where they enter: their type and axes, and that each is the number of a symbol."""

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
    """Return symbol numbers as int64, whatever integers they were, having checked their type and axes.

    This waits for no GPU, and ``torch.func`` and ``torch.compile`` can follow it. `check_range` looks at the values.

    Args:
        numbers: of any integer type.
        axes: the names of the axes, one or two.
        name: what the numbers are called, for the message.
        empty: whether there may be none.

    Raises:
        ValueError: they are no integers, or have other axes, or there are none.

    Example:
        >>> symbol_numbers(torch.tensor([[0.0, 1.7]]))
        Traceback (most recent call last):
        ValueError: tokens are torch.float32; symbol numbers are integers: use what a vocabulary's encode returns
    """
    numbers = torch.as_tensor(numbers)
    if numbers.ndim != len(axes) or not (empty or numbers.numel()):
        count = "one axis is" if len(axes) == 1 else "two axes are"
        expected = f"({axes[0]},)" if len(axes) == 1 else f"({', '.join(axes)})"
        steps = "" if empty else ", with at least one step"
        raise ValueError(f"{name} have shape {tuple(numbers.shape)}; {count} expected: {expected}{steps}")
    if numbers.numel() and (numbers.is_floating_point() or numbers.is_complex() or numbers.dtype == torch.bool):
        raise ValueError(
            f"{name} are {numbers.dtype}; symbol numbers are integers: use what a vocabulary's encode returns"
        )
    return numbers.long()


def symbol_row(numbers: torch.Tensor | np.ndarray | Sequence[int], name: str) -> torch.Tensor:
    """Return the symbol numbers of one sequence as int64, (length,), having checked them, their values too.

    Args:
        numbers: of any integer type, at least one.
        name: what the sequence is called, for the message.

    Raises:
        ValueError: they are no integers or negative, have other axes, or there are none.
    """
    numbers = symbol_numbers(numbers, ("length",), f"the symbols of {name}", empty=True)
    check_range(numbers, name=f"the symbols of {name}")
    if not len(numbers):
        raise ValueError(f"{name} is empty; leave it out, or end it with an end symbol")
    return numbers


def check_range(numbers: torch.Tensor, vocab_size: int | None = None, name: str = "tokens", *, least: int = 0) -> None:
    """Raise ValueError, naming the lowest and the highest, unless all are numbers of symbols. This waits for a GPU.

    Args:
        numbers: integers, of any shape.
        vocab_size: V, the number of symbols; None where it is not known.
        name: what the numbers are called, for the message.
        least: the lowest number; `NONE` where that may be among them.

    Example:
        >>> check_range(torch.tensor([0, -5, 2]), vocab_size=5)
        Traceback (most recent call last):
        ValueError: tokens run from -5 to 2; symbols are numbered 0 to 4: encode them with the same vocabulary
    """
    if not numbers.numel():
        return
    low, high = (int(end) for end in numbers.aminmax())
    if low < least or (vocab_size is not None and high >= vocab_size):
        known = "from 0" if vocab_size is None else f"0 to {vocab_size - 1}"
        raise ValueError(
            f"{name} run from {low} to {high}; symbols are numbered {known}: encode them with the same vocabulary"
        )

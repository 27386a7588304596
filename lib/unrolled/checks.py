"""What the exercises' checks use: answers compared however they are written, and a sentence where one is no answer.

Such a sentence is an AssertionError, as a check's is. `name` is what the answer is called in it.
"""

import hashlib
import inspect
import math
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import numpy as np
import sympy as sp

if not __debug__:
    raise RuntimeError("Python leaves out every assert, so no answer would be checked; unset PYTHONOPTIMIZE, drop -O")


def at(answer: sp.Expr | float | str, name: str = "the answer", /, **values: float) -> sp.Expr:
    """Return the exact value of an answer for these values of its symbols, which are matched by name.

    >>> at("h*(d + h + 1)", d=3, h=5)
    45
    """
    try:  # in a string, too, these names are symbols, and not what SymPy calls by them: its `beta` is a function
        expression = sp.sympify(answer, locals={name: sp.Symbol(name) for name in values})
        return expression.subs({symbol: values.get(symbol.name, symbol) for symbol in expression.free_symbols}).doit()
    except (ValueError, TypeError, AttributeError, SyntaxError):  # a SympifyError is a ValueError
        known = "a number, a SymPy expression, a string, or a function whose arguments are named after the symbols"
        raise AssertionError(f"{name} is {_short(answer)}; give {known}") from None


def value(answer: sp.Expr | float | str | Callable[..., float], name: str, /, **values: float) -> float:
    """Return the number that an answer is for these values of its symbols; it may contain no others.

    >>> value("r*p", "mean", r=0.5, p=4), value(lambda r, p: r * p, "mean", r=0.5, p=4)
    (2.0, 2.0)
    """
    function = callable(answer) and not isinstance(answer, sp.Basic)
    there = None if function else at(answer, name, **values)
    names = inspect.signature(answer).parameters if function else {symbol.name for symbol in there.free_symbols}
    if unknown := ", ".join(sorted(set(names) - set(values))):
        right = ", ".join(sorted(values)) or "no symbols"
        raise AssertionError(f"{name}: the answer contains {unknown}; it can contain {right}")
    return number(answer(**{each: values[each] for each in names}) if function else there, name)


def points(count: int, /, **ranges: tuple[float, float]) -> list[dict[str, float]]:
    """Return points at which a check compares expressions, drawn anew at each call by Python's generator.

    Each symbol lies between its two bounds: between whole numbers a whole number, and none twice.
    """
    drawn = [
        random.sample(range(low, high + 1), count)
        if isinstance(low, int)
        else [round(random.uniform(low, high), 4) for _ in range(count)]
        for low, high in ranges.values()
    ]
    return [dict(zip(ranges, point, strict=True)) for point in zip(*drawn, strict=True)]


def attempt(call: Callable[[], Any], hint: str) -> Any:
    """Return what a call of a student's code returns; an error in it is told with a hint at the likely cause.

    A check that fails inside, and a stub, raise their own.
    """
    try:
        return call()
    except (AssertionError, NotImplementedError):
        raise
    except Exception as error:
        raise AssertionError(f'your code stops with "{type(error).__name__}: {error}": {hint}') from error


def number(answer: Any, name: str) -> float:
    """Return a number, in whatever clothes it comes: Python's, NumPy's, SymPy's, or a tensor of one element."""
    try:
        plain = answer.item() if hasattr(answer, "item") else answer
        plain = None if isinstance(plain, str | bool) else float(plain)
    except (TypeError, ValueError, RuntimeError):
        plain = None
    assert plain is not None, f"{name} is {_short(answer)}; one number is asked for"
    assert not math.isnan(plain), f"{name} is nan: is something divided by 0, or the logarithm of 0 taken?"
    return plain


def array(answer: Any, name: str, shape: tuple[int, ...] | None = None, *, nan: str = "where from?") -> np.ndarray:
    """Return an array of numbers, in whatever clothes it comes: a list's, NumPy's or a tensor's.

    Args:
        answer: in any of these forms.
        name: what it is called.
        shape: the shape that is right; None if any is.
        nan: the likely cause, where it contains what is not a number.
    """
    try:
        plain = answer.detach().cpu().numpy() if hasattr(answer, "detach") else answer
        plain = None if plain is None or isinstance(plain, str) else np.asarray(plain, dtype=float)
    except (TypeError, ValueError):
        plain = None
    assert plain is not None, f"{name} is {_short(answer)}; an array of numbers is asked for"
    assert shape in (None, plain.shape), f"{name}: the shape is {plain.shape}; right is {shape}"
    assert not np.isnan(plain).any(), f"{name}: there is nan, which is not a number: {nan}"
    return plain


def several(answer: Any, count: int, name: str) -> list:
    """Return the values that a function has to return together, as a tuple, a list or an array."""
    values = list(answer) if isinstance(answer, tuple | list | np.ndarray) else []
    assert len(values) == count, f"{name} is {_short(answer)}; {count} values are asked for, in its docstring's order"
    return values


def table(answer: Any, keys: Sequence, name: str) -> dict[Any, float]:
    """Return a dictionary of numbers that has exactly these keys."""
    right = isinstance(answer, dict) and set(answer) == set(keys)
    assert right, f"{name} is {_short(answer)}; a dictionary with the keys {list(keys)} is asked for"
    return {key: number(answer[key], f"{name}[{key!r}]") for key in keys}


def against(yours: float, right: float) -> str:
    """Return a clause with two numbers that differ, in as many digits as it takes to see that they do.

    >>> against(0.89941, 0.89943), against(3.0, 2.5)
    ('you have 0.89941, and right is 0.89943', 'you have 3, and right is 2.5')
    """
    for digits in range(3, 18):
        shown = [f"{side:.{digits}g}" for side in (yours, right)]
        if shown[0] != shown[1] and abs(float(shown[0]) - float(shown[1])) > abs(yours - right) / 2:
            break
    return f"you have {shown[0]}, and right is {shown[1]}"


def sealed(answer: Any, exercise: str) -> str:
    """Return a seal of a letter, or of a number to six digits: a check compares it, and gives no answer away.

    The exercise's name makes equal letters differ.

    >>> sealed(4 / 3, "work") == sealed(sp.Rational(4, 3), "work") != sealed(1.3, "work")
    True
    """
    text = answer.strip().lower() if isinstance(answer, str) else f"{number(answer, exercise):.6g}"
    return hashlib.sha256(f"{exercise}: {text}".encode()).hexdigest()[:8]


@contextmanager
def unaided(*names: str) -> Iterator[None]:
    """Let none of these functions or classes, as ``"unrolled.bptt.rnn.backward"``, be called inside."""
    with ExitStack() as stack:
        for name in names:
            called = AssertionError(f"your code calls {name}; write what it does yourself")
            stack.enter_context(mock.patch(name, side_effect=called))
        yield


def compare(prediction: Any, measured: Any) -> None:
    """Print what was predicted, a dictionary or one value, beside what was found; whatever was predicted counts."""
    rows = measured if isinstance(measured, dict) else {"": measured}
    guesses = prediction if isinstance(prediction, dict) else dict.fromkeys(rows, prediction)
    for key, result in rows.items():
        guess = guesses.get(key, "nothing")
        shown = [f"{side:.3g}" if isinstance(side, int | float) else str(side) for side in (guess, result)]
        print(f"{key}: predicted {shown[0]}, found {shown[1]}".removeprefix(": "))


def _short(answer: Any) -> str:
    """Return an answer and its type, cut to a length that a sentence can hold."""
    shown = repr(answer)
    return f"{shown if len(shown) <= 60 else shown[:57] + '…'}, of type {type(answer).__name__}"

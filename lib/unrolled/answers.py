"""What the exercises' checks use: answers compared however they are written, and a sentence where one is no answer."""

import hashlib
import inspect
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar
from unittest import mock

import numpy as np
import sympy as sp

Result = TypeVar("Result")


def _expression(answer: sp.Expr | float | str, symbols: Iterable[str]) -> sp.Expr:
    """Return an answer as an expression; raise AssertionError if it is none.

    In a string, too, these names are symbols, and not what SymPy calls by them: its `beta` is a function.
    """
    try:
        expression = sp.sympify(answer, locals={name: sp.Symbol(name) for name in symbols})
        if not isinstance(expression, sp.Expr):
            raise TypeError
        return expression
    except (ValueError, TypeError, AttributeError, SyntaxError) as error:  # a SympifyError is a ValueError
        raise AssertionError(
            f"{answer!r} is not an expression; give a number, a SymPy expression, a string, or a function whose "
            "arguments are named after the symbols"
        ) from error


def _refuse_strangers(names: Iterable[str], allowed: Iterable[str]) -> None:
    """Raise AssertionError where an answer contains a name that is not allowed."""
    if unknown := sorted(set(names) - set(allowed)):
        right = ", ".join(sorted(allowed)) or "no symbols"
        raise AssertionError(f"the answer contains {', '.join(unknown)}; it can contain {right}")


def at(answer: sp.Expr | float | str, **values: float) -> sp.Expr:
    """Return the exact value of an answer for these values of its symbols, which are matched by name.

    Args:
        answer: an expression, a number or a string.
        values: a value for each symbol; others remain symbols.

    Raises:
        AssertionError: the answer is not an expression.

    Example:
        >>> at("h*(d + h + 1)", d=3, h=5)
        45
    """
    answer = _expression(answer, values)
    return answer.subs({symbol: values[symbol.name] for symbol in answer.free_symbols if symbol.name in values}).doit()


def value(answer: sp.Expr | float | str | Callable[..., float], name: str, /, **values: float) -> float:
    """Return the number that an answer is for these values of its symbols.

    Args:
        answer: an expression, a number, a string, or a function whose arguments are named after the symbols.
        name: what the answer is called, for the sentence if it is none.
        values: a value for each symbol that the answer may contain.

    Raises:
        AssertionError: the answer is none, contains another symbol, or is not a real number there.

    Example:
        >>> value("r*p", "mean", r=0.5, p=4), value(lambda r, p: r * p, "mean", r=0.5, p=4)
        (2.0, 2.0)
    """
    try:
        if callable(answer) and not isinstance(answer, sp.Basic):
            arguments = inspect.signature(answer).parameters
            _refuse_strangers(arguments, values)
            return number(answer(**{argument: values[argument] for argument in arguments}), f"{name}(…)")
        answer = _expression(answer, values)
        _refuse_strangers([symbol.name for symbol in answer.free_symbols], values)
    except AssertionError as error:
        raise AssertionError(f"{name}: {error}") from error.__cause__
    return number(at(answer, **values), name)


def points(count: int, /, **ranges: tuple[float, float]) -> list[dict[str, float]]:
    """Return points at which a check compares expressions, drawn anew at each call.

    Python's generator draws them, which `settings.begin` seeds.

    Args:
        count: how many points.
        ranges: the bounds of each symbol. Between whole numbers whole numbers are drawn, and none twice.

    Raises:
        ValueError: there are not so many whole numbers between the bounds of a symbol.

    Example:
        >>> all(at["h"] in (2, 3, 4) and 0.1 < at["p"] < 0.9 for at in points(3, h=(2, 4), p=(0.1, 0.9)))
        True
    """
    drawn = [
        random.sample(range(low, high + 1), count)
        if isinstance(low, int)
        else [round(random.uniform(low, high), 4) for _ in range(count)]
        for low, high in ranges.values()
    ]
    return [dict(zip(ranges, point, strict=True)) for point in zip(*drawn, strict=True)]


def attempt(call: Callable[[], Result], hint: str) -> Result:
    """Return what a call of a student's code returns, and give an error that it raises a hint.

    Args:
        call: the call, without arguments.
        hint: the likely cause.

    Raises:
        AssertionError: the code raised an error; a check that failed inside, and a stub, raise their own.

    Example:
        >>> attempt(lambda: [1, 2][2], "count from 0")
        Traceback (most recent call last):
        AssertionError: your code stops with an IndexError, "list index out of range": count from 0
    """
    try:
        return call()
    except (AssertionError, NotImplementedError):
        raise
    except Exception as error:
        kind = type(error).__name__
        article = "an" if kind[0] in "AEIOU" else "a"
        raise AssertionError(f'your code stops with {article} {kind}, "{error}": {hint}') from error


def number(answer: Any, name: str) -> float:
    """Return a number, in whatever clothes it comes: Python's, NumPy's, SymPy's, or a tensor of one element.

    Args:
        answer: in any of these forms.
        name: what it is called, for the sentence if it is no number.

    Raises:
        AssertionError: it is not one real number.

    Example:
        >>> number(sp.Rational(1, 4), "share"), number(np.array([2]), "steps")
        (0.25, 2.0)
    """
    if answer is None:
        raise AssertionError(f"{name} is None; a number is asked for: is a return or an assignment missing?")
    try:
        plain = answer.item() if hasattr(answer, "item") else answer
        if isinstance(plain, str | bool):
            raise TypeError
        plain = float(plain)
    except (TypeError, ValueError, RuntimeError):
        raise AssertionError(f"{name} is {_short(answer)}; one number is asked for") from None
    if math.isnan(plain):
        raise AssertionError(f"{name} is nan, not a number: is something divided by 0, or the logarithm of 0 taken?")
    return plain


def array(
    answer: Any,
    name: str,
    shape: tuple[int, ...] | None = None,
    *,
    nan: str = "where does the first one come from?",
) -> np.ndarray:
    """Return an array of numbers, in whatever clothes it comes: a list's, NumPy's or a tensor's.

    Args:
        answer: in any of these forms.
        name: what it is called, for the sentence if it is no array.
        shape: the shape that is right; None if any is.
        nan: the end of the sentence where it contains what is not a number: the likely cause.

    Raises:
        AssertionError: it is no array of real numbers, is of another shape, or contains what is not a number.

    Example:
        >>> array([[1, 2]], "states", (1, 2)).tolist()
        [[1.0, 2.0]]
    """
    if answer is None:
        raise AssertionError(f"{name} is None; numbers are asked for: is a return or an assignment missing?")
    try:
        if isinstance(answer, str):
            raise TypeError
        plain = answer.detach().cpu().numpy() if hasattr(answer, "detach") else answer
        plain = np.asarray(plain, dtype=float)
    except (TypeError, ValueError):
        raise AssertionError(f"{name} is {_short(answer)}; an array of numbers is asked for") from None
    if shape is not None and plain.shape != shape:
        raise AssertionError(f"{name}: the shape is {plain.shape}; right is {shape}")
    if np.isnan(plain).any():
        raise AssertionError(f"{name}: there is nan, which is not a number: {nan}")
    return plain


def several(answer: Any, count: int, name: str) -> list:
    """Return the values that a function has to return together, as a tuple, a list or an array.

    Raises:
        AssertionError: they are not so many.

    Example:
        >>> several((1, 2), 2, "read(…)")
        [1, 2]
    """
    if isinstance(answer, np.ndarray) and answer.ndim:
        answer = list(answer)
    if not isinstance(answer, tuple | list) or len(answer) != count:
        many = f"{len(answer)} values" if isinstance(answer, tuple | list) else _short(answer)
        raise AssertionError(f"{name} is {many}; {count} values are asked for, in the order that its docstring gives")
    return list(answer)


def table(answer: Any, keys: Sequence, name: str) -> dict[Any, float]:
    """Return a dictionary of numbers that has exactly these keys.

    Raises:
        AssertionError: it is no dictionary, has other keys, or holds what is no number.

    Example:
        >>> table({8: 1}, [8], "costs")
        {8: 1.0}
    """
    if not isinstance(answer, dict):
        raise AssertionError(f"{name} is {_short(answer)}; a dictionary with the keys {list(keys)} is asked for")
    if set(answer) != set(keys):
        raise AssertionError(f"{name} has the keys {list(answer)}; asked for are {list(keys)}")
    return {key: number(answer[key], f"{name}[{key!r}]") for key in keys}


def against(yours: float, right: float) -> str:
    """Return a clause with two numbers that differ, in as many digits as it takes to see that they do.

    Example:
        >>> against(0.89941, 0.89943), against(3.0, 2.5)
        ('you have 0.89941, and right is 0.89943', 'you have 3, and right is 2.5')
    """
    for digits in range(3, 18):
        shown = [f"{side:.{digits}g}" for side in (yours, right)]
        if shown[0] != shown[1] and abs(float(shown[0]) - float(shown[1])) > abs(yours - right) / 2:
            break
    return f"you have {shown[0]}, and right is {shown[1]}"


def sealed(answer: Any, exercise: str) -> str:
    """Return a seal of an answer: a check compares it with the right answer's, and so does not give that away.

    Args:
        answer: a letter, or a number, which counts to six digits.
        exercise: the exercise's name, so that equal letters have different seals.

    Raises:
        AssertionError: the answer is neither a letter nor a number.

    Example:
        >>> sealed(4 / 3, "work") == sealed(sp.Rational(4, 3), "work") != sealed(1.3, "work")
        True
    """
    text = answer.strip().lower() if isinstance(answer, str) else f"{number(answer, exercise):.6g}"
    return hashlib.sha256(f"{exercise}: {text}".encode()).hexdigest()[:8]


@contextmanager
def unaided(*names: str) -> Iterator[None]:
    """Let none of these functions or classes be called inside: the exercise is to write what they do.

    Args:
        names: where they are, as ``"unrolled.bptt.rnn.backward"``.

    Raises:
        AssertionError: one was called.

    Example:
        >>> with unaided("math.sqrt"):
        ...     math.sqrt(4)
        Traceback (most recent call last):
        AssertionError: your code calls math.sqrt; write what it does yourself
    """
    with ExitStack() as stack:
        for name in names:
            called = AssertionError(f"your code calls {name}; write what it does yourself")
            stack.enter_context(mock.patch(name, side_effect=called))
        yield


def compare(prediction: Any, measured: Any) -> None:
    """Print what was predicted beside what was found; whatever was predicted counts.

    Args:
        prediction: a dictionary, or one value.
        measured: the same of what was found.

    Example:
        >>> compare({8: 1, 16: 2}, {8: 0.61, 16: 0.634})
        8: predicted 1, found 0.61
        16: predicted 2, found 0.634
    """
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

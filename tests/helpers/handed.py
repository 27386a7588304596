"""What the checks of an exercise hand to a student: values to the symbols of an answer, arguments to a function."""

import copy
import functools
import inspect
from collections import defaultdict
from collections.abc import Callable
from unittest import mock

import nbformat
import numpy as np
import torch

import unrolled.answers
from cell_runs import run
from exercise_cases import role, visible

NOTED: dict[str, list[dict]] = defaultdict(list)  # by function, the arguments of each call that can be compared


def points(before, cells) -> dict[str, list[dict]]:
    """Run an exercise's solution, and return by answer the values that its symbols are given, call by call.

    Answers without symbols are left out.
    """
    given, value = defaultdict(list), unrolled.answers.value

    def noting(answer, name, /, **values):
        if values:
            given[name].append({symbol: float(number) for symbol, number in values.items()})
        return value(answer, name, **values)

    with mock.patch.object(unrolled.answers, "value", noting):
        assert run(before + visible(cells)) == (None, "")
    return dict(given)


def bound(places: list[dict]) -> list[str]:
    """Return the symbols that never vary by themselves: they stay, or follow from the others by a sum or a product."""
    names = sorted(places[0])
    table, tied = np.array([[place[name] for name in names] for place in places]), set()
    for form in [table] if (table == 0).any() else [table, np.log(abs(table))]:
        columns = form - form.mean(axis=0)
        columns = columns / np.maximum(abs(columns).max(axis=0), 1e-12 * abs(form).max(axis=0) + 1e-300)
        rank = np.linalg.matrix_rank(columns)
        tied |= {n for k, n in enumerate(names) if np.linalg.matrix_rank(np.delete(columns, k, axis=1)) == rank}
    return sorted(tied)


def noted(function: Callable) -> Callable:
    """Return the same function, which notes in NOTED what it is called with."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def noting(*given, **named):
        arguments = signature.bind(*given, **named).arguments
        NOTED[function.__name__].append({name: key for name, x in arguments.items() if (key := _key(x)) is not None})
        return function(*given, **named)

    return noting


def _key(x) -> object:
    """Return something by which numbers, texts, arrays and collections of them are equal or not; None for all else."""
    if isinstance(x, np.ndarray | torch.Tensor):
        plain = np.asarray(x.detach().cpu() if torch.is_tensor(x) else x)
        return plain.shape, plain.tobytes()
    if isinstance(x, dict):
        x = [part for pair in x.items() for part in pair]
    if isinstance(x, list | tuple):
        parts = tuple(map(_key, x))
        return None if None in parts else parts
    return x if isinstance(x, bool | int | float | str) else None


def arguments(before, cells) -> dict[str, list[dict]]:
    """Run an exercise's solution, and return by function what its check calls it with, call by call."""
    NOTED.clear()
    cells = visible(copy.deepcopy(cells))
    at = next(place for place, cell in enumerate(cells) if role(cell, "grade"))
    written = [cell.source for cell in cells[:at] if role(cell, "solution") and cell.cell_type == "code"]
    names = [line[4:].partition("(")[0] for source in written for line in source.split("\n") if line.startswith("def ")]
    wrap = "".join(f"{name} = handed.noted({name})\n" for name in names)
    cells.insert(at, nbformat.v4.new_code_cell(f"import handed\n{wrap}", id="noted"))
    assert run(before + cells) == (None, "")
    return dict(NOTED)

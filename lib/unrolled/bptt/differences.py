"""Derivatives by differences: slow, but they know nothing of the chain rule, so they can judge those who use it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def complex_step(function: Callable[[np.ndarray], complex], at: np.ndarray, step: float = 1e-30) -> np.ndarray:
    """Return the gradient of a function by a step in the imaginary direction: Im f(x + i·step) / step.

    Nothing is subtracted, so nothing cancels, and the step can be so small that the result is as exact as f itself.

    Args:
        function: maps an array like `at`, complex, to a number; made of analytic operations only (no abs, no max).
        at: where, real, of any shape.
        step: the length of the step.

    Returns:
        The gradient, of the shape of `at`.

    Source: Squire & Trapp (1998).
    """
    at = np.asarray(at)
    gradient = np.empty(at.shape)
    for place in np.ndindex(at.shape):
        moved = at.astype(complex)
        moved[place] += 1j * step
        gradient[place] = function(moved).imag / step
    return gradient


def central(function: Callable[[np.ndarray], float], at: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """Return the gradient of a function by central differences: (f(x + step) − f(x − step)) / (2 step).

    The formula errs by about step² f‴ / 6, and rounding by about 1e-16 |f| / step: near 1e-10 in all at a step of 1e-5.

    Args:
        function: maps an array like `at` to a number.
        at: where, float64, of any shape.
        step: the length of the step.

    Returns:
        The gradient, of the shape of `at`.
    """
    at = np.asarray(at)
    gradient = np.empty(at.shape)
    for place in np.ndindex(at.shape):
        ahead, behind = at.astype(float), at.astype(float)
        ahead[place] += step
        behind[place] -= step
        gradient[place] = (function(ahead) - function(behind)) / (2 * step)
    return gradient


def relative_error(found: np.ndarray, right: np.ndarray) -> float:
    """Return ‖found − right‖ / ‖right‖ over all entries, 0 where both are zero everywhere.

    Raises:
        ValueError: the two have different shapes.
    """
    found, right = np.asarray(found), np.asarray(right)
    if found.shape != right.shape:
        raise ValueError(f"the shapes are {found.shape} and {right.shape}; they must be the same to be compared")
    gap, size = np.linalg.norm(found - right), np.linalg.norm(right)
    return float(gap / size) if size else float(np.inf if gap else 0.0)

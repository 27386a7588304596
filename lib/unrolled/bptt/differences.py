"""Derivatives from differences: slow, but independent of the chain rule, and so fit to check what uses it."""

from collections.abc import Callable

import numpy as np

STEP = 1e-30


def complex_step(function: Callable[[np.ndarray], complex], at: np.ndarray) -> np.ndarray:
    """Return the gradient of a function by a step in the imaginary direction: Im f(x + i·step) / step.

    Nothing is subtracted, so nothing cancels: the step can be tiny, 1e-30, and the result is as exact as f itself
    (Squire & Trapp 1998).

    Args:
        function: maps a complex array of the shape of `at` to a number; it must use analytic operations only (no abs,
            no max).
        at: the point, real, of any shape.

    Returns:
        The gradient, of the shape of `at`.

    Example:
        >>> complex_step(lambda x: (x**3).sum(), np.array([1.0, 2.0])).tolist()
        [3.0, 12.0]
    """
    at = np.asarray(at)
    gradient = np.empty(at.shape)
    for index in np.ndindex(at.shape):
        moved = at.astype(complex)
        moved[index] += 1j * STEP
        gradient[index] = function(moved).imag / STEP
    return gradient


def relative_error(actual: np.ndarray, expected: np.ndarray) -> float:
    """Return ‖actual − expected‖ / ‖expected‖ over all entries; 0 where both are zero everywhere.

    Example:
        >>> relative_error([3.0, 4.5], [3.0, 4.0])
        0.1
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    if actual.shape != expected.shape:
        raise ValueError(f"the shapes are {actual.shape} and {expected.shape}; they must be equal")
    gap, size = np.linalg.norm(actual - expected), np.linalg.norm(expected)
    return float(gap / size) if size else float(np.inf if gap else 0.0)

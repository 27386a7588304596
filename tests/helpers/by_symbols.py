"""Compare what SymPy derives, exactly."""

import numpy as np
import sympy as sp

from unrolled.symbolic import difference


def equal(actual: sp.Matrix | np.ndarray, expected: sp.Matrix) -> bool:
    """Return whether a matrix, or an array of symbols, equals a matrix in nodes exactly."""
    if isinstance(actual, np.ndarray):
        actual = sp.Matrix(actual.reshape(expected.shape).tolist())
    return not any(difference(actual, expected))

"""Numbers are written in one way."""

import math

import numpy as np
import pytest

from unrolled.figures.numerals import number, ticks


@pytest.mark.parametrize(
    ("value", "form", "text"),
    [
        (-0.0021, "+.3f", "−0.002"),
        (0.0021, "+.3f", "+0.002"),
        (-0.0004, ".3f", "0.000"),
        (-0.0004, ".1%", "0.0%"),
        (-0.5, "", "−0.5"),
        (1e-6, ".3g", "10⁻⁶"),
        (-2.5e-7, ".3g", "−2.5·10⁻⁷"),
        (3e12, ".3g", "3·10¹²"),
        (12345.6, ",.1f", "12,345.6"),
        (12345.0, ".5g", "12,345"),
        (123456.0, ".3g", "123,000"),
        (np.float64(-1234.0), ",.0f", "−1,234"),
        (np.int64(82400), ",d", "82,400"),
        (0.0, ".3g", "0"),
        (math.nan, ".3g", "–"),
        (-math.inf, ".3g", "−∞"),
        ("bias -1", "", "bias -1"),
    ],
)
def test_a_number_has_a_real_minus_commas_and_exponents(value, form, text):
    assert number(value, form) == text


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([1, 1024, 2048], ["1", "1,024", "2,048"]),
        ([0.001, 0.01, 1], ["0.001", "0.01", "1"]),
        ([1e-6, 2e-3, 1, 100], ["10⁻⁶", "2·10⁻³", "1", "10²"]),
        ([-1, -0.5, 0], ["−1", "−0.5", "0"]),
        ([1e6, 1e7], ["10⁶", "10⁷"]),
        ([], []),
    ],
)
def test_the_ticks_of_an_axis_are_all_of_one_kind(values, texts):
    assert ticks(values) == texts


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([-0.25, 0, 0.25, 0.5], ["−0.25", "0.00", "0.25", "0.50"]),
        (np.arange(0, 0.5, 0.1), ["0.0", "0.1", "0.2", "0.3", "0.4"]),
        ([0, 1000, 2000], ["0", "1,000", "2,000"]),
        ([0, 2e-9, 4e-9], ["0", "2·10⁻⁹", "4·10⁻⁹"]),
        ([], []),
    ],
)
def test_evenly_spaced_ticks_have_as_many_decimals(values, texts):
    assert ticks(values, even=True) == texts

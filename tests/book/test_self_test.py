"""The answers of the self-test in `prerequisites.md` are right: each is computed once more."""

import io
import math
import re
from contextlib import redirect_stdout

import numpy as np
import pytest

from places import ROOT

pytestmark = pytest.mark.book
PAGE = (ROOT / "pages" / "prerequisites.md").read_text(encoding="utf8")
PARTS = [part.split("```{dropdown} Answer\n") for part in re.split(r"^### \d+ · .*$", PAGE, flags=re.MULTILINE)[1:]]


def printed(number: int) -> list[str]:
    """Return the lines that the code of a question prints."""
    output = io.StringIO()
    with redirect_stdout(output):
        exec(re.search(r"```python\n(.*?)```", PARTS[number - 1][0], re.DOTALL)[1], {})
    return output.getvalue().splitlines()


def right(number: int) -> list[str]:
    """Return what stands in the answer of a question, computed."""
    match number:
        case 1:
            W = np.array([[1, 2], [0, -1], [3, 1]])
            shape = (np.ones((5, 2)) @ W.T).shape
            return [f"`W` has shape `{W.shape}`", f"is `{shape}`", str(tuple((W @ [2, 1]).tolist()))]
        case 2:
            turn = np.array([[1, 1], [1, -1]]) / math.sqrt(2)
            power = np.linalg.matrix_power(turn @ np.diag([0.5, 2.0]) @ turn.T, 10)
            small, large = np.diag(turn.T @ power @ turn)
            assert large / small == pytest.approx(1e6, rel=0.05)  # about a million times
            return [f"= 1/{1 / small:.0f}$", f"= {large:.0f}$"]
        case 3:
            A = np.array([[0, 2], [0, 0]])
            assert not np.linalg.eigvals(A).any() and not (A @ A).any()
            longest, shortest = np.linalg.svd(A)[1]
            return ["Both eigenvalues are 0.", f"are {longest:.0f} and {shortest:.0f}.", r"becomes $(2, 0)^\top$"]
        case 4:
            slope = (math.tanh((0.5 + 1e-6) * 2) - math.tanh((0.5 - 1e-6) * 2)) / 2e-6
            both = (2 * (3 + 1e-6) ** 3 - 2 * (3 - 1e-6) ** 3) / 2e-6
            return [rf"\approx {slope:.3f}$", f"Together they are {3**2 * 2 + 2 * 3 * 2 * 3}", f"$6x^2 = {both:.0f}$"]
        case 5:
            return [f"{' and '.join(printed(5))}."]
        case 6:
            return [f"`{printed(6)[0]}`, the derivative of question 4, and `{printed(6)[1]}`."]
        case 7:
            p = np.array([1 / 2, 1 / 4, 1 / 8])
            nats = -np.log(p).mean()
            text = [f"$1/{1 / p.prod():.0f}$", rf"\approx {nats:.3f}$ nats", f"exactly {nats / math.log(2):g} bits"]
            return [*text, f"= {math.exp(nats):g}$"]
        case 8:
            return [f"{math.exp((math.log(2) + math.log(8)) / 2):.0f}, and not {(2 + 8) / 2:.0f}."]
        case 9:
            p = np.array([1 / 2, 1 / 4, 1 / 4])
            return [f"= {-(p * np.log2(p)).sum():g}$ bits", rf"\approx {-(p * np.log2(1 / 3)).sum():.3f}$ bits"]
        case 10:
            powers = np.exp(np.array([0, math.log(2), math.log(5)]) + 100)
            return [str(tuple((powers / powers.sum()).round(3).tolist()))]
        case 11:
            seeds = np.array([1.58, 1.60, 1.62])
            return [f"The mean is {seeds.mean():.2f},", rf"${seeds.mean():.2f} \pm {seeds.std(ddof=1):.2f}$"]
        case 12:
            return [f"{printed(12)[0]}. The derivative"]
        case 13:
            return [f"`{printed(13)[0]}`."]


@pytest.mark.parametrize("number", range(1, 14))
def test_an_answer_is_what_is_computed(number):
    answer = " ".join(PARTS[number - 1][1].split())
    for text in right(number):
        assert text in answer, f"{text} is not in the answer"


def test_every_question_has_its_answer():
    assert [len(part) for part in PARTS] == [2] * 13 and "\nThirteen questions," in PAGE

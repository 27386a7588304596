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


@pytest.fixture(scope="module")
def self_test():
    """Return question and answer of each part of the self-test, white space levelled."""
    parts = re.split(r"^### \d+ · .*$", PAGE, flags=re.MULTILINE)[1:]
    return [re.split(r"```\{dropdown\} Answer\n", part) for part in parts]


def answer(self_test, number: int) -> str:
    return " ".join(self_test[number - 1][1].split())


def printed(self_test, number: int) -> str:
    """Return what the code of a question prints."""
    code = re.search(r"```python\n(.*?)```", self_test[number - 1][0], re.DOTALL)[1]
    output = io.StringIO()
    with redirect_stdout(output):
        exec(code, {})
    return output.getvalue().strip()


def test_every_question_has_one_answer(self_test):
    assert len(self_test) == 13 and "\nThirteen questions," in PAGE
    assert all(len(part) == 2 for part in self_test)


def test_answer_1_shapes(self_test):
    x = np.ones((5, 2))
    W = np.array([[1, 2], [0, -1], [3, 1]])
    text = answer(self_test, 1)
    assert text.startswith("`x @ W.T`")
    assert f"`W` has shape `{W.shape}`" in text and f"is `{(x @ W.T).shape}`" in text
    assert str(tuple((W @ [2, 1]).tolist())) in text


def test_answer_2_powers(self_test):
    turn = np.array([[1, 1], [1, -1]]) / math.sqrt(2)
    A = turn @ np.diag([0.5, 2.0]) @ turn.T
    small, large = np.diag(turn.T @ np.linalg.matrix_power(A, 10) @ turn)
    assert small == pytest.approx(1 / 1024) and large == pytest.approx(1024)
    assert "= 1/1024$" in answer(self_test, 2) and "= 1024$" in answer(self_test, 2)
    assert large / small == pytest.approx(1e6, rel=0.05) and "about a million times" in answer(self_test, 2)


def test_answer_3_norm_and_eigenvalue(self_test):
    A = np.array([[0, 2], [0, 0]])
    text = answer(self_test, 3)
    assert not np.linalg.eigvals(A).any() and text.startswith("Both eigenvalues are 0.")
    assert np.linalg.svd(A)[1].tolist() == [2, 0] and "are 2 and 0." in text
    assert (A @ [0, 1]).tolist() == [2, 0] and r"$(0, 1)^\top$ becomes $(2, 0)^\top$" in text
    assert not (A @ A).any() and r"$\mathbf{A}^2 = \mathbf{0}$" in text


def test_answer_4_chain_rule(self_test):
    w, x, step = 0.5, 2.0, 1e-6
    slope = (math.tanh((w + step) * x) - math.tanh((w - step) * x)) / (2 * step)
    assert slope == pytest.approx(x * (1 - math.tanh(w * x) ** 2))
    text = answer(self_test, 4)
    assert rf"\approx {slope:.3f}$" in text
    x = 3
    through_u, through_v = x**2 * 2, 2 * x * 2 * x
    assert f"= {through_u}$, through $v$" in text and f"= {through_v}$." in text
    assert f"Together they are {through_u + through_v}" in text and f"= {6 * x**2}$" in text


def test_answers_5_6_and_13_are_what_the_code_prints(self_test):
    first, second = printed(self_test, 5).splitlines()
    assert answer(self_test, 5).startswith(f"{first} and {second}.") and f"$f'(2) = {float(first):g}$" in answer(
        self_test, 5
    )
    first, second = printed(self_test, 6).splitlines()
    assert answer(self_test, 6).startswith(f"`{first}`, the derivative of question 4, and `{second}`.")
    assert answer(self_test, 13).startswith(f"`{printed(self_test, 13)}`.")


def test_answer_7_cost(self_test):
    p = np.array([1 / 2, 1 / 4, 1 / 8])
    nats = -np.log(p).mean()
    text = answer(self_test, 7)
    assert f"$1/{1 / p.prod():.0f}$" in text
    assert nats == pytest.approx(2 * math.log(2)) and rf"\approx {nats:.3f}$ nats" in text
    assert f"exactly {nats / math.log(2):g} bits" in text
    assert f"= {math.exp(nats):g}$" in text


def test_answer_8_halves(self_test):
    whole = math.exp((math.log(2) + math.log(8)) / 2)
    assert answer(self_test, 8).startswith(f"{whole:.0f}, and not {(2 + 8) / 2:.0f}.")


def test_answer_9_entropy(self_test):
    p = np.array([1 / 2, 1 / 4, 1 / 4])
    assert f"= {-(p * np.log2(p)).sum():g}$ bits" in answer(self_test, 9)
    assert rf"\approx {-(p * np.log2(np.full(3, 1 / 3))).sum():.3f}$ bits" in answer(self_test, 9)


def test_answer_10_softmax(self_test):
    def softmax(scores):
        powers = np.exp(scores)
        return powers / powers.sum()

    scores = np.array([0, math.log(2), math.log(5)])
    result = softmax(scores)
    assert np.allclose(result, softmax(scores + 100))
    assert str(tuple(result.round(3).tolist())) in answer(self_test, 10)


def test_answer_11_seeds(self_test):
    seeds = np.array([1.58, 1.60, 1.62])
    text = answer(self_test, 11)
    assert f"The mean is {seeds.mean():.2f}," in text
    assert f"is {seeds.std(ddof=1):.2f}:" in text and rf"${seeds.mean():.2f} \pm {seeds.std(ddof=1):.2f}$" in text


def test_answer_12_gradients(self_test):
    assert answer(self_test, 12).startswith(f"{printed(self_test, 12)}. The derivative")

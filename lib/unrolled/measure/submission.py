"""Score a character model that somebody else wrote, and refuse a price that is not honest.

A submission says what it was trained on, what it is scored on, and gives for each character of a text the probabilities
of all symbols, as they are before that character is known. From these the price is computed here, by the protocol of
`evaluation`: every character of the test is predicted once, and the nats are summed and divided once, at the end.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from unrolled.measure.evaluation import Score

IN_A_ROW = 50  # characters that the test may not share with the training text
TOLERANCE = 1e-4  # for probabilities in single precision
CUTS = 8  # places behind which the test is altered


@dataclass(frozen=True)
class Submission:
    """A character model with the texts that it was trained and is scored on.

    Attributes:
        symbols: every character that the model knows, each once, in the order of the columns.
        training: the text that the model was trained on, whatever was chosen by it included.
        test: the text that it is scored on.
        predict: takes a text and returns probabilities, (characters, symbols); row t is for the character t, and rests
            on those before it alone.

    Example:
        >>> coin = Submission("ab", "abab", "aabb", lambda text: np.full((len(text), 2), 0.5))
        >>> round(score(coin).nats_per_symbol, 4)
        0.6931
    """

    symbols: str
    training: str
    test: str
    predict: Callable[[str], np.ndarray]


def score(submission: Submission) -> Score:
    """Return what a submission pays for its test.

    Raises:
        ValueError: a symbol comes twice, the test is empty or has a character that is no symbol; 50 characters in a row
            of the test occur in the training text; the probabilities are of another shape, are negative or do not sum
            to 1; or a later character changes an earlier price.
    """
    columns = {symbol: column for column, symbol in enumerate(submission.symbols)}
    if len(columns) < len(submission.symbols):
        twice = sorted({symbol for symbol in columns if submission.symbols.count(symbol) > 1})
        raise ValueError(f"symbols has {twice[0]!r} more than once; every character needs one column")
    if not submission.test:
        raise ValueError("the test is empty; there is no character to score")
    if unknown := sorted(set(submission.test) - set(columns)):
        raise ValueError(f"the test has {unknown[0]!r}, which is not among the symbols; the model must price it too")
    if shared := in_both(submission.test, submission.training):
        raise ValueError(
            f"{IN_A_ROW} characters in a row of the test occur in the training text: {shared!r}; "
            "split the text before anything is trained, and keep no copies"
        )
    given = _probabilities(submission, submission.test)
    _refuse_foresight(submission, given)
    paid = given[np.arange(len(submission.test)), [columns[symbol] for symbol in submission.test]]
    if (paid == 0).any():
        at = int(np.argmin(paid))
        raise ValueError(
            f"the character {submission.test[at]!r} at place {at} has the probability 0, and so costs infinitely much; "
            "mix the model with a uniform guess"
        )
    return Score(float(-np.log(paid).sum()), len(paid))


def in_both(test: str, training: str) -> str | None:
    """Return the first 50 characters in a row of the test that occur in the training text, or None."""
    parts = {test[at : at + IN_A_ROW] for at in range(len(test) - IN_A_ROW + 1)}
    places = range(len(training) - IN_A_ROW + 1)
    shared = {part for at in places if (part := training[at : at + IN_A_ROW]) in parts}
    return min(shared, key=test.index) if shared else None


def _probabilities(submission: Submission, text: str) -> np.ndarray:
    """Return what a model says of a text, (characters, symbols), and refuse what are no probabilities."""
    given = submission.predict(text)
    given = np.asarray(given.detach().cpu() if hasattr(given, "detach") else given, dtype=np.float64)
    right = len(text), len(submission.symbols)
    if given.shape != right:
        raise ValueError(f"predict returned the shape {given.shape}; right is (characters, symbols), here {right}")
    sums = given.sum(axis=1)
    if not (given.min() >= 0 and np.abs(sums - 1).max() <= TOLERANCE):  # a nan is refused, too
        at = int(np.argmax(np.where(np.isnan(sums), np.inf, np.abs(sums - 1))))
        raise ValueError(
            f"the probabilities at place {at} sum to {sums[at]:.6g}, and the least of all is {given.min():.3g}; "
            "right are numbers from 0 on that sum to 1 at every place: is it a softmax over all symbols?"
        )
    return given


def _refuse_foresight(submission: Submission, given: np.ndarray) -> None:
    """Refuse probabilities that change when the characters from some place on are others, or are cut off."""
    test, symbols = submission.test, submission.symbols
    turned = str.maketrans(symbols, symbols[1:] + symbols[:1])
    cuts = sorted({round(part * (len(test) - 1) / CUTS) for part in range(CUTS + 1)})
    for cut in cuts:
        for text in (test[:cut] + test[cut:].translate(turned), test[: cut + 1]):
            changed = np.abs(_probabilities(submission, text)[: cut + 1] - given[: cut + 1]).max(axis=1)
            if changed.max() > TOLERANCE:
                at = int(np.argmax(changed))
                raise ValueError(
                    f"a later character changes an earlier price: with other characters from place {cut} on, the "
                    f"probabilities at place {at} change by {changed[at]:.2g}; row t of predict must rest on text[:t] "
                    "alone, and nothing may be drawn at random (is dropout off?)"
                )

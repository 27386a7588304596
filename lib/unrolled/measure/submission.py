"""Score a character model that somebody else wrote, and refuse a price that is not honest.

A submission says what it was trained on, what it is scored on, and gives for each character of a text the probabilities
of all symbols, as they are before that character is known. From these the price is computed here, by the protocol of
`evaluation`: every character of the test is predicted once, and the nats are summed and divided once, at the end.

Each call of the model runs in a process of its own, a copy of this one as it was before any call. So no call finds in
memory what an earlier one has read. What remains possible: a model that peeks at a few places only may be lucky with
the places that are drawn, notes can be left in a file, and whoever knows the test can look it up while reading it.
Against the last only a test helps that the author of the model has not seen.
"""

import multiprocessing
import random
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import torch

from unrolled.measure.evaluation import Score

IN_A_ROW = 50  # characters that the test may not share with the training text
TOLERANCE = 1e-4  # for probabilities in single precision
CUTS = 8  # places, drawn anew at each scoring, behind which the test is altered


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
        RuntimeError: a call of ``predict`` raised an error, ended its process, or this system cannot copy a process.
        ValueError: symbols, training or test is no string; a symbol comes twice, the test is empty or has a character
            that is no symbol; 50 characters in a row of the test occur in the training text; the probabilities are of
            another shape, are negative or do not sum to 1; or a later character changes an earlier price.
    """
    for name in ("symbols", "training", "test"):
        if not isinstance(text := getattr(submission, name), str):
            raise ValueError(
                f"{name} is of type {type(text).__name__}; right is a string, as ''.join({name}) makes one"
            )
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
    given = _without_foresight(submission)
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
    given = _called(submission.predict, text)
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


def _called(predict: Callable[[str], np.ndarray], text: str) -> np.ndarray:
    """Return what a function makes of a text in a process of its own, whose memory nothing else sees."""
    if "fork" not in multiprocessing.get_all_start_methods():
        raise RuntimeError("this system cannot copy a process, as a score needs; score on Linux, macOS or Colab")
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(predict, text, theirs))
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # of threads; the copy uses one
        process.start()
    theirs.close()
    try:
        answer = ours.recv()
    except EOFError:
        answer = "ended its process, and returned nothing"
    process.join()
    if isinstance(answer, str):
        shown = repr(text) if len(text) <= 24 else f"{text[:24]!r}…, {len(text):,} characters"
        raise RuntimeError(f"predict({shown}) {answer}")
    return answer


def _answer(predict: Callable[[str], np.ndarray], text: str, answer: Connection) -> None:
    """Send an array, or what went wrong and where: the copied process's part of `_called`."""
    torch.set_num_threads(1)  # a copied process has none of the other threads
    random.seed(), np.random.seed(), torch.seed()  # whatever is drawn differs from call to call
    try:
        given = predict(text)
        given = given.detach().cpu() if hasattr(given, "detach") else given
        answer.send(np.asarray(given, dtype=np.float64))
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[1:] or traceback.extract_tb(error.__traceback__)
        place = [frame for frame in frames if frame.filename == frames[0].filename][-1]  # where predict itself is
        cause = f"{type(error).__name__}: {str(error)[:200]}"
        answer.send(f"stopped in line {place.lineno} of {Path(place.filename).name}: {cause}")


def _without_foresight(submission: Submission) -> np.ndarray:
    """Return the probabilities for the test; refuse some that are others when later characters are cut off or altered.

    The model reads the beginnings first, and the whole test only then.
    """
    test, symbols = submission.test, submission.symbols
    turned = str.maketrans(symbols, symbols[1:] + symbols[:1])
    drawn = np.random.default_rng().permutation(len(test) - 1)[: CUTS - 1] if len(test) > 1 else []
    cuts = sorted({*map(int, drawn), len(test) - 1})
    begun = {cut: _probabilities(submission, test[: cut + 1]) for cut in cuts}
    given = _probabilities(submission, test)
    for cut in cuts:
        for rows in (begun[cut], _probabilities(submission, test[:cut] + test[cut:].translate(turned))):
            changed = np.abs(rows[: cut + 1] - given[: cut + 1]).max(axis=1)
            if changed.max() > TOLERANCE:
                at = int(np.argmax(changed))
                raise ValueError(
                    f"a later character changes an earlier price: with other characters from place {cut} on, the "
                    f"probabilities at place {at} change by {changed[at]:.2g}; row t of predict must rest on text[:t] "
                    "alone, and nothing may be drawn at random (is dropout off?)"
                )
    return given

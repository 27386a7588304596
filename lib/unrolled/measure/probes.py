"""What a linear probe reads off a layer's states, and how much of it the probe has learned by heart (chapter 10)."""

import random
from collections.abc import Hashable, Sequence

import torch
from torch.nn.functional import cross_entropy


def linear_probe(
    states: torch.Tensor,
    labels: torch.Tensor,
    held_out: torch.Tensor,
    answers: torch.Tensor,
    *,
    penalty: float = 1e-3,
) -> float:
    """Return the accuracy on held-out states of a linear classifier that was fitted to the others.

        minimise  mean of −ln softmax(W x + b)_label  +  penalty · ‖W‖² / 2          x: the states, each unit scaled

    The problem is convex, so nothing depends on where the fit begins. Each unit is shifted and scaled to mean 0 and
    variance 1 by the states that are fitted.

    Args:
        states: what is fitted, (states, units).
        labels: their labels, numbers from 0, (states,).
        held_out: what is asked, (others, units).
        answers: their labels, (others,).
        penalty: of large weights.

    Raises:
        ValueError: the shapes do not fit, there are no states, a state is not finite, a label is no whole number from
            0 on, or the penalty is not above 0.

    Example:
        >>> x = torch.tensor([[0.0, 1.0], [1.0, 1.0], [0.0, 3.0], [1.0, 3.0]])
        >>> linear_probe(x, torch.tensor([0, 1, 0, 1]), x + 0.1, torch.tensor([0, 1, 0, 1]))
        1.0
    """
    if not penalty > 0:
        raise ValueError(f"penalty is {penalty}; it must be above 0, or the weights may grow without end")
    for name, rows, numbers in (("states", states, labels), ("held_out", held_out, answers)):
        if rows.ndim != 2 or not len(rows) or numbers.shape != rows.shape[:1] or rows.shape[1] != states.shape[1]:
            raise ValueError(
                f"{name} have shape {tuple(rows.shape)} and their labels {tuple(numbers.shape)}; "
                "(states, units) and (states,) are expected, with at least one state and equally many units"
            )
        if not rows.isfinite().all():
            row, unit = (~rows.isfinite()).nonzero()[0].tolist()
            raise ValueError(f"{name}[{row}, {unit}] is {rows[row, unit]}; a probe reads finite states only")
        if numbers.is_floating_point() or numbers.dtype == torch.bool or int(numbers.min()) < 0:
            raise ValueError(
                f"the labels of {name} are {numbers.dtype} and begin at {numbers.min().item()}; labels are whole "
                "numbers from 0 on: leave out the states that have none, as those of pads"
            )
    x, labels = states.detach().double(), labels.long()
    mean, spread = x.mean(dim=0), x.std(dim=0, correction=0).clamp(min=1e-8)
    x, asked = (x - mean) / spread, (held_out.detach().double() - mean) / spread
    classes = int(torch.cat([labels, answers.long()]).max()) + 1
    W = torch.zeros(classes, x.shape[1], dtype=x.dtype, requires_grad=True)
    b = torch.zeros(classes, dtype=x.dtype, requires_grad=True)
    optimizer = torch.optim.LBFGS([W, b], max_iter=100, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        value = cross_entropy(x @ W.T + b, labels) + penalty * W.square().sum() / 2
        value.backward()
        return value

    with torch.enable_grad():
        optimizer.step(loss)
    with torch.no_grad():
        return ((asked @ W.T + b).argmax(dim=1) == answers).double().mean().item()


def control_labels(words: Sequence[Hashable], labels: Sequence[int], seed: int = 0) -> list[int]:
    """Return labels for a control task: each word has one label wherever it stands, drawn at random.

    The labels are drawn from those given, so that they are about as frequent. Only a probe that learns words by heart
    can tell them. Its accuracy on the task minus that on the control is its selectivity (Hewitt & Liang 2019).

    Args:
        words: the word at each place.
        labels: the labels of the task that is controlled, as many.
        seed: of the draws.

    Raises:
        ValueError: there are more words than labels or fewer, or none.

    Example:
        >>> control_labels(["a", "b", "a", "c"], [0, 1, 2, 3])
        [3, 3, 3, 1]
    """
    if not len(words) or len(words) != len(labels):
        raise ValueError(f"there are {len(words)} words and {len(labels)} labels; each word has one label")
    rng, drawn = random.Random(seed), {}
    for word in words:
        if word not in drawn:
            drawn[word] = labels[int(rng.random() * len(labels))]
    return [drawn[word] for word in words]

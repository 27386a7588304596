"""What a linear probe reads off a layer's states (exercise 10.8)."""

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
        penalty: of large weights, above 0.
    """
    for rows, numbers in ((states, labels), (held_out, answers)):
        if numbers.shape != rows.shape[:1] or int(numbers.min()) < 0 or not rows.isfinite().all():
            raise ValueError(
                f"{len(rows)} states have labels of shape {tuple(numbers.shape)}, the least {int(numbers.min())}; "
                "each state is finite and has a label from 0 on: leave out those that have none, as those of pads"
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

"""Chapter 6: how far each cell counts beyond what it was trained on."""

from pathlib import Path

import torch
from torch import nn

from lab.experiment import Config, Experiment, Metric, cell
from lab.tasks import ENDING, attempt, ending
from unrolled import tasks


@torch.no_grad()
def counted(model: nn.Module, limit: int) -> torch.Tensor:
    """Return for n = 1 … limit whether a model of `tasks.Counting` answers correctly at every b of aⁿbⁿ.

    Args:
        model: maps inputs (batch, time, 2) to logits (batch, time, 1).
        limit: the largest n.

    Returns:
        Booleans, (limit,).

    Example:
        >>> from unrolled.cells import RNNCell
        >>> counted(tasks.SequenceModel(RNNCell(2, 4), 1), limit=20).shape
        torch.Size([20])
    """
    inputs, targets = tasks.Counting.strings(torch.arange(1, limit + 1), 2 * limit)
    says_last = model(inputs.to(next(model.parameters()).device))[..., 0].cpu() > 0  # (limit, 2 limit)
    return ((says_last == (targets == 1)) | (targets < 0)).all(dim=1)


def measure(config: Config, seed: int, folder: Path) -> dict:
    """Train a cell to count; ask it for aⁿbⁿ with n far beyond those that it was trained on."""
    task = tasks.Counting(config["length"])
    torch.manual_seed(seed)
    model, outcome = attempt(config, task, seed)
    right = counted(model, config["limit"]).tolist()
    ended = ending(outcome, task)
    return {name: ended[name] for name in ENDED} | {"reach": [*right, False].index(False)}


ENDED = ("success", "updates", "loss")
METRICS = {name: ENDING[name] for name in ENDED} | {
    "reach": Metric("n", "the last one up to which all answers are right, at most the limit")
}


BUDGET = {"length": 40, "limit": 400, "updates": 6000, "batch": 32}
BUDGET |= {"score_every": 100, "sequences": 200, "clip": 1.0}
RATES = (3e-3, 1e-2, 3e-2)
UNITS = {"rnn": 21, "gru": 12, "lstm": 10}  # 526, 553 and 531 weights

EXPERIMENTS = (
    Experiment(
        "counting-task",
        "Strings a^n b^n: how far RNN, GRU and LSTM of equal weights count beyond their training, at three rates",
        METRICS,
        {
            f"{kind} {rate:g}": BUDGET | {"hidden_size": units, "learning_rate": rate, "cell": cell(kind)}
            for kind, units in UNITS.items()
            for rate in RATES
        },
        measure,
        seeds=5,
        small={"length": 4, "limit": 8, "updates": 4, "score_every": 2, "sequences": 4},
    ),
)

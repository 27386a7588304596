"""What a task is: random sequences of vectors with their targets, and the price of an answer."""

import torch
from torch.nn.functional import cross_entropy


class Task:
    """What `solve` trains on. A task says what a batch is, and perhaps how answers are priced and judged.

    Attributes:
        input_size: the length of a step's vector.
        output_size: the size of an answer.
        trivial: the error of the best answer without memory.
        goal: the error below which the task counts as solved.

    >>> from unrolled.tasks import Copy
    >>> isinstance(Copy(10), Task)
    True
    """

    input_size: int
    output_size: int
    trivial: float
    goal: float

    def batch(self, batch: int, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
        """Return a batch of inputs, (batch, time, input_size), and of targets, drawn on the CPU."""
        raise NotImplementedError

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return what training lowers: the mean cross-entropy, nats per step, for logits (batch, time, output_size)."""
        return cross_entropy(outputs.flatten(0, 1), targets.flatten())

    def error(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Return what outputs are judged by: the loss itself, where a task has no plainer unit."""
        return self.loss(outputs, targets)

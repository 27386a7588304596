"""The cross-entropy that training minimises; where there are many logits, their gradient overwrites them."""

import torch
from torch.autograd.function import once_differentiable
from torch.nn import functional

from unrolled.text import check_range, symbol_numbers

NEVER = -(2**63)  # the number of a target that is left out of the mean; PyTorch would leave out -100
FEW = 2**20  # so many numbers stay in a processor's cache


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the mean of −ln p(target), nats per symbol (:eq:`eq-perplexity`).

    Where the symbols are words, nothing in a training is as large as the logits, and a CPU takes as long to get fresh
    memory as to compute what goes there. So on a CPU the gradient of many logits is written over them, and they must
    not be used any more. PyTorch's own function serves for few logits, and on a GPU.

    Args:
        logits: (symbols, vocab_size).
        targets: symbol numbers, (symbols,).

    Raises:
        ValueError: there are no targets, they do not agree with the logits in shape, or one is no symbol. (That PyTorch
            notices by itself, on a GPU with an error of its own, so that no update waits for a check.)
    """
    targets = symbol_numbers(targets, ("symbols",), "targets")
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)} and targets {tuple(targets.shape)}; "
            "(symbols, vocab_size) and (symbols,) are expected"
        )
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))  # bfloat16 is too coarse for a sum over words
    try:
        if logits.device.type != "cpu" or logits.numel() <= FEW:
            return functional.cross_entropy(logits, targets, ignore_index=NEVER)
        return CrossEntropy.apply(logits.contiguous(), targets)
    except (IndexError, RuntimeError):
        check_range(targets, logits.shape[-1], "targets")
        raise


class CrossEntropy(torch.autograd.Function):
    """The cross-entropy of N symbols, whose gradient takes the place of the logits a.

        L = 1/N Σ (ln Σ exp(a) − a(target))

    and back, with p = exp(a − ln Σ exp(a)):

        ∂L/∂a = 1/N (p − 1 at the target)
    """

    @staticmethod
    def forward(ctx, logits, targets):
        """Map (N, vocab_size) and (N,) to L."""
        log_sum = torch.cat([part.logsumexp(1, keepdim=True) for part in logits.split(rows(logits))])  # (N, 1)
        ctx.save_for_backward(logits, log_sum, targets[:, None])
        return (log_sum - logits.gather(1, targets[:, None])).mean()

    @staticmethod
    @once_differentiable
    def backward(ctx, d_loss):
        """Return ∂L/∂a, (N, vocab_size), in the memory of the logits."""
        logits, log_sum, targets = ctx.saved_tensors
        share = d_loss / len(targets)
        for part, part_sum in zip(logits.split(rows(logits)), log_sum.split(rows(logits)), strict=True):
            part.sub_(part_sum).exp_().mul_(share)
        return logits.scatter_add_(1, targets, -share.expand_as(targets)), None


def rows(logits: torch.Tensor) -> int:
    """Return how many rows to process at a time so that they stay in the cache."""
    return max(1, FEW // logits.shape[1])

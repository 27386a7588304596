"""Tasks of memory: how the end of a training is measured, and what becomes of subnormal numbers."""

import math

import pytest
import torch
from unrolled.experiments import memory_tasks

from unrolled.tasks import Adding, Outcome


def test_subnormal_numbers_are_flushed_and_afterwards_as_they_were():
    can = torch.set_flush_denormal(True)
    torch.set_flush_denormal(False)
    with memory_tasks.flushing():
        assert (torch.tensor(1e-30) * torch.tensor(1e-10)).item() == (0 if can else pytest.approx(1e-40))
    assert torch.tensor(1e-30) * torch.tensor(1e-10) > 0


def test_the_loss_is_the_last_finite_one_as_a_share_of_the_trivial_one():
    task = Adding(4)
    ended = Outcome(success=True, updates=9, scores=[task.trivial, task.trivial / 2, math.inf])
    assert memory_tasks.ending(ended, task) == {"success": 1, "diverged": 0, "updates": 9, "loss": pytest.approx(0.5)}


def test_a_run_that_diverged_before_it_was_scored_counts_as_no_better_than_trivial():
    ended = Outcome(diverged=True, updates=3, losses=[1.0] * 3)
    assert memory_tasks.ending(ended, Adding(4)) == {"success": 0, "diverged": 1, "updates": 3, "loss": 1.0}

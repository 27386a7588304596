"""Linear recurrences: the scans equal the loop, forward and backward, and stay exact over thousands of steps."""

import pytest
import torch

from unrolled.cells import DeltaCell, scan, scan_by_logs, unroll
from unrolled.tasks import ShellGame


def loop(a, b, h):
    """Return all states of h_t = a_t h_{t−1} + b_t, step by step."""
    states = []
    for t in range(a.shape[1]):
        h = a[:, t] * h + b[:, t]
        states.append(h)
    return torch.stack(states, dim=1)


def drawn(time, positive=False):
    """Return factors like a gate's, and what is added, (batch, time, size) each, and a first state."""
    torch.manual_seed(time)
    a = torch.sigmoid(torch.randn(2, time, 3, dtype=torch.float64) + 2)
    b, h = (torch.randn(shape, dtype=torch.float64) for shape in ((2, time, 3), (2, 3)))
    return [a, b.abs(), h.abs()] if positive else [a, b, h]


def error(found, expected):
    return ((found.double() - expected).norm() / expected.norm()).item()


@pytest.mark.parametrize("time", [1, 2, 3, 4, 5, 8, 31, 8192])
def test_the_scan_equals_the_loop_forward_and_backward(time):
    a, b, h = leaves = [part.requires_grad_() for part in drawn(time)]
    weights, gradients = torch.randn_like(b), []
    results = scan(a, b, h), loop(a, b, h)
    for states in results:
        gradients.append(torch.autograd.grad((states * weights).sum(), leaves))
    assert error(results[0].detach(), results[1].detach()) < 1e-13
    assert all(error(*pair) < 1e-12 for pair in zip(*gradients, strict=True))
    assert torch.equal(scan(a, b), scan(a, b, torch.zeros_like(h)))


@pytest.mark.parametrize("dtype, tree, logs", [(torch.float32, 1e-5, 1e-2), (torch.float64, 1e-12, 1e-10)])
def test_the_scans_are_exact_over_8192_steps(dtype, tree, logs):
    a, b, h = drawn(8192, positive=True)
    expected, from_nothing = loop(a, b, h), loop(a, b, torch.zeros_like(h))
    a, b, h = (part.to(dtype) for part in (a, b, h))
    assert error(scan(a, b, h), expected) < tree
    assert error(scan_by_logs(a.log(), b.log()), from_nothing) < logs


def test_a_number_that_is_zero_has_the_logarithm_minus_infinity():
    a, b = torch.full((1, 3, 1), 0.5), torch.tensor([0.0, 1.0, 0.0])[None, :, None]
    assert scan_by_logs(a.log(), b.log()).flatten().tolist() == [0.0, 1.0, 0.5]


def test_a_reflection_follows_five_cups_and_is_exact_after_thousands_of_moves():
    game = ShellGame(length=3000, cups=5)
    moves, places = game.batch(4, torch.Generator().manual_seed(0))
    cell = DeltaCell(game.input_size, 25, num_heads=5, negative=True)
    with torch.no_grad():
        for weights in cell.parameters():
            weights.zero_()
        for symbol, (one, two) in enumerate(game.moves[1:], start=1):
            for row in cell.block("k").W_xh[:, symbol].view(5, 5):  # the key of an exchange
                row[one], row[two] = 1.0, -1.0
        cell.W_beta.fill_(50.0)  # β = 2, a reflection
        cell.W_beta[:, 0] = -50.0  # and β = 0 where nothing happens
        cell.block("q").b_h.copy_(torch.eye(5).flatten())  # each head asks for a cup
        S = torch.zeros(4, 5, 5, 5)
        S[:, :, 0, 0] = 1.0  # the ball begins under cup 0
        states, _ = unroll(cell, moves, (torch.zeros(4, 25), S.flatten(1)))
    assert torch.equal(states.unflatten(-1, (5, 5))[..., 0].argmax(dim=-1), places)

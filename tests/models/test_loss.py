"""The cross-entropy of training is PyTorch's, with the gradient in the memory of the logits."""

import math

import pytest
import torch
from torch.nn import functional

from unrolled.models import loss as module
from unrolled.models.loss import cross_entropy


def loss_and_gradient(price, logits, targets):
    """Return three times the loss, and its gradient by the logits."""
    before = logits.detach().requires_grad_()
    loss = 3 * price(before * 1, targets)  # not the leaf itself, which is asked for its gradient
    loss.backward()
    return loss.detach(), before.grad


@pytest.fixture(autouse=True)
def in_place(monkeypatch):
    """Let even a single logit be priced in its own memory."""
    monkeypatch.setattr(module, "FEW", 0)


@pytest.mark.parametrize("few", [0, 100, 2**17])  # a row at a time, some rows, most of them
@pytest.mark.parametrize("dtype, within", [(torch.float32, 1e-6), (torch.float64, 1e-14)])
@pytest.mark.parametrize("symbols, vocab_size", [(1, 1), (5, 2), (32, 7), (13, 65), (70, 3000)])
def test_it_is_pytorchs(symbols, vocab_size, dtype, within, few, monkeypatch):
    monkeypatch.setattr(module, "FEW", few)
    torch.manual_seed(symbols)
    logits, targets = 3 * torch.randn(symbols, vocab_size, dtype=dtype), torch.randint(vocab_size, (symbols,))
    ours, theirs = (loss_and_gradient(price, logits, targets) for price in (cross_entropy, functional.cross_entropy))
    torch.testing.assert_close(ours, theirs, rtol=within, atol=within)


def test_logits_too_large_to_be_exponentiated_are_priced():
    logits = torch.tensor([[200.0, -200, 0], [-400, -200, -200]])
    loss, gradient = loss_and_gradient(cross_entropy, logits, torch.tensor([2, 1]))
    assert loss == pytest.approx(3 * (200 + math.log(2)) / 2)
    torch.testing.assert_close(gradient, torch.tensor([[1.5, 0, -1.5], [0, -0.75, 0.75]]), rtol=1e-4, atol=1e-4)


def test_logits_of_any_layout_are_taken():
    torch.manual_seed(0)
    logits, targets = torch.randn(7, 12).T, torch.randint(7, (12,))
    ours, theirs = (loss_and_gradient(price, logits, targets) for price in (cross_entropy, functional.cross_entropy))
    torch.testing.assert_close(ours, theirs)


def test_half_precision_is_priced_in_float32_and_kept():
    torch.manual_seed(0)
    logits, targets = torch.randn(20, 9).bfloat16(), torch.randint(9, (20,))
    loss, gradient = loss_and_gradient(cross_entropy, logits, targets)
    expected, theirs = loss_and_gradient(functional.cross_entropy, logits.float(), targets)
    assert loss.dtype == torch.float32 and gradient.dtype == torch.bfloat16
    torch.testing.assert_close((loss, gradient), (expected, theirs.bfloat16()))


def test_the_gradient_takes_the_place_of_the_logits():
    weights = torch.zeros(6, 5, requires_grad=True)
    logits = weights * 1
    given = []
    logits.register_hook(given.append)
    loss = cross_entropy(logits, torch.zeros(6, dtype=torch.long))
    assert not logits.any()
    loss.backward()
    assert given[0].data_ptr() == logits.data_ptr()


def test_few_logits_are_left_to_pytorch(monkeypatch):
    monkeypatch.setattr(module, "FEW", 30)
    for rows, written in ((6, False), (7, True)):
        logits = torch.zeros(rows, 5, requires_grad=True) * 1
        cross_entropy(logits, torch.zeros(rows, dtype=torch.long)).backward()
        assert bool(logits.any()) == written


def test_logits_that_are_still_needed_are_not_overwritten_in_silence():
    logits = torch.zeros(6, 5, requires_grad=True).exp()  # whose derivative needs what it returned
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        cross_entropy(logits, torch.zeros(6, dtype=torch.long)).backward()


def test_going_back_twice_is_refused():
    loss = cross_entropy(torch.zeros(6, 5, requires_grad=True) * 1, torch.zeros(6, dtype=torch.long))
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("few", [0, 2**20])  # in its own memory, and by PyTorch's function
def test_what_has_no_mean_or_no_price_is_refused(few, monkeypatch):
    monkeypatch.setattr(module, "FEW", few)
    for wrong, run in (([1, 5], "1 to 5"), ([1, -1], "-1 to 1"), ([1, -100], "-100 to 1")):  # PyTorch leaves out -100
        with pytest.raises(ValueError, match=f"targets run from {run}; symbols are numbered 0 to 4"):
            cross_entropy(torch.zeros(2, 5), torch.tensor(wrong))
    with pytest.raises(ValueError, match=r"targets have shape \(0,\); .* with at least one step"):
        cross_entropy(torch.zeros(0, 5), torch.zeros(0, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"logits have shape \(3, 5\) and targets \(2,\)"):
        cross_entropy(torch.zeros(3, 5), torch.tensor([1, 2]))
    with pytest.raises(ValueError, match=r"targets have shape \(2, 5\); one axis is expected: \(symbols,\)"):
        cross_entropy(torch.zeros(2, 5), torch.zeros(2, 5))  # probabilities
    with pytest.raises(ValueError, match="targets are torch.float32; symbol numbers are integers"):
        cross_entropy(torch.zeros(2, 5), torch.tensor([1.0, 2.0]))
    assert cross_entropy(torch.zeros(2, 5), torch.tensor([1, 2]).int()) == pytest.approx(math.log(5))

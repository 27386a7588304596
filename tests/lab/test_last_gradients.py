"""The gradient of the last loss, by the recurrent weights and by each input, is that of a whole backward pass."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from lab.ch04_vanishing_gradients.gradients import recurrent_gradient
from lab.ch04_vanishing_gradients.input_gradient import input_gradients
from unrolled.cells import GRUCell, LSTMCell, RNNCell, unroll
from unrolled.models import LanguageModel


def test_the_recurrent_weights_gradient_is_that_of_a_training():
    model = LanguageModel(11, embedding_size=4, hidden_size=5)
    tokens, target, state = torch.randint(11, (3, 6)), torch.randint(11, (3,)), torch.randn(3, 5)

    def loss(last):
        return cross_entropy(model.output(last), target, reduction="none")

    measured = recurrent_gradient(model.core.layers[0], model.embedding(tokens), loss, state)
    logits, _ = model(tokens, state)
    cross_entropy(logits[:, -1], target).backward()
    assert measured.shape == (25,)
    assert torch.allclose(torch.from_numpy(measured).view(5, 5), model.core.layers[0].W_hh.grad, atol=1e-7)


@pytest.mark.parametrize("kind", [RNNCell, LSTMCell, GRUCell])
def test_the_recurrent_weights_gradient_is_that_of_every_block(kind):
    torch.manual_seed(0)
    cell, inputs = kind(3, 4).double(), torch.randn(2, 5, 3, dtype=torch.float64)
    measured = recurrent_gradient(cell, inputs, lambda last: (last**3).sum(1))
    assert cell.W_hh.grad is None
    (unroll(cell, inputs, plain=True)[0][:, -1] ** 3).sum(1).mean().backward()
    expected = torch.cat([cell.W_hh.grad[4 * at : 4 * at + 4].flatten() for at in range(len(cell.blocks))])
    assert torch.allclose(torch.from_numpy(measured), expected, rtol=1e-10, atol=1e-12)


def test_the_gradient_of_an_input_is_that_of_the_state_through_the_input_weights():
    torch.manual_seed(0)
    cell = RNNCell(3, 5).double()
    inputs, weights = torch.randn(4, 6, 3).double(), torch.randn(5).double()

    def loss(last):
        return last @ weights

    measured = input_gradients(lambda x: unroll(cell, x)[0], inputs, loss)
    assert measured.shape == (4, 6, 3) and not inputs.requires_grad
    state, expected = torch.zeros(4, 5).double(), []
    for t in range(6):  # ∂L/∂x_t = W_xhᵀ diag(φ′) ∂L/∂h_t, where ∂L/∂h_t follows the rest of the sequence
        _, state = unroll(cell, inputs[:, t : t + 1], state)
        h_t = state.detach().requires_grad_()
        last = unroll(cell, inputs[:, t + 1 :], h_t)[1] if t < 5 else h_t
        (of_h_t,) = torch.autograd.grad(loss(last).sum(), h_t)
        expected.append((of_h_t * (1 - h_t**2)) @ cell.W_xh)
    assert torch.allclose(measured.flip(1), torch.stack(expected, dim=1))

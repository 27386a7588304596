"""Several layers of cells equal PyTorch's network of several layers."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from small_runs import tensors
from unrolled.cells import CELLS, GRUCell, OriginalLSTMCell, RNNCell, unroll
from unrolled.models import Stack

SIZES = st.integers(1, 6)
NETWORKS = {"rnn": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}


@settings(max_examples=40, deadline=None)
@given(
    d=SIZES,
    h=SIZES,
    batch=SIZES,
    time=st.integers(1, 8),
    layers=st.integers(1, 3),
    kind=st.sampled_from(list(NETWORKS)),
)
def test_a_stack_equals_torch_forward_and_backward(d, h, batch, time, layers, kind):
    theirs = NETWORKS[kind](d, h, num_layers=layers, batch_first=True, dtype=torch.float64)
    ours, wrapped = Stack(CELLS[kind].from_torch(theirs, layer) for layer in range(layers)), Stack([theirs])
    inputs = torch.randn(batch, time, d, dtype=torch.float64, requires_grad=True)
    parts = torch.randn(2 if kind == "lstm" else 1, layers, batch, h, dtype=torch.float64, requires_grad=True)
    state = tuple(tuple(layer) if len(layer) > 1 else layer[0] for layer in parts.unbind(1))  # a layer: h, or (h, c)
    state = state if layers > 1 else state[0]
    weigh = torch.randn(batch, time, h, dtype=torch.float64)
    results = []
    for module, before in ((ours, state), (theirs, tuple(parts) if kind == "lstm" else parts[0])):
        states, last = module(inputs, before)
        ends = [end.square().sum() for end in tensors(last)]
        gradients = torch.autograd.grad((states * weigh).sum() + sum(ends), [inputs, parts])
        results.append([states, sum(ends), *gradients])
    assert max((a - b).abs().max().item() for a, b in zip(*results, strict=True)) < 1e-10
    for first in (state, None):
        pairs = zip(tensors(wrapped(inputs, first)), tensors(ours(inputs, first)), strict=True)
        assert all((a - b).abs().max() < 1e-10 for a, b in pairs)


def test_cells_of_several_kinds_and_sizes_stand_on_each_other():
    cells = [OriginalLSTMCell(3, 4), GRUCell(4, 6), RNNCell(6, 2)]
    inputs = torch.randn(2, 5, 3)
    states, last = Stack(cells)(inputs)
    assert torch.equal(states, unroll(cells[2], unroll(cells[1], unroll(cells[0], inputs)[0])[0])[0])
    assert [part.shape for part in tensors(last)] == [(2, 4), (2, 4), (2, 6), (2, 2)]


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: Stack([]), "there are no layers"),
        (
            lambda: Stack([RNNCell(3, 4), RNNCell(3, 4)]),
            "layer 1 has input_size 3, and the one below it has hidden_size 4",
        ),
        (
            lambda: Stack([RNNCell(3, 4), RNNCell(4, 4)])(torch.zeros(2, 5, 3), torch.zeros(2, 4)),
            "a tuple of 2 states is expected",
        ),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()

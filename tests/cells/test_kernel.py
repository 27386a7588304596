"""Cells that PyTorch has too are unrolled by its kernel without gradients, and an LSTM with them: the same numbers."""

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize

from small_runs import tensors
from unrolled.cells import GRUCell, LSTMCell, OriginalLSTMCell, RNNCell, fast, fused, unroll
from unrolled.cells.fast import FAST, KERNEL_STEPS

CELLS = {
    "rnn": lambda d, h: RNNCell(d, h),
    "rnn, relu": lambda d, h: RNNCell(d, h, "relu"),
    "lstm": lambda d, h: LSTMCell(d, h),
    "gru, reset after": lambda d, h: GRUCell(d, h, reset="after"),
}
TIME = KERNEL_STEPS + 3


@pytest.fixture
def kernels(monkeypatch):
    """Return a list of the kernels that have been called."""
    called, by_kernel = [], fast.by_kernel

    def noted(kernel, *arguments):
        called.append(kernel)
        return by_kernel(kernel, *arguments)

    monkeypatch.setattr(fast, "by_kernel", noted)
    return called


def random_state(cell, batch: int, **options):
    state = tuple(torch.randn(batch, cell.hidden_size, **options) for _ in cell.state_names)
    return state if len(state) > 1 else state[0]


def difference(cell, inputs, state=None) -> float:
    """Return by how much the states and the last state differ from those of the plain steps; shapes may not."""
    with torch.no_grad():
        (states, last), (plain, plain_last) = unroll(cell, inputs, state), unroll(cell, inputs, state, plain=True)
    pairs = list(zip((states, *tensors(last)), (plain, *tensors(plain_last)), strict=True))
    assert all(ours.shape == right.shape and ours.dtype == right.dtype for ours, right in pairs)
    return max((ours - right).abs().max().item() for ours, right in pairs)


@pytest.mark.parametrize("dtype, bound", [(torch.float64, 1e-12), (torch.float32, 1e-6)])
@pytest.mark.parametrize("d, h, batch, time", [(1, 1, 1, 16), (3, 4, 2, 19), (7, 5, 33, 40), (64, 96, 8, 64)])
@pytest.mark.parametrize("kind", CELLS)
def test_the_kernel_equals_the_plain_steps(kind, d, h, batch, time, dtype, bound, kernels):
    torch.manual_seed(0)
    cell = CELLS[kind](d, h).to(dtype)
    inputs = torch.randn(batch, time, d, dtype=dtype)
    assert difference(cell, inputs) < bound
    assert difference(cell, inputs, random_state(cell, batch, dtype=dtype)) < bound
    assert len(kernels) == 2


@pytest.mark.parametrize("kind", CELLS)
def test_inputs_and_states_may_lie_in_memory_as_they_like(kind, kernels):
    torch.manual_seed(0)
    cell = CELLS[kind](3, 4)
    time_major = torch.randn(TIME, 2, 3).transpose(0, 1)
    every_other = torch.randn(4, 2 * TIME, 6)[::2, ::2, ::2]
    one_row = tuple(torch.randn(4).expand(2, -1) for _ in cell.state_names)  # as a learned initial state
    state = one_row if len(one_row) > 1 else one_row[0]
    for inputs in (time_major, every_other, torch.randn(1, 1, 3).expand(2, TIME, -1)):
        assert not inputs.is_contiguous()
        before = inputs.clone()
        assert difference(cell, inputs, state) < 1e-6 and torch.equal(inputs, before)
    assert len(kernels) == 3


@pytest.mark.parametrize("kind", CELLS)
def test_weights_changed_in_place_count_at_once(kind, kernels):
    torch.manual_seed(0)
    cell, inputs = CELLS[kind](3, 4), torch.randn(2, TIME, 3)
    with torch.no_grad():
        last = unroll(cell, inputs)[0]
        for change in (
            lambda: cell.W_hh.mul_(0.5),
            lambda: cell.block(cell.blocks[-1]).b_h.fill_(1.0),
            lambda: cell.W_xh.data.neg_(),  # which autograd's version counter does not see
            lambda: cell.load_state_dict(CELLS[kind](3, 4).state_dict()),
        ):
            change()
            states = unroll(cell, inputs)[0]
            assert (states - last).abs().max() > 1e-3 and difference(cell, inputs) < 1e-6
            last = states
    assert kernels


@pytest.mark.parametrize("kind", CELLS)
def test_with_gradients_only_the_lstm_runs_by_the_kernel(kind, kernels):
    cell, inputs = CELLS[kind](3, 4), torch.randn(2, TIME, 3)
    state, trained = random_state(cell, 2), [torch.lstm] * (kind == "lstm")
    states, _ = unroll(cell, inputs, state)  # the weights need gradients
    assert kernels == trained and states.requires_grad
    cell.requires_grad_(False)
    for needs in (inputs, *tensors(state)):
        kernels.clear()
        needs.requires_grad_(True)
        assert unroll(cell, inputs, state)[0].requires_grad and kernels == trained
        needs.requires_grad_(False)
    kernels.clear()
    assert not unroll(cell, inputs, state)[0].requires_grad and len(kernels) == 1
    cell.requires_grad_(True)
    for off in (torch.no_grad, torch.inference_mode):
        with off():
            assert not unroll(cell, inputs, state)[0].requires_grad
    assert len(kernels) == 3
    with torch.no_grad(), torch.enable_grad():
        assert unroll(cell, inputs, state)[0].requires_grad
    assert kernels[3:] == trained


def gradients(cell, inputs, state, plain: bool, weigh) -> list[torch.Tensor]:
    """Return all outputs of an LSTM, and the gradients by all there is of Σ weigh ⊙ output."""
    states, last = unroll(cell, inputs, state, plain=plain)
    loss = sum((output * w).mean() for output, w in zip((states, *last), weigh, strict=True))
    return [states, *last, *torch.autograd.grad(loss, [inputs, *state, *cell.parameters()])]


@pytest.mark.parametrize("dtype, bound", [(torch.float64, 1e-14), (torch.float32, 1e-6)])
@pytest.mark.parametrize("d, h, batch, time", [(1, 1, 1, 2), (3, 4, 2, 5), (7, 5, 33, 40), (64, 96, 8, 64)])
@pytest.mark.parametrize("used", [(1, 1, 1), (1, 0, 0), (0, 0, 1)])  # each output may weigh in the loss or not
def test_an_lstm_trains_by_the_kernel_as_by_the_plain_steps(d, h, batch, time, dtype, bound, used, kernels):
    torch.manual_seed(0)
    cell = LSTMCell(d, h).to(dtype)
    inputs = torch.randn(time, batch, d, dtype=dtype).transpose(0, 1).requires_grad_()
    begin = torch.randn(2, h, dtype=dtype, requires_grad=True)
    state = tuple(part.expand(batch, -1) for part in begin.unbind(0))  # as a learned initial state
    shapes = (batch, time, h), (batch, h), (batch, h)
    weigh = [use * torch.randn(shape, dtype=dtype) for use, shape in zip(used, shapes, strict=True)]
    ours, plain = (gradients(cell, inputs, state, way, weigh) for way in (False, True))
    assert kernels == [torch.lstm]
    for value, expected in zip(ours, plain, strict=True):
        assert value.shape == expected.shape and (value - expected).abs().max() < bound


@pytest.mark.parametrize("dtype, bound", [(torch.float64, 1e-12), (torch.float32, 1e-5)])
def test_the_gradient_of_an_lstm_can_be_differentiated_again(dtype, bound, kernels):
    torch.manual_seed(0)
    cell, inputs = LSTMCell(3, 4).to(dtype), torch.randn(2, 7, 3, dtype=dtype, requires_grad=True)
    results = []
    for plain in (False, True):
        loss = unroll(cell, inputs, plain=plain)[0].square().sum()
        (gradient,) = torch.autograd.grad(loss, [inputs], create_graph=True)
        results.append(torch.autograd.grad(gradient.square().sum(), [inputs, *cell.parameters()]))
    assert kernels == [torch.lstm]
    for ours, expected in zip(*results, strict=True):
        assert (ours - expected).abs().max() < bound * (1 + expected.abs().max())


def test_a_single_step_of_an_lstm_trains_by_the_plain_one(kernels):
    unroll(LSTMCell(3, 4), torch.randn(2, 1, 3))
    assert not kernels


def test_the_compiler_follows_the_plain_steps_of_an_lstm(kernels):
    cell, inputs = LSTMCell(3, 4), torch.randn(2, 5, 3)
    states, _ = torch.compile(unroll, backend="aot_eager", fullgraph=True)(cell, inputs)
    states.sum().backward()
    assert not kernels and (states - unroll(cell, inputs)[0]).abs().max() < 1e-6


@torch.no_grad()
@pytest.mark.parametrize("kind", CELLS)
def test_the_plain_steps_short_sequences_and_autocast_do_without_it(kind, kernels):
    cell, inputs = CELLS[kind](3, 4), torch.randn(2, TIME, 3)
    unroll(cell, inputs, plain=True)
    unroll(cell, inputs[:, : KERNEL_STEPS - 1])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        unroll(cell, inputs)
    assert not kernels


@torch.no_grad()
@pytest.mark.parametrize("make", [OriginalLSTMCell, GRUCell, lambda d, h: RNNCell(d, h, "sigmoid")])
def test_a_cell_that_pytorch_does_not_have_does_without_it(make, kernels):
    assert difference(make(3, 4), torch.randn(2, TIME, 3)) < 1e-6 and not kernels


@torch.no_grad()
@pytest.mark.parametrize("kind", [*CELLS, "gru"])
def test_a_single_step_without_gradients_is_the_plain_one(kind, monkeypatch):
    cell, inputs = (CELLS | {"gru": GRUCell})[kind](3, 4), torch.randn(2, 1, 3)
    monkeypatch.setitem(FAST, type(cell), None)
    assert difference(cell, inputs) == 0


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("method", ["project", "equations", "step"])
@pytest.mark.parametrize("parent", [RNNCell, LSTMCell, GRUCell])
def test_a_subclass_with_steps_of_its_own_has_them_run(parent, method, recorded, kernels, monkeypatch):
    calls = []

    def counted(self, *arguments):
        calls.append(method)
        return getattr(parent, method)(self, *arguments)

    monkeypatch.setattr(fused.GRUResetBefore, "apply", None)
    cell = type("Hooked", (parent,), {method: counted})(3, 4)
    with torch.set_grad_enabled(recorded):
        unroll(cell, torch.randn(2, TIME, 3))
    assert len(calls) == (1 if method == "project" else TIME) and not kernels


def test_weights_that_are_computed_are_computed_anew():
    class Halved(nn.Module):
        def forward(self, weights):
            return weights / 2

    cell, inputs = LSTMCell(3, 4), torch.randn(2, TIME, 3)
    whole = unroll(cell, inputs)[0]
    parametrize.register_parametrization(cell, "W_hh", Halved())
    assert (unroll(cell, inputs)[0] - whole).abs().max() > 1e-3
    with torch.no_grad():
        cell.parametrizations.W_hh.original.mul_(2)
    assert (unroll(cell, inputs)[0] - whole).abs().max() < 1e-6


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("kind", [*CELLS, "gru"])
def test_half_precision_and_autocast_run(kind, recorded, kernels):
    torch.manual_seed(0)
    cell, inputs = (CELLS | {"gru": GRUCell})[kind](6, 8), torch.randn(3, TIME, 6)
    with torch.set_grad_enabled(recorded):
        expected, _ = unroll(cell, inputs)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            mixed, _ = unroll(cell, inputs)
        if recorded:
            mixed.float().sum().backward()
            assert torch.isfinite(cell.W_hh.grad).all()
            cell.zero_grad()
        states, _ = unroll(cell.bfloat16(), inputs.bfloat16())
    assert states.dtype == torch.bfloat16
    assert all((rounded.float() - expected).abs().max() < 0.05 for rounded in (mixed, states))
    assert len(kernels) == (2 if kind == "lstm" or not (recorded or kind == "gru") else 0)
    if recorded:
        states.sum().backward()
        assert torch.isfinite(cell.W_hh.grad).all()


@torch.no_grad()
@pytest.mark.parametrize("kind", CELLS)
def test_bad_input_is_named_as_ever(kind):
    cell = CELLS[kind](3, 4)
    with pytest.raises(ValueError, match="the last axis is 5 and should be input_size, 3"):
        unroll(cell, torch.zeros(2, TIME, 5))
    with pytest.raises(ValueError, match=r"axis 0 \(batch\) is 3 and should be 2"):
        unroll(cell, torch.zeros(2, TIME, 3), random_state(cell, 3))

"""The book's cells equal PyTorch's, forward and backward, and their variants equal a computation step by step."""

import math
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from small_runs import tensors
from unrolled import cells
from unrolled.cells import CELLS, GRUCell, LSTMCell, OriginalLSTMCell, RNNCell, TwinCell, detach, select, trace, unroll
from unrolled.cells.fast import FAST

SIZES = st.integers(1, 7)
MODULES = {  # ours, PyTorch's cell and network, and their keywords
    "tanh": (RNNCell, nn.RNNCell, nn.RNN, {"nonlinearity": "tanh"}),
    "relu": (RNNCell, nn.RNNCell, nn.RNN, {"nonlinearity": "relu"}),
    "lstm": (LSTMCell, nn.LSTMCell, nn.LSTM, {}),
    "gru": (GRUCell, nn.GRUCell, nn.GRU, {}),
}
KINDS = st.sampled_from(list(MODULES))
EVERY = {
    "rnn": RNNCell(3, 4),
    "lstm": LSTMCell(3, 4),
    "lstm of 1997": OriginalLSTMCell(3, 4),
    "gru": GRUCell(3, 4),
    "gru, reset after": GRUCell(3, 4, reset="after"),
}


def gap(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    return (ours - theirs).abs().max().item()


def random_state(kind: str, batch: int, hidden: int, wanted: bool):
    """Return a state of this kind that needs gradients, or None."""
    if not wanted:
        return None
    h, c = (torch.randn(batch, hidden, dtype=torch.float64, requires_grad=True) for _ in range(2))
    return (h, c) if kind == "lstm" else h


def worst(ours, theirs, x, state, call_ours, call_theirs) -> float:
    """Return the largest difference in outputs, in gradients by inputs and state, and in gradients by the weights.

    The gradients by the weights are compared as PyTorch's own, through the conversion: a cell with PyTorch's gradients
    for weights holds ours, except that each of two added biases has the gradient of the sum.
    """
    leaves, results = [x, *(tensors(state) if state is not None else ())], []
    for call, module in ((call_ours, ours), (call_theirs, theirs)):
        outputs = call(module)
        generator = torch.Generator().manual_seed(0)
        weigh = [torch.randn(out.shape, dtype=torch.float64, generator=generator) for out in outputs]
        loss = sum((out * w).sum() for out, w in zip(outputs, weigh, strict=True))
        by_leaves = torch.autograd.grad(loss, leaves, retain_graph=True)
        by_weights = torch.autograd.grad(loss, list(module.parameters()))
        results.append(([*outputs, *by_leaves], by_weights))
    gaps = [gap(a, b) for a, b in zip(results[0][0], results[1][0], strict=True)]
    with torch.no_grad():
        for weight, gradient in zip(theirs.parameters(), results[1][1], strict=True):
            weight.copy_(gradient)
        for name, bias in theirs.named_parameters():
            if name.startswith("bias_hh"):
                bias[: bias.shape[0] if not isinstance(ours, GRUCell) else 2 * ours.hidden_size] = 0
    expected = type(ours).from_torch(theirs)
    return max(gaps + [gap(a, b) for a, b in zip(results[0][1], expected.parameters(), strict=True)])


@pytest.mark.parametrize("plain", [True, False])
@settings(max_examples=60, deadline=None)
@given(d=SIZES, h=SIZES, batch=SIZES, time=st.integers(1, 12), kind=KINDS, with_state=st.booleans())
def test_an_unrolled_cell_equals_torch(plain, d, h, batch, time, kind, with_state):
    ours_class, _, network_class, options = MODULES[kind]
    theirs = network_class(d, h, **options, batch_first=True, dtype=torch.float64)
    inputs = torch.randn(batch, time, d, dtype=torch.float64, requires_grad=True)
    state = random_state(kind, batch, h, with_state)

    def call_ours(cell):
        states, last = unroll(cell, inputs, state, plain=plain)
        return [states, *tensors(last)]

    def call_theirs(network):
        before = None if state is None else tuple(part.unsqueeze(0) for part in tensors(state))
        states, last = network(inputs, before if before is None or len(before) > 1 else before[0])
        return [states, *(part[0] for part in tensors(last))]

    assert worst(ours_class.from_torch(theirs), theirs, inputs, state, call_ours, call_theirs) < 1e-10


@settings(max_examples=30, deadline=None)
@given(d=SIZES, h=SIZES, kind=KINDS, bias=st.booleans())
def test_weights_go_to_torch_and_come_back(d, h, kind, bias):
    ours_class, cell_class, _, options = MODULES[kind]
    ours = ours_class.from_torch(cell_class(d, h, bias=bias, **options, dtype=torch.float64))
    theirs = ours.to_torch()
    again = ours_class.from_torch(theirs)
    x, state = torch.randn(3, d, dtype=torch.float64), random_state(kind, 3, h, True)
    assert isinstance(theirs, cell_class)
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), again.parameters(), strict=True))
    assert all(gap(a, b) < 1e-10 for a, b in zip(tensors(ours(x, state)), tensors(theirs(x, state)), strict=True))
    if not bias:
        assert (ours.b_h == 0).all()


def test_the_second_bias_is_kept_apart_only_where_it_counts():
    theirs = nn.GRUCell(3, 4, dtype=torch.float64)
    back = GRUCell.from_torch(theirs).to_torch()
    assert torch.equal(back.bias_hh[8:], theirs.bias_hh[8:]) and (back.bias_hh[:8] == 0).all()
    assert torch.equal(back.bias_ih[8:], theirs.bias_ih[8:])


def test_a_layer_of_a_network_is_taken_by_its_number():
    theirs = nn.LSTM(3, 4, num_layers=2)
    second = LSTMCell.from_torch(theirs, layer=1)
    assert second.input_size == 4
    assert torch.equal(second.block("o").W_hh, theirs.weight_hh_l1[12:])


def spoiled(kind: str, spoil) -> float:
    """Return how far a step is from PyTorch's after one thing was spoiled in the converted weights."""
    ours_class, cell_class, _, options = MODULES[kind]
    theirs = cell_class(3, 4, **options, dtype=torch.float64)
    ours = ours_class.from_torch(theirs)
    with torch.no_grad():
        spoil(ours)
    x, state = torch.randn(2, 3, dtype=torch.float64), random_state(kind, 2, 4, True)
    return gap(tensors(ours(x, state))[0], tensors(theirs(x, state))[0])


def swap(cell, one: str, other: str) -> None:
    for a, b in zip(cell.block(one), cell.block(other), strict=True):
        kept = a.clone()
        a.copy_(b)
        b.copy_(kept)


@pytest.mark.parametrize(
    "kind, spoil",
    [
        ("tanh", lambda cell: cell.W_hh.copy_(cell.W_hh.T.clone())),  # a forgotten transpose
        ("lstm", lambda cell: swap(cell, "f", "i")),
        ("lstm", lambda cell: swap(cell, "candidate", "o")),
        ("lstm", lambda cell: cell.b_h.zero_()),
        ("gru", lambda cell: swap(cell, "z", "r")),
        ("gru", lambda cell: cell.b_hh.zero_()),
        ("gru", lambda cell: [weights.neg_() for weights in cell.block("z")]),  # the other meaning of z
        ("gru", lambda cell: (cell.block("candidate").b_h.add_(cell.b_hh), cell.b_hh.zero_())),  # biases added up
        ("gru", lambda cell: setattr(cell, "reset", "before")),
    ],
)
def test_the_comparison_can_fail(kind, spoil):
    torch.manual_seed(0)
    assert spoiled(kind, lambda cell: None) < 1e-10
    assert spoiled(kind, spoil) > 1e-3


def test_the_lstm_of_1997_is_one_that_forgets_nothing():
    """Its weights for a forget gate do not exist, and with its others PyTorch's LSTM, whose f is 1, does the same."""
    torch.manual_seed(0)
    cell, modern = OriginalLSTMCell(3, 4).double(), LSTMCell(3, 4, forget_bias=100.0).double()
    with torch.no_grad():
        for name in cell.blocks:
            for weight, other in zip(modern.block(name), cell.block(name), strict=True):
                weight.copy_(other)
        for weight in modern.block("f")[:2]:
            weight.zero_()
    inputs, state = torch.randn(2, 5, 3, dtype=torch.float64), random_state("lstm", 2, 4, True)
    (ours, last), (theirs, other) = unroll(cell, inputs, state), unroll(modern, inputs, state)
    assert all(gap(*pair) < 1e-12 for pair in ((ours, theirs), *zip(last, other, strict=True)))
    assert cell.W_hh.shape == (12, 4) and not isinstance(cell, TwinCell)


@pytest.mark.parametrize("bias", [-1.0, 0.0, 2.0])
def test_the_forget_gate_begins_with_its_bias(bias):
    cell = LSTMCell(3, 4, forget_bias=bias)
    assert (cell.block("f").b_h == bias).all() and not (cell.block("i").b_h == bias).any()
    assert trace(cell, torch.zeros(1, 1, 3))["f"].flatten().tolist() == pytest.approx([1 / (1 + math.exp(-bias))] * 4)


@pytest.mark.parametrize("name", EVERY)
def test_a_trace_holds_the_states_of_unroll_and_satisfies_the_equations(name):
    cell, inputs = EVERY[name], torch.randn(2, 6, 3)
    values = trace(cell, inputs)
    states, last = unroll(cell, inputs, plain=True)
    assert torch.equal(values["h"], states) and torch.equal(values["h"][:, -1], tensors(last)[0])
    assert all(value.shape == (2, 6, 4) for value in values.values())
    before = {key: torch.cat([torch.zeros(2, 1, 4), value[:, :-1]], dim=1) for key, value in values.items()}
    if isinstance(cell, LSTMCell | OriginalLSTMCell):
        forgets = isinstance(cell, LSTMCell)
        assert list(values) == [*(["f"] if forgets else []), "i", "candidate", "c", "o", "h"]
        assert torch.equal(values["c"][:, -1], last[1])
        kept = values["f"] * before["c"] if forgets else before["c"]
        assert torch.allclose(values["c"], kept + values["i"] * values["candidate"])
        assert torch.allclose(values["h"], values["o"] * values["c"].tanh())
    elif isinstance(cell, GRUCell):
        assert list(values) == ["z", "r", "candidate", "h"]
        assert torch.allclose(values["h"], torch.lerp(before["h"], values["candidate"], values["z"]), atol=1e-6)
    else:
        assert list(values) == ["h"]


@pytest.mark.parametrize("name", EVERY)
def test_unrolling_is_stepping(name):
    cell, inputs = EVERY[name].double(), torch.randn(2, 6, 3, dtype=torch.float64)
    state = None
    for x in inputs.unbind(1):
        state = cell(x, state)
    for plain in (True, False):
        _, last = unroll(cell, inputs, plain=plain)
        assert all(gap(a, b) < 1e-12 for a, b in zip(tensors(state), tensors(last), strict=True))


def test_blocks_are_views_and_a_wrong_one_is_named():
    cell = LSTMCell(3, 4)
    with torch.no_grad():
        cell.block("candidate").W_xh.fill_(7)
    assert (cell.W_xh[8:12] == 7).all() and not (cell.W_xh[:8] == 7).any() and not (cell.W_xh[12:] == 7).any()
    with pytest.raises(ValueError, match="there is no block 'z'; this cell has f, i, candidate, o"):
        cell.block("z")


def test_a_nested_state_is_detached():
    h, c = torch.zeros(2, 2, 4, requires_grad=True).unbind(0)
    (one, two), three = detach(((h, c), h))
    assert not (one.requires_grad or two.requires_grad or three.requires_grad) and h.requires_grad


def test_rows_of_a_nested_state_are_selected_reordered_and_repeated():
    h, c = torch.arange(24.0).view(2, 3, 4).unbind(0)
    (one, two), three = select(((h, c), h.numpy()), [2, 0, 2, 1])
    for selected, state in ((one, h), (two, c), (three, h)):
        assert torch.equal(torch.as_tensor(selected), torch.stack([state[2], state[0], state[2], state[1]]))
    assert select(h.numpy(), [1]).shape == (1, 4)  # one row is still a batch


@pytest.mark.parametrize(
    "shape, says",
    [
        ((3, 4), r"axis 0 \(batch\) is 3 and should be 2"),
        ((2, 5), r"axis 1 \(hidden_size\) is 5 and should be 4"),
        ((1, 2, 4), r"two axes are expected: \(batch, hidden_size\)"),
    ],
)
@pytest.mark.parametrize("kind", [kind for kind in CELLS if kind not in ("linear-attention", "delta")])
def test_a_state_of_the_wrong_shape_says_which_axis(kind, shape, says):
    cell, state = CELLS[kind](3, 4), torch.zeros(shape)
    if kind.startswith("lstm"):
        state, says = (torch.zeros(2, 4), state), "c of the state has shape.*" + says
    with pytest.raises(ValueError, match=says):
        cell(torch.zeros(2, 3), state)
    with pytest.raises(ValueError, match=says):
        unroll(cell, torch.zeros(2, 6, 3), state)


@pytest.mark.parametrize(
    "kind, state, says",
    [
        ("rnn", (torch.zeros(2, 4),), r"the state is a tuple; a tensor, \(batch, hidden_size\), is expected"),
        ("lstm", torch.zeros(2, 4), r"the state is a tensor; a tuple \(h, c\) of 2 tensors is expected"),
        ("lstm", (torch.zeros(2, 4),), r"the state is a tuple of 1; a tuple \(h, c\) of 2 tensors"),
        ("lstm", [torch.zeros(2, 4)] * 2, "the state is a list of 2; a tuple"),
        ("lstm", (torch.zeros(2, 4), (torch.zeros(2, 4),)), "c of the state is a tuple; a tensor"),
        ("linear-attention", (torch.zeros(2, 4),) * 2, r"the state is a tuple of 2; a tuple \(h, S, n\) of 3 tensors"),
        ("linear-attention", (torch.zeros(2, 4),) * 3, r"S of the state has .* axis 1 \(size\) is 4 and should be 16"),
        ("delta", (torch.zeros(2, 4),) * 2, r"S of the state has .* axis 1 \(size\) is 4 and should be 16"),
    ],
)
def test_a_state_of_the_wrong_form_says_so(kind, state, says):
    with pytest.raises(ValueError, match=says):
        CELLS[kind](3, 4)(torch.zeros(2, 3), state)


def test_a_state_on_another_device_says_so():
    with pytest.raises(ValueError, match="the state is on meta but the inputs are on cpu"):
        RNNCell(3, 4)(torch.zeros(2, 3), torch.zeros(2, 4, device="meta"))
    with pytest.raises(ValueError, match="h of the state is on meta but the inputs are on cpu"):
        LSTMCell(3, 4)(torch.zeros(2, 3), (torch.zeros(2, 4, device="meta"), torch.zeros(2, 4)))


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: RNNCell(3, 4)(torch.zeros(2, 5)), "the last axis is 5 and should be input_size, 3"),
        (lambda: unroll(RNNCell(3, 4), torch.zeros(2, 3)), "three axes are expected"),
        (lambda: unroll(LSTMCell(3, 4), torch.zeros(2, 6, 5)), "the last axis is 5 and should be input_size, 3"),
        (lambda: unroll(RNNCell(3, 4), torch.zeros(2, 0, 3)), "at least one step"),
        (lambda: trace(GRUCell(3, 4), torch.zeros(2, 0, 3)), "at least one step"),
        (lambda: RNNCell(0, 4), "input_size is 0"),
        (lambda: LSTMCell(3, 0), "hidden_size is 0"),
        (lambda: RNNCell(3, 4, nonlinearity="gelu"), "'gelu'; it can be one of tanh, relu"),
        (lambda: GRUCell(3, 4, reset="behind"), "reset is 'behind'; it can be 'before' or 'after'"),
        (lambda: GRUCell(3, 4).to_torch(), 'resets after the product; a cell with reset="before" has no twin'),
        (lambda: RNNCell(3, 4, "sigmoid").to_torch(), "no RNN with nonlinearity='sigmoid', only with 'tanh'"),
        (lambda: LSTMCell.from_torch(nn.GRU(3, 4)), "made from torch.nn's LSTMCell or LSTM, not from GRU"),
        (lambda: GRUCell.from_torch(nn.GRU(3, 4, bidirectional=True)), "two directions or a projection"),
        (lambda: LSTMCell.from_torch(nn.LSTM(3, 4, proj_size=2)), "two directions or a projection"),
        (lambda: RNNCell.from_torch(nn.RNN(3, 4), layer=1), "layer is 1; the module has layers 0 to 0"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_every_cell_but_the_lstm_of_1997_has_a_fast_path():
    assert set(CELLS.values()) - set(FAST) == {OriginalLSTMCell} and set(FAST) <= set(CELLS.values())


def test_no_page_of_the_room_leads_back_to_itself():
    def leads_to(name):  # also under TYPE_CHECKING
        text = (Path(cells.__file__).parent / f"{name}.py").read_text(encoding="utf8")
        pages = re.findall(r"from unrolled\.cells\.(\w+) import", text)
        return {*pages, *re.findall(r"from unrolled\.cells import (\w+)\n", text.split('"""', 2)[2])}

    names = {path.stem for path in Path(cells.__file__).parent.glob("[a-z]*.py")}
    waiting = {name: leads_to(name) & names for name in names}
    while ready := [name for name, pages in waiting.items() if not pages & waiting.keys()]:
        for name in ready:
            del waiting[name]
    assert not waiting


def test_a_cell_says_what_it_is():
    assert repr(GRUCell(3, 4)) == "GRUCell(3, 4, reset='before')"
    assert repr(RNNCell(3, 4)) == "RNNCell(3, 4, nonlinearity='tanh')"


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("shape", [(), (3,), (2, 5, 3)])
def test_a_step_takes_a_batch_of_vectors_and_nothing_else(kind, shape):
    expected = re.escape(f"x has shape {shape}; two axes are expected: (batch, input_size); use x[None]")
    with pytest.raises(ValueError, match=expected):
        CELLS[kind](3, 4)(torch.zeros(shape))

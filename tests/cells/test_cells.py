"""Every cell computes the equations of its chapter, whichever way it takes; weights come from PyTorch and go back."""

import math
import re

import pytest
import torch
from torch import nn

from small_runs import tensors
from unrolled import cells
from unrolled.cells import (
    CELLS,
    Cell,
    GRUCell,
    LSTMCell,
    RNNCell,
    detach,
    restart,
    select,
    trace,
    unroll,
)

sigmoid, tanh = torch.sigmoid, torch.tanh


def numbers(*shape, **options):
    return torch.randn(shape, dtype=torch.float64, **options)


# The equations once more, block by block: from x_t, (batch, d), and the state to the values of a step


def product(cell, name, x, h=None):
    W_xh, W_hh, b_h = cell.block(name)
    return x @ W_xh.T + b_h + (0 if h is None else h @ W_hh.T)


def rnn(phi):
    return lambda cell, x, h: {"h": phi(product(cell, "h", x, h))}


def lstm(cell, x, h, c):
    gates = {name: sigmoid(product(cell, name, x, h)) for name in cell.blocks if name != "candidate"}
    candidate = tanh(product(cell, "candidate", x, h))
    c = gates["f"] * c + gates["i"] * candidate
    return gates | {"candidate": candidate, "c": c, "h": gates["o"] * tanh(c)}


def gru(cell, x, h):
    z, r = (sigmoid(product(cell, name, x, h)) for name in ("z", "r"))
    W_xh, W_hh, b_h = cell.block("candidate")
    seen = (r * h) @ W_hh.T if cell.reset == "before" else r * (h @ W_hh.T + cell.b_hh)
    candidate = tanh(x @ W_xh.T + b_h + seen)
    return {"z": z, "r": r, "candidate": candidate, "h": (1 - z) * h + z * candidate}


def mingru(cell, x, h):
    z, candidate = sigmoid(product(cell, "z", x)), product(cell, "candidate", x)
    a = 1 - (2 if cell.signed else 1) * z
    return {"z": z, "candidate": candidate, "a": a, "b": z * candidate, "h": a * h + z * candidate}


def by_heads(step):
    """Apply a step to each sequence and each head by itself: to its q, k and v, (slice,), S, (slice, slice), and n."""

    def of_all(cell, x, h, S, *rest):
        heads, batch, found = cell.num_heads, len(x), []
        parts = [product(cell, name, x).view(batch, heads, -1) for name in "qkv"]
        rest = [part.view(batch, heads, -1) for part in rest]
        S = S.view(batch, heads, *[cell.hidden_size // heads] * 2)
        for row in range(batch):
            for head in range(heads):
                own = [part[row, head] for part in (*parts, S, *rest)]
                found.append(step(cell, x[row], head, *own))
        return {name: torch.cat([each[name].flatten() for each in found]).view(batch, -1) for name in found[0]}

    return of_all


@by_heads
def linear_attention(cell, x, head, q, k, v, S, n):
    q, k = (torch.where(a > 0, a + 1, a.exp()) for a in (q, k))
    S, n = S + torch.outer(v, k), n + k
    return {"S": S, "n": n, "h": S @ q / (n @ q)}


@by_heads
def delta(cell, x, head, q, k, v, S):
    beta = (2 if cell.negative else 1) * sigmoid(cell.W_beta[head] @ x + cell.b_beta[head])
    k = k / k.norm()
    S = S @ (torch.eye(len(k), dtype=k.dtype) - beta * torch.outer(k, k)) + beta * torch.outer(v, k)
    return {"beta": beta, "S": S, "h": S @ q}


EVERY = {  # each kind of cell: how it is made, and its equations
    "rnn": (lambda: RNNCell(3, 4), rnn(tanh)),
    "rnn, relu": (lambda: RNNCell(3, 4, "relu"), rnn(lambda a: a.clamp(min=0))),
    "rnn, sigmoid": (lambda: RNNCell(3, 4, "sigmoid"), rnn(sigmoid)),
    "rnn, identity": (lambda: RNNCell(3, 4, "identity"), rnn(lambda a: a)),
    "lstm": (lambda: LSTMCell(3, 4), lstm),
    "gru": (lambda: GRUCell(3, 4), gru),
    "gru, reset after": (lambda: GRUCell(3, 4, reset="after"), gru),
    "mingru": (lambda: cells.MinGRUCell(3, 4), mingru),
    "mingru, signed": (lambda: cells.MinGRUCell(3, 4, signed=True), mingru),
    "linear attention": (lambda: cells.LinearAttentionCell(3, 4), linear_attention),
    "linear attention, heads": (lambda: cells.LinearAttentionCell(3, 4, num_heads=2), linear_attention),
    "delta": (lambda: cells.DeltaCell(3, 4), delta),
    "delta, negative": (lambda: cells.DeltaCell(3, 4, num_heads=2, negative=True), delta),
}
BY_KERNEL = ("rnn", "rnn, relu", "lstm", "gru, reset after")  # where PyTorch has the cell
STEP_BY_STEP = ("rnn, sigmoid", "rnn, identity", "gru")


def case(name, batch=2, time=11):
    """Return a cell with weights of all signs, inputs, and the parts of a state that is not zero, in 64 bits."""
    torch.manual_seed(0)
    cell = EVERY[name][0]().double()
    with torch.no_grad():
        for weight in cell.parameters():
            weight.normal_()
    parts = [numbers(batch, size) for size in cell.state_sizes.values()]
    if "n" in cell.state_sizes:
        parts[2] = 1 + parts[2].abs()  # a sum of positive numbers, as the scores are divided by it
    return cell, numbers(batch, time, 3), parts


def joined(parts):
    return tuple(parts) if len(parts) > 1 else parts[0]


def by_hand(name, cell, inputs, parts):
    """Return the values of all equations at all steps, (batch, time, size) each."""
    steps, values = [], dict(zip(cell.state_names, parts, strict=True))
    for x in inputs.unbind(1):
        values = EVERY[name][1](cell, x, *(values[part] for part in cell.state_names))
        steps.append(values)
    return {key: torch.stack([step[key] for step in steps], dim=1) for key in steps[0]}


def close(ours, expected):
    pairs = list(zip(ours, expected, strict=True))
    return all(a.shape == b.shape and (a - b).abs().max() <= 1e-10 * (1 + b.abs().max()) for a, b in pairs)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("time", [1, 2, 11])
def test_a_cell_computes_its_equations_whichever_way_it_takes(name, time):
    cell, inputs, parts = case(name, time=time)
    values = by_hand(name, cell, inputs, parts)
    expected = [values["h"], *(values[part][:, -1] for part in cell.state_names)]
    traced = trace(cell, inputs, joined(parts))
    assert traced.keys() == values.keys() and close(traced.values(), [values[key] for key in traced])
    cut = (time + 1) // 2
    for plain in (True, False):
        with torch.no_grad():
            states, last = unroll(cell, inputs, joined(parts), plain=plain)
            assert close([states, *tensors(last)], expected)
            first, between = unroll(cell, inputs[:, :cut], joined(parts), plain=plain)
            assert close([first], [values["h"][:, :cut]])
            if cut < time:
                second, last = unroll(cell, inputs[:, cut:], between, plain=plain)
                assert close([torch.cat([first, second], dim=1), *tensors(last)], expected)
    state = joined(parts)
    for x in inputs.unbind(1):
        state = cell(x, state)
    assert close(tensors(state), expected[1:])
    zeros = [torch.zeros_like(part) for part in parts]
    assert close([unroll(cell, inputs)[0]], [by_hand(name, cell, inputs, zeros)["h"]])


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("plain", [True, False])
def test_every_gradient_is_that_of_the_equations(name, plain):
    cell, inputs, parts = case(name)
    leaves = [inputs.requires_grad_(), *(part.requires_grad_() for part in parts), *cell.parameters()]
    values, (states, last) = by_hand(name, cell, inputs, parts), unroll(cell, inputs, joined(parts), plain=plain)
    right = [values["h"], *(values[part][:, -1] for part in cell.state_names)]
    weights = [numbers(*output.shape) for output in right]
    results = []
    for outputs in ([states, *tensors(last)], right):
        loss = sum((weight * output).sum() for weight, output in zip(weights, outputs, strict=True))
        results.append(torch.autograd.grad(loss, leaves, allow_unused=True))
    unused = [ours is None or not ours.any() for ours in results[0]]
    assert unused == [theirs is None or not theirs.any() for theirs in results[1]]
    assert sum(unused) == ("S" in cell.state_sizes)  # attention and the delta rule never read h_{t−1}
    assert close(*([each for each, idle in zip(of, unused, strict=True) if not idle] for of in results))


@pytest.mark.parametrize("name", [name for name in EVERY if name not in STEP_BY_STEP])
def test_a_faster_way_takes_no_step(name, monkeypatch):
    cell, inputs, parts = case(name)
    monkeypatch.setattr(Cell, "step", None)
    with torch.no_grad():
        unroll(cell, inputs, joined(parts))
    if name not in BY_KERNEL or name == "lstm":  # in training, too
        unroll(cell, inputs, joined(parts))
    for run in (lambda: unroll(cell, inputs[:, :1]), lambda: unroll(cell, inputs, plain=True)):
        with pytest.raises(TypeError, match="NoneType"):
            run()
    with torch.autocast("cpu", dtype=torch.bfloat16), pytest.raises(TypeError, match="NoneType"):
        unroll(cell, inputs)


@pytest.mark.parametrize("name", BY_KERNEL)
def test_a_subclass_with_equations_of_its_own_has_them_run(name):
    made, inputs = EVERY[name][0]().double(), numbers(2, 11, 3)

    def halved(self, projected, state):
        return {key: value / 2 for key, value in type(made).equations(self, projected, state).items()}

    cell = type("Halved", (type(made),), {"equations": halved})(3, 4, **made.options()).double()
    for recorded in (True, False):
        with torch.set_grad_enabled(recorded):
            assert torch.equal(unroll(cell, inputs)[0], unroll(cell, inputs, plain=True)[0])


def test_autocast_runs_forward_and_backward_in_two_formats():
    for name in ("lstm", "gru", "delta"):
        cell, inputs, _ = case(name)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            states, _ = unroll(cell.float(), inputs.float())
        states.float().sum().backward()
        assert torch.isfinite(cell.W_xh.grad).all() and (states - unroll(cell, inputs.float())[0]).abs().mean() < 0.1


@pytest.mark.parametrize("time", [1, 4, 9, 64])
def test_chunks_of_any_length_equal_the_steps_of_the_delta_rule(time):
    cell, inputs, parts = case("delta, negative", time=21)
    states, last = cell.unroll(inputs, joined(parts), chunk=time)
    expected, right = unroll(cell, inputs, joined(parts), plain=True)
    assert close([states, *last], [expected, *right])


# PyTorch's weights

TORCHS = {
    "tanh": (RNNCell, nn.RNNCell, nn.RNN, {"nonlinearity": "tanh"}),
    "relu": (RNNCell, nn.RNNCell, nn.RNN, {"nonlinearity": "relu"}),
    "lstm": (LSTMCell, nn.LSTMCell, nn.LSTM, {}),
    "gru": (GRUCell, nn.GRUCell, nn.GRU, {}),
}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("kind", TORCHS)
def test_weights_come_from_torch_and_go_back(kind, bias):
    ours, of_step, of_layer, options = TORCHS[kind]
    network = of_layer(3, 4, num_layers=2, bias=bias, batch_first=True, dtype=torch.float64, **options)
    layers, inputs = [ours.from_torch(network, layer) for layer in range(2)], numbers(2, 7, 3)
    assert [layer.input_size for layer in layers] == [3, 4]
    expected, _ = network(inputs)
    for plain in (True, False):
        states = inputs
        for layer in layers:
            states, _ = unroll(layer, states, plain=plain)
        assert close([states], [expected])
    step = of_step(3, 4, bias=bias, dtype=torch.float64, **options)
    cell, x, state = ours.from_torch(step), numbers(2, 3), numbers(2, 4)
    state = (state, numbers(2, 4)) if kind == "lstm" else state
    back = cell.to_torch()
    assert isinstance(back, of_step) and close(tensors(cell(x, state)), tensors(step(x, state)))
    assert close(tensors(back(x, state)), tensors(step(x, state)))
    again = ours.from_torch(back)
    assert all(torch.equal(a, b) for a, b in zip(cell.parameters(), again.parameters(), strict=True))


# How weights are drawn

DRAWN = [RNNCell, LSTMCell, GRUCell]


def test_torchs_initialisation_is_pytorchs():
    torch.manual_seed(0)
    ours = RNNCell(3, 4, initialisation="torch")
    torch.manual_seed(0)
    theirs = nn.RNNCell(3, 4)
    assert torch.equal(ours.W_xh, theirs.weight_ih) and torch.equal(ours.W_hh, theirs.weight_hh)
    assert torch.equal(ours.b_h, theirs.bias_ih + theirs.bias_hh)
    cell = GRUCell(3, 400, reset="after", initialisation="torch")
    spread = 400**-0.5 / math.sqrt(3)  # one number from U(−1/√h, 1/√h), or the sum of two where only the sum counts
    expected = {"z": spread * math.sqrt(2), "r": spread * math.sqrt(2), "candidate": spread}
    assert {name: cell.block(name).b_h.std().item() for name in expected} == pytest.approx(expected, rel=0.1)
    assert cell.b_hh.std().item() == pytest.approx(spread, rel=0.1)


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("name", ["uniform", "torch", "gaussian", "orthogonal", "identity"])
def test_a_name_means_the_same_for_a_new_cell_and_for_one_that_is_drawn_again(kind, name):
    torch.manual_seed(0)
    matrices = name not in ("uniform", "torch")
    new, scale = kind(30, 40, initialisation=name), 0.5 if matrices else 1.0
    W_xh = (drawn := kind(30, 40)).W_xh.clone()
    cells.initialise(drawn, name, scale)
    assert torch.equal(drawn.W_xh, W_xh) and not torch.equal(new.W_xh, W_xh)
    width = 30**-0.5 if matrices else 40**-0.5 / math.sqrt(3)
    assert new.W_xh.std().item() == pytest.approx(width, rel=0.1)
    for cell, radius in ((new, 1.0), (drawn, scale)):
        for block in map(cell.block, cell.blocks):
            W, square = block.W_hh.detach(), (block.W_hh.T @ block.W_hh).detach()
            assert torch.allclose(square, radius**2 * torch.eye(40), atol=1e-5) == (name in ("orthogonal", "identity"))
            assert torch.equal(W, radius * torch.eye(40)) == (name == "identity")
            assert (abs(torch.linalg.eigvals(W).abs().max().item() - radius) < 1e-5) == matrices
            assert matrices or (W.abs().max() <= 40**-0.5 and W.std().item() == pytest.approx(width, rel=0.1))
            assert cell is new or (block.b_h == 0).all() == matrices


def test_gates_begin_with_their_biases_and_generators_draw_alone():
    cell = LSTMCell(3, 4, input_bias=2.0, initialisation="orthogonal")
    assert [cell.block(name).b_h.tolist() for name in cell.blocks] == [[1.0] * 4, [2.0] * 4, [0.0] * 4, [0.0] * 4]
    assert LSTMCell(3, 4, forget_bias=None).block("f").b_h.std() > 0
    for kind in (GRUCell, cells.MinGRUCell):
        assert kind(3, 4, update_bias=-1.0).block("z").b_h.tolist() == [-1.0] * 4
    then, drawn = torch.get_rng_state(), []
    for _ in range(2):
        cell = cells.initialise(cell, "chrono", generator=torch.Generator().manual_seed(1), t_max=9)
        drawn.append(torch.cat([cell.W_hh.flatten(), cell.b_h]))
    assert torch.equal(*drawn) and torch.equal(torch.get_rng_state(), then)


@pytest.mark.parametrize(
    "kind, keeps, writes, options",
    [
        (LSTMCell, "f", "i", {"forget_bias": None}),
        (GRUCell, None, "z", {}),
        (cells.MinGRUCell, None, "z", {}),
    ],
)
def test_chrono_spreads_the_time_constants_up_to_t_max(kind, keeps, writes, options):
    torch.manual_seed(0)
    cell = kind(3, 400, initialisation="chrono", t_max=100, **options)
    steps = 1 / sigmoid(cell.block(writes).b_h.detach())  # after so many little of the old is left: 2 to T_max, uniform
    assert 1.99 < steps.min() < 2.6 and 98 < steps.max() < 100.1 and steps.mean() == pytest.approx(51, rel=0.15)
    if keeps:
        assert torch.equal(cell.block(keeps).b_h, -cell.block(writes).b_h)
    assert not any(cell.block(name).b_h.any() for name in {*cell.blocks} - {keeps, writes})


def test_the_delta_rule_begins_with_a_half():
    assert not cells.DeltaCell(3, 4).W_beta.any() and not cells.DeltaCell(3, 4).b_beta.any()


# Blocks, states, and what is refused


def test_blocks_are_views_and_a_cell_says_what_it_is():
    cell = LSTMCell(3, 4)
    with torch.no_grad():
        cell.block("candidate").W_xh.fill_(7)
    assert (cell.W_xh[8:12] == 7).all() and not (cell.W_xh[:8] == 7).any() and not (cell.W_xh[12:] == 7).any()
    assert repr(GRUCell(3, 4)) == "GRUCell(3, 4, reset='before')" and cells.MinGRUCell(3, 4).block("z").W_hh is None


def test_a_nested_state_is_detached_selected_and_restarted():
    h, c = torch.arange(24.0).view(2, 3, 4).requires_grad_().unbind(0)
    (one, two), three = detach(((h, c), h))
    assert not (one.requires_grad or two.requires_grad or three.requires_grad) and h.requires_grad
    h, c = one, two
    (one, two), three = select(((h, c), h.numpy()), [2, 0, 2, 1])
    for selected, state in ((one, h), (two, c), (three, h)):
        assert torch.equal(torch.as_tensor(selected), torch.stack([state[2], state[0], state[2], state[1]]))
    one, two = restart((h, c), (-h, -c), torch.tensor([True, False, True]))
    for changed, state in ((one, h), (two, c)):
        assert torch.equal(changed, torch.stack([-state[0], state[1], -state[2]]))


ZEROS = torch.zeros(2, 4)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: RNNCell(3, 4)(torch.zeros(2, 5)), "x has shape (2, 5); (batch, 3) is expected"),
        (lambda: cells.MinGRUCell(3, 4)(torch.zeros(3)), "x has shape (3,); (batch, 3) is expected: x[None] for one"),
        (lambda: GRUCell(3, 4)(torch.zeros(2, 5, 3)), "cells.unroll for sequences"),
        (lambda: unroll(LSTMCell(3, 4), torch.zeros(2, 6, 5)), "(2, 6, 5); (batch, time, 3) is expected"),
        (lambda: trace(GRUCell(3, 4), torch.zeros(2, 0, 3)), "with at least one step"),
        (lambda: RNNCell(3, 4)(torch.zeros(2, 3), ZEROS[:1]), "with [(1, 4)]; a tensor {'h': (2, 4)} is expected"),
        (lambda: LSTMCell(3, 4)(torch.zeros(2, 3), ZEROS), "a Tensor with [(2, 4)]; a tuple of tensors {'h': (2, 4),"),
        (lambda: LSTMCell(3, 4)(torch.zeros(2, 3), [ZEROS] * 2), "the state is a list"),
        (lambda: unroll(LSTMCell(3, 4), torch.zeros(2, 5, 3), (ZEROS, ZEROS[:1])), "with [(2, 4), (1, 4)]"),
        (lambda: RNNCell(3, 4)(torch.zeros(2, 3), (ZEROS,)), "the state is a tuple with [(2, 4)]; a tensor"),
        (lambda: CELLS["delta"](3, 4)(torch.zeros(2, 3), (ZEROS, ZEROS)), "{'h': (2, 4), 'S': (2, 16)} is expected"),
        (lambda: LSTMCell(3, 4).block("z"), "there is no block 'z'; this cell has f, i, candidate, o"),
        (lambda: RNNCell(3, 4, nonlinearity="gelu"), "'gelu'; it can be one of tanh, relu"),
        (lambda: GRUCell(3, 4, reset="behind"), "reset is 'behind'; it can be 'before' or 'after'"),
        (lambda: cells.DeltaCell(3, 4, num_heads=3), "num_heads is 3, which does not divide hidden_size, 4"),
        (lambda: GRUCell(3, 4).to_torch(), "GRUCell(3, 4, reset='before') has no twin in PyTorch"),
        (lambda: RNNCell(3, 4, "sigmoid").to_torch(), "has no twin in PyTorch"),
        (lambda: LSTMCell.from_torch(nn.GRU(3, 4)), "a LSTMCell takes weights from PyTorch's in one direction, not"),
        (lambda: GRUCell.from_torch(nn.GRU(3, 4, bidirectional=True)), "in one direction, not from GRU"),
        (lambda: RNNCell(3, 4, initialisation="glorot"), "'glorot'; it can be one of uniform, torch, gaussian"),
        (lambda: RNNCell(3, 4, initialisation="chrono"), "no gate of a RNNCell keeps its state"),
        (lambda: GRUCell(3, 4, initialisation="chrono"), "t_max is None; 'chrono' needs it"),
        (lambda: GRUCell(3, 4, t_max=20), "initialisation is 'uniform' and t_max is 20"),
        (lambda: cells.initialise(RNNCell(3, 4), "torch", 0.9), "radius is 0.9, but 'torch' does not use it"),
        (lambda: LSTMCell(3, 4, initialisation="chrono", t_max=20), "bias of 'f' is 1.0, but chrono draws it; give"),
        (lambda: cells.scan(torch.ones(2, 0, 3), torch.ones(2, 0, 3)), "(2, 0, 3) and (2, 0, 3); twice (batch, time"),
        (lambda: cells.scan_by_logs(torch.ones(2, 5, 1), torch.ones(2, 5, 3)), "(2, 5, 1) and (2, 5, 3)"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        call()

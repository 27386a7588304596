"""Linear recurrences: the scan equals the loop, and so do the cells that are made of it."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from small_runs import tensors
from unrolled.cells import (
    DeltaCell,
    DiagonalCell,
    LinearAttentionCell,
    LSTMCell,
    MinGRUCell,
    MinLSTMCell,
    RNNCell,
    scan,
    scan_by_logs,
    unroll,
)
from unrolled.tasks import ShellGame

CELLS = {
    "mingru": lambda: MinGRUCell(3, 4),
    "mingru, signed": lambda: MinGRUCell(3, 4, signed=True),
    "minlstm": lambda: MinLSTMCell(3, 4),
    "diagonal": lambda: DiagonalCell(3, 4),
    "linear attention": lambda: LinearAttentionCell(3, 4),
    "linear attention, heads": lambda: LinearAttentionCell(3, 4, num_heads=2),
    "linear attention, gated": lambda: LinearAttentionCell(3, 4, num_heads=2, gated=True),
    "delta": lambda: DeltaCell(3, 4),
    "delta, negative": lambda: DeltaCell(3, 4, num_heads=2, negative=True),
    "delta, gated": lambda: DeltaCell(3, 4, num_heads=2, gated=True),
}


def loop(a, b, h):
    """Return all states of h_t = a_t h_{t−1} + b_t, step by step."""
    states = []
    for t in range(a.shape[1]):
        h = a[:, t] * h + b[:, t]
        states.append(h)
    return torch.stack(states, dim=1)


def drawn(time, *, dtype=torch.float64, batch=2, size=3, positive=False):
    """Return factors like a gate's, and what is added, (batch, time, size) each, and a first state."""
    torch.manual_seed(time)
    a = torch.sigmoid(torch.randn(batch, time, size, dtype=torch.float64) + 2)
    b, h = (torch.randn(shape, dtype=torch.float64) for shape in ((batch, time, size), (batch, size)))
    return [part.to(dtype) for part in (a, b.abs() if positive else b, h.abs() if positive else h)]


def error(found, expected):
    return ((found.double() - expected).norm() / expected.norm()).item()


@given(st.integers(1, 70), st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_scan_equals_the_loop_forward_and_backward(time, with_state):
    a, b, h = (part.requires_grad_() for part in drawn(time))
    leaves = (a, b, h) if with_state else (a, b)
    weights, gradients = torch.randn_like(b), []
    first = h if with_state else torch.zeros_like(h)
    results = (scan(a, b, h if with_state else None), loop(a, b, first))
    for states in results:
        gradients.append(torch.autograd.grad((states * weights).sum(), leaves))
    assert error(results[0].detach(), results[1].detach()) < 1e-14
    assert all(error(*pair) < 1e-12 for pair in zip(*gradients, strict=True) if pair[1].norm() > 0)


@pytest.mark.parametrize("dtype, tree, logs", [(torch.float32, 1e-5, 1e-2), (torch.float64, 1e-12, 1e-10)])
def test_the_scans_are_exact_over_8192_steps(dtype, tree, logs):
    a, b, h = drawn(8192, positive=True)
    expected, from_nothing = loop(a, b, h), loop(a, b, torch.zeros_like(h))
    a, b, h = (part.to(dtype) for part in (a, b, h))
    assert error(scan(a, b, h), expected) < tree
    assert error(scan_by_logs(a.log(), b.log()), from_nothing) < logs


def test_the_gradient_of_the_scan_is_exact_over_8192_steps():
    a, b, h = (part.requires_grad_() for part in drawn(8192))
    weights = torch.randn_like(b)
    ours, theirs = (torch.autograd.grad((of(a, b, h) * weights).sum(), (a, b, h)) for of in (scan, loop))
    assert all(error(*pair) < 1e-12 for pair in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("positive", [True, False])
def test_an_empty_sum_has_the_logarithm_minus_infinity(positive):
    a, b = torch.full((1, 3, 1), 0.5), torch.tensor([0.0, 1.0, 0.0])[None, :, None]
    assert scan_by_logs(a.log(), b.log()).flatten().tolist() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize(
    "a, b, initial, says",
    [
        ((2, 0, 3), (2, 0, 3), None, r"a has shape \(2, 0, 3\), without a step; give at least one"),
        ((2, 5, 3), (2, 4, 3), None, r"a has shape \(2, 5, 3\) and b \(2, 4, 3\); both should be .* equal"),
        ((5,), (5,), None, r"a has shape \(5,\)"),
        ((2, 5, 3), (2, 5, 3), (2, 4), r"initial state has shape \(2, 4\); \(2, 3\) is expected"),
    ],
)
def test_what_does_not_fit_is_named(a, b, initial, says):
    with pytest.raises(ValueError, match=says):
        scan(torch.ones(a), torch.ones(b), None if initial is None else torch.ones(initial))


@pytest.mark.parametrize(
    "log_a, log_b, says",
    [
        (-1.0, math.nan, "log_b holds NaN, the logarithm of a negative number; use scan"),
        (math.nan, -1.0, "log_a holds NaN"),
        (0.5, -1.0, "log_a is 0.5 at the most, which is a factor above 1"),
    ],
)
def test_a_gate_out_of_range_and_a_negative_number_have_no_place_among_logarithms(log_a, log_b, says):
    logs = torch.zeros(1, 2, 1)
    with pytest.raises(ValueError, match=says):
        scan_by_logs(logs + log_a, logs + log_b)


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("time", [1, 2, 33])
def test_a_whole_sequence_equals_its_steps(kind, time):
    torch.manual_seed(0)
    cell, inputs = CELLS[kind]().double(), torch.randn(2, time + 5, 3, dtype=torch.float64)
    _, state = unroll(cell, inputs[:, :5], plain=True)
    results, weights = [], torch.randn(2, time, 4, dtype=torch.float64)
    for plain in (False, True):
        states, last = unroll(cell, inputs[:, 5:], state, plain=plain)
        loss = (states * weights).sum() + sum(part.square().sum() for part in tensors(last))
        used = torch.autograd.grad(loss, list(cell.parameters()), retain_graph=True)
        results.append([states, *tensors(last), *used])
    for ours, theirs in zip(*results, strict=True):
        assert (ours - theirs).abs().max() <= 1e-10 * (1 + theirs.abs().max())


def test_a_gate_that_reads_the_input_alone_interpolates():
    cell, x, h = MinGRUCell(2, 3), torch.randn(1, 2), torch.randn(1, 3)
    z = torch.sigmoid(x @ cell.block("z").W_xh.T + cell.block("z").b_h)
    candidate = x @ cell.block("candidate").W_xh.T + cell.block("candidate").b_h
    assert torch.allclose(cell(x, h), (1 - z) * h + z * candidate, atol=1e-6)
    assert cell.W_hh is None and cell.block("z").W_hh is None


def test_the_gates_of_a_minimal_lstm_add_up_to_one_even_where_both_are_shut():
    cell = MinLSTMCell(2, 3).double()
    with torch.no_grad():
        for name in ("f", "i"):
            cell.block(name).b_h.fill_(-800.0)  # σ underflows
            cell.block(name).W_xh.zero_()
    x, h = torch.zeros(1, 2, dtype=torch.float64), torch.ones(1, 3, dtype=torch.float64)
    candidate = cell.block("candidate").b_h
    assert torch.allclose(cell(x, h), (1 + candidate) / 2)


def test_a_signed_gate_holds_a_sign_that_changes_and_no_other_can():
    cell = MinGRUCell(1, 1, signed=True)
    with torch.no_grad():
        cell.block("z").W_xh.fill_(200.0)  # the bit 1 turns the state round, the bit 0 keeps it
        cell.block("z").b_h.fill_(-100.0)
        cell.block("candidate").W_xh.zero_()
        cell.block("candidate").b_h.zero_()
        bits = torch.randint(2, (8, 300, 1)).float()
        states, _ = unroll(cell, bits, torch.ones(8, 1))
    parity = 1 - 2 * (bits.cumsum(dim=1) % 2)
    assert torch.allclose(states, parity, atol=1e-4)
    unsigned = MinGRUCell(5, 6)
    values = unsigned.coefficients(unsigned.project(100 * torch.randn(50, 5)))
    assert (values["a"] >= 0).all() and (values["a"] <= 1).all()


def test_a_diagonal_state_space_model_is_a_convolution():
    cell, inputs = DiagonalCell(3, 4, t_max=50).double(), torch.randn(1, 40, 3, dtype=torch.float64)
    u, decay = cell.project(inputs)[0], cell.decay()
    kernel = (1 - (-decay).exp()) * (-decay * torch.arange(40.0)[:, None]).exp()  # (lag, hidden)
    convolved = torch.stack([(kernel[: t + 1].flip(0) * u[: t + 1]).sum(dim=0) for t in range(40)])
    assert torch.allclose(unroll(cell, inputs)[0][0], convolved, atol=1e-12)


def test_linear_attention_is_attention_without_a_softmax():
    torch.manual_seed(0)
    cell, inputs = LinearAttentionCell(3, 4).double(), torch.randn(1, 9, 3, dtype=torch.float64)
    q, k, v = cell.project(inputs)[0].chunk(3, dim=-1)
    q, k = (torch.where(part > 0, part + 1, part.exp()) for part in (q, k))
    expected = [
        sum((q[t] @ k[s]) * v[s] for s in range(t + 1)) / sum(q[t] @ k[s] for s in range(t + 1)) for t in range(9)
    ]
    assert torch.allclose(unroll(cell, inputs)[0][0], torch.stack(expected), atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"negative": True}, {"negative": True, "gated": True}])
@pytest.mark.parametrize("chunk", [1, 4, 9, 64])
def test_chunks_of_any_length_equal_the_steps_of_the_delta_rule(options, chunk):
    torch.manual_seed(0)
    cell, inputs = DeltaCell(3, 8, num_heads=2, **options).double(), torch.randn(2, 21, 3, dtype=torch.float64)
    torch.nn.init.normal_(cell.W_g)
    _, state = unroll(cell, inputs[:, :5], plain=True)
    states, last = cell.by_chunks(inputs[:, 5:], state, chunk)
    expected, (_, S) = unroll(cell, inputs[:, 5:], state, plain=True)
    assert torch.allclose(states, expected, rtol=0, atol=1e-12) and torch.allclose(last[1], S, rtol=0, atol=1e-12)


def test_a_step_of_the_delta_rule_descends_the_gradient_of_the_error():
    torch.manual_seed(0)
    cell, x = DeltaCell(3, 4).double(), torch.randn(1, 3, dtype=torch.float64)
    S = torch.randn(1, 16, dtype=torch.float64, requires_grad=True)
    _, k, v, beta, _ = (part[0] for part in cell.parts(cell.project(x)))
    (gradient,) = torch.autograd.grad((S.view(4, 4) @ k[0] - v[0]).square().sum() / 2, S)
    _, after = cell(x, (torch.zeros(1, 4, dtype=torch.float64), S))
    assert torch.allclose(after, S - beta * gradient, rtol=0, atol=1e-12)


def test_the_delta_rule_overwrites_what_a_sum_adds_up():
    cell = DeltaCell(5, 2)
    with torch.no_grad():
        cell.b_h.zero_()
        cell.b_g.fill_(50.0)  # β = 1
        cell.W_xh.zero_()
        cell.block("k").W_xh[:, :2] = torch.eye(2)  # an input is a key, a value, and a one for the query
        cell.block("v").W_xh[:, 2:4] = torch.eye(2)
        cell.block("q").W_xh[0, 4] = 1.0
        twice = torch.tensor([[[3.0, 0, 5, -1, 1], [3, 0, 2, 7, 1]]])  # the same key, two values
        states, _ = unroll(cell, twice)
    assert torch.allclose(states[0], torch.tensor([[5.0, -1], [2, 7]]), atol=1e-5)


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
        cell.W_g.fill_(50.0)  # β = 2, a reflection
        cell.W_g[:, 0] = -50.0  # and β = 0 where nothing happens
        cell.block("q").b_h.copy_(torch.eye(5).flatten())  # each head asks for a cup
        S = torch.zeros(4, 5, 5, 5)
        S[:, :, 0, 0] = 1.0  # the ball begins under cup 0
        states, _ = unroll(cell, moves, (torch.zeros(4, 25), S.flatten(1)))
    assert torch.equal(states.unflatten(-1, (5, 5))[..., 0].argmax(dim=-1), places)


def test_a_gated_head_forgets_at_the_rate_of_its_bias():
    cell = LinearAttentionCell(3, 4, num_heads=4, gated=True)
    constants = -1 / torch.sigmoid(cell.b_f).log()
    assert torch.allclose(constants, torch.logspace(0, 2, 4), rtol=1e-3)
    cell = DeltaCell(3, 4, num_heads=4, gated=True)
    assert torch.allclose(-1 / torch.sigmoid(cell.b_g[4:]).log(), torch.logspace(0, 2, 4), rtol=1e-3)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: LinearAttentionCell(3, 4, num_heads=3), "num_heads is 3, which does not divide hidden_size, 4"),
        (lambda: DeltaCell(3, 4, num_heads=3), "num_heads is 3, which does not divide hidden_size, 4"),
        (lambda: DiagonalCell(3, 4, t_max=1), "t_max is 1; the longest time constant must be above 1 step"),
        (lambda: MinGRUCell(3, 4, initialisation="chrono", t_max=9, update_bias=1.0), "but chrono draws it"),
        (lambda: DiagonalCell(3, 4, initialisation="chrono"), "no gate of a DiagonalCell keeps its state"),
    ],
)
def test_an_impossible_cell_is_named(make, says):
    with pytest.raises(ValueError, match=says):
        make()


def test_chrono_sets_the_gates_of_the_minimal_cells():
    torch.manual_seed(0)
    z = MinGRUCell(3, 500, initialisation="chrono", t_max=100).block("z").b_h
    assert (z <= 0).all() and z.min().item() == pytest.approx(-math.log(99), rel=0.02)
    cell = MinLSTMCell(3, 500, initialisation="chrono", t_max=100)
    assert torch.equal(cell.block("f").b_h, -cell.block("i").b_h)


def test_a_recurrent_cell_still_has_recurrent_weights():
    assert RNNCell(3, 4).W_hh.shape == (4, 4) and LSTMCell(3, 4).block("f").W_hh.shape == (4, 4)

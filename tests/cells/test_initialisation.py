"""How weights are drawn: by name for every cell."""

import math

import pytest
import torch
from torch import nn

from unrolled.cells import GRUCell, LSTMCell, MinGRUCell, OriginalLSTMCell, RNNCell, initialise

CELLS = [RNNCell, LSTMCell, OriginalLSTMCell, GRUCell]


@pytest.mark.parametrize("kind", CELLS)
def test_uniform_weights_lie_within_one_over_the_root_of_h(kind):
    torch.manual_seed(0)
    cell = kind(30, 100)
    drawn = torch.cat([cell.W_xh.flatten(), cell.W_hh.flatten()]).detach()
    assert drawn.abs().max() <= 0.1 and drawn.std() == pytest.approx(0.1 / math.sqrt(3), rel=0.02)
    assert {name for name in cell.blocks if cell.block(name).b_h.std().item() == 0} <= {"f"}


def test_torch_is_what_pytorch_does():
    torch.manual_seed(0)
    ours = RNNCell(3, 4, initialisation="torch")
    torch.manual_seed(0)
    theirs = nn.RNNCell(3, 4)
    assert torch.equal(ours.W_xh, theirs.weight_ih) and torch.equal(ours.W_hh, theirs.weight_hh)
    assert torch.equal(ours.b_h, theirs.bias_ih + theirs.bias_hh)


def test_torchs_biases_are_sums_of_two():
    torch.manual_seed(0)
    cell = LSTMCell(3, 300, initialisation="torch", forget_bias=None)
    for name in cell.blocks:  # the sum of two numbers from U(−a, a) has the standard deviation a √(2/3)
        spread = cell.hidden_size**-0.5 * math.sqrt(2 / 3)
        assert cell.block(name).b_h.std().item() == pytest.approx(spread, rel=0.1)


def test_a_bias_that_is_kept_apart_is_drawn_once():
    cell = GRUCell(3, 200, reset="after", initialisation="torch")
    bound = 200**-0.5
    assert cell.block("candidate").b_h.abs().max() <= bound and cell.b_hh.abs().max() <= bound
    assert cell.block("r").b_h.abs().max() > bound


@pytest.mark.parametrize("kind", CELLS)
def test_orthogonal_blocks_keep_every_length(kind):
    torch.manual_seed(0)
    cell = kind(50, 40, initialisation="orthogonal")
    for name in cell.blocks:
        block = cell.block(name)
        torch.testing.assert_close(block.W_hh.T @ block.W_hh, torch.eye(40), atol=1e-5, rtol=0)
        assert block.W_xh.std().item() == pytest.approx(50**-0.5, rel=0.1)
        assert (block.b_h == (1.0 if name == "f" else 0.0)).all()


def test_orthogonal_leaves_no_bias_undrawn():
    assert GRUCell(3, 4, reset="after", initialisation="orthogonal").b_hh.tolist() == [0.0] * 4


def test_chrono_spreads_the_time_constants_of_an_lstm_up_to_t_max():
    torch.manual_seed(0)
    cell = LSTMCell(3, 400, initialisation="chrono", t_max=100, forget_bias=None)
    b_f = cell.block("f").b_h.detach()
    steps = 1 / (1 - torch.sigmoid(b_f))  # 1 + exp(b_f), uniform between 2 and T_max
    assert steps.min() >= 1.99 and steps.max() <= 100.1 and steps.mean() == pytest.approx(51, rel=0.15)
    assert torch.equal(cell.block("i").b_h, -cell.block("f").b_h) and not cell.block("o").b_h.any()


def test_chrono_makes_a_gru_write_as_rarely():
    torch.manual_seed(0)
    cell = GRUCell(3, 400, initialisation="chrono", t_max=100)
    steps = 1 / torch.sigmoid(cell.block("z").b_h.detach())  # z writes: after 1/z steps little of the old is left
    assert steps.min() >= 1.99 and steps.max() <= 100.1 and steps.mean() == pytest.approx(51, rel=0.15)
    assert not cell.block("r").b_h.any()


@pytest.mark.parametrize("kind", CELLS)
@pytest.mark.parametrize("name", ["uniform", "torch", "gaussian", "orthogonal", "identity"])
def test_a_name_means_the_same_for_a_new_cell_and_for_one_that_is_drawn_again(kind, name):
    torch.manual_seed(0)
    new, scale = kind(5, 4, initialisation=name), 1.0 if name in ("uniform", "torch") else 0.5
    drawn = initialise(kind(5, 4), name, scale)
    for cell, radius in ((new, 1.0), (drawn, scale)):
        for block in map(cell.block, cell.blocks):
            square = (block.W_hh.T @ block.W_hh).detach()
            assert torch.allclose(square, radius**2 * torch.eye(4), atol=1e-5) == (name in ("orthogonal", "identity"))
            assert torch.equal(block.W_hh, radius * torch.eye(4)) == (name == "identity")
            largest = torch.linalg.eigvals(block.W_hh.detach()).abs().max().item()
            assert (abs(largest - radius) < 1e-5) == (name not in ("uniform", "torch"))
            if cell is drawn:
                assert (block.b_h == 0).all() == (name not in ("uniform", "torch"))


def test_a_cell_that_is_drawn_again_keeps_its_input_weights_and_the_generator_draws_alone():
    torch.manual_seed(0)
    cell = LSTMCell(5, 4)
    W_xh, then = cell.W_xh.clone(), torch.get_rng_state()
    initialise(cell, "chrono", generator=torch.Generator().manual_seed(1), t_max=9)
    again = initialise(LSTMCell(5, 4), "chrono", generator=torch.Generator().manual_seed(1), t_max=9)
    assert torch.equal(cell.W_xh, W_xh) and not torch.equal(again.W_xh, W_xh)
    assert torch.equal(cell.W_hh, again.W_hh) and torch.equal(cell.b_h, again.b_h)
    torch.manual_seed(0)
    LSTMCell(5, 4)
    assert torch.equal(torch.get_rng_state(), then)


def test_gate_biases_are_what_is_given():
    lstm = LSTMCell(3, 4, forget_bias=-1.0, input_bias=2.0, initialisation="orthogonal")
    assert lstm.block("f").b_h.tolist() == [-1.0] * 4 and lstm.block("i").b_h.tolist() == [2.0] * 4
    assert OriginalLSTMCell(3, 4, input_bias=-3.0).block("i").b_h.tolist() == [-3.0] * 4
    assert GRUCell(3, 4, update_bias=-1.0).block("z").b_h.tolist() == [-1.0] * 4
    assert LSTMCell(3, 4, forget_bias=None).block("f").b_h.std() > 0


@pytest.mark.parametrize(
    "call, says",
    [
        (
            lambda: RNNCell(3, 4, initialisation="glorot"),
            "'glorot'; it can be one of uniform, torch, gaussian, orthogonal, identity, chrono",
        ),
        (lambda: RNNCell(3, 4, initialisation="chrono"), "no gate of a RNNCell keeps its state"),
        (lambda: GRUCell(3, 4, initialisation="chrono"), "t_max is None; chrono needs the longest dependence"),
        (lambda: GRUCell(3, 4, initialisation="chrono", t_max=2), "t_max is 2; chrono needs"),
        (lambda: GRUCell(3, 4, t_max=20), "t_max is 20, but initialisation is 'uniform'"),
        (lambda: initialise(RNNCell(3, 4), "orthogonal", -1.0), "radius is -1.0; it must be above 0"),
        (lambda: initialise(RNNCell(3, 4), "torch", 0.9), "radius is 0.9, but 'torch' does not use it; leave it out"),
        (lambda: initialise(MinGRUCell(3, 4), "orthogonal"), "a MinGRUCell has no recurrent weights to draw"),
        (
            lambda: LSTMCell(3, 4, initialisation="chrono", t_max=20),
            "bias of 'f' is 1.0, but chrono draws it; give None",
        ),
        (
            lambda: GRUCell(3, 4, initialisation="chrono", t_max=20, update_bias=0.0),
            "bias of 'z' is 0.0, but chrono draws it",
        ),
    ],
)
def test_what_does_not_fit_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()

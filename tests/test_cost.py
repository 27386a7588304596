"""Every formula of the costs equals what is measured on the thing itself."""

import pytest
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from unrolled import cells, cost

SIZES = [(3, 4), (8, 16), (24, 16)]


def numel(module):
    return sum(weight.numel() for weight in module.parameters())


def flops(call):
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        call()
    return counter.get_total_flops()


def saved(call, weights):
    """Return how many numbers autograd saves in a call, each storage once, without the weights."""
    storages, alive = {}, []

    def pack(tensor):
        alive.append(tensor)  # so that no other storage takes its place
        storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes() // tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = call()
    for tensor in weights:
        storages.pop(tensor.untyped_storage().data_ptr(), None)
    del result
    return sum(storages.values())


@pytest.mark.parametrize("kind", cost.CELLS)
@pytest.mark.parametrize("d, h", SIZES)
def test_a_cell_costs_what_its_formula_says(kind, d, h):
    cell, expected, kept = cells.CELLS[kind](d, h), cost.recurrent(kind, d, h), []
    assert numel(cell) == expected.parameters
    assert sum(cell.state_sizes.values()) == expected.state
    inputs = torch.randn(4, 10, d)
    assert flops(lambda: cells.unroll(cell, inputs, plain=True)) == 40 * expected.flops
    for steps in (64, 128):
        inputs = torch.randn(4, steps, d)
        kept.append(saved(lambda: cells.unroll(cell, inputs, plain=kind == "lstm"), cell.parameters()))  # noqa: B023
    assert (kept[1] - kept[0]) / (4 * 64) == expected.kept


@pytest.mark.parametrize("h, n, heads", [(16, 32, 4), (16, 64, 4), (32, 24, 2)])
def test_a_layer_of_a_transformer_costs_what_its_formula_says(h, n, heads):
    layer = nn.TransformerEncoderLayer(h, heads, 4 * h, 0.0, "gelu", batch_first=True, norm_first=True)
    expected, symbols, mask = cost.transformer_layer(h, n, heads), torch.randn(2, n, h), torch.zeros(n, n)
    assert numel(layer) == expected.parameters
    assert numel(layer.self_attn) == cost.attention(h, n, heads).parameters
    layer.train()
    with sdpa_kernel(SDPBackend.MATH):  # others are not counted on a CPU
        assert flops(lambda: layer(symbols, mask)) == 2 * n * expected.flops
        kept = saved(lambda: layer(symbols, mask), [*layer.parameters(), mask])
        assert kept == 2 * n * expected.kept
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        kept = saved(lambda: layer(symbols, mask), [*layer.parameters(), mask])
        assert kept == 2 * n * (expected.kept - 2 * h - n * heads + heads)


@pytest.mark.parametrize("V, h", [(50, 16), (7, 9)])
def test_the_layers_before_and_after_cost_what_their_formulas_say(V, h):
    assert numel(nn.Embedding(V, h)) == cost.embedding(V, h).parameters
    assert numel(nn.Linear(h, V)) == cost.output(V, h).parameters
    assert flops(lambda: nn.Linear(h, V)(torch.randn(3, h))) == 3 * cost.output(V, h).flops


def test_costs_add_up_and_an_unknown_cell_is_named():
    two = cost.recurrent("gru", 8, 16) + cost.recurrent("gru", 16, 16)
    assert two.parameters == sum(numel(cells.GRUCell(size, 16)) for size in (8, 16)) and two.state == 32
    with pytest.raises(ValueError, match="kind is 'gnu'; it can be one of rnn, lstm"):
        cost.recurrent("gnu", 1, 1)


def test_intensity_is_operations_over_bytes_and_the_roof_has_a_corner():
    weights, vectors = torch.randn(12, 20), torch.randn(20, 5)
    moved = sum(tensor.nbytes for tensor in (weights, vectors, weights @ vectors))
    assert cost.intensity(12, 20, 5) == flops(lambda: weights @ vectors) / moved
    assert cost.intensity(12, 20, 5, number_bytes=2) == 2 * cost.intensity(12, 20, 5)
    assert [cost.roof(x, peak=6, bandwidth=2) for x in (1, 3, 5)] == [2, 6, 6]

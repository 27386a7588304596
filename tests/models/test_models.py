"""The language model, over the book's cores and over PyTorch's."""

import math

import pytest
import torch

from small_runs import tensors
from unrolled.cells import CELLS
from unrolled.models import CORES, FixedWindowLM, LanguageModel

LAYERS = [1, 2, 3]


@pytest.mark.parametrize("num_layers", LAYERS)
@pytest.mark.parametrize("core", CORES)
def test_reading_in_pieces_equals_reading_at_once(core, num_layers):
    model = LanguageModel(11, hidden_size=7, core=core, num_layers=num_layers)
    tokens = torch.randint(11, (3, 10))
    whole, last = model(tokens)
    first, state = model(tokens[:, :4])
    second, end = model(tokens[:, 4:], state)
    assert whole.shape == (3, 10, 11)
    assert [part.shape for part in tensors(last)] == [(3, size) for size in model.state_sizes.values()] * num_layers
    assert torch.allclose(torch.cat([first, second], dim=1), whole, atol=1e-6)
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(tensors(end), tensors(last), strict=True))


def test_the_weights_of_one_layer_keep_their_names_and_their_random_numbers():
    torch.manual_seed(0)
    embedding, cell, output = torch.nn.Embedding(11, 5), CELLS["rnn"](5, 7), torch.nn.Linear(7, 11)
    torch.manual_seed(0)
    model = LanguageModel(11, embedding_size=5, hidden_size=7).state_dict()
    assert list(model) == [
        *("h_0", "embedding.weight", "core.layers.0.W_xh", "core.layers.0.W_hh", "core.layers.0.b_h"),
        *("output.weight", "output.bias"),
    ]
    weights = [torch.zeros(7), *embedding.parameters(), *cell.parameters(), *output.parameters()]
    assert all(torch.equal(a, b) for a, b in zip(model.values(), weights, strict=True))


@pytest.mark.parametrize("core", CORES)
def test_no_prediction_depends_on_the_future(core):
    model = LanguageModel(11, hidden_size=7, core=core)
    tokens = torch.randint(11, (1, 10))
    changed = tokens.clone()
    changed[0, 6] = (changed[0, 6] + 1) % 11
    difference = (model(tokens)[0] - model(changed)[0]).abs().amax(dim=(0, 2))
    assert (difference[:6] == 0).all() and (difference[6:] > 0).all()


@pytest.mark.parametrize("num_layers", LAYERS)
@pytest.mark.parametrize("core", CORES)
def test_the_initial_state_is_learned_only_if_asked(core, num_layers):
    for learned in (False, True):
        model = LanguageModel(11, core=core, num_layers=num_layers, hidden_size=7, learn_initial_state=learned)
        model(torch.randint(11, (2, 5)))[0].square().sum().backward()
        carried = [
            name for name in model.state_sizes if name != "h" or core not in ("linear-attention", "delta")
        ]  # it is only shown
        for name in carried:
            gradient = getattr(model, f"{name}_0").grad
            assert (gradient is not None) == learned
            if learned:
                assert (gradient != 0).any(-1).all() and gradient.numel() == model.state_sizes[name] * num_layers


@pytest.mark.parametrize("core", ["lstm", "torch-lstm"])
def test_a_learned_initial_state_reaches_its_layer(core):
    model = LanguageModel(11, core=core, num_layers=2, hidden_size=7)
    with torch.no_grad():
        for name, first in (("h_0", 0.0), ("c_0", 10.0)):
            getattr(model, name).copy_(first + torch.tensor([[1.0], [2.0]]))
    values = [part.unique().item() for part in tensors(model.initial_state(3))]
    assert values == [1.0, 11.0, 2.0, 12.0]  # h and c of the first layer, then of the second


@pytest.mark.parametrize("core", CORES)
def test_bad_input_is_named(core):
    model = LanguageModel(11, hidden_size=7, core=core)
    bad = (torch.zeros(2, 8),) * len(model.state_sizes)
    with pytest.raises(ValueError, match=r"axis 1 \((hidden_)?size\) is 8 and should be 7"):
        model(torch.zeros(2, 4, dtype=torch.long), bad if len(bad) > 1 else bad[0])
    model = LanguageModel(11, hidden_size=7, core=core, num_layers=2)
    with pytest.raises(ValueError, match="the state is a Tensor; a tuple of 2 states is expected, one for each layer"):
        model(torch.zeros(2, 4, dtype=torch.long), torch.zeros(2, 7))
    with pytest.raises(ValueError, match="the state is a tuple of 3; a tuple of 2 states"):
        model(torch.zeros(2, 4, dtype=torch.long), (torch.zeros(2, 7),) * 3)


def test_options_reach_every_cell():
    model = LanguageModel(11, core="lstm", hidden_size=7, num_layers=2, cell_options={"forget_bias": 3.0})
    assert all((cell.block("f").b_h == 3).all() for cell in model.core.layers)
    assert not LanguageModel(11, core="torch-gru", cell_options={"bias": False}).core.layers[0].bias


@pytest.mark.parametrize(
    "options, message",
    [
        ({"num_layers": 0}, "num_layers is 0; it must be 1 or more"),
        ({"core": "rmn"}, "core is 'rmn'; it can be one of rnn, lstm, lstm-1997, gru, .*, torch-rnn"),
        *[({"embedding_scale": s}, f"embedding_scale is {s}; it must be above 0") for s in (0.0, math.nan, math.inf)],
        *[({"dropout": rate}, f"dropout is {rate}; it must be 0 or more") for rate in (-0.1, 1.0, math.nan)],
        *[({"weight_drop": rate}, f"weight_drop is {rate}; it must be 0 or more") for rate in (-0.1, 1.0, math.nan)],
        ({"core": "mingru", "weight_drop": 0.1}, "weight_drop is 0.1, but a mingru has no recurrent weights"),
        ({"tied": True}, "embedding_size is 32 and hidden_size is 128; where the output is tied"),
    ],
)
def test_what_cannot_be_made_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LanguageModel(11, **options)


def test_a_window_network_sees_exactly_its_window():
    model = FixedWindowLM(11, window=4, embedding_size=3, hidden_size=8)
    tokens = torch.randint(11, (1, 12))
    changed = tokens.clone()
    changed[0, 5] = (changed[0, 5] + 1) % 11
    difference = (model(tokens)[0] - model(changed)[0]).abs().amax(dim=(0, 2))
    assert (difference[5:9] > 0).all() and (difference[:5] == 0).all() and (difference[9:] == 0).all()


@pytest.mark.parametrize("layer_norm", [False, True])
def test_a_window_network_is_its_equations(layer_norm):
    model = FixedWindowLM(11, window=3, embedding_size=2, hidden_size=5, hidden_layers=2, layer_norm=layer_norm)
    tokens = torch.tensor([[4, 9, 1]])
    first, second, output = (layer for layer in model.layers if isinstance(layer, torch.nn.Linear))

    def logits(x):
        for layer in (first, second):
            a = layer.weight @ x + layer.bias
            x = torch.tanh((a - a.mean()) / torch.sqrt(a.var(correction=0) + 1e-5) if layer_norm else a)
        return output.weight @ x + output.bias

    vectors = torch.cat([model.embedding.weight[number] for number in (4, 9, 1)])
    assert torch.allclose(model(tokens)[0][0, -1], logits(vectors), atol=1e-6)
    beginning = torch.cat([torch.zeros(4), model.embedding.weight[4]])  # what is missing has the vector zero
    assert torch.allclose(model(tokens)[0][0, 0], logits(beginning), atol=1e-6)


@pytest.mark.parametrize("window", [1, 2, 5])
def test_a_window_network_reads_in_pieces_as_at_once(window):
    model = FixedWindowLM(11, window=window, hidden_size=8)
    tokens = torch.randint(11, (3, 10))
    whole, last = model(tokens)
    first, state = model(tokens[:, :2])
    second, end = model(tokens[:, 2:], state)
    assert torch.allclose(torch.cat([first, second], dim=1), whole, atol=1e-6)
    assert torch.equal(end, last) and torch.equal(last, tokens[:, 11 - window :])


def test_the_published_window_network_has_the_published_number_of_parameters():
    assert sum(weight.numel() for weight in FixedWindowLM(175).parameters()) == 313_743


def test_initialisation_and_normalisation_are_switches():
    torch.manual_seed(0)
    deviations = {}
    for initialisation in ("xavier", "default", "normal"):
        model = FixedWindowLM(50, hidden_size=400, initialisation=initialisation, layer_norm=False)
        deviations[initialisation] = model.layers[2].weight.std().item()
        assert not any(isinstance(layer, torch.nn.LayerNorm) for layer in model.layers)
        assert (model.layers[2].bias == 0).all() == (initialisation != "default")
    expected = {"xavier": (2 / 800) ** 0.5, "default": (1 / (3 * 400)) ** 0.5, "normal": 1.0}
    assert deviations == pytest.approx(expected, rel=0.02)
    norms = [layer for layer in FixedWindowLM(50).layers if isinstance(layer, torch.nn.LayerNorm)]
    assert len(norms) == 4 and not any(norm.elementwise_affine for norm in norms)


def test_a_window_network_names_bad_input():
    with pytest.raises(ValueError, match="initialisation is 'glorot'; it can be 'xavier', 'default' or 'normal'"):
        FixedWindowLM(11, initialisation="glorot")
    for name in ("window", "embedding_size", "hidden_size", "hidden_layers"):
        with pytest.raises(ValueError, match=f"{name} is 0; it must be 1 or more"):
            FixedWindowLM(11, **{name: 0})
    with pytest.raises(ValueError, match=r"state has shape \(2, 5\); \(2, 7\) is expected"):
        FixedWindowLM(11)(torch.zeros(2, 4, dtype=torch.long), torch.zeros(2, 5, dtype=torch.long))


@pytest.mark.parametrize("make", [LanguageModel, FixedWindowLM])
def test_costs_are_those_of_the_logits_in_evaluation_mode(make):
    model = make(11).train()
    inputs, targets = torch.randint(11, (3, 6)), torch.randint(11, (3, 6))
    costs, _ = model.costs(inputs, targets)
    logs = torch.log_softmax(model(inputs)[0], dim=2)
    assert torch.allclose(costs.float(), -logs.gather(2, targets[..., None])[..., 0], atol=1e-5)
    assert model.training and costs.dtype == torch.float64 and not costs.requires_grad
    model.embedding = torch.nn.Sequential(model.embedding, torch.nn.Dropout(0.5))  # costs are without it
    assert torch.equal(model.costs(inputs, targets)[0], costs)
    model.eval().costs(inputs, targets)
    assert not model.training


def test_a_scale_multiplies_what_the_core_reads_and_nothing_else():
    torch.manual_seed(0)
    plain = LanguageModel(7, hidden_size=8, embedding_size=8, tied=True)
    scaled = LanguageModel(7, hidden_size=8, embedding_size=8, tied=True, embedding_scale=8**0.5)
    scaled.load_state_dict(plain.state_dict())
    tokens = torch.tensor([[0, 3, 6]])
    assert torch.equal(plain.embed(tokens), plain.embedding(tokens))
    assert torch.equal(scaled.embed(tokens), 8**0.5 * plain.embedding(tokens))
    states, _ = scaled.core(8**0.5 * plain.embedding(tokens), scaled.initial_state(1))
    assert torch.equal(scaled(tokens)[0], plain.output(states))

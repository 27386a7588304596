"""Language models: each is its equations, reads in pieces as at once, and never looks ahead; no symbol, no answer."""

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

from small_runs import tensors
from unrolled.cells import CELLS, unroll
from unrolled.models import CORES, Dropout, FixedWindowLM, LanguageModel, ResidualLM, Stack, TransformerLM

V = 11
KINDS = {f"{core}, {n}": lambda core=core, n=n: recurrent(core=core, num_layers=n) for core in CORES for n in (1, 2)}
KINDS |= {"residual": lambda: ResidualLM(V, hidden_size=7, core="lstm", num_layers=3)}
KINDS |= {f"window {m}": lambda m=m: FixedWindowLM(V, window=m, hidden_size=8) for m in (1, 4)}
KINDS |= {f"transformer {n}": lambda n=n: transformer(context=n) for n in (2, 8)}
FEW = ("lstm, 1", "torch-lstm, 1", "window 4", "transformer 8")
EACH = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def recurrent(**options):
    return LanguageModel(V, **{"embedding_size": 7, "hidden_size": 7} | options)


def transformer(**options):
    """Return an untrained transformer with strong opinions."""
    model = TransformerLM(V, **{"context": 8, "hidden_size": 12, "num_layers": 2, "num_heads": 3} | options)
    for table in (model.embedding, model.positions):
        nn.init.normal_(table.weight)
    return model


def close(ours, expected, bound=1e-10):
    return all(a.shape == b.shape and (a - b).abs().max() < bound for a, b in zip(ours, expected, strict=True))


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@EACH
def test_reading_in_pieces_equals_reading_at_once_and_nothing_looks_ahead(make):
    model, tokens = make().double(), torch.randint(V, (3, 21))
    whole, last = model(tokens)
    state, logits = None, []
    for piece in tokens.split([4, 1, 9, 7], dim=1):
        piece, state = model(piece, state)
        logits.append(piece)
    assert whole.shape == (3, 21, V) and close([torch.cat(logits, dim=1)], [whole])
    assert all(torch.allclose(*pair) for pair in zip(tensors(state), tensors(last), strict=True))
    changed = tokens.clone()
    changed[:, 6] = (changed[:, 6] + 1) % V
    difference = (model(changed)[0] - whole).abs().amax(dim=(0, 2))
    assert not difference[:6].any() and difference[6] > 0


@EACH
def test_costs_are_those_of_the_logits_in_evaluation_mode(make):
    model, inputs, targets = make().double(), torch.randint(V, (3, 6)), torch.randint(V, (3, 6))
    costs, _ = model.costs(inputs, targets)
    logs = torch.log_softmax(model(inputs)[0], dim=2)
    right = -logs.gather(2, targets[..., None])[..., 0]
    assert close([costs, model.mean_cost(inputs, targets)[0]], [right, right.mean()])
    assert model.training and costs.dtype == torch.float64 and not costs.requires_grad
    model.embedding = nn.Sequential(model.embedding, nn.Dropout(0.5))  # costs are without it
    assert close([model.costs(inputs, targets)[0]], [costs])


@pytest.mark.parametrize("name", FEW)
def test_what_is_no_symbol_is_refused_and_integers_of_any_type_are_read(name):
    model, tokens = KINDS[name](), torch.tensor([[0, 1, 2, 1]])
    for wrong in (-1, -100, V, 2**40):
        bad = torch.tensor([[0, 1, wrong, 1]])
        calls = [lambda: model(bad), lambda: model.costs(bad, tokens), lambda: model.costs(tokens, bad)]  # noqa: B023
        for call in calls:
            with pytest.raises(ValueError, match=f"run from .*{wrong}.*; symbols are numbered 0 to 10: encode"):
                call()
    assert torch.equal(model(tokens.byte())[0], model(tokens)[0])
    with pytest.raises(ValueError, match=r"are torch.float32; symbol numbers are integers"):
        model(tokens.float())
    with pytest.raises(ValueError, match=r"two axes are expected: \(batch, time\), with at least one step"):
        model(tokens[:, :0])
    with pytest.raises(ValueError, match=r"targets have shape \(1, 3\) and inputs \(1, 4\)"):
        model.costs(tokens, tokens[:, 1:])


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # it is slow, and right
@pytest.mark.parametrize("name", ["rnn, 1", "gru, 2", "window 4", "transformer 8"])
def test_the_checks_stand_in_the_way_of_no_transformation(name):
    model, tokens = KINDS[name]().double(), torch.randint(V, (3, 6))
    weights = {name: weight.detach() for name, weight in model.named_parameters()}

    def loss(weights, row):
        return cross_entropy(functional_call(model, weights, (row[None],))[0][0], row)

    each = vmap(grad(loss), in_dims=(None, 0))(weights, tokens)
    whole = grad(lambda weights: sum(loss(weights, row) for row in tokens))(weights)
    assert close([gradient.sum(0) for gradient in each.values()], whole.values())


# The recurrent model

OPTIONS = {
    "one layer": {"dropout": 0.5},
    "three layers": {"num_layers": 3, "dropout": 0.5},
    "a learned beginning": {"num_layers": 2, "learn_initial_state": True},
    "tied and scaled": {"tied": True, "embedding_scale": 7**0.5, "dropout": 0.5},
    "dropped weights": {"num_layers": 2, "weight_drop": 0.5},
}


@pytest.mark.parametrize("options", [*OPTIONS.values(), None], ids=[*OPTIONS, "residual"])
@pytest.mark.parametrize("core", ["lstm", "gru"])
def test_a_recurrent_model_is_its_equations_step_by_step(core, options, monkeypatch):
    """With masks that are known: on the embedding, between the layers, before the output, and on recurrent weights."""
    n = 3 if options is None else options.get("num_layers", 1)
    model = (
        ResidualLM(V, hidden_size=7, num_layers=3, core=core) if options is None else recurrent(core=core, **options)
    )
    model, options, masks = model.double(), options or {"embedding_size": 32}, []

    def noted(self, x):
        if not self.rate:
            return x
        masks.append(2.0 * torch.randint(2, (len(x), 1, x.shape[2]) if x.ndim == 3 else x.shape))
        return x * masks[-1]

    monkeypatch.setattr(Dropout, "forward", noted)
    for name in model.state_sizes:
        nn.init.normal_(getattr(model, f"{name}_0"))
    tokens = torch.randint(V, (2, 6))
    logits, _ = model(tokens)
    if "weight_drop" in options:
        with torch.no_grad():
            for layer, mask in zip(model.core.layers, masks, strict=True):
                layer.W_hh *= mask
        masks.clear()
    assert len(masks) == (n + 1 if options.get("dropout") else 0)
    x = model.embedding.weight[tokens] * options.get("embedding_scale", 1)
    for number, cell in enumerate(model.core.layers):
        states, read = [], x * masks[number] if masks else x
        parts = [getattr(model, f"{name}_0").view(n, -1)[number].expand(2, -1) for name in model.state_sizes]
        state = tuple(parts) if len(parts) > 1 else parts[0]
        for step in read.unbind(1):
            state = cell(step, state)
            states.append(tensors(state)[0])
        states = torch.stack(states, dim=1)
        x = x + states if number and isinstance(model, ResidualLM) else states
    x = x * masks[-1] if masks else x
    W_hy = model.embedding.weight if options.get("tied") else model.output.weight
    assert close([logits], [x @ W_hy.T + model.output.bias])
    learned = [getattr(model, f"{name}_0").requires_grad for name in model.state_sizes]
    assert all(learned) if options.get("learn_initial_state") else not any(learned)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_a_stack_of_cells_equals_pytorchs_network_forward_and_backward(kind, layers):
    theirs = CELLS[kind].torch_layer(3, 4, num_layers=layers, batch_first=True, dtype=torch.float64)
    ours, wrapped = Stack(CELLS[kind].from_torch(theirs, layer) for layer in range(layers)), Stack([theirs])
    inputs = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    parts = torch.randn(2 if kind == "lstm" else 1, layers, 2, 4, dtype=torch.float64, requires_grad=True)
    state = tuple(tuple(layer) if len(layer) > 1 else layer[0] for layer in parts.unbind(1))  # a layer: h, or (h, c)
    state = state if layers > 1 else state[0]
    states, last = theirs(inputs, tuple(parts) if kind == "lstm" else parts[0])
    ends = torch.stack(tensors(last))  # (parts, layers, batch, hidden)
    right = [states, *ends.transpose(0, 1).flatten(0, 1)]
    expected = torch.autograd.grad(sum(out.square().sum() for out in right), [inputs, parts])
    for stack in (ours, wrapped):
        states, last = stack(inputs, state)
        found = [states, *tensors(last)]
        gradients = torch.autograd.grad(sum(out.square().sum() for out in found), [inputs, parts])
        assert close([*found, *gradients], [*right, *expected])
    assert close([wrapped(inputs)[0]], [ours(inputs)[0]])


def test_dropout_sets_a_share_to_zero_keeps_the_mean_and_draws_nothing_else():
    y = Dropout(0.3)(torch.ones(200, 20, 50))
    assert y.unique().tolist() == pytest.approx([0, 1 / 0.7]) and y.mean() == pytest.approx(1, abs=0.02)
    assert not (y[:, 0] == y[:, 1]).all() and not (y[0] == y[1]).all()  # a mask for every step of every row
    x, then = torch.randn(2, 3, 4), torch.get_rng_state()
    assert Dropout(0.0)(x) is x and Dropout(0.5).eval()(x) is x and torch.equal(torch.get_rng_state(), then)
    assert recurrent(core="torch-gru", num_layers=3, dropout=0.4).core.layers[0].dropout == 0.4
    assert recurrent(core="torch-gru", dropout=0.4).core.layers[0].dropout == 0
    tokens = torch.randint(V, (2, 6))
    for model in (recurrent(core="torch-lstm", dropout=0.5), recurrent(core="torch-rnn", weight_drop=0.5)):
        assert not torch.equal(model(tokens)[0], model(tokens)[0])
        assert torch.equal(model.eval()(tokens)[0], model(tokens)[0])


# The window and the transformer


@pytest.mark.parametrize("layer_norm", [False, True])
def test_a_window_network_is_its_equations(layer_norm):
    model = FixedWindowLM(V, window=3, embedding_size=2, hidden_size=5, hidden_layers=2, layer_norm=layer_norm)
    logits, _ = model(torch.tensor([[4, 9, 1, 7]]))
    first, second, output = (layer for layer in model.layers if isinstance(layer, nn.Linear))
    nothing = torch.zeros(2)  # what is missing has the vector zero
    for t, read in enumerate([(None, None, 4), (None, 4, 9), (4, 9, 1), (9, 1, 7)]):
        x = torch.cat([nothing if number is None else model.embedding.weight[number] for number in read])
        for layer in (first, second):
            a = layer.weight @ x + layer.bias
            x = torch.tanh((a - a.mean()) / torch.sqrt(a.var(correction=0) + 1e-5) if layer_norm else a)
        assert torch.allclose(logits[0, t], output.weight @ x + output.bias, atol=1e-6)


def test_a_window_network_is_as_large_as_published_and_drawn_as_asked():
    assert sum(weight.numel() for weight in FixedWindowLM(175).parameters()) == 313_743
    expected = {"xavier": (2 / 800) ** 0.5, "default": (1 / (3 * 400)) ** 0.5, "normal": 1.0}
    for initialisation, deviation in expected.items():
        model = FixedWindowLM(50, hidden_size=400, initialisation=initialisation, layer_norm=False)
        assert model.layers[2].weight.std().item() == pytest.approx(deviation, rel=0.02)
        assert (model.layers[2].bias == 0).all() == (initialisation != "default")


@pytest.mark.parametrize("context", [2, 8, 40])
def test_a_prediction_of_the_transformer_depends_on_its_block_so_far_alone(context):
    model, tokens = transformer(context=context).double().eval(), torch.randint(V, (30,))
    changed = tokens.repeat(30, 1)  # in row s, token s is replaced
    changed.diagonal().add_(1).remainder_(V)
    logits, _ = model(torch.cat([tokens[None], changed]))
    sees = (logits[1:] - logits[0]).abs().amax(dim=-1).T > 1e-9
    block = 0
    for t in range(30):
        block = block + 1 if block < context else context // 2 + 1
        assert sees[t].tolist() == [t - block < s <= t for s in range(30)]


def test_the_dropout_of_the_transformer_is_for_training_alone_and_its_layers_are_not_alike():
    model, tokens = transformer(dropout=0.5).eval(), torch.randint(V, (2, 20))
    expected, _ = model(tokens)
    for part in (model.dropout, *model.layers):  # each place alone
        part.train()
        assert not torch.equal(model(tokens)[0], model(tokens)[0])
        part.eval()
    assert torch.equal(model(tokens)[0], expected)
    assert not torch.equal(model.layers[0].linear1.weight, model.layers[1].linear1.weight)


# What is refused

TOKENS = torch.zeros(2, 4, dtype=torch.long)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: recurrent(num_layers=0), "num_layers is 0; it must be 1 or more"),
        (lambda: recurrent(core="rmn"), "core is 'rmn'; it can be one of rnn, lstm, gru, .*, torch-rnn"),
        (lambda: recurrent(dropout=1.0), "dropout is 1.0; it must be 0 or more and below 1"),
        (lambda: recurrent(core="mingru", weight_drop=0.1), "but a mingru has no recurrent weights; leave it out"),
        (lambda: LanguageModel(V, tied=True), "embedding_size 32 and hidden_size 128 must be equal to be tied"),
        (lambda: ResidualLM(V, num_layers=1), "num_layers 1; it takes 2 or more of the book's own cells"),
        (lambda: ResidualLM(V, core="torch-gru"), "core is 'torch-gru'"),
        (lambda: FixedWindowLM(V, window=0), "window is 0"),
        (lambda: transformer(context=7), "context is 7; it must be an even number, 2 or more"),
        (lambda: recurrent()(TOKENS, torch.zeros(1, 7)), r"the state is a Tensor with \[\(1, 7\)\]"),
        (lambda: recurrent(core="torch-lstm")(TOKENS, (torch.zeros(2, 7),) * 3), r"the state is a tuple"),
        (lambda: recurrent(num_layers=2)(TOKENS, torch.zeros(2, 7)), "a tuple of 2 states is expected, one a layer"),
        (lambda: recurrent(core="torch-rnn", num_layers=2)(TOKENS, (TOKENS,) * 3), "a tuple of 2 states is expected"),
        (lambda: FixedWindowLM(V)(TOKENS, TOKENS), r"state has shape \(2, 4\); \(2, 7\) is expected"),
        (lambda: transformer()(TOKENS, TOKENS[:1]), r"state has shape \(1, 4\); \(2, n\) is expected, n at most 8"),
        (lambda: transformer()(TOKENS, TOKENS.repeat(1, 3)), r"state has shape \(2, 12\)"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_options_reach_every_cell_and_one_layer_stacks_with_others():
    model = recurrent(core="lstm", num_layers=2, cell_options={"forget_bias": 3.0})
    assert all((cell.block("f").b_h == 3).all() for cell in model.core.layers)
    layers, inputs = [CELLS["lstm"](3, 4), CELLS["gru"](4, 6)], torch.randn(2, 5, 3)
    assert torch.equal(Stack(layers)(inputs)[0], unroll(layers[1], unroll(layers[0], inputs)[0])[0])

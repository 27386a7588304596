"""What is no symbol is refused wherever a model is given symbols; integers of any type are read alike."""

import pytest
import torch
from torch.func import functional_call, grad, vmap
from torch.nn.functional import cross_entropy

from unrolled.decoding import beam_search, generate
from unrolled.measure import evaluate, symbol_influence
from unrolled.models import FixedWindowLM, LanguageModel, TransformerLM
from unrolled.ngram import Counts, KneserNey

V = 5
TOKENS = torch.tensor([[0, 1, 2, 1]])
KINDS = {
    "recurrent": lambda: LanguageModel(V, hidden_size=4),
    "PyTorch's": lambda: LanguageModel(V, hidden_size=4, core="torch-lstm"),
    "window": lambda: FixedWindowLM(V, window=3, hidden_size=4),
    "transformer": lambda: TransformerLM(V, context=2, hidden_size=4, num_layers=1, num_heads=1),
    "n-gram": lambda: KneserNey(Counts([0, 1, 2, 3, 4, 0, 1], V, 2), discount=0.5),
}
WAYS = {
    "a call": lambda model, tokens: model(tokens)[0],
    "inputs": lambda model, tokens: model.costs(tokens, TOKENS)[0],
    "targets": lambda model, tokens: model.costs(TOKENS, tokens)[0],
    "a prompt": lambda model, tokens: torch.stack(generate(model, tokens, length=3)),
    "a beam": lambda model, tokens: beam_search(model, tokens, length=3, width=2)[0].tokens,
    "a text": lambda model, tokens: torch.tensor(evaluate(model, tokens[0]).nats),
    "an influence": lambda model, tokens: symbol_influence(model, tokens[0]),
}
EACH = pytest.mark.parametrize("kind", KINDS)


@EACH
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("wrong", [-1, -5, -100, V, 2**40])
def test_a_number_of_no_symbol_is_refused(kind, way, wrong):
    tokens = TOKENS.clone()
    tokens[0, 2] = wrong
    model = KINDS[kind]()
    with pytest.raises(ValueError, match=f"run from .*{wrong}.*; symbols are numbered 0 to 4: encode"):
        WAYS[way](model, tokens)


@EACH
@pytest.mark.parametrize("way", WAYS)
def test_integers_of_any_type_are_read_alike_and_nothing_else_is(kind, way):
    torch.manual_seed(0)
    model = KINDS[kind]()
    if isinstance(model, torch.nn.Module):
        model.eval()
    for dtype in (torch.int32, torch.int16, torch.uint8):
        assert torch.equal(WAYS[way](model, TOKENS.to(dtype)), WAYS[way](model, TOKENS))
    for dtype in (torch.float32, torch.bool):
        with pytest.raises(ValueError, match=f"are {dtype}; symbol numbers are integers"):
            WAYS[way](model, TOKENS.to(dtype))


@EACH
@pytest.mark.parametrize("shape", [(4,), (2, 0)])
def test_tokens_of_another_shape_are_refused(kind, shape):
    model = KINDS[kind]()
    if kind == "scheduled sampling":
        model.calls += 1  # from now on the model reads its own symbols
    with pytest.raises(ValueError, match=r"two axes are expected: \(batch, time\), with at least one step"):
        model(torch.zeros(shape, dtype=torch.long))


@EACH
@pytest.mark.parametrize("shape", [(1, 3), (2, 4)])
def test_targets_of_another_shape_are_refused(kind, shape):
    with pytest.raises(ValueError, match=rf"targets have shape \({shape[0]}, {shape[1]}\) and inputs \(1, 4\)"):
        KINDS[kind]().costs(TOKENS, torch.zeros(shape, dtype=torch.int64))


@pytest.mark.parametrize("kind", ["window", "transformer", "n-gram"])
@pytest.mark.parametrize("wrong", [-7, V, 0.5])
def test_a_state_of_symbols_is_checked_too(kind, wrong):
    past = {"window": 2, "transformer": 1, "n-gram": 1}[kind]
    state = torch.full((1, past), wrong)
    with pytest.raises(ValueError, match="symbol numbers are integers|; symbols are numbered 0 to 4"):
        KINDS[kind]()(TOKENS, state.numpy() if kind == "n-gram" else state)


@pytest.mark.filterwarnings("ignore:There is a performance drop")  # it is slow, and right
@pytest.mark.parametrize("kind", ["recurrent", "window", "transformer"])
def test_the_checks_stand_in_the_way_of_no_transformation(kind):
    """A check that looks at the numbers would break the graph, and on a GPU wait for it."""
    torch.manual_seed(0)
    model, tokens = KINDS[kind](), torch.randint(V, (3, 6))
    weights = {name: weight.detach() for name, weight in model.named_parameters()}

    def loss(weights, row):
        return cross_entropy(functional_call(model, weights, (row[None],))[0][0], row)

    each = vmap(grad(loss), in_dims=(None, 0))(weights, tokens)
    whole = grad(lambda weights: sum(loss(weights, row) for row in tokens))(weights)
    for name, gradient in each.items():
        assert torch.allclose(gradient.sum(0), whole[name], atol=1e-5)
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    assert torch.allclose(compiled(tokens)[0], model(tokens)[0])

"""The transformer is causal, sees what it says it sees, and is trained, scored and sampled as every other model is."""

import math

import pytest
import torch

from small_runs import TOKENS, stopped_and_resumed, weights
from unrolled.measure import symbol_influence
from unrolled.models import TransformerLM
from unrolled.training import Recipe, train

V = 11


def transformer(context=8, **options) -> TransformerLM:
    """Return an untrained transformer with strong opinions, in float64."""
    torch.manual_seed(0)
    model = TransformerLM(V, **{"context": context, "hidden_size": 12, "num_layers": 2, "num_heads": 3, **options})
    with torch.no_grad():
        for table in (model.embedding, model.positions):
            table.weight *= 50
    return model.double()


def seen(time: int, context: int) -> list[int]:
    """Return how many symbols each prediction sees: those of its block so far, counted one by one."""
    counts, block = [], 0
    for _ in range(time):
        block = block + 1 if block < context else context // 2 + 1
        counts.append(block)
    return counts


@pytest.mark.parametrize("context", [2, 8, 40])
def test_each_prediction_depends_on_its_block_so_far_and_on_nothing_else(context):
    sees = symbol_influence(transformer(context), torch.randint(V, (30,))) > 1e-9
    for t, count in enumerate(seen(30, context)):
        assert sees[t].tolist() == [t - count < s <= t for s in range(30)]
    assert seen(12, 8) == [1, 2, 3, 4, 5, 6, 7, 8, 5, 6, 7, 8]


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("sizes", [[30], [1] * 30, [8, 8, 14], [3, 17, 1, 9]], ids=str)
def test_reading_in_pieces_equals_reading_at_once(sizes, training):
    model, tokens = transformer().train(training), torch.randint(V, (3, 30))
    whole, last = model(tokens)
    state, logits = None, []
    for piece in tokens.split(sizes, dim=1):
        piece_logits, state = model(piece, state)
        logits.append(piece_logits)
    assert torch.allclose(torch.cat(logits, dim=1), whole, atol=1e-10)
    assert torch.equal(state, last) and torch.equal(last, tokens[:, 30 - seen(30, 8)[-1] :])


def test_a_prediction_is_that_of_what_it_sees_alone():
    model, tokens = transformer().eval(), torch.randint(V, (2, 30))
    logits, _ = model(tokens)
    for t, count in enumerate(seen(30, 8)):
        assert torch.allclose(logits[:, t], model(tokens[:, t + 1 - count : t + 1])[0][:, -1], atol=1e-10)


@pytest.mark.parametrize("carry", [False, True])
def test_it_learns_and_resumes_to_the_bit(carry, tmp_path):
    recipe = Recipe(updates=30, batch=4, seq_len=8, learning_rate=1e-2, carry=carry)

    def made(seed):
        torch.manual_seed(seed)
        return TransformerLM(7, context=8, hidden_size=8, num_layers=1, num_heads=2, dropout=0.1)

    whole = made(seed=0)
    losses = train(whole, TOKENS, recipe, progress=False).losses
    assert losses[-1] < 0.7 * losses[0] and losses[0] == pytest.approx(math.log(7), abs=0.3)
    model = stopped_and_resumed(made, recipe, tmp_path / "run")
    assert torch.equal(weights(model), weights(whole))


def test_a_block_can_be_read_from_its_vectors():
    model, tokens = transformer(), torch.randint(V, (2, 8))
    logits = model.output(model.attend(model.embedding(tokens)))
    assert torch.allclose(logits, model(tokens)[0], atol=1e-10)


def test_dropout_is_for_training_alone():
    model, plain, tokens = transformer(dropout=0.5), transformer(), torch.randint(V, (2, 20))
    assert not torch.equal(model(tokens)[0], model(tokens)[0])
    assert torch.allclose(model.eval()(tokens)[0], plain(tokens)[0], atol=1e-10)
    for part in (model.dropout, *model.layers):  # each place alone
        part.train()
        assert not torch.equal(model(tokens)[0], model(tokens)[0])
        part.eval()


def test_layers_begin_with_weights_of_their_own():
    first, second = transformer().layers
    assert not torch.equal(first.linear1.weight, second.linear1.weight)


def test_bad_values_are_named():
    for context in (0, 7):
        with pytest.raises(ValueError, match=f"context is {context}; it must be an even number, 2 or more"):
            transformer(context)
    with pytest.raises(ValueError, match="num_heads is 5, which does not divide hidden_size, 12"):
        transformer(num_heads=5)
    with pytest.raises(ValueError, match="num_layers is 0"):
        transformer(num_layers=0)
    with pytest.raises(ValueError, match=r"dropout is 1.0; it must be 0 or more and below 1"):
        transformer(dropout=1.0)
    with pytest.raises(ValueError, match=r"state have shape \(4,\); two axes are expected"):
        transformer()(torch.zeros(2, 4, dtype=torch.long), torch.zeros(4, dtype=torch.long))
    for shape in ((2, 9), (3, 4)):
        with pytest.raises(ValueError, match=rf"state has shape \({shape[0]},.* \(2, n\) is expected, n at most 8"):
            transformer()(torch.zeros(2, 4, dtype=torch.long), torch.zeros(shape, dtype=torch.long))

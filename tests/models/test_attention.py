"""Attention: equal to PyTorch's, blind where it is masked, and the layers of the book's transformer."""

import math
import re

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from unrolled.models import (
    MultiHeadAttention,
    TransformerBlock,
    TransformerLM,
    attend,
    causal_mask,
    padding_mask,
    scaled_dot_product,
)
from unrolled.models.attention import SCORES

LENGTHS = torch.tensor([6, 1, 4])
MASKS = {"everywhere": None, "causal": causal_mask(6), "padding": padding_mask(LENGTHS, 6)}
MASKS["both"] = MASKS["causal"] & MASKS["padding"]


def numbers(*shape, seed=0):
    """Return random numbers of 64 bits that record their gradient."""
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


def gradients(output, *inputs):
    """Return the gradients of a sum in which every number of the output has a weight of its own."""
    weights = torch.linspace(-1, 1, output.numel(), dtype=output.dtype).view_as(output)
    return torch.autograd.grad((output * weights).sum(), inputs)


def agree(ours, theirs):
    return all(torch.allclose(*pair, rtol=0, atol=1e-10) for pair in zip(ours, theirs, strict=True))


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("mask", MASKS)
def test_the_scaled_dot_product_is_pytorchs_forward_and_backward(mask):
    q, k, v = (numbers(3, 6, 5, seed=seed) for seed in range(3))
    ours, weights = scaled_dot_product(q, k, v, MASKS[mask])
    theirs = scaled_dot_product_attention(q, k, v, attn_mask=MASKS[mask])
    assert agree([ours, *gradients(ours, q, k, v)], [theirs, *gradients(theirs, q, k, v)])
    assert torch.allclose(weights.sum(dim=-1), torch.ones(3, 6, dtype=torch.float64))


@pytest.mark.parametrize("heads", [1, 4])
@pytest.mark.parametrize("mask", MASKS)
def test_several_heads_are_pytorchs_forward_and_backward(mask, heads):
    theirs = nn.MultiheadAttention(8, heads, batch_first=True).double()
    nn.init.normal_(theirs.in_proj_bias), nn.init.normal_(theirs.out_proj.bias)  # they begin at zero
    ours, x = MultiHeadAttention.from_torch(theirs), numbers(3, 6, 8)
    hidden = {"causal": {"attn_mask": ~MASKS["causal"]}, "padding": {"key_padding_mask": ~MASKS["padding"][:, 0]}}
    hidden |= {"both": hidden["causal"] | hidden["padding"], "everywhere": {}}
    their_y, their_alpha = theirs(x, x, x, average_attn_weights=False, **hidden[mask])
    y, alpha = ours(x, MASKS[mask])
    assert agree([y, alpha], [their_y, their_alpha])
    assert agree(gradients(y, x, *ours.parameters()), gradients(their_y, x, *theirs.parameters()))


def test_heads_begin_as_pytorchs_do():
    ours = MultiHeadAttention(8, 2)
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    assert torch.equal(ours.W_qkv, theirs.in_proj_weight) and not ours.b_qkv.any() and not ours.output.bias.any()


def test_a_block_is_the_layer_of_the_transformer_forward_and_backward():
    model = TransformerLM(11, context=8, hidden_size=8, num_layers=2, num_heads=2).double()
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.5)  # biases and norms, too
    tokens, blocks = torch.randint(11, (3, 8)), [TransformerBlock.from_torch(layer) for layer in model.layers]
    theirs, _ = model(tokens)
    x = model.embedding(tokens) + model.positions.weight
    for block in blocks:
        x, _ = block(x, causal_mask(8))
    ours = model.output(model.norm(x))
    pairs = {"W_qkv": "in_proj_weight", "b_qkv": "in_proj_bias"}
    names = {"attention.output": "self_attn.out_proj", "attention_norm": "norm1", "norm": "norm2"}
    names |= {"inner": "linear1", "outer": "linear2"}
    jobs = [(f"attention.{own}", f"self_attn.{other}") for own, other in pairs.items()]
    jobs += [(f"{own}.{kind}", f"{other}.{kind}") for own, other in names.items() for kind in ("weight", "bias")]
    weights = [[dict(layer.named_parameters())[job[side]] for layer in layers for job in jobs]
               for side, layers in enumerate((blocks, model.layers))]  # fmt: skip
    assert len(weights[0]) == sum(len(list(layer.parameters())) for layer in model.layers)
    own, other = (gradients(*pair, model.embedding.weight) for pair in ((ours, *weights[0]), (theirs, *weights[1])))
    assert agree([ours, *own], [theirs, *other])


@pytest.mark.parametrize("name", SCORES)
def test_the_scores_are_their_formulas_and_no_place_behind_a_mask_changes_anything(name):
    score, queries, memory = SCORES[name](5, 4, 7).double(), numbers(3, 2, 5), numbers(3, 6, 4, seed=1)
    allowed, scores = padding_mask(LENGTHS, 6), score(queries, memory)
    for i in range(2):
        for j in range(6):
            a, b = score.query(queries[0, i]), score.key(memory[0, j])
            formula = (
                score.v(torch.tanh(a + b)) if name == "additive" else (a @ b) / (7**0.5 if name == "scaled" else 1)
            )
            assert scores[0, i, j].item() == pytest.approx(formula.item(), abs=1e-12)
    c, alpha = attend(scores, memory, allowed)
    assert not alpha[~allowed.expand_as(alpha)].any()
    (gradient,) = gradients(c, memory)
    assert not gradient[~allowed[:, 0]].any() and gradient[allowed[:, 0]].any()
    for row, length in enumerate(LENGTHS):  # a padded batch equals one by one
        own = memory[row : row + 1, :length]
        assert agree(attend(score(queries[row : row + 1], own), own)[0], c[row : row + 1])


SQUARE = torch.ones(4, 6, dtype=torch.bool)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: attend(torch.zeros(2, 2), torch.zeros(2, 3), causal_mask(2).T & ~causal_mask(2)), "hides every place"),
        (
            lambda: attend(torch.zeros(4, 4, 6), torch.zeros(4, 6, 3), SQUARE),
            "the mask has shape (4, 6), as long as the",
        ),
        (lambda: padding_mask(torch.tensor([0, 3]), 3), "lengths run from 0 to 3; a row has 1 to 3 symbols"),
        (lambda: padding_mask(torch.tensor([2, 4]), 3), "lengths run from 2 to 4; a row has 1 to 3 symbols"),
        (lambda: padding_mask(torch.tensor([[2, 3]]), 3), "and there are 1 rows"),
        (lambda: MultiHeadAttention(8, 3), "num_heads is 3, which does not divide hidden_size, 8"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        call()


def test_a_mask_that_says_which_axis_it_means_is_taken():
    scores, values = torch.zeros(4, 4, 6), torch.zeros(4, 6, 3)
    for said in (SQUARE[None], SQUARE[:, None]):
        attend(scores, values, said)
    attend(scores[:3], values[:3], SQUARE)
    assert math.isclose(attend(scores, values, SQUARE[None])[1][0, 0, 0], 1 / 6, rel_tol=1e-6)

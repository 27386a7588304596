"""Attention: equal to PyTorch's, blind where it is masked, and the layers of the book's transformer."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from unrolled.models import (
    EncoderDecoder,
    MultiHeadAttention,
    TransformerBlock,
    TransformerLM,
    attend,
    causal_mask,
    padding_mask,
    scaled_dot_product,
)
from unrolled.models.attention import SCORES

CLOSE = 1e-10  # in 64 bits
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
    return all(torch.allclose(*pair, rtol=0, atol=CLOSE) for pair in zip(ours, theirs, strict=True))


# Equal to PyTorch's


@pytest.mark.parametrize("mask", MASKS)
def test_the_scaled_dot_product_is_pytorchs_forward_and_backward(mask):
    q, k, v = (numbers(3, 6, 5, seed=seed) for seed in range(3))
    ours, weights = scaled_dot_product(q, k, v, MASKS[mask])
    theirs = scaled_dot_product_attention(q, k, v, attn_mask=MASKS[mask])
    assert agree([ours, *gradients(ours, q, k, v)], [theirs, *gradients(theirs, q, k, v)])
    assert torch.allclose(weights.sum(dim=-1), torch.ones(3, 6, dtype=torch.float64))


@pytest.mark.parametrize("heads", [1, 2, 4])
@pytest.mark.parametrize("mask", MASKS)
def test_several_heads_are_pytorchs_forward_and_backward(mask, heads):
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(8, heads, batch_first=True).double()
    nn.init.normal_(theirs.in_proj_bias), nn.init.normal_(theirs.out_proj.bias)  # they begin at zero
    ours, x = MultiHeadAttention.from_torch(theirs), numbers(3, 6, 8)
    hidden = {"causal": {"attn_mask": ~MASKS["causal"]}, "padding": {"key_padding_mask": ~MASKS["padding"][:, 0]}}
    hidden |= {"both": hidden["causal"] | hidden["padding"], "everywhere": {}}
    their_y, their_alpha = theirs(x, x, x, average_attn_weights=False, **hidden[mask])
    y, alpha = ours(x, allowed=MASKS[mask])
    assert agree([y, alpha], [their_y, their_alpha])
    own, other = gradients(y, x, *ours.parameters()), gradients(their_y, x, *theirs.parameters())
    assert agree(own, other)


def test_heads_that_look_at_another_sequence_are_pytorchs():
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True).double()
    ours, x, memory = MultiHeadAttention.from_torch(theirs), numbers(3, 4, 8), numbers(3, 6, 8, seed=1)
    their_y, _ = theirs(x, memory, memory, key_padding_mask=~MASKS["padding"][:, 0])
    y, alpha = ours(x, memory, MASKS["padding"])
    assert alpha.shape == (3, 2, 4, 6)
    assert agree([y, *gradients(y, x, memory)], [their_y, *gradients(their_y, x, memory)])


@pytest.mark.parametrize("training", [False, True])
def test_a_block_is_the_layer_of_the_transformer_forward_and_backward(training):
    torch.manual_seed(0)
    model = TransformerLM(11, context=8, hidden_size=8, num_layers=2, num_heads=2).double().train(training)
    for weight in model.parameters():
        nn.init.normal_(weight, std=0.5)  # biases and norms, too
    tokens = torch.randint(11, (3, 8))
    blocks = [TransformerBlock.from_torch(layer) for layer in model.layers]
    theirs, _ = model(tokens)
    x = model.embedding(tokens) + model.positions.weight
    for block in blocks:
        x, _ = block(x, causal_mask(8))
    ours = model.output(model.norm(x))
    weights = [weight for block in blocks for weight in block.parameters()]
    by_layer = [list(layer.parameters()) for layer in model.layers]
    order = list(zip(sorted_names(blocks), sorted_names(model.layers), strict=True))
    assert len(weights) == sum(map(len, by_layer)) == len(order) and agree([ours], [theirs])
    own = gradients(ours, *(weight for weight, _ in order), model.embedding.weight)
    assert agree(own, gradients(theirs, *(other for _, other in order), model.embedding.weight))


def sorted_names(layers):
    """Return the weights of layers in an order of their jobs, the same for PyTorch's and for ours."""
    jobs = [("attention.W_qkv", "self_attn.in_proj_weight"), ("attention.b_qkv", "self_attn.in_proj_bias")]
    names = {"attention.output": "self_attn.out_proj", "attention_norm": "norm1", "norm": "norm2"}
    names |= {"inner": "linear1", "outer": "linear2"}
    jobs += [(f"{ours}.{kind}", f"{theirs}.{kind}") for ours, theirs in names.items() for kind in ("weight", "bias")]
    own = isinstance(layers[0], TransformerBlock)
    return [dict(layer.named_parameters())[job[not own]] for layer in layers for job in jobs]


def test_heads_begin_as_pytorchs_do():
    torch.manual_seed(0)
    ours = MultiHeadAttention(8, 2)
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    assert torch.equal(ours.W_qkv, theirs.in_proj_weight)
    assert not ours.b_qkv.any() and not ours.output.bias.any()


# What is masked does not count


@pytest.mark.parametrize("name", SCORES)
def test_no_place_behind_a_mask_changes_anything(name):
    torch.manual_seed(0)
    score = SCORES[name](5, 4, 7).double()
    queries, memory = numbers(3, 2, 5), numbers(3, 6, 4, seed=1)
    allowed = padding_mask(LENGTHS, 6)
    c, alpha = attend(score(queries, memory), memory, allowed)
    assert not alpha[~allowed.expand_as(alpha)].any()
    (gradient,) = gradients(c, memory)
    assert not gradient[~allowed[:, 0]].any() and gradient[allowed[:, 0]].any()
    for row, length in enumerate(LENGTHS):  # a padded batch equals one by one
        alone, _ = attend(score(queries[row : row + 1], memory[row : row + 1, :length]), memory[row : row + 1, :length])
        assert torch.allclose(alone[0], c[row], rtol=0, atol=CLOSE)


def test_a_causal_place_does_not_depend_on_what_follows():
    torch.manual_seed(0)
    block, x = TransformerBlock(8, 2).double(), numbers(1, 6, 8)
    y, _ = block(x, causal_mask(6))
    for t in range(6):
        (gradient,) = torch.autograd.grad(y[0, t].sum(), x, retain_graph=True)
        assert not gradient[0, t + 1 :].any() and gradient[0, : t + 1].abs().sum(dim=1).all()


def test_the_scores_are_their_formulas():
    q, k = numbers(1, 2, 3), numbers(1, 4, 3, seed=1)
    for name in SCORES:
        score = SCORES[name](3, 3, 5).double()
        e = score(q, k)
        for i in range(2):
            for j in range(4):
                a, b = score.query(q[0, i]), score.key(k[0, j])
                if name == "additive":
                    formula = score.v(torch.tanh(a + b)).item()
                else:
                    formula = (a @ b).item() / (math.sqrt(5) if name == "scaled" else 1)
                assert e[0, i, j].item() == pytest.approx(formula, abs=1e-12), name


# What is refused


@pytest.mark.parametrize(
    "mask, message",
    [
        (torch.tensor([[True, False], [False, False]]), "the mask hides every place from a query"),
        (torch.ones(2, 2), "the mask is torch.float32; booleans are expected"),
        (torch.ones(3, 2, dtype=torch.bool), r"the mask has shape \(3, 2\), which does not expand .* \(2, 2\)"),
        (torch.ones(4, 2, 2, dtype=torch.bool), r"the mask has shape \(4, 2, 2\), which does not expand"),
    ],
)
def test_a_mask_that_hides_everything_or_does_not_fit_is_refused(mask, message):
    with pytest.raises(ValueError, match=message):
        attend(torch.zeros(2, 2), torch.zeros(2, 3), mask)


@pytest.mark.parametrize(
    "lengths, message",
    [
        (torch.tensor([0, 3]), "lengths run from 0 to 3; a row has 1 to 3 symbols: leave out rows that are empty"),
        (torch.tensor([2, 4]), "lengths run from 2 to 4; a row has 1 to 3"),
        (torch.tensor([2.0, 3.0]), "lengths are torch.float32"),
        (torch.tensor([[2, 3]]), r"have shape \(1, 2\); integers are expected"),
    ],
)
def test_lengths_that_are_none_are_refused(lengths, message):
    with pytest.raises(ValueError, match=message):
        padding_mask(lengths, 3)


def test_a_mask_that_may_be_meant_for_the_batch_is_refused():
    scores, values, mask = torch.zeros(4, 4, 6), torch.zeros(4, 6, 3), torch.ones(4, 6, dtype=torch.bool)
    with pytest.raises(ValueError, match=r"the mask has shape \(4, 6\).* allowed\[:, None\] for \(batch, places\)"):
        attend(scores, values, mask)
    for said in (mask[None], mask[:, None]):
        attend(scores, values, said)
    attend(scores[:3], values[:3], mask)


def test_raw_errors_have_become_sentences():
    heads = MultiHeadAttention(8, 2)
    for wrong, message in (
        (lambda: attend(torch.zeros(2, 2, dtype=torch.int64), torch.zeros(2, 3)), "the scores are torch.int64"),
        (lambda: attend(torch.zeros(2, 0), torch.zeros(0, 3)), "there must be a place to look at"),
        (
            lambda: scaled_dot_product(torch.zeros(5, 4), torch.zeros(6, 3), torch.zeros(6, 2)),
            r"shapes \(5, 4\), \(6, 3\), \(6, 2\); right are",
        ),
        (lambda: heads(torch.zeros(8)), r"x has shape \(8,\); \(batch, places, 8\) is expected"),
        (lambda: heads(torch.zeros(2, 3, 6)), r"x has shape \(2, 3, 6\)"),
        (lambda: heads(torch.zeros(2, 3, 8), torch.zeros(2, 3, 6)), r"memory has shape \(2, 3, 6\)"),
        (lambda: MultiHeadAttention(0, 1), "hidden_size is 0; it must be 1 or more"),
        (lambda: padding_mask(torch.tensor([], dtype=torch.int64), 3), "the batch is empty"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()


@pytest.mark.parametrize("more", [{"add_bias_kv": True}, {"add_zero_attn": True}, {"bias": False}, {"kdim": 4}])
def test_attention_that_does_more_than_ours_is_not_copied(more):
    with pytest.raises(ValueError, match="^this attention"):
        MultiHeadAttention.from_torch(torch.nn.MultiheadAttention(8, 2, **more))


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="num_heads is 3, which does not divide hidden_size, 8"):
        MultiHeadAttention(8, 3)
    with pytest.raises(ValueError, match="x has 2 rows and memory 3"):
        MultiHeadAttention(8, 2)(torch.zeros(2, 4, 8), torch.zeros(3, 4, 8))
    with pytest.raises(ValueError, match="attention is 'cosine'; it can be one of additive, dot, scaled, or None"):
        EncoderDecoder(3, 3, attention="cosine")

"""The classic mistakes with sequences: each is made here, seen to change the result, and caught."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_packed_sequence

from unrolled.cells import CELLS, unroll
from unrolled.measure import symbol_influence
from unrolled.models import FixedWindowLM, LanguageModel, NeuralModel, TransformerLM
from unrolled.text import Sentences, Streams, backwards, last_states, masked_loss

START, PAD, V = 7, 8, 9  # what the sentences below are made of: 0 … 6


def drawn(count: int) -> list[torch.Tensor]:
    """Return sentences of 2 to 12 symbols."""
    return [torch.randint(7, (length,)) for length in torch.randint(2, 13, (count,)).tolist()]


def only_batch(count: int = 8):
    (batch,) = Sentences(drawn(count), count, pad=PAD, start=START).epoch(seed=0)
    return batch


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


# Predictions that depend on future tokens


class BothDirections(NeuralModel):
    """The mistake: a language model whose second direction has read what is to be predicted."""

    def __init__(self, hidden_size: int = 16):
        super().__init__()
        self.embedding = nn.Embedding(V, hidden_size)
        self.rnn = nn.GRU(hidden_size, hidden_size, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * hidden_size, V)

    def forward(self, tokens, state=None):
        states, state = self.rnn(self.embedding(tokens), state)
        return self.output(states), state


class WithoutMask(TransformerLM):
    """The mistake: a transformer that attends to what is to come."""

    def attend(self, vectors):
        x = vectors + self.positions.weight[: vectors.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


def check_causal(model):
    assert symbol_influence(model.double(), torch.randint(V, (10,))).triu(1).max() < 1e-9, "a prediction looks ahead"


def test_looking_ahead_is_caught():
    small = {"context": 12, "hidden_size": 8, "num_layers": 1, "num_heads": 2}
    for honest in (LanguageModel(V, core="lstm"), FixedWindowLM(V), TransformerLM(V, **small)):
        check_causal(honest)
    for wrong in (BothDirections(), WithoutMask(V, **small)):
        with pytest.raises(AssertionError, match="looks ahead"):
            check_causal(wrong)


def test_looking_ahead_seems_to_predict_what_cannot_be_predicted():
    costs = {}
    for model in (LanguageModel(V, core="torch-gru", embedding_size=16, hidden_size=32), BothDirections()):
        optimizer = torch.optim.Adam(model.parameters(), 2e-2)
        for _ in range(60):
            tokens = torch.randint(V, (32, 13))  # every symbol is equally likely, whatever came before
            loss = cross_entropy(model(tokens[:, :-1])[0].flatten(0, 1), tokens[:, 1:].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        fresh = torch.randint(V, (300, 13))
        costs[type(model)] = model.costs(fresh[:, :-1], fresh[:, 1:])[0].mean().item()
    assert costs[LanguageModel] > math.log(V) - 0.02
    assert costs[BothDirections] < 0.7 * math.log(V)


def test_targets_that_were_not_moved_are_caught():
    def check_targets(inputs, targets):
        assert torch.equal(targets[:, :-1], inputs[:, 1:]), "a target is not the symbol after its input"

    window = Streams(torch.randint(V, (100,)), 4, 8).window(0)
    check_targets(window.inputs, window.targets)
    with pytest.raises(AssertionError, match="not the symbol after"):
        check_targets(window.inputs, window.inputs)  # the mistake: it is asked for what it has just read


# A loss that counts padding


def test_a_loss_that_counts_padding_is_caught():
    model, sentences = LanguageModel(V, hidden_size=6).double(), drawn(8)
    (batch,) = Sentences(sentences, 8, pad=PAD, start=START).epoch(seed=0)
    rows = [torch.cat([torch.tensor([START]), sentence])[None] for sentence in sentences]
    nats = sum(float(model.costs(row[:, :-1], row[:, 1:])[0].sum()) for row in rows)
    alone = nats / sum(len(sentence) for sentence in sentences)

    def check_loss(loss):
        model.zero_grad()
        loss(model(batch.inputs)[0]).backward()
        assert loss(model(batch.inputs)[0]).item() == pytest.approx(alone, abs=1e-6), "not the sentences' own loss"
        assert not model.embedding.weight.grad[PAD].any()

    def padded(logits):  # the mistake
        return cross_entropy(logits.flatten(0, 1), batch.targets.flatten())

    check_loss(lambda logits: masked_loss(logits, batch.targets, batch.mask))
    with pytest.raises(AssertionError, match="not the sentences' own loss"):
        check_loss(padded)
    assert model.embedding.weight.grad[PAD].abs().max() > 1e-3  # it is trained to read pads
    with torch.no_grad():
        before, _ = model(batch.inputs)
        model.output.bias[PAD] += 1  # and to predict them, at the symbols' expense
        after, _ = model(batch.inputs)
        assert padded(after) < padded(before)
        assert masked_loss(after, batch.targets, batch.mask) > masked_loss(before, batch.targets, batch.mask) + 0.1


def test_the_mean_of_batches_of_unlike_size_is_weighted():
    model, sentences = LanguageModel(V, hidden_size=6).double(), Sentences(drawn(50), 8, pad=PAD, start=START)
    with torch.no_grad():
        batches = list(sentences.epoch(seed=0))
        losses = torch.stack([masked_loss(model(batch.inputs)[0], batch.targets, batch.mask) for batch in batches])
        symbols = torch.tensor([int(batch.mask.sum()) for batch in batches])
        nats = sum(model.costs(batch.inputs, batch.targets)[0][batch.mask].sum() for batch in batches)
    assert float(losses @ symbols.double() / symbols.sum()) == pytest.approx(float(nats / symbols.sum()), abs=1e-6)
    assert float(losses.mean()) != pytest.approx(float(nats / symbols.sum()), abs=1e-4)  # the mistake


def test_a_loss_names_what_does_not_fit():
    batch = only_batch()
    logits = torch.zeros(*batch.targets.shape, V)
    with pytest.raises(ValueError, match=r"mask \(8,\); \(batch, time, vocab_size\) and twice"):
        masked_loss(logits, batch.targets, batch.mask[:, 0])
    with pytest.raises(ValueError, match="the mask is False everywhere"):
        masked_loss(logits, batch.targets, torch.zeros_like(batch.mask))


# A final state taken at a pad


@torch.no_grad()
@pytest.mark.parametrize("kind", CELLS)
def test_a_final_state_at_a_pad_is_caught(kind):
    model, batch = LanguageModel(V, core=kind, hidden_size=6).double(), only_batch()
    states, _ = model.hidden_states(batch.inputs)

    def check_final(final):
        for row, length in enumerate(batch.lengths.tolist()):
            alone, _ = model.hidden_states(batch.inputs[row : row + 1, :length])
            assert torch.allclose(final[row], alone[0, -1], atol=1e-12), "not the state after the sentence"

    check_final(last_states(states, batch.lengths))
    with pytest.raises(AssertionError, match="not the state after"):
        check_final(states[:, -1])  # the mistake
    ended = batch.lengths == states.shape[1]
    assert 0 < ended.sum() < len(ended)
    wrong = (states[:, -1] - last_states(states, batch.lengths)).abs().amax(dim=1)
    assert (wrong[~ended] > 1e-3).all() and (wrong[ended] == 0).all()


# A reverse direction that reads pads


@torch.no_grad()
@pytest.mark.parametrize("kind", CELLS)
def test_a_reverse_direction_that_reads_pads_is_caught(kind):
    cell, batch = CELLS[kind](4, 6).double(), only_batch()
    vectors = torch.randn(V, 4, dtype=torch.float64)[batch.inputs]

    def check_reverse(states):
        for row, length in enumerate(batch.lengths.tolist()):
            alone, _ = unroll(cell, vectors[row : row + 1, :length].flip(1))
            assert torch.allclose(states[row, :length], alone[0].flip(0), atol=1e-12), "a pad was read first"

    check_reverse(backwards(unroll(cell, backwards(vectors, batch.lengths))[0], batch.lengths))
    wrong = unroll(cell, vectors.flip(1))[0].flip(1)  # the mistake
    with pytest.raises(AssertionError, match="a pad was read first"):
        check_reverse(wrong)


def test_rows_are_read_backwards_up_to_their_lengths():
    rows, lengths = torch.tensor([[5, 6, 9, 4], [7, 9, PAD, PAD], [3, PAD, PAD, PAD]]), torch.tensor([4, 2, 1])
    reverse = backwards(rows, lengths)
    assert reverse.tolist() == [[4, 9, 6, 5], [9, 7, PAD, PAD], [3, PAD, PAD, PAD]]
    assert torch.equal(backwards(reverse, lengths), rows)
    vectors = torch.randn(10, 2)
    assert torch.equal(backwards(vectors[rows], lengths), vectors[reverse])


# Packed: PyTorch's way around the pads


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_packed_sentences_through_torchs_layers_equal_masked_ones_through_ours(kind):
    batch, options = only_batch(), {"reset": "after"} if kind == "gru" else {}
    forward, reverse = (CELLS[kind](4, 6, **options).double() for _ in range(2))
    module = CELLS[kind].torch_layer(4, 6, batch_first=True, bidirectional=True, dtype=torch.float64)
    forward.write_into(module, "_l0")
    reverse.write_into(module, "_l0_reverse")
    embedding, weigh = torch.randn(V, 4, dtype=torch.float64), torch.randn(12, dtype=torch.float64)
    found = []
    for packed in (False, True):
        vectors = embedding[batch.inputs].requires_grad_()
        if packed:
            output, last = module(batch.pack(vectors))
            states, lengths = pad_packed_sequence(output, batch_first=True)
            assert torch.equal(lengths, batch.lengths)
            ends = torch.cat(tuple(last[0] if kind == "lstm" else last), dim=1)  # (batch, 2 · hidden)
        else:
            right, left = unroll(forward, vectors)[0], unroll(reverse, backwards(vectors, batch.lengths))[0]
            states = torch.cat([right, backwards(left, batch.lengths)], dim=2)
            ends = torch.cat([last_states(right, batch.lengths), last_states(left, batch.lengths)], dim=1)
        states = states * batch.mask[..., None]
        (gradient,) = torch.autograd.grad((states @ weigh).square().sum() + ends.sum(), vectors)
        found.append((states, ends, gradient))
    for ours, theirs in zip(*found, strict=True):
        assert torch.allclose(ours, theirs, atol=1e-10)
    assert not gradient[~batch.mask].any()  # nothing flows into a pad


# A state that leaks between sentences


@torch.no_grad()
def test_a_state_that_leaks_between_sentences_is_caught():
    model, sentences = LanguageModel(V, core="gru", hidden_size=6).double(), drawn(32)
    split = Sentences(sentences, 8, pad=PAD, start=START)

    def costs(seed, leak=False):
        """Return what each sentence costs, by its symbols, when the batches come in this order."""
        found, state = {}, None
        for batch in split.epoch(seed):
            nats, last = model.costs(batch.inputs, batch.targets, state)
            state = last if leak else None
            for row, length in enumerate(batch.lengths.tolist()):
                found[tuple(batch.targets[row, :length].tolist())] = float(nats[row, :length].sum())
        return found

    def check_sentences(**how):
        for seed in range(2):
            for symbols, nats in costs(seed, **how).items():
                row = torch.tensor([[START, *symbols]])
                alone = float(model.costs(row[:, :-1], row[:, 1:])[0].sum())
                assert nats == pytest.approx(alone, abs=1e-5), "a sentence depends on its predecessors"

    check_sentences()
    with pytest.raises(AssertionError, match="depends on its predecessors"):
        check_sentences(leak=True)  # the mistake
    first, second = costs(0, leak=True), costs(1, leak=True)
    assert max(abs(first[symbols] - second[symbols]) for symbols in first) > 1e-2  # even the order counts


# A state that is not carried between windows


@pytest.mark.parametrize("name", ["lstm", "window", "transformer"])
@torch.no_grad()
def test_a_state_that_is_not_carried_is_caught(name):
    model = {
        "lstm": lambda: LanguageModel(V, core="lstm", hidden_size=6),
        "window": lambda: FixedWindowLM(V, window=5, hidden_size=6),
        "transformer": lambda: TransformerLM(V, context=12, hidden_size=6, num_layers=1, num_heads=2),
    }[name]().double()
    streams = Streams(torch.randint(V, (161,)), batch=4, seq_len=8)
    windows = [streams.window(update) for update in range(len(streams))]
    inputs, targets = (torch.cat([window[part] for window in windows], dim=1) for part in (0, 1))
    whole, _ = model.costs(inputs, targets)

    def read(carry):
        costs, state = [], None
        for window in windows:
            some, last = model.costs(window.inputs, window.targets, state)
            state = last if carry else None
            costs.append(some)
        return torch.cat(costs, dim=1)

    def check_windows(costs):
        assert torch.allclose(costs, whole, atol=1e-9), "a window has forgotten the one before"

    check_windows(read(carry=True))
    wrong = read(carry=False)  # the mistake
    with pytest.raises(AssertionError, match="has forgotten"):
        check_windows(wrong)
    assert torch.allclose(wrong[:, :8], whole[:, :8]) and not torch.allclose(wrong[:, 8], whole[:, 8], atol=1e-3)

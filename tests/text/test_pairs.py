"""Examples with an answer: what is padded, what is hidden, and that every pass reads each of them once."""

from functools import partial

import pytest
import torch

from unrolled.text import Examples, pad_pairs, pad_tagged

NONE = torch.tensor([], dtype=torch.long)


def pairs_of(lengths):
    """Return pairs whose first symbol is the number of the pair."""
    return [(torch.full((n,), number), torch.full((n,), number)) for number, n in enumerate(lengths)]


def test_the_decoder_reads_start_and_all_but_the_last_symbol_of_the_target():
    pairs = [(torch.tensor([5]), torch.tensor([7, 6, 1])), (torch.tensor([5, 6]), torch.tensor([1]))]
    batch = pad_pairs(pairs, start=9)
    assert batch.sources.tolist() == [[5, 0], [5, 6]] and batch.lengths.tolist() == [1, 2]
    assert batch.inputs.tolist() == [[9, 7, 6], [9, 0, 0]] and batch.targets.tolist() == [[7, 6, 1], [1, 0, 0]]
    assert batch.mask.tolist() == [[True, True, True], [True, False, False]]


def test_words_and_tags_stand_side_by_side():
    batch = pad_tagged([(torch.tensor([3]), torch.tensor([1])), (torch.tensor([4, 5]), torch.tensor([2, 0]))], pad=7)
    assert batch.inputs.tolist() == [[3, 7], [4, 5]] and batch.targets.tolist() == [[1, 7], [2, 0]]
    assert batch.mask.tolist() == [[True, False], [True, True]] and batch.lengths.tolist() == [1, 2]


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: pad_pairs([(torch.tensor([1]), NONE)], start=0), r"symbols of target 0 have shape \(0,\)"),
        (lambda: pad_pairs([(torch.tensor([1.0]), torch.tensor([1]))], start=0), "source 0 are torch.float32"),
        (lambda: pad_pairs([(torch.tensor([1]), torch.tensor([-4]))], start=0), "target 0 run from -4"),
        (lambda: pad_tagged([(torch.tensor([1, 2]), torch.tensor([1]))]), r"there are \[2\] words and \[1\] tags"),
        (lambda: Examples([], 2, pad_tagged), "batch is 2, for 0 examples; both must be 1 or more"),
        (lambda: Examples(pairs_of([2]), 0, pad_tagged), "batch is 0, for 1 examples"),
    ],
)
def test_what_makes_no_batch_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_every_pass_reads_each_example_once_in_another_order():
    lengths = [3, 9, 4, 8, 5, 7, 6]
    examples = Examples(pairs_of(lengths), 2, pad_tagged)
    passes = [[examples.batch_of(update) for update in range(k, k + 4)] for k in (0, 4, 8)]
    seen = [[row for batch in batches for row in batch.inputs[:, 0].tolist()] for batches in passes]
    assert all(sorted(rows) == list(range(7)) for rows in seen) and len({tuple(rows) for rows in seen}) > 1
    assert sorted(sorted(batch.lengths.tolist()) for batch in passes[0]) == [[3, 4], [5, 6], [7, 8], [9]]
    again = Examples(pairs_of(lengths), 2, pad_tagged)
    assert torch.equal(again.batch_of(5).inputs, examples.batch_of(5).inputs)  # without the passes before
    other = Examples(pairs_of(lengths), 2, pad_tagged, seed=1)
    assert any(not torch.equal(other.batch_of(k).inputs, examples.batch_of(k).inputs) for k in range(4))


def test_batches_hold_examples_of_similar_length():
    examples = Examples(pairs_of([1, 100] * 8), 4, partial(pad_pairs, start=0))
    assert all(len(set(examples.batch_of(update).lengths.tolist())) == 1 for update in range(8))


def test_the_digest_tells_examples_apart():
    a, b, c = torch.tensor([1]), torch.tensor([2]), torch.tensor([1, 2])
    digests = [
        Examples(pairs, 2, pad_tagged).digest for pairs in ([(a, b), (c, c)], [(b, a), (c, c)], [(c, c), (a, b)])
    ]
    assert len({*digests}) == 3 and digests[0] == Examples([(a, b), (c, c)], 1, pad_tagged, seed=9).digest
    assert Examples([(a, c)], 1, pad_tagged).digest != Examples([(c, b)], 1, pad_tagged).digest  # the same symbols

"""A judge prices what was written, and knows which words there are."""

import numpy as np
import pytest
import torch
from unrolled.experiments.judge import Judge, beginnings
from unrolled.experiments.reading import Encoded

from unrolled.measure import token_nats
from unrolled.text import Vocabulary


def test_a_judge_prices_what_was_written_and_knows_words_where_they_begin():
    vocabulary = Vocabulary("the cat sat.\n")
    judge = Judge("the cat sat. the cat sat.\n", vocabulary, 3)
    prompts, written = (vocabulary.encode(part).view(1, -1) for part in ("the ca", "t tac sat"))
    marks = judge.strange(prompts, written)
    assert np.flatnonzero(~np.isnan(marks[0])).tolist() == [2]  # cat began before, sat may be cut off
    assert marks[0, 2] == 1
    both = torch.cat([prompts, written], dim=1)
    prices = judge.nats(prompts, written)
    assert prices.shape == (1, 9)
    assert prices[0] == pytest.approx(token_nats(judge.model, both[0], streams=1)[5:])
    assert prices[0, 0] < prices[0, 2]  # the cat, then ta


def test_beginnings_come_from_all_over_the_held_out_text():
    text = Encoded(None, None, torch.arange(100))
    prompts, rest = beginnings(text, {"texts": 3, "prompt": 2, "length": 3})
    assert prompts.tolist() == [[0, 1], [47, 48], [95, 96]]
    assert rest.tolist() == [[2, 3, 4], [49, 50, 51], [97, 98, 99]]

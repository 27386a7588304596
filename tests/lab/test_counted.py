"""Who counts is right, and who counts so far is right so far."""

import torch

from counter import Counter
from lab.ch06_gru.counting_task import counted
from unrolled.cells import LSTMCell
from unrolled.tasks import SequenceModel


def test_who_counts_so_far_is_right_so_far():
    assert counted(Counter(), 40).tolist() == [True] * 40
    assert counted(Counter(limit=25), 40).tolist() == [True] * 25 + [False] * 15
    torch.manual_seed(0)
    assert not counted(SequenceModel(LSTMCell(2, 4), 1), 40).all()

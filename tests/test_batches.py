"""Contiguous streams."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.batches import Streams


@given(st.integers(2, 400), st.integers(1, 8), st.integers(1, 20))
def test_streams_are_contiguous_and_targets_are_one_ahead(length, batch, seq_len):
    tokens = torch.arange(length)
    if (length - 1) // batch < seq_len:
        with pytest.raises(ValueError, match=f"seq_len is {seq_len}, but {length} symbols"):
            Streams(tokens, batch, seq_len)
        return
    streams = Streams(tokens, batch, seq_len)
    windows = [streams.window(update) for update in range(len(streams))]
    for row in range(batch):
        read = torch.cat([window.inputs[row] for window in windows])
        assert torch.equal(read, torch.arange(len(read)) + int(read[0]))  # no gap between windows
    assert all(torch.equal(window.targets, window.inputs + 1) for window in windows)
    seen = torch.cat([window.inputs.flatten() for window in windows])
    assert len(seen) == len(set(seen.tolist()))  # nothing is read twice
    assert [window.fresh for window in windows] == [True] + [False] * (len(windows) - 1)


def test_after_the_last_window_the_streams_begin_again():
    streams = Streams(torch.arange(41), batch=2, seq_len=5)
    assert len(streams) == 4
    again = streams.window(4)
    assert again.fresh and torch.equal(again.inputs, streams.window(0).inputs)


def test_bad_shapes_are_named():
    with pytest.raises(ValueError, match=r"tokens have shape \(2, 3\)"):
        Streams(torch.zeros(2, 3, dtype=torch.long), 1, 1)
    with pytest.raises(ValueError, match="batch is 0"):
        Streams(torch.arange(9), 0, 1)

"""The instruments of single experiments: answers counted by hand, and gradients and costs found in another way."""

import math

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import lab
from counter import Counter
from lab import ch01, ch02, ch03, ch04, ch06, ch11, ch12, ch12_gpu, ch13, timing
from lab.experiment import model, text
from lab.training import fit
from small_experiments import small
from unrolled import cost, records, tasks
from unrolled.cells import GRUCell, LSTMCell, RNNCell, initialise, unroll
from unrolled.measure import evaluate
from unrolled.models import LanguageModel
from unrolled.text import Vocabulary, stories

# Counting words and characters


def test_loners_are_frequent_and_keep_to_few():
    words = ["new", "york", "and", "new", "york", "but", "old", "york", "saw", "old", "men", "and", "old", "days"]
    metrics = ch01.loners(words, frequent=2)
    assert (metrics["count"], metrics["pairs"]) == (14, 12)
    assert ["york", 3, 2, "new"] in metrics["loners"] and metrics["loners"][0][0] in ("york", "new")
    assert not any(word == "days" for word, *_ in metrics["loners"])
    after_a_mark = ch01.loners([".", "So", ".", "So", ".", "So", "it", "is"], frequent=2)
    assert all(mate.isalpha() for *_, mate in after_a_mark["loners"])


def test_what_occurs_again_is_counted_in_the_other_half():
    lines = "a b a b\na b x y\na b x y\nx y a b\n"  # the first and third line against the second and fourth
    halves = ["a b a b\na b x y", "a b x y\nx y a b"]
    counted = [{}, {}]
    for half, words in zip(counted, map(stories.words, halves), strict=True):
        for pair in zip(words[:-1], words[1:], strict=True):
            half[pair] = half.get(pair, 0) + 1
    once = [pair for pair, count in counted[0].items() if count == 1]
    expected = np.mean([counted[1].get(pair, 0) for pair in once])
    assert ch01.again(lines, stories.words, times=1) == pytest.approx([expected])


def test_names_are_read_one_by_one_and_their_marks_cost_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(ch01, "texts", lambda config: ("a\nb\n" * 2000, "b\nb\na\n" * 500))
    first, *longer = ch01.measure_characters(
        lab.find("ngram-characters").runs["names"] | {"orders": [1, 2, 3, 4]}, 0, tmp_path
    )["add_k"]
    assert first == pytest.approx((np.log(4) + np.log(2)) / 2, abs=0.01)  # a letter is a quarter of all, an end half
    assert longer == pytest.approx([np.log(2) / 2] * 3, abs=0.01)  # one of two letters, and its end for certain


def test_the_setting_of_dive_into_deep_learning_is_letters_only():
    clean = "the time traveller for so it will be convenient " * 400
    training, held_out = ch01.letters_only(clean.replace("will", "WILL, 9").upper())
    assert training + held_out == clean[:15_000] and len(training) == 10_000


def test_the_records_agree_with_what_others_found():
    """Figures known from elsewhere: see the tests of `ngram` for Tiny Shakespeare."""
    nats = {name: result["kneser_ney"][0] for name, result in records.load("ngram-characters").items()}
    assert nats["names"][5] == pytest.approx(1.997, abs=0.01)
    for order, perplexity in ((4, 3.84), (7, 2.92), (10, 2.83)):
        assert math.exp(nats["tinystories-sample"][order - 1]) == pytest.approx(perplexity, abs=0.02)
    for order, known in ((5, 1.579), (6, 1.558), (7, 1.565)):
        assert nats["tiny-shakespeare"][order - 1] == pytest.approx(known, abs=0.01)


# A state that is asked and read


def test_a_readout_finds_what_lies_open_in_a_state():
    """The letter read last lies open in any state that is not saturated; that of forty places back in none here."""
    config = small("rnn-recall", "rnn", edges=[1, 50, 500], read_out=4000, back=[0, 1, 40])
    vocabulary = Vocabulary(stories.corpus(4000, seed=2).text)
    torch.manual_seed(0)
    found = ch02.readable(LanguageModel(len(vocabulary), hidden_size=64), vocabulary, config)
    last, before, far = found["letter"]
    assert last > 0.9 and last > before > 0.5 > 0.3 > far
    assert len(found["hero"]) == 2 and 0 < found["hero_known"] < 1


def test_the_hero_is_asked_for_from_the_end_of_the_name_on():
    corpus = stories.corpus(3000, seed=2)
    hero, since = ch02.heroes(corpus)
    assert len(hero) == len(since) == len(corpus.text)
    story = corpus.stories[0]
    name = next(each.value for each in story.recalls if each.variable == "hero" and each.kind == "name")
    first = story.text.index(name) + len(name)
    assert not since[:first].any() and since[first] == 1
    again = next(each for each in story.recalls if each.variable == "hero" and each.kind == "name")
    assert since[again.position] == again.lag + 1
    assert hero[: len(story.text)].unique().numel() == 1


# Windows, and gradients


@pytest.mark.parametrize("state", ["reset", "carried"])
def test_windows_are_scored_in_both_ways(state, tmp_path):
    config = small("rnn-truncation", f"{state} 4")
    metrics = ch03.measure_windows(config, 0, tmp_path / "a")
    network, read, history = fit(config, 0, tmp_path / "b")
    assert metrics["curve"] == history.validation and metrics["updates"] == [1, 2, 3]
    assert metrics["scored_carried"] == pytest.approx(evaluate(network, read.held_out).nats_per_symbol)
    assert metrics["scored_reset"] == pytest.approx(evaluate(network, read.held_out, window=16).nats_per_symbol)
    assert metrics["scored_carried"] != metrics["scored_reset"]


def vanilla(nonlinearity: str, initialisation: str | None) -> LanguageModel:
    cell = {"nonlinearity": nonlinearity}
    config = {"model": model("LanguageModel", hidden_size=5, cell_options=cell), "initialisation": initialisation}
    return ch04.untrained(config, 7)


def histogram(seq_len: int) -> dict:
    config = small("gradient-histogram", "16") | {"sequences": 3, "bins": 10, "longest": 8}
    return config | {"text": text("stories", 3000), "recipe": config["recipe"] | {"updates": 4, "seq_len": seq_len}}


def test_a_linear_cell_that_halves_keeps_half_a_step():
    network = vanilla("identity", None)
    initialise(network.core.layers[0], "identity", 0.5)
    probed = ch04.probe(network, torch.randint(7, (3, 6)))
    assert probed["lag"] == pytest.approx([0.5**lag for lag in range(6)])
    assert probed["lyapunov"] == pytest.approx(math.log(0.5))
    assert probed["slope"] == 1 and probed["log_slope"] == 0


def test_windows_come_from_all_over_the_text():
    windows = ch04.windows_of(torch.arange(100), sequences=3, steps=4)
    assert windows.tolist() == [[0, 1, 2, 3, 4], [47, 48, 49, 50, 51], [95, 96, 97, 98, 99]]


def test_the_histogram_counts_every_entry_and_the_whole_window_is_the_longest(tmp_path):
    axes = ch04.histogram_axes(histogram(4))
    assert axes["steps"] == [1, 2, 4, 8] and len(axes["bin"]) == 10 and axes["bin"][-1] == 0.03
    measured = {seq_len: ch04.measure_histogram(histogram(seq_len), 0, tmp_path) for seq_len in (4, 8)}
    for metrics in measured.values():
        assert sum(metrics["counts"]) == 16 * 16 and len(metrics["counts"]) == 10 and 0 < metrics["loss"] < 10
    # eight steps from an empty state are all there is; four are fewer
    assert measured[8]["by_steps"][-1] == pytest.approx(measured[8]["spread"], rel=1e-5)
    assert measured[4]["by_steps"][-1] != pytest.approx(measured[4]["spread"], rel=1e-5)


@pytest.mark.parametrize("kind", [RNNCell, LSTMCell, GRUCell])
def test_the_recurrent_weights_gradient_is_that_of_every_block(kind):
    torch.manual_seed(0)
    cell, inputs = kind(3, 4).double(), torch.randn(2, 5, 3, dtype=torch.float64)
    measured = ch04.recurrent_gradient(cell, inputs, lambda last: (last**3).sum(1))
    assert cell.W_hh.grad is None
    (unroll(cell, inputs, plain=True)[0][:, -1] ** 3).sum(1).mean().backward()
    expected = torch.cat([cell.W_hh.grad[4 * at : 4 * at + 4].flatten() for at in range(len(cell.blocks))])
    assert torch.allclose(torch.from_numpy(measured), expected, rtol=1e-10, atol=1e-12)


# Counting strings


@pytest.mark.parametrize("limit, reach", [(4, 4), (100, 12), (0, 0)])
def test_the_reach_ends_before_the_first_wrong_answer(limit, reach, tmp_path, monkeypatch):
    monkeypatch.setattr(tasks, "SequenceModel", lambda cell, size: Counter(limit))
    config = small("counting-task", "rnn 0.01", length=3, limit=12)
    assert ch06.measure(config, 0, tmp_path)["reach"] == reach
    right = torch.tensor([True, True, False, True])  # the last one by chance
    monkeypatch.setattr(ch06, "counted", lambda *_: right)
    assert ch06.measure(config, 0, tmp_path)["reach"] == 2


# Encoder–decoders


def test_what_is_asked_was_never_learnt_from():
    seeds = {ch11.VALIDATION_SEED % 2**32, ch11.TEST_SEED % 2**32}
    learnt = {1_000_000 * seed + update for seed in range(5) for update in (0, ch11.UPDATES)}
    assert len(seeds) == 2 and not seeds & learnt and min(seeds) > 5_000_000


# What it costs


SIZE = {"hidden_size": 8, "heads": 2}


def test_the_mask_that_is_not_read_stands_for_the_one_that_is():
    layer, texts = ch12.transformer_layer(SIZE), torch.randn(2, 6, 8)
    ahead = torch.ones(6, 6, dtype=torch.bool).triu(1)
    torch.testing.assert_close(ch12.causal(layer, texts), layer(texts, ahead))
    theirs, _ = layer.self_attn(texts, texts, texts, attn_mask=ahead)
    torch.testing.assert_close(ch12.causal(layer, texts, alone=True), theirs)


@torch.no_grad()
def test_symbol_by_symbol_with_a_cache_equals_all_at_once():
    layer, texts, cache = ch12.transformer_layer(SIZE), torch.randn(2, 6, 8), torch.full((2, 2, 2, 6, 4), torch.nan)
    steps = [ch12.cached_step(layer, texts[:, t : t + 1], cache, t) for t in range(6)]
    torch.testing.assert_close(torch.cat(steps, dim=1), ch12.causal(layer, texts))


def test_what_is_recomputed_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(timing, "seconds", lambda work: (work(), 1.0)[1])  # everything takes a second
    configs = {label: small("recomputing-time", label, **SIZE, lengths=[64, 144], batch=1) for label in ch12.RECOMPUTED}
    for label, measured in ch12.measure_recomputing(configs, 0, tmp_path).items():
        assert measured["whole_microseconds"] == measured["recomputed_microseconds"] == [1e6 / 64, 1e6 / 144]
        recomputed, whole = measured["recomputed_bytes"], measured["whole_bytes"]
        assert all(few < many / 1.5 for few, many in zip(recomputed, whole, strict=True))
        if label != "transformer":
            assert whole[1] - whole[0] == 4 * 80 * cost.recurrent(label, 8, 8).kept


def test_recomputing_the_layers_of_a_transformer_changes_no_gradient():
    ways, weights = ch12.training_pass(small("recomputing-time", "transformer", **SIZE, batch=2), 6)
    gradients = []
    for work in ways.values():
        work()
        gradients.append([weight.grad.clone() for weight in weights])
        for weight in weights:
            weight.grad = None
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize("label", ["gru float32", "transformer float32"])
@torch.no_grad()
def test_the_operations_are_those_that_pytorch_counts(label):
    config = small("gpu-layers", label, length=6)
    layer, inputs = ch12.sequence_layer(config), torch.randn(3, 6, 8)
    with FlopCounterMode(display=False) as counter, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        layer(inputs)
    assert counter.get_total_flops() == ch12_gpu.operations(config, batch=3)


# What a state can track, and recall


def test_a_network_that_knows_is_always_right_also_beyond_what_was_learned(monkeypatch, tmp_path):
    class Knows(torch.nn.Module):
        def forward(self, inputs):
            return torch.nn.functional.one_hot(tasks.ShellGame(1, 5).follow(inputs.argmax(dim=-1)), 5).float()

    monkeypatch.setattr(tasks, "solve", lambda *given, **options: tasks.Outcome(True, False, 1, scores=[0.0]))
    monkeypatch.setattr(tasks, "SequenceModel", lambda *given: Knows())
    metrics = ch13.measure_tracking(small("shell-game-delta", "5 cups: lstm", games=30, played=256), 0, tmp_path)
    assert metrics["right"] == [1.0] * 128 and metrics["success"] == 1


def test_a_task_of_recall_and_following_asks_for_values_and_cups_that_are_right():
    task = ch13.RecallAndFollow(pairs=12)
    inputs, targets = task.batch(50, torch.Generator().manual_seed(0))
    told, asked = inputs[:, :12], inputs[:, 12:]
    values = told[:, :, :12].mT @ told[:, :, 12:28]  # (batch, keys, values): which belongs to a key
    moves = asked[:, :, 28:].argmax(dim=2)  # 0 at a key
    cups = tasks.ShellGame(1, 5).follow(moves)
    wanted = torch.where(moves > 0, task.values + cups, (asked[:, :, :12] @ values).argmax(dim=2))
    assert torch.equal(targets[:, 12:], wanted) and (targets[:, :12] == -1).all()
    assert asked[:, :, :12].sum(dim=1).max() == 1 and 0.4 < (moves > 0).float().mean() < 0.6


def test_a_head_of_attention_finds_a_pair_by_its_key_and_heads_see_nothing_ahead():
    task = ch13.RecallAndFollow(pairs=5, values=4, cups=2)
    heads, size = ch13.Heads(task.input_size, 8, 9, task.output_size), 9  # of keys and values
    with torch.no_grad():
        for part in (heads.project, heads.output):
            part.weight.zero_(), part.bias.zero_()
        queries, keys, values = (part[:, :size] for part in heads.project.weight.chunk(3))
        queries[:5, :5], keys[:5, :5], values[:] = 50 * torch.eye(5), torch.eye(5), torch.eye(size)
        heads.output.weight[:4, 8 + 5 :] = torch.eye(4)
    inputs, targets = task.batch(20, torch.Generator().manual_seed(0))
    answers, of_values = heads(inputs), (targets >= 0) & (targets < 4)
    assert of_values.sum() > 20 and torch.equal(answers.argmax(dim=2)[of_values], targets[of_values])
    other = inputs.clone()
    other[:, 6:] = 0
    torch.testing.assert_close(heads(other)[:, :6], answers[:, :6])

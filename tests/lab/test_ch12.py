"""Chapter 12's experiments: layers that do the same work in whatever way, and costs that are counted twice."""

import contextlib
import gc
import types
import weakref

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import lab
from lab.ch12_cost import lengths, on_gpu
from lab.engine import timing
from lab.engine.run import run
from small_experiments import small
from unrolled import cost

SIZE = {"hidden_size": 8, "heads": 2}


def contenders(name: str, **size) -> dict[str, dict]:
    """Return the small configurations of all contenders."""
    return {label: small(name, label) | SIZE | size for label in lab.find(name).contenders}


@pytest.fixture
def clock(monkeypatch):
    """A clock by which everything that is timed takes a second."""
    monkeypatch.setattr(timing, "seconds", lambda work: (work(), 1.0)[1])


# Longer and longer texts


def test_training_is_timed_for_each_symbol_at_each_length(clock, tmp_path):
    configs = contenders("length-time", lengths=[4, 10], batch=2)
    metrics = lengths.measure_training(configs, 0, tmp_path)
    assert metrics == {label: {"microseconds": [125_000, 50_000]} for label in configs}


@pytest.mark.parametrize("name", lengths.ALL)
def test_no_layer_looks_ahead_and_all_learn(name):
    layer = lengths.sequence_layer(SIZE | {"layer": name})
    texts = torch.randn(2, 6, 8)
    other = texts.clone()
    other[:, 4:] += 1.0
    ours, theirs = layer(texts), layer(other)
    assert ours.shape == (2, 6, 8) and ours.requires_grad
    torch.testing.assert_close(ours[:, :4], theirs[:, :4])
    assert not torch.allclose(ours[:, 4:], theirs[:, 4:])


def test_the_mask_that_is_not_read_stands_for_the_one_that_is():
    layer, texts = lengths.transformer_layer(SIZE), torch.randn(2, 6, 8)
    ahead = torch.ones(6, 6, dtype=torch.bool).triu(1)
    torch.testing.assert_close(lengths.causal(layer, texts), layer(texts, ahead))
    theirs, _ = layer.self_attn(texts, texts, texts, attn_mask=ahead)
    torch.testing.assert_close(lengths.causal(layer, texts, alone=True), theirs)


@torch.no_grad()
def test_symbol_by_symbol_with_a_cache_equals_all_at_once():
    layer, texts, cache = lengths.transformer_layer(SIZE), torch.randn(2, 6, 8), torch.full((2, 2, 2, 6, 4), torch.nan)
    steps = [lengths.cached_step(layer, texts[:, t : t + 1], cache, t) for t in range(6)]
    torch.testing.assert_close(torch.cat(steps, dim=1), lengths.causal(layer, texts))


def test_a_state_stays_as_it_is_and_a_cache_grows(clock, tmp_path):
    metrics = lengths.measure_generation(contenders("generation-length", lengths=[4, 10], batch=3), 0, tmp_path)
    for label, measured in metrics.items():
        attention = [cost.attention(8, length).state for length in (4, 10)]
        state = attention if label == "transformer" else [cost.recurrent(label, 8, 8).state] * 2
        assert measured["microseconds"] == [1e6, 1e6]
        assert measured["state_bytes"] == [4 * 3 * numbers for numbers in state]


def test_what_is_recomputed_is_not_kept(clock, tmp_path):
    configs = contenders("recomputing-time", lengths=[64, 256], batch=2)
    for label, measured in lengths.measure_recomputing(configs, 0, tmp_path).items():
        assert measured["whole_microseconds"] == measured["recomputed_microseconds"] == [1e6 / 128, 1e6 / 512]
        recomputed, whole = measured["recomputed_bytes"], measured["whole_bytes"]
        assert all(few < many / 1.5 for few, many in zip(recomputed, whole, strict=True))
        if label != "transformer":
            assert whole[1] - whole[0] == 4 * 2 * 192 * cost.recurrent(label, 8, 8).kept


def test_recomputing_the_layers_of_a_transformer_changes_no_gradient():
    ways, weights = lengths.training_pass(contenders("recomputing-time", batch=2)["transformer"], 6)
    gradients = []
    for work in ways.values():
        work()
        gradients.append([weight.grad.clone() for weight in weights])
        for weight in weights:
            weight.grad = None
    torch.testing.assert_close(*gradients)


# On a GPU


@pytest.mark.parametrize("label", ["lstm float32", "transformer float32"])
@torch.no_grad()
def test_the_operations_are_those_that_pytorch_counts(label):
    config = small("gpu-layers", label, length=6)
    layer, inputs = lengths.sequence_layer(config), torch.randn(3, 6, 8)
    with FlopCounterMode(display=False) as counter, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        layer(inputs)
    assert counter.get_total_flops() == on_gpu.operations(config, batch=3)


class Inputs:
    """What lies on a GPU, as far as it can be told."""

    device = types.SimpleNamespace(type="cuda")


class Graph:
    """A recorded graph that counts how often it is replayed, and keeps nothing that it reads."""

    replays = 0

    def replay(self) -> None:
        """Count."""
        self.replays += 1


def test_what_a_recorded_graph_reads_stays_as_long_as_it_can_be_replayed(monkeypatch):
    pretended = {"Stream": object, "synchronize": lambda: None, "CUDAGraph": Graph}
    pretended |= {"stream": contextlib.nullcontext, "graph": contextlib.nullcontext}
    for name, pretence in pretended.items():
        monkeypatch.setattr(torch.cuda, name, pretence)
    calls, weights, inputs = [], Inputs(), Inputs()
    held = weakref.ref(weights), weakref.ref(inputs)
    replay = on_gpu.replayed(lambda _, weights=weights: calls.append(weights.device), inputs)
    del weights, inputs
    gc.collect()
    assert all(of() is not None for of in held), "the graph reads addresses: what lies there has to stay"
    replay()
    assert len(calls) == 2 and replay.graph.replays == 1, "once to prepare, once to record, and never in a replay"
    del replay
    gc.collect()
    assert all(of() is None for of in held)


@pytest.mark.parametrize("switched", [True, False])
def test_layers_are_timed_and_counted_with_cudnn_whatever_it_was_before(switched, clock, tmp_path, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "enabled", switched)
    timed, counted, one = [], [], {"lstm float32": contenders("gpu-layers")["lstm float32"]}

    def flags() -> tuple[bool, bool]:
        return torch.backends.cudnn.enabled, torch.backends.cudnn.allow_tf32

    monkeypatch.setattr(on_gpu, "work_of", lambda config, batch: lambda: timed.append(flags()))
    monkeypatch.setattr(on_gpu, "launched", lambda work: counted.append(flags()))
    on_gpu.measure(one, 0, tmp_path)
    on_gpu.kernels(one["lstm float32"])
    assert set(timed) == set(counted) == {(True, False)}
    assert torch.backends.cudnn.enabled is switched


def test_every_layer_is_timed_as_it_is_and_recorded_and_its_kernels_are_counted_when_all_times_are_taken(
    clock, tmp_path, monkeypatch
):
    configs = contenders("gpu-layers")
    metrics = on_gpu.measure(configs, 0, tmp_path)
    for label, measured in metrics.items():
        assert measured["microseconds"] == [[1e6] * 3] * 2 and measured["failed"] == ["", ""]
        assert measured["kernels"] == [0, 0], "on a CPU there are none"
        lab.find("gpu-layers").check(label, measured, configs[label])


def test_what_fails_has_its_reason_and_no_time_and_the_others_are_timed(clock, tmp_path, monkeypatch):
    configs = {label: of for label, of in contenders("gpu-layers").items() if label.startswith("gru float32")}

    def replayed(layer, inputs):
        def call():
            if len(inputs) == 2:
                raise RuntimeError("CUDA error: operation not permitted\nmore of it")
            return layer(inputs)

        return call

    monkeypatch.setattr(on_gpu, "replayed", replayed)
    measured = on_gpu.measure(configs, 0, tmp_path)["gru float32, replayed"]
    assert measured["failed"] == ["", "CUDA error: operation not permitted"]
    assert measured["microseconds"] == [[1e6] * 3, [float("inf")] * 3]


def test_what_is_recorded_on_a_gpu_is_not_recorded_elsewhere(tmp_path):
    with pytest.raises(ValueError, match="gpu-writing is recorded on a GPU, and the device is cpu; take --device cuda"):
        run(lab.find("gpu-writing"), folder=tmp_path, record=True)

"""Launches: what is timed is what is named, its operations are counted, and nothing of it needs a GPU."""

import itertools

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode
from unrolled.experiments import find, launches
from unrolled.experiments.lengths import sequence_layer

from unrolled.measure import hardware

QUICK = find("launches").contenders["quick"]
SMALL = {"hidden_size": 8, "input_size": 8, "heads": 2, "length": 6, "warm_up": 0, "rounds": 1}
SIZES = {"sizes": {"side": 4, "large": 64, "small": 16}}


@pytest.mark.parametrize("label", [label for label in QUICK if label.endswith("float32") and "torch" not in label])
@torch.no_grad()
def test_the_operations_are_those_that_pytorch_counts(label):
    config = QUICK[label] | SMALL
    if config["symbols"]:
        config |= {"input_size": 5, "symbols": 7}
        rnn, output = torch.nn.RNN(5, 8), torch.nn.Linear(8, 7)
        weights = sum(w.numel() for layer in (rnn, output) for w in layer.parameters() if w.ndim == 2)
        assert launches.operations(config, batch=3) == 2 * 3 * 6 * weights
        assert launches.solved_exercise(config, torch.float32)(torch.randn(3, 6, 5)).shape == (3, 6, 7)
        return
    layer, inputs = sequence_layer(config), torch.randn(3, 6, 8)
    with FlopCounterMode(display=False) as counter, torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        layer(inputs)
    assert counter.get_total_flops() == launches.operations(config, batch=3)


def test_every_layer_is_timed_at_every_batch_size_beside_the_roofs_of_its_precision(monkeypatch, tmp_path):
    configs = {label: config | SMALL | SIZES | {"batches": [1, 2]} for label, config in QUICK.items()}
    for config in configs.values():
        config["symbols"] = min(config["symbols"], 7)
    monkeypatch.setattr(hardware.time, "perf_counter", itertools.count().__next__)  # everything takes a second
    metrics = launches.measure(configs, 0, tmp_path)
    for label, measured in metrics.items():
        assert measured["microseconds"] == [1e6, 1e6] and measured["launches"] == [0, 0]
        assert measured["operations"][1] == 2 * measured["operations"][0] > 0
        assert (measured["peak"], measured["memory"], measured["launch"]) == (2 * 4**3, 64, 1e6 / launches.IN_A_ROW)
        assert launches.axes(configs[label]) == {"batch": [1, 2]}


def test_the_layers_have_the_precision_that_is_named(monkeypatch, tmp_path):
    seen = []

    def kept(config, dtype):
        seen.append(dtype)
        return lambda inputs: seen.append(inputs.dtype)

    monkeypatch.setattr(launches, "sequence_layer", kept)
    half = {label: config | SMALL | SIZES | {"batches": [1]} for label, config in QUICK.items() if "float16" in label}
    launches.measure({label: config for label, config in half.items() if not config["symbols"]}, 0, tmp_path)
    assert set(seen) == {torch.float16}

"""What do a recurrence and its rivals cost on a GPU, once nobody waits for the processor (chapters 12 and 13)?

Each layer reads texts forward, launched kernel by kernel, and replayed from a recording of the same kernels: the
difference is what the processor takes to launch them. The kernels are counted after all times, in a process of its own,
since whoever watches them slows them. On a CPU nothing can be recorded, and all is only called.
"""

import contextlib
import functools
import math
import multiprocessing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.profiler import ProfilerActivity, profile

from lab.ch12 import GENERATION, Sequences, measure_generation, sequence_layer
from lab.experiment import Config, Experiment, Metric, at
from lab.timing import rounds_of
from unrolled import cost, settings
from unrolled.measure import hardware

IN_A_ROW = 1000  # operations that do next to nothing, to take the time of a launch
QUARTILES = (25, 50, 75)  # per cent
NO_TIME = [math.inf] * len(QUARTILES)


@dataclass(frozen=True)
class Replay:
    """A recording of what a layer does to its inputs, repeated when it is called.

    A graph keeps addresses, not tensors. So the layer and its inputs are kept beside it: what lies there has to stay.
    """

    graph: torch.cuda.CUDAGraph
    layer: Sequences
    inputs: torch.Tensor

    def __call__(self) -> None:
        """Repeat all kernels at one command."""
        self.graph.replay()


def replayed(layer: Sequences, inputs: torch.Tensor) -> Callable[[], object]:
    """Return a call that repeats what a layer does to these inputs, without launching each kernel by itself.

    A GPU can record a sequence of launches as a graph and repeat all of it at one command. On a CPU there is no such
    thing, and the layer is called.

    Args:
        layer: maps (batch, time, input_size) to (batch, time, hidden_size).
        inputs: what it always reads.
    """
    if inputs.device.type != "cuda":
        return functools.partial(layer, inputs)
    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):  # as PyTorch asks: what is only done once must be done before
        layer(inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        layer(inputs)
    return Replay(graph, layer, inputs)


def launched(work: Callable[[], object]) -> int:
    """Return how many kernels some work runs on the GPU, copies and fills included; none on a CPU."""
    if settings.device().type != "cuda":
        return 0
    work()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        work()
        torch.cuda.synchronize()
    return sum(event.device_type == torch.autograd.DeviceType.CUDA for event in seen.events())


def operations(config: Config, batch: int) -> int:
    """Return the operations of the matrix products of a layer that reads so many texts, as `cost` counts them.

    In a transformer every symbol looks at all symbols; a kernel that leaves out those ahead does fewer.
    """
    inputs, size, length = config["input_size"], config["hidden_size"], config["length"]
    if config["layer"] == "transformer":
        each = cost.transformer_layer(size, length)
    else:
        each = cost.recurrent(config["layer"].removeprefix("torch-"), inputs, size)
    return batch * length * each.flops


def roofs_of(dtype: torch.dtype, config: Config) -> dict[str, float]:
    """Return what the device can do at most in a precision, and how long one launch after another takes."""
    tiny = torch.zeros(1, device=settings.device(), dtype=dtype)

    def in_a_row() -> None:
        for _ in range(IN_A_ROW):
            tiny.add_(1)

    roofs, taken = hardware.measure({"launch": in_a_row}, config["rounds"], dtype=dtype, **config["sizes"])
    return {"peak": roofs.peak, "memory": roofs.memory, "launch": 1e6 * taken["launch"] / IN_A_ROW}


def work_of(config: Config, batch: int) -> Callable[[], object]:
    """Return a call that reads so many texts by the layer of a configuration, recorded before where that is asked."""
    dtype = getattr(torch, config["precision"])
    inputs = torch.randn(batch, config["length"], config["input_size"], device=settings.device(), dtype=dtype)
    layer = sequence_layer(config, dtype)
    return replayed(layer, inputs) if config["replayed"] else functools.partial(layer, inputs)


def same_for_all() -> contextlib.AbstractContextManager[None]:
    """Return a context with PyTorch's own kernels for recurrent layers, in which float32 means the same for all.

    Left out, ``enabled`` would switch cuDNN off.
    """
    return torch.backends.cudnn.flags(enabled=True, allow_tf32=False)


@torch.no_grad()
def kernels(config: Config) -> list[int]:
    """Return how many kernels run for each batch size, when each is launched by itself; none on a CPU."""
    with same_for_all():
        return [launched(work_of(config, batch)) for batch in config["batches"]]


@torch.no_grad()
def measure(configs: Mapping[str, Config], seed: int, folder: Path) -> dict[str, dict]:
    """Time each layer at each batch size, all in turn; then count their kernels."""
    shared, *_ = configs.values()
    torch.manual_seed(seed)
    with same_for_all():
        roofs = {name: roofs_of(getattr(torch, name), shared) for name in {of["precision"] for of in configs.values()}}
        metrics = {label: roofs[of["precision"]] | {"microseconds": [], "failed": []} for label, of in configs.items()}
        for batch in shared["batches"]:
            works, failed = {}, dict.fromkeys(configs, "")
            for label, config in configs.items():
                try:
                    works[label] = work_of(config, batch)
                    works[label]()
                except RuntimeError as error:  # what cannot be recorded, or does not fit: the record says why
                    failed[label] = str(error).splitlines()[0]
                    works.pop(label, None)
            times = {label: np.percentile(taken, QUARTILES) for label, taken in rounds_of(works, shared).items()}
            for label in configs:
                metrics[label]["microseconds"].append((1e6 * times[label]).tolist() if label in times else NO_TIME)
                metrics[label]["failed"].append(failed[label])
    alone = [label for label, config in configs.items() if not config["replayed"]]
    with multiprocessing.get_context("spawn").Pool(1) as other:
        counted = dict(zip(alone, other.map(kernels, [configs[label] for label in alone]), strict=True))
    for label, config in configs.items():
        metrics[label]["kernels"] = counted[label.removesuffix(REPLAYED)]
        if config["layer"] not in UNCOUNTED:
            metrics[label]["operations"] = [operations(config, batch) for batch in config["batches"]]
    return metrics


METRICS = {
    "microseconds": Metric(
        "microseconds", "all texts from the first symbol to the last: quartiles", ("batch", "quartile")
    ),
    "failed": Metric("", "why there is no time, where there is none", ("batch",)),
    "kernels": Metric("", "those that run for it", ("batch",)),
    "operations": Metric(
        "", "those of its matrix products, as counted for a recurrent cell or a transformer", ("batch",)
    ),
    "peak": Metric("operations per second", "of a large product of two square matrices in this precision"),
    "memory": Metric("bytes per second", "read from more memory than a cache holds"),
    "launch": Metric("microseconds", "from one operation that does next to nothing to the next"),
}

REPLAYED = ", replayed"
LOOPS = ("lstm", "gru", "torch-lstm", "torch-gru")
UNCOUNTED = ("mingru", "linear-attention", "delta")  # their scans and chunks do more than their steps
LAYERS = {**dict.fromkeys(LOOPS, ("float32", "float16")), **dict.fromkeys(UNCOUNTED, ("float32",))}
LAYERS["transformer"] = ("float32", "float16")
SIZE = {"input_size": 768, "hidden_size": 768, "heads": 12, "length": 512, "symbols": 0}
ROUNDS = {"batches": [1, 16, 32, 256], "warm_up": 2, "rounds": 12}
ROUNDS |= {"sizes": {"side": 8192, "large": 2**32, "small": 2**24}}
CONTENDERS = {
    f"{layer} {precision}{REPLAYED if again else ''}": {"layer": layer, "precision": precision, "replayed": again}
    | SIZE
    | ROUNDS
    for layer, precisions in LAYERS.items()
    for precision in precisions
    for again in (False, True)
}
SMALL = {"input_size": 8, "hidden_size": 8, "heads": 2, "length": 4, "batches": [1, 2], "warm_up": 1, "rounds": 2}
SMALL |= {"sizes": {"side": 384, "large": 2**27, "small": 2**21}}

WRITING = {"hidden_size": 2048, "heads": 16, "lengths": [128, 512, 2048, 8192], "batch": 1}
WRITERS = {layer: {"layer": layer} | WRITING for layer in ("gru", "lstm", "mingru", "transformer")}

EXPERIMENTS = (
    Experiment(
        "gpu-layers",
        "On a GPU: layers launched kernel by kernel and replayed from a recording, with their spread and their kernels",
        METRICS,
        CONTENDERS,
        measure,
        at(batch="batches", quartile=QUARTILES),
        seeds=1,
        together=True,
        on_gpu=True,
        small=SMALL,
    ),
    Experiment(
        "gpu-writing",
        "On a GPU: the time of one more symbol of one text, by a state or by a cache, layers of 2,048 units",
        GENERATION,
        {label: config | {"warm_up": 20, "rounds": 200} for label, config in WRITERS.items()},
        measure_generation,
        at(length="lengths"),
        together=True,
        on_gpu=True,
        small={"hidden_size": 8, "heads": 2, "lengths": [4, 16], "warm_up": 1, "rounds": 2},
    ),
)

"""What does a layer cost on a GPU: operations, bytes, or launches (chapter 12)?

Each layer reads texts forward, at several batch sizes and in two precisions. Beside its time stand the operations that
it needs, the kernels that it launches, and what the device can do at most, measured in the same run. On a CPU nothing
is launched, and all else is measured there too.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from lab.ch12_cost.lengths import Sequences, sequence_layer
from lab.engine.experiment import Config, Experiment, Metric, at
from lab.engine.timing import medians
from unrolled import cost, settings
from unrolled.measure import hardware

IN_A_ROW = 1000  # operations that do next to nothing, to take the time of a launch


def replayed(layer: Sequences, inputs: torch.Tensor) -> Callable[[], object]:
    """Return a call that repeats what a layer does to these inputs, without launching each kernel by itself.

    A GPU can record a sequence of launches as a graph and repeat all of it at one command. On a CPU there is no such
    thing, and the layer is called.

    Args:
        layer: maps (batch, time, input_size) to (batch, time, hidden_size).
        inputs: what it always reads.
    """
    if inputs.device.type != "cuda":
        return lambda: layer(inputs)
    aside = torch.cuda.Stream()
    with torch.cuda.stream(aside):  # as PyTorch asks: what is only done once must be done before
        layer(inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        layer(inputs)

    def replay() -> None:
        graph.replay()

    replay.reads = layer, inputs  # a graph keeps addresses, not tensors: what lies there has to stay
    return replay


def launched(work: Callable[[], object]) -> int:
    """Return how many kernels some work runs on the GPU, copies and fills included; none on a CPU."""
    if settings.device().type != "cuda":
        return 0
    work()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        work()
        torch.cuda.synchronize()
    return sum(event.device_type == torch.autograd.DeviceType.CUDA for event in seen.events())


def solved_exercise(config: Config, dtype: torch.dtype) -> Sequences:
    """Return PyTorch's RNN with an output layer on top, from (batch, time, input_size) to (batch, time, symbols)."""
    rnn = torch.nn.RNN(config["input_size"], config["hidden_size"], batch_first=True)
    rnn, output = (
        part.to(settings.device(), dtype) for part in (rnn, torch.nn.Linear(rnn.hidden_size, config["symbols"]))
    )
    return lambda inputs: output(rnn(inputs)[0])


def operations(config: Config, batch: int) -> int:
    """Return the operations of the matrix products of a layer that reads so many texts, as `cost` counts them.

    In a transformer every symbol looks at all symbols; a kernel that leaves out those ahead does fewer.
    """
    inputs, size, length = config["input_size"], config["hidden_size"], config["length"]
    if config["layer"] == "transformer":
        each = cost.transformer_layer(size, length)
    else:
        each = cost.recurrent(config["layer"].removeprefix("torch-"), inputs, size)
    if config["symbols"]:
        each = each + cost.output(config["symbols"], size)
    return batch * length * each.flops


@torch.no_grad()
def measure(configs: Mapping[str, Config], seed: int, folder: Path) -> dict[str, dict]:
    """Time each layer forward at each batch size, and count its launches, beside the roofs of its precision."""
    shared, *_ = configs.values()
    torch.manual_seed(seed)
    device = settings.device()
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):  # float32 shall mean the same for all
        roofs = {name: roofs_of(getattr(torch, name), shared) for name in {of["precision"] for of in configs.values()}}
        metrics = {
            label: roofs[of["precision"]] | {"microseconds": [], "launches": []} for label, of in configs.items()
        }
        for batch in shared["batches"]:
            works = {}
            for label, config in configs.items():
                dtype = getattr(torch, config["precision"])
                shape = batch, config["length"], config["input_size"]
                inputs = torch.randn(shape, device=device, dtype=dtype)
                layer = (solved_exercise if config["symbols"] else sequence_layer)(config, dtype)
                works[label] = replayed(layer, inputs) if config["replayed"] else lambda f=layer, x=inputs: f(x)
                metrics[label]["launches"].append(launched(works[label]))
            for label, taken in medians(works, shared).items():
                metrics[label]["microseconds"].append(1e6 * taken)
    for label, config in configs.items():
        metrics[label]["operations"] = [operations(config, batch) for batch in config["batches"]]
    return metrics


def roofs_of(dtype: torch.dtype, config: Config) -> dict[str, float]:
    """Return what the device can do at most in a precision, and how long one launch after another takes."""
    tiny = torch.zeros(1, device=settings.device(), dtype=dtype)

    def in_a_row() -> None:
        for _ in range(IN_A_ROW):
            tiny.add_(1)

    roofs, taken = hardware.measure({"launch": in_a_row}, config["rounds"], dtype=dtype, **config["sizes"])
    return {"peak": roofs.peak, "memory": roofs.memory, "launch": 1e6 * taken["launch"] / IN_A_ROW}


METRICS = {
    "microseconds": Metric("microseconds", "the time of all texts from their first symbol to their last", ("batch",)),
    "launches": Metric("", "kernels that ran for it; by a replayed graph, too, though it is launched once", ("batch",)),
    "operations": Metric("", "those of its matrix products", ("batch",)),
    "peak": Metric("operations per second", "of a large product of two square matrices in this precision"),
    "memory": Metric("bytes per second", "read from more memory than a cache holds"),
    "launch": Metric("microseconds", "from one operation that does next to nothing to the next"),
}


LAYERS = {  # names, whose loops are replayed
    "lstm": ("lstm", False),
    "lstm, replayed": ("lstm", True),
    "torch-lstm": ("torch-lstm", False),
    "torch-gru": ("torch-gru", False),
    "transformer": ("transformer", False),
}
BERT = {"input_size": 768, "hidden_size": 768, "heads": 12, "length": 512, "symbols": 0}
EXERCISE = {
    "input_size": 128,
    "hidden_size": 256,
    "heads": 0,
    "length": 50,
    "symbols": 10_000,
}  # the source's, of an RNN
SMALL = {"input_size": 8, "hidden_size": 8, "heads": 2, "length": 4, "batches": [1, 2], "warm_up": 1, "rounds": 2}
SMALL |= {"sizes": {"side": 384, "large": 2**27, "small": 2**21}}
FULL = {"batches": [1, 16, 32, 256], "warm_up": 3, "rounds": 20}
FULL |= {"sizes": {"side": 8192, "large": 2**32, "small": 2**24}}


KINDS = {name: {"layer": kind, "replayed": again} | BERT for name, (kind, again) in LAYERS.items()}
KINDS["exercise"] = {"layer": "torch-rnn", "replayed": False} | EXERCISE
CONTENDERS = {
    f"{name} {precision}": config | {"precision": precision} | FULL
    for name, config in KINDS.items()
    for precision in ("float32", "float16")
}

EXPERIMENTS = (
    Experiment(
        "launches",
        "On a GPU: time, operations and launches of recurrent layers and of a transformer's, beside the roofs",
        METRICS,
        CONTENDERS,
        measure,
        at(batch="batches"),  # texts side by side
        together=True,
        small=SMALL,
    ),
)

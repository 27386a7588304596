"""Share one training among several processes, on one machine or on many, started by ``torchrun``.

    torchrun --nproc-per-node 2 -m lab run NAME

Every process has all the weights and its own streams, which are neighbouring rows of the batch. With n processes, L_p
the mean loss of the streams of process p, and g_p its gradient, all of them update with

    L = 1/n Σ_p L_p,   g = 1/n Σ_p g_p

which is what a single process computes from the whole batch, up to rounding. Only the first process writes files. A
process alone is the first of one, and every function here does the plain thing for it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

import torch
import torch.distributed as dist
from torch.nn import Module

from unrolled.cells import State

T = TypeVar("T")
_ALONE: ContextVar[bool] = ContextVar("alone", default=False)


@contextmanager
def together(device: torch.device) -> Iterator[None]:
    """Connect the processes that ``torchrun`` started for the length of the ``with`` block; without it, do nothing.

    They exchange tensors on the CPU through gloo and tensors on a GPU through NCCL.

    Args:
        device: what they compute on. If it is ``cuda``, each process takes the GPU of its own number on its machine.

    Raises:
        ValueError: a machine has fewer GPUs than processes.
    """
    if not launched():
        yield
        return
    if device.type == "cuda":
        number, gpus = dist.get_node_local_rank(), torch.cuda.device_count()
        if number >= gpus:
            raise ValueError(f"there is no GPU for process {number + 1} of this machine, only {gpus}; start fewer")
        torch.cuda.set_device(number)
    dist.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")
    try:
        yield
    finally:
        dist.destroy_process_group()


def launched() -> bool:
    """Return whether ``torchrun`` started this process."""
    return dist.is_available() and dist.is_torchelastic_launched()


@contextmanager
def alone() -> Iterator[None]:
    """Let this process work as if it were the only one, for the length of the ``with`` block."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def count() -> int:
    """Return the number of processes."""
    return dist.get_world_size() if not _ALONE.get() and dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """Return this process's number, 0 … count() − 1."""
    return dist.get_rank() if count() > 1 else 0


def share(batch: int) -> slice:
    """Return the rows of the batch that are this process's.

    Args:
        batch: the number of rows in all.

    Raises:
        ValueError: the processes cannot share the rows equally.
    """
    if batch % count():
        raise ValueError(f"batch is {batch}, which {count()} processes cannot share equally; start another number")
    rows = batch // count()
    return slice(rank() * rows, (rank() + 1) * rows)


def synchronise(model: Module) -> None:
    """Give all processes the weights of the first, and each of them its own random numbers (for dropout)."""
    if count() > 1:
        for tensor in model.state_dict().values():
            dist.broadcast(tensor, 0)
        if rank():
            torch.manual_seed(torch.initial_seed() + rank())


def average(tensors: Iterable[torch.Tensor]) -> None:
    """Replace each tensor by its mean over all processes, in place; all are sent as one."""
    if count() > 1:
        tensors = list(tensors)
        means = torch.cat([tensor.flatten() for tensor in tensors]) / count()  # (numbers in all,)
        dist.all_reduce(means)
        for tensor, mean in zip(tensors, means.split([tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(mean.view_as(tensor))


def largest(number: int) -> int:
    """Return the largest of the processes' numbers, so that all of them decide alike."""
    if count() == 1:
        return number
    numbers = torch.tensor([number])
    dist.all_reduce(numbers, dist.ReduceOp.MAX)
    return int(numbers)


def join(state: State) -> State:
    """Return the state of all processes, however it is nested: their rows, (batch, …), in the order of the ranks."""
    if count() == 1:
        return state
    if isinstance(state, tuple):
        return tuple(map(join, state))
    parts = [torch.empty_like(state) for _ in range(count())]
    dist.all_gather(parts, state.contiguous())
    return torch.cat(parts)


def first(make: Callable[[], T]) -> T:
    """Call a function in the first process alone; in every process, return its result or raise its error.

    Args:
        make: the function. With several processes its result must be something that `pickle` takes.
    """
    if count() == 1:
        return make()
    answer = [None, None]  # the result and the error
    if rank() == 0:
        try:
            answer[0] = make()
        except Exception as error:  # of whatever kind: the others wait for an answer
            answer[1] = error
    dist.broadcast_object_list(answer)
    if answer[1] is not None:
        raise answer[1]
    return answer[0]

"""What each process does that `test_distributed` starts: train, stop, resume, and leave the results in a folder."""

import signal
import sys
from pathlib import Path

import torch

from small_runs import DROPOUT, TOKENS, model, weights
from unrolled.training import CheckpointError, Recipe, distributed, train

SCORED = {"validation": TOKENS[:200], "validate_every": 4, "progress": False}
PLAIN = {"updates": 12, "batch": 4, "seq_len": 8, "optimizer": "sgd", "learning_rate": 2.0, "clip": 0.5}
RUNS = {  # the model's options, and what differs in its recipe
    "rnn": ({}, {}),
    "unclipped": ({}, {"learning_rate": 0.5, "clip": 100.0}),
    "lstm": ({"core": "lstm", "num_layers": 2, "learn_initial_state": True}, {"schedule": "constant"}),
    "torch": ({"core": "torch-gru"}, {"optimizer": "adam", "learning_rate": 1e-2}),
    "forgetful": ({"core": "gru"}, {"carry": False}),
    "bf16": ({"core": "gru"}, {"precision": "bf16"}),  # any processor multiplies for it in bfloat16
    "dropout": (DROPOUT, {}),
}


def run(name: str, folder: Path, seed: int = 0, file: str = "", **options) -> dict:
    """Train one of `RUNS`, and return its weights and losses."""
    model_options, changes = RUNS[name]
    trained, recipe = model(seed, **model_options), Recipe(**PLAIN | changes)
    history = train(trained, TOKENS, recipe, checkpoint=folder / f"{file or name}.pt", **SCORED | options)
    return {"weights": weights(trained), "losses": history.losses, "norms": history.norms, "scores": history.validation}


def stop_after(update: int, rank: int):
    """Return a watcher that sends SIGTERM to one of the processes, and to no other."""

    def watch(done: int) -> None:
        if done == update and distributed.rank() == rank:
            signal.raise_signal(signal.SIGTERM)

    return watch


def stopped(name: str, folder: Path, **options) -> int:
    """Train until stopped; return the exit code."""
    try:
        run(name, folder, **options)
    except SystemExit as stop:
        return stop.code
    return 0


def main(folder: Path) -> None:
    """Train together; leave this process's results in a file of its own."""
    torch.set_num_threads(1)
    results = {}
    with distributed.together(torch.device("cpu")):
        rank = distributed.rank()
        seeds = dict.fromkeys(RUNS, rank) | {"dropout": 0}  # only the first process's weights count
        for name in RUNS:
            results[name] = run(name, folder, seed=seeds[name])
        for name in ("dropout", "lstm"):
            file = f"{name}-stopped"
            code = stopped(name, folder, seed=seeds[name], file=file, watch=stop_after(5, rank=1))
            done = torch.load(folder / f"{file}.pt", weights_only=True)["done"]
            results[file] = run(name, folder, seed=7 + rank, file=file) | {"code": code, "done": done}
        results["stopped-late"] = stopped("rnn", folder, file="stopped-late", watch=stop_after(12, rank=0))
        stopped("lstm", folder, file="for-one", watch=stop_after(5, rank=0))  # another test resumes it alone
        results["from-one"] = run("lstm", folder, file="from-one")  # which a single process began
        (folder / f"damaged-{rank}.pt").write_bytes(b"no checkpoint")
        results["first"] = distributed.first(lambda: rank)
        results["errors"] = []
        for changes in ({"batch": 3}, {}):
            try:
                path = folder / f"damaged-{rank}.pt"
                train(model(), TOKENS, Recipe(**PLAIN | changes), checkpoint=path, progress=False)
            except (ValueError, CheckpointError) as error:
                results["errors"].append(str(error))
    torch.save(results, folder / f"results-{rank}.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Report how a training goes: a bar on the screen, and a log of JSON lines beside the checkpoint."""

import json
import math
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from tqdm.auto import tqdm

from unrolled.training.recipe import Recipe
from unrolled.training.run import Run
from unrolled.whole_files import replace_file, writing

EVERY = 100  # updates between two lines of the log


class Progress:
    """Advance a bar with every update, and write a line of the log every 100 updates, at validations and at the end.

    The bar shows the loss of the last update, its perplexity, the speed and the last score. A line of the log is a JSON
    object:

        update              the number of updates done
        loss, perplexity    the mean loss since the previous line, nats per symbol, and its exponential
        learning_rate       of the last update
        gradient_norm       the mean norm before clipping since the previous line
        tokens_per_second   symbols read per second of updating since the previous line
        validation          the score, nats per symbol, and
        validation_perplexity   its exponential, if the model was scored after this update

    When a run is resumed from a checkpoint, the lines written after that checkpoint are removed first, so that no
    update appears twice.

    Args:
        run: the run, which goes on changing.
        log: the file for the log; None writes no log.
        show: whether there is a bar.
        label: the bar's name.
    """

    def __init__(self, run: Run, log: Path | None, *, show: bool, label: str):
        self.run, self.log = run, log
        self._logged = 0 if log is None else _cut_back(log, run.done)  # the update of the last line
        self._updates, self._seconds = 0, 0.0  # since the last line, or since this process began
        self._bar = tqdm(total=run.recipe.updates, initial=run.done, desc=label, disable=not show, leave=False)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_) -> None:
        self._bar.close()

    def advance(self, learning_rate: float, seconds: float) -> None:
        """Take note of one more update of the run.

        Args:
            learning_rate: the rate of that update.
            seconds: how long it took.
        """
        run, history = self.run, self.run.history
        self._updates += 1
        self._seconds += seconds
        speed = self._updates * run.recipe.batch * run.recipe.seq_len / self._seconds
        loss = history.losses[-1]
        shown = {"loss": f"{loss:.3f}", "perplexity": f"{perplexity(loss):.2f}", "tokens/s": f"{speed:,.0f}"}
        if history.validation:
            shown["validation"] = f"{history.validation[-1]:.3f}"
        self._bar.set_postfix(shown, refresh=False)
        self._bar.update()
        validated = run.done in history.validated[-1:]
        if self.log is not None and (run.done % EVERY == 0 or validated or run.done == run.recipe.updates):
            loss = fmean(history.losses[self._logged :])
            line = {
                "update": run.done,
                "loss": loss,
                "perplexity": perplexity(loss),
                "learning_rate": learning_rate,
                "gradient_norm": fmean(history.norms[self._logged :]),
                "tokens_per_second": round(speed),
            }
            if validated:
                score = history.validation[-1]
                line |= {"validation": score, "validation_perplexity": perplexity(score)}
            with writing(self.log), self.log.open("a", encoding="utf8") as file:
                file.write(json.dumps(line) + "\n")
            self._logged, self._updates, self._seconds = run.done, 0, 0.0


def training_seconds(checkpoint: Path, recipe: Recipe) -> float:
    """Return how long the updates of a training took, all that its log tells of, in however many runs."""
    before, seconds = 0, 0.0
    for line in map(json.loads, Path(f"{checkpoint}.jsonl").read_text(encoding="utf8").splitlines()):
        seconds += (line["update"] - before) * recipe.batch * recipe.seq_len / line["tokens_per_second"]
        before = line["update"]
    return seconds


def perplexity(nats: float) -> float:
    """Return the exponential of nats per symbol; from 709 nats on, that of 709, since floats go no higher."""
    return math.exp(min(nats, 709.0))


def _cut_back(log: Path, done: int) -> int:
    """Remove the lines after the update `done`, and a line that was cut off; return the last line's update."""
    text = log.read_text(encoding="utf8") if log.exists() else ""
    kept, last = "", 0
    with suppress(ValueError, TypeError, LookupError):  # the process ended in the middle of a line
        for line in text.splitlines():
            update = int(json.loads(line)["update"])
            if update > done:
                break
            kept, last = f"{kept}{line}\n", update
    if kept != text:
        with replace_file(log) as file:
            file.write(kept.encode())
    return last

"""Tell how a training goes: a bar on the screen, and a log of JSON lines beside the checkpoint."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from statistics import fmean

from tqdm.auto import tqdm

from unrolled.training.run import Run


class Progress:
    """Move a bar with every update, and write a line of the log after every so many, every validation, and the last.

    The bar shows the loss of the last update, its perplexity, and the speed. A line of the log is a JSON object:

        update              the updates done
        loss, perplexity    the mean loss since the line before, nats per symbol, and e to its power
        learning_rate       of the last update
        gradient_norm       the mean norm before clipping since the line before
        tokens_per_second   symbols read in a second since the line before; only the updates themselves are timed
        validation          the score, nats per symbol, and
        validation_perplexity   e to its power, where the model was scored after this update

    When a run goes on from a checkpoint, the lines that it had written after that checkpoint are taken away first, so
    that no update is told of twice.

    Args:
        run: the run, as it goes on changing.
        log: the file; None: no log.
        every: updates between two lines.
        show: whether there is a bar.
        label: the bar's name.

    Raises:
        ValueError: `every` is below 1.
    """

    def __init__(self, run: Run, log: Path | None, every: int, *, show: bool, label: str):
        if every < 1:
            raise ValueError(f"log_every is {every}; it must be 1 or more")
        self.run, self.log, self.every = run, log, every
        self._told = 0 if log is None else _cut_back(log, run.done)  # the update of the last line
        self._updates, self._seconds = 0, 0.0  # since the last line, or since this process began
        self._bar = tqdm(total=run.recipe.updates, initial=run.done, desc=label, disable=not show, leave=False)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_) -> None:
        self._bar.close()

    def tell(self, rate: float, seconds: float) -> None:
        """Tell of an update.

        Args:
            rate: its learning rate.
            seconds: how long it took.
        """
        run, history = self.run, self.run.history
        self._updates += 1
        self._seconds += seconds
        speed = self._updates * run.recipe.batch * run.recipe.seq_len / self._seconds
        if not self._bar.disable:
            loss = history.losses[-1]
            shown = {"loss": f"{loss:.3f}", "perplexity": f"{perplexity(loss):.2f}", "tokens/s": f"{speed:,.0f}"}
            self._bar.set_postfix(shown, refresh=False)
            self._bar.update()
        validated = run.done in history.validated[-1:]
        if self.log is not None and (run.done % self.every == 0 or validated or run.done == run.recipe.updates):
            loss = fmean(history.losses[self._told :])
            line = {
                "update": run.done,
                "loss": loss,
                "perplexity": perplexity(loss),
                "learning_rate": rate,
                "gradient_norm": fmean(history.norms[self._told :]),
                "tokens_per_second": round(speed),
            }
            if validated:
                score = history.validation[-1]
                line |= {"validation": score, "validation_perplexity": perplexity(score)}
            with self.log.open("a", encoding="utf8") as file:
                file.write(json.dumps(line) + "\n")
            self._told, self._updates, self._seconds = run.done, 0, 0.0


def perplexity(nats: float) -> float:
    """Return e to the power of nats per symbol; of very many, the highest that a number can hold."""
    return math.exp(min(nats, 709.0))


def _cut_back(log: Path, done: int) -> int:
    """Take away the lines after the update `done`, and one that was never finished; return the last line's update."""
    text = log.read_text(encoding="utf8") if log.exists() else ""
    kept, last = "", 0
    for line in text.splitlines():
        try:
            update = json.loads(line)["update"]
        except ValueError:  # the process ended in the middle of it
            break
        if update > done:
            break
        kept, last = f"{kept}{line}\n", update
    if kept != text:
        part = log.with_name(log.name + ".part")
        part.write_text(kept, encoding="utf8")
        os.replace(part, log)
    return last

"""The first page's picture, as the directive ``{reading}``: a story read symbol by symbol, and what is still known.

The shares are those of a record; the page of a story shows them by how long ago its hero was mentioned.
"""

import html
import json
from bisect import bisect_right
from pathlib import Path

from sphinx.application import Sphinx

from extensions import fill
from unrolled import records
from unrolled.text import stories

RECORD, NETWORK = "stories-chars", "gru"
STORY = 71  # of the stories that the network was asked about
LATE = 100  # symbols between two mentions of the hero
QUESTIONS = {"name": "whose story it is", "pronoun": "she or he"}
PICTURE = """\
```{{raw}} html
<figure class="reading" data-known='{known}'>
<p class="reading-story"><span>{read}</span><span>{coming}</span></p>
<dl>
{meters}
</dl>
<p class="reading-controls" hidden><button type="button">Read</button>
<input type="range" min="0" max="{last}" value="{last}" aria-label="symbols read"></p>
<figcaption>Forty symbols after its last mention, the name is forgotten. A network of {weights:,} weights reads a story
that is new to it. The bars show how often it prefers the right word to a wrong one after so many symbols; half is
guessing. <a href="pages/records.html#record-{record}">From a record</a>.</figcaption>
</figure>
```
"""
METER = """\
<div><dt>{name}</dt>
<dd><span class="reading-bar" style="--share: {share}"></span><output>{share} %</output></dd></div>"""


def story() -> tuple[str, int, dict[str, list[int]]]:
    """Return a story up to the sentence in which its hero comes back late, and what tells of the hero on the way.

    Returns:
        The text; the place of the name in that sentence, which a reader has to remember; and for each question, the
        places just behind a mention that answers it, in order.
    """
    config = records.load(RECORD)[NETWORK].config
    chosen = stories.corpus(config["asked"], seed=1).stories[STORY]
    own = [recall for recall in chosen.recalls if recall.variable == "hero"]
    names = [recall for recall in own if recall.kind == "name"]
    asked = next(recall for recall in names if recall.lag >= LATE)
    text = chosen.text[: chosen.text.index(".", asked.position) + 1]
    first = chosen.text.index(asked.value) + len(asked.value)
    mentions = {
        question: [first, *(each.position + len(each.value) for each in recalls if each.position < asked.position)]
        for question, recalls in {"name": names, "pronoun": own}.items()
    }
    return text, asked.position, mentions


def known(last: int, mentions: dict[str, list[int]]) -> dict[str, list[tuple[int, int]]]:
    """Return what the network knows while it reads: the share of right answers, in per cent, wherever it changes.

    Args:
        last: how many symbols are read at the end.
        mentions: the places just behind a mention, by question, as `story` returns them.

    Returns:
        For each question, numbers of symbols read, in order, each with the share that holds from there on.
    """
    network = records.load(RECORD)[NETWORK]
    edges, shares = network.config["edges"], {}
    for question, places in mentions.items():
        bins, steps = (100 * network[question].mean(axis=0)).round(), []  # the mean is over the seeds
        for read in range(places[0], last + 1):
            lag = max(read - places[bisect_right(places, read) - 1], edges[0])
            share = int(bins[bisect_right(edges, lag) - 1])
            if not steps or steps[-1][1] != share:
                steps.append((read, share))
        shares[question] = steps
    return shares


def picture(root: Path) -> str:
    """Return the picture as a part of a page, which shows its end where no script runs."""
    text, last, mentions = story()
    shares = known(last, mentions)
    meters = [METER.format(name=name, share=shares[question][-1][1]) for question, name in QUESTIONS.items()]
    return PICTURE.format(
        record=RECORD,
        known=json.dumps([shares[question] for question in QUESTIONS], separators=(",", ":")),
        read=html.escape(text[:last]),
        coming=html.escape(text[last:]),
        meters="\n".join(meters),
        last=last,
        weights=int(records.load(RECORD)[NETWORK]["parameters"].mean()),
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    return fill(app, "reading", picture)

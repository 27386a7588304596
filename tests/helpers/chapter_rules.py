"""The rules of a chapter: each yields what is wrong with a notebook, and nothing where all is well.

Among them those of the two kinds of code: what carries an idea is shown, all else is folded under a one-line summary.
"""

import ast
import re

import minutes
from pictures import saved_names

FOLDED, EXCEPTION = "hide-input", "figure-is-the-idea"
TAGS = {"nbval-ignore-output", "hide-output", FOLDED, EXCEPTION}
BEFORE, AFTER = "**By the end you can**", "## What you can now do"
CLOSING = "## What we know now"  # of a chapter that is told around one question
READING = ("records.load",)
CHARTS = r"(line|dot|bar|scatter|pie)[ -]?(chart|plot)s?|heat ?maps?|histograms?|charts?|diagrams?|plots?|figures?"
QUANTITIES = r"nats per|bits per|norms? of|shares? of|mean|median|number of|loss of|time of|how (often|far|much|many)"
OPENINGS = re.compile(rf"(an? |the |two |three )?({CHARTS}|{QUANTITIES}|the same|what is left|left|right)\b", re.I)


def text(cell: dict) -> str:
    return "".join(cell["source"])


def code(notebook: dict) -> list[dict]:
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def prose(notebook: dict) -> str:
    return "\n\n".join(text(cell) for cell in notebook["cells"] if cell["cell_type"] == "markdown")


def saving(notebook: dict) -> list[tuple[dict, list[str]]]:
    """Return the cells that save figures, each with the figures' names."""
    return [(cell, names) for cell in code(notebook) if (names := saved_names(text(cell)))]


def calls(*cells: dict) -> set[str]:
    """Return all that code cells call, as it is written there."""
    nodes = [node for cell in cells for node in ast.walk(ast.parse(text(cell)))]
    return {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}


def has(cell: dict, tag: str) -> bool:
    return tag in cell["metadata"].get("tags", [])


def reads_or_draws(cell: dict) -> bool:
    """Tell whether a cell reads a record or saves a figure."""
    return not calls(cell).isdisjoint(("charts.save", *READING))


def python_only(notebook):
    for number, cell in enumerate(code(notebook), start=1):
        try:
            ast.parse(text(cell))
        except SyntaxError as error:
            yield f"code cell {number} is no Python (a magic? a shell command?): {error}"
        if "get_ipython" in text(cell):
            yield f"code cell {number} asks for IPython"
        if any(line.split("#")[0].rstrip().endswith(";") for line in text(cell).splitlines()):
            yield f"code cell {number} has a line that ends with a semicolon"


def cells_are_short(notebook):
    lengths = [sum(bool(line.strip()) for line in text(cell).splitlines()) for cell in code(notebook)]
    folded = ["hide-input" in cell["metadata"].get("tags", []) for cell in code(notebook)]
    shown = [length for length, hidden in zip(lengths, folded, strict=True) if not hidden]
    if not 20 <= len(lengths) <= 45:
        yield f"{len(lengths)} code cells, folded ones included; right are 20 to 45"
    if sum(1 <= length <= 8 for length in shown) <= 0.5 * len(shown):
        yield f"most shown code cells should have 1 to 8 lines: {shown}"


def outputs_are_stored(notebook):
    counts = [cell["execution_count"] for cell in code(notebook)]
    if counts != list(range(1, len(counts) + 1)):
        yield f"execution counts are {counts}, not 1 to {len(counts)}: make chapters"
    for number, cell in enumerate(code(notebook), start=1):
        if re.search(r"^(print|display|plt\.show|explore\.slider)\(", text(cell), re.MULTILINE) and not cell["outputs"]:
            yield f"code cell {number} shows something, but no output is stored: make chapters"
        if any(output["output_type"] == "error" for output in cell["outputs"]):
            yield f"code cell {number} has stored an error"
    if "widgets" in notebook["metadata"]:
        yield "the widgets' state is stored: make chapters drops it"


def claims_are_asserted(notebook):
    count = sum(isinstance(node, ast.Assert) for c in code(notebook)[1:] for node in ast.walk(ast.parse(text(c))))
    if count < 8:
        yield f"{count} asserts beside the bootstrap cell's; at least 8"


def figures_are_named_and_described(notebook):
    if len(saving(notebook)) < 5:
        yield f"{len(saving(notebook))} figures; at least 5"
    for cell, names in saving(notebook):
        metadata = cell["metadata"].get("mystnb", {})
        image, figure = metadata.get("image", {}), metadata.get("figure", {})
        if len(names) > 1:
            yield f"one cell saves {', '.join(names)}; one figure a cell"
        if len(image.get("alt", "")) <= 40:
            yield f"{names[0]}: mystnb.image.alt is missing or says too little"
        if not figure.get("caption", "").strip():
            yield f"{names[0]}: mystnb.figure.caption is missing"
        if figure.get("name") != f"fig-{names[0]}":
            yield f"{names[0]}: mystnb.figure.name is {figure.get('name')!r}; right is 'fig-{names[0]}'"
        pictures = sum("image/png" in output.get("data", {}) for output in cell["outputs"])
        if pictures != 1:
            yield f"{names[0]}: its cell shows {pictures} pictures; right is one"


def something_can_be_explored(notebook):
    if "explore.slider" not in calls(*code(notebook)):
        yield "nothing to explore: no call of explore.slider"


def explorers_are_described(notebook):
    for cell in code(notebook):
        metadata = cell["metadata"].get("mystnb", {})
        caption, alt = metadata.get("figure", {}).get("caption", ""), metadata.get("image", {}).get("alt", "")
        if "explore.slider" in calls(cell) and (not caption.strip() or len(alt) <= 40):
            yield f"an explorer lacks its caption or its alternative text: {text(cell).splitlines()[-1]}"


def outputs_are_compared(notebook):
    tags = [set(cell["metadata"].get("tags", [])) for cell in code(notebook)]
    for number, strange in ((n, tag - TAGS) for n, tag in enumerate(tags, start=1) if tag - TAGS):
        yield f"code cell {number} has the tags {sorted(strange)}; allowed are {sorted(TAGS)}"
    ignored = sum("nbval-ignore-output" in tag for tag in tags)
    if 3 * ignored > len(tags):
        yield f"{ignored} of {len(tags)} code cells are not compared; at most a third"


def the_end_ties_or_mirrors_the_beginning(notebook):
    def bullets(part: str) -> int:
        following = re.search(r"\s*((?:^[-*] .*\n(?:^ +.*\n)*)*)", part + "\n", re.MULTILINE)
        return len(re.findall(r"^[-*] ", following[1], re.MULTILINE))

    before, after = prose(notebook).partition(BEFORE)[2], prose(notebook).partition(AFTER)[2]
    promised, kept = bullets(before), bullets(after)
    if not 3 <= promised <= 6:
        yield f"{promised} bullets after {BEFORE!r}; right are 3 to 6"
    at = next((n for n, cell in enumerate(notebook["cells"]) if CLOSING in text(cell)), None)
    if at is not None:
        if kept or "table" not in calls(*code({"cells": notebook["cells"][at:]})):
            yield f"{CLOSING!r} ties the results together in one small table, and repeats no objectives"
    elif promised != kept:
        yield f"{promised} bullets after {BEFORE!r}, but {kept} after {AFTER!r}"


def the_opening_asks_a_question(notebook):
    opening = text(notebook["cells"][0])
    if not opening.startswith("# ") or "?" not in opening.partition(BEFORE)[0]:
        yield "the first cell must begin with the title, '# …', and ask the chapter's question"


def reading_and_drawing_are_folded(notebook):
    exceptions = 0
    for number, cell in enumerate(code(notebook), start=1):
        exceptions += has(cell, EXCEPTION)
        if has(cell, EXCEPTION) and (has(cell, FOLDED) or not reads_or_draws(cell)):
            yield f"code cell {number} is folded or draws no figure; drop its tag {EXCEPTION}"
        if reads_or_draws(cell) and not has(cell, FOLDED) and not has(cell, EXCEPTION):
            yield f"code cell {number} reads a record or draws a figure: tag it {FOLDED}, with a summary"
    if exceptions > 3:
        yield f"{exceptions} cells are tagged {EXCEPTION}; at most 3"


def preparations_are_folded(notebook):
    for number, cell in enumerate(code(notebook), start=1):
        imports = [isinstance(node, ast.Import | ast.ImportFrom) for node in ast.parse(text(cell)).body]
        if any(imports) and not has(cell, FOLDED):
            yield f"code cell {number} installs or imports: tag it {FOLDED}, with a summary"


def little_code_is_shown(notebook):
    if minutes.shown_lines(notebook) > 140:
        yield f"{minutes.shown_lines(notebook)} lines of code are shown; at most 140: fold what carries no idea"


def folds_say_what_they_hold(notebook):
    for number, cell in enumerate(code(notebook), start=1):
        summary = cell["metadata"].get("mystnb", {}).get("code_prompt_show")
        if has(cell, FOLDED) != (summary is not None):
            yield f"code cell {number}: the tag {FOLDED} and mystnb.code_prompt_show go together"
        elif summary is not None and not re.fullmatch(r"[A-Z][^\n]{5,48}[^\n.:]", summary):
            yield f"code cell {number}: {summary!r} should be one line of 7 to 50 characters without a full stop"


def captions_begin_with_the_message(notebook):
    for cell in code(notebook):
        figure = cell["metadata"].get("mystnb", {}).get("figure", {})
        caption = figure.get("caption")
        if caption is None:
            continue
        if opening := OPENINGS.match(caption):
            yield f"{figure['name']}: the caption begins with {opening[0]!r}, not with what the figure says"
        if len(re.split(r"(?<=[.?!]) (?=[A-Z0-9])", caption)) < 2:
            yield f"{figure['name']}: the caption has one sentence; first comes the message, then what is drawn"


RULES = (
    python_only,
    cells_are_short,
    outputs_are_stored,
    claims_are_asserted,
    figures_are_named_and_described,
    something_can_be_explored,
    explorers_are_described,
    outputs_are_compared,
    the_end_ties_or_mirrors_the_beginning,
    the_opening_asks_a_question,
    reading_and_drawing_are_folded,
    preparations_are_folded,
    little_code_is_shown,
    folds_say_what_they_hold,
    captions_begin_with_the_message,
)

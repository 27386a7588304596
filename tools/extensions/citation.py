"""How the book is cited, as the directive ``{citation}``: a sentence and BibTeX, made of CITATION.cff, and that too."""

from pathlib import Path

import yaml
from sphinx.application import Sphinx

from extensions import fill

FORMATS = """\
{authors} ({year}). *{title}* (Version {version}) [Computer software].{place}

In BibTeX:

```bibtex
@software{{unrolled,
    author = {{{{{authors}}}}},
    title = {{{title}}},
    year = {{{year}}},
    version = {{{version}}}{url}
}}
```

In the Citation File Format, which reference managers read:

```yaml
{source}
```
"""


def formats(root: Path) -> str:
    """Return the citation in each format, without addresses while the book has none."""
    text = (root / "CITATION.cff").read_text(encoding="utf8")
    source = "\n".join(line for line in text.splitlines() if "/OWNER" not in line)
    cited = yaml.safe_load(source)
    return FORMATS.format(
        authors=" & ".join(author["name"] for author in cited["authors"]),
        title=cited["title"],
        version=cited["version"],
        year=cited["date-released"].year if "date-released" in cited else "in preparation",
        place=f" {cited['url']}" if "url" in cited else "",
        url=f",\n    url = {{{cited['url']}}}" if "url" in cited else "",
        source=source,
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension."""
    return fill(app, "citation", formats)

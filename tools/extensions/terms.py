"""In a chapter, the first use of a term leads to the glossary, and of a function to its page.

A notebook shows a role as it is typed, so the links are made when the pages are: in the text of sections, not in
headings, formulas, code or links. A term such as "key (of attention)" is an everyday word, and linked only in italics.
"""

import re
from collections.abc import Iterator

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

SHOWN = "glossary-term"  # the class of what is linked, for pages/_static/book.css
CLOSING = ("What you can now do", "What we know now", "Exercises")
EVERYDAY = re.compile(r" \(of [^)]+\)$")
CLOSED = (nodes.title, nodes.reference, nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw)
CLOSED += (nodes.caption, nodes.comment, nodes.target, nodes.image, addnodes.pending_xref)


def named(word: str, names: dict[str, str]) -> str | None:
    """Return the term that a word of the text names, in the singular or in the plural, or None."""
    plain = " ".join(word.lower().replace("’", "'").split())
    forms = (plain, plain.removesuffix("s"), plain.removesuffix("es"))
    return next((names[form] for form in forms if form in names), None)


def readable(document: nodes.Node) -> Iterator[nodes.Text]:
    """Yield the pieces of a document's text that may become links: those in its sections' paragraphs and lists."""
    for text in list(document.findall(nodes.Text)):
        above = [text.parent]
        while above[-1].parent is not None:
            above.append(above[-1].parent)
        headings = [node.next_node(nodes.title).astext() for node in above if isinstance(node, nodes.section)]
        closed = any(isinstance(node, CLOSED) for node in above)
        if len(headings) > 1 and headings[-2] not in CLOSING and not closed:
            yield text


class FirstUses(SphinxPostTransform):
    """Make a link of the first use of each term, and of each function of the library, in a chapter."""

    default_priority = 5  # before Sphinx resolves references

    def run(self, **options) -> None:
        """Change the document, if it is a chapter."""
        if self.env.docname.startswith("chapters/"):
            terms = [name for name, _, kind, *_ in self.env.get_domain("std").get_objects() if kind == "term"]
            self.link_terms({EVERYDAY.sub("", term).lower(): term for term in terms})
            self.link_names(self.env.get_domain("py").objects)

    def link_terms(self, names: dict[str, str]) -> None:
        """Link the first use of every term, by how it is written in small letters."""
        free = {name: term for name, term in names.items() if not EVERYDAY.search(term)}
        longest_first = (re.escape(name) for name in sorted(free, key=len, reverse=True))
        words = "|".join(name.replace(r"\ ", r"\s+").replace("'", "['’]") for name in longest_first)
        anywhere, done = re.compile(rf"(?<![\w-])(?:{words})(?:e?s)?(?![\w-])", re.IGNORECASE), set()
        for text in readable(self.document):
            if isinstance(text.parent, nodes.emphasis) and (term := named(text.parent.astext(), names)):
                if term not in done:
                    shown = text.parent.deepcopy()
                    shown["classes"].append(SHOWN)
                    text.parent.replace_self(self.link("std", "term", term, shown))
                    done.add(term)
                continue
            made, end, line = [], 0, text.astext()
            for word in anywhere.finditer(line):
                if (term := named(word[0], free)) and term not in done:
                    shown = nodes.inline("", word[0], classes=[SHOWN])
                    made += [nodes.Text(line[end : word.start()]), self.link("std", "term", term, shown)]
                    end = word.end()
                    done.add(term)
            if made:
                text.parent.replace(text, [*made, nodes.Text(line[end:])])

    def link_names(self, objects: dict) -> None:
        """Link the first use of every name of the library that a text has in code, as ``cells.unroll``."""
        kinds, done = ("class", "function", "method"), set()
        known = [name for name, of in objects.items() if of.objtype in kinds and not of.aliased]
        for code in list(self.document.findall(nodes.literal)):
            short = f".{code.astext().removesuffix('()')}"
            names = [name for name in known if name == f"unrolled{short}" or name.endswith(short)]
            if len(names) == 1 and names[0] not in done:
                done.add(names[0])
                code.replace_self(self.link("py", "obj", names[0], code.deepcopy()))

    def link(self, domain: str, kind: str, target: str, shown: nodes.Node) -> addnodes.pending_xref:
        """Return a reference that Sphinx will resolve, or complain of."""
        to = {"refdomain": domain, "reftype": kind, "reftarget": target, "refdoc": self.env.docname}
        return addnodes.pending_xref("", shown, refexplicit=True, refwarn=True, **to)

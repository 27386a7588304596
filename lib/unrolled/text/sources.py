"""The table of real corpora: which files make one up, what must be in them, and how the text is split.

The files are listed in ``registry.txt``, one a line: path below the mirror or the cache, digest, address, note.
"""

import hashlib
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path


class CorpusError(RuntimeError):
    """A corpus is not available; the message names the file and a remedy."""


@dataclass(frozen=True)
class File:
    """A file and what must be in it.

    Attributes:
        path: its path below the mirror or the cache.
        digest: its SHA-256 or, where only that is known, its git blob id, in hexadecimal digits.
        url: an address whose content does not change; empty for a stand-in.
        note: which of the two this is, where there is a stand-in.
    """

    path: str
    digest: str
    url: str = ""
    note: str = ""

    @property
    def check(self) -> str:
        """What `digest` is: "SHA-256" or "git blob id"."""
        return "SHA-256" if len(self.digest) == 64 else "git blob id"

    @property
    def encoding(self) -> str:
        """How the bytes become text: Latin-1 where the name ends in -8, Project Gutenberg's mark for it, else UTF-8."""
        return "iso-8859-1" if self.path.endswith("-8.txt") else "utf-8-sig"

    def matches(self, path: Path) -> bool:
        """Return whether the file at this path can be read and has the digest."""
        try:
            content = path.read_bytes()
        except OSError:
            return False
        if self.check == "SHA-256":
            return hashlib.sha256(content).hexdigest() == self.digest
        return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest() == self.digest


@dataclass(frozen=True)
class Source:
    """A row of the table.

    Attributes:
        about: what the corpus is, in a line.
        licence: what may be done with it.
        megabytes: the size of its files together, in 10⁶ bytes.
        files: in the order in which `split` takes them.
        split: maps the files' texts by path to the training, validation and test text; raises CorpusError.
        rule: what `split` does, in a few words.
    """

    about: str
    licence: str
    megabytes: float
    files: tuple[File, ...]
    split: Callable[[dict[str, str]], tuple[str, str, str]]
    rule: str


def ninety_ten(texts: dict[str, str]) -> tuple[str, str, str]:
    """Split the only text after 90 % of its characters, rounded down. The test text is empty."""
    (text,) = texts.values()
    cut = len(text) * 9 // 10
    return text[:cut], text[cut:], ""


def published(texts: dict[str, str]) -> tuple[str, str, str]:
    """Keep the three files that were published as training, validation and test text."""
    train, validation, test = texts.values()
    return train, validation, test


def makemore(texts: dict[str, str]) -> tuple[str, str, str]:
    r"""Split names, one a line, as Karpathy's makemore lectures do: shuffled with seed 42, then cut at 80 % and 90 %.

    Each name ends with "\n", so a part has as many characters as the lectures have examples. Some names occur more
    than once, so the validation and test texts share names with the training text.
    """
    (text,) = texts.values()
    lines = [f"{name}\n" for name in text.splitlines()]
    random.Random(42).shuffle(lines)
    first, second = int(0.8 * len(lines)), int(0.9 * len(lines))
    return "".join(lines[:first]), "".join(lines[first:second]), "".join(lines[second:])


def by_word(texts: dict[str, str]) -> tuple[str, str, str]:
    """Split a dictionary, an entry a line, by a hash of the word: 85 % of the words, 5 % and 10 %, whatever the order.

    A word's alternatives, ``word(2)`` and so on, go where the word goes.
    """
    (text,) = texts.values()
    parts: tuple[list[str], list[str], list[str]] = [], [], []
    for line in text.splitlines(keepends=True):
        word = headword(line)
        twentieth = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big") % 20
        parts[2 if twentieth < 2 else 1 if twentieth < 3 else 0].append(line)
    train, validation, test = map("".join, parts)
    return train, validation, test


def headword(line: str) -> str:
    """Return the word that a line of a pronouncing dictionary is about, without the number of the alternative."""
    return re.sub(r"\(\d+\)$", "", line.split(maxsplit=1)[0])


HEADER = re.compile(
    r"^(?:\*\*\* START OF THIS PROJECT GUTENBERG EBOOK .+ \*\*\*|\*END THE SMALL PRINT! .+\*END\*)\n+"
    r"(?:Produced|This etext was prepared) by .+\n(?:.+\n)*",
    re.MULTILINE,
)
FOOTER = re.compile(
    r"^(?:Transcriber's Note\n(?:.*\n)*?)?End of [Tt]he Project Gutenberg E(?:Book|text) of .+$", re.MULTILINE
)


def books(texts: dict[str, str]) -> tuple[str, str, str]:
    r"""Strip Project Gutenberg's header and footer from each book, join the books and split as `ninety_ten` does.

    The header ends with the line that starts the text, or that ends the small print, and the paragraph after it, which
    credits the transcribers. The footer begins with "End of the Project Gutenberg EBook of …", or with the
    transcriber's note before that. Everything between them is kept: title page, preface, footnotes, captions and
    `_italics_` too. Line ends become "\n", and one blank line separates a book from the next.

    Raises:
        CorpusError: a file does not have exactly one such header and, after it, one such footer.
    """
    contents = []
    for path, raw in texts.items():
        text = raw.replace("\r\n", "\n")
        headers, footers = list(HEADER.finditer(text)), list(FOOTER.finditer(text))
        if len(headers) != 1 or len(footers) != 1 or footers[0].start() < headers[0].end():
            raise CorpusError(
                f"{path} has {len(headers)} Project Gutenberg headers and {len(footers)} footers of the known forms, "
                "not one of each in this order; put the published file there, or extend HEADER and FOOTER in "
                "unrolled/text/sources.py"
            )
        contents.append(text[headers[0].end() : footers[0].start()].strip("\n") + "\n")
    return ninety_ten({"": "\n".join(contents)})


_FILES = [
    File(*line.split(maxsplit=3))
    for line in resources.files(__package__).joinpath("registry.txt").read_text(encoding="utf-8").splitlines()
]
STAND_INS = {  # what a folder may hold in place of the public file
    "wikitext-2/train.txt": File(
        "wikitext-2/train.shuffled-articles.txt",
        "728c77e87e176af4730f9a80fc6008bcaff421a7202c1c048877c0eec3685f89",
        note="the same articles in another order",
    ),
}


def _files(folder: str) -> tuple[File, ...]:
    """Return the registered files of one folder, in the registry's order."""
    return tuple(file for file in _FILES if file.path.startswith(f"{folder}/"))


_CUT = ninety_ten, "first 90 %, last 10 %"
# fmt: off
SOURCES = {
    "tiny-shakespeare": Source(
        "scenes from Shakespeare's plays", "public domain", 1.1, _files("tinyshakespeare"), *_CUT),
    "tinystories-sample": Source(
        "the head of TinyStories, short stories written by a language model for small ones",
        "CDLA-Sharing-1.0", 0.9, _files("tinystories-sample"), *_CUT),
    "time-machine": Source(
        "The Time Machine by H. G. Wells, the file that Dive into Deep Learning uses",
        "public domain", 0.2, _files("timemachine"), *_CUT),
    "fairy-books": Source(
        "Andrew Lang's twelve Fairy Books, in the order of publication",
        "public domain in the USA", 7.2, _files("lang-fairy-books"), books, _CUT[1]),
    "wikitext-2": Source(
        "articles of Wikipedia as words between spaces, the rare ones <unk>",
        "CC BY-SA 3.0 and GFDL", 13.2, _files("wikitext-2"), published, "its own"),
    "names": Source(
        "32,033 given names, one a line",
        "public domain", 0.2, _files("names"), makemore, "shuffled: 80 %, 10 %, 10 %"),
    "atis": Source(
        "spoken questions about flights, with universal part-of-speech tags: UD English-ATIS, in CoNLL-U",
        "CC BY-SA 4.0", 3.5, _files("ud-english-atis"), published, "its own"),
    "cmudict": Source(
        "the CMU Pronouncing Dictionary: English words and their phonemes",
        "BSD-2-Clause", 3.6, _files("cmudict"), by_word, "by word: 85 %, 5 %, 10 %"),
}
# fmt: on

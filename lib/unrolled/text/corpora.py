"""Real corpora by name: downloaded once, verified every time, split once and for all.

``registry.txt`` has each file's path, digest and address. Files are read from the folder that ``UNROLLED_MIRROR``
names, where nothing is ever written; without one, pooch downloads them into a cache.
"""

import hashlib
import os
import random
import re
from importlib import resources
from pathlib import Path
from typing import NamedTuple

Parts = tuple[str, str, str]  # to train on, to choose by, to report on


class CorpusError(RuntimeError):
    """A corpus is not available; the message names the file and a remedy."""


class Corpus(NamedTuple):
    """A text in its parts, as `load_corpus` returns it.

    >>> Corpus("The quick brown fox", " jumps", "", files=()).validation
    ' jumps'
    """

    train: str  # to train on
    validation: str  # to choose by
    test: str  # to report on, once; empty where the split has only two parts
    files: tuple[str, ...]  # what it was read from: paths below the mirror or the cache


def ninety_ten(text: str) -> Parts:
    """Split a text after 90 % of its characters, rounded down. The test text is empty."""
    cut = len(text) * 9 // 10
    return text[:cut], text[cut:], ""


def published(train: str, validation: str, test: str) -> Parts:
    """Keep three files that were published as training, validation and test text."""
    return train, validation, test


def makemore(text: str) -> Parts:
    r"""Split names, one a line, as Karpathy's makemore lectures do: shuffled with seed 42, then cut at 80 % and 90 %.

    Some names occur more than once, so the validation and test texts share names with the training text.
    """
    lines = [f"{name}\n" for name in text.splitlines()]
    random.Random(42).shuffle(lines)
    first, second = int(0.8 * len(lines)), int(0.9 * len(lines))
    return "".join(lines[:first]), "".join(lines[first:second]), "".join(lines[second:])


_BOOK = re.compile(  # between the paragraph that credits the transcribers, and their note or the footer
    r"(?:START OF THIS PROJECT GUTENBERG EBOOK|END THE SMALL PRINT)[^\n]*\n+(?:[^\n]+\n)+(.*?)"
    r"(?:Transcriber's Note\n.*)?End of [Tt]he Project Gutenberg",
    re.DOTALL,
)


def books(*texts: str) -> Parts:
    """Strip Project Gutenberg's header and footer from each book, join the books and split as `ninety_ten` does."""
    contents = [_BOOK.search(text.replace("\r\n", "\n"))[1].strip("\n") for text in texts]
    return ninety_ten("\n\n".join(contents) + "\n")


SPLITS = {  # what a corpus is; its files in the registry are those of one folder
    "tiny-shakespeare": ("tinyshakespeare", ninety_ten),  # public domain
    "tinystories-sample": ("tinystories-sample", ninety_ten),  # the head of TinyStories; CDLA-Sharing-1.0
    "time-machine": ("timemachine", ninety_ten),  # the file that Dive into Deep Learning uses; public domain
    "fairy-books": ("lang-fairy-books", books),  # Andrew Lang's twelve; public domain in the USA
    "wikitext-2": ("wikitext-2", published),  # words between spaces, the rare ones <unk>; CC BY-SA 3.0 and GFDL
    "names": ("names", makemore),  # 32,033 given names; public domain
    "atis": ("ud-english-atis", published),  # questions about flights, in CoNLL-U; CC BY-SA 4.0
}
STAND_INS = {"wikitext-2/train.txt": "wikitext-2/train.shuffled-articles.txt"}  # the same articles in another order
_LINES = resources.files(__package__).joinpath("registry.txt").read_text("utf-8").splitlines()
_REGISTRY = {path: (digest, *url) for path, digest, *url in map(str.split, _LINES)}


def load_corpus(name: str) -> Corpus:
    """Return a corpus, which is one of `SPLITS`, downloaded the first time and verified every time.

    >>> load_corpus("tiny-shakespear")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: no corpus is called 'tiny-shakespear'; there are tiny-shakespeare, ...
    """
    if name not in SPLITS:
        raise ValueError(f"no corpus is called {name!r}; there are {', '.join(SPLITS)}")
    paths = [_verified(path) or _download(path) for path in _files(name)]
    split, texts = SPLITS[name][1], map(_decoded, paths)
    return Corpus(*split(*texts), tuple(path.relative_to(folder()).as_posix() for path in paths))


def folder() -> Path:
    """Return the folder that corpora are read from: the mirror, or the cache, which ``UNROLLED_CACHE`` can move."""
    if named := os.environ.get("UNROLLED_MIRROR") or os.environ.get("UNROLLED_CACHE"):
        return Path(named).expanduser()
    import pooch  # here, since only a corpus needs it and importing it takes a moment

    return pooch.os_cache("unrolled")


def _files(name: str) -> list[str]:
    """Return the paths of a corpus's files, in the registry's order."""
    return [path for path in _REGISTRY if path.startswith(f"{SPLITS[name][0]}/") and path not in STAND_INS.values()]


def _decoded(path: Path) -> str:
    """Return the text of a file, in Latin-1 where the name ends in -8, Project Gutenberg's mark for it."""
    return path.read_bytes().decode("iso-8859-1" if path.stem.endswith("-8") else "utf-8-sig")


def _verified(path: str) -> Path | None:
    """Return where a file is, or else its stand-in, if its content has the registered digest."""
    for here in filter(None, (path, STAND_INS.get(path))):
        if (file := folder() / here).is_file():
            content, digest = file.read_bytes(), _REGISTRY[here][0]
            blob = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False)  # as git identifies it
            if digest in (hashlib.sha256(content).hexdigest(), blob.hexdigest()):
                return file
    return None


def _download(path: str) -> Path:
    """Put a file into the cache, and return where it is; leave nothing there that is not the registered file."""
    import pooch

    (digest, url), file = _REGISTRY[path], folder() / path
    if os.environ.get("UNROLLED_MIRROR"):
        raise CorpusError(f"{file} is not there or is another file; put it there, or unset UNROLLED_MIRROR")
    known = digest if len(digest) == 64 else None  # of one file only git's id is known, which pooch cannot check
    try:
        file.unlink(missing_ok=True)
        cache = pooch.create(folder(), "", registry={path: known}, urls={path: url}, retry_if_failed=2)
        cache.fetch(path, progressbar=True)
        if not _verified(path):
            file.unlink()
            raise ValueError(f"it is another file than the one of {digest[:12]}")
    except (OSError, ValueError) as error:  # the network's errors are OSErrors too
        raise CorpusError(
            f"cannot download {url} to {file} ({error}); try again with a network and room on the disk, or set "
            f"UNROLLED_MIRROR to a folder that holds {path}"
        ) from error
    return file

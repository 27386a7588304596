"""Fetch real corpora by name, each pinned by its hash and split once and for all.

A file comes from the cache, or from the folder that ``UNROLLED_MIRROR`` names, or from its address; wherever it
comes from, its SHA-256 must be the one in the table. The cache is the folder that ``UNROLLED_CACHE`` names, or
``unrolled`` in the user's cache folder.
"""

from __future__ import annotations

import difflib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """Where a corpus is and what must be there.

    Attributes:
        file: its path below the mirror or the cache.
        bytes: its size.
        sha256: the SHA-256 of its bytes, in hexadecimal digits.
        url: its address; it names a commit, so that what is there does not change.
        licence: what may be done with it.
        about: what it is, in a line.
    """

    file: str
    bytes: int
    sha256: str
    url: str
    licence: str
    about: str


RAW = "https://raw.githubusercontent.com"
SOURCES = {
    "tiny-shakespeare": Source(
        file="tinyshakespeare/input.txt",
        bytes=1_115_394,
        sha256="86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
        url=f"{RAW}/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt",
        licence="public domain",
        about="scenes from Shakespeare's plays",
    ),
    "tinystories-sample": Source(
        file="tinystories-sample/tinystories-train-head.txt",
        bytes=944_426,
        sha256="c56cfd24fb1c542b141a396184b822a4db3672abdb4c49c6aa843171c5e822a5",
        url=f"{RAW}/s-ajaykumar/smallGPT/b8b899265a5574abd2c19d8857039309184a357c/data/tiny_stories.txt",
        licence="CDLA-Sharing-1.0",
        about="the head of TinyStories, short stories written by a language model for small ones",
    ),
}


class CorpusError(RuntimeError):
    """A corpus could not be had; the message says why and what would help."""


@dataclass(frozen=True)
class Corpus:
    """A text with its origin and its split: the first 90 % of its characters to train on, the rest to validate.

    Attributes:
        name: as `names` lists it.
        text: all of it.
        licence: what may be done with it.
        url: where it was published.
        sha256: of its bytes as UTF-8.
    """

    name: str
    text: str
    licence: str
    url: str
    sha256: str

    @property
    def train(self) -> str:
        """The first 90 % of the characters, rounded down."""
        return self.text[: len(self.text) * 9 // 10]

    @property
    def validation(self) -> str:
        """The rest."""
        return self.text[len(self.text) * 9 // 10 :]


def names() -> list[str]:
    """Return the names that `load` knows."""
    return list(SOURCES)


def describe(name: str) -> str:
    """Return a corpus in one line: its name, what it is, its size and its licence.

    Raises:
        ValueError: no corpus has that name.
    """
    source = _source(name)
    return f"{name}: {source.about}; {source.bytes / 1e6:.1f} MB, {source.licence}"


def load(name: str) -> Corpus:
    """Return a corpus, fetched once and verified every time.

    Args:
        name: one of `names`.

    Raises:
        ValueError: no corpus has that name; the message suggests the nearest.
        CorpusError: the file is not to be had, or what is to be had is not the file of the table.
    """
    source = _source(name)
    mirror = os.environ.get("UNROLLED_MIRROR")
    content = _from_mirror(name, source, Path(mirror)) if mirror else _from_cache(name, source)
    return Corpus(name, content.decode("utf-8"), source.licence, source.url, source.sha256)


def _source(name: str) -> Source:
    """Return a corpus's row of the table."""
    if name not in SOURCES:
        near = difflib.get_close_matches(name, SOURCES, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"no corpus is called {name!r}; {meant}There are {', '.join(SOURCES)}")
    return SOURCES[name]


def _from_mirror(name: str, source: Source, mirror: Path) -> bytes:
    """Return the file's bytes from a folder that holds it already."""
    path = mirror / source.file
    remedy = "put the right file there, or unset UNROLLED_MIRROR to download it"
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CorpusError(f"{name}: cannot read {path}: {error.strerror}; {remedy}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != source.sha256:
        raise CorpusError(
            f"{name}: {path} is another file: it has {len(content):,} bytes and SHA-256 {found[:12]}…, "
            f"not {source.bytes:,} and {source.sha256[:12]}…; {remedy}"
        )
    return content


def _from_cache(name: str, source: Source) -> bytes:
    """Return the file's bytes from the cache; download it first where it is missing or damaged there."""
    import pooch  # here, since only a corpus needs it and importing it takes a moment
    from requests.exceptions import RequestException

    cache = Path(os.environ.get("UNROLLED_CACHE") or pooch.os_cache("unrolled"))
    path = cache / source.file
    try:
        pooch.retrieve(source.url, source.sha256, path.name, path.parent, progressbar=True)
        return path.read_bytes()
    except RequestException as error:
        raise CorpusError(
            f"{name}: cannot download {source.url} ({error}); try again with a network, "
            f"or set UNROLLED_MIRROR to a folder that holds {source.file}"
        ) from error
    except ValueError as error:
        raise CorpusError(
            f"{name}: what {source.url} sent is another file, or was cut short: its SHA-256 is not "
            f"{source.sha256[:12]}… of {source.bytes:,} bytes; nothing was kept; try again, "
            f"or set UNROLLED_MIRROR to a folder that holds {source.file}"
        ) from error
    except OSError as error:
        raise CorpusError(
            f"{name}: cannot keep {path}: {error}; set UNROLLED_CACHE to a folder that can be written"
        ) from error

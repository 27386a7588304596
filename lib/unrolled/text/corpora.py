"""Fetch real corpora by name, each file pinned by its hash, each corpus split once and for all.

A file comes from the folder that ``UNROLLED_MIRROR`` names; without one, from the cache, into which it is downloaded
first where it is missing or damaged. Wherever it comes from, its hash must be the one in the table, which is in
`sources`. The cache is the folder that ``UNROLLED_CACHE`` names, or ``unrolled`` in the user's cache folder.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from unrolled.text.sources import SOURCES, CorpusError, File, Source


@dataclass(frozen=True)
class Corpus:
    """A text in its parts, and where they came from.

    Attributes:
        name: as `names` lists it.
        train: the text to train on.
        validation: the text to choose by.
        test: the text to report on, once; empty where the split has only two parts.
        licence: what may be done with it.
        files: those that were read. Where a file has a stand-in, this is the one of the two that is in use.
    """

    name: str
    train: str
    validation: str
    test: str
    licence: str
    files: tuple[File, ...]


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


def load_corpus(name: str) -> Corpus:
    """Return a corpus, fetched once and verified every time.

    Args:
        name: one of `names`.

    Raises:
        ValueError: no corpus has that name; the message suggests the nearest.
        CorpusError: a file is not to be had, or what is to be had is not the file of the table.
    """
    source = _source(name)
    fetch = _from_mirror if os.environ.get("UNROLLED_MIRROR") else _from_cache
    found = [fetch(name, file, folder()) for file in source.files]
    texts = {file.path: content.decode(file.encoding) for file, content in found}
    return Corpus(name, *source.split(texts), source.licence, tuple(file for file, _ in found))


def state(name: str) -> str:
    """Return whether a corpus is here: "mirrored", "cached", "damaged" (a file is wrong) or "not here".

    Raises:
        ValueError: no corpus has that name.
    """
    try:
        held = [_held(file, folder()) for file in _source(name).files]
    except OSError:
        return "damaged"
    if any(found and _fault(*found) for found in held):
        return "damaged"
    if None in held:
        return "not here"
    return "mirrored" if os.environ.get("UNROLLED_MIRROR") else "cached"


def folder() -> Path:
    """Return the folder that corpora are read from: the mirror if ``UNROLLED_MIRROR`` names one, else the cache."""
    named = os.environ.get("UNROLLED_MIRROR") or os.environ.get("UNROLLED_CACHE")
    if named:
        return Path(named)
    import pooch  # here, since only a corpus needs it and importing it takes a moment

    return Path(pooch.os_cache("unrolled"))


def _source(name: str) -> Source:
    """Return a corpus's row of the table."""
    if name not in SOURCES:
        near = difflib.get_close_matches(name, SOURCES, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"no corpus is called {name!r}; {meant}There are {', '.join(SOURCES)}")
    return SOURCES[name]


def _held(file: File, folder: Path) -> tuple[File, bytes] | None:
    """Return what a folder holds, the file or else its stand-in, with the bytes unverified; None if it has neither."""
    for choice in filter(None, (file, file.stand_in)):
        try:
            return choice, (folder / choice.path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            continue
    return None


def _fault(file: File, content: bytes) -> str:
    """Return what is wrong with a file's bytes, or nothing."""
    if file.check == "git blob id":
        found = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    else:
        found = hashlib.sha256(content).hexdigest()
    if found == file.digest:
        return ""
    return f"it has {len(content):,} bytes and {file.check} {found[:12]}…, not {file.bytes:,} and {file.digest[:12]}…"


def _from_mirror(name: str, file: File, mirror: Path) -> tuple[File, bytes]:
    """Return the file or its stand-in with its bytes, from a folder that holds it already."""
    path, remedy = mirror / file.path, "put the right file there, or unset UNROLLED_MIRROR to download it"
    try:
        held = _held(file, mirror)
    except OSError as error:
        raise CorpusError(f"{name}: cannot read {error.filename}: {error.strerror}; {remedy}") from error
    if not held:
        instead = f" or {Path(file.stand_in.path).name}" if file.stand_in else ""
        raise CorpusError(f"{name}: cannot read {path}{instead}: No such file; {remedy}")
    if fault := _fault(*held):
        raise CorpusError(f"{name}: {mirror / held[0].path} is another file: {fault}; {remedy}")
    return held


def _from_cache(name: str, file: File, cache: Path) -> tuple[File, bytes]:
    """Return the file with its bytes from the cache; download it first where it is missing or damaged there.

    A download goes into a folder of its own beside its place, and moves there in one step once it is verified.
    """
    path, mirrored = cache / file.path, f"set UNROLLED_MIRROR to a folder that holds {file.path}"
    try:
        held = _held(file, cache)
        if held and not _fault(*held):
            return held
        from pooch import HTTPDownloader
        from requests.exceptions import RequestException

        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".download-", dir=path.parent) as apart:
            part = Path(apart, path.name)
            try:
                HTTPDownloader(progressbar=True)(file.url, str(part), None)
            except RequestException as error:
                raise CorpusError(
                    f"{name}: cannot download {file.url} ({error}); try again with a network, or {mirrored}"
                ) from error
            content = part.read_bytes()
            if fault := _fault(file, content):
                raise CorpusError(
                    f"{name}: what {file.url} sent is another file, or was cut short: {fault}; nothing was kept; "
                    f"try again, or {mirrored}"
                )
            part.replace(path)
        return file, content
    except OSError as error:
        raise CorpusError(
            f"{name}: cannot keep {path}: {error}; make room there, "
            "or set UNROLLED_CACHE to a folder that can be written"
        ) from error

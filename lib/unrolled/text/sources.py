"""The table of real corpora: where each file lies, which bytes are in it, and how the text is split."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass


class CorpusError(RuntimeError):
    """A corpus could not be had; the message says why and what would help."""


@dataclass(frozen=True)
class File:
    """One published file and what must be in it.

    Attributes:
        path: its path below the mirror or the cache.
        bytes: its size.
        digest: the hash of its bytes, in hexadecimal digits.
        url: its address, where what is there does not change; empty for a stand-in.
        encoding: how its bytes become text. Line ends stay as they are.
        check: what `digest` is, "SHA-256" or "git blob id".
        stand_in: a file that a mirror or a cache may hold in its place.
        note: which of the two it is, where there is a stand-in.
    """

    path: str
    bytes: int
    digest: str
    url: str
    encoding: str = "utf-8"
    check: str = "SHA-256"
    stand_in: File | None = None
    note: str = ""


Split = tuple[str, str, str]


@dataclass(frozen=True)
class Source:
    """A row of the table: what a corpus is, where it is and how it is split.

    Attributes:
        about: what it is, in a line.
        licence: what may be done with it.
        files: in the order in which `split` takes them.
        split: maps the files' texts by path to training, validation and test text; raises CorpusError.
        rule: what `split` does, in a few words.
    """

    about: str
    licence: str
    files: tuple[File, ...]
    split: Callable[[dict[str, str]], Split]
    rule: str

    @property
    def bytes(self) -> int:
        """The size of its files together."""
        return sum(file.bytes for file in self.files)


def _ninety(texts: dict[str, str]) -> Split:
    """Split the one text: the first 90 % of its characters, rounded down, and the rest. There is no test text."""
    (text,) = texts.values()
    cut = len(text) * 9 // 10
    return text[:cut], text[cut:], ""


def _own(texts: dict[str, str]) -> Split:
    """Keep the three files that were published as training, validation and test text."""
    train, validation, test = texts.values()
    return train, validation, test


def _names(texts: dict[str, str]) -> Split:
    r"""Split names, one a line, as makemore's lectures do: shuffled with seed 42, then 80 %, 10 % and 10 % of them.

    Each name ends with "\n", so a part has as many characters as the lectures have examples. Names occur more than
    once: some of those to validate and to test on are also among those to train on.
    """
    (text,) = texts.values()
    listed = text.splitlines()
    random.Random(42).shuffle(listed)
    first, second = int(0.8 * len(listed)), int(0.9 * len(listed))
    train, validation, test = listed[:first], listed[first:second], listed[second:]
    return "\n".join(train) + "\n", "\n".join(validation) + "\n", "\n".join(test) + "\n"


HEADER = re.compile(
    r"^(?:\*\*\* START OF THIS PROJECT GUTENBERG EBOOK .+ \*\*\*|\*END THE SMALL PRINT! .+\*END\*)\n+"
    r"(?:Produced|This etext was prepared) by .+\n(?:.+\n)*",
    re.MULTILINE,
)
FOOTER = re.compile(
    r"^(?:Transcriber's Note\n(?:.*\n)*?)?End of [Tt]he Project Gutenberg E(?:Book|text) of .+$", re.MULTILINE
)


def _books(texts: dict[str, str]) -> Split:
    r"""Strip Project Gutenberg's frame from books, join them with one blank line, and split as `_ninety` does.

    Line ends become "\n". A book's header ends with the line that starts the text, or that ends the small print, and
    the paragraph after it, which credits the transcribers. Its footer begins with the line "End of the Project
    Gutenberg EBook of …", or with the transcriber's note before it. Each must be there exactly once. Blank lines at
    both ends go. All that stands between is kept: title page, preface, footnotes, captions and `_italics_` too.

    Raises:
        CorpusError: a file has no such header or footer, or more than one.
    """
    books = []
    for path, raw in texts.items():
        text = raw.replace("\r\n", "\n")
        headers, footers = list(HEADER.finditer(text)), list(FOOTER.finditer(text))
        if len(headers) != 1 or len(footers) != 1 or footers[0].start() < headers[0].end():
            raise CorpusError(
                f"{path} is framed in another way: it has {len(headers)} Project Gutenberg headers and {len(footers)} "
                "footers that the rule knows, not one of each in this order; put the file of the table there, "
                "or teach the rule in unrolled/sources.py this file's lines"
            )
        books.append(text[headers[0].end() : footers[0].start()].strip("\n") + "\n")
    return _ninety({"": "\n".join(books)})


RAW = "https://raw.githubusercontent.com"
WIKITEXT = f"{RAW}/pytorch/examples/77f55b912142e11fcfdf5b530231fb9c52f181e8/word_language_model/data/wikitext-2"
HEAD = "first 90 %, last 10 %"
# fmt: off
BOOKS = [  # by year, 1889 to 1910: colour, Project Gutenberg's file, bytes, encoding, commit, SHA-256
    ("Blue", "503-0", 774_841, "utf-8-sig", "4d594f378f0dcaa61acc1791fafc6e6b0053ea41",
     "1dc3c13543d1a3b7baaa76f84dd45f444652cad9ea434c4849c32b66f073a29b"),
    ("Red", "540-0", 697_142, "utf-8-sig", "d18e647375b7ea35355d72a032ea925b32b77e47",
     "8cd1a7810549f0d835068c889cf1a3d30ffd14391342c6054f712f02290415dd"),
    ("Green", "7277-0", 676_341, "utf-8-sig", "1177d3ea0e15d8792db31d20d817e182423ee098",
     "f8820efcd3d5ddc527c4a67d48890d501fd27e873505c2b780e09df6338555fa"),
    ("Yellow", "640", 615_958, "ascii", "9bf7714268e5d590d187e52b766ddec1a1ba1936",
     "e8ee7f5149f5a4e2b241477f58e7d51f5934180324ec5676821ad589362f6ad8"),
    ("Pink", "5615-0", 549_963, "utf-8-sig", "a718502a8b3fee1546f79c7d2a37c332c5a0a849",
     "7ddf4492bc8c85e9905778507200a39d90440fa1e35a5d684433a0757f581fd8"),
    ("Grey", "6746-0", 552_892, "utf-8-sig", "d75f3b67d95c26d0cde396bbaa7464cd1539e5de",
     "afc0d6cec507ca6b8106fd1109390c88e7989a199fa650229a51f7edec7ce747"),
    ("Violet", "641-0", 572_884, "utf-8-sig", "7b50a1ff03d5f53aeca921214ffc49aa86f46a57",
     "64d94d6cce1b31d436a5e7279499d34c5929e84147d310834e2a06852108a284"),
    ("Crimson", "2435-0", 545_147, "utf-8-sig", "618e9523c383a74e98c6f2689977805040c6bdcc",
     "1735d559df861fd499298e6f360909037703259ebe37d2ada27545f24213ceb2"),
    ("Brown", "3282-0", 546_673, "utf-8-sig", "5425572193b88ef56c5ce5606c1e026849d2115a",
     "070ec704aa27581f14d475b15a40ee3f2e3ff702ec43aefca6b81134426f218b"),
    ("Orange", "3027-0", 551_992, "utf-8-sig", "8bd06a349284a292eece65bf73b4e0df736e8d58",
     "ccdb6c4fe1ff160c3614403683df684546bd785f5bbe6e9a4925ad36a38cc1a2"),
    ("Olive", "27826-8", 533_318, "iso-8859-1", "273db9b9f04fa417e62f24617b9ef848e9ca2335",
     "bebe17674b1bac4b96ebd44303bb26a4624634777226c1693f8e64c339ce6f58"),
    ("Lilac", "3454-0", 557_962, "utf-8-sig", "42d696e1138c9c97ba3dc020120a0bc4f65730b7",
     "daf164a2ee74a6a8209fc5e90a729c005bca9a02a618ba7b1a1d39b95ba776f2"),
]
SOURCES = {
    "tiny-shakespeare": Source("scenes from Shakespeare's plays", "public domain", (
        File("tinyshakespeare/input.txt", 1_115_394,
             "86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed",
             f"{RAW}/karpathy/char-rnn/6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e/data/tinyshakespeare/input.txt"),
    ), _ninety, HEAD),
    "tinystories-sample": Source(
        "the head of TinyStories, short stories written by a language model for small ones", "CDLA-Sharing-1.0", (
        File("tinystories-sample/tinystories-train-head.txt", 944_426,
             "c56cfd24fb1c542b141a396184b822a4db3672abdb4c49c6aa843171c5e822a5",
             f"{RAW}/s-ajaykumar/smallGPT/b8b899265a5574abd2c19d8857039309184a357c/data/tiny_stories.txt"),
    ), _ninety, HEAD),
    "time-machine": Source(
        "The Time Machine by H. G. Wells, the file that Dive into Deep Learning uses", "public domain", (
        File("timemachine/timemachine.txt", 178_979,
             "8424dbd9532ac81f7e5f0b6add90e6952baea29158309d7d1bf3884f4e12c516",
             "https://d2l-data.s3-accelerate.amazonaws.com/timemachine.txt"),
    ), _ninety, HEAD),
    "fairy-books": Source(
        "Andrew Lang's twelve Fairy Books, in the order of publication", "public domain in the USA", tuple(
        File(f"lang-fairy-books/The-{colour}-Fairy-Book_{file}.txt", size, digest,
             f"{RAW}/GITenberg/The-{colour}-Fairy-Book_{file.split('-')[0]}/{commit}/{file}.txt", encoding)
        for colour, file, size, encoding, commit, digest in BOOKS
    ), _books, HEAD),
    "wikitext-2": Source(
        "articles of Wikipedia as words between spaces, the rare ones <unk>", "CC BY-SA 3.0 and GFDL", (
        File("wikitext-2/train.txt", 10_797_148,
             "2d84b35af79e411d73ea7cae83c73964c6ac83b4",
             f"{WIKITEXT}/train.txt", check="git blob id", note="the public file", stand_in=File(
                 "wikitext-2/train.shuffled-articles.txt", 10_797_148,
                 "728c77e87e176af4730f9a80fc6008bcaff421a7202c1c048877c0eec3685f89",
                 url="", note="the same articles in another order")),
        File("wikitext-2/valid.txt", 1_121_681,
             "f0737ed31fc1329026e95cb8b98e19c2a182c39c240ab909dc31abf2f8af58e8",
             f"{WIKITEXT}/valid.txt"),
        File("wikitext-2/test.txt", 1_256_449,
             "d790b833ef8cf03a90db7bf1271b7520b83c45ce07ba3c1a9699df81e239eca0",
             f"{WIKITEXT}/test.txt"),
    ), _own, "its own"),
    "names": Source("32,033 given names, one a line", "public domain", (
        File("names/names.txt", 228_145,
             "0a30b5557f192f32ab962680889aac5f6fda0f4cecf40a6d0b5694f58ea8cc4d",
             f"{RAW}/karpathy/makemore/988aa59e4d8fefa526d06f3b453ad116258398d4/names.txt"),
    ), _names, "shuffled: 80 %, 10 %, 10 %"),
}
# fmt: on

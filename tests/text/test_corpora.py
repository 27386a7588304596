"""Real corpora by name; only the tests of the real ones read from the internet, and only without a mirror."""

import hashlib
import http.server
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pooch
import pytest

from unrolled.__main__ import main
from unrolled.text import corpora, sources

CORPORA = ["tiny-shakespeare", "tinystories-sample", "time-machine", "fairy-books", "wikitext-2", "names"]
CORPORA += ["atis", "cmudict"]
TEXT = "“Où est-ce?” asked the fox.\r\nNobody knew.\n" * 10
CONTENT = TEXT.encode()
DAMAGED = pytest.mark.parametrize("damaged", [CONTENT[:-7], CONTENT.replace(b"fox", b"owl")])


@pytest.fixture(autouse=True)
def no_pause(monkeypatch):
    """A failed download is tried again at once."""
    monkeypatch.setattr(pooch.core.time, "sleep", lambda seconds: None)


@pytest.fixture
def server():
    """Serve `files` on this machine with `status`; `cut` bytes are promised and not sent; `requests` is a log."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.requests.append(self.path)
            content = self.server.files[self.path.removeprefix("/")]
            self.send_response(self.server.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) - self.server.cut])
            self.server.cut = max(self.server.cut - self.server.mending, 0)

        def log_message(self, *_):
            pass

    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving.files, serving.status, serving.requests, serving.cut, serving.mending = {}, 200, [], 0, 0
    thread = threading.Thread(target=serving.serve_forever, args=[0.02])
    thread.start()
    yield serving
    serving.shutdown()
    thread.join()
    serving.server_close()


@pytest.fixture
def place(monkeypatch, server):
    """Return a function that puts a small corpus, served on this machine, into the table, which is empty otherwise."""
    monkeypatch.setattr(corpora, "SOURCES", {})

    def put(name, contents, split=sources.ninety_ten):
        files = tuple(
            sources.File(
                f"{name}/{file}", hashlib.sha256(content).hexdigest(), f"http://127.0.0.1:{server.server_port}/{file}"
            )
            for file, content in contents.items()
        )
        server.files.update(contents)
        corpora.SOURCES[name] = sources.Source(f"a {name} asks", "public domain", 0.1, files, split, "9 : 1")
        return files

    return put


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """A cache folder of the test's own, not made yet, and no mirror."""
    monkeypatch.setenv("UNROLLED_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNROLLED_MIRROR", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return tmp_path / "cache"


@pytest.fixture
def fox(place, cache):
    """The table's only corpus, one small file."""
    return place("fox", {"fox.txt": CONTENT})[0]


def kept(folder):
    """Everything in a folder but the folders that corpora have there."""
    inside = sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
    return [path for path in inside if path not in corpora.SOURCES]


# A corpus is fetched, decoded, split


def test_a_corpus_is_downloaded_once_decoded_exactly_and_split(fox, server, cache, capfd):
    corpus = corpora.load_corpus("fox")
    assert corpus.train + corpus.validation == TEXT  # accents, quotation marks and line ends as they are
    assert len(corpus.train) == len(TEXT) * 9 // 10 and corpus.test == ""
    assert (corpus.name, corpus.files) == ("fox", (fox,))
    assert corpora.load_corpus("fox") == corpus
    assert server.requests == ["/fox.txt"] and kept(cache) == ["fox/fox.txt"]
    assert "100%" in capfd.readouterr().err  # the progress bar


def test_a_file_in_the_cache_may_be_read_by_whom_the_umask_lets(fox, cache):
    before = os.umask(0o022)
    try:
        corpora.load_corpus("fox")
    finally:
        os.umask(before)
    if os.name == "posix":
        assert (cache / "fox" / "fox.txt").stat().st_mode & 0o777 == 0o644


def test_files_that_were_published_as_a_split_stay_so(place, cache, server):
    parts = {"train.txt": b"a b \n", "valid.txt": b" c \n", "test-8.txt": "é\n".encode("latin-1")}
    place("own", parts, sources.published)
    corpus = corpora.load_corpus("own")
    assert (corpus.train, corpus.validation, corpus.test) == ("a b \n", " c \n", "é\n")
    assert server.requests == ["/train.txt", "/valid.txt", "/test-8.txt"]


def test_names_are_split_as_makemore_splits_them(place, cache):
    place("names", {"names.txt": "\n".join(f"name{number}" for number in range(25)).encode()}, sources.makemore)
    corpus = corpora.load_corpus("names")
    words = [f"name{number}" for number in range(25)]
    random.seed(42)
    random.shuffle(words)
    assert corpus.train == "".join(f"{word}\n" for word in words[:20])
    assert corpus.validation == "".join(f"{word}\n" for word in words[20:22])
    assert corpus.test == "".join(f"{word}\n" for word in words[22:])


def test_a_word_goes_to_its_part_with_all_alternatives_whatever_the_order():
    entries = [f"w{'abcdefghij'[n % 10]}{n}({k}) AH0\n" for n in range(400) for k in (1, 2)]
    parts = sources.by_word({"": "".join(entries)})
    random.Random(0).shuffle(entries)
    again = sources.by_word({"": "".join(entries)})
    words = [{sources.headword(line) for line in part.splitlines()} for part in parts]
    assert words == [{sources.headword(line) for line in part.splitlines()} for part in again]
    assert not words[0] & words[1] and not words[0] & words[2] and not words[1] & words[2]
    assert sum(map(len, words)) == 400 and [round(len(part) / 400, 1) for part in words] in (
        [0.8, 0.1, 0.1],
        [0.9, 0.0, 0.1],
    )


BOOK = """\ufeffThe Project Gutenberg EBook of The {0} Book\r
\r
*** START OF THIS PROJECT GUTENBERG EBOOK THE {0} BOOK ***\r
\r
Produced by One\r
and Another\r
\r
\r
   THE {0} BOOK\r
\r
There was a fox.\r
\r
\r
End of the Project Gutenberg EBook of The {0} Book, by Various\r
\r
*** END OF THIS PROJECT GUTENBERG EBOOK THE {0} BOOK ***\r
"""


def test_books_lose_project_gutenbergs_header_and_footer_and_nothing_else(place, cache):
    old = BOOK.replace("*** START OF THIS PROJECT GUTENBERG EBOOK THE {0} BOOK ***", "*END THE SMALL PRINT! V1*END*")
    old = old.replace("Produced by", "This etext was prepared by").replace("End of the", "End of The")
    noted = BOOK.replace("\r\n\r\nEnd of", "\r\nTranscriber's Note\r\n\r\nA comma was added.\r\n\r\nEnd of")
    books = {"red.txt": BOOK.format("RED"), "old.txt": old.format("OLD"), "noted.txt": noted.format("NOTED")}
    place("books", {name: book.encode() for name, book in books.items()}, sources.books)
    corpus = corpora.load_corpus("books")
    expected = "\n".join(f"   THE {name} BOOK\n\nThere was a fox.\n" for name in ("RED", "OLD", "NOTED"))
    assert corpus.train + corpus.validation == expected and len(corpus.train) == len(expected) * 9 // 10


@pytest.mark.parametrize(
    "strange",
    [
        BOOK.replace("*** START", "* START"),
        BOOK.replace("Produced by", "Written by"),
        BOOK.replace("End of the", "Here ends the"),
        BOOK.partition("End of")[0] + BOOK,
        BOOK + BOOK[BOOK.index("End of") :],
        BOOK[BOOK.index("End of") :] + BOOK.partition("End of")[0],
    ],
    ids=["no start", "no credit", "no end", "two starts", "two ends", "the end first"],
)
def test_a_book_with_another_header_or_footer_is_refused(place, cache, strange):
    place("books", {"red.txt": BOOK.encode(), "odd.txt": strange.encode()}, sources.books)
    with pytest.raises(
        corpora.CorpusError, match=r"^books/odd\.txt has \d Project Gutenberg headers .*not one of each"
    ):
        corpora.load_corpus("books")


# What can go wrong with a download


@DAMAGED
def test_a_damaged_file_in_the_cache_is_fetched_again(fox, server, cache, damaged):
    corpora.load_corpus("fox")
    path = cache / "fox" / "fox.txt"
    path.write_bytes(damaged)
    assert corpora.state("fox") == "damaged"
    assert corpora.load_corpus("fox").files == (fox,)
    assert len(server.requests) == 2 and path.read_bytes() == CONTENT and corpora.state("fox") == "cached"


@DAMAGED
def test_a_damaged_file_from_the_server_is_refused_and_not_kept(fox, server, cache, damaged):
    server.files["fox.txt"] = damaged
    message = rf"fox: cannot download http.*fox\.txt to {cache}.*fox\.txt \(.*{fox.digest}.*\); try again .*_MIRROR"
    with pytest.raises(corpora.CorpusError, match=message):
        corpora.load_corpus("fox")
    assert kept(cache) == [] and corpora.state("fox") == "not here"


def test_a_download_that_breaks_off_is_tried_again(fox, server, cache):
    server.cut, server.mending = 7, 7
    assert corpora.load_corpus("fox").files == (fox,)
    assert len(server.requests) == 2 and kept(cache) == ["fox/fox.txt"]


@pytest.mark.parametrize(
    "fail, reason",
    [
        (lambda server: setattr(server, "cut", 7), "7 more expected"),  # it always breaks off
        (lambda server: setattr(server, "status", 404), r"\(404"),
        (lambda server: (server.shutdown(), server.server_close()), "refused"),  # no network
    ],
)
def test_a_download_that_fails_is_not_kept_and_the_error_says_what_to_do(fox, server, cache, fail, reason):
    fail(server)
    remedy = "try again with a network .*, or set UNROLLED_MIRROR to a folder that holds fox/fox.txt"
    with pytest.raises(corpora.CorpusError, match=rf"fox: cannot download http.*fox\.txt .*{reason}.*{remedy}"):
        corpora.load_corpus("fox")
    assert kept(cache) == []


def test_of_several_files_those_that_are_right_are_kept(place, cache, server):
    place("own", {"train.txt": b"a\n", "valid.txt": b"b\n", "test.txt": b"c\n"}, sources.published)
    server.files["valid.txt"] = b"x\n"
    with pytest.raises(corpora.CorpusError, match="own: cannot download .*valid.txt"):
        corpora.load_corpus("own")
    assert kept(cache) == ["own/train.txt"] and corpora.state("own") == "not here"
    server.files["valid.txt"] = b"b\n"
    assert corpora.load_corpus("own").validation == "b\n" and server.requests.count("/train.txt") == 1


# What can go wrong with the disk


def test_a_cache_that_is_no_folder_is_named(fox, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("UNROLLED_CACHE", str(tmp_path / "file"))
    with pytest.raises(corpora.CorpusError, match="cannot download .*fox.txt to .*Not a directory.*set UNROLLED_CACHE"):
        corpora.load_corpus("fox")
    assert corpora.state("fox") == "not here"


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="this system has no users to become")
def test_a_read_only_cache_is_named(fox, cache, monkeypatch):
    corpora.load_corpus("fox")  # so that everything is imported
    with tempfile.TemporaryDirectory() as folder:  # pytest's own folders are closed to other users
        inside = Path(folder, "fox")
        inside.mkdir()
        (inside / "fox.txt").write_bytes(CONTENT[:-7])
        inside.chmod(0o555)
        Path(folder).chmod(0o755)
        monkeypatch.setenv("UNROLLED_CACHE", folder)
        user = os.geteuid()
        try:
            if user == 0:
                os.seteuid(65534)  # root may write even there
            with pytest.raises(corpora.CorpusError, match="cannot download .*fox.txt .*denied.*; .*set UNROLLED_CACHE"):
                corpora.load_corpus("fox")
        finally:
            os.seteuid(user)
            inside.chmod(0o755)
        assert kept(Path(folder)) == ["fox/fox.txt"]


def test_a_disk_that_fills_up_during_the_download_is_named(fox, cache):
    resource = pytest.importorskip("resource", reason="this system cannot limit the size of files")
    assert len(CONTENT) > 64
    code = (  # a process of its own, since the limit holds for all that it writes
        "import resource; from unrolled.text import corpora as c, sources as s\n"
        f"file = s.File({fox.path!r}, {fox.digest!r}, {fox.url!r})\n"
        "c.SOURCES = {'fox': s.Source('', '', 0, (file,), s.ninety_ten, '')}\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, (64, {resource.RLIM_INFINITY}))\n"
        "try: c.load_corpus('fox')\n"
        "except c.CorpusError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.search(
        "fox: cannot download .*fox.txt .*File too large.*; try again with .* room on the disk", done.stdout
    )
    assert kept(cache) == []


# A mirror


def test_a_mirror_is_read_instead_of_the_network_and_never_written(fox, server, cache, monkeypatch, tmp_path):
    mirror = tmp_path / "mirror"
    path = mirror / "fox" / "fox.txt"
    path.parent.mkdir(parents=True)
    monkeypatch.setenv("UNROLLED_MIRROR", str(mirror))

    def check_refused(state):
        before = [(file, file.is_file() and file.read_bytes()) for file in mirror.rglob("*")]
        with pytest.raises(corpora.CorpusError, match=r"fox: .*fox\.txt cannot be read or is another file: .*_MIRROR"):
            corpora.load_corpus("fox")
        assert corpora.state("fox") == state
        assert [(file, file.is_file() and file.read_bytes()) for file in mirror.rglob("*")] == before

    check_refused("not here")
    path.write_bytes(CONTENT + b"!")
    check_refused("damaged")
    path.write_bytes(CONTENT)
    assert corpora.load_corpus("fox").files == (fox,) and corpora.state("fox") == "mirrored"
    path.unlink()
    path.mkdir()
    check_refused("damaged")
    assert server.requests == [] and not cache.exists()


# A file of which only the git blob id is known, and its stand-in

STAND_IN = b"Nobody knew. The fox asked.\n"


@pytest.fixture
def blob(fox, monkeypatch):
    """The same corpus, its file verified by the id that git gives it."""
    git = subprocess.run(["git", "hash-object", "--stdin"], input=CONTENT, capture_output=True, check=True)
    file = sources.File(fox.path, git.stdout.decode().strip(), fox.url, "the public file")
    corpora.SOURCES["fox"] = sources.Source("", "", 0.1, (file,), sources.ninety_ten, "")
    return file


@pytest.fixture
def stand_in(blob, monkeypatch):
    """The file that may stand in for that one."""
    file = sources.File("fox/other.txt", hashlib.sha256(STAND_IN).hexdigest(), note="reordered")
    monkeypatch.setitem(corpora.STAND_INS, blob.path, file)
    return file


@pytest.mark.parametrize("other", [CONTENT[:-7], STAND_IN])
def test_a_download_is_verified_by_its_git_blob_id(blob, stand_in, server, cache, other):
    server.files["fox.txt"] = other
    with pytest.raises(corpora.CorpusError, match=f"its git blob id must begin with {blob.digest[:12]}"):
        corpora.load_corpus("fox")
    assert kept(cache) == []
    server.files["fox.txt"] = CONTENT
    assert corpora.load_corpus("fox").files == corpora.load_corpus("fox").files == (blob,)


def test_a_mirror_may_hold_the_stand_in_and_the_corpus_says_which_it_is(blob, stand_in, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("UNROLLED_MIRROR", str(tmp_path))
    public, other = tmp_path / blob.path, tmp_path / stand_in.path
    with pytest.raises(corpora.CorpusError, match=r"fox\.txt cannot be read"):
        corpora.load_corpus("fox")
    public.parent.mkdir()
    other.write_bytes(STAND_IN)
    corpus = corpora.load_corpus("fox")
    assert (corpus.train + corpus.validation).encode() == STAND_IN and corpus.files == (stand_in,)
    assert main(["corpora", "fox"]) == 0 and "other.txt: SHA-256" in (printed := capsys.readouterr().out)
    assert printed.endswith("…, reordered\n")
    public.write_bytes(CONTENT)  # the file itself goes before what stands in for it
    assert corpora.load_corpus("fox").files == (blob,)
    assert main(["corpora", "fox"]) == 0 and "fox.txt: git blob id" in (printed := capsys.readouterr().out)
    assert printed.endswith("…, the public file\n")
    public.unlink()
    other.write_bytes(STAND_IN + b"!")
    with pytest.raises(corpora.CorpusError, match=r"fox\.txt cannot be read or is another file: its git blob id"):
        corpora.load_corpus("fox")


# The table and the command


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match="'tiny-shakespear'; did you mean 'tiny-shakespeare'.*tinystories-sample"):
        corpora.load_corpus("tiny-shakespear")
    with pytest.raises(ValueError, match="no corpus is called 'xyz'; There are"):
        corpora.source("xyz")


def test_the_registry_pins_every_file():
    assert list(corpora.SOURCES) == CORPORA
    files = [file for source in corpora.SOURCES.values() for file in source.files]
    assert len({file.path for file in files}) == len(files) == 12 + 3 + 4 + 3 + 1
    assert [file.path for file in files if file.check == "git blob id"] == list(corpora.STAND_INS)
    for file in (*files, *corpora.STAND_INS.values()):
        assert re.fullmatch("[0-9a-f]{40}" if file.check == "git blob id" else "[0-9a-f]{64}", file.digest), file.path
    for file in files:
        pinned = r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/.+"
        assert re.fullmatch(pinned, file.url) or file.path == "timemachine/timemachine.txt"  # its address has no commit


def test_the_command_lists_what_there_is_and_what_is_here(cache, server, capsys):
    assert main(["corpora"]) == 0
    *table, last = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in table[1:]] == CORPORA and str(cache) in last
    assert all(row.endswith("not here") for row in table[1:]) and max(map(len, table)) <= 100
    assert all(source.licence in row for source, row in zip(corpora.SOURCES.values(), table[1:], strict=True))
    assert not cache.exists()


def test_the_command_fetches_verifies_and_counts(fox, capsys):
    assert main(["corpora", "fox"]) == 0
    printed, cut = capsys.readouterr().out, len(TEXT) * 9 // 10
    train, validation = TEXT[:cut], TEXT[cut:]
    rows = rf"train +{cut} +{len(train.split())}\n +validation +{len(validation)} +{len(validation.split())}\n"
    assert re.search(rows, printed)
    assert f"fox/fox.txt: SHA-256 {fox.digest[:12]}…" in printed and " test " not in printed
    assert main(["corpora"]) == 0
    assert "fox " in (printed := capsys.readouterr().out) and printed.splitlines()[1].endswith("cached")


def test_the_command_says_in_one_line_what_went_wrong(fox, server, cache, capsys):
    assert main(["corpora", "fox", "vox"]) == 2
    assert capsys.readouterr().err.startswith("unrolled: no corpus is called 'vox'; did you mean 'fox'?")
    assert server.requests == []  # an unknown name is refused before any download
    server.status = 404
    assert main(["corpora", "fox"]) == 1
    out, err = capsys.readouterr()
    assert re.fullmatch(r"unrolled: fox: cannot download .*UNROLLED_MIRROR .*\n", err) and out == ""


# The real ones


def real(name):
    """Return a real corpus; skip where there is neither network nor mirror."""
    try:
        return corpora.load_corpus(name)
    except corpora.CorpusError as error:
        if "cannot download" not in str(error):
            raise
        pytest.skip(f"no network and no mirror: {error}")


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("tiny-shakespeare", (1_003_854, 111_540, 0)),
        ("tinystories-sample", (848_376, 94_264, 0)),
        ("time-machine", (161_081, 17_898, 0)),
        ("fairy-books", (6_045_383, 671_710, 0)),
        ("wikitext-2", (10_780_437, 1_120_192, 1_255_018)),
        ("names", (182_625, 22_655, 22_866)),  # as many as makemore's lectures print examples
        ("atis", (2_719_527, 365_475, 367_554)),
        ("cmudict", (3_071_781, 180_325, 366_382)),
    ],
)
def test_the_real_corpora_have_the_published_splits(name, sizes):
    corpus = real(name)
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == sizes
    if corpora.SOURCES[name].split is sources.ninety_ten:
        text = corpus.train + corpus.validation
        assert f"{len(text.encode()) / 1e6:.1f}" == str(corpora.SOURCES[name].megabytes)


def test_wikitext_has_its_published_words_and_its_lines():
    corpus = real("wikitext-2")
    parts = corpus.train, corpus.validation, corpus.test
    assert [len(part.split()) for part in parts] == [2_051_910, 213_886, 241_211]
    assert [part.count("\n") for part in parts] == [36_718, 3_760, 4_358]
    assert all(part.startswith(" \n = ") and part.endswith(" \n \n") for part in parts)
    assert len(set(corpus.train.split())) == 33_277  # with the line's end, the 33,278 types of its authors
    assert corpus.files[0].note in ("the public file", "the same articles in another order")


def test_names_are_many_and_some_are_in_two_parts():
    corpus = real("names")
    train, validation, test = corpus.train.split(), corpus.validation.split(), corpus.test.split()
    assert (len(train), len(validation), len(test)) == (25_626, 3_203, 3_204)
    assert train[:3] == ["yuheng", "diondre", "xavien"] and corpus.test.endswith("\n")
    assert len({*train} & {*test}) > 300


def test_the_fairy_books_hold_twelve_books_and_nothing_of_project_gutenberg():
    corpus = real("fairy-books")
    text = corpus.train + corpus.validation
    residue = r"gutenberg|\be-?books?\b|\be-?texts?\b|transcriber|proofread|pgdp|www\.|http|@|\ufeff|\r|\*\*\*"
    assert re.findall(residue, text, re.IGNORECASE) == []
    titles = [text.lower().index(f"{file.path.split('-')[3].lower()} fairy book\n") for file in corpus.files]
    assert titles == sorted(titles) and len(titles) == 12
    colours = [file.path.split("-")[3] for file in corpus.files]
    assert " ".join(colours) == "Blue Red Green Yellow Pink Grey Violet Crimson Brown Orange Olive Lilac"
    assert text.startswith("THE BLUE FAIRY BOOK\n") and text.endswith("From the ‘Mabinogion.’\n")
    assert "_Encyclopædia Britannica_" in text and "Frédéric Macler" in text  # the Olive book is in Latin-1

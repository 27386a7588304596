"""Real corpora by name; only the tests of the real ones read from the internet, and only without a mirror."""

import hashlib
import http.server
import random
import re
import threading

import pooch
import pytest

from unrolled.text import corpora

TEXT = "“Où est-ce?” asked the fox.\r\nNobody knew.\n" * 10
CONTENT = TEXT.encode()


@pytest.fixture
def server(monkeypatch):
    """Serve `files` on this machine with `status`; the next answer lacks its last `cut` bytes; `requests` is a log."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.requests.append(self.path)
            content = self.server.files[self.path]
            self.send_response(self.server.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content[: len(content) - self.server.cut])
            self.server.cut = 0

        def log_message(self, *_):
            pass

    monkeypatch.setattr(pooch.core.time, "sleep", lambda seconds: None)  # a failed download is tried again at once
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving.files, serving.status, serving.requests, serving.cut = {"/fox": CONTENT}, 200, [], 0
    thread = threading.Thread(target=serving.serve_forever, args=[0.02])
    thread.start()
    yield serving
    serving.shutdown()
    thread.join()
    serving.server_close()


@pytest.fixture(params=["SHA-256", "git blob id"])
def fox(request, monkeypatch, server, tmp_path):
    """Put a small corpus, served on this machine, into the table; return its path in an empty cache."""
    sha1 = hashlib.sha1(b"blob %d\0" % len(CONTENT) + CONTENT).hexdigest()
    digest = hashlib.sha256(CONTENT).hexdigest() if request.param == "SHA-256" else sha1
    monkeypatch.setitem(corpora._REGISTRY, "fox/fox.txt", (digest, f"http://127.0.0.1:{server.server_port}/fox"))
    monkeypatch.setitem(corpora.SPLITS, "fox", ("fox", corpora.ninety_ten))
    monkeypatch.setenv("UNROLLED_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNROLLED_MIRROR", raising=False)
    return tmp_path / "cache" / "fox" / "fox.txt"


def test_a_corpus_is_downloaded_once_decoded_exactly_and_split(fox, server):
    server.cut = 7  # the first answer breaks off, and the download is tried again
    assert not fox.exists()
    corpus = corpora.load_corpus("fox")
    assert corpus.train + corpus.validation == TEXT  # accents, quotation marks and line ends as they are
    assert len(corpus.train) == len(TEXT) * 9 // 10 and corpus.test == "" and corpus.files == ("fox/fox.txt",)
    assert corpora.load_corpus("fox") == corpus and server.requests == ["/fox", "/fox"]


@pytest.mark.parametrize("damaged", [CONTENT[:-7], CONTENT.replace(b"fox", b"owl")])
def test_a_damaged_file_is_fetched_again_and_one_from_the_server_is_refused_and_not_kept(fox, server, damaged):
    corpora.load_corpus("fox")
    fox.write_bytes(damaged)
    corpora.load_corpus("fox")
    assert fox.read_bytes() == CONTENT and len(server.requests) == 2
    fox.unlink()
    server.files["/fox"] = damaged
    with pytest.raises(corpora.CorpusError, match=r"cannot download http.* to .*fox\.txt \(.*\); try again .*_MIRROR"):
        corpora.load_corpus("fox")
    assert not any(fox.parent.iterdir())


def test_what_cannot_be_downloaded_or_stored_is_named(fox, server, monkeypatch, tmp_path):
    server.status = 404
    with pytest.raises(corpora.CorpusError, match=r"cannot download http.*\(404.*a folder that holds fox/fox.txt"):
        corpora.load_corpus("fox")
    server.status = 200
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("UNROLLED_CACHE", str(tmp_path / "file"))
    with pytest.raises(corpora.CorpusError, match="cannot download .*Not a directory"):
        corpora.load_corpus("fox")


def test_a_mirror_is_read_instead_of_the_network_and_never_written(fox, server, monkeypatch, tmp_path):
    mirror, path = tmp_path / "mirror", tmp_path / "mirror" / "fox" / "fox.txt"
    monkeypatch.setenv("UNROLLED_MIRROR", str(mirror))
    for content in (None, CONTENT + b"!", CONTENT):
        if content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        if content == CONTENT:
            assert corpora.load_corpus("fox").train == TEXT[: len(TEXT) * 9 // 10]
        else:
            with pytest.raises(corpora.CorpusError, match=r"fox\.txt is not there or is another file; .*_MIRROR"):
                corpora.load_corpus("fox")
        assert [file.read_bytes() for file in mirror.rglob("*.*")] == [content] * bool(content)
    assert server.requests == [] and not fox.exists()


def test_a_mirror_may_hold_a_stand_in_before_which_the_file_itself_goes(fox, monkeypatch, tmp_path):
    other = b"Nobody knew. The fox asked.\n"
    monkeypatch.setitem(corpora._REGISTRY, "fox/other.txt", (hashlib.sha256(other).hexdigest(),))
    monkeypatch.setitem(corpora.STAND_INS, "fox/fox.txt", "fox/other.txt")
    monkeypatch.setenv("UNROLLED_MIRROR", str(tmp_path))
    (tmp_path / "fox").mkdir()
    (tmp_path / "fox" / "other.txt").write_bytes(other)
    corpus = corpora.load_corpus("fox")
    assert (corpus.train + corpus.validation).encode() == other and corpus.files == ("fox/other.txt",)
    (tmp_path / "fox" / "fox.txt").write_bytes(CONTENT)
    assert corpora.load_corpus("fox").files == ("fox/fox.txt",)


def test_names_are_split_as_makemore_splits_them():
    words = [f"name{number}\n" for number in range(25)]
    parts = corpora.makemore("".join(words).rstrip("\n"))
    random.seed(42)
    random.shuffle(words)
    assert parts == ("".join(words[:20]), "".join(words[20:22]), "".join(words[22:]))


def test_an_unknown_name_is_refused_with_those_that_there_are():
    with pytest.raises(ValueError, match="'tiny-shakespear'; there are tiny-shakespeare, tinystories-sample"):
        corpora.load_corpus("tiny-shakespear")


def test_the_registry_pins_every_file():
    folders = {folder for folder, _ in corpora.SPLITS.values()}
    assert {path.partition("/")[0] for path in corpora._REGISTRY} == folders and len(corpora._REGISTRY) == 23
    for path, (digest, *url) in corpora._REGISTRY.items():
        assert re.fullmatch("[0-9a-f]{40}" if path in corpora.STAND_INS else "[0-9a-f]{64}", digest), path
        pinned = (
            r"https://raw\.githubusercontent\.com/[^/]+/[^/]+/[0-9a-f]{40}/.+|https://d2l-data\..+/timemachine\.txt"
        )
        assert [bool(re.fullmatch(pinned, each)) for each in url] == [True] * (path not in corpora.STAND_INS.values())


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
    ],
)
def test_the_real_corpora_have_the_published_splits(name, sizes):
    corpus = real(name)
    assert (len(corpus.train), len(corpus.validation), len(corpus.test)) == sizes


def test_wikitext_has_its_published_words_and_its_lines():
    parts = real("wikitext-2")[:3]
    assert [len(part.split()) for part in parts] == [2_051_910, 213_886, 241_211]
    assert [part.count("\n") for part in parts] == [36_718, 3_760, 4_358]
    assert len(set(parts[0].split())) == 33_277  # with the line's end, the 33,278 types of its authors


def test_the_fairy_books_hold_twelve_books_and_nothing_of_project_gutenberg():
    corpus = real("fairy-books")
    text = corpus.train + corpus.validation
    residue = r"gutenberg|\be-?books?\b|\be-?texts?\b|transcriber|proofread|pgdp|www\.|http|@|\ufeff|\r|\*\*\*"
    assert re.findall(residue, text, re.IGNORECASE) == []
    colours = [file.split("-")[3] for file in corpus.files]
    assert " ".join(colours) == "Blue Red Green Yellow Pink Grey Violet Crimson Brown Orange Olive Lilac"
    titles = [text.lower().index(f"{colour.lower()} fairy book\n") for colour in colours]
    assert titles == sorted(titles)
    assert text.startswith("THE BLUE FAIRY BOOK\n") and text.endswith("From the ‘Mabinogion.’\n")
    assert "_Encyclopædia Britannica_" in text and "Frédéric Macler" in text  # the Olive book is in Latin-1

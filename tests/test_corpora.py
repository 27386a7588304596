"""Real corpora by name; no test here reads from the internet."""

import hashlib
import http.server
import socket
import subprocess
import sys
import threading

import pytest

from unrolled import corpora

TEXT = "“Où est-ce?” asked the fox.\r\nNobody knew.\n" * 10
CONTENT = TEXT.encode()


@pytest.fixture
def server():
    """Serve bytes on this machine: `server.content` is what is sent, `server.asked` what was asked for."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            self.send_response(self.server.status)
            self.send_header("Content-Length", str(len(self.server.content)))
            self.end_headers()
            self.wfile.write(self.server.content)

        def log_message(self, *_):
            pass

    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    serving.content, serving.status, serving.asked = CONTENT, 200, []
    thread = threading.Thread(target=serving.serve_forever, args=[0.02])
    thread.start()
    yield serving
    serving.shutdown()
    thread.join()
    serving.server_close()


@pytest.fixture
def table(monkeypatch, tmp_path, server):
    """Put one small corpus in the table, served on this machine, and point the cache at an empty folder."""
    source = corpora.Source(
        file="fox/fox.txt",
        bytes=len(CONTENT),
        sha256=hashlib.sha256(CONTENT).hexdigest(),
        url=f"http://127.0.0.1:{server.server_port}/fox.txt",
        licence="public domain",
        about="a fox asks",
    )
    monkeypatch.setattr(corpora, "SOURCES", {"fox": source})
    monkeypatch.setenv("UNROLLED_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("UNROLLED_MIRROR", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return source


def kept(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_a_corpus_is_downloaded_once_decoded_exactly_and_split(table, server, tmp_path):
    corpus = corpora.load("fox")
    assert corpus.text == TEXT  # accents, quotation marks and line ends as they are
    assert corpus.train + corpus.validation == TEXT and len(corpus.train) == len(TEXT) * 9 // 10
    assert (corpus.name, corpus.licence, corpus.url, corpus.sha256) == (
        "fox", "public domain", table.url, table.sha256
    )  # fmt: skip
    assert corpora.load("fox") == corpus
    assert server.asked == ["/fox.txt"] and kept(tmp_path / "cache") == ["fox/fox.txt"]


@pytest.mark.parametrize("damaged", [CONTENT[:-7], CONTENT.replace(b"fox", b"owl")], ids=["truncated", "altered"])
def test_a_damaged_file_in_the_cache_is_fetched_again(table, server, tmp_path, damaged):
    corpora.load("fox")
    path = tmp_path / "cache" / "fox" / "fox.txt"
    path.write_bytes(damaged)
    assert corpora.load("fox").text == TEXT
    assert len(server.asked) == 2 and path.read_bytes() == CONTENT


@pytest.mark.parametrize("damaged", [CONTENT[:-7], CONTENT.replace(b"fox", b"owl")], ids=["truncated", "altered"])
def test_a_damaged_file_from_the_server_is_refused_and_not_kept(table, server, tmp_path, damaged):
    server.content = damaged
    with pytest.raises(corpora.CorpusError, match=r"fox: what http.*fox\.txt sent is another file.*UNROLLED_MIRROR"):
        corpora.load("fox")
    assert kept(tmp_path / "cache") == []


def test_a_server_that_has_no_such_file_is_named(table, server, tmp_path):
    server.status = 404
    with pytest.raises(corpora.CorpusError, match=r"cannot download http.*fox\.txt \(404.*UNROLLED_MIRROR"):
        corpora.load("fox")
    assert kept(tmp_path / "cache") == []


def test_without_a_network_the_error_says_what_to_do(table, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    changed = {**vars(table), "url": f"http://127.0.0.1:{port}/fox.txt"}
    monkeypatch.setattr(corpora, "SOURCES", {"fox": corpora.Source(**changed)})
    with pytest.raises(corpora.CorpusError, match="fox: cannot download .* a folder that holds fox/fox.txt"):
        corpora.load("fox")


def test_a_cache_that_cannot_be_written_is_named(table, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("UNROLLED_CACHE", str(tmp_path / "file"))
    with pytest.raises(corpora.CorpusError, match="cannot keep .*fox.txt: .*set UNROLLED_CACHE"):
        corpora.load("fox")


def test_a_read_only_cache_is_named(table, monkeypatch, tmp_path):
    def refuse(*_, **__):  # root may write into a read-only folder, so the refusal is played
        raise PermissionError(13, "Permission denied")

    (tmp_path / "cache" / "fox").mkdir(parents=True)
    monkeypatch.setattr("tempfile.NamedTemporaryFile", refuse)
    with pytest.raises(corpora.CorpusError, match="cannot keep .*fox.txt: .*Permission denied.*; set UNROLLED_CACHE"):
        corpora.load("fox")


def test_a_mirror_is_read_instead_of_the_network(table, server, monkeypatch, tmp_path):
    (tmp_path / "mirror" / "fox").mkdir(parents=True)
    path = tmp_path / "mirror" / "fox" / "fox.txt"
    monkeypatch.setenv("UNROLLED_MIRROR", str(tmp_path / "mirror"))
    with pytest.raises(corpora.CorpusError, match="fox: cannot read .*fox.txt: No such file.*unset UNROLLED_MIRROR"):
        corpora.load("fox")
    path.write_bytes(CONTENT + b"!")
    with pytest.raises(corpora.CorpusError, match=f"another file: it has {len(CONTENT) + 1} bytes.*not {len(CONTENT)}"):
        corpora.load("fox")
    path.write_bytes(CONTENT)
    assert corpora.load("fox").text == TEXT
    assert server.asked == []


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match="'tiny-shakespear'; did you mean 'tiny-shakespeare'.*tinystories-sample"):
        corpora.load("tiny-shakespear")
    with pytest.raises(ValueError, match="no corpus is called 'xyz'; There are"):
        corpora.describe("xyz")


def test_the_table_is_described():
    assert {"tiny-shakespeare", "tinystories-sample"} <= set(corpora.names())
    for name in corpora.names():
        assert corpora.describe(name).startswith(f"{name}: ")
    for source in corpora.SOURCES.values():
        assert len(source.sha256) == 64 and source.url.startswith("https://")


def test_importing_corpora_imports_no_pooch():
    code = "import sys, unrolled.corpora; sys.exit('pooch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    ("name", "train", "validation"), [("tiny-shakespeare", 1_003_854, 111_540), ("tinystories-sample", 848_376, 94_264)]
)
def test_the_real_corpora_have_the_published_splits(name, train, validation):
    try:
        corpus = corpora.load(name)
    except corpora.CorpusError as error:
        if "cannot download" not in str(error):
            raise
        pytest.skip(f"no network and no mirror: {error}")
    assert len(corpus.text.encode()) == corpora.SOURCES[name].bytes
    assert (len(corpus.train), len(corpus.validation)) == (train, validation)

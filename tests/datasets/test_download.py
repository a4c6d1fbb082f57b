from __future__ import annotations

import hashlib
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from grople.datasets import _download
from grople.datasets._download import download, git_blob_id
from grople.errors import DataError

CONTENT = bytes(range(256)) * 1000


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    for name, value in (("ATTEMPTS", 2), ("STALL_S", 0.3), ("BACKOFF_S", 0.01)):
        monkeypatch.setattr(_download, name, value)


def blob(content: bytes) -> str:
    return hashlib.sha1(b"blob " + str(len(content)).encode() + b"\0" + content).hexdigest()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "data.bin"


def assert_nothing_left(target: Path) -> None:
    assert list(target.parent.iterdir()) == []


def refused(web, url: str, target: Path) -> str:
    with pytest.raises(DataError) as caught:
        download(url, target, blob_id=blob(CONTENT))
    assert url in str(caught.value)
    assert_nothing_left(target)
    return str(caught.value)


def test_blob_id_is_gits(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(CONTENT)
    assert git_blob_id(file) == blob(CONTENT)
    # `printf 'hello\n' | git hash-object --stdin`
    file.write_bytes(b"hello\n")
    assert git_blob_id(file) == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_good_file_arrives_whole_with_progress(web, target):
    url = web.put("/good", web.send(CONTENT))
    seen = []
    got = download(
        url,
        target,
        blob_id=blob(CONTENT),
        progress=lambda *step: seen.append(step),
    )
    assert got == target
    assert target.read_bytes() == CONTENT
    assert [path.name for path in target.parent.iterdir()] == ["data.bin"]
    assert web.requests["/good"] == 1
    received = [step[1] for step in seen]
    assert received == sorted(received)
    assert seen[-1] == ("data.bin", len(CONTENT), len(CONTENT))


def test_old_content_is_replaced_only_by_good_content(web, target):
    target.parent.mkdir()
    target.write_bytes(b"old")
    with pytest.raises(DataError):
        download(web.put("/wrong", web.send(b"x")), target, blob_id=blob(CONTENT))
    assert target.read_bytes() == b"old"
    download(web.put("/good", web.send(CONTENT)), target, blob_id=blob(CONTENT))
    assert target.read_bytes() == CONTENT


def test_truncated_file_never_arrives(web, target):
    url = web.put("/short", web.send(CONTENT[:5000], claim=len(CONTENT)))
    message = refused(web, url, target)
    assert f"after 5000 of {len(CONTENT)} bytes" in message
    assert "tried 2 times" in message
    assert web.requests["/short"] == 2


def test_wrong_bytes_never_arrive(web, target):
    url = web.put("/wrong", web.send(CONTENT[::-1]))
    assert "not the expected" in refused(web, url, target)


def test_not_found_is_not_tried_again(web, target):
    assert "404" in refused(web, web.url + "/missing", target)
    assert web.requests["/missing"] == 1


def test_stall_is_given_up(web, target):
    url = web.put("/stall", web.stall(CONTENT[:5000]))
    assert "nothing arrived for 0.3 seconds" in refused(web, url, target)
    assert web.requests["/stall"] == 2


def test_endless_drip_is_given_up(web, target, monkeypatch):
    def drip(handler):
        handler.send_response(200)
        handler.end_headers()
        while not web.closing.wait(0.01):
            handler.wfile.write(b"x")

    monkeypatch.setattr(_download, "TOTAL_S", 0.2)
    assert "not finished after 0.2" in refused(web, web.put("/drip", drip), target)


def test_refused_connection(web, target):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/x"
        assert "refused" in refused(web, url, target)


@pytest.mark.parametrize("url", ["ftp://example.org/x", "/etc/passwd", "data:,x"])
def test_only_known_kinds_of_address(url, target):
    with pytest.raises(DataError, match="address"):
        download(url, target, blob_id=blob(CONTENT))


def test_second_attempt_after_passing_trouble(web, target, monkeypatch):
    trouble = (
        web.status(503),
        web.send(CONTENT[:10], claim=len(CONTENT)),
        web.send(b"login page"),
        web.send(CONTENT),
    )
    url = web.put("/flaky", *trouble)
    monkeypatch.setattr(_download, "ATTEMPTS", 4)
    download(url, target, blob_id=blob(CONTENT))
    assert target.read_bytes() == CONTENT
    assert web.requests["/flaky"] == 4


def test_failing_progress_leaves_nothing(web, target):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download(
            web.put("/good", web.send(CONTENT)),
            target,
            blob_id=blob(CONTENT),
            progress=interrupt,
        )
    assert_nothing_left(target)


def test_two_processes_at_once(web, target):
    both = threading.Barrier(2)

    def together(handler):
        both.wait(30)  # answers only once both processes have asked
        web.send(CONTENT)(handler)

    url = web.put("/good", together)
    code = (
        "import sys; from pathlib import Path; from grople.datasets._download import download;"
        "download(sys.argv[1], Path(sys.argv[2]), blob_id=sys.argv[3])"
    )
    command = [sys.executable, "-c", code, url, str(target), blob(CONTENT)]
    processes = [subprocess.Popen(command) for _ in range(2)]
    assert [process.wait(60) for process in processes] == [0, 0]
    assert web.requests["/good"] == 2
    assert target.read_bytes() == CONTENT
    assert [path.name for path in target.parent.iterdir()] == ["data.bin"]

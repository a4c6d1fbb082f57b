"""A web server on this machine that misbehaves on request."""

from __future__ import annotations

import http.server
import threading
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

Answer = Callable[[http.server.BaseHTTPRequestHandler], None]


class Web:
    """Serves what a test has put under a path, and counts the requests."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {}
        self.requests: Counter[str] = Counter()
        self.closing = threading.Event()
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                with web.lock:
                    turn = web.requests[self.path]
                    web.requests[self.path] += 1
                answers = web.answers.get(self.path, [web.status(404)])
                answers[min(turn, len(answers) - 1)](self)

            def log_message(self, *args: object) -> None:
                pass

        self.lock = threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def put(self, path: str, *answers: Answer) -> str:
        """Answer the requests for a path one after the other, the last one for ever."""
        self.answers[path] = list(answers)
        return self.url + path

    @staticmethod
    def send(content: bytes, *, claim: int | None = None) -> Answer:
        """Send the content; with ``claim``, announce another length."""

        def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(content) if claim is None else claim))
            handler.end_headers()
            handler.wfile.write(content)

        return answer

    @staticmethod
    def status(code: int) -> Answer:
        return lambda handler: handler.send_error(code)

    def stall(self, beginning: bytes) -> Answer:
        """Send a beginning of what is announced, then nothing until the test ends."""

        def answer(handler: http.server.BaseHTTPRequestHandler) -> None:
            self.send(beginning, claim=len(beginning) + 1000)(handler)
            self.closing.wait(60)

        return answer


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    web = Web()
    thread = threading.Thread(target=web.server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield web
    web.closing.set()
    web.server.shutdown()
    web.server.server_close()
    thread.join()

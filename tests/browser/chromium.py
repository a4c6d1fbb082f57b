"""A headless Chromium driven over its debugging pipe: no driver, no port, no further package.

Chromium reads commands on file descriptor 3 and writes replies and events on 4, JSON ended by a
zero byte (``--remote-debugging-pipe``).
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import subprocess
import time
from pathlib import Path
from typing import Any, Self

#: Seconds after which a browser that does not answer has hung.
PATIENCE = 60.0


def _high(*descriptors: int) -> list[int]:
    """Move file descriptors out of the way of 3 and 4; none is left open in another program."""
    moved = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in descriptors]
    for fd in descriptors:
        os.close(fd)
    return moved


class Chromium:
    """One browser with one page."""

    def __init__(self, program: str, folder: Path) -> None:
        commands, self._out = _high(*os.pipe())
        self._in, replies = _high(*os.pipe())

        def wire() -> None:
            os.dup2(commands, 3)
            os.dup2(replies, 4)

        self._process = subprocess.Popen(
            [
                program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                "--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars",
                "--remote-debugging-pipe", f"--user-data-dir={folder}", "about:blank",
            ],
            preexec_fn=wire, close_fds=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(commands)
        os.close(replies)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result; events that come meanwhile are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._receive()
            if reply.get("id") == self._number:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return reply["result"]
            self.events.append(reply)

    def open(self, path: Path, *, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Show a file in a window of a size and wait until it is loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 500,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.events.clear()
        self.call("Page.navigate", url=path.as_uri())
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive())

    def run(self, expression: str) -> Any:
        """Return the value of a JavaScript expression (awaited if it is a promise)."""
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in result:
            raise RuntimeError(str(result["exceptionDetails"]))
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key ("Enter", "Tab", …) as a person would."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38}
        common = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Type text into what has the focus."""
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Save what is seen (or the whole page) as a PNG file."""
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def complaints(self) -> list[str]:
        """Return what the console shows as errors or warnings, and failed or outside requests."""
        self.run("new Promise(done => setTimeout(done, 50))")  # let late events arrive
        found = []
        for event in self.events:
            method, details = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(details["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning"):
                found.append(str(details["args"]))
            elif method == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
                found.append(details["entry"]["text"])
            elif method == "Network.requestWillBeSent":
                address = details["request"]["url"]
                if not address.startswith(("file:", "data:", "about:")):
                    found.append(f"request to {address[:100]}")
        return found

    def _receive(self) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], deadline - time.monotonic())
            part = os.read(self._in, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("Chromium does not answer")
            self._buffer += part
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

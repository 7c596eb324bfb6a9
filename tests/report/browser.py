"""A page in headless Chromium of a given width, through the DevTools protocol over two pipes."""

import json
import os
import select
import shutil
import subprocess
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

TIMEOUT_S = 60


class Browser:
    """One page. Scripts of `evaluate` are not subject to the page's content security policy."""

    def __init__(self, commands: int, answers: int) -> None:
        self._commands = commands
        self._answers = answers
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")

    def close(self) -> None:
        """Close the browser."""
        self._session = None
        self._call("Browser.close")
        os.close(self._commands)
        os.close(self._answers)

    def open(self, page: Path, width_px: int, height_px: int = 900) -> None:
        """Open a file, and wait until it is loaded and its charts are drawn."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width_px,
            height=height_px,
            deviceScaleFactor=1,
            mobile=False,
        )
        self._call("Page.navigate", url=page.as_uri())
        self._wait_for("Page.loadEventFired")
        self.evaluate("new Promise((done) => setTimeout(() => requestIdleCallback(done), 0))")

    def wait_until(self, condition: str) -> None:
        """Wait until an expression in the page is true, for at most `TIMEOUT_S`."""
        script = f"""new Promise((done, fail) => {{
            const end = performance.now() + {TIMEOUT_S * 1000};
            const check = () => {{
                if ({condition}) done();
                else if (performance.now() > end) fail("timeout");
                else setTimeout(check, 20);
            }};
            check();
        }})"""
        self.evaluate(script)

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page, after its promise is fulfilled."""
        answer = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, file: Path, *, whole: bool = False) -> None:
        """Store a picture of the window, or of the whole page."""
        answer = self._call("Page.captureScreenshot", captureBeyondViewport=whole)
        file.write_bytes(b64decode(answer["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        session = {} if self._session is None else {"sessionId": self._session}
        message = {"id": self._number, "method": method, "params": parameters, **session}
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            pass
        assert "error" not in answer, answer
        found: dict[str, Any] = answer["result"]
        return found

    def _wait_for(self, event: str) -> None:
        while self._next().get("method") != event:
            pass

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], TIMEOUT_S)
            assert ready, "chromium does not answer"
            read = os.read(self._answers, 1 << 20)
            assert read, "chromium ended"
            self._buffer += read
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """A browser that cannot reach a network. It is killed if it does not end within `TIMEOUT_S`."""
    assert CHROMIUM is not None
    to_chromium, commands = os.pipe()
    answers, from_chromium = os.pipe()
    script = f'exec "$0" "$@" 3<&{to_chromium} 4>&{from_chromium}'
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")
    quiet = ("--disable-background-networking", "--disable-component-update", "--disable-sync")
    process = subprocess.Popen(
        ["bash", "-c", script, CHROMIUM, *options, *quiet, f"--user-data-dir={profile}"],
        pass_fds=(to_chromium, from_chromium),
        stderr=subprocess.DEVNULL,
    )
    os.close(to_chromium)
    os.close(from_chromium)
    try:
        browser = Browser(commands, answers)
        yield browser
        browser.close()
    finally:
        try:
            process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()

"""A headless Chromium driven through its DevTools pipe, with nothing to install but Chromium.

`Browser` starts one; `Page` is a tab of it. A test that asks for `find_chromium()` and gets None is
to be skipped.
"""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
TIMEOUT = 60.0
CONNECT = """
import fcntl, os, sys
given = [fcntl.fcntl(int(d), fcntl.F_DUPFD, 10) for d in sys.argv[1:3]]
for ours, theirs in zip(given, (3, 4)):
    os.dup2(ours, theirs)
os.execvp(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """The program that DAPDAG_CHROMIUM names, or one of the usual names on the path."""
    if os.name != "posix":
        return None
    named = os.environ.get("DAPDAG_CHROMIUM")
    if named:
        return named
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One process; messages go through a pair of pipes, separated by zero bytes."""

    def __init__(self, program: str, folder: Path) -> None:
        read, theirs_out = os.pipe()
        theirs_in, write = os.pipe()
        arguments = [
            program,
            "--headless=new",
            "--remote-debugging-pipe",
            f"--user-data-dir={folder}",
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--hide-scrollbars",
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
        ]

        # Chromium reads from descriptor 3 and writes to 4. A program of our own sets them up and
        # becomes Chromium: a hook between fork and exec is not safe beside JAX's threads.
        self.process = subprocess.Popen(
            [sys.executable, "-c", CONNECT, str(theirs_in), str(theirs_out), *arguments],
            pass_fds=(theirs_in, theirs_out),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._write, self._next = write, 0
        self._messages: Queue[dict[str, Any] | None] = Queue()
        self.events: list[dict[str, Any]] = []
        self._reader = threading.Thread(target=self._listen, args=(read,), daemon=True)
        self._reader.start()

    def _listen(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb") as pipe:
            rest = b""
            while part := pipe.read1(65536):
                *whole, rest = (rest + part).split(b"\0")
                for message in whole:
                    self._messages.put(json.loads(message))
        self._messages.put(None)

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that arrive meanwhile are kept."""
        self._next += 1
        number = self._next
        message = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._take(method)
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, event: str) -> dict[str, Any]:
        """The first event of this name since the last time, or the next one."""
        while True:
            for k, kept in enumerate(self.events):
                if kept.get("method") == event:
                    return self.events.pop(k)
            self.events.append(self._take(event))

    def _take(self, what: str) -> dict[str, Any]:
        try:
            answer = self._messages.get(timeout=TIMEOUT)
        except Empty:
            raise TimeoutError(f"Chromium did not answer {what} within {TIMEOUT} s") from None
        if answer is None:
            raise RuntimeError(f"Chromium ended before it answered {what}")
        return answer

    def close(self) -> None:
        with contextlib.suppress(RuntimeError, OSError, TimeoutError):
            self.call("Browser.close")
        os.close(self._write)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(10)


class Page:
    """A tab that shows one file, and what it complained of."""

    def __init__(self, browser: Browser, file: Path, width: int = 1200, scheme: str = "light"):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        attached = browser.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session, self.target = attached["sessionId"], target
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width)
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        browser.events.clear()
        self.call("Page.navigate", url=file.as_uri())
        browser.wait_for("Page.loadEventFired")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self.browser.call(method, self.session, **params)

    def resize(self, width: int, height: int = 900) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{script}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def click(self, selector: str) -> None:
        """A click of the mouse on the middle of an element."""
        how = "{block: 'center', behavior: 'instant'}"
        self.run(f"document.querySelector({selector!r}).scrollIntoView({how})")
        box = self.run(
            f"(b => [b.x + b.width / 2, b.y + b.height / 2])"
            f"(document.querySelector({selector!r}).getBoundingClientRect())"
        )
        for kind in ("mousePressed", "mouseReleased"):
            event = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
            self.call("Input.dispatchMouseEvent", type=kind, **event)

    def press(self, key: str) -> None:
        """A key by its name: Tab, Enter, Escape, ArrowRight …"""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38}
        codes |= {"ArrowRight": 39, "ArrowDown": 40}
        event = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **event, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, and uncaught exceptions."""
        self.run("1")
        return [
            json.dumps(event["params"])
            for event in self.browser.events
            if event["method"] in ("Log.entryAdded", "Runtime.exceptionThrown")
            or (
                event["method"] == "Runtime.consoleAPICalled"
                and event["params"]["type"] in ("error", "warning", "assert")
            )
        ]

    def requests(self) -> list[str]:
        """Addresses that the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.browser.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def screenshot(self, path: Path) -> None:
        """The whole page as a PNG."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True, format="png")
        path.write_bytes(base64.b64decode(found["data"]))

    def pdf(self, path: Path) -> None:
        """The page as it prints."""
        found = self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=False)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        self.browser.call("Target.closeTarget", targetId=self.target)


@contextlib.contextmanager
def running(program: str) -> Iterator[Browser]:
    """A browser with a profile of its own, gone afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(program, Path(folder))
        try:
            yield browser
        finally:
            browser.close()

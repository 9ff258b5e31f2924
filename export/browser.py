"""Headless Chromium, controlled over a pipe by the DevTools protocol."""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence

OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
    "about:blank",
)
# Chromium reads from descriptor 3 and writes to 4. The pipes may have these numbers, so they are
# first moved to 100 and 101.
LAUNCH = """
import os, sys
for fd, other in zip(sys.argv[1:3], (100, 101)):
    os.dup2(int(fd), other)
os.dup2(100, 3), os.dup2(101, 4)
os.execvp(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """Chromium with one page.

    Args:
        width: Width of the window in CSS pixels.
        options: Further options of Chromium.

    Attributes:
        complaints: Errors and violations of the content policy in the page's console.
        pid: Process id of Chromium.
    """

    def __init__(self, width: int, options: Sequence[str] = ()):
        self._width, self._options = width, options
        self._numbers, self._session = itertools.count(1), None
        self.complaints = []

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            profile = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
            asked, self._ask = os.pipe()
            self._answers, answered = os.pipe()
            command = ["chromium", f"--user-data-dir={profile}", *self._options, *OPTIONS]
            pipes = (str(asked), str(answered))
            self._process = subprocess.Popen(
                [sys.executable, "-c", LAUNCH, *pipes, *command],
                pass_fds=(asked, answered),
                stderr=subprocess.DEVNULL,
            )
            self.pid = self._process.pid
            stack.callback(self._end)
            os.close(asked)
            os.close(answered)
            self._reader = stack.enter_context(os.fdopen(self._answers, "rb"))
            self._buffer = b""
            self._attach()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()

    def _end(self):
        os.close(self._ask)
        self._process.kill()
        self._process.wait()

    def _attach(self):
        (page,) = (
            row for row in self.call("Target.getTargets")["targetInfos"] if row["type"] == "page"
        )
        attached = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(self._width)

    def resize(self, width: int) -> None:
        """Changes the width of the window, in CSS pixels."""
        shape = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **shape)

    def open(self, address: str) -> None:
        """Opens an address and waits until the page is loaded."""
        self.call("Page.navigate", url=address)
        self._read(lambda message: message.get("method") == "Page.loadEventFired")

    def run(self, body: str) -> object:
        """Runs the body of an asynchronous JavaScript function, and returns its result.

        Raises:
            RuntimeError: If the function throws an error. The message of the `RuntimeError` has
                the message and the stack of the JavaScript error.
        """
        result = self.call(
            "Runtime.evaluate",
            expression=f"(async () => {{ {body} }})()",
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,  # as in a handler of a click
        )
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", str(details)))
        return result["result"].get("value")

    def picture(self) -> str:
        """Returns a PNG of the whole page, in base64."""
        return self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]

    def call(self, method: str, **parameters: object) -> dict:
        """Calls a method of the DevTools protocol and returns its result.

        Raises:
            RuntimeError: If Chromium refuses the call, or has ended.
        """
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._ask, json.dumps(message).encode() + b"\0")
        answer = self._read(lambda message: message.get("id") == number)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["result"]

    def _read(self, wanted):
        while True:
            while b"\0" not in self._buffer:
                chunk = os.read(self._answers, 2**16)
                if not chunk:
                    raise RuntimeError("Chromium has ended")
                self._buffer += chunk
            line, _, self._buffer = self._buffer.partition(b"\0")
            message = json.loads(line)
            self._note(message)
            if wanted(message):
                return message

    def _note(self, message):
        if message.get("method") == "Log.entryAdded":
            entry = message["params"]["entry"]
            if entry["level"] == "error" and entry["source"] != "network":
                self.complaints.append(entry["text"])
        if message.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(message["params"]["exceptionDetails"]["text"])

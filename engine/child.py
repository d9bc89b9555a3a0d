"""A process of this package's own, which answers requests with lines of JSON and can be killed at a limit."""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
from typing import IO, Any


class Child:
    """A module that runs as a process: started when it is needed, and anew after it was killed or died."""

    def __init__(self, module: str) -> None:
        self._module = module
        self.process: subprocess.Popen[bytes] | None = None
        self._lines: queue.Queue[bytes] = queue.Queue()

    def start(self) -> None:
        """Start the process, unless it runs."""
        if self.process is not None:
            if self.process.poll() is None:
                return
            self.stop()
        self.process = subprocess.Popen(
            [sys.executable, "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._lines = queue.Queue()
        threading.Thread(target=_read, args=(self.process.stdout, self._lines), daemon=True).start()

    def stop(self) -> None:
        """Kill the process, if it runs."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    stream.close()  # type: ignore[union-attr]

    def ask(self, request: Any) -> None:
        """Send a request; from a process that has died no answer will come."""
        self.start()
        assert self.process is not None
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()

    def answer(self, seconds: float) -> Any:
        """The next answer; None where the process ended. Raises `TimeoutError` when none comes in time."""
        try:
            line = self._lines.get(timeout=max(0.0, seconds))
        except queue.Empty:
            raise TimeoutError from None
        return json.loads(line) if line else None


def _read(stdout: IO[bytes], lines: queue.Queue[bytes]) -> None:
    with contextlib.suppress(ValueError, OSError):
        for line in stdout:
            lines.put(line)
    lines.put(b"")

"""Modes: whether operations are recorded, whether backward looks for nan, and whether it is watched.

Each is a context manager and a decorator, and holds for the thread that entered it.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import os.path
import sys
import threading
from collections.abc import Iterator
from contextlib import ContextDecorator, contextmanager
from types import FrameType
from typing import Any, Self


class _Grad(threading.local):
    enabled = True


class _Anomaly(threading.local):
    enabled = False
    infinite = False


class _Watch(threading.local):
    flows: list[Any] | None = None


grad_mode = _Grad()
anomaly = _Anomaly()
watch = _Watch()


class _Decorator(ContextDecorator):
    """A context manager that decorates functions, and generators: these are in the mode while they run."""

    def __call__(self, function: Any) -> Any:
        """The function, run in this mode."""
        if not inspect.isgeneratorfunction(function):
            return super().__call__(function)

        @functools.wraps(function)
        def steps(*args: Any, **kwargs: Any) -> Any:
            running, sent = function(*args, **kwargs), None
            try:
                while True:
                    with self:  # type: ignore[attr-defined]
                        try:
                            made = running.send(sent)
                        except StopIteration as stop:
                            return stop.value
                    sent = yield made
            finally:
                running.close()

        return steps


class set_grad_enabled(_Decorator):  # noqa: N801  (PyTorch's names)
    """Record operations, or not: from this call on, or inside a `with` block or a decorated function."""

    def __init__(self, mode: bool) -> None:
        self._mode = bool(mode)
        self._before = grad_mode.enabled
        grad_mode.enabled = self._mode

    def __enter__(self) -> Self:
        grad_mode.enabled = self._mode
        return self

    def __exit__(self, *error: object) -> None:
        grad_mode.enabled = self._before

    def __call__(self, function: Any) -> Any:
        """The function, run in this mode."""
        grad_mode.enabled = self._before  # as a decorator it changes nothing now
        return super().__call__(function)


class _Mode(_Decorator):
    """A mode of recording that is entered and left."""

    mode: bool

    def __new__(cls, function: Any = None) -> Any:
        """A context manager; with a function, as by a bare decorator, the function wrapped."""
        made = super().__new__(cls)
        if function is None:
            return made
        made.__init__()  # type: ignore[misc]
        return made(function)

    def __init__(self) -> None:
        self._before: list[bool] = []

    def __enter__(self) -> Self:
        self._before.append(grad_mode.enabled)
        grad_mode.enabled = self.mode
        return self

    def __exit__(self, *error: object) -> None:
        grad_mode.enabled = self._before.pop()


class no_grad(_Mode):  # noqa: N801
    """Record nothing inside: results require no gradient."""

    mode = False


class enable_grad(_Mode):  # noqa: N801
    """Record again inside a `no_grad` block."""

    mode = True


def is_grad_enabled() -> bool:
    """Whether operations are recorded now."""
    return grad_mode.enabled


class detect_anomaly(_Decorator):  # noqa: N801
    """Inside, backward stops at the first nan (with `infinite` at the first inf, too), and names the operation.

    Forward must run inside, too, for the user's line to be known.
    """

    def __init__(self, *, infinite: bool = False) -> None:
        self._mode = (True, infinite)
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> Self:
        self._before.append((anomaly.enabled, anomaly.infinite))
        anomaly.enabled, anomaly.infinite = self._mode
        return self

    def __exit__(self, *error: object) -> None:
        anomaly.enabled, anomaly.infinite = self._before.pop()


@contextmanager
def watch_backward() -> Iterator[list[Any]]:
    """Inside, backward notes what it sends along each edge: a list of `autograd.Flow` in the order that it took."""
    before, watch.flows = watch.flows, []
    try:
        yield watch.flows
    finally:
        watch.flows = before


_HERE = os.path.dirname(__file__)


def users_line() -> str | None:
    """The line of code outside this package that is running now: `file.py:12: y = log(x)`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back
    if frame is None:
        return None
    name, line = frame.f_code.co_filename, frame.f_lineno
    text = linecache.getline(name, line).strip()
    return f"{os.path.basename(name)}:{line}" + (f": {text}" if text else "")

"""Blocks through a worker, in this process or in others, and their results in order."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterator
from typing import Any, Protocol

from .blocks import Block, Pace
from .settings import Settings
from .work import Done, Worker


class Pending(Protocol):
    """A block on its way."""

    def result(self) -> Done:
        """Wait for its results."""


class Executor(Protocol):
    """What evaluates blocks elsewhere: processes of this machine, or a cluster."""

    ahead: int  # blocks that may be on their way

    def submit(self, block: Block) -> Pending:
        """Begin with a block."""

    def close(self) -> None:
        """Stop at once."""


def here(blocks: Iterator[Block], settings: Settings, pace: Pace) -> Iterator[Done]:
    """Evaluate the blocks in this process, one after the other."""
    worker = Worker(settings)
    for block in blocks:
        done = worker.run(block)
        pace.heard(len(block.data), done.seconds)
        yield done


def elsewhere(blocks: Iterator[Block], executor: Executor, pace: Pace) -> Iterator[Done]:
    """Evaluate the blocks by an executor, while a thread reads on; their results in the order of the blocks."""
    waiting: queue.Queue[Any] = queue.Queue(executor.ahead)

    def read() -> None:
        try:
            for block in blocks:
                waiting.put((len(block.data), executor.submit(block)))
            waiting.put(None)
        except BaseException as error:  # it belongs to whoever waits for the results
            waiting.put(error)

    threading.Thread(target=read, daemon=True).start()
    with contextlib.closing(executor):
        while (item := waiting.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            size, future = item
            done = future.result()
            pace.heard(size, done.seconds)
            yield done

"""A Dask cluster: the same blocks, evaluated by the workers of a scheduler."""

from __future__ import annotations

import logging
import socket
from typing import Any
from urllib.parse import urlsplit

from chainrule import ChainruleError

from .blocks import Block
from .records import single_records
from .settings import Settings
from .work import Done, Worker, died

SECONDS = 10  # to wait for the scheduler


def evaluate(settings: Settings, block: Block) -> Done:
    """What a worker of the cluster runs."""
    return Worker(settings).run(block)


class Cluster:
    """The workers of the scheduler at `address`. Raises `ChainruleError` where there is none.

    Dask itself gives the blocks of a lost worker to another.
    """

    def __init__(self, address: str, settings: Settings) -> None:
        try:
            import distributed
        except ImportError as error:
            hint = "pip install 'chainrule[dask]'"
            raise ChainruleError("file", "--scheduler needs the package distributed", hint=hint) from error
        _check(address)
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # a lost worker is no news for standard error
        made: Any = distributed.Client
        self.client = made(address, timeout=SECONDS, set_as_default=False)
        self.settings = settings
        self.ahead = max(8, 4 * sum(self.client.nthreads().values()))

    def submit(self, block: Block) -> Pending:
        """Give a block to the cluster."""
        return Pending(self, block)

    def begin(self, block: Block) -> Any:
        """Dask's future of a block."""
        return self.client.submit(evaluate, self.settings, block, pure=False)

    def close(self) -> None:
        """Let the cluster forget what is on its way."""
        self.client.close()


def _check(address: str) -> None:
    """Refuse an address at which nothing listens: Dask would try for long, and say much. Raises `ChainruleError`."""
    try:
        parts = urlsplit(address)
        socket.create_connection((parts.hostname or "", parts.port or 8786), timeout=SECONDS).close()
    except (OSError, ValueError) as error:
        raise ChainruleError("file", f"no scheduler answers at {address}", hint="write tcp://HOST:8786") from error


class Pending:
    """A block on its way. One that no worker survives is tried again line by line."""

    def __init__(self, cluster: Cluster, block: Block) -> None:
        self.cluster = cluster
        self.block = block
        self.future = cluster.begin(block)

    def result(self) -> Done:
        """Wait for the results."""
        from distributed import KilledWorker

        try:
            done: Done = self.future.result()
            return done
        except KilledWorker:
            lines = single_records(self.block)
        if len(lines) == 1:
            return died(self.cluster.settings, lines[0])
        found = Done([])
        for part in [Pending(self.cluster, line) for line in lines]:
            found.add(part.result())
        return found

"""Worker processes on this machine: each is fed by a thread, and replaced when it dies."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing.connection import Connection
from pickle import UnpicklingError

from chainrule import ChainruleError

from .blocks import Block
from .records import single_records
from .settings import Settings
from .work import Done, Worker, died

# A copy of this process has imported everything. What other threads may hold when it is made, it never uses: it has
# pipes, standard streams and a worker of its own.
FORK = multiprocessing.get_context("fork")


class Pool:
    """`jobs` processes. A block whose process dies is tried again line by line; then only the line at fault fails."""

    def __init__(self, jobs: int, settings: Settings) -> None:
        self.ahead = 2 * jobs
        self.settings = settings
        self.starting = threading.Lock()
        self.processes = [Process(settings) for _ in range(jobs)]
        self.idle = [*self.processes]
        self.threads = ThreadPoolExecutor(jobs)
        self.own = threading.local()
        self.closed = False

    def submit(self, block: Block) -> Future[Done]:
        """Give a block to the next free process."""
        return self.threads.submit(self._run, block)

    def close(self) -> None:
        """Stop all processes, whatever they are doing."""
        with self.starting:
            self.closed = True
        for process in [*self.processes]:
            process.kill()
        self.threads.shutdown(cancel_futures=True)  # each thread ends, as its process has ended
        for process in self.processes:
            process.end()

    def _run(self, block: Block) -> Done:
        done = self._tried(block)
        if done is not None:
            return done
        found = Done([])
        for line in single_records(block):
            found.add(self._tried(line) or died(self.settings, line))
        return found

    def _tried(self, block: Block) -> Done | None:
        """The block's results, or None if the process died over it."""
        process: Process | None = getattr(self.own, "process", None)
        while process is None or not process.alive:  # it may have died while it had nothing to do
            if process is not None:
                self._drop(process)
            process = self.own.process = self._next()
        try:
            return process.ask(block)
        except (EOFError, OSError, UnpicklingError):
            self._drop(process)
            return None

    def _next(self) -> Process:
        """A process for a thread that has none."""
        with self.starting:  # a process must not inherit half of another one's pipe
            if self.closed:
                raise ChainruleError("interrupted", "the work was stopped")
            if self.idle:
                return self.idle.pop()
            process = Process(self.settings)
            self.processes.append(process)
        return process

    def _drop(self, process: Process) -> None:
        process.end()
        self.processes.remove(process)
        self.own.process = None


class Process:
    """A worker in a process of its own, which is asked through a pipe."""

    def __init__(self, settings: Settings) -> None:
        self.pipe, theirs = FORK.Pipe()
        self.process = FORK.Process(target=serve, args=(settings, theirs, self.pipe), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # Ctrl-C is the parent's to answer
        try:
            self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def ask(self, block: Block) -> Done:
        """Have a block evaluated. Raises `EOFError` or `OSError` when the process has died."""
        self.pipe.send(block)
        done: Done = self.pipe.recv()
        return done

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process.is_alive()

    def kill(self) -> None:
        """Stop the process at once: whoever waits for its answer learns that there is none."""
        self.process.kill()

    def end(self) -> None:
        """Stop the process and close the pipe, which only the thread may do that uses it."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def serve(settings: Settings, pipe: Connection, parents: Connection) -> None:
    """The other side: evaluate blocks until the pipe is closed."""
    parents.close()  # or the end of the parent would not show
    os.dup2(2, 1)  # what anything prints must not come between the results
    worker = Worker(settings)
    while True:
        try:
            pipe.send(worker.run(pipe.recv()))
        except (EOFError, OSError):  # who asked is gone
            os._exit(0)

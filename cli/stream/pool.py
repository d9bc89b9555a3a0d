"""Worker processes on this machine: each is fed by a thread, and started anew when it dies."""

from __future__ import annotations

import contextlib
import pickle
import subprocess
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor

from chainrule import ChainruleError

from .. import seldom_collect
from .blocks import Block
from .records import single_records
from .settings import Settings
from .work import Done, Worker, died

COMMAND = [sys.executable, "-m", "chainrule.cli.stream.pool"]


class Pool:
    """`jobs` processes. A block whose process dies is tried again line by line; then only the line at fault fails."""

    def __init__(self, jobs: int, settings: Settings) -> None:
        self.ahead = 2 * jobs
        self.settings = settings
        self.threads = ThreadPoolExecutor(jobs)
        self.own = threading.local()
        self.processes: list[Process] = []
        self.closed = False

    def submit(self, block: Block) -> Future[Done]:
        """Give a block to the next free process."""
        return self.threads.submit(self._run, block)

    def close(self) -> None:
        """Stop all processes, whatever they are doing."""
        self.closed = True
        for process in self.processes:
            process.kill()
        self.threads.shutdown(cancel_futures=True)

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
        if process is None:
            process = self.own.process = Process(self.settings)
            self.processes.append(process)
        if self.closed:
            process.kill()
        try:
            return process.ask(block)
        except (EOFError, OSError, pickle.UnpicklingError):
            process.kill()
            self.processes.remove(process)
            self.own.process = None
            if self.closed:
                raise ChainruleError("interrupted", "the work was stopped") from None
            return None


class Process:
    """A worker in a process of its own, which is asked by pickles through pipes."""

    def __init__(self, settings: Settings) -> None:
        # In a session of its own, Ctrl-C does not reach it while it starts; it ends with its standard input.
        self.process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self._send(settings)

    def _send(self, given: object) -> None:
        assert self.process.stdin is not None
        pickle.dump(given, self.process.stdin, pickle.HIGHEST_PROTOCOL)
        self.process.stdin.flush()

    def ask(self, block: Block) -> Done:
        """Have a block evaluated. Raises `EOFError` or `OSError` when the process has died."""
        assert self.process.stdout is not None
        self._send(block)
        done: Done = pickle.load(self.process.stdout)
        return done

    def kill(self) -> None:
        """Stop the process at once."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):  # what was not sent goes nowhere
                assert pipe is not None
                pipe.close()


def serve() -> None:
    """The other side: evaluate blocks until the pipe is closed."""
    import os
    import signal

    seldom_collect()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints must not come between the answers
    requests = sys.stdin.buffer
    worker = Worker(pickle.load(requests))
    while True:
        try:
            block = pickle.load(requests)
        except EOFError:
            return
        try:
            pickle.dump(worker.run(block), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
        except BrokenPipeError:  # who asked is gone
            os._exit(0)


if __name__ == "__main__":
    serve()

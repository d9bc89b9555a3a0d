"""Results in order to a file or a pipe: whole lines always, and error records apart where that is asked for."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import IO, Any

from chainrule import ChainruleError

from ..report.grids import aligned_row, width
from .blocks import Block
from .render import JOINT, TEXTS, renderer
from .resume import Standing, remaining, standing
from .settings import Settings
from .work import Done

LAID_OUT = 200  # rows after the header that decide how wide a table's columns are


class Output:
    """Where results go, and error records if `errors` names another file. Used as a context; it counts what it writes.

    With `resume` what the files hold already is kept as far as it is whole. Raises `ChainruleError`.
    """

    def __init__(self, settings: Settings, path: str | None, errors: str | None, *, resume: bool) -> None:
        self.records = self.failed = self.differing = 0
        self.path = path
        self.expression = settings.expression
        self.header = renderer(settings).header
        self.aligned = Aligned() if settings.format == "table" else None
        self.standing = standing(settings.format, path, errors, self.header) if resume and path else None
        self.out = _opened(path or "-", keep=resume)
        self.errors = None if errors is None else _opened(errors, keep=resume)
        self.whole = WholeWrites()

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *error: object) -> None:
        if self.aligned is not None and error[0] is None:
            self._put(self.out, self.aligned.rest())
        self.whole.close()
        for file in (self.out, self.errors):
            if file is not None and file is not sys.stdout.buffer:
                file.close()

    def remaining(self, blocks: Iterator[Block]) -> Iterator[Block]:
        """The blocks whose results are not there yet. What is torn is cut off, and a header written where none is."""
        found = self.standing or Standing()
        if self.standing is not None:
            blocks = remaining(blocks, found, str(self.path), self.expression)
            self.out.truncate(found.size)
            if self.errors is not None:
                self.errors.truncate(found.errors_size)
            self.records, self.failed = found.records, found.failed
        if self.header and not found.size:
            self._put(self.out, self._laid_out([self.header]))
        return blocks

    def write(self, done: Done) -> None:
        """Write a block's texts and flush. Error records go first: `--resume` reckons with it."""
        self.records += len(done.texts)
        self.failed += len(done.failed)
        self.differing += done.differing
        texts = done.texts
        if self.errors is not None and done.failed:
            failed = set(done.failed)
            self._put(self.errors, [texts[i] for i in done.failed])
            texts = [text for i, text in enumerate(texts) if i not in failed]
        self._put(self.out, self._laid_out(texts))

    def _laid_out(self, texts: list[str]) -> list[str]:
        return texts if self.aligned is None else self.aligned.lines(texts)

    def _put(self, file: IO[bytes], texts: list[str]) -> None:
        with self.whole:
            file.write("".join(texts).encode("utf-8", "backslashreplace"))
            file.flush()


def _opened(path: str, *, keep: bool) -> IO[bytes]:
    """The file to write, with what it holds kept or not. Raises `ChainruleError`."""
    if path == "-":
        return sys.stdout.buffer
    try:
        return open(path, "ab" if keep else "wb")
    except OSError as error:
        raise ChainruleError("file", f"{path} cannot be written: {error.strerror}") from error


class Aligned:
    """Rows of a table as aligned columns: the first rows decide how wide these are."""

    def __init__(self) -> None:
        self.waiting: list[list[str]] = []
        self.sizes: list[int] = []
        self.right: list[bool] = []

    def lines(self, rows: Iterable[str]) -> list[str]:
        """The lines that can be laid out now."""
        self.waiting += [row[:-1].split(JOINT) for row in rows]
        return self.rest() if self.sizes or len(self.waiting) > LAID_OUT else []

    def rest(self) -> list[str]:
        """The lines of all rows that wait."""
        rows, self.waiting = self.waiting, []
        if not self.sizes:
            self.sizes = [max(map(width, column)) for column in zip(*rows[: LAID_OUT + 1], strict=True)]
            self.right = [name not in TEXTS for name in rows[0]]
            rows.insert(1, ["-" * size for size in self.sizes])
        return [aligned_row(row, self.sizes, self.right) for row in rows]


class WholeWrites:
    """Ctrl-C while something is being written waits until it is written; a second one does not wait."""

    def __init__(self) -> None:
        self.writing = False
        self.asked = False
        self.before: Any = None
        if threading.current_thread() is threading.main_thread():
            self.before = signal.signal(signal.SIGINT, self._interrupt)

    def _interrupt(self, signum: int, frame: Any) -> None:
        if self.writing and not self.asked:
            self.asked = True
        else:
            raise KeyboardInterrupt

    def __enter__(self) -> None:
        self.writing = True

    def __exit__(self, *error: object) -> None:
        self.writing = False
        if self.asked:
            raise KeyboardInterrupt

    def close(self) -> None:
        """Let Ctrl-C act at once again."""
        if self.before is not None:
            signal.signal(signal.SIGINT, self.before)

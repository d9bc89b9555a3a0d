"""Bytes to blocks: whole lines of the input, read as they come, in pieces that take about equally long to work on."""

from __future__ import annotations

import csv
import errno
import io
import itertools
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from chainrule.errors import ChainruleError

STDIN = 0
READ = 2**16  # bytes read at once
LARGEST = 2**18  # bytes of a block, unless one line is longer
QUOTED = 2**20  # bytes that an open quote of a CSV file may reach over
KEPT = 80  # bytes of a line that is too long
BOM = b"\xef\xbb\xbf"
UTF16 = (b"\xff\xfe", b"\xfe\xff")
GZIP = b"\x1f\x8b"
DELIMITERS = {"csv": ",", "tsv": "\t"}
FORMATS = {".txt": "text", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"}


@dataclass(slots=True)
class Block:
    """Lines of one file, all of them whole.

    id         the number of the first line, counted through all files
    line       the same, counted in its file
    file       the file's name, where there are several
    format     text, jsonl, csv or tsv
    data       the lines' bytes; of a line that is too long the first only
    before     the record before the first, which tells whether a program is repeated
    header     a CSV file's columns
    too_long   whether this is one line longer than the limit
    """

    id: int
    line: int
    file: str | None
    format: str
    data: bytes
    before: bytes = b""
    header: tuple[str, ...] = ()
    too_long: bool = False


@dataclass(slots=True)
class Pace:
    """How large the next block may be: from one line at first up to what takes about a fifth of a second."""

    size: int = 1
    most: int = LARGEST

    def heard(self, size: int, seconds: float) -> None:
        """A block of `size` bytes took so long."""
        fitting = int(size * 0.2 / max(seconds, 1e-6))
        self.size = max(1, min(self.most, 8 * max(self.size, 1024), fitting))


@dataclass(slots=True)
class Source:
    """A file, or standard input for "-", as an iterator over the bytes that it brings, unpacked if it is gzip.

    `taken` counts the bytes as they lie on the disk, `size` is how many there are if that is known.
    """

    path: str
    taken: int = 0

    @property
    def name(self) -> str:
        """The name for a person."""
        return "standard input" if self.path == "-" else self.path

    @property
    def size(self) -> int | None:
        """The bytes of a regular file."""
        if self.path == "-":
            return None
        return os.path.getsize(self.path) if Path(self.path).is_file() else None

    @property
    def format(self) -> str | None:
        """The format that the file's name tells."""
        return FORMATS.get(Path(self.path.removesuffix(".gz")).suffix)

    def check(self) -> None:
        """Refuse a file that cannot be read before the work begins. Raises `ChainruleError`."""
        if self.path == "-":
            return
        reason = None
        if not os.path.exists(self.path):
            reason = os.strerror(errno.ENOENT)
        elif os.path.isdir(self.path):
            reason = os.strerror(errno.EISDIR)
        elif not os.access(self.path, os.R_OK):
            reason = os.strerror(errno.EACCES)
        if reason is not None:
            raise ChainruleError("file", f"{self.path} cannot be read: {reason}")

    def __iter__(self) -> Iterator[bytes]:
        file = STDIN if self.path == "-" else os.open(self.path, os.O_RDONLY)
        try:
            parts = self._raw(file)
            first = next(parts, b"")
            if len(first) == 1:  # a pipe may bring less than the two bytes that tell
                first += next(parts, b"")
            if first.startswith(GZIP):
                yield from self._unpacked(first, parts)
            else:
                yield first
                yield from parts
        finally:
            if self.path != "-":
                os.close(file)

    def _raw(self, file: int) -> Iterator[bytes]:
        try:
            while part := os.read(file, READ):
                self.taken += len(part)
                yield part
        except OSError as error:
            raise ChainruleError("file", f"{self.name} cannot be read: {error.strerror}") from error

    def _unpacked(self, part: bytes, parts: Iterator[bytes]) -> Iterator[bytes]:
        """Gzip's contents; members may follow each other, as `cat a.gz b.gz` makes them."""
        unpack = zlib.decompressobj(wbits=31)
        try:
            while part:
                yield unpack.decompress(part, READ * 4)
                if unpack.eof and unpack.unused_data:
                    part, unpack = unpack.unused_data, zlib.decompressobj(wbits=31)
                else:
                    part = unpack.unconsumed_tail or next(parts, b"")
        except zlib.error as error:
            raise ChainruleError("file", f"{self.name} is damaged gzip data: {error}") from error
        if not unpack.eof:
            raise ChainruleError("file", f"{self.name} ends early: the gzip data is cut off")


def blocks(
    sources: Sequence[Source],
    format_: str | None,
    pace: Pace,
    limit: int,
    check: Callable[[str, Sequence[str]], None] = lambda name, header: None,
) -> Iterator[Block]:
    """All lines of all sources as blocks. Raises `ChainruleError` where a file cannot be read to its end.

    `format_` is that of every file, None for what its name tells (text for others). Lines longer than `limit` bytes are
    not kept. `check` is called with the name and the header of each table, and may refuse it.
    """
    counted = 0
    for source in sources:
        lines = _Lines(source, format_ or source.format or "text", pace, limit, check)
        for block in lines.blocks():
            block.id += counted
            block.file = source.name if len(sources) > 1 else None
            yield block
        counted += lines.line


def cut(block: Block, starts: Sequence[int]) -> list[Block]:
    """The block from the line numbered `starts[0]` on, cut before each of the lines numbered `starts`."""
    lines = io.BytesIO(block.data).readlines()
    bounds = [*(start - block.line for start in starts), len(lines)]
    return [
        replace(
            block,
            id=block.id + start,
            line=block.line + start,
            data=b"".join(lines[start:end]),
            before=_last_record(b"".join(lines[:start]), block.format) or block.before,
        )
        for start, end in itertools.pairwise(bounds)
    ]


def _last_record(data: bytes, format_: str) -> bytes:
    """The last line (of a table the last row) that is a record, or nothing."""
    end = len(data)
    while end:
        start = data.rfind(b"\n", 0, end - 1) + 1
        line = data[start:end].strip()
        if format_ in DELIMITERS:
            while start and data.count(b'"', start, end) % 2:
                start = data.rfind(b"\n", 0, start - 1) + 1
            line = data[start:end].strip()
        elif line.startswith(b"#"):
            line = b""
        if line:
            return data[start:end]
        end = start
    return b""


class _Lines:
    """The lines of one source as blocks."""

    def __init__(
        self, source: Source, format_: str, pace: Pace, limit: int, check: Callable[[str, Sequence[str]], None]
    ) -> None:
        self.source = source
        self.format = format_
        self.pace = pace
        self.limit = limit
        self.check = check
        self.line = 0  # lines so far
        self.before = b""
        self.header: tuple[str, ...] = ()
        self.headless = format_ in ("csv", "tsv")

    def blocks(self) -> Iterator[Block]:
        """The blocks as the bytes come. What has come is given out at once, as far as the lines are whole."""
        pending, first = b"", True
        parts = iter(self.source)
        for part in parts:
            pending += part
            if first:
                if len(pending) < len(BOM) and BOM.startswith(pending):
                    continue
                if pending.startswith(UTF16):
                    raise ChainruleError("file", f"{self.source.name} is UTF-16 text", hint="save it as UTF-8")
                pending, first = pending.removeprefix(BOM), False
            while end := self._end(pending):
                yield from self._block(pending[:end])
                pending = pending[end:]
            if len(pending) > self.limit and b"\n" not in pending:
                yield from self._block(pending)
                pending = next((part[end:] for part in parts if (end := part.find(b"\n") + 1)), b"")
        while pending:
            end = self._end(pending) or len(pending)
            yield from self._block(pending[:end])
            pending = pending[end:]

    def _block(self, data: bytes) -> Iterator[Block]:
        """Lines as a block; the first row of a CSV file is its header."""
        first = self.line + 1
        self.line += data.count(b"\n") + (not data.endswith(b"\n"))
        if self.headless:
            if data.strip():
                self.header, self.headless = self._columns(data), False
                self.check(self.source.name, self.header)
            return
        too_long = len(data) > self.limit and data.find(b"\n", 0, self.limit) < 0
        yield Block(
            first, first, None, self.format, data[:KEPT] if too_long else data, self.before, self.header, too_long
        )
        self.before = b"" if too_long else _last_record(data, self.format) or self.before

    def _columns(self, data: bytes) -> tuple[str, ...]:
        """The names in a header."""
        try:
            rows = list(csv.reader([data.decode()], delimiter=DELIMITERS[self.format], strict=True))
        except (UnicodeDecodeError, csv.Error) as error:
            raise ChainruleError("file", f"{self.source.name} has no readable header: {error}") from error
        return tuple(name.strip() for name in rows[0])

    def _end(self, data: bytes) -> int:
        """Where a block of about the right size ends: after a line; 0 where none is whole."""
        size = 1 if self.headless else self.pace.size
        end = data.rfind(b"\n", 0, size) + 1 or data.find(b"\n", size - 1) + 1
        if not end or self.format not in DELIMITERS:
            return end
        while data.count(b'"', 0, end) % 2:  # a quote is open: the row goes on in the next line
            following = data.find(b"\n", end) + 1
            if not following:
                return 0 if len(data) < QUOTED else end
            end = following
        return end

"""A block to records: each line's program, its own values, and what is wrong with the line."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from chainrule import ChainruleError, Span, parse_value
from chainrule.graph import Value
from chainrule.syntax.characters import canonical_name, is_name

from .blocks import DELIMITERS, Block, cut
from .values import json_value, read_name, simple_values, text_values

# Many write NaN and Infinity; what else is infinite in JSON is a number too large.
_decoder = json.JSONDecoder(parse_constant={"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.get)
_scan: Any = _decoder.scan_once  # type: ignore[attr-defined]  # what raw_decode calls
NOTHING: Mapping[str, Any] = {}
# Keys of a result: where an earlier one is read as input they are made anew, or not at all.
RESULT = frozenset({
    "output", "value", "gradients", "derivatives", "hessian", "jacobian", "jvp", "nodes", "notes", "missing",
    "symbolic", "check", "dtype", "error",
})  # fmt: skip


class Record:
    """What one line asks for.

    line       its number in the file
    id         the one given, else the line's number counted through all files
    at         its own values, each of which must be an input's
    cells      of a table the texts that may be values: read when the program is known, which may not need them all
    extra      keys that are passed through to the result
    error      what is wrong with the line, None where it can be tried
    """

    __slots__ = ("at", "cells", "cotangent", "error", "expression", "extra", "id", "line", "wrt")

    def __init__(self, line: int, id_: Any, expression: str | None = None) -> None:
        self.line = line
        self.id = id_
        self.expression = expression
        self.at: Mapping[str, Value] = NOTHING
        self.cells: Mapping[str, str] = NOTHING
        self.wrt: list[str] | None = None
        self.cotangent: Value | None = None
        self.extra: Mapping[str, Any] = NOTHING
        self.error: ChainruleError | None = None


def records(block: Block, limit: int, seed: int | None, *, fixed: bool = False) -> Iterator[Record]:
    """The records of a block in order. Blank lines are none; nor are, but for CSV, those that start with `#`.

    Without a `seed` no value is read: reading one evaluates a constant expression. Where the program is `fixed`, lines
    of text hold values.
    """
    shift = block.id - block.line
    if block.too_long:
        record = Record(block.line, block.id)
        record.error = _too_long(limit)
        yield record
    elif block.format in DELIMITERS:
        yield from _rows(block, limit, seed)
    else:
        for line, text in _lines(block):
            record = Record(line, line + shift)
            try:
                if isinstance(text, UnicodeDecodeError):
                    raise _not_utf8(text)
                if len(block.data) > limit and len(text.encode()) > limit:
                    raise _too_long(limit)
                if block.format == "text":
                    _read_text(record, text, seed, fixed)
                else:
                    _read_object(record, text, seed)
            except ChainruleError as error:
                record.error = error
            yield record


def record_lines(block: Block) -> list[int]:
    """The numbers of the lines on which the block's records start."""
    if block.too_long:
        return [block.line]
    return [line for line, _ in (table_rows if block.format in DELIMITERS else _lines)(block)]


def single_records(block: Block) -> list[Block]:
    """The block's records as blocks of their own."""
    return [block] if block.too_long else cut(block, record_lines(block))


def _lines(block: Block) -> Iterator[tuple[int, str | UnicodeDecodeError]]:
    """The lines that are records, with their numbers."""
    try:
        lines: list[Any] = block.data.decode().split("\n")
    except UnicodeDecodeError:
        lines = [_decoded(line) for line in block.data.split(b"\n")]
    for number, line in enumerate(lines, block.line):
        if type(line) is str:
            line = line.rstrip()
            start = line.lstrip()
            if not start or start[0] == "#":
                continue
        yield number, line


def _decoded(line: bytes) -> str | UnicodeDecodeError:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        return error


def _too_long(limit: int) -> ChainruleError:
    return ChainruleError("limit", f"the line is longer than {limit:,} bytes", hint="--max-line sets the limit")


def _not_utf8(error: UnicodeDecodeError) -> ChainruleError:
    return ChainruleError("format", f"the line is not UTF-8 text (byte {error.start + 1})", hint="save it as UTF-8")


# --- text -------------------------------------------------------------------------------------------------------------


def _read_text(record: Record, text: str, seed: int | None, fixed: bool) -> None:
    """Read a line of text into the record: a program, or values for one, `x=2, w=1`. Raises `ChainruleError`."""
    if text.lstrip()[0] == "{":
        raise ChainruleError("format", "the line looks like JSON", hint="--input-format jsonl reads JSON lines")
    if not fixed:
        record.expression = text
    elif seed is not None:
        values = text.strip().removeprefix("|")
        found = simple_values(values)
        record.at = text_values(values, seed) if found is None else found


# --- JSON lines -------------------------------------------------------------------------------------------------------


def _read_object(record: Record, text: str, seed: int | None) -> None:
    """Read a line of JSON into the record. Raises `ChainruleError`."""
    try:
        given = _decode(text)
    except json.JSONDecodeError as error:
        span = Span(error.pos, error.pos + 1)
        hint = "write an object on each line"
        raise ChainruleError("format", f"no valid JSON: {error.msg}", spans=[span], source=text, hint=hint) from error
    except (ValueError, RecursionError) as error:
        raise ChainruleError("format", f"no JSON that can be read: {error}") from error
    if not isinstance(given, dict):
        hint = 'write {"expression": "x^2", "at": {"x": 3}}'
        raise ChainruleError("format", "the line is no JSON object", hint=hint)
    expression, at = given.pop("expression", None), given.pop("at", None)
    wrt = cotangent = None
    if given:
        if (id_ := given.pop("id", None)) is not None:
            record.id = id_
        wrt, cotangent = given.pop("wrt", None), given.pop("cotangent", None)
        record.extra = {key: value for key, value in given.items() if key not in RESULT} if given else NOTHING
    if expression is not None and not isinstance(expression, str):
        raise ChainruleError("format", "expression is no text", hint='write "expression": "x^2"')
    record.expression = expression
    if seed is None:
        return
    if at is not None:
        if not isinstance(at, dict):
            raise ChainruleError("format", "at is no object", hint='write "at": {"x": 3}')
        record.at = {
            name if name.isidentifier() and name.isascii() else read_name(name): (
                value if type(value) is float and value - value == 0 else json_value(value, seed, name)  # finite
            )
            for name, value in at.items()
        }
        if len(record.at) < len(at):
            raise ChainruleError("name", "at gives one name twice")
    if wrt is not None:
        names = wrt.split(",") if isinstance(wrt, str) else wrt
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ChainruleError("format", "wrt is no list of names", hint='write "wrt": ["x", "w"]')
        record.wrt = [read_name(name) for name in names]
    if cotangent is not None:
        record.cotangent = json_value(cotangent, seed, "cotangent")


def _decode(text: str) -> Any:
    """A line of JSON. Raises what `json.loads` raises."""
    try:
        given, end = _scan(text, 0)
        if end == len(text):
            return given
    except (StopIteration, json.JSONDecodeError):
        pass
    return _decoder.decode(text)  # there is space before it, or it is not valid


# --- CSV --------------------------------------------------------------------------------------------------------------


def _rows(block: Block, limit: int, seed: int | None) -> Iterator[Record]:
    """The rows of a block of a CSV file as records."""
    shift = block.id - block.line
    places = [(canonical_name(name), i) for i, name in enumerate(block.header)]
    special = {name: i for name, i in places if name in ("id", "expression", "wrt", "cotangent")}
    values = [(name, i) for name, i in places if name not in special and is_name(name)]
    for line, row in table_rows(block):
        record = Record(line, line + shift)
        try:
            if isinstance(row, ChainruleError):
                raise row
            if len(block.data) > limit and sum(len(cell.encode()) + 1 for cell in row) > limit:
                raise _too_long(limit)
            if len(row) != len(block.header):
                message = f"the row has {len(row)} cells, the header {len(block.header)}"
                raise ChainruleError("format", message)
            given = {name: row[i] for name, i in special.items() if row[i]}
            record.id = given.get("id", record.id)
            record.expression = given.get("expression")
            if seed is not None:
                if "wrt" in given:
                    record.wrt = [read_name(name) for name in given["wrt"].split(",")]
                if "cotangent" in given:
                    record.cotangent = parse_value(given["cotangent"], seed=seed, name="cotangent")
                record.cells = {name: row[i] for name, i in values if row[i] and not row[i].isspace()}
        except ChainruleError as error:
            record.error = error
        yield record


def table_rows(block: Block) -> Iterator[tuple[int, list[str] | ChainruleError]]:
    """The rows of a block of a CSV file, with the numbers of the lines on which they start."""
    try:
        text = block.data.decode()
    except UnicodeDecodeError:
        for number, line in enumerate(block.data.split(b"\n"), block.line):
            found = _decoded(line)
            if isinstance(found, UnicodeDecodeError):
                yield number, _not_utf8(found)
            elif found.strip():
                yield from _parsed(found, number, block)
        return
    yield from _parsed(text, block.line, block)


def _parsed(text: str, first: int, block: Block) -> Iterator[tuple[int, list[str] | ChainruleError]]:
    """Rows as the csv module reads them; after an error it goes on in the next line."""
    lines = io.StringIO(text, newline="").readlines()
    done = 0
    while done < len(lines):
        reader = csv.reader(lines[done:], delimiter=DELIMITERS[block.format], strict=True)
        before = 0
        try:
            for row in reader:
                if row and (len(row) > 1 or row[0].strip()):
                    yield first + done + before, row
                before = reader.line_num
            return
        except csv.Error as error:
            yield first + done + before, ChainruleError("format", f"no row of a table: {error}")
            done += before + 1

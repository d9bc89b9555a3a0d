"""Where an interrupted run stands: how much of its files is whole, and which lines of the input are left.

A run writes the error records of a block before its results, so the error records never lag behind. The results then
tell how far the run came, and error records of later lines are cut off and made again.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chainrule import ChainruleError

from .blocks import DELIMITERS, Block, cut
from .records import record_lines, records


@dataclass
class Standing:
    """What the files of a run hold: whole records, and up to which byte.

    `places` are the file, the line and the end of each error record in a file of its own; `last` is what the last
    result answers: its id as text, and its expression where the format tells it. `records` and `failed` count the lines
    that are done with.
    """

    size: int = 0
    results: int = 0
    last: tuple[str, str | None] | None = None
    errors_size: int = 0
    places: list[tuple[str | None, int, int]] = field(default_factory=list)
    records: int = 0
    failed: int = 0


def standing(format_: str, path: str, errors: str | None, header: str) -> Standing:
    """How far the files of an earlier run came. Raises `ChainruleError` for a file that no such run wrote."""
    found = Standing()
    rows = _whole_rows(Path(path), format_)
    if header:
        first = next(rows, None)
        if first is not None and first[0].decode(errors="replace") != header:
            raise _not_ours(path)
        found.size = first[1] if first is not None else 0
    named = "expression" in header
    for row, end in rows:
        id_, expression, failed = _told(row, format_, path, named)
        found.size, found.last = end, (id_, expression)
        found.results += 1
        found.failed += failed
    for row, end in _whole_rows(Path(errors), "jsonl") if errors is not None else ():
        try:
            said = json.loads(row)["error"]
            found.places.append((said.get("file"), said["line"], end))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise _not_ours(str(errors)) from error
    return found


def remaining(blocks: Iterator[Block], found: Standing, path: str, expression: str | None) -> Iterator[Block]:
    """The blocks of lines without a record yet; `found` learns how many are done with.

    `expression` is the program of all lines, if they have one. Raises `ChainruleError` where the last result does not
    answer its line.
    """
    results, places = found.results, deque(found.places)
    last: Block | None = None
    rest: list[Block] = []
    for block in blocks:
        for line in record_lines(block):
            if places and places[0][:2] == (block.file, line):
                found.errors_size = places.popleft()[2]
                found.failed += 1
            elif results:
                results -= 1
                if not results:
                    last = cut(block, [line])[0]
            else:
                rest = cut(block, [line])
                break
            found.records += 1
        if rest:
            break
    if results or (last is not None and not _answers(found, last, expression)):
        raise _not_ours(path)
    return itertools.chain(rest, blocks)


def _answers(found: Standing, line: Block, expression: str | None) -> bool:
    """Whether the last result is that of a line."""
    assert found.last is not None
    id_, said = found.last
    record = next(records(line, len(line.data), None, fixed=expression is not None))
    asked = expression or record.expression or ""
    return id_ == _text(record.id) and (said is None or said == asked.strip())


def _not_ours(path: str) -> ChainruleError:
    message = f"{path} does not hold the results of this input"
    return ChainruleError("file", message, hint="without --resume it is written anew")


def _whole_rows(path: Path, format_: str) -> Iterator[tuple[bytes, int]]:
    """The whole rows of a file, and where each ends; a torn one at the end is left out."""
    if not path.exists():
        return
    row, end = b"", 0
    with path.open("rb") as file:
        for line in file:
            row += line
            end += len(line)
            if line.endswith(b"\n") and not (format_ in DELIMITERS and row.count(b'"') % 2):
                yield row, end
                row = b""


def _told(row: bytes, format_: str, path: str, named: bool) -> tuple[str, str | None, bool]:
    """A record's id as text, its expression, in a table where that is `named`, and whether it tells of an error."""
    try:
        if format_ == "jsonl":
            record = json.loads(row)
            failed = "error" in record and "value" not in record
            return _text(record["id"]), (record["expression"] or "").strip(), failed
        cells = next(csv.reader([row.decode()], delimiter=DELIMITERS[format_], strict=True))
        return cells[0], cells[1].strip() if named else None, bool(cells[-1])
    except (ValueError, LookupError, TypeError, AttributeError, csv.Error) as error:
        raise _not_ours(path) from error


def _text(id_: Any) -> str:
    return id_ if isinstance(id_, str) else json.dumps(id_)

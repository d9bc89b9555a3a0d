"""Blocks of programs and claims from files: text, JSON lines, CSV."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from chainrule import ChainruleError

FORMATS = ("text", "jsonl", "csv", "tsv")
EXAMPLE = 'write {"expression": "x^2", "claims": {"x": "2*x"}}'
_BY_EXTENSION = {".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv"}


@dataclass
class Request:
    """A block to be verified: its number or id, the line it starts on, and what is asked.

    Or the `error` that says why it cannot be read, or its `results` where they are known already.
    """

    id: Any
    line: int
    source: str
    claims: Any = ()
    items: list[str] = field(default_factory=list)
    error: ChainruleError | None = None
    results: dict[str, Any] | None = None


def input_format(path: str, given: str | None) -> str:
    """The format of a file: the one given, else by its extension."""
    return given or _BY_EXTENSION.get(PurePath(path).suffix.lower(), "text")


def read_blocks(text: str, format_: str) -> Iterator[Request]:
    """The blocks of a file's text; one that cannot be read stands as its error, in its place."""
    if format_ == "text":
        return _from_text(text)
    return _from_json(text) if format_ == "jsonl" else _from_table(text, "\t" if format_ == "tsv" else ",")


def _from_text(text: str) -> Iterator[Request]:
    """Blocks parted by blank lines; lines of comments alone part nothing."""
    block: list[str] = []
    start = 0
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip():
            start = start or number
            block.append(line)
        elif block:
            if any(not line.lstrip().startswith("#") for line in block):
                yield Request(start, start, "\n".join(block))
            block, start = [], 0


def _from_json(text: str) -> Iterator[Request]:
    """A block in each line; or one list of blocks, or one block, that may take several lines."""
    with contextlib.suppress(ValueError):
        whole = json.loads(text)
        for number, record in enumerate(whole if isinstance(whole, list) else [whole], start=1):
            yield _from_record(record, number, 1)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield _from_record(json.loads(line), number, number)
        except json.JSONDecodeError as error:
            wrong = ChainruleError("input", f"no valid JSON: {error.msg} (column {error.colno})", hint=EXAMPLE)
            yield Request(number, number, line[:200], error=wrong)


def _from_record(record: Any, number: int, line: int) -> Request:
    try:
        if not isinstance(record, dict) or not isinstance(record.get("expression"), str):
            raise ValueError("a block is an object with an expression and claims")
        claims, items = _claims(record.get("claims")), _items(record)
        return Request(record.get("id", number), line, record["expression"], claims, items)
    except ValueError as error:
        id_ = record.get("id", number) if isinstance(record, dict) else number
        return Request(id_, line, json.dumps(record)[:200], error=ChainruleError("input", str(error), hint=EXAMPLE))


def _claims(given: Any) -> Any:
    if isinstance(given, str):
        return [given]
    if isinstance(given, dict) and all(isinstance(v, str) for v in given.values()):
        return given
    if isinstance(given, list) and all(isinstance(v, str) for v in given):
        return given
    raise ValueError("claims are an object of texts, a list of texts, or a text")


def _items(record: dict[str, Any]) -> list[str]:
    """The assumptions, shapes and values of a record, as they would stand behind a bar."""
    assume = record.get("assume") or []
    items = [assume] if isinstance(assume, str) else list(assume)
    shapes, at = record.get("shapes") or {}, record.get("at") or {}
    if not all(isinstance(x, dict) for x in (shapes, at)) or not all(isinstance(x, str) for x in items):
        raise ValueError("assume is a list of texts; shapes and at are objects")
    items += [f"{name}: {shape if isinstance(shape, str) else tuple(shape)}" for name, shape in shapes.items()]
    return items + [f"{name} = {value}" for name, value in at.items()]


def _from_table(text: str, delimiter: str) -> Iterator[Request]:
    rows = csv.DictReader(io.StringIO(text), delimiter=delimiter)
    missing = [name for name in ("expression", "claim") if name not in (rows.fieldnames or [])]
    if missing:
        raise ChainruleError(
            "input",
            f"the table has no column {missing[0]!r}",
            hint="its columns are expression, wrt, claim, and where wanted id and assume",
        )
    for row in rows:
        number = rows.line_num
        expression, claim = row.get("expression") or "", row.get("claim") or ""
        wrt = (row.get("wrt") or "").strip()
        items = [row["assume"]] if row.get("assume") else []
        yield Request(row.get("id") or number, number, expression, {wrt: claim} if wrt else [claim], items)

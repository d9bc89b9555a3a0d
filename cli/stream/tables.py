"""A table's block under one program, column by column: the quick way, for blocks in which every row is in order."""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from chainrule.rows import Column
from chainrule.syntax.characters import canonical_name

from .blocks import DELIMITERS, Block
from .limits import limited
from .rows import Model

if TYPE_CHECKING:
    from .work import Worker


def table_texts(worker: Worker, block: Block) -> list[str] | None:
    """The results of a block of which nothing needs a closer look; None where rows have to be read one by one."""
    settings = worker.settings
    text = settings.expression
    if text is None or not settings.quick or block.format not in DELIMITERS or len(block.data) > settings.limit:
        return None
    names = [canonical_name(name) for name in block.header]
    model = Model.made(worker, text, names)
    if model is None or model.template is None or not {"wrt", "cotangent"}.isdisjoint(names):
        return None
    rows = _rows(block)
    if rows is None:
        return None
    cells = list(zip(*rows, strict=True))
    columns: dict[str, Column] = {}
    for name, default in model.defaults.items():
        column = _numbers(cells[names.index(name)]) if name in names else default
        if column is None or (name not in names and np.ndim(column)):
            return None
        columns[name] = np.broadcast_to(column, len(rows)).copy()
    ids: Iterable[str | int] = range(block.id, block.id + len(rows))
    if "id" in names:
        given = cells[names.index("id")]
        ids = [worker.renderer.word(id_ or number) for number, id_ in zip(ids, given, strict=True)]
    try:
        with contextlib.nullcontext() if settings.timeout is None else limited(settings.timeout * len(rows)):
            return model.texts([ids], model.numbers(columns))
    except Exception:  # whatever it is, the rows one by one will tell which of them is at fault
        return None


def _rows(block: Block) -> list[list[str]] | None:
    """The cells, where each line is a whole row."""
    try:
        lines = block.data.decode().removesuffix("\n").split("\n")
        rows = list(csv.reader(lines, delimiter=DELIMITERS[block.format], strict=True))
    except (UnicodeDecodeError, csv.Error):
        return None
    whole = len(rows) == len(lines) and set(map(len, rows)) == {len(block.header)}
    return rows if whole and (len(block.header) > 1 or all(row[0].strip() for row in rows)) else None


def _numbers(cells: Sequence[str]) -> Column | None:
    """A column of plain numbers; None where a cell holds anything else."""
    try:
        column = None if "_" in "".join(cells) else np.array(list(map(float, cells)))
    except ValueError:
        return None
    return None if column is not None and np.isinf(column).any() else column

"""Results and error records as text: JSON lines, or rows of cells for CSV, TSV, Markdown and tables."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from json.encoder import encode_basestring as quoted
from typing import Any, Protocol

import numpy as np

from chainrule import ChainruleError
from chainrule.printing import element_name
from chainrule.rows import Column

from ..report.grids import markdown_row
from ..report.records import plain_record
from ..report.values import floats, number, shortest, to_json, value_text
from .blocks import DELIMITERS
from .settings import Settings

TEXTS = ("id", "expression", "output", "gradients", "derivatives", "hessian", "nodes", "symbolic", "check", "error")
SLOT = "\0"  # stands for what a template leaves open
JOINT = "\x1f"  # parts the cells of a table until it is laid out


class Renderer(Protocol):
    """How records become text. `slot` is what a SLOT in a record becomes in the text."""

    slot: str
    header: str

    def result(self, record: dict[str, Any]) -> str:
        """A result as text."""

    def plain(self, id_: Any, expression: str, output: str, value: float, gradients: Mapping[str, float]) -> str:
        """A result of numbers only as text."""

    def error(self, record: dict[str, Any]) -> str:
        """An error record as text."""

    def numbers(self, values: Column) -> Sequence[Any]:
        """Numbers as they fill the slots (by `%s`)."""

    def word(self, value: Any) -> str:
        """An id or an expression as it fills a slot."""


def renderer(settings: Settings) -> Renderer:
    """The renderer of a format."""
    return JsonLines() if settings.format == "jsonl" else Cells(settings)


class JsonLines:
    """A JSON object on each line."""

    slot = '"\\u0000"'
    header = ""

    def result(self, record: dict[str, Any]) -> str:
        """The record as a line."""
        return to_json(record) + "\n"

    def plain(self, id_: Any, expression: str, output: str, value: float, gradients: Mapping[str, float]) -> str:
        """The commonest record, for which the encoder would take twice as long."""
        if not math.isfinite(sum(gradients.values(), value)):
            return self.result(plain_record(id_, expression, output, value, gradients))
        numbers = ", ".join([f'"{name}": {number!r}' for name, number in gradients.items()])
        return (
            f'{{"id": {id_ if type(id_) is int else to_json(id_)}, "expression": {quoted(expression)}, '
            f'"output": "{output}", "value": {value!r}, "gradients": {{{numbers}}}}}\n'
        )

    def error(self, record: dict[str, Any]) -> str:
        """The record as a line."""
        return to_json(record) + "\n"

    def numbers(self, values: Column) -> Sequence[Any]:
        """Floats as they are (their text is JSON's), words for those that are not finite."""
        found: list[Any] = floats(values)
        if np.isfinite(values).all():
            return found
        return [v if math.isfinite(v) else f'"{number(v, 1)}"' for v in found]

    def word(self, value: Any) -> str:
        """The value as JSON."""
        return to_json(value)


class Cells:
    """A row of cells for each record.

    With `settings.columns` each single derivative has a column; otherwise one column holds all gradients.
    """

    slot = SLOT

    def __init__(self, settings: Settings) -> None:
        self.columns = settings.columns
        self.fixed = settings.expression is not None
        self.exact = settings.format in DELIMITERS
        self.digits = settings.digits
        self.further = [key for key, asked in (
            ("derivatives", settings.kind == "order"), ("hessian", settings.kind == "hessian"),
            ("nodes", settings.nodes), ("symbolic", settings.symbolic or settings.check), ("check", settings.check),
        ) if asked]  # fmt: skip
        self.join = _joiner(settings.format)
        names = ["id", *([settings.output] if self.fixed else ["expression", "output", "value"])]
        by = settings.output if self.fixed else ""
        names += ["gradients"] if self.columns is None else [f"d{by}/d{element_name(*c)}" for c in self.columns]
        self.names = [*names, *self.further, *([] if settings.separate else ["error"])]
        self.header = self.join(self.names)
        if settings.format == "markdown":
            self.header += markdown_row(["---"] * len(self.names))

    def result(self, record: dict[str, Any]) -> str:
        """The record as a row."""
        gradients = record["gradients"]
        cells = [self.word(record["id"])]
        cells += [] if self.fixed else [record["expression"], record["output"]]
        cells.append(self._number(record["value"]))
        cells += [self._gradients(gradients)] if self.columns is None else self._elements(gradients)
        cells += [to_json(record[key]) if key in record else "" for key in self.further]
        return self.join(cells + [""] * (len(self.names) - len(cells)))

    def plain(self, id_: Any, expression: str, output: str, value: float, gradients: Mapping[str, float]) -> str:
        """The result as a row."""
        return self.result(plain_record(id_, expression, output, value, gradients))

    def error(self, record: dict[str, Any]) -> str:
        """The error's message in the last column."""
        said = record["error"]
        where = f"column {said['column']}: " if said["column"] else ""
        hint = f" ({said['hint']})" if said["hint"] else ""
        cells = [""] * len(self.names)
        cells[0] = self.word(record["id"])
        if not self.fixed:
            cells[1] = record["expression"] or ""
        cells[-1] = f"{said['kind']}: {where}{said['message']}{hint}"
        return self.join(cells)

    def numbers(self, values: Column) -> Sequence[Any]:
        """Numbers as cells show them."""
        if self.exact and np.isfinite(values).all():
            return floats(values)
        return [self._number(v) for v in floats(values)]

    def word(self, value: Any) -> str:
        """Text as it is, anything else as JSON."""
        return value if isinstance(value, str) else to_json(value)

    def _number(self, value: Any) -> str:
        if value is None or isinstance(value, str):
            return value or ""
        if not self.exact:
            return value_text(value, self.digits)
        return repr(shortest(value)) if np.ndim(value) == 0 else to_json(value)

    def _gradients(self, gradients: Mapping[str, Any]) -> str:
        if self.exact:
            return to_json(gradients)
        return ", ".join(f"{name} = {self._number(value)}" for name, value in gradients.items())

    def _elements(self, gradients: Mapping[str, Any]) -> list[str]:
        """The cells of single derivatives; empty for an input that the program does not have."""
        found = {}
        for name, gradient in gradients.items():
            for index in np.ndindex(np.shape(gradient)):
                found[name, index] = np.asarray(gradient)[index] if index else gradient
        columns = self.columns or ()
        if strangers := [element_name(*c) for c in found if c not in columns]:
            raise ChainruleError(
                "shape",
                f"there is no column for the derivative by {strangers[0]}",
                hint="the first line decides on the columns; --format jsonl holds any shapes",
            )
        return [self._number(found.get(column)) for column in columns]


def _joiner(format_: str) -> Callable[[Sequence[str]], str]:
    """What makes a row of its cells."""
    if format_ in DELIMITERS:
        return csv.writer(_Echo(), delimiter=DELIMITERS[format_], lineterminator="\n").writerow
    return markdown_row if format_ == "markdown" else _joined


class _Echo:
    """A file that gives back what is written to it."""

    def write(self, text: str) -> str:
        return text


def _joined(cells: Sequence[str]) -> str:
    return JOINT.join(" ".join(cell.splitlines()) for cell in cells) + "\n"

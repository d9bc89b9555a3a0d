"""Lines of one program, gathered and evaluated together as columns, and rendered by filling a template."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule import ChainruleError, Program
from chainrule.evaluate import chosen_inputs
from chainrule.graph import Value
from chainrule.rows import Column, is_rowwise, value_and_grad_of_rows
from chainrule.syntax.characters import canonical_name

from ..report.records import result_record
from .limits import limited
from .records import Record
from .render import SLOT

if TYPE_CHECKING:
    from .work import Done, Singles, Worker

_ITEM = re.compile(r"\s*([^\W\d]\w*)\s*=\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*")


def simple_bar(text: str) -> dict[str, float] | None:
    """The values after a bar where all are plain numbers; None where the parser has to look."""
    values = {}
    items = text.split(",")
    for item in items:
        match = _ITEM.fullmatch(item)
        if match is None:
            return None
        try:
            values[canonical_name(match[1])] = float(match[2])
        except ValueError:
            return None
    finite = all(map(math.isfinite, values.values()))
    return values if finite and len(values) == len(items) else None


def _number(cell: Any) -> Any:
    """A cell's number; the cell itself where it holds something else."""
    try:
        return float(cell) if type(cell) is str and "_" not in cell else cell
    except ValueError:
        return cell


class Rows:
    """Records of one program that wait to be evaluated together."""

    def __init__(self, worker: Worker, singles: Singles, done: Done) -> None:
        self.worker = worker
        self.singles = singles
        self.done = done
        self.key: Any = None  # the program's text, and the names with a value that matter for its meaning
        self.program: Program | None = None  # None where the program has no rows that may be evaluated together
        self.wrt: list[str] = []
        self.defaults: dict[str, Value | None] = {}  # each input's value where a line has none of its own
        self.records: list[Record] = []
        self.values: list[list[float]] = []

    def add(self, record: Record, model: str) -> bool:
        """Take a record in; False where it has to be evaluated by itself."""
        settings = self.worker.settings
        at: Mapping[str, Any] = record.at or record.cells
        if settings.expression is None:
            _, bar, values = (record.expression or "").partition("|")
            if bar:
                found = simple_bar(values)
                if found is None or record.cells:
                    return False
                at = {**found, **at}
        key = (model, self.worker.special(at))
        if key != self.key:
            self.flush()
            self.key = key
            self._prepare(model, at)
        if self.program is None or not (record.cells or self.defaults.keys() >= at.keys()):
            return False
        row = [at.get(name, default) for name, default in self.defaults.items()]
        if record.cells:
            row = [_number(value) for value in row]
        if any(type(value) is not float for value in row):
            return False
        self.records.append(record)
        self.values.append(row)
        return True

    def _prepare(self, model: str, at: Mapping[str, Any]) -> None:
        """Parse the program, and find out whether its rows can be evaluated together."""
        worker, self.program = self.worker, None
        try:
            program = worker.program(model, at)
            wrt, no_grad = worker.inputs(program, None)
            self.wrt = chosen_inputs(program, wrt, no_grad)
        except ChainruleError:
            return
        if not is_rowwise(program) or not program.inputs or 1 + len(self.wrt) > worker.settings.elements:
            return
        self.defaults = {name: self._default(program, name) for name in program.inputs}
        self.program = program

    def _default(self, program: Program, name: str) -> Value | None:
        common = self.worker.settings.at
        if name in common:
            return common[name]
        if name in program.at:
            return program.at[name]
        node = program.nodes[program.names[name]]
        if node.args:
            return program.constant_value(node.args[0])
        return None

    def flush(self) -> None:
        """Evaluate what has been gathered."""
        gathered, self.records = self.records, []
        values, self.values = self.values, []
        if not gathered:
            return
        try:
            timeout = self.worker.settings.timeout
            with contextlib.nullcontext() if timeout is None else limited(timeout * len(gathered)):
                self.done.texts += self._rendered(gathered, values)
        except Exception:  # whatever it is, it must not cost more than the lines that cause it
            for record in gathered:
                self.singles.add(record)
            self.singles.flush()

    def _rendered(self, gathered: list[Record], values: list[list[float]]) -> list[str]:
        """The texts of all rows."""
        assert self.program is not None
        columns = dict(zip(self.defaults, np.array(values).T.copy(), strict=True))
        outputs, gradients = value_and_grad_of_rows(self.program, columns, self.wrt)
        renderer, expression = self.worker.renderer, self.worker.settings.expression
        parts = self._template(expression)
        numbers: list[Column] = [outputs, *gradients.values()]
        if parts is None or any(record.extra for record in gathered):
            return [self._by_itself(*row) for row in zip(gathered, *(n.tolist() for n in numbers), strict=True)]
        words = [[renderer.word(record.id) for record in gathered]]
        if expression is None:
            words.append([renderer.word(str(record.expression).strip()) for record in gathered])
        return list(map(parts.__mod__, zip(*words, *map(renderer.numbers, numbers), strict=True)))

    def _template(self, expression: str | None) -> str | None:
        """A row's text with places for its words and numbers; None where no row has such a text."""
        renderer, program = self.worker.renderer, self.program
        assert program is not None
        text = SLOT if expression is None else expression.strip()
        row = result_record(SLOT, text, program.output_name, SLOT, dict.fromkeys(self.wrt, SLOT))
        parts = renderer.result(row).split(renderer.slot)
        if len(parts) != 3 + (expression is None) + len(self.wrt):
            return None
        return "%s".join(part.replace("%", "%%") for part in parts)

    def _by_itself(self, record: Record, value: float, *gradients: float) -> str:
        """One row's text."""
        assert self.program is not None
        text = self.worker.settings.expression or record.expression or ""
        made = result_record(
            record.id, text.strip(), self.program.output_name, value, dict(zip(self.wrt, gradients, strict=True))
        )
        made |= {key: given for key, given in record.extra.items() if key not in made}
        return self.worker.renderer.result(made)

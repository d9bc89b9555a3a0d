"""Lines of one program, gathered and evaluated together as columns, and rendered by filling a template."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule import ChainruleError, Program
from chainrule.evaluate import chosen_inputs
from chainrule.graph import Value
from chainrule.rows import Column, is_rowwise, value_and_grad_of_rows

from ..report.records import result_record
from ..report.values import floats
from .limits import limited
from .records import Record
from .render import SLOT
from .values import plain_number, simple_values

if TYPE_CHECKING:
    from .singles import Singles
    from .work import Done, Worker


class Model:
    """A program whose rows can be evaluated together, and the text that each row becomes.

    `defaults` has each input's value where a row has none of its own; None where there is none.
    """

    def __init__(self, worker: Worker, program: Program, wrt: list[str]) -> None:
        self.program = program
        self.wrt = wrt
        self.renderer = worker.renderer
        self.expression = worker.settings.expression
        self.defaults = {name: _default(program, name, worker.settings.at) for name in program.inputs}
        self.template = self._template()

    @classmethod
    def made(cls, worker: Worker, text: str, at: Iterable[str]) -> Model | None:
        """The model of a program in which values for `at` are given; None where its rows are to run one by one."""
        try:
            program = worker.program(text, at)
            wrt, no_grad = worker.inputs(program, None)
            chosen = chosen_inputs(program, wrt, no_grad)
        except ChainruleError:
            return None
        usable = is_rowwise(program) and program.inputs and 1 + len(chosen) <= worker.settings.elements
        return cls(worker, program, chosen) if usable else None

    def numbers(self, columns: Mapping[str, Column]) -> list[Column]:
        """The outputs of all rows, and their gradients."""
        outputs, gradients = value_and_grad_of_rows(self.program, columns, self.wrt)
        return [outputs, *gradients.values()]

    def texts(self, words: Sequence[Iterable[str | int]], numbers: Iterable[Column]) -> list[str]:
        """The texts of all rows by the template, of words (ids, and expressions unless one is fixed) and numbers."""
        assert self.template is not None
        return list(map(self.template.__mod__, zip(*words, *map(self.renderer.numbers, numbers), strict=True)))

    def _template(self) -> str | None:
        """A row's text with places for its words and numbers; None where no row has such a text."""
        text = SLOT if self.expression is None else self.expression
        row = result_record(SLOT, text, self.program, SLOT, dict.fromkeys(self.wrt, SLOT))
        parts = self.renderer.result(row).split(self.renderer.slot)
        if len(parts) != 3 + (self.expression is None) + len(self.wrt):
            return None
        return "%s".join(part.replace("%", "%%") for part in parts)


def _default(program: Program, name: str, common: Mapping[str, Value]) -> Value | None:
    args = program.nodes[program.names[name]].args
    found = common.get(name, program.at.get(name))
    if found is None and args:
        found = program.constant_value(args[0])
    return float(found) if isinstance(found, np.floating) else found


class Rows:
    """Records of one program that wait to be evaluated together."""

    def __init__(self, worker: Worker, singles: Singles, done: Done) -> None:
        self.worker = worker
        self.singles = singles
        self.done = done
        self.key: Any = None  # the program's text, and the names with a value that matter for its meaning
        self.model: Model | None = None
        self.records: list[Record] = []
        self.values: list[list[float]] = []

    def add(self, record: Record, text: str) -> bool:
        """Take in a record of the program `text`; False where it has to be evaluated by itself."""
        at: Mapping[str, Any] = record.at or record.cells
        if self.worker.settings.expression is None:
            _, bar, values = (record.expression or "").partition("|")
            if bar:
                found = simple_values(values)
                if found is None or record.cells:
                    return False
                at = {**found, **at}
        key = (text, self.worker.special(at))
        if key != self.key:
            self.flush()
            self.key, self.model = key, Model.made(self.worker, text, at)
        if self.model is None or not (record.cells or self.model.defaults.keys() >= at.keys()):
            return False
        row = [at.get(name, default) for name, default in self.model.defaults.items()]
        if record.cells:
            row = [plain_number(value) if type(value) is str else value for value in row]
        if any(type(value) is not float for value in row):
            return False
        self.records.append(record)
        self.values.append(row)
        return True

    def flush(self) -> None:
        """Evaluate what has been gathered."""
        gathered, self.records = self.records, []
        values, self.values = self.values, []
        if not gathered:
            return
        timeout = self.worker.settings.timeout
        try:
            with contextlib.nullcontext() if timeout is None else limited(timeout * len(gathered)):
                self.done.texts += self._texts(gathered, values)
        except Exception:  # whatever it is, it must not cost more than the lines that cause it
            for record in gathered:
                self.singles.add(record)
            self.singles.flush()

    def _texts(self, gathered: list[Record], values: list[list[float]]) -> list[str]:
        """The texts of all rows."""
        model, renderer = self.model, self.worker.renderer
        assert model is not None
        numbers = model.numbers(dict(zip(model.defaults, np.array(values).T.copy(), strict=True)))
        if model.template is None or any(record.extra for record in gathered):
            rows = zip(gathered, *map(floats, numbers), strict=True)
            return [self._text(*row) for row in rows]
        words = [[renderer.word(record.id) for record in gathered]]
        if model.expression is None:
            words.append([renderer.word(str(record.expression).strip()) for record in gathered])
        return model.texts(words, numbers)

    def _text(self, record: Record, value: float, *gradients: float) -> str:
        """One row's text."""
        assert self.model is not None
        text = str(self.worker.settings.expression or record.expression).strip()
        found = dict(zip(self.model.wrt, gradients, strict=True))
        made = result_record(record.id, text, self.model.program, value, found)
        made |= {key: given for key, given in record.extra.items() if key not in made}
        return self.worker.renderer.result(made)

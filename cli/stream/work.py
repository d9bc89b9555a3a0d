"""A block's records evaluated and rendered: a pure function of the block, wherever it runs.

A line that asks for the same program as the line before it is evaluated with its neighbours as arrays, every operation
once for all of them. Whether a line is one of these does not depend on where blocks begin, so neither do the results.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from chainrule import ChainruleError, Program
from chainrule.evaluate import is_plain
from chainrule.graph import INPUT, Value
from chainrule.ops import CALLS, CONSTANTS
from chainrule.ops.base import quietly
from chainrule.program import computing_type
from chainrule.syntax import parse_into

from ..options import refuse_unknown
from ..report.records import error_record
from .blocks import Block
from .records import Record, records
from .render import renderer
from .rows import Rows
from .settings import Settings
from .singles import Singles
from .tables import table_texts
from .values import cell_value

MOST_PROGRAMS = 100  # kept parsed
SPECIAL = frozenset({*CONSTANTS, *CALLS})  # names whose meaning depends on whether a value is given


@dataclass(slots=True)
class Done:
    """A block's output: a text for each record. `failed` are the places of error records, `differing` counts checks."""

    texts: list[str]
    failed: list[int] = field(default_factory=list)
    differing: int = 0
    seconds: float = 0.0

    def add(self, other: Done) -> None:
        """Take in the results of the lines that follow."""
        self.failed += [len(self.texts) + i for i in other.failed]
        self.texts += other.texts
        self.differing += other.differing
        self.seconds += other.seconds

    def up_to_failure(self) -> Done:
        """The results up to the first line that failed."""
        last = self.failed[0]
        return replace(self, texts=self.texts[: last + 1], failed=[last])


class Worker:
    """Evaluates blocks under fixed settings. Parsed programs are kept, which changes no result."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.quick = settings.quick
        self.dtype = computing_type(settings.dtype)
        self.renderer = renderer(settings)
        self.errors = renderer(Settings()) if settings.separate else self.renderer
        self.programs: dict[Any, Program | None] = {}
        self.common = frozenset((*settings.at, *(settings.wrt or ()), *settings.no_grad)) & SPECIAL

    def run(self, block: Block) -> Done:
        """Evaluate a block. Every record has one text in the result."""
        start, collecting = time.perf_counter(), gc.isenabled()
        gc.disable()  # graphs have no cycles
        try:
            with quietly():
                done = self._run(block)
        finally:
            if collecting:
                gc.enable()
        done.seconds = time.perf_counter() - start
        return done

    def _run(self, block: Block) -> Done:
        settings, done = self.settings, Done([])
        if (texts := table_texts(self, block)) is not None:
            return Done(texts)
        singles = Singles(self, block.file, done)
        rows = Rows(self, singles, done)
        read = partial(records, limit=settings.limit, seed=settings.seed, fixed=settings.expression is not None)
        last = [*read(replace(block, data=block.before, too_long=False))][-1:]
        before = self.model(last[0]) if last else None
        for record in read(block):
            model = self.model(record)
            added = False
            if model is not None and (model == before or settings.expression is not None):
                singles.flush()
                added = rows.add(record, model)
            if not added:
                if rows.records:
                    rows.flush()
                singles.add(record)
            before = model
        rows.flush()
        singles.flush()
        return done

    def model(self, record: Record) -> str | None:
        """The program that a record asks for, without its bar, where it may be evaluated together with others."""
        if record.error is not None or not self.quick or record.wrt is not None or record.cotangent is not None:
            return None
        if self.settings.expression is not None:
            return self.settings.expression
        text = record.expression
        if text is None or "#" in text:
            return None
        return text.partition("|")[0] if "|" in text else text

    def error_record(self, record: Record, error: ChainruleError, file: str | None) -> dict[str, Any]:
        """The error record of a line."""
        text = record.expression if self.settings.expression is None else self.settings.expression
        return error_record(record.id, text, error, record.line, file)

    def check_size(self, value: Value, gradients: Mapping[str, Value]) -> None:
        """Refuse a result of too many numbers."""
        numbers = [value, *gradients.values()]
        size = len(numbers) if is_plain(numbers) else sum(map(np.size, numbers))
        if size > self.settings.elements:
            message = f"the result has {size:,} numbers; the limit is {self.settings.elements:,}"
            raise ChainruleError("limit", message, hint="--max-numbers sets the limit")

    def program(
        self, text: str, at: Iterable[str], wrt: Iterable[str] | None = None, words: list[str] | None = None
    ) -> Program:
        """A program, in which values for `at` are given; `words` are its text's. Raises `ChainruleError`."""
        names = self.special(at)
        if wrt is not None:
            names |= SPECIAL.intersection(wrt)
        key = (text, names)
        program = self.programs.get(key)
        if program is None:
            program = Program(dtype=self.dtype)
            parse_into(program, text, names=names, seed=self.settings.seed, words=words)
            self.programs[key] = program if key in self.programs else None  # kept when it is seen a second time
            if len(self.programs) > MOST_PROGRAMS:
                self.programs.clear()
        return program

    def special(self, at: Iterable[str]) -> frozenset[str]:
        """The names of functions and constants for which a value is given."""
        return self.common if SPECIAL.isdisjoint(at) else self.common.union(SPECIAL.intersection(at))

    def values(self, program: Program, record: Record) -> Mapping[str, Value]:
        """The line's values: its own, then its bar's, then those common to all lines. Raises `ChainruleError`."""
        settings, own = self.settings, record.at
        if own:
            nodes, places = program.nodes, program.names
            for name in own:
                if name not in places or nodes[places[name]].op is not INPUT:
                    refuse_unknown(program, name)
        if cells := record.cells:
            own = {name: cell_value(cells[name], settings.seed, name) for name in program.inputs if name in cells}
        if not settings.at:
            return own
        own_bar = program.at if settings.expression is None else {}
        return {**{name: value for name, value in settings.at.items() if name not in own_bar}, **own}

    def inputs(self, program: Program, own: list[str] | None) -> tuple[list[str] | None, list[str]]:
        """The inputs to differentiate by (None for all) and those that require no gradient.

        A line's `own` must exist; of the common ones those count that the program has.
        """
        settings = self.settings
        if settings.wrt is None and not settings.no_grad:
            return own, []
        has = program.inputs
        common = None if settings.wrt is None else [name for name in settings.wrt if name in has]
        return common if own is None else own, [name for name in settings.no_grad if name in has]


def died(settings: Settings, block: Block) -> Done:
    """The error record of the one line of a block over which a process died."""
    record = next(records(block, settings.limit, None))
    hint = "it may need more memory than there is"
    error = ChainruleError("crash", "the process that evaluated this line died", hint=hint)
    worker = Worker(settings)
    return Done([worker.errors.error(worker.error_record(record, error, block.file))], [0])

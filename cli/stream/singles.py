"""Records that are evaluated one by one, from their lines to their texts, each step for a few of them at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from chainrule import ChainruleError, Program
from chainrule.evaluate import chosen_inputs, forward, is_plain, missing_error, plain_gradients, value_and_grad_of
from chainrule.syntax import split

from ..report.records import result_record
from .limits import limited
from .records import Record

if TYPE_CHECKING:
    from .work import Done, Worker

TOGETHER = 64  # records for which each step is taken at a time: that keeps its code warm, and takes a third less time
LENGTH = 2**15  # characters of programs that may wait
SYMPY_SECONDS = 10.0  # SymPy's time for a line
Steps: TypeAlias = tuple[Callable[..., Any], ...]
Plain: TypeAlias = tuple[Program, float, dict[str, float]]  # a result of numbers only


class Singles:
    """Records that wait to be evaluated by themselves; their texts go to `done`."""

    def __init__(self, worker: Worker, file: str | None, done: Done) -> None:
        self.worker = worker
        self.settings = worker.settings
        self.file = file
        self.done = done
        self.all_inputs = self.settings.wrt is None and not self.settings.no_grad
        self.records: list[Record] = []
        self.length = 0

    def add(self, record: Record) -> None:
        """Take a record in."""
        self.records.append(record)
        self.length += len(record.expression or "")
        if len(self.records) >= TOGETHER or self.length > LENGTH:
            self.flush()

    def flush(self) -> None:
        """Evaluate what has been gathered."""
        if not self.records:
            return
        worker, done, seconds = self.worker, self.done, self.settings.timeout
        gathered, self.records, self.length = self.records, [], 0
        found: list[Any] = [None] * len(gathered)
        for step in self.QUICK if worker.quick else self.FULL:
            run = step if seconds is None else partial(_limited, seconds, step)
            for i, record in enumerate(gathered):
                made = found[i]
                if type(made) is not ChainruleError:
                    try:
                        found[i] = run(self, record, made)
                    except Exception as error:  # a line must never stop the others
                        found[i] = _as_ours(error)
        for record, text in zip(gathered, found, strict=True):
            if isinstance(text, ChainruleError):
                done.failed.append(len(done.texts))
                text = worker.errors.error(worker.error_record(record, text, self.file))
            done.texts.append(text)

    # --- the steps: each takes a record and what the step before made of it; all raise `ChainruleError` ---------------

    def cut(self, record: Record, _: None) -> list[str] | None:
        """The words of the record's program; None where every record has the same."""
        if record.error is not None:
            raise record.error
        if self.settings.expression is not None:
            return None
        if record.expression is None:
            raise ChainruleError("format", "the line has no expression", hint='"expression" holds it, or --expression')
        return split(record.expression)

    def parsed(self, record: Record, words: list[str] | None) -> Program:
        """The program."""
        return self.worker.program(self._text(record), record.at or record.cells, record.wrt, words)

    def computed(self, record: Record, program: Program) -> tuple[Program, list[Any]] | dict[str, Any]:
        """The program and the value of each of its nodes; the result at once where not all are numbers."""
        tape = forward(program, self.worker.values(program, record))
        if record.cotangent is None and is_plain(tape):
            return program, tape
        value, gradients = value_and_grad_of(program, tape, self._wrt(program, record), record.cotangent)
        self.worker.check_size(value, gradients)
        made = result_record(record.id, self._text(record).strip(), program, value, gradients)
        return _with_extra(made, record)

    def derived(self, record: Record, computed: tuple[Program, list[Any]] | dict[str, Any]) -> Plain | dict[str, Any]:
        """The value and the gradients."""
        if isinstance(computed, dict):
            return computed
        program, tape = computed
        wrt = None if self.all_inputs and record.wrt is None else self._wrt(program, record)
        gradients = plain_gradients(program, tape, wrt)
        if len(gradients) >= self.settings.elements:
            self.worker.check_size(tape[-1], gradients)
        return program, tape[-1], gradients

    def _wrt(self, program: Program, record: Record) -> list[str] | None:
        """The inputs to differentiate by; None for all."""
        wrt, no_grad = self.worker.inputs(program, record.wrt)
        return None if wrt is None and not no_grad else chosen_inputs(program, wrt, no_grad)

    def analysed(self, record: Record, program: Program) -> dict[str, Any]:
        """The result with what `grad` knows besides: nodes, further derivatives, formulas, SymPy's check."""
        from chainrule.analysis import analyse
        from chainrule.crosscheck import check

        from ..report.gradients import record as full_record

        settings, values = self.settings, self.worker.values(program, record)
        wrt, no_grad = self.worker.inputs(program, record.wrt)
        if not settings.symbolic and (missing := program.missing(values)):
            raise missing_error(program, missing)
        analysis = analyse(
            program, values, wrt=wrt, no_grad=no_grad, cotangent=record.cotangent, kind=settings.kind,
            order=settings.order,
        )  # fmt: skip
        self.worker.check_size(analysis.value if analysis.value is not None else 0.0, analysis.gradients)
        checks = None
        if (settings.symbolic or settings.check) and analysis.wrt:
            checks = check(analysis, min(SYMPY_SECONDS, settings.timeout or SYMPY_SECONDS))
        made = full_record(analysis, checks)
        made["id"] = record.id
        if not settings.nodes:
            del made["nodes"]
        if not settings.check:
            made.pop("check", None)
        self.done.differing += any(c.verdict == "differs" for c in checks or ())
        return _with_extra(made, record)

    def rendered(self, record: Record, made: Plain | dict[str, Any]) -> str:
        """The result as text."""
        text, renderer = self._text(record).strip(), self.worker.renderer
        if isinstance(made, dict):
            return renderer.result(made)
        program, value, gradients = made
        if record.extra:
            return renderer.result(_with_extra(result_record(record.id, text, program, value, gradients), record))
        return renderer.plain(record.id, text, program.output_name, value, gradients)

    QUICK: ClassVar[Steps] = (cut, parsed, computed, derived, rendered)
    FULL: ClassVar[Steps] = (cut, parsed, analysed, rendered)

    def _text(self, record: Record) -> str:
        """The text of the record's program."""
        return self.settings.expression or record.expression or ""


def _limited(seconds: float, step: Callable[..., Any], *given: Any) -> Any:
    """A step's result, within so many seconds."""
    with limited(seconds):
        return step(*given)


def _as_ours(error: Exception) -> ChainruleError:
    """What a step ended with, as an error record says it."""
    if isinstance(error, ChainruleError):
        return error
    if isinstance(error, MemoryError):
        return ChainruleError("limit", "the memory does not suffice")
    if isinstance(error, RecursionError):
        return ChainruleError("limit", "nested too deeply")
    return ChainruleError("bug", f"an error in chainrule itself: {error!r}", hint="please report it")


def _with_extra(made: dict[str, Any], record: Record) -> dict[str, Any]:
    """The result with the keys that are passed through."""
    if record.extra:
        made |= {key: given for key, given in record.extra.items() if key not in made}
    return made

"""The table of operations: every row, in the order of the families' files, and look-ups by name.

Nothing else names an operation: the parser, the engine, SymPy's counterpart, the help and the tests read this table.
"""

from __future__ import annotations

from typing import Any

from . import (
    activations,
    arithmetic,
    arrays,
    barriers,
    base,
    constants,
    creations,
    decompositions,
    determinants,
    error_functions,
    exponentials,
    gammas,
    hyperbolic,
    linalg,
    matrices,
    powers,
    probabilities,
    reductions,
    shapes,
    slopes,
    trigonometric,
)
from .arithmetic import is_constant
from .base import Edge, Interval, Op, chain
from .sizes import MAX_ELEMENTS, shape_text
from .traced import Traced

__all__ = [
    "CALLS",
    "CONSTANTS",
    "FAMILIES",
    "INFIX",
    "MAX_ELEMENTS",
    "TABLE",
    "UNLISTED",
    "Edge",
    "Interval",
    "Op",
    "Traced",
    "chain",
    "find",
    "is_constant",
    "shape_text",
]

# Each file after those whose rows it uses.
_FILES = (
    base, constants, arithmetic, exponentials, powers, slopes, trigonometric, hyperbolic, activations, error_functions,
    gammas, arrays, shapes, reductions, probabilities, linalg, matrices, determinants, decompositions, creations,
    barriers,
)  # fmt: skip
TABLE: dict[str, Op] = {}
FAMILIES: dict[str, str] = {}  # the file of each row
for _file in _FILES:
    for _row in vars(_file).values():
        if isinstance(_row, Op) and _row.name not in TABLE:
            TABLE[_row.name] = _row
            FAMILIES[_row.name] = _file.__name__.rpartition(".")[2]
INFIX: dict[str, Op] = {op.infix: op for op in TABLE.values() if op.infix and op.public and op.arity == 2}
CONSTANTS: dict[str, Op] = {op.name: op for op in vars(constants).values() if isinstance(op, Op)}
_OVERLOADS: dict[str, list[Op]] = {}
for _op in TABLE.values():
    for _name in (_op.overloads, *_op.aliases) if _op.overloads else ():
        _OVERLOADS.setdefault(_name, []).append(_op)
# The functions of the language: every name that can be called.
CALLS: dict[str, Op] = {
    name: op for op in TABLE.values() if op.public and not op.level for name in (op.name, *op.aliases)
}
for _name, _rows in _OVERLOADS.items():
    CALLS.setdefault(_name, _rows[0])
# Rows that rules use and that people need not know: understood where they stand in the text of a derivative.
UNLISTED: dict[str, Op] = {
    op.name: op
    for op in TABLE.values()
    if not (op.public or op.infix) and op.arity and all(static.default or static.name == "key" for static in op.statics)
}


def find(name: str, count: int) -> Op | None:
    """The row that a call `name(…)` with `count` inputs means, or None for an unknown name."""
    for op in _OVERLOADS.get(name, ()):
        if count == op.arity or (op.variadic and count > 2):
            return op
    return CALLS.get(name) or UNLISTED.get(name)


def _attach_operators() -> None:
    """Give `Traced` Python's operators: each applies its row, so rules and people write ordinary mathematics."""
    for op in TABLE.values():
        if not (op.level and op.public) or op.name == "not":
            continue
        name = {"div": "truediv"}.get(op.name, op.name)
        if op.arity == 1:
            setattr(Traced, f"__{name}__", lambda x, op=op: x.interpret(op, (x,)))
            continue
        setattr(Traced, f"__{name}__", lambda x, y, op=op: x.interpret(op, (x, y)))
        if op.level != arithmetic.COMPARISON:
            setattr(Traced, f"__r{name}__", lambda x, y, op=op: x.interpret(op, (y, x)))
    others: dict[str, Any] = {
        "__abs__": lambda x: TABLE["abs"](x),
        "__getitem__": lambda x, key: TABLE["index"](x, key=key if isinstance(key, tuple) else (key,)),
        "__hash__": object.__hash__,  # compared elementwise, a traced value is still itself
    }
    for name, method in others.items():
        setattr(Traced, name, method)


_attach_operators()


def function(name: str) -> Any:
    """What calling `name` from Python means: its row, or for an overloaded name the row for so many arguments."""
    if name not in _OVERLOADS:
        return CALLS[name]
    rows = {op.arity: op for op in _OVERLOADS[name]}

    def overloaded(*xs: Any, **params: Any) -> Any:
        op = rows.get(len(xs)) or find(name, len(xs))
        assert op is not None
        return op(*xs, **params)

    return overloaded


def __getattr__(name: str) -> Any:
    """Each function of the table by its name: `ops.sin`."""
    if name in CALLS:
        return function(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

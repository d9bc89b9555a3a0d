"""The table of operations told to people: for each function its call, domain, derivatives, conventions, an example."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from . import ops
from .gradient import rule_text
from .ops import CALLS, Interval, Op
from .program import parse

# What the examples put for static parameters, by the parameter's name.
SAMPLE_STATICS = {"shape": "3, 1", "bounds": "4", "n": "3", "start": "0", "stop": "1"}


@dataclass(frozen=True)
class Entry:
    """What there is to say of one function."""

    name: str
    call: str
    doc: str
    family: str
    aliases: tuple[str, ...]
    domain: dict[str, str]
    takes: str
    grad_fn: str | None
    derivatives: dict[str, str]
    edges: tuple[str, ...]
    accuracy: dict[str, int]
    example: str
    result: str


def entries() -> list[Entry]:
    """All functions that can be called, in the table's order."""
    return [entry(op) for op in dict.fromkeys(CALLS.values())]


def find(name: str) -> list[Entry]:
    """The entries that a name means: one, or two for an overloaded one (log); none for an unknown name."""
    found = [op for op in ops.TABLE.values() if op.public and name in (op.name, *op.aliases, op.overloads, op.infix)]
    return [entry(op) for op in found]


def entry(op: Op) -> Entry:
    """What there is to say of a row."""
    example, values = _example(op)
    return Entry(
        op.name,
        call_text(op),
        op.doc,
        ops.FAMILIES[op.name],
        tuple(name for name in (op.name, *op.aliases) if op.level or name != (op.overloads or op.name)),
        {name: str(interval) for name, interval in zip(op.inputs, op.domain, strict=False)} if op.elementwise else {},
        op.fits,
        _grad_fn(op),
        _derivatives(op),
        tuple(_edge_text(op, edge) for edge in op.edges),
        _accuracy().get(op.name, {}),
        " ".join([f"chainrule grad '{example}'", *(_assigned(name, value) for name, value in values.items())]),
        _result(example, values),
    )


@cache
def _accuracy() -> dict[str, dict[str, int]]:
    """For each elementwise row the largest errors, in ulps, that tests/accuracy.py found over its whole domain."""
    figures: dict[str, dict[str, int]] = json.loads(Path(__file__).with_name("accuracy.json").read_text("utf-8"))
    return figures


def _derivatives(op: Op) -> dict[str, str]:
    """The rule for each input in the language; those that need operations which people do not call are left out."""
    required = {s.name.lstrip("*"): () for s in op.statics if s.default is None and op.inputs}  # no rule reads them
    found = {name: rule_text(op.bind(**required), i) for i, name in enumerate(op.inputs)}
    hidden = [f"{name}(" for name, row in ops.TABLE.items() if not row.public and row.statics + row.inputs[1:]]
    return {
        name: text for name, text in found.items() if text and (op.elementwise or not any(h in text for h in hidden))
    }


def call_text(op: Op) -> str:
    """How a function is called: norm(x, ord=2, *, axis=None)."""
    if op.infix and op.level:
        return f" {op.infix} ".join(op.inputs) if op.arity == 2 else f"{op.infix}{op.inputs[0]}"
    statics = [s.name if s.default is None else f"{s.name}={s.default}" for s in op.statics if s.name != "seed"]
    return f"{op.overloads or op.name}({', '.join([*op.inputs, *statics])})"


def _grad_fn(op: Op) -> str | None:
    if not op.differentiable:
        return None
    from .tensors import Tensor

    data: Any = 1.0 if op.elementwise else np.ones((2, 2))
    return op.backward_name(*(Tensor(data) for _ in op.inputs))


def _edge_text(op: Op, edge: ops.Edge) -> str:
    """An edge in words: what is chosen there, and what holds on either side."""
    if edge.kind == "boundary":
        return f"{edge.kind} at {edge.at}: the branch that the comparison gives is taken"
    if not edge.value:
        return f"{edge.kind} at {edge.at}: the derivative there is a convention"
    sides = f"{_numbers(edge.left)} below, {_numbers(edge.right)} above"
    return f"{edge.kind} at {edge.at}: derivative {_numbers(edge.value)} by convention ({sides})"


def _numbers(values: tuple[float, ...]) -> str:
    text = ", ".join("none" if math.isnan(v) else f"{v:g}" for v in values)
    return text if len(values) == 1 else f"({text})"


# --- examples ---------------------------------------------------------------------------------------------------------


def sample(interval: Interval, i: int = 0) -> float:
    """A plain number inside an interval, a different one for each place."""
    low, high = interval
    if math.isinf(low) and math.isinf(high):
        return (0.5, 1.5, -0.5)[i % 3]
    if math.isinf(high):
        return low + 2.0 + i
    if math.isinf(low):
        return high - 1.0 - i
    return low + 0.75 * (high - low)


def _example(op: Op) -> tuple[str, dict[str, Any]]:
    """An expression that uses the function, and values for its inputs."""
    names = ["x", "w"] if op.variadic else [*op.inputs]
    statics = [SAMPLE_STATICS[s.name.lstrip("*")] for s in op.statics if s.default is None and s.name != "key"]
    if op.infix and op.level:
        text = f" {op.infix} ".join(names) if len(names) == 2 else f"{op.infix} {names[0]}"
    else:
        text = f"{op.overloads or op.name}({', '.join([*names, *statics])})"
    if op.elementwise:
        return text, {name: sample(op.domain[i], i) for i, name in enumerate(names)}
    square, vector = [[2.0, 1.0], [1.0, 3.0]], [1.0, 2.0] if any(map(str.isupper, names)) else [1.0, 2.0, 3.0]
    return text, {name: square if name.isupper() else vector for name in names}


def _assigned(name: str, value: Any) -> str:
    return f"{name}={str(value).replace(' ', '')}" if isinstance(value, list) else f"{name}={value:g}"


def _result(text: str, values: dict[str, Any]) -> str:
    """What the example gives: the value, and the gradients (of the sum, where the output is an array)."""
    program = parse(text)
    shape = np.shape(program.run(values).output._data)
    value, gradients = program.value_and_grad(values, cotangent=np.ones(shape) if shape else None)
    parts = [f"value {_short(value)}", *(f"gradient of {name} {_short(g)}" for name, g in gradients.items())]
    return ", ".join(parts)


def _short(value: Any) -> str:
    if np.ndim(value):
        return "[" + ", ".join(map(_short, value)) + "]"
    return f"{float(value):.6g}"

"""One program at one point: everything that `chainrule grad` shows, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from .errors import ChainruleError
from .evaluate import checked_names, start_cotangent
from .graph import Value
from .notes import Note, notes
from .printing import expression_text
from .program import Program, Run


@dataclass(frozen=True)
class NodeRow:
    """A node as it is shown. `expression` says it in terms of its neighbours; `grad` is None where none is kept."""

    name: str
    expression: str
    value: Value | None
    shape: tuple[int, ...]
    requires_grad: bool
    is_leaf: bool
    grad_fn: str | None
    grad: Value | None


@dataclass
class Analysis:
    """A program's graph at a point, or without one where values are `missing`."""

    program: Program
    output: str
    wrt: list[str]
    nodes: list[NodeRow]
    value: Value | None
    gradients: dict[str, Value]
    missing: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    point: dict[str, Value] | None = None
    cotangent: Value | None = None


def analyse(
    program: Program,
    values: Mapping[str, Any],
    *,
    wrt: Iterable[str] | None = None,
    no_grad: Iterable[str] = (),
    retain: Iterable[str] | Literal["all"] = (),
    cotangent: Any = None,
) -> Analysis:
    """Run a program on Tensors and backward, and collect what there is to show. Raises `ChainruleError`.

    With values missing the graph alone is described.
    """
    frozen = {*checked_names(program, no_grad), *(n for n in program.inputs if program.nodes[program.names[n]].frozen)}
    chosen = [n for n in program.inputs if n not in frozen] if wrt is None else checked_names(program, wrt)
    for name in chosen:
        if name in frozen:
            raise ChainruleError("grad", f"{name} requires no gradient, and its gradient is asked for")
    if missing := program.missing(values):
        return _without_values(program, values, chosen, missing, frozen)
    run = program.run(values, retain=retain, no_grad=no_grad)
    output = run.output
    start = start_cotangent(program, output._data, cotangent)
    if output.requires_grad:
        output.backward(None if cotangent is None else start)
    point = {name: run.at(program.names[name])._data for name in program.inputs if program.names[name] < len(run.tape)}
    gradients = {name: _gradient(run, name) for name in chosen}
    return Analysis(
        program,
        program.output_name,
        chosen,
        _rows(program, run),
        output._data,
        gradients,
        notes=notes(program, point, start, chosen) if chosen else [],
        shapes={name: np.shape(value) for name, value in point.items()},
        point=point,
        cotangent=None if cotangent is None else start,
    )


def _gradient(run: Run, name: str) -> Value:
    i = run.graph.names[name]
    if i >= len(run.tape):
        return 0.0
    leaf = run.at(i)
    if leaf._grad is None:
        return np.zeros(leaf.shape) if leaf.ndim else 0.0
    data = leaf._grad._data
    return np.asarray(data, dtype=float) if leaf.ndim else float(data)


def _rows(program: Program, run: Run) -> list[NodeRow]:
    labels = program.labels()
    lookup = labels.get
    rows = []
    for i, name in labels.items():
        tensor = run.at(i)
        rows.append(
            NodeRow(
                name,
                _expression(program, i, lookup),
                tensor._data,
                tensor.shape,
                tensor.requires_grad,
                tensor.is_leaf and i != program.output,
                tensor.grad_fn.name() if tensor.grad_fn else None,
                None if tensor._grad is None else tensor._grad._data,
            )
        )
    return rows


def _expression(program: Program, i: int, lookup: Any) -> str:
    """A node in terms of its neighbours; an input is itself, a leaf with a default its default."""
    node = program.nodes[i]
    if node.is_leaf:
        return expression_text(program, node.args[0]) if node.args else node.name or ""
    return expression_text(program, i, own=True, name=lookup)


def _without_values(
    program: Program, values: Mapping[str, Any], chosen: Sequence[str], missing: list[str], frozen: set[str]
) -> Analysis:
    """The graph alone: which nodes require a gradient, and their functions' names."""
    labels = program.labels()
    requires: dict[int, bool] = {}
    rows = []
    for i in range(program.output + 1):
        node = program.nodes[i]
        flows = [requires[j] and node.op.vjp(n) is not None for n, j in enumerate(node.args)]
        requires[i] = node.name not in frozen if node.is_leaf else any(flows)
        if i not in labels:
            continue
        given = values.get(node.name or "", program.at.get(node.name or "")) if node.is_leaf else None
        if given is None and node.args and node.is_leaf:
            given = program.constant_value(node.args[0])
        stand_ins = [program.nodes[j] if not program.nodes[j].constant else 1.0 for j in node.args]
        named = requires[i] and not node.is_leaf
        grad_fn = _static_name(program, i, stand_ins) if named else None
        is_leaf = node.is_leaf or (not requires[i] and i != program.output)
        rows.append(
            NodeRow(labels[i], _expression(program, i, labels.get), given, np.shape(given) if given is not None else (),
                    requires[i], is_leaf, grad_fn, None)
        )  # fmt: skip
    known = {**program.at, **{name: value for name, value in values.items() if name in program.names}}
    shapes = {name: np.shape(value) for name, value in known.items()} | program.shapes
    return Analysis(program, program.output_name, list(chosen), rows, None, {}, missing, shapes=shapes)


def _static_name(program: Program, i: int, stand_ins: Sequence[Any]) -> str:
    """The backward function's name without a run: inputs are taken for Tensors."""
    from .tensors import Tensor

    xs = [Tensor(1.0) if not isinstance(x, float) else x for x in stand_ins]
    return program.nodes[i].op.backward_name(*xs)

"""One program at one point: everything that `chainrule grad` shows, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from .errors import ChainruleError, did_you_mean
from .evaluate import checked_names, chosen_inputs, missing_error, start_cotangent
from .graph import Value
from .notes import Note, notes
from .printing import expression_text
from .program import Program, Run
from .tensors import Tensor

if TYPE_CHECKING:
    from .higher import Derivative
    from .recorded import Recording

Kind = Literal["gradient", "order", "hessian", "jacobian", "direction"]


class NodeRow(NamedTuple):
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
    """A program's graph at a point, or without one where values are `missing`.

    `kind` says which derivatives were asked for: the gradient, `further` ones (order, hessian, jacobian), or the
    `product` of the Jacobian with a `direction`.
    """

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
    further: list[Derivative] = field(default_factory=list)
    kind: Kind = "gradient"
    direction: dict[str, Value] = field(default_factory=dict)
    product: Value | None = None
    run: Run | None = field(default=None, repr=False)

    def derivatives(self) -> list[Derivative]:
        """What was asked for, number by number: the gradient's elements, or instead those of `further`."""
        from .higher import Derivative, as_scalar, elements

        if self.kind != "gradient":
            return self.further
        found = []
        for name in self.wrt:
            gradient = None if self.point is None else np.asarray(self.gradients[name])
            for element in elements(name, self.shapes.get(name, ())):
                value = None if gradient is None else as_scalar(gradient[element[1]])
                found.append(Derivative((element,), None, value))
        return found


def analyse(
    program: Program,
    values: Mapping[str, Any],
    *,
    wrt: Iterable[str] | None = None,
    no_grad: Iterable[str] = (),
    retain: Iterable[str] | Literal["all"] = (),
    cotangent: Any = None,
    kind: Kind = "gradient",
    order: int = 1,
    direction: Mapping[str, Value] | None = None,
) -> Analysis:
    """Run a program on Tensors and backward, and collect what there is to show. Raises `ChainruleError`.

    With values missing the graph alone is described. `kind` asks for other derivatives than the gradient, in their
    place: `order` that of `order` by each input, `direction` the Jacobian-vector product in the given direction.
    """
    frozen = {*checked_names(program, no_grad), *(n for n in program.inputs if program.nodes[program.names[n]].frozen)}
    chosen = chosen_inputs(program, wrt, no_grad)
    if kind != "gradient":
        from .higher import Derivative, directional, elements, hessian, jacobian, pure
    if missing := program.missing(values):
        if kind in ("jacobian", "direction"):
            raise missing_error(program, missing)
        described = _without_values(program, values, chosen, missing, frozen)
        described.kind = kind
        if kind == "gradient":
            return described
        found = [element for name in chosen for element in elements(name, described.shapes.get(name, ()))]
        if kind == "order":
            described.further = [Derivative((element,) * order) for element in found]
        elif kind == "hessian":
            described.further = [Derivative((row, column)) for row in found for column in found]
        return described
    run = program.run(values, retain=retain, no_grad=no_grad)
    made = _analysed(program, run, chosen, cotangent, kind)
    assert made.point is not None
    if kind == "order":
        made.further = pure(program, made.point, chosen, order)
    elif kind == "hessian":
        made.further = hessian(program, made.point, chosen)
    elif kind == "jacobian":
        made.further = jacobian(program, made.point, chosen)
    elif kind == "direction":
        made.direction = {name: direction[name] for name in checked_names(program, direction or {}) if direction}
        made.product = directional(program, made.point, made.direction)
    return made


def analyse_function(
    recording: Recording,
    *,
    wrt: Iterable[str] | None = None,
    retain: Iterable[str] | Literal["all"] = (),
    cotangent: Any = None,
) -> Analysis:
    """The same for the graph that a run of a Python function recorded. Raises `ChainruleError`."""
    program, run = recording.program, recording.run()
    leaves = [name for name, x in recording.arguments.items() if isinstance(x, Tensor)]
    for name in wrt or ():
        if name not in leaves:
            raise ChainruleError(
                "name", f"{name} is no argument that requires a gradient", hint=did_you_mean(name, leaves)
            )
    for name in run.retainable() if retain == "all" else retain:
        run.retain(name)
    return _analysed(program, run, leaves if wrt is None else list(wrt), cotangent)


def _analysed(program: Program, run: Run, chosen: list[str], cotangent: Any, kind: Kind = "gradient") -> Analysis:
    """Backward, and what there is to show after it; none where a Jacobian of an array is asked for instead."""
    output = run.output
    backward = kind in ("gradient", "order", "hessian") or not output.shape or cotangent is not None
    if not backward:
        cotangent = np.zeros(output.shape)
    start = start_cotangent(program, output._data, cotangent)
    if output.requires_grad and backward:
        try:
            output.backward(None if cotangent is None else start)
        except ChainruleError as error:
            raise error.located(program.source, program.span(program.output)) from None
    point = {name: run.at(program.names[name])._data for name in program.inputs if program.names[name] < len(run.tape)}
    gradients = {name: _gradient(run, name) for name in chosen}
    return Analysis(
        program,
        program.output_name,
        chosen,
        _rows(program, run),
        output._data,
        gradients if backward else {},
        notes=notes(program, point, start, gradients) if chosen else [],
        shapes={name: np.shape(value) for name, value in point.items()},
        point=point,
        cotangent=None if cotangent is None or not backward else start,
        kind=kind,
        run=run,
    )


def _gradient(run: Run, name: str) -> Value:
    i = run.graph.names[name]
    if i >= len(run.tape):
        return 0.0
    leaf = run.at(i)
    if leaf._grad is None:
        found: Value = np.zeros(leaf.shape) if leaf.ndim else 0.0
    else:
        data = leaf._grad._data
        found = np.asarray(data, dtype=float) if leaf.ndim else float(data)
    typed: Value = run.graph.typed(found)
    return typed


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
    xs = [Tensor(1.0) if not isinstance(x, float) else x for x in stand_ins]
    return program.nodes[i].op.backward_name(*xs)

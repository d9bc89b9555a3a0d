"""What to know about a point: where a value stopped being finite, and which derivatives are conventions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .errors import Span
from .evaluate import backward, forward, gradient_of
from .graph import NUMBER, Graph, Node, Value
from .ops import Edge
from .ops.constants import inf
from .ops.elementary import pow_
from .printing import expression_text

_SAYING = {
    "boundary": "is exactly on its boundary",
    "kink": "has a kink",
    "tie": "is a tie",
    "jump": "jumps",
    "pole": "has no finite derivative",
}


@dataclass(frozen=True)
class Note:
    """One remark: `kind` (non-finite, kink, jump, pole, tie, boundary), a sentence, and the place in the source.

    `undifferentiable` names the inputs whose derivative does not exist at the point.
    """

    kind: str
    text: str
    span: Span
    undifferentiable: tuple[str, ...] = field(default=())


def notes(graph: Graph, values: Mapping[str, Any], cotangent: Value, names: Sequence[str]) -> list[Note]:
    """The remarks on the gradients of `names` at a point."""
    tape = forward(graph, values)
    adjoints = backward(graph, tape, cotangent)
    edges = list(_edges(graph, values, tape, adjoints, cotangent, names))
    non_finite = list(_non_finite_value(graph, tape)) or [
        note
        for note in _non_finite_gradient(graph, tape, adjoints)
        if all(note.span != edge.span for edge in edges)  # a pole says it better
    ]
    return non_finite + edges


# --- nan and inf ------------------------------------------------------------------------------------------------------


def _finite(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    return bool(np.all(np.isfinite(value)))


def _text(graph: Graph, i: int) -> str:
    """A node as a person wrote it, short."""
    node = graph.nodes[i]
    written = graph.source and node.span != (0, 0) and not node.op.folds  # max(a, b, c) is two nodes of one text
    text = graph.source[slice(*node.span)] if written else expression_text(graph, i)
    return text if len(text) <= 60 else text[:28] + " … " + text[-28:]


def _with_values(graph: Graph, tape: Sequence[Any], args: Sequence[int]) -> str:
    """The arguments that are no constants, with their values: `x = -8`."""
    shown = [j for j in dict.fromkeys(args) if not graph.nodes[j].constant]
    return ", ".join(f"{_text(graph, j)} = {short(tape[j])}" for j in shown)


def short(value: Any) -> str:
    """A number, or the first few of an array."""
    if np.ndim(value) == 0:
        return f"{float(value):g}"
    flat = np.ravel(value)
    inside = ", ".join(f"{v:g}" for v in flat[:4])
    return f"[{inside}{', …' if flat.size > 4 else ''}]"


def _non_finite_value(graph: Graph, tape: Sequence[Any]) -> Iterator[Note]:
    """The first node whose value is nan or infinite although its arguments are finite."""
    needed = graph.needed()
    for i, node in enumerate(graph.nodes[: graph.output + 1]):
        if not needed[i] or _finite(tape[i]) or node.op is inf or node.value is not None:
            continue
        if node.is_leaf:
            yield Note("non-finite", f"the given value of {node.name} is {short(tape[i])}", graph.span(i))
            return
        if all(_finite(tape[j]) for j in node.args):
            kind = "nan" if np.any(np.isnan(tape[i])) else "infinite"
            given = _with_values(graph, tape, node.args)
            text = f"{_text(graph, i)} is {kind}" + (f", where {given}" if given else "")
            yield Note("non-finite", text + _why(node, [tape[j] for j in node.args]), graph.span(i))
            return


def _why(node: Node, xs: Sequence[Any]) -> str:
    """The reason for a value that is not finite, as far as the table knows it."""
    if node.op is pow_ and np.any(np.less(xs[0], 0) & (np.mod(xs[1], 1) != 0)):
        third = np.ndim(xs[1]) == 0 and math.isclose(float(xs[1]), 1 / 3)
        return ": a power of a negative number is real only for whole exponents" + (
            "; the real cube root is cbrt( … )" if third else ""
        )
    for x, interval in zip(xs, node.op.domain, strict=False):
        if np.any(np.less(x, interval.low)) or np.any(np.greater(x, interval.high)):
            return f": {node.op.name} is real only in {interval} and at its ends"
    if any(np.any(edge.hit(*xs)) for edge in node.op.edges if edge.kind == "pole"):
        return ": a pole"
    return ": the result is beyond the largest number, about 1.8e308" if all(map(_finite, xs)) else ""


def _non_finite_gradient(graph: Graph, tape: Sequence[Any], adjoints: Sequence[Any]) -> Iterator[Note]:
    """The first step backward from a finite cotangent to one that is not."""
    for i in range(graph.output, -1, -1):
        g, node = adjoints[i], graph.nodes[i]
        if g is None or not _finite(g) or node.constant:
            continue
        for j in node.args:
            if adjoints[j] is not None and not _finite(adjoints[j]) and not graph.nodes[j].constant:
                given = _with_values(graph, tape, node.args)
                text = f"the derivative of {_text(graph, i)} is not finite where {given}"
                yield Note("non-finite", text, graph.span(i))
                return


# --- kinks, ties, jumps, poles ----------------------------------------------------------------------------------------


def _edges(
    graph: Graph,
    values: Mapping[str, Any],
    tape: Sequence[Any],
    adjoints: Sequence[Any],
    cotangent: Value,
    names: Sequence[str],
) -> Iterator[Note]:
    """The nodes whose arguments are at an edge of the table that matters for the gradients."""
    needed = graph.needed()
    for i, node in enumerate(graph.nodes[: graph.output + 1]):
        if not node.op.edges or node.constant or not needed[i]:
            continue
        g = adjoints[i]
        if node.op.differentiable and (g is None or not np.any(g)):
            continue
        xs = [tape[j] for j in node.args]
        for edge in node.op.edges:
            with np.errstate(all="ignore"):
                hits = np.asarray(edge.hit(*xs))
            if np.any(hits):
                yield _edge_note(graph, values, tape, cotangent, names, i, edge, int(np.count_nonzero(hits)))
                break


def _edge_note(
    graph: Graph, values: Mapping[str, Any], tape: Sequence[Any], cotangent: Value, names: Sequence[str],
    i: int, edge: Edge, hits: int,
) -> Note:  # fmt: skip
    node = graph.nodes[i]
    where = _with_values(graph, tape, node.args)
    what = f"{_text(graph, i)} {_SAYING[edge.kind]} where {where}"
    if np.ndim(tape[i]) or any(map(np.ndim, tape)):
        count = f", at {hits} of its elements" if hits > 1 else ""
        return Note(edge.kind, f"{what}{count}; the derivative there is a convention", graph.span(i), tuple(names))
    sides = [
        _side(graph, values, cotangent, names, i, replacement) for replacement in _replacements(node, edge, tape[i])
    ]
    differing = [name for name in names if not _same(sides[0][name], sides[1][name])]
    if not differing:
        same = "; both sides give the same derivatives" if all(map(math.isfinite, sides[0].values())) else ""
        return Note(edge.kind, what + same, graph.span(i), () if same else tuple(names))
    below, above = _side_names(graph, node, edge, tape)
    parts = [
        f"d{graph.output_name}/d{name} {_is(sides[0][name])} {below}, {_is(sides[1][name])} {above}"
        for name in differing
    ]
    return Note(
        edge.kind, f"{what}: {'; '.join(parts)}; the value shown is a convention", graph.span(i), tuple(differing)
    )


def _is(derivative: float) -> str:
    return "does not exist" if math.isnan(derivative) else f"is {derivative:.6g}"


def _side_names(graph: Graph, node: Node, edge: Edge, tape: Sequence[Any]) -> tuple[str, str]:
    """What to call the two sides of an edge."""
    if edge.kind == "boundary":
        return ("where it holds", "where it does not")
    names = [_text(graph, j) for j in node.args]
    if len(names) == 1:
        at = f"{float(tape[node.args[0]]):g}"
        return (f"for {names[0]} < {at}", f"for {names[0]} > {at}")
    if edge.kind == "tie":
        return (f"for {names[0]} < {names[1]}", f"for {names[0]} > {names[1]}")
    return ("just below", "just above")


def _same(a: Any, b: Any) -> bool:
    return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=1e-12)


def _replacements(node: Node, edge: Edge, value: Any) -> tuple[Node, Node]:
    """The node as it is on either side of the edge."""
    if edge.kind == "boundary":
        made = tuple(Node(NUMBER, (), node.span, True, chosen) for chosen in (1.0, 0.0))
    else:
        made = tuple(
            Node(replace(node.op, partials=tuple(_fixed(d) for d in side), vjps=None), node.args, node.span, False)
            for side in (edge.left, edge.right)
        )
    return made[0], made[1]


def _fixed(d: float) -> Any:
    return lambda y, *xs: d


def _side(
    graph: Graph, values: Mapping[str, Any], cotangent: Value, names: Sequence[str], i: int, replacement: Node
) -> dict[str, float]:
    """The gradients with node `i` as it is on one side."""
    nodes = list(graph.nodes)
    replacement.name = nodes[i].name
    nodes[i] = replacement
    other = Graph(**{**vars(graph), "nodes": nodes})
    tape = forward(other, values)
    adjoints = backward(other, tape, cotangent)
    return {name: float(gradient_of(tape, adjoints, graph.names[name])) for name in names}

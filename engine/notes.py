"""What a person should know about a point: where a value stopped being finite, and which derivatives are conventions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .errors import Span
from .evaluate import backward, forward, gradient_of, is_scalar
from .graph import NUMBER, Graph, Node, Value
from .ops import Edge
from .printing import expression_text, number_text


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
    found = [*_non_finite_value(graph, tape)]
    if not found:
        found += _non_finite_gradient(graph, tape, adjoints)
    return found + list(_edges(graph, values, tape, adjoints, cotangent, names))


# --- nan and inf ------------------------------------------------------------------------------------------------------


def _finite(value: Any) -> bool:
    return bool(np.all(np.isfinite(value)))


def _text(graph: Graph, i: int) -> str:
    """A node as a person wrote it, short."""
    node = graph.nodes[i]
    text = graph.source[slice(*node.span)] if graph.source and node.span != (0, 0) else expression_text(graph, i)
    return text if len(text) <= 60 else text[:28] + " … " + text[-28:]


def _with_values(graph: Graph, tape: Sequence[Any], args: Sequence[int]) -> str:
    """The arguments that are not written as numbers, with their values: `x = -8, p = 1/3`."""
    shown = [j for j in dict.fromkeys(args) if graph.nodes[j].value is None]
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
        if not needed[i] or _finite(tape[i]) or node.op.name == "inf" or node.value is not None:
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
    if node.op.name == "pow" and np.any(np.less(xs[0], 0) & (np.mod(xs[1], 1) != 0)):
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
    graph: Graph, values: Mapping[str, Any], tape: Sequence[Any], adjoints: Sequence[Any], cotangent: Value, names: Sequence[str]
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
    if edge.kind == "boundary":
        what = f"{_text(graph, i)} is exactly on its boundary ({where})"
    else:
        what = f"{_text(graph, i)} has a {edge.kind} at {edge.at.split(',')[0]} ({where})"
    if np.ndim(tape[i]) or not is_scalar(graph.nodes[: graph.output + 1], {}) or any(map(np.ndim, tape)):
        count = f", at {hits} of its elements" if hits > 1 else ""
        return Note(edge.kind, f"{what}{count}; the derivative there is a convention", graph.span(i), tuple(names))
    sides = [_side(graph, values, cotangent, names, i, replacement) for replacement in _replacements(node, edge, tape[i])]
    differing = [name for name in names if not _same(sides[0][name], sides[1][name])]
    if not differing:
        return Note(edge.kind, f"{what}; both sides give the same derivatives", graph.span(i))
    output = graph.output_name
    parts = [
        f"d{output}/d{name} is {number_text(sides[0][name])} on one side, {number_text(sides[1][name])} on the other"
        for name in differing
    ]
    return Note(edge.kind, f"{what}: {'; '.join(parts)}; the value shown is a convention", graph.span(i), tuple(differing))


def _same(a: Any, b: Any) -> bool:
    return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=1e-12)


def _replacements(node: Node, edge: Edge, value: Any) -> tuple[Node, Node]:
    """The node as it is on either side of the edge."""
    if edge.kind == "boundary":
        made = tuple(Node(NUMBER, (), node.span, True, chosen) for chosen in (float(value), 1.0 - float(value)))
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

"""What to know about a point: where a value stopped being finite, and which derivatives are conventions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .differences import one_sided
from .errors import Span
from .evaluate import backward, forward
from .graph import Graph, Node, Value
from .ops import TABLE
from .ops.arithmetic import div, where
from .ops.constants import inf
from .ops.powers import pow_
from .printing import Element, element_name, expression_text

MOST_WORK = 200_000  # input elements times nodes: beyond it the sides are not looked at
MOST_SENTENCES = 6
_SAYING = {
    "boundary": "is exactly on its boundary",
    "kink": "has a kink",
    "tie": "is a tie",
    "jump": "jumps",
    "pole": "has no finite derivative",
}


class Note(NamedTuple):
    """One remark: `kind` (non-finite, kink, jump, pole, tie, boundary, sides), a sentence, and the place in the source.

    `undifferentiable` are the input elements by which the derivative does not exist at the point.
    """

    kind: str
    text: str
    span: Span
    undifferentiable: tuple[Element, ...] = ()


def notes(graph: Graph, values: Mapping[str, Any], cotangent: Value, gradients: Mapping[str, Value]) -> list[Note]:
    """The remarks on the `gradients` that were found at a point."""
    tape = forward(graph, values)
    adjoints = backward(graph, tape, cotangent)
    non_finite = list(_non_finite_value(graph, tape))
    if not _finite(tape[graph.output]):
        return non_finite
    edges = list(_edges(graph, tape, adjoints))
    doubles = replace(graph, dtype=None)  # differences need all the digits there are
    edges = non_finite + _with_sides(doubles, values, cotangent, gradients, edges) if edges else non_finite
    if all(map(_finite, gradients.values())):
        return edges
    # A pole says it better than the step backward at which the gradient stopped being finite.
    others = [n for n in _non_finite_gradient(graph, tape, adjoints) if all(n.span != edge.span for edge in edges)]
    return others + edges


# --- nan and inf ------------------------------------------------------------------------------------------------------


def _finite(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    return bool(np.all(np.isfinite(value)))


def _text(graph: Graph, i: int) -> str:
    """A node as a person wrote it, short."""
    span = graph.span(i)
    text = graph.source[span.start : span.end] if span.end else expression_text(graph, i)
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
    used = _used(graph, tape)
    for i, node in enumerate(graph.nodes[: graph.output + 1]):
        if not used[i] or _finite(tape[i]) or node.op is inf or node.value is not None:
            continue
        if node.is_leaf:
            yield Note("non-finite", f"the given value of {node.name} is {short(tape[i])}", graph.span(i))
            return
        if all(_finite(tape[j]) for j in node.args):
            kind = "nan" if np.any(np.isnan(tape[i])) else "infinite"
            given = _with_values(graph, tape, node.args)
            text = f"{_text(graph, i)} is {kind}" + (f", where {given}" if given else "")
            text += _why(node, [tape[j] for j in node.args], tape[i]) + _instead(graph, i)
            yield Note("non-finite", text, graph.span(i))
            return


def _used(graph: Graph, tape: Sequence[Any]) -> list[bool]:
    """For each node, whether its value is used at this point: not through a branch that `where` did not choose."""
    used = [False] * len(graph.nodes)
    used[graph.output] = True
    for i in range(graph.output, -1, -1):
        if used[i]:
            args = graph.nodes[i].args
            if graph.nodes[i].op is where:
                chosen = np.not_equal(tape[args[0]], 0)
                args = (args[0], *args[1:2] * bool(np.any(chosen)), *args[2:] * (not np.all(chosen)))
            for j in args:
                used[j] = True
    return used


def _why(node: Node, xs: Sequence[Any], value: Any) -> str:
    """The reason for a value that is not finite, as far as the table knows it."""
    if node.op is pow_ and np.any(np.less(xs[0], 0) & (np.mod(xs[1], 1) != 0)):
        third = np.ndim(xs[1]) == 0 and math.isclose(float(xs[1]), 1 / 3)
        return ": a power of a negative number is real only for whole exponents" + (
            "; the real cube root is cbrt( … )" if third else ""
        )
    undefined = bool(np.any(np.isnan(value)))
    with np.errstate(all="ignore"):
        poles = [edge for edge in node.op.edges if edge.kind == "pole"]
        pole = any(np.any(edge.hit(*map(np.asarray, xs), **node.op.params)) for edge in poles)
    if pole:
        return ": undefined, as 0/0 is" if undefined and node.op is div else ": a pole"
    for x, interval in zip(xs, node.op.domain, strict=False):
        if np.any(np.less(x, interval.low)) or np.any(np.greater(x, interval.high)):
            return f": {node.op.name} is real only in {interval} and at its ends"
    if undefined:
        return ": undefined"
    largest = f"{np.finfo(np.asarray(value).dtype).max:.1e}".replace("+", "")
    return f": the result is beyond the largest number, about {largest}"


def _instead(graph: Graph, i: int) -> str:
    """The function that does in one what node `i` is a part of, if the table has one: logsumexp for log(sum(exp))."""
    for op in TABLE.values():
        for outer in range(graph.output + 1) if op.instead_of else ():
            links = [outer] if graph.nodes[outer].op.name == op.instead_of[0].name else []
            met = {outer, *graph.nodes[outer].args}
            for inner in op.instead_of[1:]:
                links = [j for link in links for j in graph.nodes[link].args if graph.nodes[j].op.name == inner.name]
                met.update(links)
            if links and i in met:
                return f"; {op.name}( … ) does this without overflow"
    return ""


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


def _edges(graph: Graph, tape: Sequence[Any], adjoints: Sequence[Any]) -> Iterator[Note]:
    """The nodes whose arguments are at an edge of the table that matters for the gradients."""
    needed = graph.needed()
    for i, node in enumerate(graph.nodes[: graph.output + 1]):
        if not node.op.edges or node.constant or not needed[i] or not _finite_arguments(tape, node):
            continue
        silent = adjoints[i] is None or not np.any(adjoints[i])
        xs = [np.asarray(tape[j]) for j in node.args]
        for edge in node.op.edges:
            if node.op.differentiable and silent and edge.kind != "pole":
                continue  # no cotangent arrives: it does not matter
            with np.errstate(all="ignore"):
                hits = int(np.count_nonzero(edge.hit(*xs, **node.op.params)))
            if hits:
                given = _with_values(graph, tape, node.args)
                count = f", at {hits} of its elements" if hits > 1 else ""
                yield Note(edge.kind, f"{_text(graph, i)} {_SAYING[edge.kind]} where {given}{count}", graph.span(i))
                break


def _finite_arguments(tape: Sequence[Any], node: Node) -> bool:
    return all(not np.any(np.isnan(tape[j])) for j in node.args)


def _with_sides(
    graph: Graph, values: Mapping[str, Any], cotangent: Value, gradients: Mapping[str, Value], edges: list[Note]
) -> list[Note]:
    """The edges, and what the derivatives by each input element are on either side; nothing where both sides agree."""
    sizes = {name: int(np.size(gradient)) for name, gradient in gradients.items()}
    if sum(sizes.values()) * len(graph.nodes) > MOST_WORK:
        told = tuple((name, index) for name, g in gradients.items() for index in np.ndindex(np.shape(g)))
        return [
            note._replace(text=note.text + "; the derivative there is a convention", undifferentiable=told)
            for note in edges
        ]
    sentences, broken = [], []
    for name, gradient in gradients.items():
        for index in np.ndindex(np.shape(gradient)):
            shown = float(np.asarray(gradient)[index])
            sentence = _sides(graph, values, cotangent, name, index, shown)
            if sentence is not None:
                sentences.append(sentence)
                broken.append((name, index))
    if not sentences:
        return []
    more = len(sentences) - MOST_SENTENCES
    text = "; ".join(sentences[:MOST_SENTENCES]) + (f"; and {more} more" if more > 0 else "")
    return [*edges, Note("sides", text, edges[0].span, tuple(broken))]


def _sides(
    graph: Graph, values: Mapping[str, Any], cotangent: Value, name: str, index: tuple[int, ...], shown: float
) -> str | None:
    """What the derivative by one input element is on either side, where that is not the number shown."""

    def output(moved: float) -> float:
        data = np.array(values[name], dtype=float)
        data[index] = moved
        return float(np.sum(np.multiply(cotangent, forward(graph, {**values, name: data})[graph.output])))

    at = float(np.asarray(values[name])[index])
    left, right = one_sided(output, at, -1), one_sided(output, at, 1)
    of = f"d{graph.output_name}/d{element_name(name, index)}"
    if left.jumps or right.jumps:
        return f"{graph.output_name} jumps at {element_name(name, index)} = {at:g}, so {of} does not exist"
    if _same(left.derivative, right.derivative):
        if _same(left.derivative, shown):
            return None
        if math.isnan(left.derivative):
            return f"{of} has no limit from either side, and {shown:.6g} is a convention"
        return f"{of} is {left.derivative:.6g} from both sides, but the conventions used give {shown:.6g}"
    convention = "" if math.isnan(shown) else f", and {shown:.6g} by convention"
    return f"{of} {_is(left.derivative)} from the left, {_is(right.derivative)} from the right{convention}"


def _same(a: float, b: float) -> bool:
    return a == b or (a != a and b != b) or math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-8)


def _is(derivative: float) -> str:
    return "does not exist" if math.isnan(derivative) else f"is {derivative:.6g}"

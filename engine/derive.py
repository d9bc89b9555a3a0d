"""A program's derivatives as formulas: by our own rules or simplified by SymPy, and at values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .building import Builder, GraphTerm, Shape
from .elementwise import Elementwise
from .errors import ChainruleError
from .evaluate import forward
from .gradient import Derivation, Derived, name_shared
from .graph import Graph, Value
from .higher import Derivative
from .ops import shape_text
from .ops.base import quietly
from .printing import expression_text, value_text
from .program import Program, parse
from .worker import symbolic_results

MOST_SUBSTITUTED = 1000  # elements of an array that is put into a formula
LONGEST = 2000  # pieces of formulas without variables


class Formulas(NamedTuple):
    """Texts of formulas, the statements that they use, and why SymPy's are missing, if they are."""

    texts: list[str]
    statements: list[tuple[str, str]]
    reason: str | None = None


def known_shapes(program: Graph, values: Mapping[str, Value]) -> dict[str, Shape]:
    """The shapes of a program's inputs: of their values, else as its bar says, else those of defaults."""
    shapes = {name: np.shape(program.constant_value(program.nodes[i].args[0]))
              for name, i in program.names.items() if program.nodes[i].is_leaf and program.nodes[i].args}  # fmt: skip
    given = {**program.at, **values}
    return {**shapes, **program.shapes, **{name: np.shape(value) for name, value in given.items()}}


def derive(
    program: Program,
    kind: str = "gradient",
    wrt: Sequence[str] | None = None,
    *,
    order: int = 1,
    values: Mapping[str, Value] | None = None,
    elementwise: bool = False,
) -> Derived:
    """The derivatives of a `kind` (gradient, derivative, hessian, jacobian) as a graph, then at the `values` given.

    `elementwise` writes arrays out element by element. Raises `ChainruleError`.
    """
    given = {**program.at, **(values or {})}
    shapes = known_shapes(program, given)
    try:
        derivation = (Elementwise if elementwise else Derivation)(program, shapes)
    except ChainruleError as error:
        if error.kind == "shape" and not any(shapes.values()):
            error.hint = "inputs are numbers unless a bar says their shapes: … | A: 2x3, x: 3"
        raise
    if wrt is None and not program.free:
        raise ChainruleError("grad", "the program has no input to differentiate by", hint="write one by its name: x")
    derived = derivation.pure(wrt, order) if kind == "derivative" else getattr(derivation, kind)(wrt)
    return substituted(derived, given) if given else derived


def substituted(derived: Derived, values: Mapping[str, Value]) -> Derived:
    """The derivatives with values in the place of inputs."""
    b = Builder()
    terms: list[Any] = []
    with quietly():
        for i, node in enumerate(derived.graph.nodes):
            if node.value is not None:
                terms.append(b.term(b.number(node.value)))
            elif node.is_leaf and node.name is not None and node.name in values:
                terms.append(b.constant(_small(node.name, values[node.name])))
            elif node.is_leaf:
                assert node.name is not None
                args = tuple(terms[j].place for j in node.args)
                place = b.leaf(node.name, node.op, args, derived.shapes[i])
                b.graph.nodes[place].frozen = node.frozen
                terms.append(b.term(place))
            elif not node.args:
                terms.append(b.term(b.node(node.op, ())))
            else:
                terms.append(b.apply(node.op, [terms[j] for j in node.args]))
    places = [b.spread_out(term) if isinstance(term, GraphTerm) else term for term in terms]
    b.graph.output, b.graph.source = places[derived.graph.output], derived.graph.source
    if (name := derived.graph.nodes[derived.graph.output].name) is not None:
        b.graph.output = b.name(name, b.graph.output)
    found = [(derivative, places[place]) for derivative, place in derived.found]
    return Derived(b.graph, b.shapes, found, derived.shape, [places[v] for v in derived.values], derived.value_shape)


def _small(name: str, value: Value) -> Value:
    if np.size(value) > MOST_SUBSTITUTED:
        raise ChainruleError(
            "limit",
            f"{name} has {np.size(value):,} elements; a formula holds {MOST_SUBSTITUTED:,}",
            hint=f"give its shape after a bar instead: | {name}: {shape_text(np.shape(value)).strip('(,)')}",
        )
    return value


# --- formulas ---------------------------------------------------------------------------------------------------------


def formulas(derived: Derived, *, share: bool = False) -> Formulas:
    """Our own formulas, in the inputs; numbers where no input is left.

    What is used more than once becomes a statement where `share` asks for it, or where the formulas would be very long.
    """
    graph = derived.graph
    if all(graph.nodes[place].constant for _, place in derived.found):
        ending = Graph(graph.nodes, graph.names, output=max(place for _, place in derived.found))
        tape = forward(ending, dict.fromkeys(graph.inputs, 0.0))
        return Formulas([value_text(tape[place]).replace("(inf - inf)", "nan") for _, place in derived.found], [])
    bare = Graph([*graph.nodes], {n: i for n, i in graph.names.items() if graph.nodes[i].is_leaf})
    roots = [place for _, place in derived.found]
    inputs = set(bare.names.values())
    names = name_shared(bare, roots, 0 if share else LONGEST)
    lookup = {**names, **{i: graph.nodes[i].name for i in inputs}}
    said = [(name, expression_text(bare, i, own=True, name=lookup.get)) for i, name in sorted(names.items())]
    return Formulas([expression_text(bare, place, name=lookup.get) for place in roots], said)


def simplified(
    program: Program, derived: Derived, values: Mapping[str, Value], timeout: float
) -> tuple[list[str | None], str | None]:
    """SymPy's formulas of a program's derivatives, None for those that it did not find, and why."""
    given = {**program.at, **values}
    shapes = {n: s for n, s in known_shapes(program, given).items() if n in program.names}
    wanted = [derivative for derivative, _ in derived.found]
    answer = symbolic_results(program, shapes, wanted, None, None, timeout, given)
    return [found.formula for found in answer.found], answer.reason


def resimplified(program: Program, derived: Derived, values: Mapping[str, Value], timeout: float) -> Derived | str:
    """The derivatives' graph made of SymPy's formulas, or why there are none."""
    given = {**program.at, **values}
    shapes = {n: s for n, s in known_shapes(program, given).items() if n in program.names}
    outputs: list[tuple[int, ...] | None] = [*np.ndindex(derived.value_shape)] if derived.value_shape else [None]
    wanted = [*(Derivative((), of) for of in outputs), *(derivative for derivative, _ in derived.found)]
    answer = symbolic_results(program, shapes, wanted, None, None, timeout, given)
    texts = [found.formula for found in answer.found]
    if None in texts:
        return answer.reason or "SymPy found no real formula"
    names = [name for name in derived.graph.inputs if name not in values]
    written = parse(f"[{', '.join(text or '' for text in texts)}]", names=names)
    made = Elementwise(written, {name: derived.shapes[derived.graph.names[name]] for name in names}, inputs=names)
    b, places = made.builder, [term.place for term in made.found.flat]
    b.graph.source, count = derived.graph.source, len(outputs)
    found = [(derivative, place) for (derivative, _), place in zip(derived.found, places[count:], strict=True)]
    return Derived(b.graph, b.shapes, found, derived.shape, places[:count], derived.value_shape)

"""Numbers through a graph: its value, and its gradients by the tape run backwards, without Tensors.

Where all inputs are numbers and every operation has a scalar form, plain Python floats run through `math`, which is
several times faster than arrays of no dimension; otherwise NumPy runs. Both read the same rows.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import ChainruleError, did_you_mean
from .graph import INPUT, LEAF, NUMBER, Graph, Node, Value
from .ops import Op, shape_text
from .ops.arrays import sum_like
from .ops.base import ARITHMETIC, PLAIN, all_finite, chain, quiet, scaled

Product = Callable[[Any, Any], Any]
SINGLE = np.dtype(np.float32)
FLOAT = frozenset({float})


def value_and_grad(
    graph: Graph, values: Mapping[str, Any], wrt: Iterable[str] | None = None, cotangent: Any = None
) -> tuple[Value, dict[str, Value]]:
    """The output's value and its gradient for each input in `wrt` (default: all but `const`), given the inputs' values.

    Without a `cotangent` (of the output's shape) the output must be a scalar. The gradient of an input has the input's
    shape, and is 0 where the output does not depend on it. Raises `ChainruleError`.
    """
    chosen = None if wrt is None else checked_names(graph, wrt)
    return value_and_grad_of(graph, forward(graph, values), chosen, cotangent)


def value_and_grad_of(
    graph: Graph, tape: Sequence[Value], wrt: Iterable[str] | None = None, cotangent: Any = None
) -> tuple[Value, dict[str, Value]]:
    """The second half of it: what `forward` has computed is there. Raises `ChainruleError`."""
    value = tape[graph.output]
    if cotangent is None and is_plain(tape):
        return value, plain_gradients(graph, tape, wrt)  # type: ignore[return-value]
    names = graph.free if wrt is None else wrt
    start = start_cotangent(graph, value, cotangent)
    for product in (operator.mul, chain):  # a zero cotangent that met what is not finite shows as nan
        adjoints = backward(graph, tape, start, product)
        gradients = {name: gradient_of(tape, adjoints, graph.names[name]) for name in names}
        if all(map(all_finite, gradients.values())):
            break
    return graph.typed(value) if graph.dtype or np.ndim(value) else float(value), gradients


def is_plain(values: Iterable[Value]) -> bool:
    """Whether there are numbers all along, the commonest case."""
    return FLOAT.issuperset(map(type, values))


def plain_gradients(graph: Graph, tape: Sequence[Any], wrt: Iterable[str] | None = None) -> dict[str, float]:
    """The gradients where there are numbers all along."""
    places = graph.names
    adjoints: list[Any] = [None] * len(graph.nodes)
    adjoints[graph.output] = 1.0
    quiet().run(_scalar_backward, graph, tape, adjoints)
    gradients = {}
    for name in graph.free if wrt is None else wrt:
        g = adjoints[places[name]]
        gradients[name] = 0.0 if g is None else g
    return gradients


def gradient_of(tape: Sequence[Any], adjoints: Sequence[Any], i: int) -> Value:
    """The adjoint of node `i` in the shape of its value; 0 where none arrived."""
    if i >= len(tape):
        return 0.0  # a declared input that nothing uses
    adjoint, value = adjoints[i], tape[i]
    if getattr(value, "dtype", None) == SINGLE:
        return np.zeros(np.shape(value), SINGLE)[()] if adjoint is None else np.array(adjoint, dtype=SINGLE)[()]
    if np.ndim(value) == 0:
        return 0.0 if adjoint is None else float(adjoint)
    return np.zeros(np.shape(value)) if adjoint is None else np.array(adjoint, dtype=float)


def checked_names(graph: Graph, names: Iterable[str]) -> list[str]:
    """`names` if all are inputs of the graph, else a `ChainruleError`."""
    names = list(names)
    for name in names:
        if name not in graph.names or not graph.nodes[graph.names[name]].is_leaf:
            inputs = graph.inputs
            hint = did_you_mean(name, inputs) or (f"its inputs are {', '.join(inputs)}" if inputs else None)
            what = "is computed, not an input" if name in graph.names else "is no input of the program"
            raise ChainruleError("name", f"{name} {what}", hint=hint)
    return names


def chosen_inputs(graph: Graph, wrt: Iterable[str] | None, no_grad: Iterable[str] = ()) -> list[str]:
    """The inputs to differentiate by: those of `wrt` (default: all) that require a gradient.

    Raises `ChainruleError` where `wrt` names an input that requires none, because of the program or of `no_grad`.
    """
    frozen = {*checked_names(graph, no_grad), *(n for n in graph.inputs if graph.nodes[graph.names[n]].frozen)}
    chosen = [n for n in graph.inputs if n not in frozen] if wrt is None else checked_names(graph, wrt)
    for name in chosen:
        if name in frozen:
            raise ChainruleError("grad", f"{name} requires no gradient, and its gradient is asked for")
    return chosen


def start_cotangent(graph: Graph, value: Any, cotangent: Any) -> Value:
    """The cotangent that backward starts with: the one given, in the output's shape, or 1 for a scalar."""
    try:
        start = start_shape_check(np.shape(value), cotangent, f"the output {graph.output_name}")
        typed: Value = graph.typed(start)
        return typed
    except ChainruleError as error:
        raise error.located(graph.source, graph.span(graph.output)) from None


def start_shape_check(shape: tuple[int, ...], cotangent: Any, what: str) -> Value:
    """`cotangent` as a value of the given shape, 1 for a scalar without one; PyTorch's errors otherwise."""
    if cotangent is None:
        if not shape:
            return 1.0
        if math.prod(shape) == 1:  # a single element counts as a scalar
            return np.ones(shape)
        raise ChainruleError(
            "grad",
            f"grad can be implicitly created only for scalar outputs; {what} has shape {shape_text(shape)}",
            hint="give a cotangent of that shape, or make it a scalar with sum(…)",
        )
    given = as_value(cotangent, "the cotangent")
    if np.shape(given) != shape:
        raise ChainruleError(
            "shape",
            f"Mismatch in shape: the cotangent has shape {shape_text(np.shape(given))}, {what} {shape_text(shape)}",
        )
    return given


def as_value(given: Any, what: str) -> Value:
    """A number as float, anything else as an array of floats; a `ChainruleError` for what is neither."""
    if type(given) is float:
        return given
    try:
        if given is None:
            raise TypeError
        array = np.asarray(given, dtype=float)
    except (TypeError, ValueError) as error:
        raise ChainruleError("value", f"{what} must be a number or an array of numbers") from error
    return float(array) if array.ndim == 0 else array


def typed_value(graph: Graph, given: Any, name: str) -> Value:
    """An input's value in the graph's type; a `ChainruleError` for what is no number, or too large for that type."""
    value = as_value(given, f"the value of {name}")
    typed: Value = graph.typed(value)
    if graph.dtype is not None and np.any(np.isinf(typed) > np.isinf(value)):
        raise ChainruleError("value", f"the value of {name} is larger than the largest float32, about {graph.largest}")
    return typed


def bound_values(graph: Graph, values: Mapping[str, Any], inputs: Iterable[str] | None = None) -> dict[int, Value]:
    """The values of inputs by place: those given, then the bar's; a `ChainruleError` where one is missing."""
    bound: dict[int, Value] = {}
    absent = False
    places, at = graph.names, graph.at
    for name in graph.inputs if inputs is None else inputs:
        i, given = places[name], values.get(name)
        if given is None:
            given = at.get(name)
        if type(given) is float and graph.dtype is None:
            bound[i] = given
        elif given is not None:
            bound[i] = typed_value(graph, given, name)
        elif graph.nodes[i].op is INPUT:
            absent = True
    if absent and (missing := graph.missing({name: v for name, v in values.items() if v is not None})):
        raise missing_error(graph, missing)
    return bound


def missing_error(graph: Graph, missing: Sequence[str]) -> ChainruleError:
    """The error for inputs without a value."""
    those = ", ".join(missing)
    has = "has" if len(missing) == 1 else "have"
    example = " ".join(f"{name}=…" for name in missing)
    places = [graph.names[name] for name in missing]
    return graph.error("missing", f"{those} {has} no value", *places, hint=f"add {example}")


# --- forward ----------------------------------------------------------------------------------------------------------


def forward(graph: Graph, values: Mapping[str, Any]) -> list[Value]:
    """The value of every node up to the output."""
    tape = _scalar_forward(graph, values)
    if tape is None:
        bound = bound_values(graph, values)
        if is_plain(bound.values()):  # whole numbers are floats now
            places, nodes = graph.names.items(), graph.nodes
            named = {name: bound.get(i, math.nan) for name, i in places if i in bound or nodes[i].op is INPUT}
            tape = _scalar_forward(graph, named)
        if tape is None:
            tape = array_forward(graph, bound)
    return tape


def _scalar_forward(graph: Graph, values: Mapping[str, Any]) -> list[Any] | None:
    """The values on Python's floats; None where an input is none, or an operation has no scalar form."""
    if graph.dtype is not None:
        return None
    tape: list[Any] = []
    value: Any
    for node in graph.nodes[: graph.output + 1]:
        op, args = node.op, node.args
        compute = op.scalar
        if compute is not None:
            try:
                if len(args) == 2:
                    value = compute(tape[args[0]], tape[args[1]])
                elif len(args) == 1:
                    value = compute(tape[args[0]])
                else:
                    value = compute(*[tape[j] for j in args])
            except ARITHMETIC:
                value = op.compute(*[tape[j] for j in args])
        elif op is NUMBER:
            value = node.value
        elif op is INPUT or op is LEAF:
            value = values.get(node.name)  # type: ignore[arg-type]
            if type(value) is not float:
                if value is None:
                    value = graph.at.get(node.name)  # type: ignore[arg-type]
                if value is None and args:
                    value = tape[args[0]]  # its default
                if type(value) is not float:
                    return None
        else:
            return None
        tape.append(value)
    return tape


def array_forward(graph: Graph, bound: Mapping[int, Value]) -> list[Value]:
    """The values by NumPy."""
    tape: list[Any] = []
    for i, node in enumerate(graph.nodes[: graph.output + 1]):
        if node.value is not None:
            tape.append(graph.typed(node.value))
        elif node.op is INPUT or node.op is LEAF:
            tape.append(bound[i] if i in bound else tape[node.args[0]] if node.args else math.nan)
        else:
            tape.append(graph.apply(i, [tape[j] for j in node.args], traced=False))
    return tape


def trace_forward(graph: Graph, leaf: Callable[[int, Node], Any], number: Callable[[float], Any] = float) -> list[Any]:
    """The graph run on whatever `leaf` makes of its inputs and leaves: Tensors, noisy numbers, terms of SymPy.

    `leaf` is called with the place and the node; None from it stands for the leaf's default. `number` makes what the
    program's numbers become.
    """
    tape: list[Any] = []
    for i, node in enumerate(graph.nodes[: graph.output + 1]):
        if node.value is not None:
            tape.append(number(node.value))
        elif node.is_leaf:
            made = leaf(i, node)
            tape.append(tape[node.args[0]] if made is None and node.args else made)
        else:
            tape.append(graph.apply(i, [tape[j] for j in node.args]))
    return tape


# --- backward ---------------------------------------------------------------------------------------------------------


def backward(graph: Graph, tape: Sequence[Any], cotangent: Value, product: Product = chain) -> list[Any]:
    """The adjoint of every node, None where no cotangent arrived: the tape read from the output to the front.

    `product` multiplies cotangents with local derivatives.
    """
    adjoints: list[Any] = [None] * len(tape)
    adjoints[graph.output] = cotangent
    plain = type(cotangent) is float and PLAIN.issuperset(map(type, tape))
    if plain:
        quiet().run(_scalar_backward, graph, tape, adjoints)
    else:
        quiet().run(_array_backward, graph, tape, adjoints, product)
    return adjoints


def _scalar_backward(graph: Graph, tape: Sequence[Any], adjoints: list[Any]) -> None:
    """Backward where everything is a plain number; the commonest rules are followed here, without a call."""
    nodes = graph.nodes
    for i in range(graph.output, -1, -1):
        g = adjoints[i]
        if g is None:
            continue
        node = nodes[i]
        args = node.args
        if not args:
            continue
        rules = node.op.quick if g else None  # a cotangent of 0 needs care
        if rules is None:
            _careful_backward(graph, i, tape, adjoints)
            continue
        j, k = args[0], args[-1]
        x, y, z = tape[j], tape[i], tape[k]
        c = d = None
        try:
            if not nodes[j].constant:
                rule = rules[0]
                c = g * (rule if type(rule) is int else rule(y, x, z) if len(args) == 2 else rule(y, x))
            if len(args) == 2 and not nodes[k].constant:
                rule = rules[1]
                d = g * (rule if type(rule) is int else rule(y, x, z))
        except ARITHMETIC:
            _careful_backward(graph, i, tape, adjoints)
            continue
        if c is not None:
            before = adjoints[j]
            adjoints[j] = c if before is None else before + c
        if d is not None:
            before = adjoints[k]
            adjoints[k] = d if before is None else before + d


def _careful_backward(graph: Graph, i: int, tape: Sequence[Any], adjoints: list[Any]) -> None:
    """The same for node `i` with any rule, any number of inputs, and what is not finite."""
    node = graph.nodes[i]
    xs = [tape[j] for j in node.args]
    for n, j in enumerate(node.args):
        c = None if graph.nodes[j].constant else scalar_cotangent(node.op, n, adjoints[i], tape[i], xs)
        if c is not None:
            before = adjoints[j]
            adjoints[j] = c if before is None else before + c


def _array_backward(graph: Graph, tape: Sequence[Any], adjoints: list[Any], product: Product) -> None:
    """Backward on arrays, or on traced values; broadcasts are undone on the way."""
    nodes = graph.nodes
    for i in range(graph.output, -1, -1):
        g, node = adjoints[i], nodes[i]
        if g is None or not node.args or node.constant or node.op is LEAF:
            continue
        xs = [tape[j] for j in node.args]
        for n, j in enumerate(node.args):
            if nodes[j].constant:
                continue
            try:
                c = cotangent_of(node.op, n, g, tape[i], xs, product)
            except ChainruleError as error:
                raise error.located(graph.source, graph.span(i)) from None
            if c is None:
                continue
            before = adjoints[j]
            adjoints[j] = c if before is None else before + c


def scalar_cotangent(op: Op, n: int, g: float, y: float, xs: Sequence[float]) -> float | None:
    """The cotangent of input `n` where all are plain numbers; None where no gradient flows."""
    rules = op.slopes
    if rules is None:
        vjp = op.vjp(n)
        if vjp is None:
            return None
        try:
            return float(vjp(g, y, *xs))
        except ARITHMETIC:
            return float(vjp(np.float64(g), np.float64(y), *map(np.float64, xs)))
    d: Any = rules[n]
    if type(d) is int:
        return g * d if d else 0.0
    if d is None:
        return None
    if g == 0:
        return 0.0  # a zero cotangent contributes exactly zero
    try:
        return g * (d(y, xs[0], xs[1]) if len(xs) == 2 else d(y, *xs))  # type: ignore[no-any-return]
    except ARITHMETIC:  # nan and inf are NumPy's to give
        d = op.partials[n]  # type: ignore[index]
        return float(g * d(np.float64(y), *map(np.float64, xs)))


def cotangent_of(op: Op, n: int, g: Any, y: Any, xs: Sequence[Any], product: Product = chain) -> Any:
    """The cotangent of input `n`, in its shape; None where no gradient flows. The one place that undoes broadcasts.

    `product` multiplies the cotangent with a local derivative.
    """
    try:
        if op.partials is not None:
            d: Any = op.partials[n]
            if len(xs) == 1 and callable(d):
                return product(g, d(y, xs[0]))  # one input never stretches
            if type(d) is int:
                c = scaled(g, d)
            elif d is None:
                return None
            else:
                c = product(g, d(y, *xs))
        elif (vjp := op.vjp(n)) is not None:
            c = vjp(g, y, *xs)
        else:
            return None
    except ARITHMETIC as error:
        if isinstance(error, np.linalg.LinAlgError):
            raise ChainruleError("value", f"{op.name} has no derivative here: {error}") from error
        if PLAIN.isdisjoint(map(type, (g, y, *xs))):
            raise
        return cotangent_of(op, n, *_by_numpy(g, y, xs))
    x = xs[n]
    try:
        if c.shape == x.shape:
            return c
    except AttributeError:  # one is a plain number
        pass
    return c if np.shape(c) == np.shape(x) else sum_like(c, x)


def _by_numpy(g: Any, y: Any, xs: Sequence[Any]) -> tuple[Any, Any, list[Any]]:
    """Plain numbers as NumPy's, which has nan and inf where Python raises, in the type of the others."""
    types = {v.dtype for v in (g, y, *xs) if hasattr(v, "dtype")}
    number = np.float32 if types == {SINGLE} else np.float64
    g, y, *xs = [number(v) if type(v) in PLAIN else v for v in (g, y, *xs)]
    return g, y, xs

"""Properties that hold for every program: printing and parsing, the ways to run, hostile texts, great size."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from truth import by_sympy, ulps

import chainrule as cr
from chainrule.analysis import analyse
from chainrule.crosscheck import compare
from chainrule.evaluate import value_and_grad
from chainrule.graph import INPUT, Graph
from chainrule.ops import CALLS, INFIX, TABLE
from chainrule.rounding import spread

steady = settings(deadline=None, derandomize=True, max_examples=150, database=None)

# --- random programs --------------------------------------------------------------------------------------------------

NAMES = ("x", "w", "α", "b_1")
UNARY = sorted(name for name, op in CALLS.items() if op.elementwise and op.arity == 1 and op.level == 0)
BINARY = sorted(name for name, op in CALLS.items() if op.elementwise and op.arity == 2 and op.level == 0)
# SymPy evaluates these quickly, whatever they are applied to.
TAME = ("exp", "sin", "cos", "atan", "tanh", "log1p", "sqrt", "sigmoid", "abs", "asinh", "relu")

numbers = st.one_of(
    st.integers(0, 12).map(str),
    st.floats(0, 1e6, allow_subnormal=False).map(repr),
)
leaves = st.one_of(st.sampled_from(NAMES), st.sampled_from(NAMES), numbers)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Expressions made of smaller ones, with and without brackets."""
    operators = st.sampled_from(["+", " - ", "*", "/", "^", "**", " // ", " % ", " < ", " >= ", " == ", " and ", " or "])
    return st.one_of(
        st.builds("{}{}{}".format, inner, operators, inner),
        st.builds("({}){}({})".format, inner, operators, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("-{}".format, inner),
        st.builds("({})".format, inner),
        st.builds("{}({})".format, st.sampled_from(UNARY), inner),
        st.builds("{}({}, {})".format, st.sampled_from(BINARY), inner, inner),
        st.builds("({})²".format, inner),
    )


expressions = st.recursive(leaves, grown, max_leaves=10)
tame_expressions = st.recursive(
    st.sampled_from((*NAMES, "2", "0.75")),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*/"), inner),
        st.builds("{}({})".format, st.sampled_from(TAME), inner),
        st.builds("({})^{}".format, inner, st.sampled_from(("2", "3", "-1"))),
        st.builds("max({}, {})".format, inner, inner),
        st.builds("({} if {} > 0.3 else {})".format, inner, inner, inner),
    ),
    max_leaves=5,
)
values = st.fixed_dictionaries({name: st.floats(-4, 4).map(lambda x: round(x, 3)) for name in NAMES})


@st.composite
def programs(draw: Any) -> str:
    """Several statements, each of which may use those before it, and sometimes a bar."""
    known = list(NAMES)
    statements = []
    for n in range(draw(st.integers(0, 3))):
        statements.append(f"s{n} = {draw(st.recursive(st.sampled_from(known), grown, max_leaves=4))}")
        known.append(f"s{n}")
    statements.append(draw(st.recursive(st.sampled_from(known), grown, max_leaves=4)))
    bar = " | x = 2, w = -0.5, b_1 > 0, α: ()" if draw(st.booleans()) else ""
    text = "; ".join(statements)
    return text + bar if all(name in text for name in NAMES) else text


@st.composite
def graphs(draw: Any) -> Graph:
    """A graph built by hand, each operation with a name, so that what is shared is shared in the text too."""
    graph = Graph()
    for name in NAMES:
        graph.give_name(name, graph.append(INPUT, ()))
    places = list(range(len(NAMES)))
    rows = [op for op in TABLE.values() if op.public and op.elementwise and op.arity and not op.statics]
    for n in range(draw(st.integers(1, 8))):
        op = draw(st.sampled_from(rows))
        args = tuple(draw(st.sampled_from(places)) for _ in range(op.arity))
        graph.give_name(f"n{n}", graph.append(op, args))
        places.append(len(graph.nodes) - 1)
    graph.output = graph.last = places[-1]
    return graph


# --- printing and parsing ---------------------------------------------------------------------------------------------


@steady
@given(programs())
def test_printed_program_parses_to_itself(text):
    program = cr.parse(text)
    assert cr.parse(str(program)) == program


@steady
@given(graphs())
def test_printed_graph_parses_to_itself(graph):
    read = cr.parse(str(graph))
    used = graph.needed()
    assume(all(used[: len(NAMES)]))  # an input that nothing uses has no place in a text
    assert sorted(map(repr, read.canonical())) == sorted(map(repr, graph.canonical()))


@steady
@given(programs(), programs())
def test_different_programs_are_told_apart(one, other):
    a, b = cr.parse(one), cr.parse(other)
    assert (a == b) == (str(a) == str(b))


# --- the ways to run --------------------------------------------------------------------------------------------------


def near(a: float, b: float, rounding: float) -> bool:
    return ulps(a, b) <= 8 or abs(a - b) <= 16 * rounding


@steady
@given(expressions, values)
def test_numbers_and_tensors_agree(text, point):
    program = cr.parse(text)
    point = {name: point[name] for name in program.inputs}
    value, gradients = program.value_and_grad(point)
    leaves = {name: cr.tensor(x, requires_grad=True) for name, x in point.items()}
    output = program.run(leaves).output
    assert ulps(output.item(), value) <= 8 or not math.isfinite(value)
    if output.requires_grad:
        output.backward()
    explained = spread(program, point, gradients, 1.0)
    for name, gradient in gradients.items():
        recorded = 0.0 if leaves[name].grad is None else leaves[name].grad.item()
        assert near(recorded, gradient, float(explained[name])), (name, recorded, gradient)


@steady
@given(graphs(), values)
def test_arrays_are_numbers_side_by_side(graph, point):
    """Running on arrays of length 2 is running twice."""
    other = {name: 0.5 - x for name, x in point.items()}
    both = {name: [point[name], other[name]] for name in NAMES}
    _, together = value_and_grad(graph, both, cotangent=[1, 1])
    for n, single in enumerate((point, other)):
        _, alone = value_and_grad(graph, single)
        explained = spread(graph, single, alone, 1.0)
        for name in NAMES:
            assert near(float(together[name][n]), alone[name], float(explained[name])), name


@settings(steady, max_examples=60)
@given(tame_expressions, values)
def test_numbers_are_sympys(text, point):
    program = cr.parse(text)
    point = {name: point[name] for name in program.inputs}
    analysis = analyse(program, point)
    assume(math.isfinite(analysis.value) and all(map(math.isfinite, analysis.gradients.values())))
    unsure = {name for note in analysis.notes for name in note.undifferentiable}
    names = [name for name in analysis.wrt if name not in unsure]
    explained = spread(program, point, analysis.gradients, 1.0)
    for name, exact in by_sympy(program, point, names).items():
        if exact is not None:
            assert compare(name, (), analysis.gradients[name], None, str(exact), float(explained[name])).verdict == "agrees"


# --- hostile texts ----------------------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [*"+-*/^%@()[]{},;:|=<>!?#'\"\\$&~.…·×÷−√∛²³⁻ⁿᵀ∞π₁ \n\t\u00a0", "**", "//", "<=", ">=", "==", "!=", ".T", "..."]
    + ["if", "else", "and", "or", "not", "x", "w", "e", "xy", "f", "None", "True", "1", "2.5", "1e3", ".5", "2.", "0x1"]
    + ["sin", "sin(", "max(", "sum(", "norm(", "axis=", "keepdims=", "where(", "clip(", "log(", "zeros(", "randn(", "d/dx"]
    + ["（", "）", "＋", "１", "α", "µ", "𝑥", "é", "\u0301", "\u200b", "\ud7ff", "\U0001f600", *sorted(INFIX)]
)
hostile = st.one_of(
    st.text(max_size=40),
    st.lists(PIECES, max_size=14).map("".join),
    st.lists(PIECES, max_size=14).map(" ".join),
)


@settings(steady, max_examples=1500)
@given(hostile)
def test_any_text_is_a_program_or_an_error_with_a_place(text):
    try:
        program = cr.parse(text)
    except cr.ChainruleError as error:
        assert error.message
        assert error.kind in {"syntax", "name", "value", "shape", "missing", "limit"}
        assert error.spans
        assert all(0 <= span.start <= span.end <= len(text) + 1 and span.start <= len(text) for span in error.spans)
        assert error.place.line <= text.count("\n") + 1
    else:
        assert cr.parse(str(program)) == program
        assert program.labels()


@settings(steady, max_examples=500)
@given(st.one_of(hostile, expressions), st.sampled_from(["value", "array"]))
def test_any_program_runs_or_says_why_not(text, kind):
    """Whatever parses also runs, or raises an error of ours."""
    try:
        program = cr.parse(text)
        point = {name: 0.75 if kind == "value" else [0.5, -2.0] for name in program.inputs}
        output = program.run(point).output
        cotangent = None if output.ndim == 0 else [[1.0] * output.size][0]
        if output.requires_grad and output.ndim < 2:
            output.backward(cotangent)
        program.value_and_grad(point, cotangent=cotangent)
    except cr.ChainruleError as error:
        assert error.message


@settings(steady, max_examples=500)
@given(hostile)
def test_any_value_is_read_or_refused(text):
    try:
        cr.parse_value(text)
    except cr.ChainruleError as error:
        assert all(0 <= span.start <= len(text) for span in error.spans)


# --- great size -------------------------------------------------------------------------------------------------------


def run_all_ways(text: str, point: dict[str, float]) -> dict[str, float]:
    """Parse, print, parse again, run on numbers and on Tensors; the gradients."""
    program = cr.parse(text)
    assert cr.parse(str(program)) == program
    value, gradients = program.value_and_grad(point)
    leaves = {name: cr.tensor(x, requires_grad=True) for name, x in point.items()}
    output = program.run(leaves).output
    assert output.item() == value
    output.backward()
    for name, leaf in leaves.items():
        assert leaf.grad.item() == pytest.approx(gradients[name], rel=1e-9)
    return gradients


def test_a_hundred_thousand_terms():
    text = " + ".join(f"{n % 7}*x" if n % 2 else "w" for n in range(100_000))
    assert run_all_ways(text, {"x": 0.5, "w": 2.0}) == {"w": 50_000, "x": sum(n % 7 for n in range(1, 100_000, 2))}


@pytest.mark.parametrize(
    ("text", "gradient"),
    [
        ("(" * 10_000 + "x*x" + ")" * 10_000, 1.0),
        ("-" * 10_000 + "x", 1.0),
        ("-(" * 10_001 + "x" + ")" * 10_001, -1.0),
        ("+" * 10_000 + "x", 1.0),
        ("sin(" * 10_000 + "x" + ")" * 10_000, None),
        ("^".join(["x"] + ["1"] * 10_000), 1.0),
        ("(x - " * 10_000 + "x" + ")" * 10_000, 1.0),
        ("x if x > 0 else " * 10_000 + "-x", 1.0),
        ("x[...]".replace("x", "x", 1) + "[...]" * 10_000, 1.0),
        (" and ".join(["x"] * 10_000) + " or x", None),
        (" < ".join(["x"] * 10_000), None),
    ],
    ids=["brackets", "signs", "signs and brackets", "plus", "calls", "powers", "differences", "conditionals", "indices",
         "logic", "chain of comparisons"],
)  # fmt: skip
def test_ten_thousand_deep(text, gradient):
    program = cr.parse(text)
    assert cr.parse(str(program)) == program
    value, gradients = program.value_and_grad({"x": 0.5})
    output = program.run({"x": 0.5}).output
    assert output.item() == value
    if output.requires_grad:
        output.backward()
    if gradient is not None:
        assert gradients["x"] == gradient


@pytest.mark.parametrize("text", ["(" * 10_000, ")" * 10_000, "[" * 10_000, "x if " * 10_000, "sin(" * 10_000 + "x", "√" * 10_000])
def test_ten_thousand_deep_and_wrong(text):
    with pytest.raises(cr.ChainruleError):
        cr.parse(text)

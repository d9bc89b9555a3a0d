"""Properties that hold for every program: printing and parsing, the ways to run, hostile texts, great size."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
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
    operators = st.sampled_from(["+", " - ", "*", "/", "^", "**", " // ", " % ", " < ", " >= ", " and ", " or "])
    return st.one_of(
        st.builds("{}{}{}".format, inner, operators, inner),
        st.builds("({}){}({})".format, inner, operators, inner),
        st.builds("({} == {})".format, inner, inner),  # in brackets: `x == …` at the start is taken for a slip
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


# Right sides of the first, second, … statement: each may use the names of those before it.
RIGHT_SIDES = [
    st.recursive(st.one_of(st.sampled_from((*NAMES, *(f"s{k}" for k in range(n)))), numbers), grown, max_leaves=4)
    for n in range(4)
]


@st.composite
def programs(draw: Any) -> str:
    """Several statements, and sometimes a bar."""
    count = draw(st.integers(0, 3))
    statements = [f"s{n} = {draw(RIGHT_SIDES[n])}" for n in range(count)] + [draw(RIGHT_SIDES[count])]
    text = "; ".join(statements)
    items = {"x": "x = 2", "w": "w = -0.5", "b_1": "b_1 > 0", "α": "α: ()"}
    bar = [items[name] for name in NAMES if re.search(rf"\b{name}\b", text) and draw(st.booleans())]
    return f"{text} | {', '.join(bar)}" if bar else text


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
    def said(graph):
        """Each operation's name, and what it is applied to."""
        called = [node.name for node in graph.nodes]
        return {node.name: (node.op.name, *[called[j] for j in node.args]) for node in graph.nodes if node.args}

    read = cr.parse(str(graph))
    assert said(read) == said(graph)
    assert read.output_name == graph.output_name


@pytest.mark.parametrize(
    "text",
    [
        "(x == w)",
        "0 < x < 1 <= w",
        "(0 < x) < 1",
        "c = 0 < x; d = x < 1; y = c and d",
        "c = 0 < x; y = c and x < 1",
        "-x^2 + (-x)^2 - (x^w)^x^2",
        "x - (w - x) - x/(w/x)",
        "not (x > 0 or not w)",
        "x if w > 0 else w if x > 0 else (x if x else w)",
        "log(x, 2) + max(x, w, 1) + sum(x, axis=0)",
        "sum(A, axis=[0, 1]) + norm(x, 1, axis=-1, keepdims=True) + softmax(x, axis=None) + var(x, ddof=1)",
        "transpose(A, axes=[1, 0]) + A.T + reshape(x, 2, -1) + diag(A, k=-1)",
        "concat(x, w, axis=1) + stack(x, w, axis=-1) + [x, w]",
        "x[::-1][None, ..., 0] + x[[0, 2]] + x[[[0, 1], [1, 0]]] + A[1:, ::2]",
        "w = const([1, 2]); k = 2*pi; f(x) = k*w[1:][0]*x.T | x = 1e-300, x: (), x > -0.5",
    ],
)
def test_printed_text_parses_to_itself(text):
    program = cr.parse(text)
    assert cr.parse(str(program)) == program


@pytest.mark.parametrize("other", ["w + x", "x - w", "x + w*1", "y = x + w", "x + v", "x + w | x = 1"])
def test_different_programs_are_told_apart(other):
    assert cr.parse("x + w") == cr.parse("(x) + (w)")
    assert cr.parse("x + w") != cr.parse(other)


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


PAIRED = [op for op in TABLE.values() if op.public and op.elementwise and op.arity in (1, 2) and not op.statics]


@pytest.mark.parametrize("inner", PAIRED, ids=lambda op: op.name)
def test_every_pair_of_operations_on_numbers_and_on_arrays(inner):
    """At zeros and ones, where poles, kinks and signed zeros meet: also the same infinities, and nan for nan."""
    for outer in PAIRED:
        graph = Graph()
        graph.give_name("x", graph.append(INPUT, ()))
        graph.give_name("w", graph.append(INPUT, ()))
        middle = graph.append(inner, (0, 1)[: inner.arity])
        graph.output = graph.last = graph.append(outer, (middle, 0)[: outer.arity])
        for x in (0.0, -0.0, 1.0):
            _, alone = value_and_grad(graph, {"x": x, "w": 0.5})
            _, together = value_and_grad(graph, {"x": [x, x], "w": [0.5, 0.5]}, cotangent=[1, 1])
            for name in ("x", "w"):
                a, b = alone[name], float(together[name][0])
                assert ulps(a, b) <= 8 or a == pytest.approx(b, rel=1e-9, abs=1e-9), (str(graph), x, name, a, b)


@pytest.mark.parametrize("text", ["1/x", "digamma(w)/x", "x // w / x", "w/(x*w)", "y = w if x == 0 else w/0"])
def test_division_by_zero_never_raises(text):
    program, point = cr.parse(text), {"x": 0.0, "w": 2.0}
    value, gradients = program.value_and_grad(point)
    output = program.run(point).output
    assert ulps(output.item(), value) == 0
    output.backward()
    assert all(moved >= 0 for moved in spread(program, point, gradients, 1.0).values())


@settings(steady, max_examples=60)
@given(tame_expressions, values)
def test_numbers_are_sympys(text, point):
    program = cr.parse(text)
    point = {name: point[name] for name in program.inputs}
    assume(all(point.values()))  # at 0 SymPy meets complex infinities
    analysis = analyse(program, point)
    assume(math.isfinite(analysis.value) and all(map(math.isfinite, analysis.gradients.values())))
    unsure = {name for note in analysis.notes for name, _ in note.undifferentiable}
    names = [name for name in analysis.wrt if name not in unsure]
    explained = spread(program, point, analysis.gradients, 1.0)
    for name, exact in by_sympy(program, point, names).items():
        if exact is not None:
            noise = float(explained[name])
            verdict, *_ = compare(analysis.gradients[name], mpmath.nstr(exact, 30), noise)
            assert verdict == "agrees", (name, analysis.gradients[name], exact)


# --- hostile texts ----------------------------------------------------------------------------------------------------

WORDS = (
    "** // <= >= == != .T ... if else and or not x w e xy f None True 1 2.5 1e3 .5 2. 0x1 sin sin( max( sum( norm( "
    "axis= keepdims= where( clip( log( zeros( randn( d/dx （ ） ＋ １ α µ 𝑥 é \u0301 \u200b \ud7ff \U0001f600"
)
SIGNS = "+-*/^%@()[]{},;:|=<>!?#'\"\\$&~.…·×÷−√∛²³⁻ⁿᵀ∞π₁ \n\t\u00a0"
PIECES = st.sampled_from([*SIGNS, *WORDS.split(), *sorted(INFIX)])


def damaged(text: str, place: float, removed: int, piece: str) -> str:
    """A text with a few characters replaced at a place from 0 to 1."""
    at = int(place * len(text))
    return text[:at] + piece + text[at + removed :]


hostile = st.one_of(
    st.text(max_size=40),
    st.builds(damaged, programs(), st.floats(0, 1), st.integers(0, 3), PIECES),
    st.lists(PIECES, max_size=14).map("".join),
    st.lists(PIECES, max_size=14).map(" ".join),
)


def attempt(run: Callable[[], Any]) -> tuple[Any, cr.ChainruleError | None]:
    """The result, or the error of ours; any other error ends the test."""
    try:
        return run(), None
    except cr.ChainruleError as error:
        return None, error


@settings(steady, max_examples=1500)
@given(hostile)
def test_any_text_is_a_program_or_an_error_with_a_place(text):
    program, error = attempt(lambda: cr.parse(text))
    if error is None:
        assert cr.parse(str(program)) == program
        assert program.labels()
        return
    assert error.message
    assert error.kind in {"syntax", "name", "value", "shape", "missing", "limit"}
    assert error.spans
    assert all(0 <= span.start <= span.end <= len(text) + 1 and span.start <= len(text) for span in error.spans)
    assert error.place.line <= text.count("\n") + 1


@settings(steady, max_examples=500)
@given(st.one_of(hostile, expressions), st.sampled_from([0.75, [0.5, -2.0]]))
def test_any_program_runs_or_says_why_not(text, value):
    def run() -> None:
        program = cr.parse(text)
        point = dict.fromkeys(program.inputs, value)
        output = program.run(point).output
        cotangent = np.ones(output.shape)
        if output.requires_grad:
            output.backward(cotangent)
        program.value_and_grad(point, cotangent=cotangent)

    _, error = attempt(run)
    assert error is None or error.message


@settings(steady, max_examples=500)
@given(hostile)
def test_any_value_is_read_or_refused(text):
    value, error = attempt(lambda: cr.parse_value(text))
    assert error is not None or np.asarray(value).dtype == float
    assert error is None or all(0 <= span.start <= len(text) for span in error.spans)


@pytest.mark.parametrize(
    "text",
    ["0 @ 0", "[1, 2] + [1, 2, 3]", "[1][5]", "sum(1, axis=3)", "[1, 2][::0]", "norm([], inf)", "sum([1], axis=1e30)"],
)
def test_constant_that_does_not_fit_is_refused(text):
    with pytest.raises(cr.ChainruleError):
        cr.parse_value(text)
    with pytest.raises(cr.ChainruleError):
        cr.parse(f"x | x = {text}")
    with pytest.raises(cr.ChainruleError):
        cr.parse(text).value_and_grad({})


@pytest.mark.parametrize("text", ["x[0 @ 0]", "zeros(0 @ 0)", "norm(x, [1][5])"])
def test_static_parameter_that_does_not_fit_is_refused(text):
    with pytest.raises(cr.ChainruleError):
        cr.parse(text)


def test_mean_of_nothing_is_nan_without_a_warning():
    assert math.isnan(cr.parse_value("mean([])"))


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
        ("x" + "[...]" * 10_000, 1.0),
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


@pytest.mark.parametrize(
    "text", ["(" * 10_000, ")" * 10_000, "[" * 10_000, "x if " * 10_000, "sin(" * 10_000 + "x", "√" * 10_000]
)
def test_ten_thousand_deep_and_wrong(text):
    with pytest.raises(cr.ChainruleError):
        cr.parse(text)

"""The record of a run's steps: its numbers are the engine's, its sums are whole, its order is the engine's."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictured import CASES, LONG_SUM, TERMS

import chainrule as cr
from chainrule.analysis import analyse
from chainrule.collapse import FEWEST, parts
from chainrule.formulas import local_formula
from chainrule.latex import expression_latex, name_latex
from chainrule.modes import watch, watch_backward
from chainrule.ops import TABLE
from chainrule.ops.base import chain, quietly
from chainrule.steps import Steps, backward_graph, steps_of

cases = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def steps(text: str, **values) -> Steps:
    return steps_of(lambda: analyse(cr.parse(text), values))


def close(a, b) -> bool:
    return np.allclose(np.asarray(a, float), np.asarray(b, float), rtol=1e-12, atol=1e-300, equal_nan=True)


def same(a, b) -> bool:
    return np.array_equal(np.asarray(a, float), np.asarray(b, float), equal_nan=True)


@cases
def test_numbers_are_those_of_the_engine(case):
    """Every node's gradient is what `retain_grad` keeps there, and the edges' numbers add up to it."""
    made, kept = case.steps(), case.analysis(retain="all")
    assert made.rows[made.output].name == kept.output
    for row, gradient, other in zip(made.rows, made.gradients, kept.nodes, strict=True):
        assert row[:4] == other[:4] if row.value is None else same(row.value, other.value)
        assert (gradient is None) == (other.grad is None)
        assert gradient is None or same(gradient, other.grad)
    if made.analysis.missing:
        return
    arrived: dict[int, object] = {}
    for e in made.backward:
        edge = made.edges[e]
        arrived[edge.input] = edge.product if edge.input not in arrived else np.add(arrived[edge.input], edge.product)
        assert same(edge.total, arrived[edge.input])
        if edge.local is not None:
            with quietly():
                whole = chain(made.gradients[edge.node], edge.local)  # 0 times inf is 0 here
            assert close(np.sum(whole), np.sum(edge.product))
    assert all(same(made.gradients[row], total) for row, total in arrived.items())
    assert (
        made.gradients[made.output] is None or made.analysis.cotangent is not None or made.gradients[made.output] == 1
    )


@cases
def test_order_is_the_engines(case):
    """The youngest node first, each one once."""
    visited = [row for row, _ in case.steps().visits()]
    assert visited
    assert all(a > b for a, b in pairwise(visited))


def test_by_hand():
    made = steps("a = x + w; b = w + 1; y = a*b", x=2, w=1)
    assert [(row.name, g) for row, g in zip(made.rows, made.gradients, strict=True)] == [
        ("x", 2), ("w", 5), ("a", 2), ("b", 3), ("y", 1)
    ]  # fmt: skip
    seen = [(made.rows[e.node].name, made.rows[e.input].name, e.local, e.product, e.total)
            for e in (made.edges[i] for i in made.backward)]  # fmt: skip
    assert seen == [
        ("y", "a", 2, 2, 2), ("y", "b", 3, 3, 3), ("b", "w", 1, 3, 3), ("a", "x", 1, 2, 2), ("a", "w", 1, 2, 5)
    ]  # fmt: skip
    assert [edge.formula.text() for edge in made.edges] == ["1", "1", "1", "b", "a"]


def test_kinds():
    made = steps("u = detach(x*x); k = const(3); y = u*x + k + floor(2*pi)", x=2)
    assert dict(zip([row.name for row in made.rows], made.kinds, strict=True)) == {
        "x": "leaf", "v1": "operation", "u": "detached", "k": "constant", "v2": "operation", "v3": "operation",
        "y": "operation",
    }  # fmt: skip
    assert {e.flows for e in made.inputs(2)} == {False}


def test_without_values():
    made = steps("y = sin(x^2)*w")
    assert [made.rows[made.edges[e].input].name for e in made.backward] == ["v2", "w", "v1", "x"]
    assert [e.law for e in made.edges] == ["power rule", "derivative of sin", "product rule", "product rule"]
    assert [e.formula.text() for e in made.edges] == ["2*x", "cos(v1)", "w", "v2"]
    assert {e.local for e in made.edges} == {None}


@pytest.mark.parametrize(
    ("text", "laws"),
    [
        ("x + w", {"sum rule"}),
        ("x - w", {"difference rule"}),
        ("x*w", {"product rule"}),
        ("3*x", {"constant multiple rule"}),
        ("-x", {"constant multiple rule"}),
        ("x/w", {"quotient rule"}),
        ("x/2", {"constant multiple rule"}),
        ("2/x", {"reciprocal rule"}),
        ("x^3", {"power rule"}),
        ("2^x", {"exponential rule"}),
        ("x^w", {"generalized power rule"}),
        ("sin(x)", {"derivative of sin"}),
        ("log(x, b)", {"derivative of log"}),
    ],
)
def test_laws(text, laws):
    assert {edge.law for edge in steps(text).edges} == laws


# Their formulas are too long, or use functions that people cannot call.
TOO_LONG = ("gelu", "silu", "sinc", "atan2", "erf", "erfc", "erfinv", "digamma")


@pytest.mark.parametrize("op", [op for op in TABLE.values() if op.elementwise and op.public], ids=lambda op: op.name)
def test_formula_is_the_derivative(op):
    """A formula, evaluated as an expression, is the local derivative at a point of the domain."""
    point = [max(lo, -3.0) + 0.6180339 * (min(hi, 3.0) - max(lo, -3.0)) for lo, hi in op.domain]
    for n in range(op.arity):
        formula = local_formula(op, n, list(op.inputs), point)
        vjp = op.vjp(n)
        assert (formula is None) <= (vjp is None or op.name in TOO_LONG)
        if formula is not None:
            value, _ = cr.parse(formula.text(), names=op.inputs).value_and_grad(
                dict(zip(op.inputs, point, strict=True)), ()
            )
            assert value == pytest.approx(vjp(1.0, op(*point), *point), rel=1e-12)


def test_formulas_of_products():
    """With the shapes known, the cotangent's formula is NumPy's: evaluated, it is what backward sent."""
    w, x, g = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5, -1.0]), np.array([3.0, 5.0])
    program = cr.parse("y = w @ x")
    made = steps_of(lambda: analyse(program, {"w": w, "x": x}, cotangent=g))
    by_w, by_x = made.edges
    assert (by_w.formula.text(), by_x.formula.text()) == ("g[..., None]*x", "(w.T @ g[..., None])[..., 0]")
    assert same(by_w.product, g[..., None] * x)
    assert same(by_x.product, (w.T @ g[..., None])[..., 0])


def test_watching_ends():
    with watch_backward() as flows:
        steps("x*x", x=3)
        assert flows == []  # the inner one's own
    assert watch.flows is None
    x = cr.tensor(3.0, requires_grad=True)
    (x * x).backward()
    assert flows == []


def test_backward_graph_is_that_of_next_functions():
    """As PyTorch 2.13 has it for (x + w)*(w + 1): the AccumulateGrad of w is one, a constant's edge is None."""
    made = steps("a = x + w; b = w + 1; y = a*b", x=2, w=1)
    rows = backward_graph(made.analysis)
    assert [row.name for row in rows] == [
        "MulBackward0",
        "AddBackward0",
        "AddBackward0",
        "AccumulateGrad",
        "AccumulateGrad",
    ]
    mul, b, a, *leaves = rows
    assert mul.following == (2, 1)
    assert {rows[i].variable for i in a.following} == {"x", "w"}
    assert b.following[1] is None
    assert rows[b.following[0]].variable == "w"
    assert len({row.variable for row in leaves}) == 2


# --- repeated parts ---------------------------------------------------------------------------------------------------


def test_a_long_sum_collapses():
    made = LONG_SUM.steps()
    assert len(made.rows) == 4 * TERMS
    shown = made.parts(60)
    (several,) = (part for part in shown if len(part.nodes) > 1)
    assert several.repeats == TERMS - 4
    assert len(shown) < 30
    assert [made.rows[part.nodes[0]].name for part in shown[:3]] == ["a0", "v1", "x"]
    assert len(made.parts(0)) == 4 * TERMS


def test_a_loop_collapses():
    """Rounds of several nodes are one pattern."""
    rounds = "; ".join(["x0 = 1.5", *(f"x{i + 1} = (x{i} + c/x{i})/2" for i in range(100))])
    made = steps(rounds, c=2)
    (several,) = (part for part in made.parts(60) if len(part.nodes) > 1)
    assert (several.repeats, len(several.nodes)) == (96, 3 * 96)
    assert made.rows[several.like].name == "x3"


@given(back=st.lists(st.lists(st.integers(1, 6), max_size=2), min_size=1, max_size=40), data=st.data())
def test_parts_hold_every_node_once(back, data):
    inputs = [[i - b for b in those if b <= i] for i, those in enumerate(back)]
    signs = data.draw(st.lists(st.sampled_from("ab"), min_size=len(inputs), max_size=len(inputs)))
    limit = data.draw(st.integers(0, 20))
    made = parts(inputs, signs, len(inputs) - 1, limit)
    assert sorted(i for part in made for i in part.nodes) == list(range(len(inputs)))
    assert any(part.nodes == (len(inputs) - 1,) for part in made)
    if limit == 0 or len(inputs) <= limit:
        assert len(made) == len(inputs)
    if limit > 2:
        assert len(made) <= limit + 2
    alone = {part.nodes[0] for part in made if len(part.nodes) == 1}
    assert all(part.like in alone and part.repeats >= FEWEST - 3 for part in made if part.like is not None)


# --- LaTeX ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "latex"),
    [("x", "x"), ("x_1", r"x_{\mathit{1}}"), ("v12", "v_{12}"), ("loss", r"\mathit{loss}"), ("α", r"\alpha "),
     ("λ_max", r"\lambda _{\mathit{max}}"), ("Ω", r"\Omega "), ("Α", r"\mathrm{A}")],
)  # fmt: skip
def test_names_in_latex(name, latex):
    assert name_latex(name) == latex


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("(x + 1)/w", r"\frac{x + 1}{w}"),
        ("(x + w)^2", r"{\left(x + w\right)}^{2}"),
        ("2*x*(w + 1)", r"2\cdot x\cdot \left(w + 1\right)"),
        ("sqrt(x)*sin(w)", r"\sqrt{x}\cdot \operatorname{sin}(w)"),
        ("abs(x)", r"\left|x\right|"),
        ("1e-7*x", r"1\cdot 10^{-7}\cdot x"),
        ("where(x <= 1, x, w)", r"x\ \text{if}\ x\le 1\ \text{else}\ w"),
        ("A.T @ x", r"A^{\top}\,x"),
        ("x[..., 0]*T", r"x[\ldots , 0]\cdot T"),
    ],
)
def test_expressions_in_latex(text, latex):
    graph = cr.parse(text)
    made = expression_latex(graph, graph.output, own=True, name=lambda i: graph.nodes[i].name)
    assert made.replace(" ", "") == latex.replace(" ", "")

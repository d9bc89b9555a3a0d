"""Checks are checked: each one is shown an error that was planted, and each must not cry wolf."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import mpmath
import pytest
from truth import by_sympy

import chainrule as cr
from chainrule.analysis import analyse
from chainrule.crosscheck import check, compare
from chainrule.notes import Note
from chainrule.ops import TABLE
from chainrule.printing import element_name
from chainrule.rounding import spread

PATIENCE = 60  # seconds; SymPy's process takes about one to start


def noted(text: str, **point: Any) -> list[Note]:
    return analyse(cr.parse(text), point).notes


# --- one number against 30 digits -------------------------------------------------------------------------------------

EXACT = "0.123456789012345678901234567890"
NEAREST = float(EXACT)
SIZES = ["1e-300", "3.3333333333333333333333333e-5", EXACT, "2.718281828459045235360287", "1e300"]


@pytest.mark.parametrize(
    "wrong",
    [NEAREST * (1 + 1e-6), NEAREST * (1 - 1e-12), -NEAREST, 0.0, 1.0, NEAREST * 2, 1 / NEAREST],
)
def test_wrong_number_differs(wrong):
    verdict, digits, _ = compare(wrong, EXACT, math.ulp(0.12))
    assert verdict == "differs"
    assert digits < 13


@pytest.mark.parametrize("exact", SIZES)
def test_correctly_rounded_number_agrees(exact):
    assert compare(float(exact), exact, 0.0) == ("agrees", 15, 0)


def test_noise_excuses_only_so_much():
    noise = 1e-9
    verdict, digits, lost = compare(NEAREST + 2e-9, EXACT, noise)
    assert verdict == "agrees"
    assert digits < 9
    assert lost > 5
    assert compare(NEAREST + 1e-6, EXACT, noise)[0] == "differs"


def test_zero_is_zero():
    assert compare(0.0, "0", 0.0)[0] == "agrees"
    assert compare(1e-9, "0", 0.0)[0] == "differs"


# --- a wrong rule in the graph ----------------------------------------------------------------------------------------


def verdicts(program: cr.Program, point: dict[str, Any], cotangent: Any = None) -> dict[str, str | None]:
    """SymPy's verdict on each derivative; by the input's name with an element's index."""
    checks = check(analyse(program, point, cotangent=cotangent), PATIENCE)
    by = [(*found.derivative.by[0], found.verdict) for found in checks]
    return {f"{name}{list(index) or ''}": verdict for name, index, verdict in by}


def plant(program: cr.Program, name: str, i: int, wrong: Any) -> None:
    """Give the operation called `name` in the program a wrong rule for its input `i`."""
    row = TABLE[name]
    rules = (*row.partials[:i], wrong, *row.partials[i + 1 :])
    nodes = [node for node in program.nodes if node.op is row]
    assert nodes
    for node in nodes:
        node.op = replace(row, partials=rules, vjps=None, slopes=None)


@pytest.mark.parametrize(
    ("text", "name", "i", "wrong"),
    [
        ("sin(x)*w", "sin", 0, lambda y, x: cr.cos(x) * (1 + 1e-6)),
        ("exp(x)*w", "exp", 0, lambda y, x: -y),
        ("x^3*w", "pow", 0, lambda y, x, p: p * x ** (p - 2)),
        ("x/3 + w", "div", 0, 1),
    ],
)
def test_wrong_rule_is_caught(text, name, i, wrong):
    program, point = cr.parse(text), {"x": 0.7, "w": 2.0}
    plant(program, name, i, wrong)
    assert verdicts(program, point) == {"x": "differs", "w": "agrees"}


def test_right_rules_agree():
    program = cr.parse("sin(x)*w + exp(x)^3 + x/3 + digamma(w)")
    assert verdicts(program, {"x": 0.7, "w": 2.5}) == {"x": "agrees", "w": "agrees"}


def test_wrong_rule_is_caught_in_an_array():
    program = cr.parse("sum(sin(x)*w)")
    plant(program, "sin", 0, lambda y, x: cr.cos(x) + 1e-9 * (x > 1))
    found = verdicts(program, {"x": [0.5, 1.5], "w": [1.0, 2.0]})
    assert found == {"x[0]": "agrees", "x[1]": "differs", "w[0]": "agrees", "w[1]": "agrees"}


# --- cancellation is not an error -------------------------------------------------------------------------------------

SEVENTH = "x^7 - 7*x^6 + 21*x^5 - 35*x^4 + 35*x^3 - 21*x^2 + 7*x - 1"


@pytest.mark.parametrize(
    ("text", "x"),
    [
        ("exp(x) - exp(x) + x*1e-10", 30.0),
        (SEVENTH, 1.0001),
        (SEVENTH, 1.01),
        ("(1 - cos(x))/x^2", 1e-7),
        ("log(1 + x) - x", 1e-9),
        ("(x + 1e8) - 1e8 - x + x*1e-9", 0.3),
        ("sqrt(x^2 + 1e-12) - x", 3.0),
        ("sin(x*1e8)^2 + cos(x*1e8)^2 + x*1e-12", 0.7),
    ],
)
def test_cancellation_is_never_called_an_error(text, x):
    program = cr.parse(text)
    _, gradients = program.value_and_grad({"x": x})
    noise = float(spread(program, {"x": x}, gradients, 1.0)["x"])
    exact = mpmath.nstr(by_sympy(program, {"x": x}, ["x"])["x"], 30)
    assert compare(gradients["x"], exact, noise)[0] == "agrees"


def test_lost_digits_are_counted():
    (found,) = check(analyse(cr.parse(SEVENTH), {"x": 1.0001}), PATIENCE)
    assert found.verdict == "agrees"
    assert found.lost > 5


def test_no_verdict_where_there_is_no_derivative():
    assert verdicts(cr.parse("abs(x) + w^2"), {"x": 0.0, "w": 3.0}) == {"x": None, "w": "agrees"}


# --- notes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "point", "kind", "names"),
    [
        ("abs(x) + w", {"x": 0.0, "w": 1.0}, "kink", ("x",)),
        ("relu(x*w)", {"x": 0.0, "w": 2.0}, "kink", ("x",)),
        ("max(x, w)", {"x": 1.0, "w": 1.0}, "tie", ("x", "w")),
        ("min(x, w)", {"x": -2.0, "w": -2.0}, "tie", ("x", "w")),
        ("clip(x, 0, 1)", {"x": 1.0}, "kink", ("x",)),
        ("x if x > 0 else -x", {"x": 0.0}, "boundary", ("x",)),
        ("where(x >= w, x, w)", {"x": 3.0, "w": 3.0}, "boundary", ("x", "w")),
        ("sqrt(x)", {"x": 0.0}, "pole", ("x",)),
        ("x^0.5", {"x": 0.0}, "pole", ("x",)),
        ("hypot(x, w)", {"x": 0.0, "w": 0.0}, "kink", ("x", "w")),
        ("asin(x)", {"x": 1.0}, "pole", ("x",)),
        ("sum(abs(x))", {"x": [1.0, 0.0, -1.0]}, "kink", ("x[1]",)),
    ],
)
def test_conventions_are_noted(text, point, kind, names):
    edge, sides = noted(text, **point)
    assert (edge.kind, sides.kind) == (kind, "sides")
    assert tuple(element_name(*element) for element in sides.undifferentiable) == names
    assert text[edge.span.start : edge.span.end]


@pytest.mark.parametrize(
    ("text", "point"),
    [
        ("abs(x) + w", {"x": 1e-300, "w": 1.0}),
        ("abs(x)*w", {"x": 0.0, "w": 0.0}),
        ("max(x, w)", {"x": 1.0, "w": 1.5}),
        ("sqrt(x)", {"x": 1e-300}),
        ("x^3", {"x": 0.0}),
        ("sum(relu(x))", {"x": [1.0, -1.0]}),
        ("detach(abs(x)) + x", {"x": 0.0}),
    ],
    ids=str,
)
def test_nothing_is_noted_where_nothing_is_odd(text, point):
    assert noted(text, **point) == []


def test_both_sides_of_a_kink_are_told():
    _, note = noted("3*abs(x)", x=0.0)
    assert note.text == "dy/dx is -3 from the left, is 3 from the right, and 0 by convention"


@pytest.mark.parametrize(
    ("text", "point", "said"),
    [
        ("abs(x) + abs(x)", 0.0, "is -2 from the left, is 2 from the right, and 0 by convention"),
        ("relu(x) + min(x, 0)", 0.0, "is 1 from both sides, but the conventions used give 0.5"),
        ("sqrt(x^2)", 0.0, "is -1 from the left, is 1 from the right"),
        ("sqrt(x)", 0.0, "does not exist from the left, is inf from the right, and inf by convention"),
        ("x if x < 1 else x + 5", 1.0, "jumps at x = 1"),
        ("floor(x)*x", 2.0, "jumps at x = 2"),
        ("max(x, e^x - 1, ((x+1)^2-1)/2) + abs(x)", 0.0, "is 0 from the left, is 2 from the right"),
    ],
)
def test_sides_are_those_of_the_whole_program(text, point, said):
    assert said in noted(text, x=point)[-1].text
    assert verdicts(cr.parse(text), {"x": point}) == {"x": None}


@pytest.mark.parametrize("text", ["abs(x) - abs(x)", "x^2 if x > 0 else x^3", "max(x, 0) - max(-x, 0)", "abs(x)^3"])
def test_sides_that_agree_are_no_remark(text):
    assert noted(text, x=0.0) == []


def test_kinks_of_large_arrays_are_noted_without_a_look_at_the_sides():
    (note,) = noted("sum(relu(x))", x=[0.0] * 80_000)
    assert note.text.endswith("at 80000 of its elements; the derivative there is a convention")
    assert len(note.undifferentiable) == 80_000


@pytest.mark.parametrize("text", ["x % 0", "x // 0", "5 // (x - x)", "erfinv(x)/(x - x)", "digamma(x)/0"])
def test_division_by_zero_is_told_and_never_raises(text):
    assert noted(text, x=0.5)[0].kind == "non-finite"


@pytest.mark.parametrize(
    ("text", "point", "first"),
    [
        ("exp(log(x)) + w", {"x": -1.0, "w": 2.0}, "log(x)"),
        ("2*(exp(x*w) - 2)", {"x": 1000.0, "w": 1.0}, "exp(x*w)"),
        ("w + (x - 1)^0.5*2", {"x": 0.0, "w": 1.0}, "(x - 1)^0.5"),
        ("x/w + 1", {"x": 1.0, "w": 0.0}, "x/w"),
        ("sum(sqrt(x))", {"x": [4.0, -4.0]}, "sqrt(x)"),
    ],
)
def test_first_value_that_is_not_finite_is_named(text, point, first):
    note = noted(text, **point)[0]
    assert note.kind == "non-finite"
    assert text[note.span.start : note.span.end] == first

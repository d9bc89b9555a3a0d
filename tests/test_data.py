"""Expressions from real life: formulas of physics, and test functions of optimisation up to 7 kB long."""

from __future__ import annotations

import random
from typing import Any

import mpmath
import pytest
from truth import by_sympy, recorded

import chainrule as cr
from chainrule.rounding import spread

FEYNMAN = recorded("feynman.jsonl")
FUNCTIONS = recorded("test_functions.jsonl")
LONG = 1000  # characters; SymPy takes its time from here on

feynman = pytest.mark.parametrize("row", FEYNMAN, ids=[row["id"] for row in FEYNMAN])
functions = pytest.mark.parametrize("row", FUNCTIONS, ids=[row["id"] for row in FUNCTIONS])
RECORDED_AT = pytest.mark.parametrize(
    ("point", "value", "gradient"),
    [("x0", "f_at_x0", "grad_at_x0_source"), ("point2", "f_at_point2", "grad_at_point2_source")],
    ids=["x0", "point2"],
)


def near(got: float, expected: Any, rounding: float = 0.0) -> bool:
    """Whether both agree to 12 digits, beyond what rounding explains."""
    with mpmath.workdps(40):
        return abs(mpmath.mpf(got) - expected) <= 1e-12 * abs(expected) + 8 * rounding


def check_by_sympy(program: cr.Program, values: dict[str, float], wrt: list[str]) -> None:
    _, gradients = program.value_and_grad(values, wrt)
    explained = spread(program, values, gradients, 1.0)
    for name, exact in by_sympy(program, values, wrt).items():
        assert exact is not None
        assert near(gradients[name], exact, float(explained[name])), (name, values, gradients[name], exact)


# --- physics ----------------------------------------------------------------------------------------------------------


def equation(row: dict[str, Any]) -> cr.Program:
    return cr.parse(f"{row['output']} = {row['formula']}")


@feynman
def test_equation_at_its_point(row):
    program = equation(row)
    assert set(program.inputs) == set(row["vars"])
    assert program.output_name == row["output"]
    value, gradients = program.value_and_grad(row["point"])
    assert near(value, row["value"])
    assert gradients.keys() == row["gradients"].keys()
    assert all(near(gradients[name], expected) for name, expected in row["gradients"].items())


def drawn(row: dict[str, Any], count: int) -> list[dict[str, float]]:
    """Points in the recorded ranges, the same at every run."""
    generator = random.Random(row["id"])
    return [{name: generator.uniform(*ends) for name, ends in row["vars"].items()} for _ in range(count)]


@feynman
def test_equation_where_drawn(row):
    for point in drawn(row, 1):
        check_by_sympy(equation(row), point, list(row["vars"]))


@pytest.mark.full
@feynman
def test_equation_at_many_points(row):
    for point in drawn(row, 20):
        check_by_sympy(equation(row), point, list(row["vars"]))


# --- test functions ---------------------------------------------------------------------------------------------------


@functions
@RECORDED_AT
def test_function_by_its_hand_derived_gradient(row, point, value, gradient):
    program = cr.parse(row["formula"])
    at = dict(zip(row["vars"], row[point], strict=True))
    assert set(program.inputs) == set(row["vars"])
    got, gradients = program.value_and_grad(at)
    explained = spread(program, at, gradients, 1.0)
    assert near(got, row[value])
    for name, expected in zip(row["vars"], row[gradient], strict=True):
        assert near(gradients[name], expected, float(explained[name])), (name, gradients[name], expected)


@functions
@RECORDED_AT
def test_function_on_tensors(row, point, value, gradient):
    leaves = {name: cr.tensor(x, requires_grad=True) for name, x in zip(row["vars"], row[point], strict=True)}
    program = cr.parse(row["formula"])
    program.run(leaves).output.backward()
    values = {name: leaf.item() for name, leaf in leaves.items()}
    _, gradients = program.value_and_grad(values)
    explained = spread(program, values, gradients, 1.0)
    assert all(near(leaves[name].grad.item(), gradients[name], float(explained[name])) for name in row["vars"])


@pytest.mark.parametrize("row", [row for row in FUNCTIONS if len(row["formula"]) < LONG], ids=lambda row: row["id"])
def test_short_function_by_sympy(row):
    check_by_sympy(cr.parse(row["formula"]), dict(zip(row["vars"], row["point2"], strict=True)), row["vars"])


@pytest.mark.full
@pytest.mark.parametrize("row", [row for row in FUNCTIONS if len(row["formula"]) >= LONG], ids=lambda row: row["id"])
def test_long_function_by_sympy(row):
    values = dict(zip(row["vars"], row["point2"], strict=True))
    check_by_sympy(cr.parse(row["formula"]), values, [row["vars"][0], row["vars"][-1]])


@functions
def test_function_survives_printing(row):
    program = cr.parse(row["formula"])
    assert cr.parse(str(program)) == program

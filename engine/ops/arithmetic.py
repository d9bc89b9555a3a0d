"""The operators, and the functions that compare, choose and round."""

from __future__ import annotations

import functools
import math
import operator
from typing import Any

import numpy as np

from .base import POSITIVE, REAL, Edge, Interval, Op, kink
from .traced import Traced

# Precedence of the infix forms, loosest first (the language's table of operators).
CONDITIONAL, OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, POWER, POSTFIX = range(1, 11)


def is_constant(x: Any) -> bool:
    """Whether an argument is a plain number or array, which PyTorch's names treat as part of the operation."""
    return not isinstance(x, Traced)


def _product_law(x: Any, y: Any) -> str:
    return "constant multiple rule" if is_constant(x) or is_constant(y) else "product rule"


def _quotient_law(x: Any, y: Any) -> str:
    return "constant multiple rule" if is_constant(y) else "reciprocal rule" if is_constant(x) else "quotient rule"


add: Op = Op(
    "add",
    np.add,
    "the sum",
    (1, 1),
    scalar=operator.add,
    sympy=lambda sp, x, y: x + y,
    law="sum rule",
    infix="+",
    level=SUM,
)
sub: Op = Op(
    "sub",
    np.subtract,
    "the difference",
    (1, -1),
    scalar=operator.sub,
    sympy=lambda sp, x, y: x - y,
    grad_fn=lambda x, y: "RsubBackward1" if is_constant(x) else "SubBackward0",
    law="difference rule",
    infix="-",
    level=SUM,
)
mul: Op = Op(
    "mul",
    np.multiply,
    "the product",
    (lambda z, x, y: y, lambda z, x, y: x),
    scalar=operator.mul,
    sympy=lambda sp, x, y: x * y,
    law=_product_law,
    infix="*",
    level=PRODUCT,
)
div: Op = Op(
    "div",
    np.true_divide,
    "the quotient",
    (lambda z, x, y: 1.0 / y, lambda z, x, y: -z / y),
    scalar=operator.truediv,
    sympy=lambda sp, x, y: x / y,
    law=_quotient_law,
    domain=(REAL, POSITIVE),
    edges=(
        Edge(
            "pole", "y = 0", lambda x, y: y == 0, (1, 0), (math.inf, -math.inf), (-math.inf,) * 2, (math.inf, -math.inf)
        ),
    ),
    infix="/",
    level=PRODUCT,
)
floordiv: Op = Op(
    "floordiv",
    np.floor_divide,
    "the quotient rounded down, as Python's //",
    (0, 0),
    sympy=lambda sp, x, y: sp.floor(x / y),
    domain=(POSITIVE, POSITIVE),
    edges=(Edge("jump", "x/y an integer", lambda x, y: x == y * np.floor(x / y), (4, 2), (0, 0), (0, 0), (0, 0)),),
    grad_fn="FloorDivideBackward0",
    infix="//",
    level=PRODUCT,
)
mod: Op = Op(
    "mod",
    np.remainder,
    "the remainder with the sign of y, as Python's %",
    (1, lambda z, x, y: -floordiv(x, y)),
    sympy=lambda sp, x, y: x - y * sp.floor(x / y),
    domain=(POSITIVE, POSITIVE),
    edges=(Edge("jump", "x/y an integer", lambda x, y: x == y * np.floor(x / y), (4, 2), (1, -2), (1, -1), (1, -2)),),
    grad_fn="RemainderBackward1",
    infix="%",
    level=PRODUCT,
)
neg: Op = Op(
    "neg",
    np.negative,
    "the negative",
    (-1,),
    scalar=operator.neg,
    sympy=lambda sp, x: -x,
    law="constant multiple rule",
    infix="-",
    level=SIGN,
    exact=True,
)


identity: Op = Op(
    "identity",
    np.positive,
    "its argument: another name for a node",
    (1,),
    scalar=operator.pos,
    sympy=lambda sp, x: x,
    grad_fn="AliasBackward0",
    public=False,
    exact=True,
)


# --- comparisons and logic: 1 or 0, without gradient ----------------------------------------------------------------


def _ones(truth: Any, *xs: Any) -> Any:
    """1 where something holds, else 0, in the floating type of what was compared."""
    return np.asarray(truth, dtype=np.result_type(np.float32, *xs))[()]


def _relation(name: str) -> Any:
    """SymPy's relation as a number, 1 where it holds."""
    return lambda sp, x, y: _number(sp, getattr(sp, name)(x, y))


def _number(sp: Any, truth: Any) -> Any:
    return sp.Piecewise((sp.Integer(1), truth), (sp.Integer(0), True))


def truth(sp: Any, x: Any) -> Any:
    """The condition behind a number that a comparison gave; any other number is true where it is not 0."""
    if isinstance(x, sp.Piecewise) and len(x.args) == 2 and [e for e, _ in x.args] == [1, 0]:
        return x.args[0][1]
    return sp.Ne(x, 0)


def _comparison(name: str, forward: Any, scalar: Any, infix: str, sympy: str, doc: str) -> Op:
    # Where both sides are equal, what the comparison chooses between may have a kink or a jump.
    boundary = Edge("boundary", "x = y", lambda x, y: x == y, (1, 1), (), (), ())
    return Op(
        name,
        lambda x, y: _ones(forward(x, y), x, y),
        doc,
        (None, None),
        scalar=lambda x, y: 1.0 if scalar(x, y) else 0.0,
        sympy=_relation(sympy),
        numpy=(forward,),
        edges=(boundary,),
        infix=infix,
        level=COMPARISON,
    )


lt = _comparison("lt", np.less, operator.lt, "<", "Lt", "1 where x < y, else 0")
le = _comparison("le", np.less_equal, operator.le, "<=", "Le", "1 where x <= y, else 0")
gt = _comparison("gt", np.greater, operator.gt, ">", "Gt", "1 where x > y, else 0")
ge = _comparison("ge", np.greater_equal, operator.ge, ">=", "Ge", "1 where x >= y, else 0")
eq = _comparison("eq", np.equal, operator.eq, "==", "Eq", "1 where x equals y, else 0")
ne = _comparison("ne", np.not_equal, operator.ne, "!=", "Ne", "1 where x differs from y, else 0")
and_: Op = Op(
    "and",
    lambda x, y: _ones(np.logical_and(x, y), x, y),
    "1 where both are not 0, else 0",
    (None, None),
    scalar=lambda x, y: 1.0 if x and y else 0.0,
    sympy=lambda sp, x, y: _number(sp, sp.And(truth(sp, x), truth(sp, y))),
    infix="and",
    level=AND,
)
or_: Op = Op(
    "or",
    lambda x, y: _ones(np.logical_or(x, y), x, y),
    "1 where either is not 0, else 0",
    (None, None),
    scalar=lambda x, y: 1.0 if x or y else 0.0,
    sympy=lambda sp, x, y: _number(sp, sp.Or(truth(sp, x), truth(sp, y))),
    infix="or",
    level=OR,
)
not_: Op = Op(
    "not",
    lambda x: _ones(np.logical_not(x), x),
    "1 where x is 0, else 0",
    (None,),
    scalar=lambda x: 0.0 if x else 1.0,
    sympy=lambda sp, x: _number(sp, sp.Not(truth(sp, x))),
    infix="not",
    level=NOT,
)


# --- choosing: the cotangent goes where the value came from ----------------------------------------------------------


def _select(c: Any, a: Any, b: Any) -> Any:
    return np.where(np.not_equal(c, 0), a, b)


def _chosen(choice: Any) -> Any:
    """A choice among numbers, in the type of all: a float where there is one."""

    def scalar(*xs: Any) -> Any:
        found = choice(*xs)
        return found if type(found) is float or float not in map(type, xs) else float(found)

    return scalar


where: Op = Op(
    "where",
    _select,
    "a where c is not 0, else b",
    numpy=(np.where,),
    vjps=(None, lambda g, y, c, a, b: where(c, g, 0), lambda g, y, c, a, b: where(c, 0, g)),
    scalar=_chosen(lambda c, a, b: a if c else b),
    sympy=lambda sp, c, a, b: sp.Piecewise((a, truth(sp, c)), (b, True)),
    elementwise=True,
    signature="c, a, b",
    exact=True,
)


def _winner(better: Any) -> tuple[Any, Any]:
    """Rules of maximum and minimum: the cotangent goes to the winner, a tie splits it evenly."""
    return (
        lambda g, z, x, y: where(better(x, y), g, where(x == y, g / 2, 0)),
        lambda g, z, x, y: where(better(y, x), g, where(x == y, g / 2, 0)),
    )


maximum: Op = Op(
    "maximum",
    np.maximum,
    "the larger of both; max(x, y, …) takes any number, and all that are largest share the derivative evenly",
    vjps=_winner(operator.gt),
    scalar=_chosen(lambda x, y: y if y > x or y != y else x),
    sympy=lambda sp, x, y: sp.Max(x, y),
    edges=(Edge("tie", "x = y", lambda x, y: x == y, (1, 1), (0.5, 0.5), (0, 1), (1, 0)),),
    elementwise=True,
    aliases=("Max",),
    overloads="max",
    exact=True,
)
minimum: Op = Op(
    "minimum",
    np.minimum,
    "the smaller of both; min(x, y, …) takes any number, and all that are smallest share the derivative evenly",
    vjps=_winner(operator.lt),
    scalar=_chosen(lambda x, y: y if y < x or y != y else x),
    sympy=lambda sp, x, y: sp.Min(x, y),
    edges=(Edge("tie", "x = y", lambda x, y: x == y, (1, 1), (0.5, 0.5), (1, 0), (0, 1)),),
    elementwise=True,
    aliases=("Min",),
    overloads="min",
    exact=True,
)


def _most(better: Any, forward: Any, symbolic: str, which_one: str) -> Op:
    """The row of maximum or minimum of three arguments or more: all that are best share the cotangent evenly."""

    def rule(g: Any, y: Any, *xs: Any, which: int = 0) -> Any:
        shares = sum(where(x == y, 1, 0) for x in xs)
        return where(xs[which] == y, g / shares, 0)

    return Op(
        f"{better.name}_of_many",
        lambda *xs: functools.reduce(forward, xs),
        f"the {which_one} of its arguments",
        vjps=(rule,),
        scalar=lambda *xs: functools.reduce(better.scalar, xs),
        sympy=lambda sp, *xs: getattr(sp, symbolic)(*xs),
        edges=(Edge("tie", f"two {which_one} arguments", functools.partial(_tied, forward), (1, 1, 1), (), (), ()),),
        grad_fn=f"{better.name.capitalize()}Backward0",
        elementwise=True,
        signature="*xs",
        overloads=better.overloads,
        aliases=(better.name, *better.aliases),
        public=False,
        exact=True,
    )


def _tied(forward: Any, *xs: Any) -> Any:
    best = functools.reduce(forward, xs)
    return sum(np.equal(x, best) * 1 for x in xs) > 1


max_of_many = _most(maximum, np.maximum, "Max", "largest")
min_of_many = _most(minimum, np.minimum, "Min", "smallest")
clip: Op = Op(
    "clip",
    np.clip,
    "x held between lo and hi",
    vjps=(
        lambda g, y, x, lo, hi: where((x >= lo) & (x <= hi), g, 0),
        lambda g, y, x, lo, hi: where((x < lo) & (lo < hi), g, 0),
        lambda g, y, x, lo, hi: where((x > hi) | (lo >= hi), g, 0),
    ),
    scalar=_chosen(lambda x, lo, hi: x if x != x else min(max(x, lo), hi)),
    sympy=lambda sp, x, lo, hi: sp.Min(sp.Max(x, lo), hi),
    domain=(REAL, Interval(-math.inf, 0), POSITIVE),
    aliases=("clamp",),
    grad_fn="ClampBackward1",
    edges=(
        Edge("kink", "x = lo", lambda x, lo, hi: x == lo, (-1, -1, 1), (1, 0, 0), (0, 1, 0), (1, 0, 0)),
        Edge("kink", "x = hi", lambda x, lo, hi: x == hi, (1, -1, 1), (1, 0, 0), (1, 0, 0), (0, 0, 1)),
    ),
    elementwise=True,
    signature="x, lo, hi",
    exact=True,
)
abs_: Op = Op(
    "abs",
    np.absolute,
    "the absolute value",
    (lambda y, x: sign(x),),
    scalar=abs,
    sympy=lambda sp, x: sp.Abs(x) if getattr(x, "is_extended_real", True) else sp.Piecewise((x, x >= 0), (-x, True)),
    aliases=("Abs",),
    edges=(kink(0, value=0, left=-1, right=1),),
    exact=True,
)
sign: Op = Op(
    "sign",
    np.sign,
    "-1, 0 or 1 as x is negative, zero or positive",
    (0,),
    scalar=lambda x: 1.0 if x > 0 else -1.0 if x < 0 else x * 0.0,
    sympy=lambda sp, x: (
        sp.sign(x) if getattr(x, "is_extended_real", True) else sp.Piecewise((1, x > 0), (-1, x < 0), (0, True))
    ),
    edges=(kink(0, value=0, left=0, right=0, kind="jump"),),
    exact=True,
)
relu: Op = Op(
    "relu",
    lambda x: np.maximum(x, 0),
    "the larger of x and 0",
    vjps=(lambda g, y, x: where(x > 0, g, 0),),
    scalar=lambda x: x if x > 0 or x != x else 0.0,
    sympy=lambda sp, x: sp.Max(x, 0),
    edges=(kink(0, value=0, left=0, right=1),),
    elementwise=True,
    exact=True,
)
heaviside: Op = Op(
    "heaviside",
    lambda x: np.heaviside(x, 0.5),
    "the unit step: 0 below 0, 1 above, 1/2 at 0",
    (0,),
    scalar=lambda x: 1.0 if x > 0 else 0.0 if x < 0 else 0.5 + x * 0.0,
    sympy="Heaviside",
    edges=(kink(0, value=0, left=0, right=0, kind="jump"),),
    exact=True,
)


def _step(name: str, forward: Any, sympy: Any, doc: str, at: str, hit: Any, point: float) -> Op:
    jump = Edge("jump", at, hit, (point,), (0,), (0,), (0,))
    return Op(name, forward, doc, (0,), scalar=lambda x: float(forward(x)), sympy=sympy, edges=(jump,), exact=True)


floor = _step("floor", np.floor, None, "the largest integer not above x", "x an integer", lambda x: x == np.floor(x), 2)
ceil = _step(
    "ceil", np.ceil, "ceiling", "the smallest integer not below x", "x an integer", lambda x: x == np.floor(x), 2
)
round_ = _step(
    "round",
    np.round,
    lambda sp, x: sp.floor(x + sp.Rational(1, 2)),
    "the nearest integer, halves to even",
    "x halfway between integers",
    lambda x: x - np.floor(x) == 0.5,
    0.5,
)

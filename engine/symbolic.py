"""A graph in SymPy: formulas of its derivatives, and their exact values, by a route that uses none of our rules.

The graph is run on terms of SymPy, each operation by the counterpart that its row names; no text is ever given to
SymPy. SymPy differentiates the expression. Arrays are object arrays of terms, one symbol `x[0]` for each element.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter

from .evaluate import trace_forward
from .graph import Graph, Node
from .ops import CONSTANTS, TABLE, Op, arrays
from .ops.traced import Wrapped
from .printing import ascii_name, element_name
from .program import parse

FLOAT_DIGITS = 45  # enough to hold any double exactly relative to its size (53 bits), with room for arithmetic
CHECK_DIGITS = 30


class Term(Wrapped):
    """A term of SymPy, or an object array of them, that the table's rows can be applied to."""

    __slots__ = ()

    def interpret(self, op: Op, xs: tuple[Any, ...]) -> Term:
        """Apply the SymPy counterpart of `op`."""
        return Term(op.by(sp, *[x.value if isinstance(x, Term) else exact(x) for x in xs]))


def exact(x: Any) -> Any:
    """Numbers as exact rationals, whatever their size; arrays elementwise."""
    if np.ndim(x):
        return np.frompyfunc(exact, 1, 1)(np.asarray(x, dtype=object))
    if isinstance(x, sp.Basic):
        return x
    value = float(x)
    if not np.isfinite(value):
        return sp.nan if np.isnan(value) else sp.oo if value > 0 else -sp.oo
    return sp.Rational(repr(value))


def as_double(x: Any) -> Any:
    """A double as a SymPy number that is exactly it, small integers as integers (so that powers stay powers)."""
    value = float(x)
    if value.is_integer() and abs(value) < 2**53:
        return sp.Integer(int(value))
    return sp.Float(value, FLOAT_DIGITS) if np.isfinite(value) else exact(value)


def lower(
    graph: Graph,
    shapes: Mapping[str, tuple[int, ...]],
    *,
    doubles: bool,
    assumptions: Mapping[str, Mapping[str, bool]] | None = None,
) -> tuple[Any, dict[str, Any]]:
    """The output as a term (or an array of terms), and the symbols of each input (or an array of them).

    With `doubles` the program's numbers and constants are the doubles that the engine computes with; otherwise decimals
    are the rationals that they say, and pi is π. Inputs that `shapes` does not know are scalars; `assumptions` are
    SymPy's, by input, besides that all are real.
    """
    symbols: dict[str, Any] = {}

    def leaf(i: int, node: Node) -> Term:
        name = node.name or f"v{i}"
        shape = shapes.get(name, ())
        symbol = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            symbol[index] = sp.Symbol(element_name(name, index), real=True, **(assumptions or {}).get(name, {}))
        symbols[name] = symbol[()] if not shape else symbol
        return Term(symbols[name])

    def convert(v: Any) -> Any:
        return as_double(graph.typed(v)) if doubles else exact(v)

    result = trace_forward(_traced_constants(graph, doubles), leaf, lambda v: Term(convert(v)))[graph.output]
    return (result.value if isinstance(result, Term) else exact(result)), symbols


def _traced_constants(graph: Graph, doubles: bool) -> Graph:
    """The graph with pi and its like as operations that give terms."""
    made = replace(graph, nodes=list(graph.nodes))
    for i, node in enumerate(made.nodes[: graph.output + 1]):
        if node.op.name in CONSTANTS:
            term = Term(as_double(graph.typed(node.op.forward())) if doubles else node.op.by(sp))
            made.nodes[i] = Node(replace(node.op, forward=lambda term=term: term, scalar=None), (), node.span, True)
    return made


def as_written(text: str, names: Sequence[str], *, evaluate: bool) -> Any:
    """A formula of the language as a term that says what the text says: decimals stay decimals.

    Without `evaluate` nothing is ordered or gathered. An element x[0] is a symbol of that name.
    """
    graph = parse(text, names=names)
    leaves: dict[str, Any] = {}

    def leaf(i: int, node: Node) -> Term:
        name = node.name or f"v{i}"
        return Term(
            leaves.setdefault(name, sp.IndexedBase(ascii_name(name), real=True) if i in indexed else _symbol(name))
        )

    def number(value: float) -> Term:
        return Term(sp.Integer(int(value)) if value.is_integer() else sp.Float(repr(value), len(repr(value))))

    indexed = {node.args[0] for node in graph.nodes if node.op.name == arrays.index.name}
    made = _traced_constants(graph, doubles=False)
    for i, node in enumerate(made.nodes):
        if node.op.name == arrays.index.name:
            key = node.op.params["key"]
            element = replace(node.op, forward=lambda x: x, sympy=lambda _, x, key=key: x[key], elementwise=True)
            made.nodes[i] = Node(element, node.args, node.span, False)
    with sp.evaluate(evaluate):
        result = trace_forward(made, leaf, number)[graph.output]
    return result.value if isinstance(result, Term) else exact(result)


def _symbol(name: str) -> Any:
    return sp.Symbol(ascii_name(name), real=True)


def shown(terms: Sequence[Any], form: str, shape: Sequence[int], labels: Sequence[Any]) -> list[str]:
    """Terms as LaTeX, MathML or a picture of characters; a single matrix where `shape` has two axes.

    `labels` are what stands on the left of each: ("y", [("x", 2)]) for d²y/dx²; none where nothing does.
    """
    if len(shape) == 2:
        terms = [sp.ImmutableMatrix(*shape, terms)]
    texts = [FORMS[form](term) for term in terms]
    if form == "mathml":
        signs = [f"{_derivative_mathml(*label)}<mo>=</mo>" for label in labels] or [""] * len(texts)
        head = '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">'
        return [f"{head}<mrow>{sign}{text}</mrow></math>" for sign, text in zip(signs, texts, strict=True)]
    if form == "latex" and labels:
        return [f"{_derivative_latex(*label)} = {text}" for label, text in zip(labels, texts, strict=True)]
    return texts


class _MathML(MathMLPresentationPrinter):  # type: ignore[misc]
    """SymPy's presentation, with choices as a table behind a brace, as XML that needs no entities of HTML's."""

    def doprint(self, expr: Any) -> str:
        """The formula's elements as text."""
        return re.sub(r"&(?!lt;|gt;|amp;)\w+;", lambda found: html.unescape(found[0]), super().doprint(expr))

    def _element(self, tag: str, *children: Any) -> Any:
        made = self.dom.createElement(tag)
        for child in children:
            made.appendChild(self.dom.createTextNode(child) if isinstance(child, str) else child)
        return made

    def _print_Piecewise(self, expr: Any) -> Any:
        rows = []
        for value, condition in expr.args:
            last = condition == True  # noqa: E712  (SymPy's true)
            where = self._element("mtext", "otherwise") if last else self._print(condition)
            rows.append(self._element("mtr", *(self._element("mtd", cell) for cell in (self._print(value), where))))
        return self._element("mrow", self._element("mo", "{"), self._element("mtable", *rows))

    def _print_Relational(self, expr: Any) -> Any:
        sign = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥", "<": "&lt;", ">": "&gt;"}[expr.rel_op]
        return self._element("mrow", self._print(expr.lhs), self._element("mo", sign), self._print(expr.rhs))


FORMS = {
    "latex": sp.latex,
    "mathml": lambda term: _MathML({}).doprint(term),
    "unicode": lambda term: sp.pretty(term, use_unicode=True, wrap_line=False),
}


def _derivative_latex(top: str, below: Sequence[tuple[str, int]], partial: bool) -> str:
    d = r"\partial" if partial else "d"
    order = sum(n for _, n in below)

    def power(n: int) -> str:
        return f"^{{{n}}}" if n > 1 else ""

    names = [f"{d} {sp.latex(_symbol(name))}{power(n)}" for name, n in below]
    return f"\\frac{{{d}{power(order)} {sp.latex(_symbol(top))}}}{{{' '.join(names)}}}"


def _derivative_mathml(top: str, below: Sequence[tuple[str, int]], partial: bool) -> str:
    d = f"<mo>{'∂' if partial else 'd'}</mo>"

    def raised(text: str, n: int) -> str:
        return f"<msup>{text}<mn>{n}</mn></msup>" if n > 1 else text

    names = [d + raised(FORMS["mathml"](_symbol(name)), n) for name, n in below]
    above = raised(d, sum(n for _, n in below)) + FORMS["mathml"](_symbol(top))
    return f"<mfrac><mrow>{above}</mrow><mrow>{''.join(names)}</mrow></mfrac>"


def total(result: Any, cotangent: Any) -> Any:
    """The scalar whose gradient is asked for: the output, or its product with the cotangent, summed."""
    if cotangent is None or not np.ndim(result):
        scalar = np.asarray(result, dtype=object).reshape(-1)
        value = scalar[0] if scalar.size else sp.Integer(0)
        return value if cotangent is None else exact(np.asarray(cotangent).reshape(())[()]) * value
    return sum((exact(c) * r for c, r in zip(np.ravel(cotangent), np.ravel(result), strict=True)), sp.Integer(0))


def derivative(expression: Any, symbol: Any) -> Any:
    """SymPy's derivative, with 0 for the derivatives of steps: they are off their jumps wherever this is asked."""
    found = sp.diff(expression, symbol)
    steps = (sp.floor, sp.ceiling)
    found = found.replace(
        lambda e: isinstance(e, sp.DiracDelta) or (isinstance(e, (sp.Subs, sp.Derivative)) and e.has(*steps)),
        lambda e: sp.Integer(0),
    )
    return found.doit() if found.has(sp.Subs, sp.Derivative) else found


def value_at(expression: Any, point: Mapping[Any, Any]) -> Any:
    """The expression's value at doubles, to `CHECK_DIGITS` digits; None where SymPy finds no finite real number."""
    try:
        value = expression.evalf(CHECK_DIGITS, subs=dict(point), maxn=300)
    except (TypeError, ValueError):  # Max and Heaviside where their argument is 0
        value = expression
    if not value.is_number:
        value = expression.subs(point).evalf(CHECK_DIGITS, maxn=300)
    real, imaginary = value.as_real_imag()
    if not (real.is_Float or real.is_Rational) or imaginary != 0 or not real.is_finite:
        return None
    return real


def simplest(expression: Any, limit: int = 150) -> Any:
    """The shorter of the expression and its simplification; large ones are left as they are."""
    if expression.count_ops() > limit:
        return expression
    candidates = [expression, sp.simplify(expression)]
    return min(candidates, key=lambda e: (e.count_ops(), len(str(e))))


class _Printer(sp.printing.StrPrinter):  # type: ignore[misc]
    """SymPy's terms in our language."""

    names = {op.sympy: op.name for op in TABLE.values() if isinstance(op.sympy, str)} | {"Abs": "abs"}

    def _print_Function(self, expr: Any) -> str:
        name = self.names.get(expr.func.__name__, expr.func.__name__)
        args = expr.args[:1] if name == "heaviside" else expr.args
        return f"{name}({self.stringify(args, ', ')})"

    _print_Abs = _print_Heaviside = _print_sign = _print_Function

    def _print_LatticeOp(self, expr: Any) -> str:
        name = {"Max": "max", "Min": "min"}[expr.func.__name__]
        return f"{name}({', '.join(sorted(self._print(arg) for arg in expr.args))})"

    _print_Max = _print_Min = _print_LatticeOp

    def _print_polygamma(self, expr: Any) -> str:
        order, x = expr.args
        named = "" if order == 1 else f", order={order}"
        return f"digamma({self._print(x)})" if order == 0 else f"polygamma({self._print(x)}{named})"

    def _print_Exp1(self, expr: Any) -> str:
        return "e"

    def _print_Infinity(self, expr: Any) -> str:
        return "inf"

    def _print_Piecewise(self, expr: Any) -> str:
        text = ""
        for value, condition in expr.args:
            if condition == True:  # noqa: E712  (SymPy's true)
                return f"({text}{self._print(value)})"
            text += f"{self.parenthesize(value, 0)} if {self._print(condition)} else "
        return f"({text}nan)"

    def _print_Relational(self, expr: Any) -> str:
        sign = expr.rel_op
        return f"{self.parenthesize(expr.lhs, 35)} {sign} {self.parenthesize(expr.rhs, 35)}"

    def _print_And(self, expr: Any) -> str:
        return " and ".join(sorted(self.parenthesize(arg, 10) for arg in expr.args))

    def _print_Or(self, expr: Any) -> str:
        return " or ".join(sorted(self.parenthesize(arg, 10) for arg in expr.args))


def formula_text(expression: Any) -> str | None:
    """A term of SymPy as text in our language; None for what is no real formula (a complex or undefined one)."""
    if expression.has(sp.zoo, sp.nan, sp.I):
        return None
    return str(_Printer({"order": None}).doprint(expression)).replace("**", "^")

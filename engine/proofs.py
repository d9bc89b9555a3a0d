"""Proofs that an expression of SymPy's is zero.

The expression is taken apart into kernels (exponentials, sines and cosines, roots, logarithms, other functions), each a
variable of its own, and the relations that they satisfy: s² + c² = 1, rⁿ = b, |u|² = u². What is left is a quotient of
polynomials, and it is zero if its numerator is zero after the relations have been used (a triangular set, so the
division is exact). This decides nearly all that people write, far quicker than a search by rewriting, which is only
tried where it fails.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import sympy as sp
from sympy.polys.fields import FracField
from sympy.polys.orderings import lex

from . import symbolic
from .claims import Claim
from .domains import Bounds
from .graph import INPUT, Graph, Node

Sign = Callable[[Any], int]  # the sign that an expression has wherever it is looked at, 0 where it changes
MAX_ELEMENTS = 100
MOST_GROUPS = 4
_BY_EXP = (sp.sinh, sp.cosh, sp.tanh, sp.coth, sp.sech, sp.csch)
_BY_SINE = (sp.tan, sp.cot, sp.sec, sp.csc)


class Relation(NamedTuple):
    """generator**power equals base, an expression in generators before it."""

    generator: Any
    power: int
    base: Any


class Kernels:
    """An expression rewritten as a rational expression in generators, with their relations."""

    def __init__(self, sign: Sign) -> None:
        self.sign = sign
        self.generators: dict[Any, Any] = {}
        self.relations: list[Relation] = []
        self.known: dict[Any, Any] = {}
        self.factored: dict[Any, list[tuple[Any, int]]] = {}
        self.orders: dict[Any, int] = {}  # for the base of a root, the common denominator of its exponents
        self.units: dict[Any, int] = {}  # for an argument of exp, sin and cos, the common denominator of its multiples

    def generator(self, key: Any) -> Any:
        """The variable that stands for a kernel."""
        if key not in self.generators:
            self.generators[key] = sp.Dummy(f"g{len(self.generators)}")
        return self.generators[key]

    # --- a first pass finds common denominators -----------------------------------------------------------------------

    def survey(self, expression: Any) -> None:
        """Note the exponents of roots and the multiples of arguments that occur."""
        for e in sp.preorder_traversal(expression):
            if isinstance(e, sp.Pow):
                rational, rest = _split(e.exp)
                if rational.q > 1:
                    for base, _ in self.factors(e.base):
                        self.orders[base] = math.lcm(self.orders.get(base, 1), rational.q)
                for factor, multiple in rest:
                    self._unit(factor * sp.log(e.base), multiple)
            elif isinstance(e, (sp.exp, sp.sin, sp.cos, *_BY_EXP, *_BY_SINE)):
                for factor, multiple in _multiples(e.args[0]):
                    self._unit(factor, multiple)

    def _unit(self, factor: Any, multiple: Any) -> None:
        self.units[factor] = math.lcm(self.units.get(factor, 1), multiple.q)

    # --- a second pass rewrites ---------------------------------------------------------------------------------------

    def rewrite(self, e: Any) -> Any:
        """The expression in generators."""
        if e in self.known:
            return self.known[e]
        found = self._rewrite(e)
        self.known[e] = found
        return found

    def _rewrite(self, e: Any) -> Any:
        if e.is_Rational or (e.is_Symbol and not e.is_Dummy):
            return e
        if e.is_Add or e.is_Mul:
            return e.func(*map(self.rewrite, e.args))
        if isinstance(e, sp.Pow):
            return self._power(e.base, e.exp)
        if e is sp.E:
            return self._exponential(sp.Integer(1))
        if isinstance(e, sp.exp):
            return self._exponential(e.args[0])
        if isinstance(e, _BY_EXP):
            up, down = self._exponential(e.args[0]), self._exponential(-e.args[0])
            sinh, cosh = (up - down) / 2, (up + down) / 2
            return {sp.sinh: sinh, sp.cosh: cosh, sp.tanh: sinh / cosh, sp.coth: cosh / sinh,
                    sp.sech: 1 / cosh, sp.csch: 1 / sinh}[type(e)]  # fmt: skip
        if isinstance(e, (sp.sin, sp.cos, *_BY_SINE)):
            sine, cosine = self._circular(e.args[0])
            return {sp.sin: sine, sp.cos: cosine, sp.tan: sine / cosine, sp.cot: cosine / sine,
                    sp.sec: 1 / cosine, sp.csc: 1 / sine}[type(e)]  # fmt: skip
        if isinstance(e, sp.log):
            return self._logarithm(e.args[0])
        if isinstance(e, sp.Abs):
            return self._absolute(e.args[0])
        if isinstance(e, sp.sign):
            return self._absolute(e.args[0]) / self.rewrite(e.args[0])
        return self.generator(e.func(*map(_normal, e.args)) if e.args and not e.is_Piecewise else e)

    def _absolute(self, u: Any) -> Any:
        key = sp.Abs(_normal(u))
        fresh = key not in self.generators
        generator = self.generator(key)
        if fresh:
            self.relations.append(Relation(generator, 2, self.rewrite(u) ** 2))
        return generator

    def _logarithm(self, u: Any) -> Any:
        if u.is_Rational and u.is_positive:
            primes = [(p, n) for p, n in u.factors().items() if p != 1]
            return sum((n * self.generator(sp.log(p, evaluate=False)) for p, n in primes), sp.Integer(0))
        return self.generator(sp.log(_normal(u), evaluate=False))

    def _power(self, base: Any, exponent: Any) -> Any:
        rational, rest = _split(exponent)
        whole = self.rewrite(base) ** int(rational) if rational.q == 1 else self._root(base, rational)
        for factor, multiple in rest:
            whole *= self._unit_power(factor * sp.log(base), multiple)
        return whole

    def _root(self, base: Any, exponent: Any) -> Any:
        """base**exponent, as powers of the roots of the base's factors."""
        made = sp.Integer(1)
        for factor, times in self.factors(base):
            order = self.orders[factor]
            key = ("root", factor)
            fresh = key not in self.generators
            generator = self.generator(key)
            if fresh:
                self.relations.append(Relation(generator, order, self.rewrite(factor)))
            made *= generator ** int(exponent * times * order)
        return made

    def factors(self, base: Any) -> list[tuple[Any, int]]:
        """The base of a root as powers of factors whose roots multiply to its root: numbers' primes, and the rest.

        A polynomial falls into its irreducible factors, each with the sign that makes it positive, where it has one.
        """
        if base in self.factored:
            return self.factored[base]
        content, rest = base.as_content_primitive()
        found: list[tuple[Any, int]] = []
        if content.is_Rational and content.is_positive:
            found = [(sp.Integer(p), n) for p, n in content.factors().items() if p != 1]
        else:
            rest = base
        parts = self._polynomial_factors(rest)
        found += parts if parts is not None else [(_normal(rest), 1)] if rest != 1 else []
        self.factored[base] = found
        return found

    def _polynomial_factors(self, e: Any) -> list[tuple[Any, int]] | None:
        if e.is_Atom or not e.is_polynomial(*e.free_symbols) or e.count_ops() > 100:
            return None
        content, factors = sp.factor_list(e)
        if len(factors) < 2 and (not factors or factors[0][1] == 1):
            return None
        found, whole = [], self.sign(e)
        for factor, times in factors:
            sign = self.sign(factor)
            if sign == 0:
                return None
            found.append((_normal(sign * factor), times))
        if whole <= 0 or not content.is_Rational:
            return None
        return found + [(sp.Integer(p), n) for p, n in abs(content).factors().items() if p != 1]

    def _exponential(self, argument: Any) -> Any:
        made = sp.Integer(1)
        for factor, multiple in _multiples(argument):
            made *= self._unit_power(factor, multiple)
        return made

    def _unit_power(self, factor: Any, multiple: Any) -> Any:
        order = self.units.setdefault(factor, int(multiple.q))
        return self.generator(("exp", _normal(factor))) ** int(multiple * order)

    def _circular(self, argument: Any) -> tuple[Any, Any]:
        """Sine and cosine of a sum of multiples, by the addition theorems."""
        sine, cosine = sp.Integer(0), sp.Integer(1)
        for factor, multiple in _multiples(argument):
            order = self.units.setdefault(factor, int(multiple.q))
            n = int(multiple * order)
            key = ("sin", _normal(factor))
            fresh = key not in self.generators
            s, c = self.generator(key), self.generator(("cos", _normal(factor)))
            if fresh:
                self.relations.append(Relation(c, 2, 1 - s**2))
            sn, cn = sp.Integer(0), sp.Integer(1)
            for _ in range(abs(n)):
                sn, cn = sn * c + cn * s, cn * c - sn * s
            sn = sn if n >= 0 else -sn
            sine, cosine = sine * cn + cosine * sn, cosine * cn - sine * sn
        return sine, cosine


def _split(exponent: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """An exponent as a rational number and multiples of other terms."""
    rational, rest = sp.Integer(0), []
    for factor, multiple in _multiples(exponent):
        if factor == 1:
            rational += multiple
        else:
            rest.append((factor, multiple))
    return rational, rest


def _multiples(e: Any) -> list[tuple[Any, Any]]:
    """A sum as pairs of a term and its rational coefficient."""
    found: dict[Any, Any] = {}
    for term in sp.Add.make_args(sp.expand(e)):
        coefficient, factor = term.as_coeff_Mul(rational=True)
        found[factor] = found.get(factor, 0) + coefficient
    return [(factor, c) for factor, c in found.items() if c != 0]


def _normal(e: Any) -> Any:
    """One form for equal arguments, where it is cheap to find."""
    if e.is_Atom:
        return e
    expanded = sp.expand(e) if e.count_ops() < 60 else e
    if expanded.is_Add and expanded.is_rational_function():
        return sp.cancel(expanded) if expanded.count_ops() < 40 else expanded
    return expanded


# --- claims -----------------------------------------------------------------------------------------------------------


def proves(
    claim: Claim,
    shapes: Mapping[str, tuple[int, ...]],
    bounds: Mapping[str, Bounds],
    fixed: Mapping[str, Any],
    points: Sequence[Mapping[str, Any]] = (),
) -> bool:
    """Whether SymPy's derivative and what is claimed were proved equal.

    `bounds` of the inputs say their signs; `fixed` are the values of inputs that have one; at `points` both sides
    exist, and a factor under a root is taken to have the sign everywhere that it has at all of them. Where that fails,
    each combination of the inputs' signs is proved by itself.
    """
    signs = {
        name: 1 if b.low is not None and b.low >= 0 else -1
        for name, b in bounds.items()
        if (b.low is not None and b.low >= 0) or (b.high is not None and b.high <= 0)
    }
    if _proves(claim, shapes, signs, fixed, points):
        return True
    groups: dict[tuple[tuple[str, int], ...], list[Mapping[str, Any]]] = {}
    for point in points:
        key = tuple((name, 1 if v > 0 else -1) for name, v in point.items() if not np.ndim(v) and name not in fixed)
        groups.setdefault(key, []).append(point)
    return 1 < len(groups) <= MOST_GROUPS and all(
        _proves(claim, shapes, dict(key), fixed, group) for key, group in groups.items()
    )


def _proves(
    claim: Claim,
    shapes: Mapping[str, tuple[int, ...]],
    signs: Mapping[str, int],
    fixed: Mapping[str, Any],
    points: Sequence[Mapping[str, Any]],
) -> bool:
    assumptions = {name: {"positive": True} if s > 0 else {"negative": True} for name, s in signs.items()}
    lowered, (root, symbols, meant) = _lowered(claim, shapes, assumptions)
    derivatives, claimed = _derivatives(claim, root, symbols, meant), np.asarray(lowered, dtype=object)
    if claimed.size != derivatives.size or claimed.size > MAX_ELEMENTS:
        return False
    values = _by_symbol(symbols, fixed, lambda v: sp.Rational(v.numerator, v.denominator))
    places = [_by_symbol(symbols, point, lambda v: sp.Float(float(v))) for point in points]

    def sign(e: Any) -> int:
        found = {sp.sign(e.xreplace(place).evalf(15)) for place in places}
        return int(found.pop()) if len(found) == 1 and found <= {1, -1} else 0

    pairs = zip(np.ravel(derivatives), np.ravel(claimed), strict=True)
    return all(is_zero((sp.sympify(d) - sp.sympify(c)).xreplace(values), sign) for d, c in pairs)


def _by_symbol(symbols: Mapping[str, Any], values: Mapping[str, Any], made: Callable[[Any], Any]) -> dict[Any, Any]:
    """Values by name as values by symbol, elements apart."""
    return {
        x: made(v)
        for name, value in values.items()
        if name in symbols
        for x, v in zip(np.ravel(symbols[name]), np.ravel(value), strict=True)
    }


def _lowered(claim: Claim, shapes: Mapping[str, Any], signs: Mapping[str, Any]) -> tuple[Any, tuple[Any, ...]]:
    """What is claimed as a term; and for the derivative the root's term, the symbols, and what stands for them."""
    graph = claim.graph
    by = [i for group in claim.by for i in group]
    inner = {i for i in by if not graph.nodes[i].is_leaf}
    answer, symbols = _lower(graph, claim.answer, shapes, signs)
    if not inner:
        root, found = _lower(graph, claim.root, shapes, signs)
        return answer, (root, {**symbols, **found}, {})
    cut = replace(graph, nodes=list(graph.nodes))
    meant: dict[Any, Any] = {}
    for i in inner:  # an intermediate value is a symbol while it is differentiated by
        node = Node(INPUT, (), graph.nodes[i].span, False)
        node.name = graph.nodes[i].name
        cut.nodes[i] = node
    root, found = _lower(cut, claim.root, shapes, signs)
    for i in inner:
        name = graph.nodes[i].name or ""
        value, _ = _lower(graph, i, shapes, signs)
        if name in found:
            meant[found[name]] = value
    return answer, (root, {**symbols, **found}, meant)


def _lower(graph: Graph, root: int, shapes: Mapping[str, Any], signs: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    part = replace(graph, output=root)
    return symbolic.lower(part, shapes, doubles=False, assumptions=signs)


def _derivatives(claim: Claim, root: Any, symbols: Mapping[str, Any], meant: Mapping[Any, Any]) -> Any:
    """The derivative as an array of terms."""
    names = claim.graph.nodes
    if claim.along is not None:
        total: Any = 0
        for i, weights in claim.along.items():
            symbol = symbols.get(names[i].name or "")
            for x, w in zip(np.ravel(symbol), np.ravel(weights), strict=True) if symbol is not None else ():
                total = total + symbolic.exact(w) * _differentiated(root, x)
        return np.asarray(total, dtype=object)
    grids = [[x for i in group for x in np.ravel(symbols.get(names[i].name or "", sp.Dummy()))] for group in claim.by]
    found = []
    for by in itertools.product(*grids):
        term = root
        for x in by:
            term = _differentiated(term, x)
        found.append(np.ravel(np.asarray(term, dtype=object)))
    stacked = np.array([[v.xreplace(meant) if meant else v for v in column] for column in found], dtype=object)
    return stacked.T


def _differentiated(term: Any, x: Any) -> Any:
    if np.ndim(term):
        return np.frompyfunc(lambda t: symbolic.derivative(t, x), 1, 1)(term)
    return symbolic.derivative(term, x)


# --- zero -------------------------------------------------------------------------------------------------------------


def _positive(expression: Any) -> int:
    """The sign of an expression that nothing is known of: its assumptions'."""
    return 1 if expression.is_positive else -1 if expression.is_negative else 0


def is_zero(expression: Any, sign: Sign = _positive) -> bool:
    """Whether the expression was proved to be zero; False where that is not known."""
    if expression.is_zero:
        return True
    if expression.has(sp.zoo, sp.nan, sp.oo):
        return False
    return _by_relations(expression, sign) or bool(sp.simplify(expression) == 0)


def _by_relations(expression: Any, sign: Sign) -> bool:
    kernels = Kernels(sign)
    kernels.survey(expression)
    rational = kernels.rewrite(expression)
    found = rational.free_symbols
    for relation in kernels.relations:
        found |= relation.base.free_symbols | {relation.generator}
    symbols = sorted(found, key=str)
    if not symbols:
        return bool(sp.expand(rational) == 0)
    field = FracField(symbols, sp.QQ, lex)
    numerator = _in_field(field, rational, {}).numer
    for relation in reversed(kernels.relations):
        numerator = _reduced(numerator, field, relation)
        if not numerator:
            return True
    return not numerator


def _in_field(field: Any, e: Any, known: dict[Any, Any]) -> Any:
    """A rational expression as an element of a field of fractions."""
    if e in known:
        return known[e]
    if e.is_Rational:
        found = field.ground_new(sp.QQ(e.p, e.q))
    elif e.is_Symbol:
        found = field.gens[field.symbols.index(e)]
    elif e.is_Add or e.is_Mul:
        parts = [_in_field(field, arg, known) for arg in e.args]
        found = parts[0]
        for part in parts[1:]:
            found = found + part if e.is_Add else found * part
    else:
        found = _in_field(field, e.base, known) ** int(e.exp)
    known[e] = found
    return found


def _reduced(numerator: Any, field: Any, relation: Relation) -> Any:
    """The numerator after generator**power has been replaced by the base, times a power of the base's denominator."""
    ring = field.ring
    k = field.symbols.index(relation.generator)
    base = _in_field(field, relation.base, {})
    most = max((monomial[k] // relation.power for monomial in numerator), default=0)
    if most == 0:
        return numerator
    above, below = [ring.one], [ring.one]
    for _ in range(most):
        above.append(above[-1] * base.numer)
        below.append(below[-1] * base.denom)
    parts: dict[int, Any] = {}
    for monomial, coefficient in numerator.terms():
        times, left = divmod(monomial[k], relation.power)
        parts.setdefault(times, ring.zero)[(*monomial[:k], left, *monomial[k + 1 :])] = coefficient
    total = ring.zero
    for times, part in parts.items():
        total += part * above[times] * below[most - times]
    return total

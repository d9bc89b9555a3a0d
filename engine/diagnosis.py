"""What went wrong in a wrong claim: each guess is computed, and only said where it explains every point.

A guess is a function of the samples (both sides at several points, in many digits) that returns a sentence or None.
The first that fits is the hint.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import mpmath
import numpy as np

from .digits import STEPS, Place, Stencil, Tape, ancestors, precision, working_digits
from .domains import fraction_text
from .graph import Graph
from .ops import Op
from .ops.arithmetic import add, div, identity, mul, neg, sub
from .ops.elementary import pow_
from .printing import expression_text

if TYPE_CHECKING:
    from .points import Point
    from .verify import Case

CLOSE = mpmath.mpf(10) ** -18
SAMPLES = 6
CONSTANTS: dict[str, Callable[[], Any]] = {
    "pi": lambda: mpmath.mp.pi,
    "ln(2)": lambda: mpmath.log(2),
    "ln(10)": lambda: mpmath.log(10),
    "sqrt(2)": lambda: mpmath.sqrt(2),
    "sqrt(pi)": lambda: mpmath.sqrt(mpmath.mp.pi),
    "e": lambda: mpmath.mp.e,
}


class Sample(NamedTuple):
    """Both sides at one point, and the tape of its nodes."""

    point: Point
    tape: Tape
    derivative: Any
    claimed: Any


class Patient:
    """A wrong claim with its samples."""

    def __init__(self, case: Case, points: Sequence[Point], agreeing: Sequence[Point]) -> None:
        self.case = case
        self.graph: Graph = case.graph
        self.root = _behind(self.graph, case.claim.root)
        self.points = points
        self.agreeing = agreeing
        self.scalar = (
            case.order == 1 and len(case.claim.by[0]) == 1 and case.claim.along is None
            and not case.shapes.get(self.variable)
        )  # fmt: skip

    @property
    def variable(self) -> int:
        """The node differentiated by, the first of them."""
        return self.case.claim.by[0][0]

    @property
    def element(self) -> Place:
        """The variable as an element that moves."""
        return self.variable, ()

    @cached_property
    def samples(self) -> list[Sample]:
        """Both sides at all points."""
        return [self.sample(point) for point in self.points]

    def sample(self, point: Point) -> Sample:
        """Both sides at one point."""
        claim = self.case.claim
        tape = Tape(self.graph, range(len(self.graph.nodes)), point)
        derivative = self.case.derivative(tape, STEPS[0])
        claimed = self.case.fitted(np.asarray(tape.tape[claim.answer], dtype=object), derivative.shape)
        return Sample(point, tape, derivative, claimed)

    # --- quantities at every sample -----------------------------------------------------------------------------------

    def both(self) -> tuple[list[Any], list[Any]]:
        """Derivative and claim, all elements of all samples in a row."""
        return _flat(s.derivative for s in self.samples), _flat(s.claimed for s in self.samples)

    def by(self, node: int, variable: int | None = None) -> list[Any]:
        """The derivative of a node at every sample."""
        place = (self.variable if variable is None else variable, ())
        return [Stencil((((place, 1),),)).apply(s.tape, node, STEPS[0]) for s in self.samples]

    def through(self, node: int, k: int) -> list[Any]:
        """What argument k contributes to the derivative of a node: all other arguments held."""
        arg = self.graph.nodes[node].args[k]
        others = [j for j in self.graph.nodes[node].args if j == arg]
        inner = self.by(arg)
        if len(others) > 1:  # x·x: half of it, each
            return [d / len(others) for d in self.by(node)]
        partial = self.by(node, arg)
        return [a * d for a, d in zip(partial, inner, strict=True)]

    def value(self, node: int) -> list[Any]:
        """A node's value at every sample."""
        return [s.tape.tape[node] for s in self.samples]

    def text(self, node: int) -> str:
        """A node as an expression."""
        return expression_text(self.graph, node)


def diagnose(case: Case, different: Sequence[Point], equal: Sequence[Point]) -> str | None:
    """The hint for a claim that differs at some points (and is equal at others); None where nothing explains it."""
    with precision(working_digits(STEPS[0], max(2, case.order))):
        if equal:
            return _domain(case, different, equal)
        patient = Patient(case, different[:SAMPLES], equal)
        guesses: list[Callable[[Patient], str | None]] = [_sign, _transposed, _factor]
        if patient.scalar:
            guesses = [_sign, *_SCALAR]
        elif case.order > 1:
            guesses.append(_other_order)
        guesses += [_other_input, _exchanged, _symmetric]
        for guess in guesses:
            try:
                found = guess(patient)
            except (ZeroDivisionError, ValueError, TypeError, IndexError, KeyError):
                continue  # it does not apply at these points
            if found is not None:
                return found
    return None


# --- comparing --------------------------------------------------------------------------------------------------------


def _flat(arrays: Any) -> list[Any]:
    return [v for array in arrays for v in np.ravel(array)]


def _same(xs: Sequence[Any], ys: Sequence[Any]) -> bool:
    """Whether two quantities are equal at every sample, and not 0 at all of them."""
    pairs = list(zip(xs, ys, strict=True))
    if not pairs or any(not mpmath.isfinite(x) or not mpmath.isfinite(y) for x, y in pairs):
        return False
    size = max(max(abs(x), abs(y)) for x, y in pairs)
    return size > 0 and all(abs(x - y) <= CLOSE * max(abs(x), abs(y), size * CLOSE) for x, y in pairs)


def _ratio(xs: Sequence[Any], ys: Sequence[Any]) -> Any:
    """The constant x/y, or None where it is none."""
    quotients = [x / y for x, y in zip(xs, ys, strict=True) if x != 0 or y != 0]
    if len(quotients) < min(3, len(xs)) or not all(map(mpmath.isfinite, quotients)):
        return None
    return quotients[0] if all(abs(q - quotients[0]) <= CLOSE * abs(quotients[0]) for q in quotients) else None


def constant_text(value: Any) -> str | None:
    """A number as a fraction, or one times a well-known constant; None where it is neither."""
    for name, known in [("", lambda: mpmath.mpf(1)), *CONSTANTS.items(), *_inverses()]:
        scaled = value / known()
        fraction = Fraction(str(mpmath.nstr(scaled, 30))).limit_denominator(1000)
        if fraction and abs(mpmath.mpf(fraction.numerator) / fraction.denominator - scaled) <= CLOSE * abs(scaled):
            if not name:
                return fraction_text(fraction)
            sign = "-" if fraction < 0 else ""
            above = [str(abs(fraction.numerator))] if abs(fraction.numerator) != 1 else []
            below = [str(fraction.denominator)] if fraction.denominator != 1 else []
            (below if name.startswith("/") else above).append(name.lstrip("/"))
            bottom = "*".join(below)
            return sign + ("*".join(above) or "1") + (f"/({bottom})" if len(below) > 1 else f"/{bottom}" if below else "")
    return None


def _inverses() -> Iterator[tuple[str, Callable[[], Any]]]:
    for name, known in CONSTANTS.items():
        yield f"/{name}", lambda known=known: 1 / known()  # type: ignore[misc]


# --- guesses ----------------------------------------------------------------------------------------------------------


def _domain(case: Case, different: Sequence[Point], equal: Sequence[Point]) -> str | None:
    """Right for one sign of an input, or of an expression, and wrong for the other."""
    graph = case.graph
    tapes = [[Tape(graph, range(len(graph.nodes)), p) for p in group] for group in (equal, different)]
    nodes = [i for i in tapes[0][0].order if not graph.nodes[i].constant and i != case.claim.answer]
    for i in sorted(nodes, key=lambda i: (not graph.nodes[i].is_leaf, i)):
        right, wrong = (
            {int(mpmath.sign(v)) for t in group for v in np.ravel(t.tape[i]) if mpmath.isfinite(v)} for group in tapes
        )
        if len(right) == 1 and len(wrong) == 1 and right != wrong and 0 not in right | wrong:
            sign = ">" if 1 in right else "<"
            return f"it is right where {expression_text(graph, i)} {sign} 0"
    return None


def _sign(p: Patient) -> str | None:
    d, c = p.both()
    return "the sign is wrong: this is the negative of the derivative" if _same([-v for v in d], c) else None


def _itself(p: Patient) -> str | None:
    if _same(p.value(p.root), p.both()[1]):
        return "this is the function itself, not its derivative"
    return None


def _ends(p: Patient) -> str | None:
    """Integrated instead of differentiated; differentiated once too often."""
    _, c = p.both()
    if _same(p.by(p.case.claim.answer), p.value(p.root)):
        return "this is an antiderivative: the function was integrated instead of differentiated"
    second = [Stencil((((p.element, 1),),) * 2).apply(s.tape, p.root, STEPS[0]) for s in p.samples]
    return "this is the second derivative" if _same(second, c) else None


def _factor(p: Patient) -> str | None:
    ratio = _ratio(*p.both())
    if ratio is None:
        return None
    return f"a constant factor is wrong: multiplied by {constant_text(ratio) or mpmath.nstr(ratio, 8)} it is right"


def _degrees(p: Patient) -> str | None:
    ratio = _ratio(*p.both())
    text = None if ratio is None else constant_text(ratio)
    if text in ("pi/180", "180/pi"):
        return f"degrees and radians are mixed: multiplied by {text} it is right"
    return None


def _exponential(p: Patient) -> str | None:
    """The rule of a^u: its logarithm is missing, or the power rule was used."""
    d, c = p.both()
    for i in _inside(p):
        node = p.graph.nodes[i]
        if node.op is not pow_ or p.graph.nodes[node.args[1]].constant:
            continue
        base, exponent = node.args
        bases, a = p.value(base), p.text(base)
        if _same(d, [cc * mpmath.log(b) for cc, b in zip(c, bases, strict=True)]):
            return f"the factor ln({a}) is missing: ({a}^u)' = {a}^u*ln({a})*u'"
        rows = zip(bases, p.value(exponent), p.by(exponent), strict=True)
        wrong = [n * b ** (n - 1) * inner for b, n, inner in rows]
        right = p.through(i, 1)
        if _same([x * r for x, r in zip(c, right, strict=True)], [x * w for x, w in zip(d, wrong, strict=True)]):
            return f"the power rule does not hold for a variable exponent: ({a}^u)' = {a}^u*ln({a})*u'"
    return None


def _other_order(p: Patient) -> str | None:
    _, c = p.both()
    for order in range(1, p.case.order + 2):
        if order == p.case.order:
            continue
        key = (((p.element, 1),),) * order
        if _same([Stencil(key).apply(s.tape, p.root, STEPS[0]) for s in p.samples], c):
            return f"this is the derivative of order {order}"
    return None


def _powers(p: Patient) -> str | None:
    """The power rule with a wrong exponent."""
    d, c = p.both()
    ratios = [x / y for x, y in zip(d, c, strict=True)]
    for i in _inside(p):
        node = p.graph.nodes[i]
        if node.op is not pow_ or not p.graph.nodes[node.args[1]].constant:
            continue
        bases = p.value(node.args[0])
        for k in (-1, 1, -2, 2):
            factor = _ratio(ratios, [b**k for b in bases])
            if factor is not None and (text := constant_text(factor)) is not None:
                by = f"{abs(k)} {'lower' if k < 0 else 'higher'}"
                also = "" if text == "1" else f", and the factor {text} is missing"
                return f"the exponent of {_bracketed(p.text(node.args[0]))} must be {by}{also}"
    return None


def _inner(p: Patient, anywhere: bool = False) -> str | None:
    """An inner derivative that is missing, or one too many."""
    d, c = p.both()
    ratios = [x / y for x, y in zip(d, c, strict=True)]
    order = _inside(p)
    functions = {j for i in order if not _linear(p.graph.nodes[i].op) for j in p.graph.nodes[i].args}
    for i in reversed(order):
        if i == p.root or not (anywhere or i in functions):
            continue
        inner = p.by(i)
        if _same(ratios, inner):
            return f"the inner derivative is missing: the factor ({p.text(i)})'"
        if _same([1 / r for r in ratios], inner):
            return f"the factor ({p.text(i)})' is one too many"
    return None


def _any_inner(p: Patient) -> str | None:
    return _inner(p, anywhere=True)


def _linear(op: Op) -> bool:
    return op in (add, sub, mul, div, neg, identity)


def _rules(p: Patient) -> str | None:
    """Products and quotients of the derivatives, swapped quotients, a denominator that is not squared."""
    d, c = p.both()
    for i, d, c in _levels(p):
        node = p.graph.nodes[i]
        if node.op not in (mul, div):
            continue
        u, v = node.args
        du, dv, us, vs = p.by(u), p.by(v), p.value(u), p.value(v)
        left, right = _bracketed(p.text(u)), _bracketed(p.text(v))
        rows = list(zip(us, vs, du, dv, strict=True))
        if node.op is mul and _same(c, [a * b for a, b in zip(du, dv, strict=True)]):
            return f"this is the product of the derivatives; the product rule is {left}'*{right} + {left}*{right}'"
        if node.op is div:
            if _same(c, [x / y for x, y in zip(du, dv, strict=True)]):
                return "this is the quotient of the derivatives; the quotient rule is (u'*v - u*v')/v^2"
            if _same(c, [(a * y - b * z) / a**2 for a, b, z, y in rows]):
                return "numerator and denominator are swapped: this is the derivative of the reciprocal"
            if _same(c, [(z * b - a * y) / b for a, b, z, y in rows]):
                return f"the denominator must be squared: {right}^2"
            if _same(c, [z * b - a * y for a, b, z, y in rows]):
                return f"the denominator {right}^2 is missing"
    return None


def _terms(p: Patient) -> str | None:
    """A term of a sum, a product or a quotient that is missing, has the wrong sign or a wrong factor."""
    for i, d, c in _levels(p):
        names, parts = _parts(p, i)
        for name, part in zip(names, parts, strict=True):
            if len(parts) < 2 or all(v == 0 for v in part):
                continue
            rest = [cc - (dd - t) for cc, dd, t in zip(c, d, part, strict=True)]
            if all(abs(r) <= CLOSE * abs(t) for r, t in zip(rest, part, strict=True)):
                return f"the term {name} is missing"
            ratio = _ratio(part, rest)
            if ratio is not None and (text := constant_text(ratio)) is not None and text != "1":
                if text == "-1":
                    return f"the sign of the term {name} is wrong"
                return f"the term {name} has a wrong factor: multiplied by {text} it is right"
    return None


def _levels(p: Patient) -> Iterator[tuple[int, list[Any], list[Any]]]:
    """The function, and what is inside as long as it has one inside: with the derivative and the claim for it."""
    i, (d, c) = p.root, p.both()
    while True:
        yield i, d, c
        node = p.graph.nodes[i]
        varying = [k for k, j in enumerate(node.args) if p.variable in _upstream(p.graph, j)]
        if len(varying) != 1 or node.is_leaf or i == p.variable:
            return
        arg = node.args[varying[0]]
        outer = p.by(i, arg)
        if any(o == 0 or not mpmath.isfinite(o) for o in outer):
            return
        d, c = [x / o for x, o in zip(d, outer, strict=True)], [x / o for x, o in zip(c, outer, strict=True)]
        i = arg


def _parts(p: Patient, i: int) -> tuple[list[str], list[list[Any]]]:
    """The terms that a derivative is the sum of, with their names."""
    node = p.graph.nodes[i]
    if node.op in (add, sub, neg):
        terms, stack = [], [(i, 1)]
        while stack:
            j, sign = stack.pop()
            inner = p.graph.nodes[j]
            if inner.op in (add, sub, neg, identity) and inner.name is None or j == i:
                signs = (sign, -sign) if inner.op is sub else (-sign,) if inner.op is neg else (sign,) * len(inner.args)
                stack += reversed(list(zip(inner.args, signs, strict=True)))
            elif not inner.constant:
                terms.append((f"{'-' if sign < 0 else ''}({p.text(j)})'", [sign * v for v in p.by(j)]))
        return [name for name, _ in terms], [part for _, part in terms]
    if len(node.args) < 2 or node.is_leaf:
        return [], []
    texts = [_bracketed(p.text(j)) for j in node.args]
    names = {mul: ["{0}'*{1}", "{0}*{1}'"], div: ["{0}'/{1}", "-{0}*{1}'/{1}^2"]}.get(node.op)
    named = [n.format(*texts) for n in names] if names else [f"that comes through {t}" for t in texts]
    return named, [p.through(i, k) for k in range(len(node.args))]


def _other_input(p: Patient) -> str | None:
    case = p.case
    _, c = p.both()
    for name in p.graph.inputs:
        i = p.graph.names[name]
        if i in case.claim.by[0] or case.order > 1 or len(case.claim.by[0]) > 1:
            continue
        if case.shapes.get(i) != case.shapes.get(p.variable):
            continue
        shape = case.shapes.get(i, ())
        values = [
            Stencil((((((i, index)), 1),),)).apply(s.tape, p.root, STEPS[0])
            for s in p.samples for index in np.ndindex(shape)
        ]  # fmt: skip
        if _same(_flat(values), c):
            return f"this is the derivative by {name}"
    return None


def _exchanged(p: Patient) -> str | None:
    """Right with two names exchanged."""
    d, _ = p.both()
    inputs = [p.graph.names[name] for name in p.graph.inputs]
    for i, j in itertools.combinations(inputs, 2):
        if p.case.shapes.get(i) != p.case.shapes.get(j) or i in p.case.fixed or j in p.case.fixed:
            continue
        swapped = [
            Tape(p.graph, [p.case.claim.answer], {**s.point, i: s.point[j], j: s.point[i]}).tape[p.case.claim.answer]
            for s in p.samples
        ]
        if _same(_flat(swapped), d):
            a, b = (p.graph.nodes[k].name for k in (i, j))
            return f"it is right with {a} and {b} exchanged"
    return None


def _transposed(p: Patient) -> str | None:
    if all(s.claimed.ndim >= 2 and s.claimed.shape[-1] == s.claimed.shape[-2] for s in p.samples):
        d = _flat(s.derivative for s in p.samples)
        if _same(d, _flat(np.swapaxes(s.claimed, -1, -2) for s in p.samples)):
            return "it is transposed: its transpose is right"
    return None


def _symmetric(p: Patient) -> str | None:
    """Right for symmetric matrices only."""
    squares = [i for i, shape in p.case.shapes.items() if len(shape) == 2 and shape[0] == shape[1]]
    d, c = p.both()
    for i in squares:
        if i in p.case.fixed:
            continue
        name = p.graph.nodes[i].name
        turned = [p.sample({**s.point, i: s.point[i].T}).claimed for s in p.samples]
        if _same(d, _flat(turned)):
            return f"it is right with {name}.T in place of {name}"
        if _same(d, [a + b for a, b in zip(c, _flat(turned), strict=True)]):
            return f"half of it is missing: the same with {name}.T in place of {name}"
        tried = [p.sample({**s.point, i: (s.point[i] + s.point[i].T) / 2}) for s in p.samples]
        if _same(_flat(s.derivative for s in tried), _flat(s.claimed for s in tried)):
            return f"it is right for a symmetric {name} only: {name} and {name}.T both take part"
    return None


_SCALAR: list[Callable[[Patient], str | None]] = [
    _degrees, _exponential, _inner, _itself, _ends, _factor, _rules, _terms, _powers, _any_inner
]  # fmt: skip


# --- the graph --------------------------------------------------------------------------------------------------------


def _behind(graph: Graph, i: int) -> int:
    while graph.nodes[i].op is identity:
        i = graph.nodes[i].args[0]
    return i


def _upstream(graph: Graph, i: int) -> set[int]:
    return set(ancestors(graph, [i]))


def _inside(p: Patient) -> list[int]:
    """The nodes that the function is made of and that the variable is in, the function itself last; none twice."""
    order = ancestors(p.graph, [p.root])
    depends = {p.variable}
    for i in order:
        if any(j in depends for j in p.graph.nodes[i].args):
            depends.add(i)
    return [i for i in order if i in depends and i != p.variable][-60:]


def _bracketed(text: str) -> str:
    return text if text.isidentifier() or (text.endswith(")") and text.partition("(")[0].isidentifier()) else f"({text})"

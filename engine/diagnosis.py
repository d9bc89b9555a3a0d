"""What went wrong in a wrong claim: each guess is computed, and only said where it explains every point.

A guess is a function of the patient (both sides at several points, in many digits) that returns a sentence or None. The
first that fits is the hint.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import mpmath
import numpy as np

from .digits import STEPS, Stencil, Tape, ancestors, precision, working_digits
from .ops import Op
from .ops.arithmetic import add, div, identity, mul, neg, sub
from .ops.powers import pow_
from .patients import CLOSE, Patient, constant_text, flat, ratio_of, same
from .printing import expression_text

if TYPE_CHECKING:
    from .cases import Case
    from .points import Point

SAMPLES = 6
FEW = 3


def diagnose(case: Case, different: Sequence[Point], equal: Sequence[Point]) -> str | None:
    """The hint for a claim that differs at some points (and is equal at others); None where nothing explains it."""
    with precision(working_digits(STEPS[0], max(2, case.order))):
        if equal:
            return _domain(case, different, equal)
        patient = Patient(case, different[:SAMPLES], equal)
        for guess in _guesses(patient):
            try:
                found = guess(patient)
            except (ZeroDivisionError, ValueError, TypeError, IndexError, KeyError):
                continue  # it does not apply at these points
            if found is not None:
                return found
    return None


def _guesses(p: Patient) -> list[Callable[[Patient], str | None]]:
    """The guesses that make sense for a patient."""
    if len(p.points) < FEW:  # two numbers can be related in many ways
        return [_sign]
    if p.scalar:
        return [_zero, _sign, *_SCALAR, _other_input, _exchanged]
    higher = [_other_order] if p.case.order > 1 else []
    return [_zero, _sign, _transposed, _factor, *higher, _other_input, _exchanged, _symmetric]


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


def _zero(p: Patient) -> str | None:
    return "the derivative is 0" if all(v == 0 for v in p.both()[0]) else None


def _sign(p: Patient) -> str | None:
    d, c = p.both()
    return "the sign is wrong: this is the negative of the derivative" if same([-v for v in d], c) else None


def _itself(p: Patient) -> str | None:
    if same(p.value(p.root), p.both()[1]):
        return "this is the function itself, not its derivative"
    return None


def _ends(p: Patient) -> str | None:
    """Integrated instead of differentiated; differentiated once too often."""
    _, c = p.both()
    if same(p.by(p.case.claim.answer), p.value(p.root)):
        return "this is an antiderivative: the function was integrated instead of differentiated"
    second = [Stencil((((p.element, 1),),) * 2).apply(s.tape, p.root, STEPS[0]) for s in p.samples]
    return "this is the second derivative" if same(second, c) else None


def _factor(p: Patient) -> str | None:
    ratio = ratio_of(*p.both())
    if ratio is None:
        return None
    return f"a constant factor is wrong: multiplied by {constant_text(ratio) or mpmath.nstr(ratio, 8)} it is right"


def _degrees(p: Patient) -> str | None:
    ratio = ratio_of(*p.both())
    text = None if ratio is None else constant_text(ratio)
    if text in ("pi/180", "180/pi"):
        return f"degrees and radians are mixed: multiplied by {text} it is right"
    return None


def _exponential(p: Patient) -> str | None:
    """The rule of a^u: its logarithm is missing, or the power rule was used."""
    d, c = p.both()
    for i in p.inside():
        node = p.graph.nodes[i]
        if node.op is not pow_ or p.graph.nodes[node.args[1]].constant:
            continue
        base, exponent = node.args
        bases, text = p.value(base), p.text(base)
        rule = "({0}^u)' = {0}^u*ln({1})*u'".format(_bracketed(text), text)
        if same(d, [cc * mpmath.log(b) for cc, b in zip(c, bases, strict=True)]):
            return f"the factor ln({text}) is missing: {rule}"
        rows = zip(bases, p.value(exponent), p.by(exponent), strict=True)
        wrong = [n * b ** (n - 1) * inner for b, n, inner in rows]
        right = p.through(i, 1)
        held = i == p.root and same(c, p.through(i, 0))
        if held or same([x * r for x, r in zip(c, right, strict=True)], [x * w for x, w in zip(d, wrong, strict=True)]):
            return f"the power rule does not hold for a variable exponent: {rule}"
    return None


def _other_order(p: Patient) -> str | None:
    _, c = p.both()
    for order in range(1, p.case.order + 2):
        if order == p.case.order:
            continue
        key = (((p.element, 1),),) * order
        if same([Stencil(key).apply(s.tape, p.root, STEPS[0]) for s in p.samples], c):
            return f"this is the derivative of order {order}"
    return None


def _powers(p: Patient) -> str | None:
    """The power rule with a wrong exponent."""
    d, c = p.both()
    ratios = [x / y for x, y in zip(d, c, strict=True)]
    for i in p.inside():
        node = p.graph.nodes[i]
        if node.op is not pow_ or not p.graph.nodes[node.args[1]].constant:
            continue
        bases = p.value(node.args[0])
        for k in (-1, 1, -2, 2):
            factor = ratio_of(ratios, [b**k for b in bases])
            if factor is not None and (text := constant_text(factor)) is not None:
                by = f"{abs(k)} {'lower' if k < 0 else 'higher'}"
                also = "" if text == "1" else f", and the factor {text} is missing"
                return f"the exponent of {_bracketed(p.text(node.args[0]))} must be {by}{also}"
    return None


def _inner(p: Patient, anywhere: bool = False) -> str | None:
    """An inner derivative that is missing, or one too many."""
    d, c = p.both()
    ratios = [x / y for x, y in zip(d, c, strict=True)]
    order = p.inside()
    functions = {j for i in order if not _linear(p.graph.nodes[i].op) for j in p.graph.nodes[i].args}
    for i in reversed(order):
        if i == p.root or not (anywhere or i in functions):
            continue
        inner = p.by(i)
        if same(ratios, inner):
            return f"the inner derivative is missing: the factor {_bracketed(p.text(i))}'"
        if same([1 / r for r in ratios], inner):
            return f"the factor {_bracketed(p.text(i))}' is one too many"
    return None


def _quantity(p: Patient) -> str | None:
    """A factor that is an input, or a part of the function, missing or one too many."""
    d, c = p.both()
    for i in [*(p.graph.names[name] for name in p.graph.inputs), *p.inside()]:
        if p.case.shapes.get(i):
            continue
        values = p.value(i)
        if same(d, [x * v for x, v in zip(c, values, strict=True)]):
            return f"the factor {_bracketed(p.text(i))} is missing"
        if same(c, [x * v for x, v in zip(d, values, strict=True)]):
            return f"the factor {_bracketed(p.text(i))} is one too many"
    return None


def _any_inner(p: Patient) -> str | None:
    return _inner(p, anywhere=True)


def _linear(op: Op) -> bool:
    return op in (add, sub, mul, div, neg, identity)


def _rules(p: Patient) -> str | None:
    """Products and quotients of the derivatives, swapped quotients, a denominator that is not squared."""
    for i, _, c in _levels(p):
        node = p.graph.nodes[i]
        if node.op not in (mul, div):
            continue
        u, v = node.args
        du, dv, us, vs = p.by(u), p.by(v), p.value(u), p.value(v)
        left, right = _bracketed(p.text(u)), _bracketed(p.text(v))
        rows = list(zip(us, vs, du, dv, strict=True))
        if node.op is mul and same(c, [a * b for a, b in zip(du, dv, strict=True)]):
            return f"this is the product of the derivatives; the product rule is {left}'*{right} + {left}*{right}'"
        if node.op is div:
            if same(c, [x / y for x, y in zip(du, dv, strict=True)]):
                return "this is the quotient of the derivatives; the quotient rule is (u'*v - u*v')/v^2"
            if same(c, [(a * y - b * z) / a**2 for a, b, z, y in rows]):
                return "numerator and denominator are swapped: this is the derivative of the reciprocal"
            if same(c, [(z * b - a * y) / b for a, b, z, y in rows]):
                return f"the denominator must be squared: {right}^2"
            if same(c, [z * b - a * y for a, b, z, y in rows]):
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
            ratio = ratio_of(part, rest)
            if ratio is not None and (text := constant_text(ratio)) is not None and text != "1":
                if text == "-1":
                    return f"the sign of the term {name} is wrong"
                return f"the term {name} has a wrong factor: multiplied by {text} it is right"
    return None


def _constants(p: Patient) -> str | None:
    """A constant term that was kept."""
    extra = [c - d for d, c in zip(*p.both(), strict=True)]
    for j, sign in _summands(p, p.root):
        if all(v == 0 for v in p.by(j)) and same(extra, [sign * v for v in p.value(j)]):
            return f"the derivative of the constant {p.text(j)} is 0"
    return None


def _levels(p: Patient) -> Iterator[tuple[int, list[Any], list[Any]]]:
    """The function, and what is inside as long as it has one inside: with the derivative and the claim for it."""
    i, (d, c) = p.root, p.both()
    while True:
        yield i, d, c
        node = p.graph.nodes[i]
        varying = [k for k, j in enumerate(node.args) if p.variable in ancestors(p.graph, [j])]
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
        terms = [(j, sign) for j, sign in _summands(p, i) if not p.graph.nodes[j].constant]
        names = [f"{'-' if sign < 0 else ''}{_bracketed(p.text(j))}'" for j, sign in terms]
        return names, [[sign * v for v in p.by(j)] for j, sign in terms]
    if len(node.args) < 2 or node.is_leaf:
        return [], []
    texts = [_bracketed(p.text(j)) for j in node.args]
    rules = {mul: ["{0}'*{1}", "{0}*{1}'"], div: ["{0}'/{1}", "-{0}*{1}'/{1}^2"]}.get(node.op)
    named = [n.format(*texts) for n in rules] if rules else [f"that comes through {t}" for t in texts]
    return named, [p.through(i, k) for k in range(len(node.args))]


def _summands(p: Patient, i: int) -> list[tuple[int, int]]:
    """The terms of a sum, with their signs; names inside it are not looked into."""
    terms, stack = [], [(i, 1)]
    while stack:
        j, sign = stack.pop()
        node = p.graph.nodes[j]
        if node.op in (add, sub, neg, identity) and (node.name is None or j == i):
            signs = (sign, -sign) if node.op is sub else (-sign,) if node.op is neg else (sign,) * len(node.args)
            stack += reversed(list(zip(node.args, signs, strict=True)))
        else:
            terms.append((j, sign))
    return terms


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
        if same(flat(values), c):
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
        if same(flat(swapped), d):
            a, b = (p.graph.nodes[k].name for k in (i, j))
            return f"it is right with {a} and {b} exchanged"
    return None


def _transposed(p: Patient) -> str | None:
    if all(s.claimed.ndim >= 2 and s.claimed.shape[-1] == s.claimed.shape[-2] for s in p.samples):
        d = flat(s.derivative for s in p.samples)
        if same(d, flat(np.swapaxes(s.claimed, -1, -2) for s in p.samples)):
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
        if same(d, flat(turned)):
            return f"it is right with {name}.T in place of {name}"
        if same(d, [a + b for a, b in zip(c, flat(turned), strict=True)]):
            return f"half of it is missing: the same with {name}.T in place of {name}"
        tried = [p.sample({**s.point, i: (s.point[i] + s.point[i].T) / 2}) for s in p.samples]
        if same(flat(s.derivative for s in tried), flat(s.claimed for s in tried)):
            return f"it is right for a symmetric {name} only: {name} and {name}.T both take part"
    return None


_SCALAR: list[Callable[[Patient], str | None]] = [
    _degrees, _exponential, _inner, _itself, _ends, _factor, _rules, _constants, _terms, _any_inner, _powers, _quantity
]  # fmt: skip


def _bracketed(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+(\(.*\))?", text) and text.count("(") < 2 else f"({text})"

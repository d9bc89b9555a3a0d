"""Verdicts on claims: is this the derivative, where, and if not, at which point does it differ?

The derivative is a difference in many digits (see `digits`), so a verdict owes nothing to the rules of the table, to
floating point or to SymPy; SymPy's proof, where there is one, comes on top. The points are always the same ones.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import mpmath
import numpy as np

from . import domains
from .cases import STATES, Case
from .diagnosis import diagnose
from .digits import EASY_DIGITS
from .errors import ChainruleError
from .evaluate import value_and_grad
from .points import Point, drawn, simple
from .regions import Region, holds
from .rounding import spread

Verdict = Literal["proved", "agrees", "agrees where", "differs", "undecided"]
POINTS = 12  # that must agree
FEW = 3  # points, with which others are looked at that take many digits
ATTEMPTS = 400  # to find so many


@dataclass
class Counterexample:
    """A point where claim and derivative differ, with both values; for arrays the element."""

    point: dict[str, Any]
    element: tuple[int, ...]
    derivative: Any
    claimed: Any


@dataclass
class Result:
    """The verdict on a claim.

    where           the conditions under which it holds, as text; empty where it holds everywhere
    counterexample  for `differs`
    hint            what went wrong, or what would help
    reason          why it is undecided
    points          at how many points both sides were compared, and `equal`, those where they are equal
    timed_out       SymPy was stopped at the limit; None where it was not asked
    """

    claim: str
    wrt: str
    verdict: Verdict
    where: list[str]
    counterexample: Counterexample | None = None
    hint: str | None = None
    reason: str | None = None
    points: int = 0
    timed_out: bool | None = None
    equal: list[Point] = field(default_factory=list)


def judge(case: Case, region: Region) -> Result:
    """The verdict on a claim by numbers alone: `agrees`, `agrees where`, `differs` or `undecided`.

    Raises `ChainruleError` where shapes do not fit or a value is missing.
    """
    claim = case.claim
    found: dict[str, list[Point]] = {state: [] for state in STATES}
    for point in _points(case, region):
        if not holds(case, point):
            continue
        found[case.at(point, EASY_DIGITS).state].append(point)
        compared = len(found["equal"]) + len(found["differs"])
        if compared >= POINTS or (not compared and len(found["no claim"]) >= 3 * POINTS):
            break
    if len(found["equal"]) + len(found["differs"]) < FEW:
        unclear, found["unclear"] = found["unclear"], []
        for point in unclear[:POINTS]:
            found[case.at(point).state].append(point)
    equal, different, absent = found["equal"], found["differs"], found["no claim"]
    result = Result(claim.text, claim.wrt, "undecided", [], points=len(equal) + len(different))
    if different:
        result.verdict = "differs"
        result.counterexample = _counterexample(case, different[0])
        result.hint = diagnose(case, different, equal)
        return result
    if not equal:
        result.reason, result.hint = _why_undecided(region, found)
        return result
    if (at := _inconsistent(case, equal)) is not None:
        result.reason = f"chainrule's own gradient is not that of many digits at {at}: this should be reported"
        return result
    result.equal = equal
    result.verdict = "agrees where" if absent else "agrees"
    result.where = region.texts()
    if case.digits is not None:
        result.hint = f"its numbers are rounded: it is right to {case.digits} digits"
    return result


def _points(case: Case, region: Region) -> Iterator[Point]:
    """Points within the bounds, then some without them (to see whether one side exists there)."""
    if not set(case.shapes) - set(case.fixed):
        yield {i: case.fixed[i] for i in case.shapes}
        return
    bounded = drawn(case.shapes, region.for_drawing(), case.fixed)
    free = drawn(case.shapes, region.assumed, case.fixed)
    for turn in range(ATTEMPTS):
        yield next(free if turn % 3 == 2 else bounded)


def _inconsistent(case: Case, points: list[Point]) -> str | None:
    """The first point where the engine's gradient in floating point is wrong beyond rounding."""
    claim, graph = case.claim, case.graph
    if case.order != 1 or claim.along is not None or not all(graph.nodes[i].is_leaf for i in claim.by[0]):
        return None
    part = replace(graph, output=claim.root)
    wrt = [graph.nodes[i].name or "" for i in claim.by[0]]
    for point in points[:2]:
        values = {graph.nodes[i].name or "": np.asarray(v, dtype=float) for i, v in point.items()}
        true = case.at(point).derivative
        try:
            value, gradients = value_and_grad(part, values, wrt)
        except ChainruleError:  # the output is no scalar
            return None
        ours = np.concatenate([np.ravel(gradients[name]) for name in wrt])
        with np.errstate(all="ignore"):
            near = np.abs(ours - np.ravel(true).astype(float)) <= 1e-6 * np.abs(ours) + 1e-300
        if np.all(near) or not np.all(np.isfinite(ours)) or not np.isfinite(value):
            continue
        noise = spread(part, values, gradients, 1.0)
        limit = 8 * np.concatenate([np.ravel(noise[name]) for name in wrt]) + 1e-6 * np.abs(ours)
        if np.any(np.abs(ours - np.ravel(true).astype(float)) > limit):
            return ", ".join(f"{name} = {_text(v)}" for name, v in case.named(point).items())
    return None


def _counterexample(case: Case, found: Point) -> Counterexample:
    """The simplest point where the sides differ, at which the derivative exists from both sides."""
    candidates = itertools.islice(simple(case.shapes, case.fixed), 60)
    for point in itertools.chain(candidates, [found]):
        if not holds(case, point):
            continue
        sides = case.at(point)
        if sides.state == "differs" and (point is found or case.smooth(point)):
            k = sides.states.index("differs")
            index = tuple(map(int, np.unravel_index(k, sides.derivative.shape))) if sides.derivative.ndim else ()
            return Counterexample(case.named(point), index, np.ravel(sides.derivative)[k], np.ravel(sides.claimed)[k])
    raise AssertionError("the point itself differs")


def _why_undecided(region: Region, found: dict[str, list[Point]]) -> tuple[str, str | None]:
    if found["unclear"]:
        return "the two sides are too close to tell apart with the digits that were tried", None
    if found["no claim"]:
        needs = ", ".join(region.texts())
        hint = f"it may need {needs}" if needs else "is a value or an assumption missing?"
        return "the claim has no real value at any point where the derivative exists", hint
    if not any(found.values()):
        return "no point was found at which the assumptions hold", "do they contradict each other?"
    hint = "give an assumption (x > 0) or a value (x = 2) at which it exists"
    return "no real point was found where the function is differentiable", hint


def value_text(x: Any, digits: int = 10) -> str:
    """A number of many digits as people read it."""
    if isinstance(x, Fraction):
        return domains.fraction_text(x)
    text: str = mpmath.nstr(x, digits)
    return text[:-2] if text.endswith(".0") else text


def as_record(result: Result) -> dict[str, Any]:
    """The result as the JSON of verification has it."""
    found = result.counterexample
    record: dict[str, Any] = {
        "claim": result.claim,
        "wrt": result.wrt,
        "verdict": result.verdict,
        "where": ", ".join(result.where) or None,
        "counterexample": None,
        "hint": result.hint,
        "reason": result.reason,
        "points": result.points,
        "timed_out": result.timed_out,
    }
    if found is not None:
        record["counterexample"] = {
            "at": {name: _text(value) for name, value in found.point.items()},
            "element": list(found.element),
            "derivative": value_text(found.derivative),
            "claimed": value_text(found.claimed),
            "difference": value_text(found.claimed - found.derivative),
            "ratio": value_text(found.claimed / found.derivative) if found.derivative else None,
        }
    return record


def _text(value: Any) -> str:
    if np.ndim(value):
        return "[" + ", ".join(_text(v) for v in value) + "]"
    return value_text(value)

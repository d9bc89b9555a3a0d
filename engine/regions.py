"""Where both sides of a claim exist, and the words for it."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np

from . import domains
from .cases import Case
from .digits import Tape, ancestors, number, precision
from .domains import Bounds, Condition
from .errors import ChainruleError
from .points import Point, drawn, simple


class Region:
    """Where a claim's two sides exist: bounds of single inputs, and other conditions."""

    def __init__(self, case: Case) -> None:
        graph, claim = case.graph, case.claim
        self.case = case
        found = [
            c for place in ancestors(graph, [claim.root, claim.answer]) for c in domains.conditions(graph, [place])
        ]
        given = domains.assumed(graph, graph.assumptions)
        self.assumed: dict[int, Bounds] = {}
        for c in given:
            self._bound(self.assumed, c)
        self.bounds: dict[int, Bounds] = {}
        self.loose: list[Condition] = []
        self.soft: list[tuple[int, Fraction]] = []
        for c in (simpler for condition in found for simpler in domains.simplified(graph, condition)):
            solved = domains.solve(graph, c)
            if solved is None or case.shapes.get(solved[0]):
                if c not in self.loose:
                    self.loose.append(c)
            elif solved[0] not in case.fixed:
                self.bounds.setdefault(solved[0], Bounds()).add(*solved[1:])
                if solved[1] == "!=":
                    self.soft.append((solved[0], solved[2]))

    def _bound(self, into: dict[int, Bounds], c: Condition) -> None:
        solved = domains.solve(self.case.graph, c)
        if solved is not None:
            into.setdefault(solved[0], Bounds()).add(*solved[1:])

    def for_drawing(self) -> dict[int, Bounds]:
        """The bounds of single inputs that points are drawn within."""
        merged: dict[int, Bounds] = {}
        for source in (self.bounds, self.assumed):
            for place, bounds in source.items():
                into = merged.setdefault(place, Bounds())
                for relation, bound in ((">", bounds.low), ("<", bounds.high)):
                    if bound is not None:
                        into.add(relation, bound)
        return {p: b for p, b in merged.items() if b.low is None or b.high is None or b.low < b.high}

    def _samples(self) -> list[Tape]:
        """All nodes at points of all kinds, for what holds everywhere."""
        case, graph = self.case, self.case.graph
        some = itertools.chain(
            itertools.islice(simple(case.shapes, case.fixed), 60),
            itertools.islice(drawn(case.shapes, {}, case.fixed), 40),
            itertools.islice(drawn(case.shapes, self.for_drawing(), case.fixed), 40),
        )
        with precision(25):
            return [Tape(graph, range(len(graph.nodes)), point) for point in some if holds(case, point)]

    def texts(self) -> list[str]:
        """The conditions in words, without those that the assumptions say or that nothing violates."""
        graph = self.case.graph
        said = []
        for place, bounds in self.bounds.items():
            kept = replace(bounds, holes={h for h in bounds.holes if not self._removable(place, h)})
            given = self.assumed.get(place, Bounds())
            if given.low is not None and (kept.low is None or given.low >= kept.low):
                kept.low = None
            if given.high is not None and (kept.high is None or given.high <= kept.high):
                kept.high = None
            kept.holes = {h for h in kept.holes if given.contains(h) and not self._excluded(place, h)}
            said += kept.texts(graph.nodes[place].name or "")
        inside = [tape for tape in self._samples() if self._inside(tape)] if self.loose else []
        for c in self.loose:
            text = domains.condition_text(graph, c)
            if text not in said and self._violated(c, inside):
                said.append(text)
        return said

    def _excluded(self, place: int, x: Fraction) -> bool:
        """Whether conditions joined by or leave a number out already."""
        return any(
            all(
                form is not None and form.place == place and not _meets(form.slope * x + form.offset, c)
                for form, c in forms
            )
            for joined in self.loose
            if joined.either
            for forms in [[(domains.linear(self.case.graph, c.node), c) for c in joined.either]]
        )

    def _inside(self, tape: Tape) -> bool:
        """Whether a point meets the conditions on single inputs, and one of those that are joined by or."""
        return all(
            bounds.contains(value) and value not in bounds.holes
            for place, bounds in self.bounds.items()
            if not np.ndim(value := tape.values[place])
        ) and all(any(not self._violated(c, [tape]) for c in joined.either) for joined in self.loose if joined.either)

    def _violated(self, c: Condition, samples: list[Tape]) -> bool:
        """Whether a condition does not hold at some of the points."""
        if c.relation == "words":
            return True
        signs = {
            int(mpmath.sign(v - number(c.bound)))
            for tape in samples
            for v in np.ravel(tape.tape[c.node])
            if mpmath.isfinite(v)
        }
        return {">": bool(signs & {0, -1}), "<": bool(signs & {0, 1})}.get(c.relation, 0 in signs or len(signs) > 1)

    def _removable(self, place: int, hole: Fraction) -> bool:
        """Whether both sides exist at a point left out, and are equal there."""
        case = self.case
        if len(case.shapes) > 1 + len(case.fixed) or case.shapes.get(place):
            return False
        point = {**case.fixed, place: hole}
        if set(case.shapes) - set(point):
            return False
        try:
            return case.at(point).state == "equal" and case.smooth(point)
        except ChainruleError:
            return False


def _meets(x: Fraction, c: Condition) -> bool:
    return x > c.bound if c.relation == ">" else x < c.bound


def holds(case: Case, point: Point) -> bool:
    """Whether the program's assumptions hold at a point."""
    graph = case.graph
    if not graph.assumptions:
        return True
    with precision(30):
        tape = Tape(graph, graph.assumptions, point)
        return all(np.all(np.asarray(tape.tape[i]) != 0) for i in graph.assumptions)

"""Every elementwise row is as accurate as its figures say, and they are within the bar.

The bar: 2 ulp for values, 4 for first derivatives and 16 for second ones over the whole domain; `accuracy` says what is
measured. The C library's erfc is 3 ulp off, SciPy's 200: no better values are to be had from it.
"""

from __future__ import annotations

import json
import random

import pytest
from accuracy import FIGURES, KINDS, WORST, candidates, measure, points, rows

ROWS = rows()
BAR = {"value": 2, "first": 4, "second": 16}  # ulp
BY_ERFC = {"erfc": BAR | {"value": 3}, "gelu": BAR | {"value": 3}}
KEPT = json.loads(FIGURES.read_text())

every_row = pytest.mark.parametrize("op", ROWS.values(), ids=ROWS.keys())


def check(op, drawn):
    promised = KEPT.get(op.name, BAR)
    for kind, found in measure(op, drawn).items():
        assert found.ulps <= promised[kind], found


def test_figures_are_within_the_bar():
    assert KEPT.keys() == {name for name, op in ROWS.items() if op.public}
    for name, figures in KEPT.items():
        assert figures.keys() == set(KINDS)
        assert all(figures[kind] <= BY_ERFC.get(name, BAR)[kind] for kind in KINDS), (name, figures)


@every_row
def test_row_is_as_accurate_as_it_says(op):
    """At the worst points that a search found, and at some of all sizes."""
    worst = [tuple(xs) for xs in json.loads(WORST.read_text())[op.name]]
    check(op, worst + random.Random(op.name).sample(candidates(op), 60))


@pytest.mark.full
@every_row
def test_row_is_as_accurate_as_it_says_at_many_points(op):
    check(op, points(op))

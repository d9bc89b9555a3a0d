"""Points to look at an expression at: exact numbers of all sizes and both signs, always the same ones.

Drawn numbers have three digits and are no multiples of 1/4, where kinks like to sit; simple points, for people to read,
are small whole numbers first.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from .domains import Bounds

SIMPLE = [*map(Fraction, ["1", "2", "-1", "3", "-2", "1/2", "-3", "-1/2", "4", "5", "1/4", "10", "-5", "0", "1/10"])]
MOST_SIMPLE = 400

Point = dict[int, Any]  # an exact number, or an object array of them, for each input's place


def drawn(
    shapes: Mapping[int, tuple[int, ...]], bounds: Mapping[int, Bounds], fixed: Mapping[int, Any]
) -> Iterator[Point]:
    """Points without end for inputs of these shapes, inside the bounds; `fixed` are values that are given."""
    generator = random.Random(0)
    for turn in itertools.count():
        spread = (1, 1, 2, 3)[turn % 4]  # how many powers of ten the sizes range over, up and down
        point: Point = {}
        for place, shape in shapes.items():
            if place in fixed:
                point[place] = fixed[place]
                continue
            numbers = [_draw(generator, bounds.get(place), spread) for _ in range(math.prod(shape))]
            point[place] = np.array(numbers, dtype=object).reshape(shape) if shape else numbers[0]
        yield point


def _draw(generator: random.Random, bounds: Bounds | None, spread: int) -> Fraction:
    low, high = (None, None) if bounds is None else (bounds.low, bounds.high)
    if low is not None and high is not None:
        return low + (high - low) * Fraction(_odd(generator), 1000)
    size = Fraction(_odd(generator), 1000) * Fraction(10) ** generator.randint(1 - spread, spread)
    if low is not None:
        return low + size
    if high is not None:
        return high - size
    return size if generator.random() < 0.55 else -size


def _odd(generator: random.Random) -> int:
    """A number from 1 to 999 that ends in 1, 3, 7 or 9."""
    return generator.randrange(0, 100) * 10 + generator.choice((1, 3, 7, 9))


def simple(shapes: Mapping[int, tuple[int, ...]], fixed: Mapping[int, Any]) -> Iterator[Point]:
    """Points of small whole numbers, the simplest first."""
    free = [place for place in shapes if place not in fixed]
    for ranks in itertools.islice(_by_sum(len(free), len(SIMPLE)), MOST_SIMPLE):
        point = dict(fixed)
        for place, rank in zip(free, ranks, strict=True):
            point[place] = _simple_array(shapes[place], rank)
        yield point


def _by_sum(count: int, size: int) -> Iterator[Sequence[int]]:
    """Tuples of ranks, those of the smallest sum first."""
    if count > 6:  # too many combinations: one rank for all, then neighbours
        yield from ([(r + k) % size for k in range(count)] for r in range(size))
        return
    for total in range(count * (size - 1) + 1):
        yield from _tuples(count, size, total)


def _tuples(count: int, size: int, total: int) -> Iterator[tuple[int, ...]]:
    if count == 0:
        if total == 0:
            yield ()
        return
    for first in range(min(size - 1, total) + 1):
        for rest in _tuples(count - 1, size, total - first):
            yield (first, *rest)


def _simple_array(shape: tuple[int, ...], rank: int) -> Any:
    if not shape:
        return SIMPLE[rank]
    made = np.empty(shape, dtype=object)
    for k, index in enumerate(np.ndindex(shape)):
        made[index] = Fraction((k * k + 1 + rank) % 7 - (rank + k) % 3)  # small, and not symmetric
    return made

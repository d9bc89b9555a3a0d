"""Derivatives by differences that know their own error, and limits from either side.

A difference quotient is wrong by its step (too large) and by rounding (too small). Here quotients over a sequence of
shrinking steps are extrapolated to step 0 (Richardson, Ridders 1982), which gives an estimate of its own error. At a
kink the quotients from the left and the right converge to different numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

STEPS = 12
SHRINK = 1.7  # from a step to the next; not a power of 2, so that rounding shows


class Difference(NamedTuple):
    """Numeric derivatives of all outputs by one input element: the limit and its error; the same from either side."""

    value: npt.NDArray[Any]
    error: npt.NDArray[Any]
    left: npt.NDArray[Any]
    right: npt.NDArray[Any]
    sides_error: npt.NDArray[Any]


def numeric_derivative(f: Callable[[float], npt.NDArray[Any]], x: float, epsilon: float) -> Difference:
    """The derivative of `f`, a function of one number with values of any shape, at `x`.

    `epsilon` is the relative precision that `f` computes with. Steps of the size of 1 and of x are tried, and the limit
    of the smaller error taken.
    """
    noise = _noise(f, x, epsilon)
    found = [_limits(f, x, epsilon, noise, scale) for scale in sorted({1.0, abs(x) or 1.0})]
    best = found[0]
    for other in found[1:]:
        closer = other.error < best.error
        sharper = other.sides_error < best.sides_error
        best = Difference(
            np.where(closer, other.value, best.value),
            np.where(closer, other.error, best.error),
            np.where(sharper, other.left, best.left),
            np.where(sharper, other.right, best.right),
            np.where(sharper, other.sides_error, best.sides_error),
        )
    return best


def _noise(f: Callable[[float], npt.NDArray[Any]], x: float, epsilon: float) -> npt.NDArray[Any]:
    """How far rounding moves the values of `f`: the second differences over a few neighbouring numbers."""
    step = 8 * epsilon * 2.0 ** np.floor(np.log2(abs(x) or 1.0))  # whole units in the last place
    return scatter(f, x, step, order=2)


def scatter(f: Callable[[float], npt.NDArray[Any]], x: float, step: float, order: int) -> npt.NDArray[Any]:
    """The largest difference of an order over nine values around x: what is left when the smooth part is gone."""
    near = np.array([np.asarray(f(x + k * step), dtype=float) for k in range(-4, 5)])
    found: npt.NDArray[Any] = np.max(np.abs(np.diff(near, n=order, axis=0)), axis=0)
    return found


def _limits(
    f: Callable[[float], npt.NDArray[Any]], x: float, epsilon: float, jitter: npt.NDArray[Any], scale: float
) -> Difference:
    step = scale * 2.0 ** round(np.log2(epsilon) / 6)
    middle = np.asarray(f(x), dtype=float)
    central, below, above, noise = [], [], [], []
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            h = (x + step) - x  # a step that the number format has
            up, down = np.asarray(f(x + h), dtype=float), np.asarray(f(x - h), dtype=float)
            central.append((up - down) / (2 * h))
            below.append((middle - down) / h)
            above.append((up - middle) / h)
            noise.append((jitter + epsilon * np.maximum(np.abs(up), np.abs(down))) / h)
            step /= SHRINK
        value, error = _extrapolated(central, noise, SHRINK**2)
        left, left_error = _extrapolated(below, noise, SHRINK)
        right, right_error = _extrapolated(above, noise, SHRINK)
    return Difference(value, error, left, right, left_error + right_error)


def _extrapolated(
    quotients: list[npt.NDArray[Any]], noise: list[npt.NDArray[Any]], ratio: float
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The limit of quotients whose error falls by `ratio` from each to the next, and an estimate of its error.

    Every entry of the extrapolation's table is a candidate, its error how far it moved from the entries it came from;
    the three best must also agree, since among many one may have moved little by luck.
    """
    values, errors = [], []
    table: list[npt.NDArray[Any]] = []
    for quotient, floor in zip(quotients, noise, strict=True):
        row = [quotient]
        for m, previous in enumerate(table):
            factor = ratio ** (m + 1)
            row.append((factor * row[m] - previous) / (factor - 1))
            values.append(row[-1])
            errors.append(np.maximum(np.abs(row[-1] - row[-2]), np.abs(row[-1] - previous)) + floor)
        table = row
    stacked, moved = np.array(values), np.array(errors)
    order = np.argsort(np.where(np.isnan(moved), np.inf, moved), axis=0)[:3]
    best, second, third = np.take_along_axis(stacked, order, axis=0)
    error = np.max([np.take_along_axis(moved, order, axis=0)[0], np.abs(best - second), np.abs(best - third)], axis=0)
    return best, np.where(np.isnan(error), np.inf, error)


def is_kink(numeric: Difference) -> npt.NDArray[Any]:
    """Where the derivatives from the left and the right are two different numbers."""
    gap = np.abs(numeric.left - numeric.right)
    size = np.maximum(np.abs(numeric.left), np.abs(numeric.right))
    found: npt.NDArray[Any] = (gap > 1e-3 * size) & (gap > 20 * numeric.sides_error)
    return found


class Side(NamedTuple):
    """What a function does on one side of a point: its one-sided derivative, and whether its value jumps there.

    The derivative is infinite where the quotients grow without bound, nan where they have no limit.
    """

    derivative: float
    jumps: bool


def one_sided(f: Callable[[float], float], x: float, sign: int) -> Side:
    """The behaviour of `f` on the side of `x` that `sign` (-1 or 1) says."""
    middle = float(f(x))
    best = Side(math.nan, False)
    smallest = math.inf
    for scale in sorted({1.0, abs(x) or 1.0}):
        steps = [scale * 2.0**-9 / SHRINK**k for k in range(STEPS)]
        moves = [float(f(x + sign * h)) - middle for h in steps]
        quotients = [np.asarray(sign * move / h) for move, h in zip(moves, steps, strict=True)]
        far, near = abs(moves[0]), abs(moves[-1])
        if near > far / 2 and near > 0:
            return Side(math.nan, True)
        growth = abs(float(quotients[-1])) / (abs(float(quotients[0])) or 1.0)
        if growth > 3 and abs(float(quotients[-1])) > 3:
            best, smallest = Side(math.copysign(math.inf, float(quotients[-1])), False), 0.0
            continue
        noise = [np.asarray(2.0**-52 * (abs(middle) + abs(move)) / h) for move, h in zip(moves, steps, strict=True)]
        with np.errstate(all="ignore"):
            value, error = _extrapolated(quotients, noise, SHRINK)
        if float(error) < smallest and float(error) <= 1e-4 * max(1.0, abs(float(value))):
            found = 0.0 if abs(float(value)) <= 10 * float(error) else float(value)
            best, smallest = Side(found, False), float(error)
    return best

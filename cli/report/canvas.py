"""Curves in the terminal, drawn with the dots of Braille characters: two across and four down in each."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chainrule.curves import Curves, Field

from .values import number

DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
BLANK = 0x2800
STYLES = ("cyan", "yellow", "magenta", "green")
TANGENT = "red"
ARROWS = "→↗↑↖←↙↓↘"
LEVELS = 9  # bands between contours


class Canvas:
    """A grid of characters whose dots are set by coordinates; each character has the style of the last dot in it."""

    def __init__(self, columns: int, rows: int, xs: tuple[float, float], ys: tuple[float, float]) -> None:
        self.columns, self.rows, self.xs, self.ys = columns, rows, xs, ys
        self.dots = [[0] * columns for _ in range(rows)]
        self.styles = [[""] * columns for _ in range(rows)]
        self.letters: dict[tuple[int, int], str] = {}

    def place(self, x: float, y: float) -> tuple[float, float]:
        """The dot of a point, from the top left."""
        across = (x - self.xs[0]) / (self.xs[1] - self.xs[0]) * (2 * self.columns - 1)
        down = (self.ys[1] - y) / (self.ys[1] - self.ys[0]) * (4 * self.rows - 1)
        return across, down

    def dot(self, across: int, down: int, style: str) -> None:
        """Set a dot, if it is inside."""
        if 0 <= across < 2 * self.columns and 0 <= down < 4 * self.rows:
            self.dots[down // 4][across // 2] |= DOTS[down % 4][across % 2]
            self.styles[down // 4][across // 2] = style

    def line(self, a: tuple[float, float], b: tuple[float, float], style: str) -> None:
        """Join two points, cut where they leave the canvas."""
        (x0, y0), (x1, y1) = self.place(*a), self.place(*b)
        high = 4 * self.rows
        if max(y0, y1) < -1 or min(y0, y1) > high:
            return
        steps = max(1, math.ceil(min(max(abs(x1 - x0), abs(y1 - y0)), 50 * high)))
        for i in range(steps + 1):
            down = y0 + (y1 - y0) * i / steps
            if -1 < down < high:
                self.dot(round(x0 + (x1 - x0) * i / steps), round(down), style)

    def runs(self, row: int) -> list[tuple[str, str]]:
        """A row of characters as texts of one style each."""
        found: list[tuple[str, str]] = []
        for column, (dot, style) in enumerate(zip(self.dots[row], self.styles[row], strict=True)):
            char = self.letters.get((row, column)) or (chr(BLANK + dot) if dot else " ")
            if found and found[-1][1] == style:
                found[-1] = (found[-1][0] + char, style)
            else:
                found.append((char, style))
        return found


Lines = list[list[tuple[str, str]]]


def curve_lines(curves: Curves, k: int, columns: int, rows: int, digits: int) -> Lines:
    """The k-th curve with its axes: lines of texts with styles."""
    low, high = curves.ranges[k]
    margin = _margin((low, high), digits)
    canvas = Canvas(columns - margin - 1, rows, (curves.samples[0].x, curves.samples[-1].x), (low, high))
    if low < 0 < high:
        for across in range(0, 2 * canvas.columns, 4):
            canvas.dot(across, round(canvas.place(0, 0)[1]), "dim")
    if k == 0:
        for tangent in curves.tangents:
            left, right = ((x, tangent.ys[0] + tangent.ys[1] * (x - tangent.x)) for x in canvas.xs)
            canvas.line(left, right, TANGENT)
    for piece in curves.pieces[k]:
        points = list(zip(*curves.piece(k, *piece), strict=True))
        for a, b in zip(points, points[1:] or points, strict=False):
            canvas.line(a, b, STYLES[k % len(STYLES)])
    return _framed(canvas, margin, digits, curves.name, [curves.label(k)])


def field_lines(field: Field, columns: int, rows: int, digits: int) -> Lines:
    """Contours of a function of two inputs, and arrows along its gradient."""
    ys = (float(field.ys[0]), float(field.ys[-1]))
    margin = _margin(ys, digits)
    canvas = Canvas(columns - margin - 1, rows, (float(field.xs[0]), float(field.xs[-1])), ys)
    fine = _finer(field.values, 4 * rows, 2 * canvas.columns)[::-1]
    bands = np.floor((fine - np.nanmin(fine)) / ((np.nanmax(fine) - np.nanmin(fine)) or 1.0) * LEVELS)
    for down, across in np.argwhere((bands[1:, 1:] != bands[:-1, 1:]) | (bands[1:, 1:] != bands[1:, :-1])):
        if np.isfinite(fine[down : down + 2, across : across + 2]).all():
            canvas.dot(int(across) + 1, int(down) + 1, STYLES[0])
    by_x, by_y = (_finer(g, rows, canvas.columns)[::-1] for g in field.gradient)
    for row in range(1, rows, 3):
        for column in range(3, canvas.columns, 8):
            canvas.letters[row, column] = _arrow(by_x[row, column], by_y[row, column])
    return _framed(canvas, margin, digits, field.names[0], [f"{field.output}, over {field.names[1]} upwards"])


def _finer(values: Any, rows: int, columns: int) -> Any:
    """A grid of values interpolated to so many rows and columns."""
    across = np.linspace(0, values.shape[1] - 1, columns)
    down = np.linspace(0, values.shape[0] - 1, rows)
    wide = np.array([np.interp(across, np.arange(values.shape[1]), row) for row in values])
    return np.array([np.interp(down, np.arange(values.shape[0]), column) for column in wide.T]).T


def _arrow(x: float, y: float) -> str:
    if not (math.isfinite(x) and math.isfinite(y)) or x == y == 0:
        return "·"
    return ARROWS[round(math.atan2(y, x) / (math.pi / 4)) % 8]


def _margin(ys: tuple[float, float], digits: int) -> int:
    return max(len(number(y, digits)) for y in (*ys, _middle(*ys))) + 1


def _middle(low: float, high: float) -> float:
    """The middle of an interval; 0 where rounding alone makes it something else."""
    middle = (low + high) / 2
    return 0.0 if abs(middle) < 1e-9 * (high - low) else middle


def _framed(canvas: Canvas, margin: int, digits: int, name: str, heading: list[str]) -> Lines:
    """A canvas with its heading and its axes."""
    low, high = canvas.ys
    at = {0: high, canvas.rows // 2: _middle(low, high), canvas.rows - 1: low}
    lines: Lines = [[(" " * (margin + 1) + text, "bold")] for text in heading]
    for row in range(canvas.rows):
        label = number(at[row], digits) if row in at else ""
        lines.append([(label.rjust(margin - 1) + " │", "dim"), *canvas.runs(row)])
    left, right = (number(x, digits) for x in canvas.xs)
    middle = name.center(max(1, canvas.columns - len(left) - len(right)))
    lines.append([(" " * margin + "└" + "─" * canvas.columns, "dim")])
    lines.append([(" " * (margin + 1) + left + middle + right, "dim")])
    return lines

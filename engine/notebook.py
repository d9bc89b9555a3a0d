"""How values show themselves in a notebook: tensors as tables and formulas, programs and their steps as drawings.

A drawing is the command line's: like `__main__`, this file reaches for `chainrule.cli`, and only when a notebook asks.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ChainruleError
from .latex import expression_latex, name_latex
from .ops import shape_text
from .printing import number_text

if TYPE_CHECKING:
    from .program import Program
    from .steps import Steps

MOST = 12  # rows and columns of an array that are shown
DIGITS = 6


def tensor_html(data: Any, facts: dict[str, str]) -> str:
    """A number or an array as a table, and below it what else is known."""
    below = ", ".join(f"{name}={value}" for name, value in facts.items())
    array = np.asarray(data)
    if array.ndim == 0 or array.ndim > 2:
        shown = html.escape(repr(array.item()) if array.ndim == 0 else f"an array of shape {shape_text(array.shape)}")
        return f"<div><code>{shown}</code><br><small>{html.escape(below)}</small></div>"
    rows = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in _cells(array))
    return f"<div><table>{rows}</table><small>{html.escape(below)}</small></div>"


def tensor_latex(data: Any) -> str:
    """A number, or a matrix, in LaTeX."""
    array = np.asarray(data)
    if array.ndim == 0:
        return f"${_number(array.item())}$"
    if array.ndim > 2:
        times = r"\times "
        return rf"$\text{{an array of shape }} {times.join(map(str, array.shape))}$"
    rows = r" \\ ".join(" & ".join(row) for row in _cells(array))
    return rf"$\begin{{bmatrix}}{rows}\end{{bmatrix}}$"


def _cells(array: Any) -> list[list[str]]:
    """A vector (as one row) or a matrix as texts, its middle left out where it is large."""
    rows = [_shortened([_number(v) for v in row]) for row in np.atleast_2d(array).tolist()[: MOST + 1]]
    return rows if len(rows) <= MOST else [*rows[:MOST], ["…"] * len(rows[0])]


def _shortened(cells: list[str]) -> list[str]:
    return cells if len(cells) <= MOST else [*cells[: MOST - 2], "…", cells[-1]]


def _number(value: Any) -> str:
    return number_text(float(f"{value:.{DIGITS}g}")) if isinstance(value, float) else str(value)


def program_latex(program: Program) -> str:
    """The statements of a program in LaTeX."""
    lines = []
    for i, node in enumerate(program.nodes[: program.last + 1]):
        if node.op.public and (node.name is not None or i == program.last):
            left = name_latex(node.name or program.output_name)
            right = expression_latex(program, i, own=True, name=lambda j: _name(program, j))
            lines.append(f"{left} &= {right}")
    return r"$\displaystyle\begin{aligned}" + r" \\ ".join(lines) + r"\end{aligned}$"


def _name(program: Program, i: int) -> str | None:
    name = program.nodes[i].name
    return None if name is None else name_latex(name)


def drawing(steps: Steps) -> str | None:
    """The drawing of a run as SVG; None where nothing can place its boxes."""
    from chainrule.cli.report.drawings import svg
    from chainrule.cli.report.gradients import title
    from chainrule.cli.report.pictures import picture_of

    try:
        return svg(picture_of(steps, title(steps.analysis, DIGITS), DIGITS, 300))
    except ChainruleError:
        return None


def steps_html(steps: Steps) -> str:
    """The drawing of a run, and below it the chain rule of each gradient."""
    from chainrule.cli.report.explanations import Explanation

    rules = Explanation(steps, DIGITS, 300, False).chain_rules()
    lines = "".join(f"<li><code>{html.escape('   '.join(filter(None, pair)))}</code></li>" for pair in rules)
    return f"<div>{drawing(steps) or ''}<ul>{lines}</ul></div>"

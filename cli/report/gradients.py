"""What `chainrule grad` found, as a table, JSON, CSV or Markdown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from chainrule.analysis import Analysis, NodeRow
from chainrule.errors import ChainruleError
from chainrule.printing import element_name, program_text

from .grids import Grid, Screen, comma_separated, markdown
from .records import error_record, result_record
from .values import jsonable, shape_text, to_json, value_text

if TYPE_CHECKING:
    from chainrule.crosscheck import Check

MOST_ROWS = 60  # nodes that a table shows
HEADER = ("node", "expression", "value", "shape", "leaf", "requires_grad", "grad_fn", "grad")
MOST_COLUMNS = 12  # of a matrix
LONGEST = 48  # characters of a formula that a column holds
NO_INPUTS = "No input requires a gradient: there is nothing to differentiate."


# --- for people -------------------------------------------------------------------------------------------------------


def show_graph(analysis: Analysis, screen: Screen, digits: int) -> None:
    """The program, its nodes, and the notes: all that is known before SymPy is asked."""
    screen.line(title(analysis, digits), "bold")
    screen.line()
    grid = node_grid(analysis, digits)
    screen.grid(grid)
    if len(analysis.nodes) > MOST_ROWS:
        screen.line(
            f"… {len(analysis.nodes) - len(grid.rows):,} of {len(analysis.nodes):,} nodes are not shown; --json has all"
        )
    if analysis.missing:
        names = ", ".join(analysis.missing)
        screen.line()
        example = " ".join(f"{name}=…" for name in analysis.missing)
        screen.line(f"No value for {names}: add {example} to see numbers.", "yellow")
    if not analysis.wrt:
        screen.line()
        screen.line(NO_INPUTS, "yellow")
    for note in analysis.notes:
        screen.line()
        screen.line(f"note: {note.text}", "yellow")
    screen.flush()


def show_derivatives(analysis: Analysis, checks: list[Check] | None, screen: Screen, digits: int) -> None:
    """Each derivative with its value, its formula and the check."""
    if not analysis.wrt:
        return
    screen.line()
    if analysis.kind == "direction":
        screen.line(product_text(analysis, digits))
        return
    if analysis.kind in ("hessian", "jacobian") and not analysis.missing:
        screen.grid(matrix_grid(analysis, digits))
        screen.line()
    if checks and len(checks) <= MOST_ROWS and any(len(check.formula or "") > LONGEST for check in checks):
        _show_blocks(analysis, checks, screen, digits)
    else:
        screen.grid(derivative_grid(analysis, checks, digits))


def _show_blocks(analysis: Analysis, checks: list[Check], screen: Screen, digits: int) -> None:
    """Each derivative on lines of its own, for formulas that no column holds."""
    for i, check in enumerate(checks):
        name, gradient = _derivative_cells(analysis, check, digits)
        lines = [text for text in (gradient, check.formula) if text]
        if i:
            screen.line()
        for text in lines:
            screen.line(f"{name if text is lines[0] else '':{len(name)}} = {text}")
        if said := check_text(check, digits):
            screen.line(f"{'':{len(name)}}   {said}", "bold red" if check.verdict == "differs" else "dim")


def _derivative_cells(analysis: Analysis, check: Check, digits: int) -> tuple[str, str]:
    value = check.derivative.value
    return check.derivative.label(analysis.output), "" if value is None else value_text(value, digits)


def title(analysis: Analysis, digits: int) -> str:
    """The program, and the point it is looked at."""
    program = analysis.program
    text = program.source.strip()
    if "\n" in text or len(text) > 500:
        text = program_text(program) if len(text) <= 500 else text[:240].strip() + " … " + text[-240:].strip()
    if analysis.point is None or "|" in text:
        return text
    given = [f"{name} = {value_text(value, digits)}" for name, value in analysis.point.items()]
    if len(given) > MOST_COLUMNS:
        given = [*given[: MOST_COLUMNS - 1], "…", given[-1]]
    single = ", in float32" * (program.dtype is not None)
    return text + (f"   at {', '.join(given)}" if given else "") + single


def node_grid(analysis: Analysis, digits: int) -> Grid:
    """The nodes; of a very large graph the first and the last."""
    rows = analysis.nodes
    if len(rows) > MOST_ROWS:
        rows = [*rows[: MOST_ROWS - 10], *rows[-10:]]
    grid = Grid(HEADER, [_node_cells(row, digits) for row in rows])
    grid.styles = [_style(row) for row in rows]
    return grid.without_empty()


def _node_cells(row: NodeRow, digits: int) -> list[str]:
    return [
        row.name,
        row.expression,
        value_text(row.value, digits),
        shape_text(row.shape),
        _yes(row.is_leaf),
        _yes(row.requires_grad),
        row.grad_fn or "-",
        "None" if row.grad is None else value_text(row.grad, digits),
    ]


def _yes(truth: bool) -> str:
    return "yes" if truth else "no"


def _style(row: NodeRow) -> str:
    if row.value is not None and not np.all(np.isfinite(row.value)):
        return "red"
    return "cyan" if row.is_leaf and row.requires_grad else "" if row.requires_grad else "dim"


def derivative_grid(analysis: Analysis, checks: list[Check] | None, digits: int) -> Grid:
    """The derivatives; without checks one line for each input, with them one for each element."""
    grid = Grid(("", "derivative", "formula", "check"), wraps=("derivative", "formula", "check"))
    if checks is None and analysis.kind != "gradient":
        from chainrule.crosscheck import Check

        checks = [Check(derivative) for derivative in analysis.further]
    if checks is None:
        for name, found in analysis.gradients.items():
            grid.rows.append([f"d{analysis.output}/d{name}", value_text(found, digits), "", ""])
        return grid.without_empty()
    for check in checks:
        name, gradient = _derivative_cells(analysis, check, digits)
        grid.rows.append([name, gradient, check.formula or "", check_text(check, digits)])
        grid.styles.append("bold red" if check.verdict == "differs" else "")
    return _shortened(grid.without_empty(), analysis, digits)


def matrix_grid(analysis: Analysis, digits: int) -> Grid:
    """A Hessian or a Jacobian: rows and columns labelled by the elements of inputs (or of the output)."""
    rows, columns, matrix = matrix_of(analysis)
    shown = slice(0, MOST_COLUMNS)
    grid = Grid(["", *columns[shown]], wraps=(), right=columns)
    for label, values in list(zip(rows, matrix, strict=True))[:MOST_ROWS]:
        grid.rows.append([label, *(value_text(v, digits) for v in values[shown])])
    if len(columns) > MOST_COLUMNS or len(rows) > MOST_ROWS:
        grid.rows.append(["…", *([""] * len(columns[shown]))])
    return grid


def matrix_of(analysis: Analysis) -> tuple[list[str], list[str], list[list[float | None]]]:
    """The labels of the rows and of the columns, and the numbers."""
    entries: dict[str, dict[str, float | None]] = {}
    for derivative in analysis.further:
        column = element_name(*derivative.by[-1])
        if analysis.kind == "hessian":
            row = element_name(*derivative.by[0])
        else:
            row = element_name(analysis.output, derivative.of or ())
        entries.setdefault(row, {})[column] = derivative.value
    columns = list(next(iter(entries.values()), {}))
    return list(entries), columns, [[values[c] for c in columns] for values in entries.values()]


def product_text(analysis: Analysis, digits: int) -> str:
    """The derivative in a direction."""
    along = ", ".join(f"d{name} = {value_text(value, digits)}" for name, value in analysis.direction.items())
    return f"d{analysis.output} = {value_text(analysis.product, digits)}   for {along}"


def _shortened(grid: Grid, analysis: Analysis, digits: int) -> Grid:
    """For inputs of many elements that could not be checked, one line for each input."""
    if len(grid.rows) <= MOST_ROWS:
        return grid
    rows = [[f"d{analysis.output}/d{n}", value_text(g, digits)] for n, g in analysis.gradients.items()]
    return Grid(("", "derivative"), rows, ("derivative",))


def check_text(check: Check, digits: int) -> str:
    """A check in a few words."""
    if check.verdict == "differs":
        verb = "finds" if check.source == "SymPy" else "find"
        return f"DIFFERS: {check.source} {verb} {float(check.exact or 'nan'):.{max(digits, 10)}g}"
    if check.verdict == "agrees":
        lost = f"; cancellation costs about {check.lost}" if check.lost else ""
        verb = "agrees" if check.source == "SymPy" else "agree"
        return f"{check.source} {verb} " + (f"to {check.digits} digits" if check.digits else "within rounding") + lost
    return f"not checked: {check.reason}" if check.reason else ""


def show_markdown(analysis: Analysis, checks: list[Check] | None, digits: int) -> str:
    """The same for a document."""
    parts = [f"`{title(analysis, digits)}`\n", markdown(node_grid(analysis, digits))]
    parts += [f"**Note:** {note.text}\n" for note in analysis.notes]
    if analysis.missing:
        parts.append(f"No value for {', '.join(analysis.missing)}.\n")
    if analysis.kind == "direction":
        parts.append(f"`{product_text(analysis, digits)}`\n")
    elif analysis.kind in ("hessian", "jacobian"):
        parts.append(markdown(matrix_grid(analysis, digits)))
    elif analysis.wrt and (checks or analysis.gradients):
        parts.append(markdown(derivative_grid(analysis, checks, digits)))
    return "\n".join(parts)


# --- for programs -----------------------------------------------------------------------------------------------------


def record(analysis: Analysis, checks: list[Check] | None) -> dict[str, Any]:
    """The result as one JSON object (the README has its schema)."""
    program = analysis.program
    made = result_record(1, program.source.strip(), program, analysis.value, analysis.gradients)
    if analysis.missing:
        made["missing"] = analysis.missing
    made["nodes"] = [
        {
            "name": row.name,
            "expression": row.expression,
            "value": row.value,
            "shape": list(row.shape),
            "requires_grad": row.requires_grad,
            "is_leaf": row.is_leaf,
            "grad_fn": row.grad_fn,
            "grad": row.grad,
        }
        for row in analysis.nodes
    ]
    if analysis.kind == "order":
        made["derivatives"] = {derivative.key(analysis.output): derivative.value for derivative in analysis.further}
    elif analysis.kind in ("hessian", "jacobian"):
        rows, columns, matrix = matrix_of(analysis)
        made[analysis.kind] = {"rows": rows, "columns": columns, "matrix": matrix}
    elif analysis.kind == "direction":
        made["jvp"] = {"direction": analysis.direction, "product": analysis.product}
    if analysis.notes:
        made["notes"] = [{"kind": note.kind, "message": note.text} for note in analysis.notes]
    if checks is not None:
        made["symbolic"] = {c.derivative.key(analysis.output): c.formula for c in checks}
        made["check"] = {
            c.derivative.key(analysis.output): {
                "verdict": c.verdict,
                "digits": c.digits,
                "exact": c.exact,
                "reason": c.reason,
            }
            for c in checks
            if c.derivative.value is not None
        }
    return made


def json_line(analysis: Analysis, checks: list[Check] | None) -> str:
    """The record as a line."""
    return to_json(record(analysis, checks)) + "\n"


def error_line(text: str, error: ChainruleError) -> str:
    """The record of a program that could not be run."""
    return to_json(error_record(1, text.strip(), error)) + "\n"


def csv_text(analysis: Analysis, checks: list[Check] | None) -> str:
    """The nodes as CSV, arrays as JSON; with checks, the formula and verdict of each input."""
    header = ["name", "expression", "value", "shape", "is_leaf", "requires_grad", "grad_fn", "grad"]
    by_name: dict[str, list[Check]] = {}
    for check in checks or []:
        by_name.setdefault(check.derivative.by[0][0], []).append(check)
    rows = []
    for row in analysis.nodes:
        cells = [
            row.name, row.expression, _cell(row.value), shape_text(row.shape),
            _yes(row.is_leaf), _yes(row.requires_grad), row.grad_fn or "", _cell(row.grad),
        ]  # fmt: skip
        if checks is not None:
            mine = by_name.get(row.name, [])
            cells += ["; ".join(c.formula or "" for c in mine), "; ".join(c.verdict or c.reason or "" for c in mine)]
        rows.append(cells)
    return comma_separated(header + ["formula", "check"] * (checks is not None), rows)


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return repr(jsonable(value)).strip("'") if np.ndim(value) == 0 else json.dumps(jsonable(np.asarray(value)))

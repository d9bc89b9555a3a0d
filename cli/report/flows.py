"""The steps of a run for programs: nodes, edges and the order of backward as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from chainrule.steps import FunctionRow, Steps

from .gradients import record
from .values import to_json


def graph_record(steps: Steps) -> dict[str, Any]:
    """The record of `grad --json` with `edges`, their places in the order of backward, and each node's `gradient`."""
    made = record(steps.analysis, None)
    for row, kind, gradient in zip(made["nodes"], steps.kinds, steps.gradients, strict=True):
        row |= {"kind": kind, "gradient": gradient}
    names = [row.name for row in steps.rows]
    made["edges"] = [
        {
            "node": names[edge.node],
            "input": names[edge.input],
            "argument": edge.argument,
            "formula": None if edge.formula is None else edge.formula.text(),
            "rule": edge.law if edge.flows else None,
            "local": edge.local,
            "product": edge.product,
            "total": edge.total,
        }
        for edge in steps.edges
    ]
    made["backward"] = steps.backward
    return made


def graph_line(steps: Steps) -> str:
    """The graph as a line of JSON."""
    return to_json(graph_record(steps)) + "\n"


def functions_line(steps: Steps, functions: Sequence[FunctionRow]) -> str:
    """The graph of functions as a line of JSON: each with its `next_functions`, places in the list or null."""
    rows = [
        {"name": row.name, "next_functions": list(row.following)}
        | ({"variable": row.variable, "shape": list(row.shape)} if row.variable is not None else {})
        for row in functions
    ]
    return to_json({"id": 1, "expression": steps.analysis.program.source.strip(), "functions": rows}) + "\n"

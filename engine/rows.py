"""One program at many points at once: each input is a column, and every operation runs once for all rows.

For a program of elementwise operations on scalars, the cotangent 1 for each row's output brings each row's own
gradient: rows do not touch each other. Other programs have to run row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from .evaluate import backward, forward
from .graph import Graph
from .ops import CONSTANTS

Column = np.ndarray[Any, np.dtype[np.floating[Any]]]


def is_rowwise(graph: Graph) -> bool:
    """Whether on scalars no operation makes or joins arrays, so that its rows can be computed side by side."""
    return all(
        node.value is not None or node.is_leaf or node.op.elementwise or node.op.name in CONSTANTS
        for node in graph.nodes[: graph.output + 1]
    )


def value_and_grad_of_rows(
    graph: Graph, columns: Mapping[str, Column], wrt: Iterable[str]
) -> tuple[Column, dict[str, Column]]:
    """The output and its gradients for each row, of a graph that `is_rowwise`.

    `columns` holds an array of shape (rows,) for every input and leaf.
    """
    shape = np.shape(next(iter(columns.values())))
    tape = forward(graph, columns)
    adjoints = backward(graph, tape, graph.typed(np.ones(shape)))
    gradients = {}
    for name in wrt:
        place = graph.names[name]
        adjoint = adjoints[place] if place < len(tape) else None
        gradients[name] = np.broadcast_to(graph.typed(0.0) if adjoint is None else adjoint, shape)
    return np.broadcast_to(tape[graph.output], shape), gradients

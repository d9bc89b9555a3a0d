"""What a picture of a graph shows, before it is drawn: boxes with their texts, and arrows. Every format reads this."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from chainrule.collapse import Part, parts
from chainrule.steps import Edge, FunctionRow, Steps

from .values import shape_text, value_text

FEW = 3  # entries of an array that a box shows
NO_FLOW = "no gradient"


class Box(NamedTuple):
    """A node: its title, further lines by name, and how it looks.

    `kind` is that of the node (`leaf`, `constant`, `detached`, `operation`), or `function`, `accumulate`, `none` in a
    graph of functions, or `several` for nodes taken together; `place` is its row, where it is one.
    """

    title: str
    cells: dict[str, str]
    kind: str
    place: int | None = None
    output: bool = False
    finite: bool = True
    remark: str = ""


class Arrow(NamedTuple):
    """An edge between boxes; `label` says it briefly, `text` in full. `flows` is whether a gradient may pass."""

    source: int
    target: int
    label: str = ""
    text: str = ""
    flows: bool = True
    place: int | None = None


@dataclass
class Picture:
    """Boxes, each after its inputs, and arrows between them.

    `columns` are the names of the boxes' cells in a table, the title's first, that of the arrows' texts among them
    (`edge`). `downward` is whether arrows lead away from the output, as in a graph of functions.
    """

    title: str
    boxes: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    columns: tuple[str, ...] = ("node", "value", "shape", "local derivative", "gradient", "grad_fn")
    edge: str = "local derivative"
    downward: bool = False

    def root(self) -> int:
        """The box of the output."""
        return next(i for i, box in enumerate(self.boxes) if box.output)

    def children(self) -> dict[int, list[tuple[Arrow, int]]]:
        """For each box what it leads to on the way from the output to the leaves."""
        found: dict[int, list[tuple[Arrow, int]]] = {}
        for arrow in self.arrows:
            parent, child = (arrow.source, arrow.target) if self.downward else (arrow.target, arrow.source)
            found.setdefault(parent, []).append((arrow, child))
        return found


def picture_of(steps: Steps, title: str, digits: int, limit: int) -> Picture:
    """The graph of a run, its numbers to so many digits, at most about `limit` nodes of it (0: all)."""
    made = Picture(title)
    box_of: dict[int, int] = {}
    shown = steps.parts(limit)
    for i, part in enumerate(shown):
        box_of.update(dict.fromkeys(part.nodes, i))
        if len(part.nodes) == 1:
            made.boxes.append(_box(steps, part.nodes[0], digits))
        else:
            made.boxes.append(_several(part, "" if part.like is None else node_title(steps, part.like)))
    for place, edge in enumerate(steps.edges):
        ends = box_of[edge.input], box_of[edge.node]
        if all(len(shown[i].nodes) == 1 for i in ends):
            made.arrows.append(_arrow(steps, edge, place, ends, digits))
    made.arrows += _around_several(shown, box_of, [(e.input, e.node) for e in steps.edges])
    made.remarks = left_out(shown, len(steps.rows))
    return made


def backward_picture(functions: Sequence[FunctionRow], title: str, limit: int) -> Picture:
    """The graph of functions, from the output's grad_fn to the leaves; its arrows are `next_functions`."""
    made = Picture(title, columns=("function", "variable", "shape", "edge"), edge="edge", downward=True)
    count = len(functions)
    ordered = list(reversed(functions))  # what comes last in backward stands first
    inputs = [[count - 1 - j for j in row.following if j is not None] for row in ordered]
    shown = parts(inputs, [row.name for row in ordered], count - 1, limit)
    box_of: dict[int, int] = {}
    for i, part in enumerate(shown):
        box_of.update(dict.fromkeys(part.nodes, i))
        row = ordered[part.nodes[-1]]
        if len(part.nodes) > 1:
            made.boxes.append(_several(part, "" if part.like is None else ordered[part.like].name))
            continue
        cells = {}
        if row.variable is not None:
            cells = {"variable": row.variable} | ({"shape": shape_text(row.shape)} if row.shape else {})
        kind = "function" if row.following else "accumulate"
        made.boxes.append(Box(row.name, cells, kind, output=part.nodes[0] == count - 1))
    several: list[tuple[int, int]] = []
    for place, row in enumerate(ordered):
        for n, j in enumerate(row.following):
            if len(shown[box_of[place]].nodes) > 1 or (j is not None and len(shown[box_of[count - 1 - j]].nodes) > 1):
                several += [(place, count - 1 - j)] if j is not None else []
                continue
            label = f"next_functions[{n}]"
            if j is None:
                made.boxes.append(Box("None", {}, "none"))
            end = len(made.boxes) - 1 if j is None else box_of[count - 1 - j]
            made.arrows.append(Arrow(box_of[place], end, str(n), label, flows=j is not None))
    made.arrows += _around_several(shown, box_of, several)
    made.remarks = left_out(shown, count)
    return made


def node_title(steps: Steps, row: int) -> str:
    """A node's name and what it is: `v1 = x + w`, or the name alone for an input."""
    name, expression = steps.rows[row].name, steps.rows[row].expression
    return name if name == expression else f"{name} = {expression}"


def _box(steps: Steps, row: int, digits: int) -> Box:
    node, kind = steps.rows[row], steps.kinds[row]
    cells = {}
    if node.value is not None:
        cells["value"] = value_text(node.value, digits, FEW)
    if node.shape:
        cells["shape"] = shape_text(node.shape)
    if (gradient := steps.gradients[row]) is not None:
        cells["gradient"] = value_text(gradient, digits, FEW)
    cells["grad_fn"] = node.grad_fn or kind
    finite = node.value is None or bool(np.all(np.isfinite(node.value)))
    return Box(node_title(steps, row), cells, kind, row, row == steps.output, finite)


def _several(part: Part, like: str) -> Box:
    return Box(several_text(part, like), {}, "several", remark=f"{len(part.nodes):,} nodes" if like else "")


def several_text(part: Part, like: str) -> str:
    """What stands for nodes that are taken together."""
    return f"… {part.repeats:,} more like {like}" if like else f"… {len(part.nodes):,} nodes"


def _arrow(steps: Steps, edge: Edge, place: int, ends: tuple[int, int], digits: int) -> Arrow:
    if not edge.flows or steps.kinds[edge.input] in ("constant", "detached"):
        return Arrow(*ends, NO_FLOW if not edge.flows else "", NO_FLOW, False, place)
    label = formula_text(steps, edge)
    if edge.local is not None and not np.ndim(edge.local):
        label = " = ".join(dict.fromkeys((label, value_text(edge.local, digits))))
    sign = "=" if edge.op.elementwise else ":"
    return Arrow(*ends, label, f"{partial(steps, edge)} {sign} {label}", True, place)


def formula_text(steps: Steps, edge: Edge) -> str:
    """The formula of the local derivative; of an operation on arrays, what is done to the cotangent g."""
    op = edge.op
    if edge.formula is not None:
        return edge.formula.text()
    if op.elementwise:
        return f"{op.name}′({steps.rows[edge.input].name})"
    return f"{steps.rows[edge.node].grad_fn}(g)"


def partial(steps: Steps, edge: Edge) -> str:
    """The local derivative's name: ∂v1/∂x; with the argument's number where a node takes an input more than once."""
    twice = edge.op.arity > 1 and sum(e.input == edge.input for e in steps.inputs(edge.node)) > 1
    number = f" ({edge.argument + 1})" if twice else ""
    return f"∂{steps.rows[edge.node].name}/∂{steps.rows[edge.input].name}{number}"


def _around_several(shown: Sequence[Part], box_of: dict[int, int], edges: Sequence[tuple[int, int]]) -> list[Arrow]:
    """One arrow for all edges between a box of several nodes and another box."""
    ends = dict.fromkeys((box_of[i], box_of[j]) for i, j in edges)
    return [Arrow(i, j) for i, j in ends if i != j and max(len(shown[i].nodes), len(shown[j].nodes)) > 1]


def left_out(shown: Sequence[Part], count: int) -> list[str]:
    """A remark on nodes that are taken together, if there are any."""
    hidden = sum(len(part.nodes) for part in shown if len(part.nodes) > 1)
    if not hidden:
        return []
    return [f"{hidden:,} of {count:,} nodes are taken together; --limit 0 shows every one, --format json has all"]

"""The steps of a run in words and numbers: forward, backward, and the chain rule of each gradient."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from chainrule.collapse import Part
from chainrule.steps import Edge, Steps

from .flows import graph_record
from .gradients import NO_INPUTS
from .grids import Grid, Screen, markdown
from .pictures import FEW, formula_text, left_out, node_title, partial, several_text
from .values import shape_text, to_json, value_text

MOST_TERMS = 6  # of a sum
RIGHT = ("value",)


class Sent(NamedTuple):
    """What one step of backward hands on along an edge, as texts; `place` is the edge's."""

    place: int
    edge: Edge
    local: str
    product: str
    arrived: str


class Explanation:
    """The texts of a run's steps; with `symbolic` formulas and the rules' names instead of numbers."""

    def __init__(self, steps: Steps, digits: int, limit: int, symbolic: bool) -> None:
        self.steps = steps
        self.digits = digits
        self.symbolic = symbolic or bool(steps.analysis.missing)
        self.parts = steps.parts(limit)
        self.hidden = {i for part in self.parts if len(part.nodes) > 1 for i in part.nodes}
        self._arrived: dict[int, Edge] = {}

    def number(self, value: Any) -> str:
        """A value to so many digits, an array in part."""
        return value_text(value, self.digits, FEW)

    def factor(self, value: Any) -> str:
        """A value inside a product or a sum: a negative one in brackets."""
        text = self.number(value)
        return f"({text})" if text.startswith("-") else text

    # What LaTeX writes otherwise: the atoms of every text.

    def name(self, row: int) -> str:
        """A node's name."""
        return self.steps.rows[row].name

    def kept(self, row: int) -> str:
        """The name of what a leaf keeps: w.grad."""
        return f"{self.name(row)}.grad"

    def gradient(self, row: int) -> str:
        """The name of a gradient: ∂y/∂w."""
        return f"∂{self.name(self.steps.output)}/∂{self.name(row)}"

    def partial(self, edge: Edge) -> str:
        """The name of a local derivative."""
        return partial(self.steps, edge)

    def formula(self, edge: Edge) -> str:
        """The local derivative, or what an operation on arrays does to the cotangent g."""
        return formula_text(self.steps, edge)

    def expression(self, row: int, *, numbers: bool = False) -> str:
        """A node's expression, with the numbers of its inputs if asked for."""
        rows = self.steps.rows
        if numbers:
            return self.steps.expression(row, lambda j: self.number(rows[j].value))
        return rows[row].expression

    def title(self, row: int) -> str:
        """A node's name and expression."""
        return node_title(self.steps, row)

    def several(self, part: Part) -> str:
        """What stands for nodes that are taken together."""
        return several_text(part, "" if part.like is None else self.title(part.like))

    # --- forward ------------------------------------------------------------------------------------------------------

    def forward(self) -> Iterator[list[str]]:
        """For each node: its step, name, expression, the same with numbers, value, shape."""
        for part in self.parts:
            row = part.nodes[-1]
            if len(part.nodes) > 1:
                yield ["", self.several(part), *[""] * 4]
                continue
            node = self.steps.rows[row]
            expression = self.steps.kinds[row] if node.expression == node.name else self.expression(row)
            value = "" if node.value is None or self.symbolic else self.number(node.value)
            numbers = "" if self.symbolic else self._with_numbers(row)
            yield [str(row + 1), self.name(row), expression, numbers, value, shape_text(node.shape)]

    def _with_numbers(self, row: int) -> str:
        """A scalar node's expression with the numbers of its inputs."""
        rows, inputs = self.steps.rows, self.steps.inputs(row)
        if not inputs or any(rows[edge.input].shape for edge in inputs):
            return ""
        return self.expression(row, numbers=True)

    # --- backward -----------------------------------------------------------------------------------------------------

    def backward(self) -> Iterator[tuple[int, int, list[Sent]]]:
        """For each node that backward visited: its step, its row, and what it handed on."""
        self._arrived.clear()
        for number, (row, places) in enumerate(self.steps.visits(), len(self.steps.rows) + 1):
            yield number, row, [self._sent(e) for e in places]

    def incoming(self, row: int) -> str:
        """What arrived at a node."""
        name = self.gradient(row)
        return name if self.symbolic else f"{name} = {self.number(self.steps.gradients[row])}"

    def _sent(self, place: int) -> Sent:
        edge = self.steps.edges[place]
        before = self._arrived.get(edge.input)
        self._arrived[edge.input] = edge
        sign = "=" if edge.op.elementwise else ":"
        local = f"{self.partial(edge)} {sign} {self.local(edge)}"
        head = self.gradient(edge.input)
        if self.symbolic:
            product = self.term(edge)
            return Sent(place, edge, local, product, f"{head} = … + {product}" if before else f"{head} = {product}")
        total = self.number(edge.total)
        sum_ = f"{self.number(before.total)} + {self.factor(edge.product)} = " if before is not None else ""
        return Sent(place, edge, local, self._product(edge), f"{head} = {sum_}{total}")

    def local(self, edge: Edge) -> str:
        """The local derivative's formula and, where it is one, its number."""
        formula = self.formula(edge)
        if self.symbolic or edge.local is None or np.ndim(edge.local):
            return formula
        return " = ".join(dict.fromkeys((formula, self.number(edge.local))))

    def _product(self, edge: Edge) -> str:
        """The incoming gradient times the local derivative, summed where a broadcast is undone."""
        product = self.number(edge.product)
        if edge.local is None:
            return product
        return f"{self._factors(edge)} = {product}"

    def _factors(self, edge: Edge) -> str:
        text = f"{self.factor(self.steps.gradients[edge.node])}·{self.factor(edge.local)}"
        return f"Σ {text}" if np.shape(np.asarray(edge.product)) != self.steps.rows[edge.node].shape else text

    def term(self, edge: Edge) -> str:
        """One path's part of the chain rule: ∂y/∂a·∂a/∂w; at the output itself the local derivative's formula."""
        if edge.node == self.steps.output:
            return self.formula(edge)
        return f"{self.gradient(edge.node)}·{self.partial(edge)}"

    # --- gradients ----------------------------------------------------------------------------------------------------

    def chain_rules(self) -> Iterator[tuple[str, str]]:
        """For each leaf that has a gradient: what is accumulated there, and the chain rule over the ways to it."""
        paths = self.steps.paths()
        for row, kind in enumerate(self.steps.kinds):
            if kind == "leaf" and row not in self.hidden:
                yield self._chain_rule(row, [self.steps.edges[e] for e in paths.get(row, [])])

    def _chain_rule(self, row: int, edges: list[Edge]) -> tuple[str, str]:
        gradient, numbers = self.steps.gradients[row], ""
        if self.symbolic:
            numbers = _sum([self._substituted(edge) for edge in edges])
        elif all(edge.local is not None for edge in edges):
            numbers = _sum([self._factors(edge) for edge in edges])
        rule = " = ".join(filter(None, [self.gradient(row), _sum([self.term(edge) for edge in edges]), numbers]))
        total = self.number(0.0 if gradient is None else gradient)
        sum_ = f"{_sum([self.factor(edge.product) for edge in edges])} = " if len(edges) > 1 else ""
        return "" if self.symbolic else f"{self.kept(row)} = {sum_}{total}", rule

    def _substituted(self, edge: Edge) -> str:
        """A path's part with the local derivative's formula."""
        local = self.formula(edge)
        if edge.node == self.steps.output:
            return local
        plain = edge.formula is not None and edge.formula.atomic
        return f"{self.gradient(edge.node)}·{local if plain else f'({local})'}"

    # --- as tables ----------------------------------------------------------------------------------------------------

    def forward_grid(self) -> Grid:
        """Forward as a grid."""
        header = ("step", "node", "expression", "with numbers", "value", "shape")
        return Grid(header, list(self.forward()), wraps=header[1:5], right=RIGHT).without_empty()

    def backward_grid(self) -> Grid:
        """Backward as a grid."""
        last = ("rule", "local derivative", "chain rule") if self.symbolic else ("local derivative", "product", "sum")
        header = ("step", "node", "gradient", *last, "shape")
        grid = Grid(header, wraps=header[1:6], right=())
        skipped = 0
        for number, row, sent in self.backward():
            if row in self.hidden:
                skipped += 1
                continue
            if skipped:
                grid.rows.append(["", f"… {skipped:,} steps", *[""] * 5])
                skipped = 0
            for n, one in enumerate(sent):
                head = [str(number), self.title(row), self.incoming(row)] if n == 0 else [""] * 3
                cells = [self.law(one.edge) if n == 0 else "", one.local, one.product]
                if not self.symbolic:
                    cells = [one.local, one.product, one.arrived]
                grid.rows.append([*head, *cells, shape_text(self.steps.rows[one.edge.input].shape)])
        if skipped:
            grid.rows.append(["", f"… {skipped:,} steps", *[""] * 5])
        return grid.without_empty()

    def gradient_grid(self) -> Grid:
        """The gradients of the leaves as a grid."""
        header = ("gradient", "chain rule")
        return Grid(header, [list(pair) for pair in self.chain_rules()], wraps=header, right=()).without_empty()

    def tables(self) -> Iterator[tuple[str, Grid]]:
        """The three parts that are not empty, with their headings."""
        parts = (
            ("Forward", self.forward_grid()),
            ("Backward", self.backward_grid()),
            ("Gradients", self.gradient_grid()),
        )
        return ((heading, grid) for heading, grid in parts if grid.rows)

    def law(self, edge: Edge) -> str:
        """The rule's name in calculus; inside a composition the chain rule is used, too."""
        return edge.law if edge.node == self.steps.output else f"{edge.law}, chain rule"

    def remarks(self) -> list[str]:
        """What is left out, and what is missing."""
        analysis = self.steps.analysis
        found = left_out(self.parts, len(self.steps.rows))
        if analysis.missing:
            example = " ".join(f"{name}=…" for name in analysis.missing)
            found.append(f"No value for {', '.join(analysis.missing)}: add {example} to see numbers.")
        if not analysis.wrt:
            found.append(NO_INPUTS)
        return found + [f"note: {note.text}" for note in analysis.notes]


def _sum(terms: list[str]) -> str:
    if len(terms) > MOST_TERMS:
        terms = [*terms[: MOST_TERMS - 2], "…", terms[-1]]
    return " + ".join(terms)


def show(explanation: Explanation, title: str, screen: Screen) -> None:
    """The explanation for a person."""
    screen.line(title, "bold")
    for heading, grid in explanation.tables():
        screen.line()
        screen.line(heading, "bold")
        screen.grid(grid)
    for remark in explanation.remarks():
        screen.line()
        screen.line(remark, "yellow")


def as_markdown(explanation: Explanation, title: str) -> str:
    """The explanation as a document."""
    parts = [f"`{title}`\n", *(f"## {heading}\n\n{markdown(grid)}" for heading, grid in explanation.tables())]
    return "\n".join([*parts, *(f"{remark}\n" for remark in explanation.remarks())])


def as_json(steps: Steps) -> str:
    """The steps as a line of JSON: what `graph --json` has, with the steps in their order."""
    made = graph_record(steps)
    names, edges = [row.name for row in steps.rows], made.pop("edges")
    made["forward"] = names
    made["backward"] = [
        {"node": names[row], "gradient": steps.gradients[row], "sent": [edges[e] for e in places]}
        for row, places in steps.visits()
    ]
    return to_json(made) + "\n"

"""The steps of a run as a LaTeX document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chainrule.collapse import Part
from chainrule.latex import expression_latex, name_latex, text_latex
from chainrule.steps import Edge

from .explanations import Explanation

HEAD = r"""\documentclass{article}
\usepackage[landscape,margin=15mm]{geometry}
\usepackage{amsmath}
\allowdisplaybreaks
\setlength{\parindent}{0pt}
\begin{document}
"""
KINDS = ("leaf", "constant", "detached")
TIMES = r"\times "
ESCAPES = {
    "\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", **{c: "\\" + c for c in "#$%&_{}"},
}  # fmt: skip
SIGNS = {"·": r"\cdot ", "Σ": r"\textstyle\sum ", "…": r"\ldots "}


class LatexExplanation(Explanation):
    """The texts of the steps in LaTeX."""

    def number(self, value: Any) -> str:
        """A value to so many digits."""
        return text_latex(super().number(value))

    def name(self, row: int) -> str:
        """A node's name."""
        return name_latex(self.steps.rows[row].name)

    def gradient(self, row: int) -> str:
        r"""\frac{∂y}{∂w}."""
        return _fraction(self.name(self.steps.output), self.name(row))

    def kept(self, row: int) -> str:
        """What a leaf keeps."""
        return rf"{self.name(row)}.\mathrm{{grad}}"

    def several(self, part: Part) -> str:
        """What stands for nodes that are taken together."""
        like = "" if part.like is None else self.title(part.like)
        return rf"\ldots\ \text{{{part.repeats:,} more like }} {like}" if like else rf"\ldots\ {len(part.nodes)}"

    def partial(self, edge: Edge) -> str:
        r"""\frac{∂v_1}{∂x}, with the argument's number where there are several."""
        number = super().partial(edge).partition(" ")[2]
        return _fraction(self.name(edge.node), self.name(edge.input)) + (f"_{{{number}}}" if number else "")

    def formula(self, edge: Edge) -> str:
        """The local derivative."""
        if edge.formula is None:
            return text_latex(super().formula(edge).replace("′", "'"))
        return edge.formula.latex(name_latex)

    def expression(self, row: int, *, numbers: bool = False) -> str:
        """A node's expression."""
        program, place = self.steps.analysis.program, self.steps.places[row]
        if program.nodes[place].is_leaf:
            return text_latex(super().expression(row))
        rows = {place: row for row, place in enumerate(self.steps.places)}

        def name(i: int) -> str | None:
            if i not in rows:
                return None
            return self.number(self.steps.rows[rows[i]].value) if numbers else self.name(rows[i])

        return expression_latex(program, place, own=True, name=name)

    def title(self, row: int) -> str:
        """A node's name and expression."""
        node = self.steps.rows[row]
        return self.name(row) if node.name == node.expression else f"{self.name(row)} = {self.expression(row)}"


def _fraction(above: str, below: str) -> str:
    return rf"\frac{{\partial {above}}}{{\partial {below}}}"


def document(made: LatexExplanation, title: str) -> str:
    """A document that LaTeX compiles, with amsmath and geometry."""
    body = [rf"\section*{{{_escaped(title)}}}", r"\subsection*{Forward}", *_aligned("align*", _forward(made))]
    backward = list(_backward(made))
    if backward:
        body += [r"\subsection*{Backward}", *_aligned("alignat*}{3", backward)]
    rules = [_equation(rule) + (rf",\qquad {kept}" if kept else "") for kept, rule in made.chain_rules()]
    if rules:
        body += [r"\subsection*{Gradients}", *_aligned("align*", rules)]
    body += [f"\n{_escaped(remark)}" for remark in made.remarks()]
    return HEAD + "\n".join([*body, r"\end{document}"]) + "\n"


def _aligned(environment: str, rows: list[str]) -> list[str]:
    """Rows of an environment of amsmath; a row that is text in between ends itself."""
    lines = []
    for n, row in enumerate(rows):
        last = n == len(rows) - 1 or row.startswith(r"\intertext")
        text = row
        for sign, command in SIGNS.items():
            text = text.replace(sign, command)
        lines.append(text if last else text + r" \\" * (not rows[n + 1].startswith(r"\intertext")))
    return [rf"\begin{{{environment}}}", *lines, rf"\end{{{environment.partition('}')[0]}}}"]


def _forward(made: LatexExplanation) -> list[str]:
    rows = []
    for step, name, expression, numbers, value, shape in made.forward():
        if not step:
            rows.append(rf"&\quad {name}")
            continue
        kind = expression if expression in KINDS else ""
        right = " = ".join(filter(None, ("" if kind else expression, numbers, value)))
        notes = rf"\qquad\text{{{kind}}}" * bool(kind) + rf"\qquad({shape.replace('x', TIMES)})" * bool(shape)
        rows.append(f"{name} &{'= ' * bool(right)}{right}{notes}")
    return rows


def _backward(made: LatexExplanation) -> Iterator[str]:
    for _, row, sent in made.backward():
        if row in made.hidden:
            continue
        law = _escaped(made.law(sent[0].edge))
        yield rf"\intertext{{${made.title(row)}$: \quad ${made.incoming(row)}$ \quad ({law})}}"
        for one in sent:
            yield rf"&{one.local} &&\qquad {one.product} &&\qquad {one.arrived}"


def _equation(rule: str) -> str:
    """A chain of equations, aligned at its first sign."""
    return rule.replace(" = ", " &= ", 1)


def _escaped(text: str) -> str:
    """Plain text, in typewriter letters where it is code."""
    made = "".join(ESCAPES.get(c, c) if c.isascii() else f"${text_latex(c)}$" for c in text)
    return made.replace("\n", " ")

"""Derivatives as formulas: lines for people, a line of JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chainrule import Program
    from chainrule.gradient import Derived


def formulas_text(derived: Derived, format_: str, texts: list[str], statements: list[tuple[str, str]]) -> str:
    """A single formula by itself, several with their names; what they share first."""
    texts = ["\n".join(line.rstrip() for line in text.split("\n")) for text in texts]
    lines = [f"{name} = {text}" for name, text in statements]
    labels = [derivative.label(derived.graph.output_name) for derivative, _ in derived.found]
    if len(texts) == 1 or len(texts) != len(labels):
        lines += texts
    elif format_ == "unicode":
        lines += [_beside(f"{label} = ", text) for label, text in zip(labels, texts, strict=True)]
        return "\n\n".join(lines) + "\n"
    elif format_ == "latex":
        lines += [f"{_latex_label(d, derived)} = {text}" for (d, _), text in zip(derived.found, texts, strict=True)]
    elif format_ == "mathml":
        lines += texts
    else:
        lines += [f"{label} = {text}" for label, text in zip(labels, texts, strict=True)]
    return "".join(f"{line}\n" for line in lines)


def _beside(label: str, picture: str) -> str:
    """A label before the middle line of a formula in two dimensions."""
    rows = picture.split("\n")
    middle = len(rows) // 2
    return "\n".join(((label if n == middle else " " * len(label)) + row).rstrip() for n, row in enumerate(rows))


def _latex_label(derivative: Any, derived: Derived) -> str:
    top, _, below = derivative.label(derived.graph.output_name).partition("/")
    raised = str.maketrans({c: f"^{{{n}}}" for n, c in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")})
    sign = "\\partial " if len(derived.graph.inputs) > 1 else "d"

    def turned(text: str) -> str:
        words = [f"{sign}{word[1:]}" if word.startswith("d") else word for word in text.split(" ")]
        return " \\, ".join(words).translate(raised).replace("_", r"\_")

    return f"\\frac{{{turned(top)}}}{{{turned(below)}}}"


def formulas_line(
    program: Program, derived: Derived, kind: str, format_: str, texts: list[str], statements: list[tuple[str, str]]
) -> str:
    """The formulas as a line of JSON: by the derivative's key, or a whole matrix."""
    record = _record(program, derived, kind, format_)
    if statements:
        record["statements"] = dict(statements)
    if len(texts) == len(derived.found):
        keys = [derivative.key(derived.graph.output_name) for derivative, _ in derived.found]
        record["derivatives"] = dict(zip(keys, texts, strict=True))
    else:
        record["matrix"] = texts[0]
    return json.dumps(record, ensure_ascii=False) + "\n"


def code_line(program: Program, derived: Derived, kind: str, format_: str, text: str) -> str:
    """The code as a line of JSON."""
    return json.dumps({**_record(program, derived, kind, format_), "code": text}, ensure_ascii=False) + "\n"


def _record(program: Program, derived: Derived, kind: str, format_: str) -> dict[str, Any]:
    record = {"id": 1, "expression": program.source, "output": program.output_name, "kind": kind, "format": format_}
    return {**record, "shape": list(derived.shape)}

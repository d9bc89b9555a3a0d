"""Derivatives as formulas: lines for people, a line of JSON for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chainrule.printing import element_name

if TYPE_CHECKING:
    from chainrule import Program
    from chainrule.gradient import Derived


def formulas_text(derived: Derived, format_: str, texts: list[str], statements: list[tuple[str, str]]) -> str:
    """A single formula by itself, several with their names; what they share first."""
    texts = ["\n".join(line.rstrip() for line in text.split("\n")) for text in texts]
    lines = [f"{name} = {text}" for name, text in statements]
    named = [derivative.label(derived.graph.output_name) for derivative, _ in derived.found]
    if len(texts) == 1 or len(texts) != len(named) or format_ in ("latex", "mathml"):
        lines += texts
    elif format_ == "unicode":
        lines += [_beside(f"{label} = ", text) for label, text in zip(named, texts, strict=True)]
        return "\n\n".join(lines) + "\n"
    else:
        lines += [f"{label} = {text}" for label, text in zip(named, texts, strict=True)]
    return "".join(f"{line}\n" for line in lines)


def _beside(label: str, picture: str) -> str:
    """A label before the middle line of a formula in two dimensions."""
    rows = picture.split("\n")
    middle = len(rows) // 2
    return "\n".join(((label if n == middle else " " * len(label)) + row).rstrip() for n, row in enumerate(rows))


def labels(derived: Derived) -> list[Any]:
    """What stands on the left of each formula: the output, the inputs with their orders, whether there are several."""
    output, several = derived.graph.output_name, len({e for d, _ in derived.found for e in d.by}) > 1
    return [
        (element_name(output, d.of or ()), [(element_name(*element), n) for element, n in d.runs()], several)
        for d, _ in derived.found
    ]


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

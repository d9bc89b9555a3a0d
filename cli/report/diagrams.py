"""A picture in the languages of other programs that draw: Graphviz's DOT and Mermaid."""

from __future__ import annotations

from .pictures import Box, Picture

# Fill and line of a box by its kind, also for the drawings.
COLORS = {
    "leaf": ("#d9f2df", "#1a7f37"),
    "accumulate": ("#d9f2df", "#1a7f37"),
    "constant": ("#eeeeee", "#7a7a7a"),
    "none": ("#eeeeee", "#7a7a7a"),
    "detached": ("#f3e3fb", "#8250df"),
    "operation": ("#ffffff", "#57606a"),
    "function": ("#ffffff", "#57606a"),
    "several": ("#fff8dc", "#9a6700"),
}
OUTPUT = ("#dcebff", "#0550ae")
NOT_FINITE = ("#ffe0dd", "#cf222e")
DASHED = ("constant", "detached", "several", "none")


def colors(box: Box) -> tuple[str, str]:
    """The fill and the line of a box."""
    return NOT_FINITE if not box.finite else OUTPUT if box.output else COLORS[box.kind]


def lines(box: Box) -> list[str]:
    """What stands in a box: its title, then its cells."""
    return [box.title, *(text if name == "grad_fn" else f"{name} {text}" for name, text in box.cells.items()),
            *([box.remark] if box.remark else [])]  # fmt: skip


def dot(picture: Picture) -> str:
    """The picture in DOT."""
    out = [
        "digraph {",
        f"  label={_dot_text(picture.title, *picture.remarks)}; labelloc=t;",
        '  node [shape=box, style="rounded,filled", fontname="monospace", fontsize=11];',
        '  edge [fontname="monospace", fontsize=9];',
    ]
    for i, box in enumerate(picture.boxes):
        fill, line = colors(box)
        style = "rounded,filled,dashed" if box.kind in DASHED else "rounded,filled"
        bold = ", penwidth=2" if box.output else ""
        out.append(
            f'  n{i} [label={_dot_text(*lines(box))}, style="{style}", fillcolor="{fill}", color="{line}"{bold}];'
        )
    for arrow in picture.arrows:
        style = "" if arrow.flows else ", style=dashed"
        out.append(f"  n{arrow.source} -> n{arrow.target} [label={_dot_text(arrow.label)}{style}];")
    return "\n".join([*out, "}"]) + "\n"


def _dot_text(*texts: str) -> str:
    """A quoted string of DOT; its lines are centred."""
    escaped = (text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for text in texts)
    return '"' + "\\n".join(escaped) + '"'


def mermaid(picture: Picture) -> str:
    """The picture as a flowchart of Mermaid."""
    out = [*(f"%% {line}" for text in (picture.title, *picture.remarks) for line in text.splitlines()), "flowchart TB"]
    classes: dict[tuple[str, str, bool], list[str]] = {}
    for i, box in enumerate(picture.boxes):
        text = "<br/>".join(map(_mermaid_text, lines(box)))
        left, right = ("([", "])") if box.kind in ("leaf", "accumulate") else ("[", "]")
        out.append(f'  n{i}{left}"{text}"{right}')
        classes.setdefault((*colors(box), box.kind in DASHED), []).append(f"n{i}")
    for arrow in picture.arrows:
        link = "-->" if arrow.flows else "-.->"
        label = f'|"{_mermaid_text(arrow.label)}"|' if arrow.label else ""
        out.append(f"  n{arrow.source} {link}{label} n{arrow.target}")
    for i, ((fill, line, dashed), members) in enumerate(classes.items()):
        dashes = ",stroke-dasharray:4 3" if dashed else ""
        out.append(f"  classDef c{i} fill:{fill},stroke:{line},color:#1f2328{dashes}")
        out.append(f"  class {','.join(members)} c{i}")
    return "\n".join(out) + "\n"


def _mermaid_text(text: str) -> str:
    """Text inside quotes: what Mermaid or HTML would read otherwise is written by its number."""
    return "".join(c if c.isalnum() or c in " .,=+-()/·∂′…[]" else f"#{ord(c)};" for c in text)

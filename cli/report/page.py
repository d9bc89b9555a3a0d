"""A run as a page to explore: its drawing, a slider over its steps, all in one file that asks nothing of a network.

Every text and number is made here; the page only chooses which are seen.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from itertools import groupby
from typing import Any

from chainrule.steps import Steps

from .drawings import shortened, svg
from .explanations import Explanation, Sent
from .gradients import title
from .pictures import picture_of

LIMIT = 300  # nodes


def page(steps: Steps, digits: int, limit: int = LIMIT, symbolic: bool = False) -> str:
    """The page. Raises `ChainruleError` of kind `install` where nothing can place the boxes."""
    heading = title(steps.analysis, digits)
    made = list(told(Explanation(steps, digits, limit, symbolic), heading))
    folder = files(__package__)
    script = folder.joinpath("page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    parts = {
        "hash": f"sha256-{digest}",
        "title": html.escape(heading),
        "drawing": svg(picture_of(steps, heading, digits, limit)),
        "data": embedded({"steps": made}),
        "script": script,
    }
    template = folder.joinpath("page.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda match: parts[match[1]], template)


def embedded(data: Any) -> str:
    """JSON that stands inside a script element: nothing in it can end the element or the line."""
    text = json.dumps(data, ensure_ascii=False)
    return re.sub("[<>&\u2028\u2029]", lambda match: f"\\u{ord(match[0]):04x}", text)


def told(made: Explanation, heading: str) -> Iterator[dict[str, Any]]:
    """The steps for the page: their texts, the node and the edges that they are about, and what appears then."""
    steps = made.steps
    yield _step("Before the first step", [heading, *made.remarks()])
    for number, _, expression, numbers, value, shape in made.forward():
        if number:
            row = int(number) - 1
            leaf = expression == steps.kinds[row]
            line = " = ".join(filter(None, (steps.rows[row].name, "" if leaf else expression, numbers, value)))
            notes = [expression] * leaf + [f"shape {shape}"] * bool(shape)
            line += f"   ({', '.join(notes)})" if notes else ""
            yield _step("Forward", [line], row, list(steps.input_places(row)), values=[row])
    for hidden, visits in groupby(made.backward(), lambda visit: visit[1] in made.hidden):
        if hidden:
            passed = list(visits)
            arrived = [pair for _, _, sent in passed for pair in _arrived(made, sent)]
            yield _step("Backward", [f"… {len(passed):,} steps of nodes taken together"], gradients=arrived)
            continue
        for _, row, sent in visits:
            first = row == steps.output and not made.symbolic
            start = [(row, _gradient(made, steps.gradients[row]))] if first else []
            lines = [f"{made.title(row)}:  {made.incoming(row)}"]
            lines += ["   ".join(dict.fromkeys((one.local, one.product, one.arrived))) for one in sent]
            places = [one.place for one in sent]
            yield _step("Backward", lines, row, places, gradients=[*start, *_arrived(made, sent)])
    rules = ["   ".join(filter(None, pair)) for pair in made.chain_rules()]
    if rules:
        yield _step("Gradients", rules)


def _arrived(made: Explanation, sent: Sequence[Sent]) -> list[tuple[int, str]]:
    """What the inputs' gradients are by then."""
    return [(one.edge.input, _gradient(made, one.edge.total)) for one in sent if one.edge.total is not None]


def _gradient(made: Explanation, value: Any) -> str:
    return shortened(f"gradient {made.number(value)}")


def _step(
    name: str,
    lines: list[str],
    row: int | None = None,
    edges: Sequence[int] = (),
    values: Sequence[int] = (),
    gradients: Sequence[tuple[int, str]] = (),
) -> dict[str, Any]:
    return {"title": name, "lines": lines, "row": row, "edges": edges, "values": values, "gradients": gradients}

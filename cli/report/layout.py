"""Where the boxes and arrows of a picture go: by Graphviz where it is installed, else by the graphlay library.

Both place layers from top to bottom; the sizes of the boxes are ours.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

from chainrule import ChainruleError

from .pictures import Arrow

Point = tuple[float, float]
INCH = 72.0
MOST_FOR_GRAPHVIZ = 80  # boxes; beyond them it is slow
MOST_CAREFULLY = 150  # boxes that graphlay places with its usual effort


class Placed(NamedTuple):
    """A layout: the centres of the boxes, the lines of the arrows with the places of their labels, and its size.

    A line is a polyline, or where `curved` a Bézier curve of the third order.
    """

    centres: list[Point]
    lines: list[list[Point]]
    labels: list[Point]
    size: Point
    curved: bool


def placed(sizes: Sequence[Point], arrows: Sequence[Arrow], labels: Sequence[Point]) -> Placed:
    """Place boxes of the given sizes and arrows with labels of the given sizes.

    Raises `ChainruleError` of kind `install` where nothing is there that can.
    """
    dot = shutil.which("dot")
    if dot and len(sizes) <= MOST_FOR_GRAPHVIZ:
        return _by_graphviz(dot, sizes, arrows, labels)
    try:
        return _by_graphlay(sizes, arrows, labels)
    except ImportError:
        if dot:
            return _by_graphviz(dot, sizes, arrows, labels)
        raise ChainruleError(
            "install",
            "a drawing needs a library that places its boxes, or Graphviz",
            hint="pip install 'chainrule[draw]'",
        ) from None


def _by_graphlay(sizes: Sequence[Point], arrows: Sequence[Arrow], labels: Sequence[Point]) -> Placed:
    import graphlay

    graph = graphlay.Graph()
    for width, height in sizes:
        graph.node(width=width, height=height)
    for arrow, (width, height) in zip(arrows, labels, strict=True):
        graph.edge(arrow.source, arrow.target, label_size={"width": width, "height": height})
    effort = "balanced" if len(sizes) <= MOST_CAREFULLY else "fast"
    options = {"direction": "topbottom", "routing": {"style": "diagonal"}, "effort": effort}
    made = graphlay.layout(graph, options=options)
    low, high = made.bounds["min"], made.bounds["max"]

    def point(of: dict[str, float]) -> Point:
        return of["x"] - low["x"], of["y"] - low["y"]

    lines = [[point(p) for p in edge["points"]] for edge in made.edges]
    anchors = [point(edge["label_anchor"]) if edge.get("label_anchor") else _middle(line)
               for edge, line in zip(made.edges, lines, strict=True)]  # fmt: skip
    return Placed([point(n["center"]) for n in made.nodes], lines, anchors, point(high), False)


def _middle(line: list[Point]) -> Point:
    (a, b), (c, d) = line[(len(line) - 1) // 2], line[len(line) // 2]
    return (a + c) / 2, (b + d) / 2


def _by_graphviz(dot: str, sizes: Sequence[Point], arrows: Sequence[Arrow], labels: Sequence[Point]) -> Placed:
    """Run `dot` on boxes and labels of fixed size, and read its plain output."""
    text = ['digraph { node [shape=box, fixedsize=true, label=""]; nodesep=0.35; ranksep=0.45;']
    for i, (width, height) in enumerate(sizes):
        text.append(f"n{i} [width={width / INCH:.4f}, height={height / INCH:.4f}];")
    for arrow, (width, height) in zip(arrows, labels, strict=True):
        label = ""
        if width:  # a table of HTML has the size that it says
            table = f'BORDER="0" FIXEDSIZE="TRUE" WIDTH="{width:.0f}" HEIGHT="{height:.0f}"'
            label = f"label=<<TABLE {table}><TR><TD></TD></TR></TABLE>>"
        text.append(f"n{arrow.source} -> n{arrow.target} [{label}];")
    done = subprocess.run(
        [dot, "-Tplain", "-y"], input="\n".join([*text, "}"]).encode(), capture_output=True, check=True
    )
    centres: list[Point] = [(0.0, 0.0)] * len(sizes)
    waiting: dict[tuple[int, int], list[int]] = {}
    for i, arrow in enumerate(arrows):
        waiting.setdefault((arrow.source, arrow.target), []).append(i)
    lines: list[list[Point]] = [[] for _ in arrows]
    anchors: list[Point] = [(0.0, 0.0)] * len(arrows)
    size = (0.0, 0.0)
    for words in map(str.split, done.stdout.decode().splitlines()):
        if words[0] == "graph":
            size = (INCH * float(words[2]), INCH * float(words[3]))
        elif words[0] == "node":
            centres[int(words[1][1:])] = _points(words[2:4])[0]
        elif words[0] == "edge":
            i = waiting[int(words[1][1:]), int(words[2][1:])].pop(0)
            end = 4 + 2 * int(words[3])
            lines[i] = _points(words[4:end])
            anchors[i] = _points(words[end + 1 : end + 3])[0] if len(words) - end > 4 else _middle(lines[i])
    return Placed(centres, lines, anchors, size, True)


def _points(words: Sequence[str]) -> list[Point]:
    numbers = [INCH * float(word) for word in words]
    return list(zip(numbers[::2], numbers[1::2], strict=True))

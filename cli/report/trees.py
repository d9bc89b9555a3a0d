"""A picture as a tree for the terminal: the output at the root, each node once, and what is known of it beside it."""

from __future__ import annotations

from collections import deque

from .grids import Grid, Screen
from .pictures import Arrow, Box, Picture

DEEPEST = 10  # levels before a part gets a tree of its own
STYLES = {"leaf": "green", "accumulate": "green", "constant": "dim", "none": "dim", "detached": "magenta",
          "several": "italic"}  # fmt: skip


def show_tree(picture: Picture, screen: Screen) -> None:
    """The title, the tree, the remarks."""
    screen.line(picture.title, "bold")
    screen.line()
    screen.grid(tree_grid(picture))
    for remark in picture.remarks:
        screen.line()
        screen.line(remark, "yellow")


def tree_grid(picture: Picture) -> Grid:
    """The tree as the first column of a grid.

    A node that stands elsewhere is referred to: ↑ above, ↓ in a tree of its own below.
    """
    grid = Grid(picture.columns, wraps=("node", "value", "gradient", picture.edge), right=("value", "gradient"))
    children = picture.children()
    placed: set[int] = set()  # has its line, or will have one as a root
    shown: set[int] = set()
    roots = deque([picture.root()])
    while roots:
        stack: list[tuple[int, Arrow | None, str, str, int]] = [(roots.popleft(), None, "", "", 0)]
        while stack:
            i, arrow, lead, rail, depth = stack.pop()
            box, those = picture.boxes[i], children.get(i, [])
            refer = ""
            if depth and i in placed:
                refer = " ↑" if i in shown else " ↓"
            elif depth == DEEPEST and those:
                refer = " ↓"
                roots.append(i)
            placed.add(i)
            title = box.title.partition(" = ")[0] if refer else box.title
            _add_row(grid, picture, lead + title + refer, {} if refer else box.cells, arrow, _style(box))
            if refer:
                continue
            shown.add(i)
            for n, (down, child) in enumerate(reversed(those)):
                corner, bar = ("└─ ", "   ") if n == 0 else ("├─ ", "│  ")
                stack.append((child, down, rail + corner, rail + bar, depth + 1))
    return grid.without_empty()


def _add_row(grid: Grid, picture: Picture, node: str, cells: dict[str, str], arrow: Arrow | None, style: str) -> None:
    known = {**cells, picture.columns[0]: node, picture.edge: arrow.text if arrow else ""}
    grid.rows.append([known.get(name, "") for name in picture.columns])
    grid.styles.append(style)


def _style(box: Box) -> str:
    """How a node looks where there are colours."""
    return "bold red" if not box.finite else "bold" if box.output else STYLES.get(box.kind, "")

"""Grids: a header and rows, laid out for a terminal (by Rich), for a pipe (plain), for Markdown or CSV."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Any

NARROW = 100  # columns of a terminal below which headers are shortened
RIGHT = ("value", "grad", "derivative")  # columns of numbers


@dataclass
class Grid:
    """A table's text. `wraps` are the columns that give way where the terminal is narrow, `right` those of numbers."""

    header: Sequence[str]
    rows: list[list[str]] = field(default_factory=list)
    wraps: Sequence[str] = ("expression", "formula", "check", "value", "grad")
    styles: list[str] = field(default_factory=list)
    right: Sequence[str] = RIGHT

    def without_empty(self) -> Grid:
        """The grid without the columns that say nothing."""
        kept = [c for c in range(len(self.header)) if any(row[c] for row in self.rows)]
        rows = [[row[c] for c in kept] for row in self.rows]
        return Grid([self.header[c] for c in kept], rows, self.wraps, self.styles, self.right)


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _pad(text: str, size: int, right: bool) -> str:
    space = " " * (size - width(text))
    return space + text if right else text + space


def plain(grid: Grid) -> str:
    """Columns aligned by spaces, nothing cut."""
    if not grid.rows:
        return ""
    sizes = [max(width(row[c]) for row in [list(grid.header), *grid.rows]) for c in range(len(grid.header))]
    right = [name in grid.right for name in grid.header]
    rows = [grid.header, ["-" * size for size in sizes], *grid.rows]
    return "".join(aligned_row(row, sizes, right) for row in rows)


def aligned_row(cells: Sequence[str], sizes: Sequence[int], right: Sequence[bool]) -> str:
    """A line of aligned columns."""
    return "  ".join(map(_pad, cells, sizes, right)).rstrip() + "\n"


def markdown(grid: Grid) -> str:
    """A table of GitHub's Markdown."""
    rule = ["---:" if name in grid.right else "---" for name in grid.header]
    return "".join(map(markdown_row, [grid.header, rule, *grid.rows]))


def markdown_row(cells: Sequence[str]) -> str:
    """A row of such a table."""
    return f"| {' | '.join(map(_escaped, cells))} |\n"


def _escaped(cell: str) -> str:
    cell = " ".join(cell.splitlines())
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")


def comma_separated(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """CSV by RFC 4180, with line feeds."""
    import csv

    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue()


class Screen:
    """Where a person reads: Rich on a terminal, plain text elsewhere. Rich is imported only where it is used."""

    def __init__(self, stream: IO[str], color: bool | None) -> None:
        self.stream = stream
        self.console: Any = None
        if color if color is not None else stream.isatty():
            from rich.console import Console

            self.console = Console(file=stream, force_terminal=True if color else None, highlight=False)

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line, in a style where there are any."""
        if self.console is None:
            self.stream.write(text + "\n")
        else:
            self.console.print(text, style=style or None, markup=False, soft_wrap=False)

    def texts(self, parts: Sequence[tuple[str, str]]) -> None:
        """Write a line of texts with their styles, as wide as it is."""
        if self.console is None:
            self.stream.write("".join(text for text, _ in parts).rstrip() + "\n")
        else:
            from rich.text import Text

            self.console.print(Text.assemble(*parts), no_wrap=True, overflow="crop")

    def grid(self, grid: Grid) -> None:
        """Write a grid."""
        if self.console is None:
            self.stream.write(plain(grid))
        elif grid.rows:
            self.console.print(_rich(grid, self.console.width))

    def flush(self) -> None:
        """Let what was written be seen."""
        self.stream.flush()


def _rich(grid: Grid, columns: int) -> Any:
    """The grid as a table of Rich; on a narrow terminal it folds, between numbers and never inside one."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    narrow = columns < NARROW
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for c, name in enumerate(grid.header):
        longest = max((len(word) for row in grid.rows for word in row[c].split()), default=0)
        table.add_column(
            Text(name.replace("requires_grad", "req.\ngrad" if narrow else "requires\ngrad")),
            justify="right" if name in grid.right else "left",
            overflow="fold",
            no_wrap=name not in grid.wraps,
            min_width=min(longest, 13) if name in grid.right else None,
        )
    for i, row in enumerate(grid.rows):
        table.add_row(*map(Text, row), style=grid.styles[i] if i < len(grid.styles) else None)
    return table

"""Errors as a person reads them: the sentence, the line with a caret, the hint."""

from __future__ import annotations

import unicodedata

import click

from chainrule import ChainruleError
from chainrule.errors import Place, place

WIDTH = 76


def report_error(error: ChainruleError) -> None:
    """Write an error to standard error."""
    click.echo(error_text(error), err=True)


def error_text(error: ChainruleError) -> str:
    """The error as lines of text."""
    lines = [f"error: {error.message}"]
    if error.source is not None:
        places = [place(error.source, span) for span in error.spans[:2]]
        several = "\n" in error.source.rstrip("\n")
        for number, where in enumerate(places):
            if number and places[0].line == where.line:
                continue
            marks = [w for w in places if w.line == where.line]
            lines += _excerpt(where, marks, several)
    if error.hint:
        lines.append(f"hint: {error.hint}")
    return "\n".join(lines)


def _excerpt(where: Place, marks: list[Place], several: bool) -> list[str]:
    """The source line and the carets below it: ^ at the place to blame, - at the other."""
    shown = where.window(WIDTH)
    gutter = f"{where.line} | " if several else "  | "
    cells = [" "] * (len(shown.text) + 1)
    for mark, sign in reversed(list(zip(marks, "^-", strict=False))):
        start = shown.column - 1 + (mark.column - where.column)
        for i in range(max(0, start), min(start + mark.width, len(cells))):
            cells[i] = sign
    carets = "".join(cell * _columns(c) for cell, c in zip(cells, [*shown.text, " "], strict=True))
    text = shown.text.replace("\t", " ")
    printable = "".join(c if c.isprintable() else "�" for c in text)
    return [gutter + printable, " " * (len(gutter) - 2) + "| " + carets.rstrip()]


def _columns(char: str) -> int:
    """How many columns of a terminal a character takes."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1

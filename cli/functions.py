"""`chainrule functions`: the table of operations for people and for programs."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Any

import click

from chainrule import ChainruleError, handbook
from chainrule.errors import did_you_mean
from chainrule.ops import CALLS, INFIX

from .report.grids import Grid, Screen, markdown
from .report.values import to_json

HEADER = ("call", "also", "what it is")


@click.command("functions", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("name", required=False)
@click.option(
    "--format", "format_", type=click.Choice(("table", "json", "markdown")), default="table", show_default=True
)
@click.option("--json", "format_", flag_value="json", help="The same as --format json.")
@click.option("--color/--no-color", default=None, help="Colours and lines (default: on a terminal).")
def command(name: str | None, format_: str, color: bool | None) -> None:
    """List the functions of the language, or explain one: its domain, derivative, conventions, an example.

    \b
        chainrule functions
        chainrule functions sqrt
    """
    if name is None:
        found = handbook.entries()
    else:
        found = handbook.find(name.strip())
        if not found:
            raise ChainruleError(
                "name",
                f"there is no function {name!r}",
                hint=did_you_mean(name, CALLS) or "chainrule functions lists all",
            )
    if format_ == "json":
        for entry in found:
            sys.stdout.write(to_json(asdict(entry)) + "\n")
    elif format_ == "markdown":
        sys.stdout.write(markdown(_grid(found)))
    else:
        screen = Screen(sys.stdout, color)
        if name is None:
            screen.grid(_grid(found))
            screen.line()
            screen.line(
                f"Operators: {' '.join(INFIX)} not, a if c else b. One function closely: chainrule functions NAME"
            )
        else:
            for entry in found:
                _explain(entry, screen)


def _grid(found: list[handbook.Entry]) -> Grid:
    return Grid(HEADER, [[e.call, ", ".join(e.aliases), e.doc] for e in found], wraps=HEADER)


def _explain(entry: handbook.Entry, screen: Screen) -> None:
    """One function in full."""
    screen.line(entry.call, "bold")
    screen.line(f"  {entry.doc}")
    rows: list[tuple[str, Any]] = [("also", ", ".join(entry.aliases))]
    rows += [("domain", ", ".join(f"{name} in {interval}" for name, interval in entry.domain.items()))]
    rows += [("takes", entry.takes)]
    one = len(entry.derivatives) == 1
    word = "derivative" if entry.domain else "cotangent"
    rows += [(word if one else f"{word}, {name}", text) for name, text in entry.derivatives.items()]
    rows += [("derivative", "no gradient flows through it")] * (entry.grad_fn is None)
    rows += [("grad_fn", entry.grad_fn or "")]
    rows += [("edge", text) for text in entry.edges]
    rows += [("accuracy", _accuracy_text(entry.accuracy))]
    rows += [("example", entry.example), ("", entry.result)]
    size = max(len(name) for name, text in rows if text)
    for name, text in rows:
        if text:
            screen.line(f"  {name:{size}}  {text}")
    screen.line()


def _accuracy_text(figures: dict[str, int]) -> str:
    """The measured bounds: value within 1 ulp, first derivatives 2, second 3."""
    if not figures:
        return ""
    value, first, second = (figures[kind] for kind in ("value", "first", "second"))
    if (value, first, second) == (0, 0, 0):
        return "value and derivatives exact"
    return f"value within {value} ulp, first derivative {first}, second {second} (measured over the whole domain)"

"""`chainrule graph`: the graph of an expression drawn, with what flows along its edges."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click

from .options import ExpressionCommand
from .report.gradients import title
from .report.grids import Screen
from .report.pictures import Picture, backward_picture, picture_of
from .running import analysed, errors_as_json, opened, run_options, write_page

FORMATS = ("tree", "dot", "mermaid", "svg", "png", "html", "json")
SUFFIXES = {".gv": "dot", ".mmd": "mermaid"} | {f".{name}": name for name in FORMATS[1:]}
LIMITS = {"tree": 60}
LIMIT = 300  # nodes of a drawing


@click.command("graph", cls=ExpressionCommand, context_settings={"help_option_names": ["-h", "--help"]})
@run_options
@click.option("--backward", is_flag=True, help="The graph of functions that backward walks, as PyTorch has it.")
@click.option("--limit", metavar="N", type=click.IntRange(min=0),
              help="Take repeated parts together beyond so many nodes (0: never; 60 in a tree, else 300).")  # fmt: skip
@click.option("--format", "format_", type=click.Choice(FORMATS),
              help="How it is drawn (default: as the file's name says, else tree).")  # fmt: skip
@click.option("--json", "format_", flag_value="json", help="The same as --format json.")
def command(words: tuple[str, ...], file: str | None, **options: Any) -> None:
    """Draw the graph of an expression: its nodes, their gradients, and the local derivative on each edge.

    \b
        chainrule graph 'y = (x+w)*(w+1)' x=2 w=1
        chainrule graph 'y = (x+w)*(w+1)' x=2 w=1 --format mermaid
        chainrule graph 'y = (x+w)*(w+1)' x=2 w=1 --backward
    """
    with errors_as_json(words, file, options["out"]) if options["format_"] == "json" else nullcontext():
        _run(words, file, options)


def _run(words: tuple[str, ...], file: str | None, options: dict[str, Any]) -> None:
    """Run the program, and write what it shows."""
    from chainrule.steps import backward_graph, steps_of

    steps = steps_of(analysed(words, file, options))
    format_, digits = options["format_"] or SUFFIXES.get(Path(options["out"] or "").suffix, "tree"), options["digits"]
    write_page(steps, options)
    functions = backward_graph(steps.analysis) if options["backward"] else None
    with opened(options["out"], "wb" if format_ == "png" else "w") as out:
        if format_ == "json":
            from .report.flows import functions_line, graph_line

            out.write(graph_line(steps) if functions is None else functions_line(steps, functions))
            return
        if format_ == "html":
            from .report.page import page

            out.write(page(steps, digits, LIMIT if options["limit"] is None else options["limit"]))
            return
        limit = LIMITS.get(format_, LIMIT) if options["limit"] is None else options["limit"]
        heading = title(steps.analysis, digits)
        if functions is None:
            picture = picture_of(steps, heading, digits, limit)
        else:
            picture = backward_picture(functions, heading, limit)
        write(picture, format_, out, options)


def write(picture: Picture, format_: str, out: Any, options: dict[str, Any]) -> None:
    """Write a picture in a format."""
    if format_ == "tree":
        from .report.trees import show_tree

        show_tree(picture, Screen(out, options["color"]))
    elif format_ in ("svg", "png"):
        from .report import drawings

        out.write(drawings.svg(picture) if format_ == "svg" else drawings.png(picture))
    else:
        from .report import diagrams

        out.write(diagrams.dot(picture) if format_ == "dot" else diagrams.mermaid(picture))

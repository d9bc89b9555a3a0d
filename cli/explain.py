"""`chainrule explain`: backpropagation step by step, in the order the engine took the steps."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import click

from .options import ExpressionCommand
from .report.gradients import title
from .report.grids import Screen
from .running import analysed, errors_as_json, opened, run_options, write_page

FORMATS = ("table", "markdown", "latex", "json")
LIMIT = 60


@click.command("explain", cls=ExpressionCommand, context_settings={"help_option_names": ["-h", "--help"]})
@run_options
@click.option("--symbolic", is_flag=True, help="Formulas and the names of the rules instead of numbers.")
@click.option("--limit", metavar="N", type=click.IntRange(min=0), default=LIMIT, show_default=True,
              help="Take repeated parts together beyond so many nodes (0: never).")  # fmt: skip
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--json", "format_", flag_value="json", help="The same as --format json.")
def command(words: tuple[str, ...], file: str | None, **options: Any) -> None:
    """Show forward and backward step by step, with the chain rule of each gradient written out.

    \b
        chainrule explain 'y = (x+w)*(w+1)' x=2 w=1
        chainrule explain 'y = sin(x^2)' --symbolic
    """
    with errors_as_json(words, file, options["out"]) if options["format_"] == "json" else nullcontext():
        _run(words, file, options)


def _run(words: tuple[str, ...], file: str | None, options: dict[str, Any]) -> None:
    """Run the program, and write what it shows."""
    from chainrule.steps import steps_of

    from .report import explanations

    steps = steps_of(analysed(words, file, options))
    write_page(steps, options, options["symbolic"])
    format_, digits = options["format_"], options["digits"]
    how = (steps, digits, options["limit"], options["symbolic"])
    made = explanations.Explanation(*how)
    heading = title(steps.analysis, digits)
    with opened(options["out"]) as out:
        if format_ == "json":
            out.write(explanations.as_json(steps))
        elif format_ == "markdown":
            out.write(explanations.as_markdown(made, heading))
        elif format_ == "latex":
            from .report.latex import LatexExplanation, document

            out.write(document(LatexExplanation(*how), heading))
        else:
            explanations.show(made, heading, Screen(out, options["color"]))

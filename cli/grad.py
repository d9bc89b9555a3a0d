"""`chainrule grad`: one expression, looked at closely."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

import click

from chainrule import ChainruleError, Program
from chainrule.analysis import Analysis, analyse, analyse_function

from .diagnostics import report_error
from .options import (
    FUNCTION,
    ExpressionCommand,
    dtype_option,
    names_option,
    read_source,
    read_value,
    read_values,
    source_options,
    split_values,
)
from .report import gradients as report
from .report.grids import Screen
from .running import cotangent_value, no_grad_names, opened, read_program, record_function, write_page

if TYPE_CHECKING:  # imported where they are used: they are not needed for every expression
    from chainrule.crosscheck import Check
    from chainrule.recorded import Recording

FORMATS = ("table", "json", "csv", "markdown")


@click.command("grad", cls=ExpressionCommand, context_settings={"help_option_names": ["-h", "--help"]})
@source_options
@click.option("--wrt", metavar="NAMES", help="Differentiate by these inputs only: x,w.")
@click.option("--no-grad", metavar="NAME", multiple=True, help="This input requires no gradient (may be repeated).")
@click.option("--retain", metavar="NAME", multiple=True, help="Keep the gradient of this node; 'all' keeps every one.")
@click.option("--output", metavar="NAME", help="The node to differentiate, if not the last statement.")
@click.option("--cotangent", metavar="VALUE", help="The cotangent of an output that is no scalar: '[1, 1, 1]'.")
@click.option(
    "--order", metavar="N", type=click.IntRange(1, 20), help="Derivatives of this order by each scalar input."
)
@click.option("--hessian", is_flag=True, help="All second derivatives.")
@click.option("--jacobian", is_flag=True, help="The derivatives of every element of the output.")
@click.option("--jvp", metavar="DIRECTION", help="The derivative in a direction: 'x=[1,0], w=2', or '[1,0]'.")
@dtype_option
@click.option("--seed", default=0, show_default=True, metavar="N", help="The seed of rand and randn.")
@click.option("--check/--no-check", default=None, help="Ask SymPy for formulas and a check (default: for tables only).")
@click.option("--timeout", default=10.0, show_default=True, metavar="SECONDS", help="The limit of SymPy's time.",
              type=click.FloatRange(min=0.1))  # fmt: skip
@click.option("--digits", default=6, show_default=True, metavar="N", help="Significant digits in tables.",
              type=click.IntRange(1, 17))  # fmt: skip
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--json", "format_", flag_value="json", help="The same as --format json.")
@click.option("--color/--no-color", default=None, help="Colours and lines (default: on a terminal).")
@click.option("--html", metavar="FILE", help="Write a page to explore, too: one file, no network.")
@click.option("-o", "--out", metavar="FILE", help="Write the result to a file.")
def command(words: tuple[str, ...], file: str | None, **options: Any) -> int:
    """Show the graph of an expression, its gradients, and SymPy's check of them.

    Values are numbers (x=2), constant expressions (x=pi/2, x=[1,2,3], x=randn(3)) or files (x=@x.npy,
    x=@table.csv:column). Without values the graph and the formulas are shown.

    \b
        chainrule grad 'y = (x+w)*(w+1)' x=2 w=1
        chainrule grad 'a = x+w; b = w+1; y = a*b' x=2 w=1 --retain a
        chainrule grad 'x*x' x=[1,2] --cotangent '[1,10]' --json
    """
    with opened(options["out"]) as out:
        text = ""
        try:
            text, rest = read_source(words, file)
            if (spec := FUNCTION.fullmatch(text)) is not None:
                if refused := [n for n in ("order", "hessian", "jacobian", "jvp", "output") if options[n]]:
                    raise click.UsageError(f"--{refused[0]} is for expressions, not for Python functions.")
                recording = record_function(spec["path"], spec["name"], rest, options)
                analysis = _paged(
                    lambda: analyse_function(
                        recording,
                        wrt=names_option(options["wrt"]),
                        retain=_retained(options),
                        cotangent=cotangent_value(options),
                    ),
                    options,
                )
                _write(analysis, lambda: _checks(analysis, recording, options), out, options)
            else:
                analysis = _paged(lambda: _analyse(text, rest, options), options)
                _write(analysis, lambda: _checks(analysis, None, options), out, options)
        except ChainruleError as error:
            if options["format_"] != "json":
                raise
            out.write(report.error_line(text, error))
            report_error(error)
            return 2
    return 0


def _paged(analyse: Callable[[], Analysis], options: dict[str, Any]) -> Analysis:
    """The analysis; where a page is asked for, its steps are watched and written there."""
    if options["html"] is None:
        return analyse()
    from chainrule.steps import steps_of

    steps = steps_of(analyse)
    write_page(steps, options)
    return steps.analysis


def _checks(analysis: Analysis, recording: Recording | None, options: dict[str, Any]) -> list[Check]:
    """SymPy's word on an expression; for a Python function that of differences."""
    from chainrule.crosscheck import check, check_function

    return check(analysis, options["timeout"]) if recording is None else check_function(recording, analysis)


def _analyse(text: str, words: tuple[str, ...], options: dict[str, Any]) -> Analysis:
    """Parse, read the values, run."""
    wrt = names_option(options["wrt"])
    program, values = read_program(text, words, options, wrt or [])
    return analyse(
        program,
        values,
        wrt=wrt,
        no_grad=no_grad_names(options),
        retain=_retained(options),
        cotangent=cotangent_value(options),
        **_kind(program, options),
    )


def _kind(program: Program, options: dict[str, Any]) -> dict[str, Any]:
    """Which derivatives are asked for instead of the gradient."""
    asked = [name for name in ("order", "hessian", "jacobian", "jvp") if options[name]]
    if len(asked) > 1:
        raise click.UsageError(f"--{asked[0]} and --{asked[1]} ask for different things: give one of them.")
    if not asked:
        return {}
    if asked != ["jvp"]:
        return {"kind": asked[0], "order": options["order"] or 1}
    text, seed = options["jvp"], options["seed"]
    inputs = program.free
    if "=" in text:
        direction = read_values(tuple(split_values(text)), seed)
    elif len(inputs) == 1:
        direction = {inputs[0]: read_value(text, seed, "--jvp")}
    else:
        example = ", ".join(f"{name}=1" for name in inputs)
        raise click.UsageError(f"--jvp needs a direction for each input: --jvp '{example}'.")
    return {"kind": "direction", "direction": direction}


def _retained(options: dict[str, Any]) -> Any:
    names = [name for text in options["retain"] for name in names_option(text) or []]
    return "all" if "all" in names else names


def _write(analysis: Analysis, checked: Callable[[], list[Check]], out: IO[str], options: dict[str, Any]) -> None:
    format_, digits, wanted = options["format_"], options["digits"], options["check"]
    asked = wanted if wanted is not None else format_ in ("table", "markdown")

    def checks() -> list[Check] | None:
        return checked() if asked and analysis.wrt and analysis.kind != "direction" else None

    if format_ == "json":
        out.write(report.json_line(analysis, checks()))
    elif format_ == "csv":
        out.write(report.csv_text(analysis, checks()))
    elif format_ == "markdown":
        out.write(report.show_markdown(analysis, checks(), digits))
    else:
        screen = Screen(out, options["color"])
        report.show_graph(analysis, screen, digits)
        report.show_derivatives(analysis, checks(), screen, digits)

"""`chainrule grad`: one expression, looked at closely."""

from __future__ import annotations

import sys
from typing import IO, Any

import click
from chainrule import ChainruleError, Program, parse
from chainrule.analysis import Analysis, analyse
from chainrule.crosscheck import Check, check
from chainrule.errors import did_you_mean

from .diagnostics import report_error
from .options import ExpressionCommand, names_option, read_source, read_value, read_values, source_options
from .report import gradients as report
from .report.grids import Screen

FORMATS = ("table", "json", "csv", "markdown")


@click.command("grad", cls=ExpressionCommand, context_settings={"help_option_names": ["-h", "--help"]})
@source_options
@click.option("--wrt", metavar="NAMES", help="Differentiate by these inputs only: x,w.")
@click.option("--no-grad", metavar="NAME", multiple=True, help="This input requires no gradient (may be repeated).")
@click.option("--retain", metavar="NAME", multiple=True, help="Keep the gradient of this node; 'all' keeps every one.")
@click.option("--output", metavar="NAME", help="The node to differentiate, if not the last statement.")
@click.option("--cotangent", metavar="VALUE", help="The cotangent of an output that is no scalar: '[1, 1, 1]'.")
@click.option("--seed", default=0, show_default=True, metavar="N", help="The seed of rand and randn.")
@click.option("--check/--no-check", default=None, help="Ask SymPy for formulas and a check (default: for tables only).")
@click.option("--timeout", default=10.0, show_default=True, metavar="SECONDS", help="The limit of SymPy's time.",
              type=click.FloatRange(min=0.1))  # fmt: skip
@click.option("--digits", default=6, show_default=True, metavar="N", help="Significant digits in tables.",
              type=click.IntRange(1, 17))  # fmt: skip
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--json", "format_", flag_value="json", help="The same as --format json.")
@click.option("--color/--no-color", default=None, help="Colours and lines (default: on a terminal).")
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
    text, rest = read_source(words, file)
    out = _open(options["out"])
    try:
        analysis = _analyse(text, rest, options)
        _write(analysis, out, options)
    except ChainruleError as error:
        if options["format_"] != "json":
            raise
        out.write(report.error_line(text, error))
        report_error(error)
        return 2
    finally:
        if out is not sys.stdout:
            out.close()
    return 0


def _open(path: str | None) -> IO[str]:
    if path is None or path == "-":
        return sys.stdout
    try:
        return open(path, "w", encoding="utf-8")
    except OSError as error:
        raise ChainruleError("file", f"{path} cannot be written: {error.strerror}") from error


def _analyse(text: str, words: tuple[str, ...], options: dict[str, Any]) -> Analysis:
    """Parse, read the values, run."""
    seed = options["seed"]
    values = read_values(words, seed)
    wrt = names_option(options["wrt"])
    no_grad = [name for text in options["no_grad"] for name in names_option(text) or []]
    retain = [name for text in options["retain"] for name in names_option(text) or []]
    program = parse(text, names=[*values, *(wrt or []), *no_grad], seed=seed)
    for name in values:
        _refuse_unknown(program, name)
    if options["output"]:
        program.select(options["output"])
    cotangent = options["cotangent"]
    return analyse(
        program,
        values,
        wrt=wrt,
        no_grad=no_grad,
        retain="all" if "all" in retain else retain,
        cotangent=None if cotangent is None else read_value(cotangent, seed, "--cotangent"),
    )


def _refuse_unknown(program: Program, name: str) -> None:
    """A value for a name that the program does not have, or computes."""
    if name in program.inputs:
        return
    if name in program.names:
        raise ChainruleError("name", f"{name} is computed by the program and takes no value")
    inputs = program.inputs
    hint = did_you_mean(name, inputs) or (f"its inputs are {', '.join(inputs)}" if inputs else "it has no inputs")
    raise ChainruleError("name", f"the program has no input {name!r}", hint=hint)


def _write(analysis: Analysis, out: IO[str], options: dict[str, Any]) -> None:
    format_, digits, wanted = options["format_"], options["digits"], options["check"]
    asked = wanted if wanted is not None else format_ in ("table", "markdown")

    def checks() -> list[Check] | None:
        return check(analysis, options["timeout"]) if asked and analysis.wrt else None

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

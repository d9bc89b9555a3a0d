"""`chainrule diff`: derivatives as formulas and as code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chainrule import ChainruleError, Program, parse

from .diagnostics import report_error
from .options import (
    ExpressionCommand,
    names_option,
    open_output,
    read_source,
    read_values,
    refuse_unknown,
    source_options,
)
from .report import formulas as report

if TYPE_CHECKING:
    from chainrule.gradient import Derived

FORMULAS = ("text", "unicode", "latex", "mathml")
CODE = {"python": ".py", "numpy": "", "c": ".c", "julia": ".jl", "fortran": ".f90", "rust": ".rs", "javascript": ".js"}
SUFFIXES = {suffix: format_ for format_, suffix in CODE.items() if suffix} | {".tex": "latex", ".mml": "mathml"}
KINDS = ("gradient", "hessian", "jacobian")


@click.command("diff", cls=ExpressionCommand, context_settings={"help_option_names": ["-h", "--help"]})
@source_options
@click.option("--wrt", metavar="NAMES", help="Differentiate by these inputs only: x,w.")
@click.option("--order", metavar="N", type=click.IntRange(1, 20), help="Derivatives of this order by each input.")
@click.option("--gradient", is_flag=True, help="The derivative by each input (what is shown anyway).")
@click.option("--hessian", is_flag=True, help="All second derivatives, as a matrix.")
@click.option("--jacobian", is_flag=True, help="The derivatives of every element of the output, as a matrix.")
@click.option("--output", metavar="NAME", help="The node to differentiate, if not the last statement.")
@click.option(
    "--format",
    "format_",
    type=click.Choice([*FORMULAS, *CODE]),
    metavar="FORMAT",
    help=f"A formula ({', '.join(FORMULAS)}) or a complete function ({', '.join(CODE)}). "
    "Default: text, or what the suffix of --out says.",
)
@click.option("--simplify/--no-simplify", default=None, help="Simplify by SymPy (default: formulas yes, code no).")
@click.option("--cse/--no-cse", default=None, help="Name what is used more than once (default: in code).")
@click.option("--name", metavar="NAME", help="The function's name in code.")
@click.option("--timeout", default=10.0, show_default=True, metavar="SECONDS", help="The limit of SymPy's time.",
              type=click.FloatRange(min=0.1))  # fmt: skip
@click.option("--seed", default=0, show_default=True, metavar="N", help="The seed of rand and randn.")
@click.option("--json", "json_", is_flag=True, help="One line of JSON.")
@click.option("-o", "--out", metavar="FILE", help="Write the result to a file.")
def command(words: tuple[str, ...], file: str | None, **options: Any) -> int:
    """Differentiate an expression: the derivative as a formula, or as code in another language.

    With values the derivative is taken first and the values are put in afterwards. Arrays are said by their shapes,
    after a bar.

    \b
        chainrule diff 'x^2*sin(w*x)' --wrt x
        chainrule diff 'x^3' x=2 --order 2
        chainrule diff 'f(x, y) = exp(-x^2 - y^2)' -o gradient.c
        chainrule diff 'sum((x@w - t)^2) | x: 5x3, w: 3, t: 5' --format numpy
    """
    text = ""
    try:
        text, rest = read_source(words, file, "diff 'x^2*sin(x)'")
        values = read_values(rest, options["seed"])
        wrt = names_option(options["wrt"])
        program = parse(text, names=[*values, *(wrt or [])], seed=options["seed"])
        for name in values:
            refuse_unknown(program, name)
        if options["name"] is not None and not options["name"].isidentifier():
            raise click.UsageError(f"--name {options['name']!r} is no name for a function.")
        if options["output"]:
            program.select(options["output"])
        result = _result(program, values, wrt, options)
    except ChainruleError as error:
        if not options["json_"]:
            raise
        from .report.gradients import error_line

        sys.stdout.write(error_line(text, error))
        report_error(error)
        return 2
    out = open_output(options["out"])
    try:
        out.write(result)
    finally:
        if out is not sys.stdout:
            out.close()
    return 0


def _result(program: Program, values: dict[str, Any], wrt: list[str] | None, options: dict[str, Any]) -> str:
    """The derivatives in the form that was asked for."""
    from chainrule.derive import derive, known_shapes

    kind, format_ = _kind(options), _format(options)
    arrays = any(known_shapes(program, values).values())
    simplify = options["simplify"]
    if simplify is None:
        simplify = format_ in FORMULAS and not (arrays and format_ == "text")
    # NumPy and our own text speak of whole arrays; everything else of their elements.
    whole = format_ == "numpy" or (format_ == "text" and not simplify)
    order = options["order"] or 1
    derived = derive(program, kind, wrt, order=order, values=values, elementwise=arrays and not whole)
    if format_ in CODE:
        text = _code(program, derived, kind, format_, simplify, values, options)
        return report.code_line(program, derived, kind, format_, text) if options["json_"] else text
    return _formulas(program, derived, kind, format_, simplify, values, options)


def _kind(options: dict[str, Any]) -> str:
    asked = [name for name in KINDS if options[name]] + ["order"] * (options["order"] is not None)
    if len(asked) > 1:
        raise click.UsageError(f"--{asked[0]} and --{asked[1]} ask for different things: give one of them.")
    return {"order": "derivative"}.get(asked[0], asked[0]) if asked else "gradient"


def _format(options: dict[str, Any]) -> str:
    if options["format_"]:
        return str(options["format_"])
    return SUFFIXES.get(Path(options["out"] or "").suffix, "text")


def _code(
    program: Program,
    derived: Derived,
    kind: str,
    format_: str,
    simplify: bool,
    values: dict[str, Any],
    options: dict[str, Any],
) -> str:
    from chainrule.code import code_text
    from chainrule.derive import resimplified

    if simplify:
        made = resimplified(program, derived, values, options["timeout"])
        if isinstance(made, str):
            click.echo(f"note: not simplified: {made}", err=True)
        else:
            derived = made
    name = options["name"] or (program.output_name if program.declared else "f")
    return code_text(derived, kind, format_, name=name, share=options["cse"] is not False)


def _formulas(
    program: Program,
    derived: Derived,
    kind: str,
    format_: str,
    simplify: bool,
    values: dict[str, Any],
    options: dict[str, Any],
) -> str:
    from chainrule.derive import formulas, simplified

    own = formulas(derived, share=bool(options["cse"]))
    texts, statements = own.texts, own.statements
    free = [name for name in derived.graph.inputs if name not in values]
    if simplify and free and texts:
        found, reason = simplified(program, derived, values, options["timeout"])
        if reason is not None or None in found:
            click.echo(f"note: not simplified: {reason or 'SymPy finds no real formula'}", err=True)
        if None not in found:
            texts, statements = [text or "" for text in found], []
        else:
            simplify = False
    if format_ != "text":
        from chainrule.worker import rendered

        if statements:
            texts, statements = formulas(derived, share=False).texts, []
        labels = report.labels(derived) if format_ != "unicode" and len(derived.shape) == 1 and len(texts) > 1 else []
        texts = rendered(texts, free, format_, derived.shape, labels, options["timeout"], evaluate=simplify)
    if options["json_"]:
        return report.formulas_line(program, derived, kind, format_, texts, statements)
    return report.formulas_text(derived, format_, texts, statements)

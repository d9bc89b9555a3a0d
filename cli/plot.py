"""`chainrule plot`: a function and its derivatives over an interval, or a function of two inputs over a rectangle."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from chainrule import ChainruleError, Program
from chainrule.graph import Value
from chainrule.syntax.characters import canonical_name

from .options import ExpressionCommand, read_source, read_value, read_values, refuse_unknown, source_options
from .report.grids import Screen
from .report.values import number, value_text
from .running import opened, parsed

if TYPE_CHECKING:
    from chainrule.curves import Curves, Sample

RANGE = re.compile(r"(?P<name>[^=]+)=(?P<low>[^@\[\]:]+):(?P<high>[^\[\]:]+)")
DEFAULT = (-10.0, 10.0)
FORMATS = ("png", "svg", "pdf")
HIGH = 12  # rows of a panel in the terminal


@click.command("plot", cls=ExpressionCommand, context_settings={"help_option_names": ["-h", "--help"]})
@source_options
@click.option("--order", metavar="N", type=click.IntRange(0, 3), default=1, show_default=True,
              help="Derivatives up to this order.")  # fmt: skip
@click.option("--tangent", metavar="NAME=VALUE", multiple=True, help="Draw the tangent there (may be repeated).")
@click.option("--output", metavar="NAME", help="The node to plot, if not the last statement.")
@click.option("--seed", default=0, show_default=True, metavar="N", help="The seed of rand and randn.")
@click.option("--digits", default=4, show_default=True, metavar="N", help="Significant digits.",
              type=click.IntRange(1, 17))  # fmt: skip
@click.option("--color/--no-color", default=None, help="Colours (default: on a terminal).")
@click.option("-o", "--out", metavar="FILE", help="Write a picture: .png, .svg or .pdf.")
def command(words: tuple[str, ...], file: str | None, **options: Any) -> None:
    """Plot a function and its derivative; of two inputs, contours and the gradient.

    An interval is written x=-10:10; an input without a value gets that one.

    \b
        chainrule plot 'y = x*sin(x)' x=-10:10
        chainrule plot 'y = 1/x + a' x=-2:2 a=1 --tangent x=0.5
        chainrule plot 'x^2 + x*w' x=-2:2 w=-1:1 -o field.png
    """
    from chainrule import curves

    program, values, ranges = _read(words, file, options)
    title = _title(program, values, options["digits"])
    if len(ranges) == 2:
        if options["tangent"]:
            raise click.UsageError("--tangent is for functions of one input.")
        found: Any = curves.field_of(program, values, ranges)
    else:
        ((name, interval),) = ranges.items()
        found = curves.curves(program, values, name, interval, options["order"], _places(options, name))
    _write(found, title, options)


def _read(
    words: tuple[str, ...], file: str | None, options: dict[str, Any]
) -> tuple[Program, dict[str, Value], dict[str, tuple[float, float]]]:
    """The program, its values, and the intervals of one or two inputs."""
    text, rest = read_source(words, file)
    given = {canonical_name(m["name"].strip()): m for word in rest if (m := RANGE.fullmatch(word)) is not None}
    values = read_values(tuple(word for word in rest if RANGE.fullmatch(word) is None), options["seed"])
    ranges = {name: _interval(name, m["low"], m["high"], options["seed"]) for name, m in given.items()}
    program = parsed(text, [*values, *ranges], options)
    for name in (*values, *ranges):
        refuse_unknown(program, name)
    for name in program.missing({**values, **ranges}):
        ranges[name] = DEFAULT
    if len(ranges) not in (1, 2):
        inputs = ", ".join(ranges or program.inputs) or "none"
        hint = "give the others values" if ranges else "give one an interval: x=-10:10"
        raise ChainruleError(
            "value", f"a plot needs one or two inputs to vary, not {len(ranges)} ({inputs})", hint=hint
        )
    return program, values, ranges


def _interval(name: str, low: str, high: str, seed: int) -> tuple[float, float]:
    start, end = (read_value(text, seed, name) for text in (low, high))
    if isinstance(start, float) and isinstance(end, float) and start < end:
        return start, end
    raise ChainruleError(
        "value", f"{name}={low}:{high} is no interval", hint=f"write two numbers, the smaller first: {name}=-10:10"
    )


def _places(options: dict[str, Any], name: str) -> list[float]:
    """The places of tangents."""
    places = []
    for word in options["tangent"]:
        ((given, value),) = read_values((word,), options["seed"]).items()
        if given != name or not isinstance(value, float):
            raise ChainruleError("value", f"--tangent {word} is no place on the plot", hint=f"write --tangent {name}=2")
        places.append(value)
    return places


def _title(program: Program, values: dict[str, Value], digits: int) -> str:
    given = [f"{name} = {value_text(value, digits)}" for name, value in values.items()]
    return str(program) + (f"   at {', '.join(given)}" if given else "")


def _write(found: Any, title: str, options: dict[str, Any]) -> None:
    """To a file, or to the terminal."""
    from chainrule.curves import Field

    out, digits = options["out"], options["digits"]
    if out is not None and out != "-":
        from .report import plots

        format_ = Path(out).suffix.lstrip(".").lower()
        if format_ not in FORMATS:
            raise click.UsageError(f"-o {out}: a picture ends in {', '.join('.' + name for name in FORMATS)}.")
        with opened(out, "wb") as stream:
            (plots.write_field if isinstance(found, Field) else plots.write_curves)(found, title, stream, format_)
        return
    from .report import canvas

    with opened(out) as stream:
        screen = Screen(stream, options["color"])
        columns = shutil.get_terminal_size().columns
        screen.line(title, "bold")
        panels = (
            [canvas.field_lines(found, columns, 2 * HIGH, digits)]
            if isinstance(found, Field)
            else [canvas.curve_lines(found, k, columns, HIGH, digits) for k in range(len(found.pieces))]
        )
        for lines in panels:
            screen.line()
            for line in lines:
                screen.texts(line)
        for tangent in () if isinstance(found, Field) else found.tangents:
            screen.line()
            screen.line(_tangent_text(found, tangent, digits))


def _tangent_text(found: Curves, tangent: Sample, digits: int) -> str:
    """The tangent's equation."""
    x, (y, slope, *_) = tangent.x, tangent.ys
    run = f"({found.name} {'-' if x >= 0 else '+'} {number(abs(x), digits)})"
    rise = f"{number(y, digits)} {'+' if slope >= 0 else '-'} {number(abs(slope), digits)}*{run}"
    return f"tangent at {found.name} = {number(x, digits)}: {found.output} = {rise}"

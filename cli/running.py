"""From the words of a command to a program and its values: what the commands that run one expression share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import click

from chainrule import ChainruleError, Program, parse
from chainrule.analysis import Analysis, analyse, analyse_function
from chainrule.errors import did_you_mean
from chainrule.graph import Value

from .diagnostics import report_error
from .options import (
    FUNCTION,
    F,
    dtype_option,
    names_option,
    open_output,
    read_source,
    read_value,
    read_values,
    refuse_unknown,
    source_options,
)
from .report.gradients import error_line

if TYPE_CHECKING:
    from chainrule.recorded import Recording
    from chainrule.steps import Steps


def run_options(command: F) -> F:
    """The source and the values of a program, and how it is run and shown."""
    for option in (
        click.option("--html", metavar="FILE", help="Write a page to explore, too: one file, no network."),
        click.option("-o", "--out", metavar="FILE", help="Write the result to a file."),
        click.option("--color/--no-color", default=None, help="Colours and lines (default: on a terminal)."),
        click.option("--digits", default=6, show_default=True, metavar="N", help="Significant digits.",
                     type=click.IntRange(1, 17)),
        click.option("--seed", default=0, show_default=True, metavar="N", help="The seed of rand and randn."),
        click.option("--cotangent", metavar="VALUE", help="The cotangent of an output that is no scalar: '[1, 1, 1]'."),
        click.option("--output", metavar="NAME", help="The node to differentiate, if not the last statement."),
        click.option("--no-grad", metavar="NAME", multiple=True,
                     help="This input requires no gradient (may be repeated)."),
    ):  # fmt: skip
        command = option(command)
    return source_options(dtype_option(command))


@contextmanager
def opened(path: str | None, mode: str = "w") -> Iterator[IO[Any]]:
    """The file to write to, closed afterwards, or standard output. Raises `ChainruleError` of kind `file`."""
    stream = open_output(path, mode)
    try:
        yield stream
    finally:
        if path not in (None, "-"):
            stream.close()


def read_program(
    text: str, words: tuple[str, ...], options: dict[str, Any], names: Sequence[str] = ()
) -> tuple[Program, dict[str, Value]]:
    """The program and its values. `names` are inputs whatever the language calls so."""
    values = read_values(words, options["seed"])
    program = parsed(text, [*values, *names, *no_grad_names(options)], options)
    for name in values:
        refuse_unknown(program, name)
    return program, values


def parsed(text: str, names: Sequence[str], options: dict[str, Any]) -> Program:
    """The program with the output that --output names."""
    program = parse(text, names=names, seed=options["seed"], dtype=options.get("dtype"))
    if options["output"]:
        program.select(options["output"])
    return program


def analysed(words: tuple[str, ...], file: str | None, options: dict[str, Any]) -> Callable[[], Analysis]:
    """What analyses the expression, or the Python function, that the words name; the program is read at once."""
    text, rest = read_source(words, file)
    cotangent = cotangent_value(options)
    if (spec := FUNCTION.fullmatch(text)) is not None:
        if options["output"]:
            raise click.UsageError("--output is for expressions, not for Python functions.")
        recording = record_function(spec["path"], spec["name"], rest, options)
        return lambda: analyse_function(recording, cotangent=cotangent)
    program, values = read_program(text, rest, options)
    return lambda: analyse(program, values, no_grad=no_grad_names(options), cotangent=cotangent)


@contextmanager
def errors_as_json(words: tuple[str, ...], file: str | None, out: str | None) -> Iterator[None]:
    """Inside, an error of the program is a line of JSON, too, and the exit status is 2."""
    try:
        yield
    except ChainruleError as error:
        with opened(out) as stream:
            stream.write(error_line("" if file or not words else words[0], error))
        report_error(error)
        raise click.exceptions.Exit(2) from error


def write_page(steps: Steps, options: dict[str, Any], symbolic: bool = False) -> None:
    """The page that --html asks for, if it does."""
    if options["html"] is None:
        return
    from .report.page import page

    text = page(steps, options["digits"], symbolic=symbolic)
    with opened(options["html"]) as out:
        out.write(text)


def no_grad_names(options: dict[str, Any]) -> list[str]:
    """The names that --no-grad gives."""
    return [name for text in options["no_grad"] for name in names_option(text) or []]


def cotangent_value(options: dict[str, Any]) -> Value | None:
    """The value that --cotangent gives."""
    given = options["cotangent"]
    return None if given is None else read_value(given, options["seed"], "--cotangent")


def record_function(path: str, name: str, words: tuple[str, ...], options: dict[str, Any]) -> Recording:
    """Run a person's own function on Tensors."""
    from chainrule.creation import manual_seed
    from chainrule.recorded import Recording, load_function, parameters

    values = read_values(words, options["seed"])
    manual_seed(options["seed"])
    function = load_function(path, name)
    taken, needed = parameters(function)
    for word in values:
        if word not in taken:
            hint = did_you_mean(word, taken) or f"it takes {', '.join(taken)}"
            raise ChainruleError("name", f"{name} has no argument {word!r}", hint=hint)
    if missing := [word for word in needed if word not in values]:
        example = " ".join(f"{word}=…" for word in missing)
        raise ChainruleError("missing", f"{name} needs values for {', '.join(missing)}", hint=f"add {example}")
    return Recording(function, values, frozenset(no_grad_names(options)), f"{path}:{name}", options["dtype"])

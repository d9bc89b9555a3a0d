"""Options and arguments that commands share."""

from __future__ import annotations

import itertools
import os.path
import re
import sys
from collections.abc import Callable
from typing import IO, Any, TypeVar

import click
import numpy as np

from chainrule import ChainruleError, Program, parse_value
from chainrule.errors import did_you_mean
from chainrule.graph import Value
from chainrule.program import DTYPES
from chainrule.syntax.characters import canonical_name, is_name

FUNCTION = re.compile(r"(?P<path>[^=;|\n]+\.py):(?P<name>\w+)")  # a function in a Python file
F = TypeVar("F", bound=Callable[..., Any])


class ExpressionCommand(click.Command):
    """A command whose arguments may start with a minus: `-x^2` is an expression, not an option.

    Only words that are exactly an option of the command, or start with two dashes, are options.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Sort the words into options (with their values) and arguments, and let click parse both."""
        options: list[str] = []
        arguments: list[str] = []
        own = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        spelled = {word: param for param in own for word in (*param.opts, *param.secondary_opts)}
        rest = iter(args)
        for word in rest:
            if word == "--":
                arguments.extend(rest)
            elif word in spelled or word.startswith("--"):
                options.append(word)
                param = spelled.get(word)
                if param is not None and not param.is_flag and not param.count:
                    given = list(itertools.islice(rest, param.nargs))
                    if len(given) < param.nargs:
                        raise click.BadOptionUsage(word, f"Option {word!r} requires an argument.", ctx)
                    options.extend(given)
            else:
                arguments.append(word)
        return super().parse_args(ctx, [*options, "--", *arguments])


def source_options(command: F) -> F:
    """`[EXPR | -f FILE | -]` and the values `NAME=VALUE …`."""
    return words_and_file("[EXPR] [NAME=VALUE]...", "Read the program from a file; - is standard input.")(command)


def words_and_file(metavar: str, help_text: str) -> Callable[[F], F]:
    """The words of a command, shown in its help as `metavar`, and a file in the place of the first."""

    def both(command: F) -> F:
        command = click.option("-f", "--file", metavar="FILE", help=help_text)(command)
        return click.argument("words", nargs=-1, metavar=metavar)(command)

    return both


def dtype_option(command: F) -> F:
    """`--dtype float32`: the type of all numbers that a program computes with."""
    help_text = "What to compute in: float64 or float32."
    return click.option("--dtype", type=click.Choice(DTYPES), default=DTYPES[0], show_default=True, help=help_text)(
        command
    )


def read_source(
    words: tuple[str, ...], file: str | None, example: str = "grad 'y = (x+w)*(w+1)' x=2 w=1"
) -> tuple[str, tuple[str, ...]]:
    """The program's text and the words that follow it. Raises `click.UsageError` and `ChainruleError` (kind `file`)."""
    if file is not None:
        return read_text(file), words
    if not words:
        raise click.UsageError(f"No expression. Give one: chainrule {example}")
    if words[0] == "-":
        return read_text("-"), words[1:]
    return words[0], words[1:]


def read_text(path: str) -> str:
    """The text of a file, or of standard input for `-`: UTF-8, with or without a byte order mark."""
    try:
        if path == "-":
            data = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                data = file.read()
    except OSError as error:
        raise ChainruleError("file", f"{path} cannot be read: {error.strerror}") from error
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        name = "standard input" if path == "-" else path
        line = data.count(b"\n", 0, error.start) + 1
        raise ChainruleError(
            "file", f"{name} is not UTF-8 text (byte {error.start + 1}, in line {line})", hint="save it as UTF-8"
        ) from error


def open_output(path: str | None, mode: str = "w") -> IO[Any]:
    """The file to write results to; standard output for None and `-`. Raises `ChainruleError` (kind `file`)."""
    if path is None or path == "-":
        if "b" in mode and sys.stdout.isatty():
            raise click.UsageError("This format is not for a terminal: give a file with -o FILE.")
        return sys.stdout.buffer if "b" in mode else sys.stdout
    try:
        return open(path, mode, encoding=None if "b" in mode else "utf-8")
    except OSError as error:
        raise ChainruleError("file", f"{path} cannot be written: {error.strerror}") from error


# --- values -----------------------------------------------------------------------------------------------------------


def read_values(words: tuple[str, ...], seed: int) -> dict[str, Value]:
    """The values given as `NAME=VALUE`. Raises `ChainruleError`."""
    values: dict[str, Value] = {}
    for word in words:
        name, sign, text = word.partition("=")
        name = canonical_name(name.strip())
        if not sign or not is_name(name) or text.startswith("="):
            hint = "values are written x=2; quote an expression with spaces: 'x + 1'"
            raise ChainruleError("value", f"{word!r} is no value for a name", hint=hint)
        if name in values:
            raise ChainruleError("name", f"{name} is given twice", hint="give each name one value")
        values[name] = read_value(text, seed, name)
    return values


def read_value(text: str, seed: int, name: str) -> Value:
    """A constant expression's value, or a file's: `@x.npy`, `@table.csv:column`."""
    if text.startswith("@"):
        return _file_value(text[1:])
    if not text.strip():
        raise ChainruleError("value", f"{name}= has no value", hint=f"write {name}=2")
    return parse_value(text, seed=seed, name=name)


def refuse_unknown(program: Program, name: str) -> None:
    """A value for a name that the program does not have, or computes."""
    if name in program.inputs:
        return
    if name in program.names:
        raise ChainruleError("name", f"{name} is computed by the program and takes no value")
    inputs = program.inputs
    hint = did_you_mean(name, inputs) or (f"its inputs are {', '.join(inputs)}" if inputs else "it has no inputs")
    raise ChainruleError("name", f"the program has no input {name!r}", hint=hint)


def _file_value(text: str) -> Value:
    path, _, column = text.partition(":") if not os.path.exists(text) else (text, "", "")
    try:
        if path.endswith(".npy"):
            array = np.load(path, allow_pickle=False)
            if array.dtype.kind not in "fiub":
                raise ValueError(f"its numbers are {array.dtype}")
            return np.asarray(array, dtype=float) if array.ndim else float(array)
        return _column(path, column)
    except OSError as error:
        raise ChainruleError("file", f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, TypeError) as error:
        raise ChainruleError("file", f"{path} does not hold an array of numbers: {error}") from error


def _column(path: str, column: str) -> Value:
    """A column of a CSV file, by its header."""
    import csv

    with open(path, newline="", encoding="utf-8-sig") as stream:
        delimiter = "\t" if path.endswith(".tsv") else ","
        rows = csv.DictReader(stream, delimiter=delimiter)
        header = rows.fieldnames or []
        if not column and len(header) == 1:
            column = header[0]
        if column not in header:
            close = did_you_mean(column, header) or f"its columns are {', '.join(header) or 'none'}"
            if column:
                raise ChainruleError("file", f"{path} has no column {column!r}", hint=close)
            raise ChainruleError("file", f"which column of {path}?", hint=f"{close}: write @{path}:NAME")
        numbers = []
        for row in rows:
            try:
                numbers.append(float(row[column] or ""))
            except ValueError as error:
                place = f"{path}, line {rows.line_num}"
                raise ChainruleError("file", f"{place}: {row[column]!r} in column {column} is not a number") from error
    return np.array(numbers)


def split_values(text: str) -> list[str]:
    """The parts of `x=[1,2], w=3`: split at the commas outside brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def names_option(text: str | None) -> list[str] | None:
    """The names in `x,w`."""
    if text is None:
        return None
    return [canonical_name(name.strip()) for name in text.split(",") if name.strip()]

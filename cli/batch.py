"""`chainrule batch`: files and pipes of expressions."""

from __future__ import annotations

import itertools
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import click

from chainrule import ChainruleError, Program, parse
from chainrule.errors import did_you_mean
from chainrule.evaluate import chosen_inputs
from chainrule.syntax.characters import canonical_name, is_name

from .options import dtype_option, names_option, read_values
from .stream.blocks import FORMATS, Block, Pace, Source, blocks
from .stream.columns import columns
from .stream.output import Output
from .stream.progress import progress
from .stream.run import elsewhere, here
from .stream.settings import Settings
from .stream.work import Done

OUTPUTS = ("jsonl", "csv", "tsv", "table", "markdown")


@click.command("batch", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("files", nargs=-1, metavar="[FILE]...")
@click.option("--input-format", type=click.Choice(sorted(set(FORMATS.values()))),
              help="What the input is (default: what its name says, else text).")  # fmt: skip
@click.option("--expression", metavar="EXPR", help="One program for every line: the lines hold values.")
@click.option("--at", metavar="NAME=VALUE", multiple=True, help="A value common to all lines (may be repeated).")
@click.option("--wrt", metavar="NAMES", help="Differentiate by these inputs only: x,w.")
@click.option("--no-grad", metavar="NAME", multiple=True, help="This input requires no gradient (may be repeated).")
@click.option("--order", metavar="N", type=click.IntRange(1, 20), help="Derivatives of this order too.")
@click.option("--hessian", is_flag=True, help="All second derivatives too.")
@click.option("--nodes", is_flag=True, help="The nodes of each graph too.")
@click.option("--symbolic", is_flag=True, help="SymPy's formulas too; values may be missing then.")
@click.option("--check", is_flag=True, help="SymPy's check too.")
@dtype_option
@click.option("--seed", default=0, show_default=True, metavar="N", help="The seed of rand and randn, in every line.")
@click.option("--format", "format_", type=click.Choice(OUTPUTS), default="jsonl", show_default=True)
@click.option("--digits", default=6, show_default=True, metavar="N", help="Significant digits in tables.",
              type=click.IntRange(1, 17))  # fmt: skip
@click.option("-o", "--out", metavar="FILE", help="Write the results to a file.")
@click.option("--errors", metavar="FILE", help="Write error records to a file of their own.")
@click.option("--fail-fast", is_flag=True, help="Stop after the first line that fails.")
@click.option("--resume", is_flag=True, help="Go on where the results in -o FILE end.")
@click.option("--jobs", default=1, show_default=True, metavar="N", help="Processes; 0 for one on each core.",
              type=click.IntRange(0, 1024))  # fmt: skip
@click.option("--scheduler", metavar="ADDRESS", help="Evaluate on the Dask cluster of this scheduler: tcp://HOST:8786.")
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(min=0.001), help="The limit of a line's time.")
@click.option("--max-line", default=16 * 2**20, show_default=True, metavar="BYTES", type=click.IntRange(1),
              help="The longest line.")  # fmt: skip
@click.option("--max-numbers", default=1_000_000, show_default=True, metavar="N", type=click.IntRange(1),
              help="The most numbers of a result.")  # fmt: skip
@click.option("-q", "--quiet", is_flag=True, help="No progress, and no word on lines that failed.")
def command(files: tuple[str, ...], **options: Any) -> int:
    """Evaluate and differentiate every line of files or of a pipe.

    A line of text is a program with its values after a bar. JSON lines have the keys expression, at, wrt, cotangent and
    id. CSV files have a column expression, unless --expression is given, and a column for each input. Every line gives
    one record, in the order of the lines; a line that fails gives an error record.

    \b
        echo 'y = x^2*w | x=3, w=2' | chainrule batch
        chainrule batch points.csv --expression 'y = x^2*w' --format csv
    """
    _check_files(files, options)
    sources = [Source(path) for path in files or ("-",)]
    for source in sources:
        source.check()
    settings, program = _settings(options)
    pace = Pace()
    stream = blocks(sources, options["input_format"], pace, settings.limit, _header_check(settings, program))
    first = next(stream, None)
    if settings.format != "jsonl":
        settings = replace(settings, columns=columns(settings, program, first))
    stream = itertools.chain([] if first is None else [first], stream)
    with Output(settings, options["out"], options["errors"], resume=options["resume"]) as output:
        stream = output.remaining(stream)
        results = _results(stream, settings, pace, options)
        apart = options["out"] not in (None, "-") or not sys.stdout.isatty()  # results do not run through the bar
        with progress(sources, shown=apart and not options["quiet"]) as advance:
            for done in results:
                if options["fail_fast"] and done.failed:
                    done = done.up_to_failure()
                output.write(done)
                advance(len(done.texts))
                if options["fail_fast"] and done.failed:
                    break
    return _status(output, options["quiet"])


def _check_files(files: tuple[str, ...], options: dict[str, Any]) -> None:
    """Refuse files that cannot be written as is asked for."""
    out, errors, format_ = options["out"], options["errors"], options["format_"]
    if options["resume"] and (out is None or out == "-"):
        raise click.UsageError("--resume goes on in the file that -o names: give one.")
    for path in (out, errors):
        if path is not None and path.endswith(".gz"):
            raise click.UsageError(f"{path} would not be compressed: name a plain file, or pipe results through gzip.")
    if options["resume"] and format_ in ("table", "markdown"):
        raise click.UsageError(f"--resume is not for --format {format_}: jsonl, csv and tsv can be gone on with.")
    for path in filter(os.path.exists, filter(None, (out, errors))):
        if any(os.path.samefile(path, file) for file in filter(os.path.exists, files)):
            raise click.UsageError(f"{path} is read and would be written: give another file.")
    if out is not None and errors is not None and os.path.abspath(out) == os.path.abspath(errors):
        raise click.UsageError("--errors and -o name one file: give two.")


def _settings(options: dict[str, Any]) -> tuple[Settings, Program | None]:
    """The options as settings, and the program of every line if there is one. Raises `ChainruleError`."""
    if options["order"] and options["hessian"]:
        raise click.UsageError("--order and --hessian ask for different things: give one of them.")
    if options["scheduler"] and (options["timeout"] or options["jobs"] != 1):
        other = "timeout" if options["timeout"] else "jobs"
        raise click.UsageError(f"--{other} is for this machine's processes: not with --scheduler.")
    values = read_values(options["at"], options["seed"])
    wrt = names_option(options["wrt"])
    no_grad = [name for text in options["no_grad"] for name in names_option(text) or []]
    program, expression = None, options["expression"]
    if expression is not None:
        program = parse(expression, names=[*values, *(wrt or ()), *no_grad], seed=options["seed"])
        chosen_inputs(program, wrt, no_grad)
        expression = expression.strip()
    settings = Settings(
        format=options["format_"],
        at=values,
        wrt=None if wrt is None else tuple(wrt),
        no_grad=tuple(no_grad),
        expression=expression,
        kind="order" if options["order"] else "hessian" if options["hessian"] else "gradient",
        order=options["order"] or 1,
        nodes=options["nodes"],
        symbolic=options["symbolic"],
        check=options["check"],
        seed=options["seed"],
        dtype=options["dtype"],
        digits=options["digits"],
        separate=options["errors"] is not None,
        limit=options["max_line"],
        elements=options["max_numbers"],
        timeout=options["timeout"],
        output=program.output_name if program is not None else "",
    )
    return settings, program


def _header_check(settings: Settings, program: Program | None) -> Callable[[str, Sequence[str]], None]:
    """What refuses a table that lacks what every row needs."""

    def check(name: str, header: Sequence[str]) -> None:
        columns = ", ".join(header)
        if len(header) == 1 and ";" in header[0]:
            raise ChainruleError("file", f"{name} has one column, {columns}", hint="part the cells with commas")
        if program is None and "expression" not in header:
            hint = f"its columns are {columns}; --expression 'y = …' gives one program for every row"
            raise ChainruleError("file", f"{name} has no column 'expression'", hint=hint)
        columns_named = [canonical_name(word) for word in header if is_name(word)]
        if twice := [word for word, times in Counter(columns_named).items() if times > 1]:
            raise ChainruleError("file", f"{name} has two columns {twice[0]!r}", hint="each column needs its own name")
        given = {*columns_named, *settings.at}
        if program is not None and not settings.symbolic and (missing := program.missing(dict.fromkeys(given))):
            hint = did_you_mean(missing[0], header) or f"its columns are {columns}; --at {missing[0]}=… is for all rows"
            raise ChainruleError("file", f"{name} has no column {missing[0]!r}", hint=hint)

    return check


def _results(stream: Iterator[Block], settings: Settings, pace: Pace, options: dict[str, Any]) -> Iterator[Done]:
    """The results of all blocks, evaluated here or by worker processes."""
    if options["scheduler"]:
        from .stream.cluster import Cluster

        return elsewhere(stream, Cluster(options["scheduler"], settings), pace)
    jobs = options["jobs"] or len(os.sched_getaffinity(0))
    if jobs == 1:
        return here(stream, settings, pace)
    from .stream.pool import Pool

    return elsewhere(stream, Pool(jobs, settings), pace)


def _status(output: Output, quiet: bool) -> int:
    """Say how many lines failed, and what the exit status is."""
    if not quiet:
        if output.failed:
            click.echo(f"{output.failed:,} of {output.records:,} lines failed", err=True)
        if output.differing:
            click.echo(f"{output.differing:,} of {output.records:,} lines differ from SymPy", err=True)
    return 1 if output.failed or output.differing else 0

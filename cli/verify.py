"""`chainrule verify`: derivatives worked out by hand, checked."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import IO, Any

import click

from chainrule import ChainruleError
from chainrule.syntax.claims import is_claim, stretches
from chainrule.verification import error_record, verified

from .blocks import FORMATS as INPUT_FORMATS
from .blocks import Request, input_format, read_blocks
from .options import FUNCTION, ExpressionCommand, open_output, read_source, read_text, source_options
from .report import verdicts as report
from .report.grids import Screen

FORMATS = ("table", "json", "junit", "markdown")


@click.command("verify", cls=ExpressionCommand, context_settings={"help_option_names": ["-h", "--help"]})
@source_options
@click.option(
    "--input-format", type=click.Choice(INPUT_FORMATS), help="The format of FILE (default: by its extension)."
)
@click.option("--strict", is_flag=True, help="Only proofs count as verified.")
@click.option("--timeout", default=5.0, show_default=True, metavar="SECONDS", type=click.FloatRange(min=0),
              help="The limit of SymPy's time for a proof; 0: no proofs.")  # fmt: skip
@click.option("--jobs", default=1, show_default=True, metavar="N", type=click.IntRange(min=0),
              help="How many processes verify; 0: one for each core.")  # fmt: skip
@click.option("--seed", default=0, show_default=True, metavar="N", help="The seed of rand and randn.")
@click.option("--quiet", is_flag=True, help="Of many blocks show only those that are not verified.")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="table", show_default=True)
@click.option("--json", "format_", flag_value="json", help="The same as --format json.")
@click.option("--color/--no-color", default=None, help="Colours and lines (default: on a terminal).")
@click.option("-o", "--out", metavar="FILE", help="Write the result to a file.")
def command(words: tuple[str, ...], file: str | None, **options: Any) -> int:
    """Check derivatives that were worked out by hand.

    Give a program, then claims about its derivatives; assumptions (x > 0), values (a=2) and shapes (A: 3x3) may follow.
    A file holds blocks of the same, parted by blank lines, or JSON lines, or a table.

    \b
        chainrule verify 'y = x^2*sin(x)' 'dy/dx = 2x*sin(x) + x^2*cos(x)'
        chainrule verify "f(x) = x^3; f'(x) = 3x^2; f''(2) = 12"
        chainrule verify 'y = x@A@x' 'dy/dx = (A+A.T)@x' 'x: 3' 'A: 3x3'
        chainrule verify -f homework.txt
    """
    if words and (spec := FUNCTION.fullmatch(words[0])) is not None:
        requests: Iterator[Request] = iter([_handwritten(spec, words)])
    else:
        requests = _requests(words, file, options["input_format"])
    jobs = options["jobs"] or os.cpu_count() or 1
    out = open_output(options["out"])
    try:
        return _run(requests, words, jobs, out, options)
    finally:
        if out is not sys.stdout:
            out.close()


def _requests(words: tuple[str, ...], file: str | None, format_: str | None) -> Iterator[Request]:
    """What is to be verified: the blocks of a file, or the one on the command line."""
    if file is not None or words[:1] == ("-",):
        path = file or "-"
        behind = list(words if file is not None else words[1:])
        for request in read_blocks(read_text(path), input_format(path, format_)):
            request.items += behind
            yield request
        return
    source, rest = read_source(words, None)
    claims: list[str] = []
    items: list[str] = []
    for word in rest:
        found, _ = stretches(word)
        claimed = len(found) == 1 and found[0].equals >= 0 and is_claim(word, found[0])
        (claims if claimed else items).append(word)
    yield Request(1, 1, source, claims, items)


def _handwritten(spec: re.Match[str], words: tuple[str, ...]) -> Request:
    """A person's gradient function against autograd on the function, both in Python files."""
    from chainrule.handwritten import judge_function
    from chainrule.recorded import load_function
    from chainrule.verify import as_record

    other = FUNCTION.fullmatch(words[1]) if len(words) > 1 else None
    if other is None:
        example = f"{spec[0]} {spec['path']}:{spec['name']}_grad"
        raise click.UsageError(f"Give the function of the gradient too: chainrule verify {example}")
    function, gradient = (load_function(s["path"], s["name"]) for s in (spec, other))
    results = {"claims": [as_record(r) for r in judge_function(function, gradient, words[2:])]}
    return Request(1, 1, f"{spec[0]} {other[0]}", results=results)


def _run(requests: Iterator[Request], words: tuple[str, ...], jobs: int, out: IO[str], options: dict[str, Any]) -> int:
    """Verify and report; the exit status."""
    format_, counts = options["format_"], Counter[str]()
    screen = Screen(out, options["color"])
    kept: list[tuple[Any, str, report.Results]] = []
    first: tuple[Request, report.Results] | None = None
    failed = unreadable = False
    number = 0
    for number, (request, results) in enumerate(_verified(requests, jobs, options), start=1):
        counts.update(report.each_verdict(results))
        failed |= not report.passes(results, strict=options["strict"])
        unreadable |= "error" in results
        if format_ == "json":
            out.write(report.json_line(request.id, request.source, results, request.line))
            out.flush()
        elif format_ == "table":
            if number == 1:
                first = request, results  # how it is shown depends on whether others follow
            if number == 2 and first is not None:
                report.show_line(first[0].id, first[1], screen, quiet=options["quiet"])
            if number > 1:
                report.show_line(request.id, results, screen, quiet=options["quiet"])
                out.flush()
        else:
            kept.append((request.id, request.source, results))
    if number == 0:
        raise ChainruleError("input", "there is no block to verify", hint="a block is a program, then claims")
    if format_ == "table":
        if number == 1 and first is not None:
            report.show_block(first[1], first[0].source, screen)
        if number > 1 or sum(counts.values()) > 1:
            screen.line(report.summary(counts))
    elif format_ == "junit":
        out.write(report.junit(kept, strict=options["strict"]))
    elif format_ == "markdown":
        out.write(report.show_markdown((id_, results) for id_, _, results in kept))
    if number == 1 and (unreadable or set(counts) == {"error"}):
        return 2
    return int(failed)


def _verified(
    requests: Iterable[Request], jobs: int, options: dict[str, Any]
) -> Iterator[tuple[Request, report.Results]]:
    """Each request with its results, in order."""
    taken: list[Request] = []

    def asked() -> Iterator[dict[str, Any]]:
        for request in requests:
            taken.append(request)
            if request.error is not None or request.results is not None:
                yield {"given": request.results or {"error": request.error and error_record(request.error)}}
                continue
            yield {
                "source": request.source,
                "claims": request.claims,
                "items": request.items,
                "seed": options["seed"],
                "timeout": options["timeout"],
            }

    for results in verified(asked(), jobs):
        yield taken.pop(0), results

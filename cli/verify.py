"""`chainrule verify`: derivatives worked out by hand, checked."""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import IO, Any

import click

from chainrule import ChainruleError
from chainrule.syntax.claims import is_claim, stretches
from chainrule.verification import error_record, verified

from .blocks import FORMATS as INPUT_FORMATS
from .blocks import Request, input_format, read_blocks
from .options import FUNCTION, ExpressionCommand, open_output, read_text, words_and_file
from .report import verdicts as report
from .report.grids import Screen
from .report.progress import progress

FORMATS = ("table", "json", "junit", "markdown")


@click.command("verify", cls=ExpressionCommand, context_settings={"help_option_names": ["-h", "--help"]})
@words_and_file("[PROGRAM] [CLAIM]... [ASSUMPTION|VALUE|SHAPE]...", "Read blocks from a file; - is standard input.")
@click.option("--input-format", type=click.Choice(INPUT_FORMATS),
              help="The format of FILE (default: by its extension).")  # fmt: skip
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
        requests = [_handwritten(spec, words)]
    else:
        requests = [*_requests(words, file, options["input_format"])]
    if not requests:
        raise ChainruleError("input", "there is no block to verify", hint="a block is a program, then claims")
    jobs = min(options["jobs"] or os.cpu_count() or 1, len(requests))
    out = open_output(options["out"])
    try:
        return _run(requests, jobs, out, options)
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
    if not words:
        raise click.UsageError("No program and no claim. Give both: chainrule verify 'y = x^2' 'dy/dx = 2*x'")
    claims: list[str] = []
    items: list[str] = []
    for word in words[1:]:
        (claims if _is_claim(word) else items).append(word)
    yield Request(1, 1, words[0], claims, items)


def _is_claim(word: str) -> bool:
    """Whether a word is a claim, and not an assumption, a value or a shape. Raises `ChainruleError` for a bare term."""
    found, _ = stretches(word)
    if any(s.equals >= 0 and is_claim(word, s) for s in found):
        return True
    if not re.search("[=:<>≤≥≠]", word):
        raise ChainruleError("syntax", f"what is {word!r}?", hint=f"a claim is written dy/dx = {word}")
    return False


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


def _run(requests: Sequence[Request], jobs: int, out: IO[str], options: dict[str, Any]) -> int:
    """Verify and report; the exit status."""
    format_, strict, several = options["format_"], options["strict"], len(requests) > 1
    screen = Screen(out, options["color"])
    done: list[report.Block] = []
    questions = (_question(request, options) for request in requests)
    with progress(len(requests)) as advance:
        for request, results in zip(requests, verified(questions, jobs), strict=True):
            block = report.Block(request.id, request.source, report.placed(results, request.line))
            done.append(block)
            if format_ == "json":
                out.write(report.json_line(block))
                out.flush()
            elif format_ == "table" and several:
                report.show_line(block, screen, quiet=options["quiet"])
                out.flush()
            advance()
    verdicts = Counter(name for block in done for name in block.verdicts)
    if format_ == "table":
        if not several:
            report.show_block(done[0], screen)
        if verdicts.total() > 1:
            screen.line(report.summary(verdicts))
    elif format_ == "junit":
        out.write(report.junit(done, strict=strict))
    elif format_ == "markdown":
        out.write(report.show_markdown(done))
    if not several and set(verdicts) == {"error"}:
        return 2
    return int(not all(block.passes(strict=strict) for block in done))


def _question(request: Request, options: dict[str, Any]) -> dict[str, Any]:
    """What the processes that verify are asked, or what is known already."""
    if request.error is not None:
        return {"given": {"error": error_record(request.error)}}
    if request.results is not None:
        return {"given": request.results}
    asked = {"source": request.source, "claims": request.claims, "items": request.items}
    return asked | {"seed": options["seed"], "timeout": options["timeout"]}

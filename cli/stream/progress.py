"""A progress bar on standard error, where a person is watching it."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence

from .blocks import Source


@contextlib.contextmanager
def progress(sources: Sequence[Source], *, shown: bool) -> Iterator[Callable[[int], None]]:
    """Within it a bar with the rate and the time left; the function that is given counts lines.

    There is none unless standard error is a terminal.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda lines: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    sizes = [source.size for source in sources]
    total = None if None in sizes else sum(size for size in sizes if size)
    texts = map(TextColumn, ("{task.fields[lines]:,} lines", "{task.fields[rate]:,.0f}/s"))
    clock = (TimeElapsedColumn(),) if total is None else (TimeRemainingColumn(), TextColumn("left"))
    bar = Progress(*texts, BarColumn(), *clock,
                   console=Console(stderr=True), transient=True)  # fmt: skip
    task = bar.add_task("", total=total, lines=0, rate=0.0)

    def advance(lines: int) -> None:
        state = bar.tasks[0]
        done = state.fields["lines"] + lines
        rate = done / max(state.elapsed or 0.0, 1e-3)
        bar.update(task, completed=sum(source.taken for source in sources), lines=done, rate=rate)

    with bar:
        yield advance

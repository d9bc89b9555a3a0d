"""Pictures: `graph` and `explain` of 60 nodes cost at most 1.3 × what `grad` costs; an SVG of 300 takes no 2 s."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from time import perf_counter

from harness import Result, compare, duration, peer

TEXT = "; ".join(["x0 = 1.5", *(f"x{i + 1} = sin(x{i})*c + x{i}" for i in range(19))])


def chain(count: int) -> str:
    """A program of so many nodes that has no repeated part."""
    kinds = ("sin({})", "exp(-{})", "{}*c", "{} + x", "tanh({})", "{}/(1 + {}^2)", "sqrt(1 + {}^2)")
    return "v = x; " + "; ".join(
        f"a{i} = {kinds[(i * i + i // 7) % 7].replace('{}', f'a{i - 1}' if i else 'v')}" for i in range(count)
    )


def run() -> Iterator[Result]:
    """Whole processes, and one drawing."""

    def command(name: str, *options: str) -> None:
        words = [sys.executable, "-m", "chainrule", name, TEXT, "c=0.5", *options]
        subprocess.run(words, check=True, capture_output=True)

    for name in ("graph", "explain"):
        yield compare(
            f"looking: {name} of 60 nodes against grad",
            lambda name=name: command(name),
            lambda: command("grad", "--no-check"),
            1.3,
        )
    peer("graphlay")
    import chainrule as cr
    from chainrule.analysis import analyse
    from chainrule.cli.report.drawings import svg
    from chainrule.cli.report.pictures import picture_of
    from chainrule.steps import steps_of

    start = perf_counter()
    steps = steps_of(lambda: analyse(cr.parse(chain(176)), {"x": 0.7, "c": 0.3}))
    svg(picture_of(steps, "", 6, 0))
    seconds = perf_counter() - start
    yield Result(f"looking: an SVG of {len(steps.rows)} nodes, seconds", duration(seconds), "", seconds, 2)

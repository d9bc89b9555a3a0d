"""Claims verified: real pairs of an integrand and its antiderivative, against SymPy's `simplify(diff(F, x) - f) == 0`.

With a warm process a claim takes at most 0.25 s (the median), and more are proved. That takes about the time of SymPy's
own way, which finds no domain and looks at no points.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import sympy as sp
from harness import Result, duration

import chainrule
from chainrule import symbolic
from chainrule.verification import Verifier

ROWS = Path(__file__).parents[1] / "data" / "rubi_verify.jsonl"
STEP = 20  # every so many rows


def run() -> Iterator[Result]:
    """The time of a claim, and how many are proved."""
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()][::STEP]
    verifier = Verifier()
    try:
        verified(verifier, rows[0])  # warm
        pairs = [(timed(verified, verifier, row), timed(simplified, row)) for row in rows]
    finally:
        verifier.close()
    ours, peers = zip(*pairs, strict=True)
    times = [sum(seconds for seconds, _ in side) / len(rows) for side in (ours, peers)]
    median = statistics.median(seconds for seconds, _ in ours)
    open_ = [max(sum(not proved for _, proved in side), 0.5) for side in (ours, peers)]
    yield Result("verify: a claim, the mean", *map(duration, times), times[0] / times[1], 1.5)
    yield Result("verify: a claim, the median, against 0.25 s", duration(median), "0.25 s", median / 0.25, 1)
    yield Result(f"verify: claims of {len(rows)} not proved", *(f"{n:g}" for n in open_), open_[0] / open_[1], 1)


def timed(call: Any, *args: Any) -> tuple[float, bool]:
    """How long it took, and what came out."""
    start = perf_counter()
    proved = call(*args)
    return perf_counter() - start, proved


def verified(verifier: Verifier, row: dict[str, Any]) -> bool:
    """Whether our verdict is `proved`."""
    asked = {"source": row["expression"], "claims": row["claims"], "timeout": 5}
    return bool(verifier.verify(asked)["claims"][0]["verdict"] == "proved")


def simplified(row: dict[str, Any]) -> bool:
    """Whether SymPy simplifies the difference to 0."""
    ((name, claim),) = row["claims"].items()
    (whole, symbols), (derivative, _) = (
        symbolic.lower(chainrule.parse(text), {}, doubles=False) for text in (row["expression"], claim)
    )
    return bool(sp.simplify(sp.diff(whole, symbols[name]) - derivative) == 0)

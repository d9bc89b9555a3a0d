"""Parsing: at most 3 times as slow as `ast.parse`, Python's own parser in C, on the same expressions.

Sums, polynomials and nested functions of 1 to 1,000 terms, and the formulas of the Feynman lectures.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path

from harness import Result, SkippedError, compare

import chainrule

FEYNMAN = Path(__file__).parents[1] / "data" / "feynman.jsonl"
TERMS: dict[str, Callable[[int], str]] = {
    "sum": lambda i: f"sin({i}*x/1000)*w",
    "polynomial": lambda i: f"{i / 8}*x^{i}",
    "nested": lambda i: f"exp(-sin(tanh(x*w + {i})^2)/(1 + cosh(log(a*x))))",
}


def run() -> Iterator[Result]:
    """Each family in each length, then the formulas."""
    for name, term in TERMS.items():
        for n in (1, 10, 100, 1000):
            yield against_ast(f"parsing: {name}, {n:,} terms", [" + ".join(map(term, range(n)))])
    if not FEYNMAN.exists():
        raise SkippedError(f"needs {FEYNMAN.name} in tests/data")
    with FEYNMAN.open(encoding="utf-8") as lines:
        formulas = [json.loads(line)["formula"] for line in lines]
    yield against_ast(f"parsing: {len(formulas)} formulas of the Feynman lectures", formulas)


def against_ast(name: str, texts: list[str]) -> Result:
    """Compare on all of `texts` together."""
    pythons = [text.replace("^", "**") for text in texts]
    return compare(
        name, lambda: [chainrule.parse(text) for text in texts], lambda: [ast.parse(python) for python in pythons], 3
    )

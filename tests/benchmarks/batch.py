"""`chainrule batch`: distinct expressions against PyTorch, SymEngine and SymPy, a large table, and two processes.

The Feynman lectures' formulas, each times a constant of its own for every point, so that nothing can be kept from one
line for another. Ours reads JSON lines and writes them; the peers are given their values and write nothing. They must
take at least 3 times (PyTorch, eager), 5/3 times (SymEngine) and 150 times (SymPy) as long.
"""

from __future__ import annotations

import csv
import itertools
import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from harness import Result, agree, compare, peer

from chainrule.cli.stream.blocks import Block, Pace, Source, blocks
from chainrule.cli.stream.settings import Settings
from chainrule.cli.stream.work import Worker

FEYNMAN = Path(__file__).parents[1] / "data" / "feynman.jsonl"
DRAWN = 20  # points for each formula; 1 for SymPy, which takes long
ROWS = 1_000_000
MODEL = "y = sin(x)*w + x^2"

Line = tuple[str, dict[str, float]]


def run() -> Iterator[Result]:
    """The table and the processes, which need no peer, then the peers."""
    yield from tables()
    yield from processes()
    many, few = lines(DRAWN), lines(1)
    for name, make, given, most in (
        ("PyTorch", by_torch, many, 1 / 3),
        ("SymEngine", by_symengine, many, 3 / 5),
        ("SymPy", by_sympy, few, 1 / 150),
    ):
        theirs, mine = make(given), ours(given)
        for (value, gradients), record in zip(theirs(), map(json.loads, mine()), strict=True):
            agree(
                [record["value"], *record["gradients"].values()], [value, *(gradients[n] for n in record["gradients"])]
            )
        yield compare(f"batch: {len(given):,} formulas against {name}", mine, theirs, most)


def lines(drawn: int, seed: int = 1) -> list[Line]:
    """Texts and points, no two texts alike."""
    draw, made = random.Random(seed), []
    with FEYNMAN.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    for row in rows:
        for _ in range(drawn):
            point = {name: draw.uniform(*between) for name, between in row["vars"].items()}
            made.append((f"({row['formula']})*{draw.uniform(1, 2)!r}", point))
    return made


def ours(given: list[Line]) -> Callable[[], list[str]]:
    """From JSON lines to JSON lines."""
    data = "\n".join(json.dumps({"expression": text, "at": point}) for text, point in given).encode()
    return lambda: Worker(Settings()).run(Block(1, 1, None, "jsonl", data)).texts


# --- peers ------------------------------------------------------------------------------------------------------------


def by_torch(given: list[Line]) -> Callable[[], list[Any]]:
    """Python evaluates the text on tensors, then backward."""
    torch = peer("torch")
    torch.set_num_threads(1)

    def function(name: str) -> Callable[[Any], Any]:
        on_tensors, on_numbers = getattr(torch, name), getattr(math, name)
        return lambda x: on_tensors(x) if isinstance(x, torch.Tensor) else on_numbers(x)

    names = {name: function(name) for name in ("sqrt", "exp", "log", "sin", "cos", "tanh", "asin", "acos")}
    names |= {"pi": math.pi, "arcsin": names["asin"], "arccos": names["acos"]}

    def work() -> list[Any]:
        found = []
        for text, point in given:
            leaves = {n: torch.tensor(v, dtype=torch.float64, requires_grad=True) for n, v in point.items()}
            output = eval(text.replace("^", "**"), names, leaves)
            output.backward()
            found.append((output.item(), {n: 0.0 if x.grad is None else x.grad.item() for n, x in leaves.items()}))
        return found

    return work


def by_symengine(given: list[Line]) -> Callable[[], list[Any]]:
    """SymEngine reads the text, differentiates, and puts the values in."""
    symengine = peer("symengine")

    def work() -> list[Any]:
        found = []
        for text, point in given:
            term = symengine.sympify(text)
            values = {symengine.Symbol(name): value for name, value in point.items()}
            gradients = {name: float(term.diff(name).subs(values).n(real=True)) for name in point}
            found.append((float(term.subs(values).n(real=True)), gradients))
        return found

    return work


def by_sympy(given: list[Line]) -> Callable[[], list[Any]]:
    """SymPy parses the text, differentiates, and makes a function of the result.

    It keeps what it has seen, so that every call but the first has constants and points of its own.
    """
    sympy = peer("sympy")
    calls = itertools.chain([given], (lines(1, seed) for seed in itertools.count(2)))

    def work() -> list[Any]:
        found = []
        for text, point in next(calls):
            symbols = {name: sympy.Symbol(name) for name in point}
            term = sympy.parse_expr(text.replace("^", "**"), local_dict=symbols)
            terms = [term, *(sympy.diff(term, symbol) for symbol in symbols.values())]
            value, *gradients = sympy.lambdify(list(symbols.values()), terms, "math")(*point.values())
            found.append((float(value), dict(zip(symbols, map(float, gradients), strict=True))))
        return found

    return work


# --- a large table, and two processes ---------------------------------------------------------------------------------


def tables() -> Iterator[Result]:
    """One program for a million rows, against reading them with `csv` and writing lines alike without arithmetic."""
    draw = random.Random(2)
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "in.csv"), Path(folder, "out.jsonl")
        with path.open("w") as file:
            file.write("x,w\n")
            file.writelines(f"{draw.uniform(-3, 3)!r},{draw.uniform(-3, 3)!r}\n" for _ in range(ROWS))

        def mine() -> None:
            worker = Worker(Settings(expression=MODEL))
            with out.open("w") as file:
                for block in blocks([Source(str(path))], None, Pace(2**18), 2**24):
                    file.write("".join(worker.run(block).texts))

        def theirs() -> None:
            line = f'{{"id": %d, "expression": "{MODEL}", "output": "y", '
            line += '"value": %r, "gradients": {"x": %r, "w": %r}}\n'
            with path.open(newline="") as file, out.open("w") as written:
                rows = csv.reader(file)
                next(rows)
                for number, (x, w) in enumerate(rows, 2):
                    a, b = float(x), float(w)
                    written.write(line % (number, a, b, a))

        yield compare(f"batch: a table of {ROWS:,} rows", mine, theirs, 1.5, rounds=3)


def processes() -> Iterator[Result]:
    """--jobs 2 against one, where two cores are free."""
    if os.getloadavg()[0] > (os.cpu_count() or 1) - 1.5:
        yield Result("batch: --jobs 2 (not measured: no two cores are free)", "-", "-", math.nan, 1 / 1.7, later=True)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "in.jsonl")
        path.write_text("".join(json.dumps({"expression": t, "at": p}) + "\n" for t, p in lines(2000)))

        def work(jobs: int) -> Callable[[], Any]:
            words = [sys.executable, "-m", "chainrule", "batch", str(path), "-o", os.devnull, "--jobs", str(jobs)]
            return lambda: subprocess.run(words, check=True)

        yield compare("batch: 100,000 lines, --jobs 2 against 1", work(2), work(1), 1 / 1.7, rounds=3)

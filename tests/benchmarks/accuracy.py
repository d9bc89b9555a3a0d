"""The worst error of each function's derivative, side by side: `python tests/benchmarks/accuracy.py [NAME …]`.

In ulps, over the same points for chainrule, PyTorch, JAX and HIPS autograd (`pip install chainrule[bench]`; what is not
installed is left out). Points, truth and error are those of tests/accuracy.py. The table is Markdown, as the README has
it; inf stands for nan, or for an infinity where the derivative is finite; a dash for a function that a library lacks.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from harness import SkippedError, peer

import chainrule
from chainrule.ops import Op

BAR = 4  # ulp
Derivative = Callable[[Any], Any]  # of an array, elementwise


def measurement() -> Any:
    """tests/accuracy.py, which has the name of this file."""
    path = Path(__file__).parents[1] / "accuracy.py"
    spec = importlib.util.spec_from_file_location("measurement", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["measurement"] = module
    spec.loader.exec_module(module)
    return module


def named(op: Op, *places: str) -> Any:
    """The function of a library that has a row's name, or None; the one that means the same."""
    for place in places:
        for name in (op.name, *op.aliases):
            found = getattr(importlib.import_module(place), name, None)
            if callable(found):
                return found
    return None


def ours(op: Op) -> Derivative:
    def derivative(x: Any) -> Any:
        leaf = chainrule.tensor(x, requires_grad=True)
        op(leaf).backward(np.ones(len(x)))
        return leaf.grad.numpy()

    return derivative


def pytorch(op: Op) -> Derivative | None:
    torch = peer("torch")
    function = named(op, "torch", "torch.special", "torch.nn.functional")

    def derivative(x: Any) -> Any:
        leaf = torch.tensor(x, dtype=torch.float64, requires_grad=True)
        function(leaf).sum().backward()
        return leaf.grad.numpy()

    return function and derivative


def jax(op: Op) -> Derivative | None:
    peer("jax").config.update("jax_enable_x64", True)
    function = named(op, "jax.numpy", "jax.scipy.special", "jax.nn")
    if op.name == "gelu":  # the exact form, as everyone else's
        function = lambda x: importlib.import_module("jax.nn").gelu(x, approximate=False)
    return function and (lambda x: np.asarray(peer("jax").vmap(peer("jax").grad(function))(x)))


def hips(op: Op) -> Derivative | None:
    peer("autograd")
    function = named(op, "autograd.numpy", "autograd.scipy.special")
    return function and importlib.import_module("autograd").elementwise_grad(function)


LIBRARIES = {"chainrule": ours, "PyTorch": pytorch, "JAX": jax, "autograd": hips}


def worst(tests: Any, op: Op, drawn: list[tuple[float, ...]], library: Any) -> float | None:
    """A library's largest error in ulps, or None where it lacks the function."""
    try:
        derivative = library(op)
    except SkippedError:
        return None
    if derivative is None:
        return None
    with np.errstate(all="ignore"):
        try:
            found = derivative(np.array([x for (x,) in drawn]))
        except (NotImplementedError, TypeError):  # it has the function, and no derivative of it
            return None
    pairs = zip(drawn, found.tolist(), strict=True)
    return max(tests.error(op, (0,), xs, got, tests.function(op, (0,))(xs)) for xs, got in pairs)


def rows(tests: Any) -> Iterator[Op]:
    """The functions of one argument whose derivative is no constant."""
    for op in tests.rows().values():
        if op.public and op.arity == 1 and op.partials is not None and callable(op.partials[0]) and not op.level:
            yield op


def main(names: list[str]) -> None:
    """Print the table row by row, and at the end how many functions each library holds within the bar."""
    tests = measurement()
    within = dict.fromkeys(LIBRARIES, 0)
    known = dict.fromkeys(LIBRARIES, 0)
    print(f"| derivative of | {' | '.join(LIBRARIES)} |\n| --- |{' ---: |' * len(LIBRARIES)}")
    for op in rows(tests):
        if names and op.name not in names:
            continue
        drawn = [
            xs for xs in tests.points(op) if tests.regular(op, (0,), xs) and tests.function(op, (0,))(xs) is not None
        ]
        cells = []
        for name, library in LIBRARIES.items():
            error = worst(tests, op, drawn, library)
            cells.append("-" if error is None else text(error))
            within[name] += error is not None and error <= BAR
            known[name] += error is not None
        print(f"| {op.name} | {' | '.join(cells)} |", flush=True)
    print(f"| within {BAR} ulp | {' | '.join(f'{within[name]} of {known[name]}' for name in LIBRARIES)} |")


def text(error: float) -> str:
    """An error for people: 1.5, 230, 3e+07."""
    return f"{error:.1f}" if error < 100 else f"{error:.0e}" if math.isfinite(error) else "inf"


if __name__ == "__main__":
    main(sys.argv[1:])

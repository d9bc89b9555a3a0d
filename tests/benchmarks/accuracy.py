"""The worst error of each function's derivative, side by side: `python tests/benchmarks/accuracy.py [NAME …]`.

In ulps, over the same points for chainrule, PyTorch, JAX and HIPS autograd (`pip install chainrule[bench]`; what is not
installed is left out), all in doubles. Points, truth and error are those of tests/accuracy.py. Of a function of several
arguments it is the worst of its derivatives; of chainrule, the worse of arrays and plain numbers. The table is
Markdown, as the README has it; inf stands for nan, or for an infinity where the derivative is finite; a dash for a
function that a library lacks.
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
from chainrule.handbook import call_text
from chainrule.ops import Op

BAR = 4  # ulp
Derivatives = Callable[..., Any]  # of arrays, elementwise: one for each argument
OTHER_NAMES = {"lgamma": ("gammaln",), "pow": ("power",), "sigmoid": ("expit",)}


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
        for name in (op.name, *op.aliases, *OTHER_NAMES.get(op.name, ())):
            found = getattr(importlib.import_module(place), name, None)
            if callable(found):
                return found
    return None


def on_numbers(op: Op) -> Derivatives:
    program = chainrule.parse(call_text(op))

    def derivatives(*xs: Any) -> Any:
        found = [program.value_and_grad(dict(zip(op.inputs, at, strict=True)))[1] for at in np.transpose(xs).tolist()]
        return [np.array([gradients[name] for gradients in found]) for name in op.inputs]

    return derivatives


def on_arrays(op: Op) -> Derivatives:
    def derivatives(*xs: Any) -> Any:
        leaves = [chainrule.tensor(x, requires_grad=True) for x in xs]
        op(*leaves).backward(np.ones(len(xs[0])))
        return [leaf.grad.numpy() for leaf in leaves]

    return derivatives


def pytorch(op: Op) -> Derivatives | None:
    torch = peer("torch")
    function = named(op, "torch", "torch.special", "torch.nn.functional")

    def derivatives(*xs: Any) -> Any:
        leaves = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in xs]
        function(*leaves).sum().backward()
        return [leaf.grad.numpy() for leaf in leaves]

    return function and derivatives


def jax(op: Op) -> Derivatives | None:
    peer("jax").config.update("jax_enable_x64", True)
    function = named(op, "jax.numpy", "jax.scipy.special", "jax.nn")
    if op.name == "gelu":  # the exact form, as everyone else's
        function = lambda x: importlib.import_module("jax.nn").gelu(x, approximate=False)
    by_all = tuple(range(op.arity))
    return function and (lambda *xs: map(np.asarray, peer("jax").vmap(peer("jax").grad(function, by_all))(*xs)))


def hips(op: Op) -> Derivatives | None:
    gradient = peer("autograd").elementwise_grad
    function = named(op, "autograd.numpy", "autograd.scipy.special")
    return function and (lambda *xs: [gradient(function, i)(*xs) for i in range(op.arity)])


LIBRARIES = {"chainrule": (on_numbers, on_arrays), "PyTorch": (pytorch,), "JAX": (jax,), "autograd": (hips,)}


def worst(tests: Any, op: Op, drawn: list[tuple[float, ...]], library: Any) -> float | None:
    """The largest error of a library, used in one way, in ulps; None where it lacks the function."""
    try:
        derivatives = library(op)
    except SkippedError:
        return None
    if derivatives is None:
        return None
    with np.errstate(all="ignore"):
        try:
            found = list(derivatives(*map(np.array, zip(*drawn, strict=True))))
        except (NotImplementedError, TypeError):  # it has the function, and no derivative of it
            return None
    return max(
        tests.error(op, (i,), xs, got, true)
        for i, column in enumerate(found)
        for xs, got in zip(drawn, column.tolist(), strict=True)
        if tests.regular(op, (i,), xs) and (true := tests.function(op, (i,))(xs)) is not None
    )


def rows(tests: Any) -> Iterator[Op]:
    """The functions, and the power, whose derivatives are computed: neither constants nor one of the arguments."""
    for op in tests.rows().values():
        if op.public and any(map(callable, op.partials or ())) and not op.exact and (not op.level or op.name == "pow"):
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
        drawn = tests.points(op)
        cells = []
        for name, ways in LIBRARIES.items():
            errors = [error for way in ways if (error := worst(tests, op, drawn, way)) is not None]
            error = max(errors, default=None)
            cells.append("-" if error is None else text(error))
            within[name] += error is not None and error <= BAR
            known[name] += error is not None
        print(f"| {op.name} | {' | '.join(cells)} |", flush=True)
        tests.function.cache_clear()
    print(f"| within {BAR} ulp | {' | '.join(f'{within[name]} of {known[name]}' for name in LIBRARIES)} |")


def text(error: float) -> str:
    """An error for people: 1.5, 230, 3e+07."""
    return f"{error:.1f}" if error < 100 else f"{error:.0e}" if math.isfinite(error) else "inf"


if __name__ == "__main__":
    main(sys.argv[1:])

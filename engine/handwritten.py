"""A gradient function that a person wrote, against autograd on the function that it is the gradient of."""

from __future__ import annotations

import contextlib
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .cases import exactly
from .digits import Tape, precision
from .errors import ChainruleError
from .functional import grad
from .points import Point, drawn, simple
from .program import parse
from .recorded import called, parameters
from .tensors import Tensor, tensor
from .verify import Counterexample, Result

POINTS = 8
ATTEMPTS = 100
TOLERANCE = 1e-7  # relative; rounding is far below it, and a wrong term far above


def judge_function(
    function: Callable[..., Any], gradient: Callable[..., Any], items: Sequence[str] = ()
) -> list[Result]:
    """A verdict for each argument of `function` that has no default.

    `gradient` takes the same arguments, as numbers and NumPy arrays, and returns the gradients in their order (a single
    one bare), or a mapping by name. `items` are shapes (`x: 3`), values and assumptions. Raises `ChainruleError`.
    """
    taken, needed = parameters(function)
    if not needed:
        raise ChainruleError("value", f"{function.__name__} has no argument to differentiate by")
    behind = f" | {', '.join(items)}" if items else ""
    program = parse(f"f({', '.join(taken)}) = {taken[0]}{behind}")
    places = {program.names[name]: name for name in taken}
    fixed = {program.names[name]: exactly(value) for name, value in program.at.items()}
    shapes = {i: program.shapes.get(name, ()) for i, name in places.items() if name in needed}
    results = {name: Result(f"{gradient.__name__}: {name}", name, "undecided", []) for name in needed}
    reason = "no point was found where both functions give finite numbers"
    for point in _points(shapes, fixed, program):
        arguments = {places[i]: _plain(value) for i, value in point.items()}
        try:
            true, written = _true(function, arguments, needed), _written(gradient, arguments, needed)
        except ChainruleError as error:  # of the person's code at this point
            if error.kind != "file":
                raise
            reason = error.message
            continue
        for name, result in results.items():
            if result.verdict != "differs":
                _compare(result, true[name], written[name], {places[i]: value for i, value in point.items()})
        if all(r.verdict == "differs" or r.points >= POINTS for r in results.values()):
            break
    for result in results.values():
        if result.verdict == "undecided":
            result.reason = reason
    return list(results.values())


def _points(shapes: Mapping[int, tuple[int, ...]], fixed: Mapping[int, Any], program: Any) -> Iterator[Point]:
    simplest = itertools.islice(simple(shapes, fixed), 4)
    for point in itertools.chain(simplest, itertools.islice(drawn(shapes, {}, fixed), ATTEMPTS)):
        with precision(30):
            tape = Tape(program, program.assumptions, point)
            if all(np.all(np.asarray(tape.tape[i]) != 0) for i in program.assumptions):
                yield {i: point[i] for i in shapes} | dict(fixed)


def _plain(value: Any) -> Any:
    return np.asarray(value, dtype=float) if np.ndim(value) else float(value)


def _true(function: Callable[..., Any], arguments: Mapping[str, Any], needed: Sequence[str]) -> dict[str, Any]:
    """The gradients by autograd."""
    leaves = {name: tensor(arguments[name], requires_grad=True) for name in needed}
    with contextlib.redirect_stdout(sys.stderr):
        output = called(function, {**arguments, **leaves})
    if not isinstance(output, Tensor):
        raise ChainruleError("value", f"{function.__name__} returns {type(output).__name__}, which keeps no graph")
    found = grad(output, list(leaves.values()), materialize_grads=True)
    return {name: g.numpy() for name, g in zip(needed, found, strict=True) if g is not None}


def _written(gradient: Callable[..., Any], arguments: Mapping[str, Any], needed: Sequence[str]) -> dict[str, Any]:
    """The gradients that the person's function gives."""
    with contextlib.redirect_stdout(sys.stderr):
        given = called(gradient, {name: np.array(v) if np.ndim(v) else v for name, v in arguments.items()})
    if isinstance(given, Mapping):
        missing = [name for name in needed if name not in given]
        if missing:
            raise ChainruleError("value", f"{gradient.__name__} returns no gradient for {', '.join(missing)}")
        return {name: np.asarray(given[name], dtype=float) for name in needed}
    several = isinstance(given, tuple) or (isinstance(given, list) and len(needed) > 1)
    parts = given if several else [given]
    if len(parts) != len(needed):
        raise ChainruleError(
            "value",
            f"{gradient.__name__} returns {_count(parts)} for the arguments {', '.join(needed)}",
            hint="return one for each argument, in their order, or a mapping by name",
        )
    return {name: np.asarray(g, dtype=float) for name, g in zip(needed, parts, strict=True)}


def _count(parts: Sequence[Any]) -> str:
    return "one gradient" if len(parts) == 1 else f"{len(parts)} gradients"


def _compare(result: Result, true: Any, written: Any, point: Mapping[str, Any]) -> None:
    if true.shape != written.shape:
        raise ChainruleError("shape", f"{result.claim} has shape {written.shape}, the argument {true.shape}")
    if not np.all(np.isfinite(true)):
        return
    scale = np.maximum(np.abs(true), np.abs(written)) + 1e-3 * (np.max(np.abs(true), initial=0.0))
    wrong = ~(np.abs(true - written) <= TOLERANCE * scale)
    result.points += 1
    if not np.any(wrong):
        result.verdict = "agrees"
        return
    index = tuple(map(int, np.argwhere(wrong)[0]))
    result.verdict = "differs"
    result.counterexample = Counterexample(dict(point), index, float(true[index]), float(written[index]))

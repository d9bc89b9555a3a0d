"""SymPy in a process of its own, where it can be stopped: it can hang on an innocent expression.

The process reads one request, a line of JSON, and answers with a line for each result as it finds them, values before
formulas, so that what was found before the limit is kept. `symbolic_results` is the side that asks.
"""

from __future__ import annotations

import contextlib
import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .graph import Graph, Value
from .higher import Derivative
from .program import parse

MAX_NODES = 5_000
MAX_ELEMENTS = 64


@dataclass
class Found:
    """What SymPy found for one derivative: its formula, and its value to 30 digits; None for nothing."""

    formula: str | None = None
    value: str | None = None


@dataclass
class Answer:
    """What SymPy found for each derivative, and why something is missing (None where nothing is)."""

    found: list[Found]
    reason: str | None = None


def symbolic_results(
    graph: Graph,
    shapes: Mapping[str, tuple[int, ...]],
    wanted: Sequence[Derivative],
    point: Mapping[str, Value] | None,
    cotangent: Value | None,
    timeout: float,
) -> Answer:
    """SymPy's formulas and values of the `wanted` derivatives, found within `timeout` seconds.

    Without a `point` only formulas are found. The graph must have been parsed from its `source`.
    """
    answer = Answer([Found() for _ in wanted])
    count = sum(not node.constant for node in graph.nodes)
    if count > MAX_NODES:
        answer.reason = f"too large for SymPy ({count:,} nodes; the limit is {MAX_NODES:,})"
        return answer
    if len(wanted) > MAX_ELEMENTS:
        answer.reason = f"too large for SymPy ({len(wanted):,} derivatives; the limit is {MAX_ELEMENTS})"
        return answer
    request = {
        "source": graph.source,
        "names": graph.inputs,
        "seed": graph.seed[0],
        "dtype": None if graph.dtype is None else np.dtype(graph.dtype).name,
        "output": graph.nodes[graph.output].name,
        "shapes": {name: list(shape) for name, shape in shapes.items()},
        "wanted": [{"of": d.of, "by": d.by} for d in wanted],
        "point": None if point is None else {name: np.asarray(value).tolist() for name, value in point.items()},
        "cotangent": None if cotangent is None else np.asarray(cotangent).tolist(),
    }
    for line in _ask(json.dumps(request), timeout):
        if isinstance(line, str):
            answer.reason = line
        elif "reason" in line:
            answer.reason = line["reason"]
        else:
            found = answer.found[line["place"]]
            found.formula = line.get("formula", found.formula)
            found.value = line.get("value", found.value)
    return answer


def _ask(request: str, timeout: float) -> Iterator[dict[str, Any] | str]:
    """The answers to a request as they come; at the limit the process is killed and the reason is the last one."""
    process = subprocess.Popen(
        [sys.executable, "-m", __spec__.name], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdin is not None
    assert process.stdout is not None
    lines: queue.Queue[bytes] = queue.Queue()
    stdout = process.stdout

    def read() -> None:
        for line in stdout:
            lines.put(line)
        lines.put(b"")

    threading.Thread(target=read, daemon=True).start()
    deadline = time.monotonic() + timeout
    try:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(request.encode() + b"\n")
            process.stdin.close()
        while True:
            try:
                line = lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                yield f"SymPy took longer than {timeout:g} s"
                return
            if not line:
                if process.wait():
                    yield "SymPy's process ended early"
                return
            yield json.loads(line)
    finally:
        process.kill()
        process.wait()
        stdout.close()


# --- the other side ---------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer the request on standard input."""
    request = json.loads(sys.stdin.readline())
    for part in (_values, _formulas):
        try:
            for answer in part(request):
                print(json.dumps(answer), flush=True)
        except RecursionError:
            print(json.dumps({"reason": "nested too deeply for SymPy"}), flush=True)
        except Exception as error:  # SymPy's own: whatever it is, it is the reason that there is no check
            text = getattr(error, "message", str(error)).partition("\n")[0] or type(error).__name__
            print(json.dumps({"reason": f"SymPy cannot treat this: {text[:120]}"}), flush=True)


def _lowered(request: dict[str, Any], *, doubles: bool) -> tuple[dict[str, Any], list[Any]]:
    """The symbols of each input, and the derivatives' terms."""
    from . import symbolic

    graph = parse(request["source"], names=request["names"], seed=request["seed"], dtype=request["dtype"])
    if request["output"] is not None:
        graph.select(request["output"])
    shapes = {name: tuple(shape) for name, shape in request["shapes"].items()}
    result, symbols = symbolic.lower(graph, shapes, doubles=doubles)
    cotangent = None if request["cotangent"] is None else np.asarray(request["cotangent"])
    known: dict[Any, Any] = {}  # a gradient is the start of many second derivatives
    terms = []
    for wanted in request["wanted"]:
        of = None if wanted["of"] is None else tuple(wanted["of"])
        path: tuple[Any, ...] = (of,)
        if path not in known:
            known[path] = symbolic.total(result, cotangent) if of is None else np.asarray(result, dtype=object)[of]
        for name, index in wanted["by"]:
            before, path = path, (*path, (name, tuple(index)))
            if path not in known:
                if name in symbols:
                    symbol = symbols[name][tuple(index)] if index else symbols[name]
                    known[path] = symbolic.derivative(known[before], symbol)
                else:  # an input that the output does not depend on
                    known[path] = known[before] * 0
        terms.append(known[path])
    return symbols, terms


def _values(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The derivatives' values at the point, for the doubles that the engine computed with."""
    from . import symbolic

    if request["point"] is None:
        return
    symbols, terms = _lowered(request, doubles=True)
    point = {}
    for name, symbol in symbols.items():
        values = np.asarray(request["point"][name], dtype=float)
        for index in np.ndindex(np.shape(symbol)):
            point[symbol[index] if index else symbol] = symbolic.as_double(values[index])
    for place, term in enumerate(terms):
        value = symbolic.value_at(term, point)
        yield {"place": place, "value": None if value is None else str(value)}


def _formulas(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The derivatives' formulas, as they come and then simplified."""
    from . import symbolic

    _, terms = _lowered(request, doubles=False)
    for place, term in enumerate(terms):
        yield {"place": place, "formula": symbolic.formula_text(term)}
    for place, term in enumerate(terms):
        yield {"place": place, "formula": symbolic.formula_text(symbolic.simplest(term))}


if __name__ == "__main__":
    serve()

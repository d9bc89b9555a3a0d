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
from .program import parse

MAX_NODES = 5_000
MAX_ELEMENTS = 64
Element = tuple[str, tuple[int, ...]]  # an input's name, and the index of one of its elements


@dataclass
class Found:
    """What SymPy found for one element: the derivative's formula, and its value to 30 digits; None for nothing."""

    formula: str | None = None
    value: str | None = None


@dataclass
class Answer:
    """All that SymPy found, and why something is missing (None where nothing is)."""

    elements: dict[Element, Found]
    reason: str | None = None


def symbolic_results(
    graph: Graph,
    shapes: Mapping[str, tuple[int, ...]],
    wrt: Sequence[str],
    point: Mapping[str, Value] | None,
    cotangent: Value | None,
    timeout: float,
) -> Answer:
    """SymPy's derivatives of the output for each element of the inputs `wrt`, found within `timeout` seconds.

    Without a `point` only formulas are found. The graph must have been parsed from its `source`.
    """
    elements: dict[Element, Found] = {
        (name, index): Found() for name in wrt for index in np.ndindex(shapes.get(name, ()))
    }
    count = sum(not node.constant for node in graph.nodes)
    if count > MAX_NODES:
        return Answer(elements, f"too large for SymPy ({count:,} nodes; the limit is {MAX_NODES:,})")
    if len(elements) > MAX_ELEMENTS:
        return Answer(elements, f"too large for SymPy ({len(elements):,} elements; the limit is {MAX_ELEMENTS})")
    request = {
        "source": graph.source,
        "names": graph.inputs,
        "seed": graph.seed,
        "output": graph.nodes[graph.output].name,
        "shapes": {name: list(shape) for name, shape in shapes.items()},
        "wrt": list(wrt),
        "point": None if point is None else {name: np.asarray(value).tolist() for name, value in point.items()},
        "cotangent": None if cotangent is None else np.asarray(cotangent).tolist(),
    }
    reason = None
    for line in _ask(json.dumps(request), timeout):
        if isinstance(line, str):
            reason = line
        elif "reason" in line:
            reason = line["reason"]
        else:
            found = elements[(line["name"], tuple(line["index"]))]
            found.formula = line.get("formula", found.formula)
            found.value = line.get("value", found.value)
    return Answer(elements, reason)


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
            text = str(error).splitlines()[0] if str(error) else type(error).__name__
            print(json.dumps({"reason": f"SymPy cannot treat this: {text[:120]}"}), flush=True)


def _lowered(request: dict[str, Any], *, doubles: bool) -> tuple[Any, dict[str, Any], list[tuple[str, Any, Any]]]:
    """The scalar to differentiate, the symbols of each input, and the elements to differentiate by."""
    from . import symbolic

    graph = parse(request["source"], names=request["names"], seed=request["seed"])
    if request["output"] is not None:
        graph.select(request["output"])
    shapes = {name: tuple(shape) for name, shape in request["shapes"].items()}
    result, symbols = symbolic.lower(graph, shapes, doubles=doubles)
    cotangent = None if request["cotangent"] is None else np.asarray(request["cotangent"])
    elements = [
        (name, index, symbols[name][index] if index else symbols[name])
        for name in request["wrt"]
        if name in symbols
        for index in np.ndindex(np.shape(symbols[name]))
    ]
    return symbolic.total(result, cotangent), symbols, elements


def _values(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The derivatives' values at the point, for the doubles that the engine computed with."""
    from . import symbolic

    if request["point"] is None:
        return
    expression, symbols, elements = _lowered(request, doubles=True)
    point = {}
    for name, symbol in symbols.items():
        values = np.asarray(request["point"][name], dtype=float)
        for index in np.ndindex(np.shape(symbol)):
            point[symbol[index] if index else symbol] = symbolic.as_double(values[index])
    for name, index, symbol in elements:
        value = symbolic.value_at(symbolic.derivative(expression, symbol), point)
        yield {"name": name, "index": index, "value": None if value is None else str(value)}


def _formulas(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The derivatives' formulas, as they come and then simplified."""
    from . import symbolic

    expression, _, elements = _lowered(request, doubles=False)
    rough = [(name, index, symbolic.derivative(expression, symbol)) for name, index, symbol in elements]
    for name, index, found in rough:
        yield {"name": name, "index": index, "formula": symbolic.formula_text(found)}
    for name, index, found in rough:
        yield {"name": name, "index": index, "formula": symbolic.formula_text(symbolic.simplest(found))}


if __name__ == "__main__":
    serve()

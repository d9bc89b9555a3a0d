"""SymPy in a process of its own, where it can be stopped: it can hang on an innocent expression.

The process reads requests, a line of JSON each, and answers with a line for each result as it finds them, values before
formulas, so that what was found before the limit is kept. `symbolic_results` is the side that asks.
"""

from __future__ import annotations

import atexit
import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .child import Child
from .errors import ChainruleError
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
    substitutions: Mapping[str, Value] | None = None,
) -> Answer:
    """SymPy's formulas and values of the `wanted` derivatives, found within `timeout` seconds.

    Without a `point` only formulas are found, with the values `substitutions` in the place of their inputs. The graph
    must have been parsed from its `source`.
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
        "substitutions": {name: np.asarray(value).tolist() for name, value in (substitutions or {}).items()},
    }
    for line in _ask(request, timeout):
        if isinstance(line, str):
            answer.reason = line
        elif "reason" in line:
            answer.reason = line["reason"]
        else:
            found = answer.found[line["place"]]
            found.formula = line.get("formula", found.formula)
            found.value = line.get("value", found.value)
    return answer


def rendered(
    texts: Sequence[str],
    names: Sequence[str],
    form: str,
    shape: Sequence[int],
    labels: Sequence[Any],
    timeout: float,
    *,
    evaluate: bool,
) -> list[str]:
    """Formulas of the language as LaTeX, MathML or in two dimensions; for `shape` and `labels` see `symbolic.shown`.

    `names` are the inputs. With `evaluate` SymPy orders terms as it likes. Raises `ChainruleError` (kind `limit`).
    """
    request = {"render": texts, "names": names, "form": form, "shape": shape, "labels": labels, "evaluate": evaluate}
    found = []
    for line in _ask(request, timeout):
        reason = line if isinstance(line, str) else line.get("reason")
        if reason is not None:
            raise ChainruleError("limit", str(reason), hint="--format text --no-simplify needs no SymPy")
        found.append(line["text"])  # type: ignore[index]
    return found


class _Sympy(threading.local):
    """The process of a thread, kept for the next request: SymPy takes long to import."""

    def __init__(self) -> None:
        self.child = Child(__spec__.name)


_sympy = _Sympy()
atexit.register(lambda: _sympy.child.stop())


def _ask(request: dict[str, Any], timeout: float) -> Iterator[dict[str, Any] | str]:
    """The answers to a request as they come; at the limit the process is killed and the reason is the last one."""
    child = _sympy.child
    finished = False
    try:
        child.ask(request)
        deadline = time.monotonic() + timeout
        while not finished:
            answer = child.answer(deadline - time.monotonic())
            if answer is None:
                yield "SymPy's process ended early"
                return
            finished = "finished" in answer
            if not finished:
                yield answer
    except TimeoutError:
        yield f"SymPy took longer than {timeout:g} s"
    finally:
        if not finished:
            child.stop()


# --- the other side ---------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer the requests on standard input, each with lines of which the last says that it is finished."""
    for line in sys.stdin:
        _answer(json.loads(line))
        print(json.dumps({"finished": True}), flush=True)


def _answer(request: dict[str, Any]) -> None:
    for part in (_rendered,) if "render" in request else (_values, _formulas):
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

    symbols, terms = _lowered(request, doubles=False)
    known = {}
    for name, given in request["substitutions"].items():
        for index in np.ndindex(np.shape(given)) if name in symbols else ():
            known[symbols[name][index] if index else symbols[name]] = symbolic.exact(np.asarray(given)[index])
    terms = [term.subs(known) for term in terms] if known else terms
    for place, term in enumerate(terms):
        yield {"place": place, "formula": symbolic.formula_text(term)}
    for place, term in enumerate(terms):
        yield {"place": place, "formula": symbolic.formula_text(symbolic.simplest(term))}


def _rendered(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Formulas in another form."""
    from . import symbolic

    terms = [symbolic.as_written(text, request["names"], evaluate=request["evaluate"]) for text in request["render"]]
    for text in symbolic.shown(terms, request["form"], request["shape"], request["labels"]):
        yield {"text": text}


if __name__ == "__main__":
    serve()

"""Blocks of claims verified in processes of their own, which are warm, and are killed at a limit.

A process reads a request, a line of JSON, and answers with a line for each claim as soon as numbers have decided it,
then with one for SymPy's proof; so what is known is kept when a proof takes too long. `verified` is the side that asks:
results come in the order of the requests, as objects ready for JSON.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from .child import Child
from .errors import ChainruleError

if TYPE_CHECKING:
    from .cases import Case
    from .points import Point
    from .regions import Region

NUMBERS_LIMIT = 60.0  # seconds that the numeric part of one claim may take

Request = dict[str, Any]  # source, claims, items, seed; timeout: the seconds for each proof


class Verifier:
    """A process that verifies blocks."""

    def __init__(self) -> None:
        self.child = Child(__spec__.name)
        self.failure = ""  # why the process was given up last
        self.closed = False

    def close(self) -> None:
        """Kill the process for good; what waits for it gets an error."""
        self.closed = True
        self._stop("it was interrupted")

    def _stop(self, failure: str) -> None:
        self.failure = failure
        self.child.stop()

    def verify(self, request: Request) -> dict[str, Any]:
        """The results of a block: `{"claims": [...]}`, or `{"error": ...}` where it cannot be read."""
        texts: list[str] = []
        results: list[dict[str, Any]] = []
        while not texts or len(results) < len(texts):
            proving = False
            for answer in self._answers({**request, "skip": len(results)}):
                if "claim" in answer:
                    results.append(answer)
                elif "error" in answer:
                    return answer
                elif "texts" in answer:
                    texts = answer["texts"]
                else:
                    proving = "proving" in answer
                    results[-1]["timed_out"] = proving
                    if answer.get("proved"):
                        results[-1]["verdict"] = "proved"
            if self.closed or not texts:
                return {"error": {"kind": "limit", "message": self.failure}}
            if not proving and len(results) < len(texts):  # the claim that was looked at
                results.append(_unknown(texts[len(results)], self.failure))
        return {"claims": results}

    def _answers(self, request: Request) -> Iterator[dict[str, Any]]:
        """The answers to a request as they come; the process is given up where one takes too long."""
        if self.closed:
            return
        self.child.ask(request)
        limit = NUMBERS_LIMIT
        while True:
            try:
                answer = self.child.answer(limit)
            except TimeoutError:
                self._stop(f"it took longer than {limit:g} s")
                return
            if answer is None:
                self._stop("the process that verifies ended early")
                return
            if "done" in answer:
                return
            limit = request["timeout"] if "proving" in answer else NUMBERS_LIMIT
            yield answer


def _unknown(text: str, reason: str) -> dict[str, Any]:
    """The record of a claim that nothing is known of."""
    return {"claim": text, "wrt": "", "verdict": "undecided", "where": None, "counterexample": None, "hint": None,
            "reason": reason, "points": 0, "timed_out": True}  # fmt: skip


def verified(requests: Iterable[Request], jobs: int = 1) -> Iterator[dict[str, Any]]:
    """The results of all requests, in their order, by `jobs` processes; each request is only taken when it is due."""
    free: queue.SimpleQueue[Verifier] = queue.SimpleQueue()
    every = [Verifier() for _ in range(jobs)]
    for verifier in every:
        free.put(verifier)

    def work(request: Request) -> dict[str, Any]:
        if "given" in request:  # known already, and keeps its place in the order
            known: dict[str, Any] = request["given"]
            return known
        verifier = free.get()
        try:
            return verifier.verify(request)
        finally:
            free.put(verifier)

    waiting: deque[Future[dict[str, Any]]] = deque()
    pool = ThreadPoolExecutor(jobs)
    try:
        every[0].child.start()
        for request in requests:
            waiting.append(pool.submit(work, request))
            while len(waiting) >= 4 * jobs or (waiting and waiting[0].done()):
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for verifier in every:
            verifier.close()
        pool.shutdown(wait=False, cancel_futures=True)


# --- the other side ---------------------------------------------------------------------------------------------------


def serve() -> None:
    """Answer requests from standard input; when it ends, whoever asked is gone, and so is the process."""
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()

    def listen() -> None:
        for line in sys.stdin:
            requests.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        try:
            _answer(json.loads(requests.get()))
        except ChainruleError as error:
            _say({"error": error_record(error)})
        except Exception as error:
            _say({"error": _internal(error)})


def _internal(error: Exception) -> dict[str, Any]:
    return {"kind": "internal", "message": f"this should be reported: {type(error).__name__}: {error}"[:300]}


def _say(answer: dict[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def _answer(request: Request) -> None:
    from .cases import Case
    from .claims import read_block
    from .regions import Region
    from .verify import as_record, judge

    block = read_block(
        request["source"], claims=request["claims"], items=request.get("items", ()), seed=request.get("seed", 0)
    )
    _say({"texts": block.texts})
    for text, claim in list(zip(block.texts, block.claims, strict=True))[request["skip"] :]:
        try:
            if isinstance(claim, ChainruleError):
                raise claim
            case = Case(claim)
            region = Region(case)
            result = judge(case, region)
        except ChainruleError as error:
            _say({"claim": text, "error": error_record(error)})
            continue
        except Exception as error:
            _say({"claim": text, "error": _internal(error)})
            continue
        _say(as_record(result))
        if result.verdict == "agrees" and request["timeout"] > 0:
            from . import proofs  # noqa: F401  (loading SymPy is not to count)

            _say({"proving": True})
            _say({"proved": _proved(case, region, result.equal)})
    _say({"done": True})


def _proved(case: Case, region: Region, points: list[Point]) -> bool:
    from .proofs import proves

    nodes = case.graph.nodes
    named = {i: nodes[i].name or "" for i in case.shapes}
    shapes = {named[i]: shape for i, shape in case.shapes.items()}
    bounds = {named[i]: b for i, b in region.for_drawing().items() if i in named}
    try:
        fixed = {named[i]: v for i, v in case.fixed.items()}
        return proves(case.claim, shapes, bounds, fixed, [{named[i]: v for i, v in p.items()} for p in points])
    except Exception:  # SymPy's own, whatever it is: there is no proof then
        return False


def error_record(error: ChainruleError) -> dict[str, Any]:
    """An error as the JSON of results has it, with its source and spans for the caret."""
    place = error.place
    record: dict[str, Any] = {"kind": error.kind, "message": error.message, "hint": error.hint}
    if place is not None:
        record |= {"line": place.line, "column": place.column}
    return record | {"source": error.source, "spans": [list(span) for span in error.spans]}


if __name__ == "__main__":
    serve()

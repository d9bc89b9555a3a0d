"""Backward: the graph that Tensors recorded, walked from outputs to leaves.

Each operation on a Tensor that requires a gradient leaves a `Function`: its rule, what the rule needs, and edges to the
Functions of its inputs. A leaf's edge ends in `AccumulateGrad`. Backward visits every Function once, the youngest
first: an operation is younger than its inputs, so by then all its cotangents have arrived.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from heapq import heapify, heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .errors import ChainruleError
from .evaluate import cotangent_of, scalar_cotangent
from .modes import anomaly, users_line, watch
from .ops import Op, Traced, shape_text
from .ops.base import PLAIN, all_finite, chain, quiet, quietly

if TYPE_CHECKING:
    from .tensors import Tensor


class _Clock:
    """The order of what happens, counted down, so that a heap has the youngest on top."""

    now = count(-1, -1).__next__
    changed = 0  # when a tensor was modified in place last

    def note_change(self) -> None:
        """Something is modified in place now: what was recorded before must look whether it saved that."""
        self.changed = self.now()


clock = _Clock()
DOUBLE = np.dtype(float)
Hook = Callable[["Tensor"], "Tensor | None"]
# The values that an edge belongs to were modified in place: their version, where, and by the function of which name.
Change = tuple[int, str | None, str | None] | None


class Extras:
    """What few functions have: kept apart, so that all others are small and quickly made.

    given       the inputs themselves, where their values do not do
    hooks       what is called with the cotangent
    post_hooks  of a leaf: what is called when its `grad` has been added to
    retain      the tensor that asked to keep the cotangent
    changed     that the output was modified in place
    versions    how often the inputs were modified in place when they were saved, where any was; None for one that
                nothing can modify
    made_at     the user's line, with `detect_anomaly`
    """

    __slots__ = ("changed", "given", "hooks", "made_at", "post_hooks", "retain", "versions")

    def __init__(self) -> None:
        self.given: tuple[Any, ...] | None = None
        self.hooks: list[Hook] | None = None
        self.post_hooks: list[Callable[[Tensor], None]] | None = None
        self.retain: weakref.ref[Tensor] | None = None
        self.changed: Change = None
        self.versions: list[int | None] | None = None
        self.made_at: str | None = None


NO_EXTRAS = Extras()  # of all functions that have none; never written to


class _WithExtras:
    __slots__ = ("extras",)
    extras: Extras

    def own_extras(self) -> Extras:
        """Its extras, to be written to."""
        if self.extras is NO_EXTRAS:
            self.extras = Extras()
        return self.extras


class Function(_WithExtras):
    """One operation of the recorded graph: the graph's node on the way back.

    It saves the values of its inputs: edges know the rest, and what nobody holds any more is gone, which keeps long
    recordings small. Only where a gradient flows to some of its Tensors and not to others it keeps them all.
    """

    __slots__ = ("_name", "edges", "op", "output", "rank", "saved")

    def __init__(self, op: Op, saved: tuple[Any, ...], edges: tuple[Edge, ...], output: Any, name: str) -> None:
        self.op = op
        self.saved: tuple[Any, ...] | None = saved  # the values of the inputs; None once they were let go
        self.edges = edges
        self.output = output
        self.rank = clock.now()
        self.extras = NO_EXTRAS
        self._name = name

    def name(self) -> str:
        """PyTorch's name of it: MulBackward0."""
        return self._name

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The inputs: values where a gradient flows, else what was given; none once they were let go."""
        return self.extras.given or self.saved or ()

    @property
    def next_functions(self) -> tuple[tuple[Edge, int], ...]:
        """Its edges, as PyTorch has them: (function, 0) for each input, (None, 0) where nothing flows."""
        return tuple((edge, 0) for edge in self.edges)

    def target(self) -> Tensor | None:
        """The tensor that keeps the cotangent, if one asked to (`retain_grad`) and still lives."""
        retain = self.extras.retain
        return None if retain is None else retain()

    def __repr__(self) -> str:
        return f"<{self.name()} object>"


class AccumulateGrad(_WithExtras):
    """The end of an edge at a leaf: what arrives is added to the leaf's `grad`."""

    __slots__ = ("_variable", "rank")

    def __init__(self, variable: Tensor) -> None:
        self._variable = weakref.ref(variable)
        self.rank = clock.now()
        self.extras = NO_EXTRAS

    @property
    def variable(self) -> Tensor | None:
        """The leaf; None when it is gone."""
        return self._variable()

    def name(self) -> str:
        """PyTorch's name of it."""
        return "AccumulateGrad"

    @property
    def next_functions(self) -> tuple[()]:
        """Nothing: a leaf has no inputs."""
        return ()

    def target(self) -> Tensor | None:
        """The leaf."""
        return self._variable()

    def __repr__(self) -> str:
        return "<AccumulateGrad object>"


Edge = Function | AccumulateGrad | None
Wrap = Callable[[Any, Edge], Any]


class Flow(NamedTuple):
    """What backward sent along one edge, for `watch_backward`.

    function   the function whose rule ran
    argument   for which of its inputs
    cotangent  what had arrived at the function
    product    what the rule made of it: the cotangent of the input
    total      what had arrived at the input by then, this included
    """

    function: Function
    argument: int
    cotangent: Any
    product: Any
    total: Any


def reachable(roots: Iterable[Edge]) -> list[Function | AccumulateGrad]:
    """All functions below `roots`, the youngest first: an order in which every one comes before its inputs."""
    seen = {root for root in roots if root is not None}
    found = list(seen)
    for function in found:  # grows while it is read
        if type(function) is Function:
            for edge in function.edges:
                if edge is not None and edge not in seen:
                    seen.add(edge)
                    found.append(edge)
    found.sort(key=operator.attrgetter("rank"))
    return found


def leading_to(order: Sequence[Function | AccumulateGrad], ends: Collection[Edge]) -> set[Function | AccumulateGrad]:
    """Those functions of `order` from which one of `ends` can be reached."""
    needed: set[Function | AccumulateGrad] = set()
    for function in reversed(order):
        if function in ends or (type(function) is Function and any(edge in needed for edge in function.edges)):
            needed.add(function)
    return needed


def run_backward(
    starts: Sequence[tuple[Edge, Any]],
    wrap: Wrap,
    *,
    retain_graph: bool,
    create_graph: bool,
    ends: Collection[Edge] | None = None,
    accumulate: bool = True,
) -> dict[Edge, Any]:
    """Carry cotangents from `starts`, pairs of a function and the cotangent of its output, towards the leaves.

    `wrap` makes a Tensor of values and the function that made them. A cotangent is a number, an array, or with
    `create_graph` a Tensor. With `ends` only what leads to them is visited,
    and their cotangents are returned. With `accumulate` what arrives at leaves (and at tensors that retain their
    gradient) is added to their `grad`. Without `retain_graph` what the functions saved is let go.
    Raises `ChainruleError` of kind `grad`.
    """
    needed = None if ends is None else leading_to(reachable(edge for edge, _ in starts), ends)
    swept = None
    if not (create_graph or anomaly.enabled or watch.flows is not None):
        swept = quiet().run(_sweep, starts, ends, needed, None, create_graph)
    if swept is None:
        with quietly():
            swept = _sweep(starts, ends, needed, wrap, create_graph)
            assert swept is not None
    found, visited = swept
    if accumulate:
        for edge, g in found.items():
            if type(edge) is AccumulateGrad or edge.extras.retain is not None:
                _keep(edge, g, wrap)
    if not retain_graph:
        for function in visited:
            if not function.op.saves_nothing:
                function.saved = function.output = None
                if function.extras is not NO_EXTRAS:
                    function.extras.given = None
    return found


def _sweep(
    starts: Sequence[tuple[Edge, Any]],
    ends: Collection[Edge] | None,
    needed: set[Function | AccumulateGrad] | None,
    wrap: Wrap | None,
    create_graph: bool,
) -> tuple[dict[Any, Any], list[Function]] | None:
    """The cotangents of leaves, of `ends` and of tensors that retain theirs, and the functions that were visited.

    Without `wrap` it takes it that no product is 0 times something that is not finite, the zero-cotangent rule's case:
    nan would show in what it found. There, and where a hook wants to be called, it gives None: try again with `wrap`.
    """
    arrived: dict[int, tuple[Any, Any]] = {}  # by rank: a function, and the cotangent of its output so far
    for edge, g in starts:
        if edge is not None and (needed is None or edge in needed):
            arrived[edge.rank] = edge, arrived[edge.rank][1] + g if edge.rank in arrived else g
    waiting = list(arrived)  # a heap of ranks, the youngest on top
    heapify(waiting)
    found: dict[Any, Any] = {}
    visited: list[Function] = []
    product = operator.mul if wrap is None else chain
    recording = wrap if create_graph else None
    unchanged = clock.changed if recording is None else -math.inf  # what is of a lower rank may be used as it is
    while waiting:
        function, g = arrived.pop(heappop(waiting))
        if function.extras is not NO_EXTRAS:
            if function.extras.hooks is not None:
                if wrap is None:
                    return None
                g = _through_hooks(function.extras.hooks, g, wrap, create_graph)
            if function.extras.retain is not None:
                found[function] = g
        if type(function) is AccumulateGrad:
            found[function] = g
            continue
        edges: Sequence[Edge] = function.edges
        if ends is not None and needed is not None:
            if function in ends:
                found[function] = g
            edges = [edge if edge in needed else None for edge in edges]
            if not any(edges):
                continue  # an end: what is below it is not asked for, and keeps what it saved
        visited.append(function)
        op, y, xs = function.op, function.output, function.saved
        if xs is None or function.rank > unchanged:
            y, xs = _saved_values(function, recording)
        plain = type(g) is float and type(y) is float and PLAIN.issuperset(map(type, xs))
        for n, edge in enumerate(edges):
            if edge is None:
                continue
            c = scalar_cotangent(op, n, g, y, xs) if plain else cotangent_of(op, n, g, y, xs, product)
            if c is None:
                continue
            rank = edge.rank
            if rank in arrived:
                total = arrived[rank][1] + c
            else:
                total = c
                heappush(waiting, rank)
            arrived[rank] = edge, total
            if wrap is not None:
                _watch(function, n, g, c, total)
    if wrap is None and not all(map(all_finite, found.values())):
        return None
    return found, visited


def _saved_values(function: Function, recording: Wrap | None) -> tuple[Any, Any]:
    """The output and the inputs for a function's rules: values, or Tensors where what the rules do is recorded."""
    xs = function.saved
    if xs is None:
        raise ChainruleError(
            "grad",
            "Trying to backward through the graph a second time",
            hint="what it saved was let go; call the first backward with retain_graph=True",
        )
    if function.rank > clock.changed:
        _check_versions(function)
    if recording is None:
        return function.output, xs
    wrapped = [
        v if edge is None else recording(x, edge)
        for v, x, edge in zip(function.inputs, xs, function.edges, strict=True)
    ]
    return recording(function.output, function), wrapped


def _watch(function: Function, n: int, g: Any, c: Any, total: Any) -> None:
    """Show what goes along an edge to those who asked: `detect_anomaly`, `watch_backward`."""
    if anomaly.enabled:
        _check_finite(function, n, c)
    if watch.flows is not None:
        watch.flows.append(Flow(function, n, g, c, total))


def _keep(function: Function | AccumulateGrad, g: Any, wrap: Wrap) -> None:
    """Add a cotangent to the `grad` of the tensor that wants it."""
    target = function.target()
    if target is None:
        return
    add_to_grad(target, g, wrap)
    for hook in list(function.extras.post_hooks or ()):
        hook(target)


def add_to_grad(target: Tensor, g: Any, wrap: Wrap) -> None:
    """Add a cotangent to a tensor's `grad`, in its own type; a plain gradient that is there stays the same object."""
    before: Any = target._grad
    if isinstance(g, Traced):
        made: Any = g
        target._grad = made if before is None else before + g
    elif before is None:
        target._grad = wrap(of_type(g, target._data), None)
    elif before.requires_grad:
        target._grad = before + wrap(g, None)
    else:
        before._data = of_type(before._data + g, target._data)


def of_type(g: Any, data: Any) -> Any:
    """A cotangent in the number type of the data it belongs to; a Python float is a double."""
    wanted = getattr(data, "dtype", DOUBLE)
    given = getattr(g, "dtype", DOUBLE)
    if given == wanted:
        return g
    if wanted is DOUBLE and not np.shape(g):
        return float(g)
    return np.asarray(g, dtype=wanted)[()]


def _through_hooks(hooks: list[Hook], g: Any, wrap: Wrap, create_graph: bool) -> Any:
    """The cotangent after the hooks, each of which may replace it."""
    current: Any = g if isinstance(g, Traced) else wrap(g, None)
    for hook in list(hooks):
        replaced = hook(current)
        if replaced is not None:
            current = _replacement(replaced, current, wrap)
    return current if create_graph else current._data


def _replacement(replaced: Any, current: Any, wrap: Wrap) -> Any:
    """What a hook returned for a cotangent, as a Tensor."""
    if not isinstance(replaced, Traced):
        try:
            replaced = wrap(np.asarray(replaced, dtype=float)[()], None)
        except (TypeError, ValueError):
            raise ChainruleError("grad", f"a hook returns a gradient or None, not {type(replaced).__name__}") from None
    if np.shape(replaced) != np.shape(current):
        raise ChainruleError(
            "grad",
            "hook has changed the size of value: "
            f"{shape_text(np.shape(replaced))} for a gradient of shape {shape_text(np.shape(current))}",
            hint="return a gradient of the same shape, or None to leave it as it is",
        )
    return replaced


# --- what may have gone wrong since forward ---------------------------------------------------------------------------


def versions_of(saved: Sequence[Any], edges: Sequence[Edge]) -> list[int | None]:
    """How often the values of each input were modified in place so far."""
    return [_change(v, edge)[0] for v, edge in zip(saved, edges, strict=True)]


def _change(v: Any, edge: Edge) -> tuple[int, str | None, str | None]:
    if edge is not None:
        return edge.extras.changed or (0, None, None)
    storage = getattr(v, "_storage", None)
    return (0, None, None) if storage is None else (storage.version, storage.where, storage.by)


def _check_versions(function: Function) -> None:
    """Refuse rules whose saved values were modified in place after they were saved."""
    needed = {saved for n, edge in enumerate(function.edges) if edge is not None for saved in function.op.saves(n)}
    for saved in sorted(needed, key=str):
        if not isinstance(saved, int):  # the output
            if function.extras.changed is not None:
                version, where, _ = function.extras.changed
                _modified(function, function.output, function.name(), version, where, 0)
            continue
        v, edge = function.inputs[saved], function.edges[saved]
        version, where, by = _change(v, edge)
        versions = function.extras.versions
        before = versions[saved] if versions is not None else 0
        if before is not None and version != before:
            producer = by or (edge.name() if type(edge) is Function else "a leaf")
            _modified(function, getattr(v, "_data", v), producer, version, where, before)


def _modified(function: Function, data: Any, producer: str, version: int, where: str | None, before: int) -> None:
    raise ChainruleError(
        "grad",
        "one of the variables needed for gradient computation has been modified by an inplace operation: a tensor of "
        f"shape {shape_text(np.shape(data))}, the output of {producer}, is at version {version}; "
        f"{function.name()} saved version {before}",
        hint=(f"it was modified at {where}; " if where else "")
        + "make a new tensor there instead: y = y + 1, not y += 1",
    )


def _check_finite(function: Function, n: int, c: Any) -> None:
    """With `detect_anomaly`: name the function and the user's line that made the first nan (or inf)."""
    values = getattr(c, "_data", c)
    kind = "nan" if np.any(np.isnan(values)) else "inf" if anomaly.infinite and np.any(np.isinf(values)) else None
    if kind is not None:
        raise ChainruleError(
            "grad",
            f"Function '{function.name()}' returned {kind} values in its {n}th output.",
            hint=f"the operation was made at {function.extras.made_at}" if function.extras.made_at else None,
        )


def note_origin(function: Function) -> None:
    """With `detect_anomaly`: remember the user's line that makes an operation."""
    function.own_extras().made_at = users_line()

"""Changing tensors in place: x += 1, x.exp_(), x[0] = 2, and the counters that let backward notice.

A change computes new values and gives them to the tensor, and to all that share its values (`detach`, `data`). What
backward saved keeps the old ones; since PyTorch's would not, a saved value that was changed is an error there.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from .autograd import clock, versions_of
from .data import constant
from .errors import ChainruleError
from .modes import grad_mode, users_line
from .ops import CALLS, INFIX, Op, shape_text
from .ops.arrays import copy_into, put

if TYPE_CHECKING:
    from .tensors import Tensor


def place_of(key: Any) -> tuple[Any, ...]:
    """An index as the graph keeps it: arrays and lists are copied, they may be changed while the graph lives."""
    return tuple(
        np.array(getattr(k, "_data", k))[()] if isinstance(k, (InPlace, np.ndarray, list)) else k
        for k in (key if isinstance(key, tuple) else (key,))
    )


class Storage:
    """What tensors that share values have in common: how often, where last and by what these were changed in place."""

    __slots__ = ("by", "members", "producers", "version", "where")

    def __init__(self, first: Tensor) -> None:
        self.version = 0
        self.where: str | None = None
        self.by: str | None = None
        self.members = [weakref.ref(first)]
        # The edges of these values: the functions whose outputs they are or were, and those of leaves.
        self.producers = [] if first._edge is None else [first._edge]


class InPlace:
    """The part of Tensor that changes tensors in place."""

    __slots__ = ()

    _data: Any
    _edge: Any
    _storage: Storage | None
    _base: Any

    def share_with(self: Any, other: Tensor) -> None:
        """Let `other` share the values of this tensor."""
        if self._storage is None:
            self._storage = Storage(self)
        other._storage = self._storage
        self._storage.members.append(weakref.ref(other))

    def replace_data(self: Any, data: Any, by: str | None = None) -> None:
        """Give the tensor new values of the same shape, and all that share them, and count the change.

        `by` is the name of the function that was recorded for it.
        """
        if np.shape(data) != self.shape:
            raise ChainruleError(
                "shape",
                f"an in-place operation cannot change the shape: the result has {shape_text(np.shape(data))}, "
                f"the tensor {shape_text(self.shape)}",
            )
        if self.dtype.kind != "f" and np.asarray(data).dtype.kind == "f":
            raise ChainruleError(
                "value",
                f"result type {np.asarray(data).dtype} can't be cast to the tensor's type {self.dtype} in place",
                hint="make a new tensor: x = x + 0.5",
            )
        if type(self._data) is not type(data) or getattr(data, "dtype", None) != getattr(self._data, "dtype", None):
            data = np.asarray(data).astype(self.dtype)
            data = data if data.ndim else float(data) if self.dtype == np.float64 else data[()]
        if self._storage is None:
            self._storage = Storage(self)
        storage = self._storage
        storage.version += 1
        clock.note_change()
        storage.where = users_line()
        storage.by = by
        for producer in storage.producers:
            producer.own_extras().changed = (storage.version, storage.where, by)
        for member in storage.members:
            if (tensor := member()) is not None:
                tensor._data = data

    def apply_in_place(self: Any, op: Op, *others: Any, **params: Any) -> Tensor:
        """Let the tensor become `op` of itself and others: its values, and where it is recorded its function."""
        if grad_mode.enabled and self.requires_grad and self.is_leaf:
            raise ChainruleError(
                "grad",
                "a leaf Variable that requires grad is being used in an in-place operation.",
                hint="change it under no_grad(), or make a new tensor: x = x + 1",
            )
        before = type(self)(self._data, self._edge)  # what the function saves: the tensor as it was
        made = op(before, *others, **params)
        function = made.grad_fn
        if function is not None:  # its first input is that copy, which nothing changes
            function.own_extras().versions = [None, *versions_of(function.inputs[1:], function.edges[1:])]
        self.replace_data(made._data, None if function is None else function.name())
        if grad_mode.enabled:
            if function is not None:
                self._storage.producers.append(function)
                if self.retains_grad:  # the gradient that is kept is that of the tensor as it is now
                    self._edge.own_extras().retain = None
                    function.own_extras().retain = weakref.ref(self)
            self._edge = made._edge
        if self._base is not None:  # an element or a slice: what it was taken from changes, too
            base, key = self._base
            base[key] = self
        result: Tensor = self
        return result

    def copy_(self: Any, source: Any) -> Tensor:
        """Take the values of `source`, broadcast to this shape; gradients flow to `source`."""
        made = source if isinstance(source, InPlace) else type(self)(np.asarray(constant(source), dtype=float)[()])
        return self.apply_in_place(copy_into, made)  # type: ignore[no-any-return]

    def fill_(self: Any, value: Any) -> Tensor:
        """Set every element to `value`."""
        return self.copy_(value)  # type: ignore[no-any-return]

    def zero_(self: Any) -> Tensor:
        """Set every element to 0."""
        return self.fill_(0.0)  # type: ignore[no-any-return]

    def __setitem__(self: Any, key: Any, value: Any) -> None:
        self.apply_in_place(put, value, key=place_of(key))


def attach(kind: type, name: str, method: Any) -> None:
    """Give Tensor, or a part of it, a method of the table's."""
    method.__name__ = name
    method.__qualname__ = f"Tensor.{name}"
    setattr(kind, name, method)


def _in_place(name: str, op: Op) -> None:
    attach(InPlace, name, lambda self, *others, **params: self.apply_in_place(op, *others, **params))


for _name, _op in CALLS.items():
    if _op.arity:
        _in_place(f"{_name}_", _op)
for _op in INFIX.values():
    if _op.differentiable:
        _name = {"div": "truediv"}.get(_op.name, _op.name)
        _in_place(f"{_name}_", _op)
        _in_place(f"{_op.name}_", _op)
        _in_place(f"__i{_name}__", _op)

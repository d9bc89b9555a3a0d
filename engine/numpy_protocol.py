"""NumPy's functions on Tensors: np.sin(t), np.sum(t, axis=0), array + t: code for NumPy differentiates unchanged.

Each function of NumPy that a row of the table computes with stands for that row. What is not in the table is refused
where a gradient would be lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import ChainruleError
from .ops import TABLE, Op
from .ops.arithmetic import COMPARISON

# NumPy's function → row: each row's forward, and others that mean the same.
FUNCTIONS: dict[Any, Op] = {op.forward: op for op in reversed(TABLE.values()) if op.differentiable}
FUNCTIONS |= {function: op for op in TABLE.values() for function in op.numpy}
# What asks for shapes only: no gradient is lost.
SHAPES_ONLY = frozenset({np.shape, np.ndim, np.size, np.zeros_like, np.ones_like, np.full_like, np.empty_like})


class NumpyProtocol:
    """The part of Tensor that answers NumPy."""

    __slots__ = ()

    _data: Any

    def __array_ufunc__(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Apply the row of a universal function."""
        op = FUNCTIONS.get(ufunc)
        if op is not None and method == "__call__" and not options:
            made = op(*inputs)
            return made if op.level != COMPARISON else mask(made)
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        written = inputs[:1] if method == "at" else options.get("out", ())
        if any(isinstance(x, NumpyProtocol) for x in written):
            raise _unseen(name)
        return _without_gradient(getattr(ufunc, method), inputs, options, name, type(self), writes="out" in options)

    def __array_function__(self: Any, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Apply the row of another function."""
        op = FUNCTIONS.get(function)
        if op is not None:
            known = op.parameters
            inputs, statics = _parted(op, args)
            of_matrix = function is np.linalg.norm and self.ndim > 1 and (len(args) > 1 or "ord" in kwargs)
            if known >= kwargs.keys() and len(inputs) >= op.arity and len(statics) <= len(known) and not of_matrix:
                return op(*inputs, **op.static_params(statics, named=True), **kwargs)
        if function in SHAPES_ONLY:
            return function(np.broadcast_to(0.0, self.shape), *args[1:], **kwargs)
        writes = function is np.copyto or "out" in kwargs
        return _without_gradient(function, args, kwargs, function.__name__, type(self), writes=writes)

    def __array__(self: Any, dtype: Any = None, copy: Any = None) -> Any:
        """The values, for NumPy's functions that know nothing of tensors."""
        return np.array(self.numpy(), dtype=dtype)


def mask(truths: Any) -> Any:
    """A tensor of ones and zeros as one of booleans."""
    return type(truths)(np.asarray(truths._data, dtype=bool)[()])


def _parted(op: Op, args: Any) -> tuple[Any, Any]:
    """The inputs and the static parameters; np.stack([x, y], 1) takes a list where the row takes its entries."""
    if op.variadic and isinstance(args[0], (list, tuple)):
        return args[0], args[1:]
    n = len(args) if op.variadic else op.arity
    return args[:n], args[n:]


def _without_gradient(call: Any, args: Any, options: Any, name: str, wrap: Any, *, writes: bool = False) -> Any:
    """A function that is not in the table: allowed where no gradient is lost."""

    def plain(x: Any) -> Any:
        if isinstance(x, (list, tuple)):
            return type(x)(map(plain, x))
        if not isinstance(x, NumpyProtocol):
            return x
        data = np.asarray(x._data).view()
        data.flags.writeable = False  # what is written there would go unseen
        return data if data.ndim else data[()]

    lost = ChainruleError(
        "grad",
        f"np.{name} is not differentiable here: the gradient would be lost",
        hint="use functions of chainrule's table, or detach() what needs no gradient",
    )
    given = [*args, *options.values()]
    if writes and _any_requires_grad(given):
        raise lost
    try:
        result = call(*map(plain, args), **{key: plain(value) for key, value in options.items()})
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        raise _unseen(name) from None
    kind = "" if isinstance(result, tuple) or result is None else np.asarray(result).dtype.kind
    if _any_requires_grad(given) and kind not in tuple("biu"):
        raise lost
    return wrap(result) if kind == "f" else result


def _unseen(name: str) -> ChainruleError:
    return ChainruleError(
        "value", f"np.{name} would write into a tensor unseen", hint="change it by x[0] = 2, x.fill_(2), x.copy_(w)"
    )


def _any_requires_grad(args: Any) -> bool:
    return any(
        _any_requires_grad(x) if isinstance(x, (list, tuple)) else getattr(x, "requires_grad", False) for x in args
    )

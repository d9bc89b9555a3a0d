"""Tensor: a value that records what is done to it, with PyTorch's semantics.

>>> x = tensor(3.0, requires_grad=True)
>>> y = x * x
>>> y.backward()
>>> x.grad
tensor(6.)
"""

from __future__ import annotations

import warnings
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from .autograd import AccumulateGrad, Edge, Function, run_backward
from .errors import ChainruleError
from .evaluate import as_value, start_shape_check
from .graph import Value
from .ops import Op, Traced, shape_text


class Tensor(Traced):
    """A number or an array of float64 that may require a gradient.

    A tensor made by the user is a leaf; one made by an operation on tensors that require a gradient has a `grad_fn`.
    `grad` is None until `backward` has run, then a tensor of the same shape.
    """

    __slots__ = ("__weakref__", "_accumulate", "_data", "_grad", "_requires_grad", "_retains", "grad_fn")

    def __init__(self, data: Value, requires_grad: bool = False, grad_fn: Function | None = None) -> None:
        self._data = data
        self._requires_grad = requires_grad
        self.grad_fn = grad_fn
        self._grad: Tensor | None = None
        self._retains = False
        self._accumulate: AccumulateGrad | None = None

    # --- what it is ---------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes; () for a scalar."""
        return np.shape(self._data)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return np.ndim(self._data)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.size(self._data))

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is recorded for it."""
        return self._requires_grad

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by the user, or by operations that record nothing."""
        return self.grad_fn is None

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on a tensor that is no leaf."""
        return self._retains

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward left here, or None.

        Reading it on a tensor that is neither a leaf nor retained gives None, with a warning.
        """
        if self.grad_fn is not None and not self._retains:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. It stays None: "
                "call .retain_grad() on it before backward().",
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        self._grad = value

    def item(self) -> float:
        """The number in a tensor of one element."""
        if self.size != 1:
            raise ChainruleError("shape", f"item() needs one element; this tensor has shape {shape_text(self.shape)}")
        return float(np.asarray(self._data).reshape(())[()])

    def numpy(self) -> npt.NDArray[Any]:
        """The values as an array of NumPy."""
        if self._requires_grad:
            raise ChainruleError(
                "grad",
                "Can't call numpy() on Tensor that requires grad",
                hint="call detach().numpy(): it has no gradient",
            )
        return np.asarray(self._data)

    def __repr__(self) -> str:
        text = _values_text(self._data)
        if self.grad_fn is not None:
            return f"tensor({text}, grad_fn=<{self.grad_fn.name()}>)"
        return f"tensor({text}, requires_grad=True)" if self._requires_grad else f"tensor({text})"

    # --- recording ----------------------------------------------------------------------------------------------------

    def trace(self, op: Op, xs: tuple[Any, ...]) -> Tensor:
        """Compute `op` and, where a gradient can flow, record it."""
        data = op.compute(*[x._data if isinstance(x, Tensor) else x for x in xs])
        edges = [x.edge if isinstance(x, Tensor) and op.vjp(n) is not None else None for n, x in enumerate(xs)]
        if all(edge is None for edge in edges):
            return Tensor(data)
        result = Tensor(data, True)
        result.grad_fn = Function(op, xs, tuple(edges), result)
        return result

    @property
    def edge(self) -> Edge:
        """Where the cotangent of this tensor goes: its function, its accumulator, or nowhere."""
        if not self._requires_grad:
            return None
        if self.grad_fn is not None:
            return self.grad_fn
        if self._accumulate is None:
            self._accumulate = AccumulateGrad(self)
        return self._accumulate

    def detach(self) -> Tensor:
        """The same values as a leaf that requires no gradient."""
        return Tensor(self._data)

    def retain_grad(self) -> None:
        """Ask that backward keep the gradient of this tensor although it is no leaf."""
        if not self._requires_grad:
            raise ChainruleError("grad", "can't retain_grad on Tensor that has requires_grad=False")
        if self.grad_fn is not None and not self._retains:
            self._retains = True
            self.grad_fn.retain = weakref.ref(self)

    def backward(self, gradient: Any = None, *, retain_graph: bool | None = None, create_graph: bool = False) -> None:
        """Add to each leaf's `grad` the gradient of this tensor.

        `gradient` is the cotangent, of this tensor's shape; a scalar needs none. `retain_graph` (default: as
        `create_graph`) keeps the graph for another backward; `create_graph` makes the gradients differentiable.
        Raises `ChainruleError` of kind `grad` or `shape`, with PyTorch's words.
        """
        edge = self.edge
        if edge is None:
            raise ChainruleError(
                "grad",
                "element 0 of tensors does not require grad and does not have a grad_fn",
                hint="give an input requires_grad=True",
            )
        cotangent: Any = gradient
        if not isinstance(gradient, Tensor):
            cotangent = start_shape_check(self.shape, gradient, "the tensor")
            cotangent = Tensor(cotangent) if create_graph else cotangent
        elif not create_graph:
            cotangent = gradient._data
        keep = create_graph if retain_graph is None else retain_graph
        for function, g in run_backward([(edge, cotangent)], retain_graph=keep, create_graph=create_graph):
            target = function.target()
            if target is not None:
                arrived = g if isinstance(g, Tensor) else Tensor(g)
                target._grad = arrived if target._grad is None else target._grad + arrived


def tensor(data: Any, requires_grad: bool = False) -> Tensor:
    """A leaf tensor of float64 with a copy of `data` (a number, a list, an array).

    Raises `ChainruleError` for data that is not numeric.
    """
    value = as_value(data._data if isinstance(data, Tensor) else data, "the data of a tensor")
    return Tensor(value if isinstance(value, float) else value.copy(), requires_grad)


def wrap(data: Value, function: Function) -> Tensor:
    """The output of a recorded function as a tensor again."""
    return Tensor(data, True, function)


def _values_text(data: Value) -> str:
    """Values as PyTorch prints them: four decimals, whole numbers as `2.`."""
    array = np.asarray(data)
    if array.size and np.all(np.isfinite(array)) and np.all(array == np.round(array)) and np.all(np.abs(array) < 1e8):
        text = np.array2string(array, separator=", ", formatter={"float_kind": lambda v: f"{v:.0f}."})
    else:
        text = np.array2string(array, separator=", ", formatter={"float_kind": lambda v: f"{v:.4f}"})
    return text.replace("\n", "\n       ")

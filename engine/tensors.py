"""Tensor: a value that records what is done to it, with PyTorch's semantics.

    >>> x = tensor(3.0, requires_grad=True)
    >>> y = x * x
    >>> y.backward()
    >>> x.grad
    tensor(6.)

What a tensor is and does is here; `autograd` walks the recorded graph, `inplace` changes tensors in place, `arrays`
answers NumPy.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .autograd import (
    AccumulateGrad,
    Edge,
    Function,
    Hook,
    add_to_grad,
    note_origin,
    of_type,
    run_backward,
    versions_of,
)
from .data import as_data, check_floating, constant, values_text
from .errors import ChainruleError
from .evaluate import start_shape_check
from .inplace import InPlace, attach, place_of
from .misfits import UNFIT, misfit
from .modes import anomaly, grad_mode
from .numpy_protocol import NumpyProtocol, mask
from .ops import CALLS, INFIX, Op, Traced, function, shape_text
from .ops.arithmetic import AND, COMPARISON, OR, identity
from .ops.arrays import index
from .ops.base import PLAIN
from .ops.shapes import transpose

if TYPE_CHECKING:
    import numpy.typing as npt

# The functions of the table, and the operators by name: x.pow(2), x.add(1).
METHODS: dict[str, Op] = {op.name: op for op in INFIX.values()} | CALLS


class Tensor(InPlace, NumpyProtocol, Traced):
    """A number or an array that may require a gradient; made by `tensor`, or by an operation on tensors.

    A tensor made by the user is a leaf; one made by an operation on tensors that require a gradient has a `grad_fn`.
    Functions of the table are methods: `x.sum()`, `x.norm()`; with an underscore they work in place: `x.exp_()`.
    """

    __slots__ = ("__weakref__", "_base", "_data", "_edge", "_grad", "_storage")

    def __init__(self, data: Any, edge: Edge = None) -> None:
        self._data = data
        self._edge = edge
        self._grad: Tensor | None = None
        self._storage = None
        self._base: tuple[Tensor, Any] | None = None  # what an element or slice was taken from, and where

    # --- what it is ---------------------------------------------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes; () for a scalar."""
        found: tuple[int, ...] = getattr(self._data, "shape", ())
        return found

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.size(self._data))

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of its elements: float64 unless asked otherwise."""
        return np.asarray(self._data).dtype

    @property
    def T(self) -> Tensor:
        """The axes in reverse order."""
        made: Tensor = transpose(self)
        return made

    @property
    def requires_grad(self) -> bool:
        """Whether operations on it are recorded, and backward leaves a gradient. It may be set on leaves."""
        return self._edge is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        if self.grad_fn is not None:
            if not wanted:
                raise ChainruleError(
                    "grad",
                    "you can only change requires_grad flags of leaf variables.",
                    hint="for the same values without a gradient use detach()",
                )
            return
        if wanted:
            check_floating(self.dtype)
        if wanted != self.requires_grad:
            self._edge = AccumulateGrad(self) if wanted else None

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` and return the tensor."""
        self.requires_grad = requires_grad
        return self

    @property
    def grad_fn(self) -> Function | None:
        """The function that made it, or None for a leaf."""
        edge = self._edge
        return edge if type(edge) is Function else None

    @property
    def is_leaf(self) -> bool:
        """Whether it was made by the user, or by operations that record nothing."""
        return type(self._edge) is not Function

    @property
    def retains_grad(self) -> bool:
        """Whether `retain_grad` was called on a tensor that is no leaf."""
        return type(self._edge) is Function and self._edge.target() is self

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward left here, or None.

        Reading it on a tensor that is neither a leaf nor retained gives None, with a warning.
        """
        if self._grad is None and type(self._edge) is Function and not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. It stays None: "
                "call .retain_grad() on it before backward().",
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise ChainruleError("value", f"a gradient is a Tensor or None, not {type(value).__name__}")
        if value is not None and value.shape != self.shape:
            raise ChainruleError(
                "shape", f"a gradient of shape {shape_text(value.shape)} for a tensor of {shape_text(self.shape)}"
            )
        self._grad = value

    @property
    def data(self) -> Tensor:
        """The values alone: a tensor without a gradient that shares them. Assigning it replaces the values."""
        return self.detach()

    @data.setter
    def data(self, value: Any) -> None:
        self.replace_data(value._data if isinstance(value, Tensor) else as_data(value, None))

    def item(self) -> float:
        """The number in a tensor of one element."""
        if isinstance(self._data, float):  # NumPy's double is one, too
            return float(self._data)
        if self.size != 1:
            raise ChainruleError("shape", f"item() needs one element; this tensor has shape {shape_text(self.shape)}")
        found: float = np.asarray(self._data).reshape(()).item()
        return found

    def numpy(self) -> npt.NDArray[Any]:
        """The values as an array of NumPy (a copy)."""
        if self.requires_grad:
            raise ChainruleError(
                "grad",
                "Can't call numpy() on Tensor that requires grad.",
                hint="use detach().numpy(): it has no gradient",
            )
        return np.array(self._data)

    def tolist(self) -> Any:
        """The values as a number or nested lists."""
        return np.asarray(self._data).tolist()

    def __repr__(self) -> str:
        text = values_text(self._data)
        dtype = self.dtype
        if dtype not in (np.float64, np.int64, np.bool_):
            text += f", dtype={dtype}"
        if self.grad_fn is not None:
            return f"tensor({text}, grad_fn=<{self.grad_fn.name()}>)"
        return f"tensor({text}, requires_grad=True)" if self.requires_grad else f"tensor({text})"

    # --- recording ----------------------------------------------------------------------------------------------------

    def interpret(self, op: Op, xs: tuple[Any, ...]) -> Tensor:
        """Compute `op` and, where a gradient can flow, record it."""
        values: list[Any] = []
        edges: list[Edge] = []
        recorded = fixed = changed = False
        for x in xs:
            if isinstance(x, Tensor):
                edge = x._edge
                values.append(x._data)
                edges.append(edge)
                if edge is None:
                    fixed = True
                else:
                    recorded = True
                if x._storage is not None:
                    changed = True
            else:
                values.append(x if type(x) in PLAIN else constant(x))
                edges.append(None)
        try:
            y = op.computed(values)
        except UNFIT as error:
            raise misfit(op, values, error) from error
        if not recorded or not grad_mode.enabled:
            return Tensor(y)
        name = op.usual_name
        if name is None:
            name = op.backward_name(*xs)
            if not all(op.flows):
                edges = [edge if op.vjp(n) else None for n, edge in enumerate(edges)]
                fixed = True
                if not any(edges):
                    return Tensor(y)
        function = Function(op, tuple(values), tuple(edges), y, name)
        if fixed:
            function.own_extras().given = tuple(
                [x if isinstance(x, Tensor) else v for x, v in zip(xs, values, strict=True)]
            )
        if changed:
            function.own_extras().versions = versions_of(xs, edges)
        if anomaly.enabled:
            note_origin(function)
        return Tensor(y, function)

    def detach(self) -> Tensor:
        """A leaf without a gradient that shares the values: changed in place, both change."""
        made = Tensor(self._data)
        self.share_with(made)
        return made

    def retain_grad(self) -> None:
        """Ask that backward keep the gradient of this tensor although it is no leaf."""
        if not self.requires_grad:
            raise ChainruleError("grad", "can't retain_grad on Tensor that has requires_grad=False")
        if type(self._edge) is Function:
            self._edge.own_extras().retain = weakref.ref(self)

    def register_hook(self, hook: Hook) -> RemovableHook:
        """Call `hook` with this tensor's gradient in backward; what it returns, unless None, replaces it."""
        if self._edge is None:
            raise ChainruleError("grad", "cannot register a hook on a tensor that doesn't require gradient")
        extras = self._edge.own_extras()
        if extras.hooks is None:
            extras.hooks = []
        return RemovableHook(extras.hooks, hook)

    def register_post_accumulate_grad_hook(self, hook: Any) -> RemovableHook:
        """Call `hook` with this leaf after backward has added to its `grad`."""
        if type(self._edge) is not AccumulateGrad:
            raise ChainruleError("grad", "post accumulate grad hooks cannot be registered on non-leaf tensors")
        extras = self._edge.own_extras()
        if extras.post_hooks is None:
            extras.post_hooks = []
        return RemovableHook(extras.post_hooks, hook)

    def backward(
        self,
        gradient: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Sequence[Tensor] | Tensor | None = None,
    ) -> None:
        """Add to each leaf's `grad` the gradient of this tensor.

        `gradient` is the cotangent, of this tensor's shape; a scalar needs none. `retain_graph` (default: as
        `create_graph`) keeps the graph for another backward; `create_graph` makes the gradients differentiable;
        with `inputs` only those receive a gradient. Raises `ChainruleError` of kind `grad` or `shape`.
        """
        accumulate([start_of(self, gradient, 0, create_graph)], inputs, retain_graph, create_graph)

    # --- Python's own protocols ---------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Tensor:
        """An element or a slice; changed in place, it changes this tensor, too."""
        place = place_of(key)
        made: Tensor = index(self, key=place)
        if all(isinstance(k, (int, slice, type(None), type(Ellipsis))) for k in place):
            made._base = (self, place)
        return made

    def __pos__(self) -> Tensor:
        return self

    def _repr_html_(self) -> str:
        from .notebook import tensor_html

        facts = {"shape": str(self.shape)}
        if self.grad_fn is not None:
            facts["grad_fn"] = f"<{self.grad_fn.name()}>"
        elif self.requires_grad:
            facts["requires_grad"] = "True"
        return tensor_html(self._data, facts)

    def _repr_latex_(self) -> str:
        from .notebook import tensor_latex

        return tensor_latex(self._data)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec else repr(self)

    def __copy__(self) -> Tensor:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: Any) -> Tensor:
        self._refuse_copy("deepcopy")
        made = tensor(self.detach(), self.requires_grad)
        made._grad = None if self._grad is None else tensor(self._grad.detach())
        return made

    def __reduce__(self) -> Any:
        """A leaf can be pickled; its gradient stays behind."""
        self._refuse_copy("pickle")
        return tensor, (np.asarray(self._data), self.requires_grad)

    def _refuse_copy(self, protocol: str) -> None:
        if not self.is_leaf:
            raise ChainruleError(
                "grad",
                f"Only Tensors created explicitly by the user support the {protocol} protocol at the moment",
                hint="copy detach(), or call clone() for a copy in the graph",
            )

    def clone(self) -> Tensor:
        """A copy that the graph knows: gradients flow through it."""
        made: Tensor = identity(self)
        return made

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ChainruleError("value", "Boolean value of Tensor with more than one value is ambiguous")
        return bool(self._data)

    def __float__(self) -> float:
        if self.requires_grad:
            raise ChainruleError(
                "grad",
                "a tensor that requires a gradient would lose it as a plain float",
                hint="use np.sin or cr.sin, not math.sin; for the number alone, item()",
            )
        return float(self.item())

    def __int__(self) -> int:
        return int(float(self))


def _method(name: str) -> Any:
    """A function of the table, or an operator by its name, as a method: x.sum(), x.pow(2)."""
    op = METHODS[name]
    if name not in CALLS:
        return lambda self, *xs, **params: op(self, *xs, **params)
    called = function(name)
    if not op.statics:
        return lambda self, *xs, **params: called(self, *xs, **params)
    # x.max(0) is along an axis, as x.sum(0); max(x, 0) is elementwise
    return lambda self, *xs, **params: (op if {int}.issuperset(map(type, xs)) else called)(self, *xs, **params)


def _compare(op: Op) -> Any:
    """A comparison of tensors gives booleans; in a program of the language it gives numbers. Nothing equals None."""
    return lambda x, y: NotImplemented if y is None or isinstance(y, str) else mask(op(x, y))


for _name in METHODS:
    if not hasattr(Tensor, _name):
        attach(Tensor, _name, _method(_name))
for _name, _row in {name: getattr(Traced, name) for name in dir(Traced)}.items():
    _op = (getattr(_row, "__defaults__", None) or (None,))[0]
    if isinstance(_op, Op) and _op.level in (COMPARISON, OR, AND):
        attach(Tensor, _name, _compare(_op))
        attach(Tensor, _op.name, _compare(_op))


class RemovableHook:
    """A registered hook, which `remove` takes away again."""

    def __init__(self, hooks: list[Any], hook: Any) -> None:
        self._hooks = hooks
        self._hook = hook
        hooks.append(hook)

    def remove(self) -> None:
        """Take the hook away; a second time does nothing."""
        if self._hook in self._hooks:
            self._hooks.remove(self._hook)


# --- making and checking ----------------------------------------------------------------------------------------------


def tensor(data: Any, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """A leaf tensor with a copy of `data`: a number, nested lists, an array, a tensor.

    Floats become float64, whole numbers int64, unless `dtype` says otherwise. Raises `ChainruleError` for data that is
    not numeric, and for a gradient asked of whole numbers.
    """
    value = as_data(data._data if isinstance(data, Tensor) else data, dtype)
    made = Tensor(value)
    if requires_grad:
        made.requires_grad = True
    return made


def as_tensors(tensors: Any) -> list[Tensor]:
    """One tensor, or several, as a list. Raises `ChainruleError` for anything else."""
    found = list(tensors) if isinstance(tensors, Iterable) and not isinstance(tensors, (Tensor, str)) else [tensors]
    for x in found:
        if not isinstance(x, Tensor):
            raise ChainruleError("value", f"a tensor is needed here, not {type(x).__name__}", hint="cr.tensor(…)")
    return found


def accumulate(starts: Sequence[tuple[Edge, Any]], inputs: Any, retain_graph: bool | None, create_graph: bool) -> None:
    """Run backward and add to `grad`: of all leaves, or of `inputs` only (leaves or not)."""
    wanted = None if inputs is None else as_tensors(inputs)
    if wanted is not None and not wanted:
        raise ChainruleError("grad", "`inputs` argument to `.backward()` cannot be empty.")
    ends = None if wanted is None else {edge_of(x, i) for i, x in enumerate(wanted)}
    keep = create_graph if retain_graph is None else retain_graph
    found = run_backward(starts, Tensor, retain_graph=keep, create_graph=create_graph, ends=ends)
    for x in wanted or ():
        if not x.is_leaf and not x.retains_grad and x._edge in found:
            add_to_grad(x, found[x._edge], Tensor)


def edge_of(x: Tensor, i: int) -> Edge:
    """The edge of the i-th input to differentiate by."""
    if x._edge is None:
        raise ChainruleError("grad", f"One of the differentiated Tensors does not require grad (input {i})")
    edge: Edge = x._edge
    return edge


def start_of(x: Tensor, cotangent: Any, i: int, create_graph: bool) -> tuple[Edge, Any]:
    """Where backward starts for the i-th output, and its cotangent. Raises PyTorch's errors."""
    if x._edge is None:
        raise ChainruleError(
            "grad",
            f"element {i} of tensors does not require grad and does not have a grad_fn",
            hint="give an input requires_grad=True",
        )
    if isinstance(cotangent, Tensor):
        if cotangent.shape != x.shape:
            start_shape_check(x.shape, cotangent._data, "the tensor")
        return x._edge, cotangent if create_graph else cotangent._data
    if isinstance(cotangent, np.ndarray):
        cotangent = cotangent.copy()  # it may be used again, and what arrives at a leaf stays there
    value = of_type(start_shape_check(x.shape, cotangent, "the tensor"), x._data)
    return x._edge, Tensor(value) if create_graph else value

"""Gradients as values, and derivatives of functions: grad, vjp, jvp, Jacobians, Hessians."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .autograd import of_type, run_backward
from .errors import ChainruleError
from .modes import enable_grad
from .ops import shape_text
from .tensors import Tensor, accumulate, as_tensors, edge_of, start_of, tensor

TensorFunction = Callable[..., Any]


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add to each leaf's `grad` the gradients of several tensors at once; see `Tensor.backward`."""
    accumulate(_starts(tensors, grad_tensors, create_graph), inputs, retain_graph, create_graph)


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of `outputs` for `inputs`, returned and not stored in `grad`.

    `grad_outputs` are the cotangents (needed where an output is not a scalar). An input that was not used is an error,
    unless `allow_unused` gives None for it, or `materialize_grads` zeros. Raises `ChainruleError`.
    """
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). "
            "To accumulate gradients for other parts of the graph, use backward.",
            FutureWarning,
            stacklevel=2,
        )
    if materialize_grads and allow_unused is False:
        raise ChainruleError("value", "Expected allow_unused to be True or not passed when materialize_grads=True")
    wanted = as_tensors(inputs)
    edges = [edge_of(x, i) for i, x in enumerate(wanted)]
    starts = _starts(outputs, grad_outputs, create_graph)
    keep = create_graph if retain_graph is None else retain_graph
    found = run_backward(
        starts, Tensor, retain_graph=keep, create_graph=create_graph, ends=set(edges), accumulate=False
    )
    gradients: list[Tensor | None] = []
    for i, (x, edge) in enumerate(zip(wanted, edges, strict=True)):
        g = found.get(edge)
        if g is None and materialize_grads:
            g = np.zeros(x.shape)[()] if x.shape else 0.0
        elif g is None and not allow_unused:
            raise ChainruleError(
                "grad",
                f"One of the differentiated Tensors appears to not have been used in the graph (input {i}). "
                "Set allow_unused=True if this is the desired behavior.",
            )
        gradients.append(g if g is None or isinstance(g, Tensor) else Tensor(of_type(g, x._data)))
    return tuple(gradients)


def _starts(outputs: Any, cotangents: Any, create_graph: bool) -> list[Any]:
    tensors = as_tensors(outputs)
    if cotangents is None:
        given: list[Any] = [None] * len(tensors)
    else:
        given = list(cotangents) if _several(cotangents, tensors) else [cotangents]
    if len(given) != len(tensors):
        raise ChainruleError("grad", f"got {len(tensors)} tensors and {len(given)} gradients")
    return [start_of(x, c, i, create_graph) for i, (x, c) in enumerate(zip(tensors, given, strict=True))]


def _several(cotangents: Any, tensors: Sequence[Tensor]) -> bool:
    """Whether `cotangents` is one for each tensor, and not a list of numbers that is the only tensor's own."""
    if not isinstance(cotangents, (list, tuple)):
        return False
    if len(tensors) > 1 or not tensors[0].shape or any(hasattr(c, "shape") for c in cotangents):
        return True
    return np.shape(cotangents) != tensors[0].shape


# --- derivatives of functions -----------------------------------------------------------------------------------------


def _called(function: TensorFunction, inputs: Any, create_graph: bool) -> tuple[list[Tensor], Tensor, bool]:
    """The inputs as tensors that require a gradient, the function's value, and whether there was one input only."""
    single = not isinstance(inputs, (list, tuple)) or all(isinstance(x, (int, float)) for x in inputs)
    given = [inputs] if single else list(inputs)
    leaves = [_independent(x, create_graph) for x in given]
    with enable_grad():
        output = function(*leaves)
    return leaves, _tensor(output), single


def _tensor(output: Any) -> Tensor:
    """What a function returned, which must be a tensor."""
    if not isinstance(output, Tensor):
        raise ChainruleError("value", f"the function must return a tensor, not {type(output).__name__}")
    return output


def _independent(x: Any, create_graph: bool) -> Tensor:
    if isinstance(x, Tensor) and create_graph and x.requires_grad:
        with enable_grad():
            made: Tensor = x * 1  # a node of its own, through which the outer graph still sees x
        return made
    made = tensor(x.detach() if isinstance(x, Tensor) else x)
    if made.dtype.kind != "f":
        made = tensor(made, dtype=float)
    made.requires_grad = True
    return made


def _gradients(output: Tensor, leaves: Sequence[Tensor], cotangent: Any, create_graph: bool) -> list[Tensor]:
    """The gradients of an output, zeros for what it does not depend on."""
    if not output.requires_grad:
        return [Tensor(np.zeros(x.shape) if x.shape else 0.0) for x in leaves]
    found = grad(
        output, leaves, None if cotangent is None else [cotangent], retain_graph=True, create_graph=create_graph,
        materialize_grads=True,
    )  # fmt: skip
    return [g for g in found if g is not None]


def value_and_grad(function: TensorFunction, argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function that gives the value of `function` and its gradient by the arguments `argnums` (a scalar output)."""

    def evaluated(*inputs: Any) -> Any:
        places = [argnums] if isinstance(argnums, int) else list(argnums)
        made = [_independent(x, True) if i in places else x for i, x in enumerate(inputs)]
        with enable_grad():
            output = _tensor(function(*made))
        gradients = _gradients(output, [made[i] for i in places], None, False)
        return output.detach(), gradients[0] if isinstance(argnums, int) else tuple(gradients)

    return evaluated


def vjp(function: TensorFunction, inputs: Any, v: Any = None, create_graph: bool = False) -> tuple[Tensor, Any]:
    """The output, and the vector-Jacobian product vᵀJ; `v` has the output's shape (1 for a scalar)."""
    leaves, output, single = _called(function, inputs, create_graph)
    gradients = _gradients(output, leaves, v, create_graph)
    return output if create_graph else output.detach(), gradients[0] if single else tuple(gradients)


def jvp(function: TensorFunction, inputs: Any, v: Any, create_graph: bool = False) -> tuple[Tensor, Tensor]:
    """The output, and the Jacobian-vector product Jv; `v` has the inputs' shape.

    By two backward passes: uᵀJ is linear in u, and its derivative by u in the direction v is Jv.
    """
    leaves, output, single = _called(function, inputs, create_graph)
    directions = [v] if single else list(v)
    with enable_grad():
        u = Tensor(np.zeros(output.shape) if output.shape else 0.0)
        u.requires_grad = True
        pulled = _gradients(output, leaves, u, True)
        through: Any = 0.0
        for g, direction in zip(pulled, directions, strict=True):
            product = g * _direction(direction, g)
            through = through + (product.sum() if product.shape else product)
    result = _gradients(through, [u], None, create_graph)[0]
    return output if create_graph else output.detach(), result


def _direction(v: Any, x: Tensor) -> Tensor:
    """A direction in the shape of an input."""
    made = v if isinstance(v, Tensor) else tensor(np.asarray(v, dtype=float))
    if made.shape != x.shape:
        raise ChainruleError(
            "shape", f"Mismatch in shape: v has shape {shape_text(made.shape)}, the input {shape_text(x.shape)}"
        )
    return made


def jacobian(function: TensorFunction, inputs: Any, create_graph: bool = False) -> Any:
    """The Jacobian, of shape(output) + shape(input); a tuple of them for several inputs."""
    leaves, output, single = _called(function, inputs, create_graph)
    blocks: list[list[Any]] = [[] for _ in leaves]
    for index in np.ndindex(output.shape):
        basis = np.zeros(output.shape)
        basis[index] = 1.0
        for block, g in zip(blocks, _gradients(output, leaves, basis[()], create_graph), strict=True):
            block.append(g)
    found = [_stacked(block, output.shape + x.shape) for block, x in zip(blocks, leaves, strict=True)]
    return found[0] if single else tuple(found)


def _stacked(rows: list[Tensor], shape: tuple[int, ...]) -> Tensor:
    """The rows of a Jacobian as one tensor of its shape."""
    from .ops.arrays import array, reshape_like

    made: Tensor = reshape_like(array(*rows), np.empty(shape))
    return made


def hessian(function: TensorFunction, inputs: Any, create_graph: bool = False) -> Any:
    """The Hessian of a scalar function, of shape(input) + shape(input); for several inputs a tuple of tuples."""
    single = not isinstance(inputs, (list, tuple)) or all(isinstance(x, (int, float)) for x in inputs)
    given = [x if isinstance(x, Tensor) else tensor(x, dtype=float) for x in ([inputs] if single else inputs)]

    def gradient(i: int) -> TensorFunction:
        def of(*xs: Tensor) -> Tensor:
            output = _tensor(function(*xs))
            if output.shape:
                raise ChainruleError("grad", f"a Hessian needs a scalar output; this one has shape {output.shape}")
            return _gradients(output, xs, None, True)[i]

        return of

    rows = [jacobian(gradient(i), tuple(given), create_graph) for i in range(len(given))]
    return rows[0][0] if single else tuple(rows)


def hvp(function: TensorFunction, inputs: Any, v: Any) -> tuple[Tensor, Any]:
    """The value of a scalar function, and its Hessian times `v`."""
    leaves, output, single = _called(function, inputs, True)
    directions = [v] if single else list(v)
    with enable_grad():
        first = _gradients(output, leaves, None, True)
        product: Any = 0.0
        for g, direction in zip(first, directions, strict=True):
            part = g * _direction(direction, g)
            product = product + (part.sum() if part.shape else part)
    if not isinstance(product, Tensor):
        product = Tensor(product)
    second = _gradients(product, leaves, None, False)
    return output.detach(), second[0] if single else tuple(second)

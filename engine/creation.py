"""Tensors from nothing: PyTorch's creation functions, float64 where PyTorch's default is float32."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from .data import as_data
from .errors import ChainruleError
from .ops.sizes import check_size
from .tensors import Tensor, tensor

_generator: Any = None


def manual_seed(seed: int) -> None:
    """Start the numbers of `rand` and `randn` anew (PCG64; not PyTorch's numbers)."""
    global _generator
    _generator = np.random.default_rng(seed)


def _random() -> Any:
    """The generator, made when it is first used: importing numpy.random takes a while."""
    global _generator
    if _generator is None:
        _generator = np.random.default_rng(0)
    return _generator


def _made(values: Any, requires_grad: bool, dtype: Any) -> Tensor:
    made = Tensor(as_data(values, dtype))
    made.requires_grad = requires_grad
    return made


def _shape(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    try:
        return check_size(tuple(map(operator.index, given)))
    except TypeError:
        raise ChainruleError("shape", f"a shape is made of whole numbers, not {given}") from None


def zeros(*shape: Any, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Zeros of a shape."""
    return _made(np.zeros(_shape(shape)), requires_grad, dtype)


def ones(*shape: Any, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Ones of a shape."""
    return _made(np.ones(_shape(shape)), requires_grad, dtype)


def eye(n: int, m: int | None = None, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """The identity matrix, of n rows and m (or n) columns."""
    return _made(np.eye(n, check_size((n, n if m is None else m))[1]), requires_grad, dtype)


def arange(*bounds: float, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """0, 1, … below stop; or from start, or by a step. Whole bounds make whole numbers, as in PyTorch."""
    return _made(np.arange(*bounds), requires_grad, dtype)


def linspace(start: float, stop: float, num: int = 100, *, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """`num` evenly spaced numbers, both ends included."""
    return _made(np.linspace(start, stop, check_size((num,))[0]), requires_grad, dtype)


def rand(*shape: Any, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Uniform random numbers in [0, 1); see `manual_seed`."""
    return _made(_random().random(_shape(shape)), requires_grad, dtype)


def randn(*shape: Any, requires_grad: bool = False, dtype: Any = None) -> Tensor:
    """Normal random numbers of mean 0 and variance 1; see `manual_seed`."""
    return _made(_random().standard_normal(_shape(shape)), requires_grad, dtype)


__all__ = ["arange", "eye", "linspace", "manual_seed", "ones", "rand", "randn", "tensor", "zeros"]

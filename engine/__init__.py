"""chainrule: expressions differentiated, and the small autograd engine underneath.

>>> import chainrule as cr
>>> cr.parse("y = (x + w)*(w + 1)").value_and_grad({"x": 2, "w": 1})
(6.0, {'x': 2.0, 'w': 5.0})
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if __name__ == "engine":
    raise ImportError("this package is imported as 'chainrule' (after pip install), not as 'engine'")

from . import ops as _ops
from .errors import ChainruleError, Span
from .graph import Graph, Node
from .modes import detect_anomaly, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from .program import Program, Run, parse
from .syntax import parse_value
from .tensors import Tensor, tensor

if TYPE_CHECKING:
    from .checking import gradcheck, gradgradcheck
    from .creation import arange, eye, linspace, manual_seed, ones, rand, randn, zeros
    from .functional import backward, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp

# What the command line seldom needs is imported when it is asked for.
_LATE = {
    **dict.fromkeys(("gradcheck", "gradgradcheck"), "checking"),
    **dict.fromkeys(("arange", "eye", "linspace", "manual_seed", "ones", "rand", "randn", "zeros"), "creation"),
    **dict.fromkeys(("backward", "grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"), "functional"),
}

__version__ = "0.1.0"
__all__ = [
    "ChainruleError", "Graph", "Node", "Program", "Run", "Span", "Tensor", "arange", "backward", "detect_anomaly",
    "enable_grad", "eye", "grad", "gradcheck", "gradgradcheck", "hessian", "hvp", "is_grad_enabled", "jacobian",
    "jvp", "linspace", "manual_seed", "no_grad", "ones", "parse", "parse_value", "rand", "randn", "set_grad_enabled",
    "tensor", "value_and_grad", "vjp", "zeros",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """What is imported late, and each function of the table: `chainrule.sin`."""
    if name in _LATE:
        return getattr(import_module(f".{_LATE[name]}", __name__), name)
    if name in _ops.CALLS:
        return _ops.function(name)
    raise AttributeError(f"module 'chainrule' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ops.CALLS})

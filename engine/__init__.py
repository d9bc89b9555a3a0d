"""chainrule: expressions differentiated, and the small autograd engine underneath.

>>> import chainrule as cr
>>> cr.parse("y = (x + w)*(w + 1)").value_and_grad({"x": 2, "w": 1})
(6.0, {'x': 2.0, 'w': 5.0})
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if __name__ == "engine":
    raise ImportError("this package is imported as 'chainrule' (after pip install), not as 'engine'")

if TYPE_CHECKING:
    from .checking import gradcheck, gradgradcheck
    from .creation import arange, eye, linspace, manual_seed, ones, rand, randn, zeros
    from .errors import ChainruleError, Span
    from .functional import backward, grad, hessian, hvp, jacobian, jvp, value_and_grad, vjp
    from .graph import Graph, Node
    from .modes import detect_anomaly, enable_grad, is_grad_enabled, no_grad, set_grad_enabled
    from .program import Program, Run, parse
    from .syntax import parse_value
    from .tensors import Tensor, tensor

# Each public name and its module, imported when it is asked for: the command line starts with what it needs.
_HOMES = {
    name: module
    for module, names in {
        "checking": ("gradcheck", "gradgradcheck"),
        "creation": ("arange", "eye", "linspace", "manual_seed", "ones", "rand", "randn", "zeros"),
        "errors": ("ChainruleError", "Span"),
        "functional": ("backward", "grad", "hessian", "hvp", "jacobian", "jvp", "value_and_grad", "vjp"),
        "graph": ("Graph", "Node"),
        "modes": ("detect_anomaly", "enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"),
        "program": ("Program", "Run", "parse"),
        "syntax": ("parse_value",),
        "tensors": ("Tensor", "tensor"),
    }.items()
    for name in names
}

__version__ = "0.1.0"
__all__ = [
    "ChainruleError", "Graph", "Node", "Program", "Run", "Span", "Tensor", "arange", "backward", "detect_anomaly",
    "enable_grad", "eye", "grad", "gradcheck", "gradgradcheck", "hessian", "hvp", "is_grad_enabled", "jacobian",
    "jvp", "linspace", "manual_seed", "no_grad", "ones", "parse", "parse_value", "rand", "randn", "set_grad_enabled",
    "tensor", "value_and_grad", "vjp", "zeros",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """A public name, or a function of the table: `chainrule.sin`."""
    if name in _HOMES:
        found = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    elif not name.startswith("_") and name in (ops := import_module(".ops", __name__)).CALLS:
        found = ops.function(name)
    else:
        raise AttributeError(f"module 'chainrule' has no attribute {name!r}")
    globals()[name] = found  # the next time it is at hand
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *import_module(".ops", __name__).CALLS})

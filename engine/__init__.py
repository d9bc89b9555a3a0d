"""chainrule: expressions differentiated, and the small autograd engine underneath.

>>> import chainrule as cr
>>> cr.parse("y = (x + w)*(w + 1)").value_and_grad({"x": 2, "w": 1})
(6.0, {'x': 2.0, 'w': 5.0})
"""

from typing import Any

if __name__ == "engine":
    raise ImportError("this package is imported as 'chainrule' (after pip install), not as 'engine'")

from . import ops as _ops
from .errors import ChainruleError, Span
from .graph import Graph, Node
from .program import Program, Run, parse
from .syntax import parse_value
from .tensors import Tensor, tensor

__version__ = "0.1.0"
__all__ = ["ChainruleError", "Graph", "Node", "Program", "Run", "Span", "Tensor", "parse", "parse_value", "tensor"]


def __getattr__(name: str) -> Any:
    """Each function of the table: `chainrule.sin`."""
    if name in _ops.CALLS:
        return _ops.CALLS[name]
    raise AttributeError(f"module 'chainrule' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, *_ops.CALLS})

"""A person's own Python function, run once on Tensors: the graph that this run recorded, as a program to look at.

Control flow is Python's own; the graph is what happened. Names come from the function's local variables where they can
be had.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import os.path
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from .autograd import Edge, Function, reachable
from .errors import ChainruleError, did_you_mean
from .evaluate import typed_value
from .graph import INPUT, Value
from .program import Program, Run, computing_type
from .tensors import Tensor, tensor


class Recording:
    """One run of a function: the program that it recorded, and its Tensors."""

    def __init__(
        self,
        function: Callable[..., Any],
        values: Mapping[str, Value],
        no_grad: frozenset[str] = frozenset(),
        title: str = "",
        dtype: Any = None,
    ) -> None:
        self.function = function
        self.program = Program(source=title or function.__name__, dtype=computing_type(dtype))
        self.arguments = {name: self._argument(name, value, name not in no_grad) for name, value in values.items()}
        with _locals_of(function) as found, contextlib.redirect_stdout(sys.stderr):
            output = called(function, self.arguments)
        if not isinstance(output, Tensor):
            output = Tensor(as_number(output, function))
        self.names = {id(value): name for name, value in found.items() if isinstance(value, Tensor)}
        self.locals = found
        self.tape: list[Any] = []
        self._places: dict[int, int] = {}
        self._build(output)

    def run(self) -> Run:
        """The Tensors by name and place."""
        return Run(self.program, self.tape)

    def _argument(self, name: str, value: Value, requires_grad: bool) -> Any:
        """What the function is called with: a Tensor, or for what requires no gradient the plain number or array."""
        if requires_grad:
            return tensor(typed_value(self.program, value, name), requires_grad=True)
        if isinstance(value, float):
            return int(value) if value.is_integer() else value
        return typed_value(self.program, value, name)

    def _build(self, output: Tensor) -> None:
        """The recorded functions, the oldest first, as nodes."""
        for name, argument in self.arguments.items():
            if isinstance(argument, Tensor):
                self._leaf(argument, name)
        known = {id(t._edge): t for t in self.locals.values() if isinstance(t, Tensor) and type(t._edge) is Function}
        known[id(output._edge)] = output
        for function in reversed(reachable([output._edge])):
            if type(function) is not Function:
                continue
            args = tuple(map(self._place, function.inputs, function.edges))
            place = self.program.append(function.op, args)
            made = known.get(id(function))
            made = Tensor(function.output, function) if made is None else made
            self.tape.append(made)
            self._places[id(function)] = place
            local = self.names.get(id(made))
            if local is not None and local not in self.program.names:
                self.program.give_name(local, place)
        self.program.output = self.program.last = self._place(output)
        if self.program.nodes[self.program.output].name is None and self.function.__name__ not in self.program.names:
            self.program.give_name(self.function.__name__, self.program.output)

    def _place(self, x: Any, edge: Edge = None) -> int:
        """The place of an argument: of the function that made it, of a leaf, or of a constant."""
        if edge is None and isinstance(x, Tensor):
            edge = x._edge
        key = id(x) if edge is None else id(edge)
        if key in self._places:
            return self._places[key]
        leaf = x if edge is None else edge.target()
        if isinstance(leaf, Tensor):
            return self._leaf(leaf, self._free_name(self.names.get(id(leaf))))
        if np.ndim(x) == 0:
            self.tape.append(float(x))
            return self.program.number(float(x))
        same = (n for n, a in self.arguments.items() if type(a) is np.ndarray and np.array_equal(a, x, equal_nan=True))
        given = next(same, None)  # the graph has a copy
        return self._leaf(Tensor(np.asarray(x)), self._free_name(given))

    def _leaf(self, x: Tensor, name: str) -> int:
        place = self.program.append(INPUT, ())
        self.program.nodes[place].frozen = not x.requires_grad
        self.program.give_name(name, place)
        self.tape.append(x)
        self._places[id(x._edge) if x._edge is not None else id(x)] = place
        return place

    def _free_name(self, wanted: str | None) -> str:
        """A name that no node has yet: the wanted one, else c1, c2, …"""
        names = self.program.names
        if wanted is not None and wanted not in names:
            return wanted
        return next(free for k in range(1, len(names) + 2) if (free := f"c{k}") not in names)


def as_number(output: Any, function: Callable[..., Any]) -> Value:
    """A function's plain result as a value."""
    refused = ChainruleError(
        "value", f"{function.__name__} must return a number, an array or a tensor, not {type(output).__name__}"
    )
    if output is None or isinstance(output, (list, tuple, dict, str)):
        raise refused
    try:
        array = np.asarray(output, dtype=float)
    except (TypeError, ValueError):
        raise refused from None
    return array if array.ndim else float(array)


@contextlib.contextmanager
def _locals_of(function: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """The local variables with which the function returns."""
    found: dict[str, Any] = {}
    code = getattr(inspect.unwrap(function), "__code__", None)

    def profile(frame: Any, event: str, result: Any) -> None:
        if event == "return" and frame.f_code is code:
            found.update(frame.f_locals)

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield found
    finally:
        sys.setprofile(before)


# --- the person's file ------------------------------------------------------------------------------------------------


def load_function(path: str, name: str) -> Callable[..., Any]:
    """The function called `name` of a Python file, which is run. Raises `ChainruleError` of kind `file` or `name`."""
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], path)
    if spec is None or spec.loader is None or not os.path.isfile(path):
        raise ChainruleError("file", f"{path} cannot be read: no such file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    try:
        with contextlib.redirect_stdout(sys.stderr):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise _in_the_file(error, path) from error
    finally:
        sys.path.pop(0)
    function = getattr(module, name, None)
    if not callable(function):
        known = [n for n, v in vars(module).items() if inspect.isfunction(v) and v.__module__ == module.__name__]
        hint = did_you_mean(name, known) or (f"its functions are {', '.join(known)}" if known else None)
        raise ChainruleError("name", f"{path} has no function {name!r}", hint=hint)
    made: Callable[..., Any] = function
    return made


def parameters(function: Callable[..., Any]) -> tuple[list[str], list[str]]:
    """The names that a function takes, and those of them that need a value."""
    taken = [
        p for p in inspect.signature(function).parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    return [p.name for p in taken], [p.name for p in taken if p.default is p.empty]


def called(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """The function's result; an error in the person's code as a `ChainruleError` that names the line."""
    try:
        return function(**arguments)
    except (Exception, SystemExit) as error:
        raise _in_the_file(error, inspect.getsourcefile(function) or "") from error


def _in_the_file(error: BaseException, path: str) -> ChainruleError:
    """An error of the person's own code: the last of its lines that was running."""
    if isinstance(error, SyntaxError):
        return ChainruleError("file", f"{path}, line {error.lineno}: {error.msg}")
    its = os.path.normpath(path)
    frames = [f for f in traceback.extract_tb(error.__traceback__) if os.path.normpath(f.filename) == its]
    where = f"{os.path.basename(path)}, line {frames[-1].lineno}: {frames[-1].line}" if frames else path
    if isinstance(error, ChainruleError):
        return ChainruleError(error.kind, f"{error.message} (in {where})", hint=error.hint)
    return ChainruleError("file", f"{type(error).__name__}: {error} (in {where})")

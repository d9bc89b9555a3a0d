"""Values of inputs as lines write them: in text, in JSON, in the cells of a table."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from chainrule import ChainruleError, parse_value
from chainrule.graph import Value
from chainrule.syntax.characters import canonical_name, is_name

from ..options import split_values

NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}  # as results spell them
_ITEM = re.compile(r"\s*([^\W\d]\w*)\s*=\s*([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)\s*")


def read_name(name: str) -> str:
    """A name as the language spells it. Raises `ChainruleError` for what is none."""
    name = canonical_name(name.strip())
    if not is_name(name):
        raise ChainruleError("name", f"{name!r} is no name of an input")
    return name


# --- text -------------------------------------------------------------------------------------------------------------


def simple_values(text: str) -> dict[str, float] | None:
    """The values of `x=2, w=1` where all are plain numbers; None where the parser has to look."""
    values = {}
    items = text.split(",")
    for item in items:
        match = _ITEM.fullmatch(item)
        if match is None:
            return None
        try:
            values[canonical_name(match[1])] = float(match[2])
        except ValueError:
            return None
    finite = all(map(math.isfinite, values.values()))
    return values if finite and len(values) == len(items) else None


def text_values(text: str, seed: int) -> dict[str, Value]:
    """The same where values are expressions. Raises `ChainruleError`."""
    values: dict[str, Value] = {}
    for item in split_values(text):
        name, sign, value = item.partition("=")
        if not sign:
            raise ChainruleError("value", f"{item!r} is no value for a name", hint="the line holds values: x=2, w=1")
        name = read_name(name)
        if name in values:
            raise ChainruleError("name", f"{name} is given twice", hint="give each name one value")
        try:
            values[name] = parse_value(value, seed=seed, name=name)
        except ChainruleError as error:
            raise ChainruleError(error.kind, f"{item}: {error.message}", hint=error.hint) from error
    return values


# --- JSON -------------------------------------------------------------------------------------------------------------


def json_value(given: Any, seed: int, name: str) -> Value:
    """A value as JSON gives it: a number, nested lists of numbers, or a constant expression as text."""
    if isinstance(given, str):
        return NOT_FINITE[given] if given in NOT_FINITE else parse_value(given, seed=seed, name=name)
    try:
        if type(given) is int:
            return float(given)
        if type(given) is float:  # an infinite one
            raise OverflowError
        if isinstance(given, list):
            array = np.asarray(given)
            if array.dtype.kind not in "if" and array.size:
                array = np.asarray([float(v) for v in _leaves(given)]).reshape(array.shape)
            elif np.isinf(array).any():
                raise OverflowError
            return array.astype(float)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        message = f"the value of {name} is no number and no array of numbers"
        if isinstance(error, OverflowError):
            message = f"the value of {name} is larger than the largest number, about 1.8e308"
        raise ChainruleError("value", message) from error
    if given is None:
        raise ChainruleError("missing", f"{name} has no value", hint="null is none")
    raise ChainruleError("value", f"the value of {name} is no number and no array of numbers")


def _leaves(given: Any) -> Iterator[Any]:
    """The numbers of nested lists, with the words for those that are not finite."""
    for part in given:
        if isinstance(part, list):
            yield from _leaves(part)
        elif isinstance(part, bool) or part is None or (isinstance(part, str) and part not in NOT_FINITE):
            raise TypeError
        elif type(part) is float and math.isinf(part):
            raise OverflowError
        else:
            yield part


# --- tables -----------------------------------------------------------------------------------------------------------


def plain_number(text: str) -> float | None:
    """The number of a cell that holds nothing else; None where it needs a closer look, as one too large does."""
    try:
        value = None if "_" in text else float(text)
    except ValueError:
        return None
    return None if value is not None and math.isinf(value) and text.rstrip()[-1].isdecimal() else value


def cell_value(text: str, seed: int, name: str) -> Value:
    """A cell's value: a number, or a constant expression. Raises `ChainruleError`."""
    if (value := plain_number(text)) is not None:
        return value
    try:
        return parse_value(text, seed=seed, name=name)
    except ChainruleError as error:
        raise ChainruleError(error.kind, f"{text!r} in column {name}: {error.message}", hint=error.hint) from error

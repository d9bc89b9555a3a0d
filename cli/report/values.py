"""Numbers and arrays as text and as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

SHOWN = 6  # elements of an array that a table shows before it summarises


def number(value: float, digits: int) -> str:
    """A number to so many significant digits; whole numbers in full where they fit."""
    value = shortest(value)
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 10 ** min(digits, 15):
        return str(int(value))
    return f"{value:.{digits}g}"


def shortest(value: Any) -> float:
    """A number as Python's float; one of float32 with no more digits than tell it from its neighbours."""
    return float(str(value)) if isinstance(value, np.float32) else float(value)


def floats(values: np.ndarray[Any, Any]) -> list[float]:
    """An array of numbers as Python's floats."""
    found: list[float] = list(map(shortest, values)) if values.dtype == np.float32 else values.tolist()
    return found


def value_text(value: Any, digits: int, limit: int = SHOWN) -> str:
    """A number, or an array of which at most `limit` entries are shown along each axis."""
    if value is None:
        return ""
    if np.ndim(value) == 0:
        return number(value, digits)
    array = np.asarray(value)
    parts = [value_text(v, digits, limit) for v in array[:limit]]
    if len(array) > limit:
        parts = [*(value_text(v, digits, limit) for v in array[: limit - 2]), "…", value_text(array[-1], digits, limit)]
    return f"[{', '.join(parts)}]"


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as the language writes it after a bar: 2x3; nothing for a scalar."""
    return "x".join(map(str, shape))


def jsonable(value: Any) -> Any:
    """A value for JSON: floats, nested lists, and the words nan, inf and -inf for what JSON has no number for."""
    if isinstance(value, dict):
        return {key: jsonable(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(v) for v in value]
    if isinstance(value, (float, np.floating)):
        value = shortest(value)
        return value if math.isfinite(value) else number(value, 1)
    if isinstance(value, np.ndarray):
        return jsonable(list(value) if value.dtype == np.float32 else value.tolist())
    return value


def _known(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype != np.float32:
        return value.tolist()
    if isinstance(value, (np.ndarray, np.float32)):
        return jsonable(value)
    raise TypeError(f"no JSON for {type(value)}")


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, default=_known).encode


def to_json(record: Any) -> str:
    """A record as one line of valid JSON."""
    try:
        return _encode(record)
    except ValueError:  # something is not finite, or so deep that only the words help
        return _encode(jsonable(record))

"""Results and errors as JSON objects: the keys that every command's records share (the README has the schema)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from chainrule import ChainruleError, Program


def result_record(
    id_: Any, expression: str, program: Program, value: Any, gradients: Mapping[str, Any]
) -> dict[str, Any]:
    """A program's value and gradients."""
    made, dtype = plain_record(id_, expression, program.output_name, value, gradients), program.dtype
    return made if dtype is None else {**made, "dtype": dtype.__name__}


def plain_record(id_: Any, expression: str, output: str, value: Any, gradients: Mapping[str, Any]) -> dict[str, Any]:
    """A value and gradients in double precision."""
    return {"id": id_, "expression": expression, "output": output, "value": value, "gradients": gradients}


def error_record(
    id_: Any, expression: str | None, error: ChainruleError, line: int | None = None, file: str | None = None
) -> dict[str, Any]:
    """What is wrong with a program; `line` (of `file`) where it stands in a file of many, else its own line."""
    where = error.place
    said = {
        "kind": error.kind,
        "message": error.message,
        "line": line if line is not None else where.line if where else None,
        "column": where.column if where else None,
        "hint": error.hint,
    }
    return {"id": id_, "expression": expression, "error": said if file is None else {"file": file, **said}}

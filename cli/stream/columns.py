"""Which derivatives have a column of their own where results are rows of cells."""

from __future__ import annotations

import numpy as np

from chainrule import ChainruleError, Program
from chainrule.evaluate import chosen_inputs

from .blocks import Block
from .records import records
from .settings import Columns, Settings
from .work import Worker


def columns(settings: Settings, program: Program | None, first: Block | None) -> Columns | None:
    """The elements of inputs that have a column each in rows of cells; None where lines differ too much for that.

    The first record decides on shapes; without one, or where it fails, what the program says after its bar.
    """
    if program is None and settings.wrt is None:
        return None
    worker, shapes = Worker(settings), dict(program.shapes) if program is not None else {}
    fixed, record = settings.expression is not None, None
    if first is not None:
        record = next(records(first, settings.limit, settings.seed, fixed=fixed), None)
    text = settings.expression or (record.expression if record is not None else None)
    if record is not None and record.error is None and text is not None:
        try:
            own = worker.program(text, record.at or record.cells, record.wrt)
            values = {**own.at, **worker.values(own, record)}
        except ChainruleError:
            own, values = Program(), {}
        for name in own.inputs:
            args = own.nodes[own.names[name]].args
            value = values.get(name, own.constant_value(args[0]) if args else 0.0)
            shapes[name] = np.shape(value)
    names = settings.wrt
    if names is None and program is not None:
        has = program.inputs
        names = tuple(chosen_inputs(program, None, [name for name in settings.no_grad if name in has]))
    return tuple((name, index) for name in names or () for index in np.ndindex(shapes.get(name, ())))

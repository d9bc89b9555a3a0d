"""Curves and fields as PNG, SVG or PDF, by matplotlib; what the samples say is broken is not joined."""

from __future__ import annotations

from typing import IO, Any

from chainrule import ChainruleError
from chainrule.curves import Curves, Field

COLORS = ("#0969da", "#bc4c00", "#8250df", "#1a7f37")
TANGENT = "#cf222e"
ARROWS = 20  # of the gradient along each axis


def write_curves(curves: Curves, title: str, out: IO[bytes], format_: str) -> None:
    """One panel for the function and one for each derivative. Raises `ChainruleError` of kind `install`."""
    count = len(curves.pieces)
    figure = _figure((8, 2.2 + 2.4 * count))
    panels = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    for k, panel in enumerate(panels):
        for piece in curves.pieces[k]:
            xs, ys = curves.piece(k, *piece)
            panel.plot(xs, ys, color=COLORS[k % len(COLORS)], marker="." if len(xs) == 1 else None)
        low, high = curves.ranges[k]
        panel.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        panel.set_ylabel(curves.label(k))
        panel.axhline(0, color="#8c959f", linewidth=0.8)
        panel.grid(alpha=0.3)
    for tangent in curves.tangents:
        panels[0].axline((tangent.x, tangent.ys[0]), slope=tangent.ys[1], color=TANGENT, linewidth=1)
        panels[0].plot([tangent.x], [tangent.ys[0]], "o", color=TANGENT)
    panels[-1].set_xlabel(curves.name)
    _save(figure, title, out, format_)


def write_field(field: Field, title: str, out: IO[bytes], format_: str) -> None:
    """Contours with arrows along the gradient. Raises `ChainruleError` of kind `install`."""
    figure = _figure((7.5, 6.5))
    panel = figure.subplots()
    shades = panel.contourf(field.xs, field.ys, field.values, levels=16, cmap="viridis", alpha=0.85)
    figure.colorbar(shades, label=field.output)
    every = max(1, len(field.xs) // ARROWS)
    part = slice(every // 2, None, every)
    by_x, by_y = (g[part, part] for g in field.gradient)
    panel.quiver(field.xs[part], field.ys[part], by_x, by_y, angles="xy", color="#ffffff", width=0.0025)
    panel.set_xlabel(field.names[0])
    panel.set_ylabel(field.names[1])
    _save(figure, title, out, format_)


def _figure(size: tuple[float, float]) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ChainruleError(
            "install", "a plot in a file needs the library matplotlib", hint="pip install 'chainrule[draw]'"
        ) from None
    return Figure(figsize=size, layout="constrained")


def _save(figure: Any, title: str, out: IO[bytes], format_: str) -> None:
    from matplotlib import rc_context

    figure.suptitle(title, fontsize=11, parse_math=False, wrap=True)
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(format_)
    with rc_context({"svg.hashsalt": "chainrule"}):
        figure.savefig(out, format=format_, dpi=150, metadata=metadata)

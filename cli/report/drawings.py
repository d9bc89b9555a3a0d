"""A picture as a drawing: SVG, and PNG made of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from chainrule import ChainruleError

from .diagrams import COLORS, DASHED, NOT_FINITE, OUTPUT, lines
from .grids import width
from .layout import Placed, Point, placed
from .pictures import Arrow, Box, Picture

SIZE, LINE, SMALL = 12, 16, 10  # of letters, of lines, of labels
ADVANCE = 0.61  # the width of a letter of a monospaced font, in its size
PAD, MARGIN, HEAD = 10, 20, 10
LONGEST = 44  # letters of a line; the whole text is in the tooltip
MOST_PIXELS = 40e6
FONT = "'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace"


def svg(picture: Picture) -> str:
    """The picture as an SVG that needs nothing else. Raises `ChainruleError` of kind `install`."""
    texts = [[shortened(line) for line in lines(box)] for box in picture.boxes]
    sizes = [(max(_width(line, SIZE) for line in those) + 2 * PAD, LINE * len(those) + PAD) for those in texts]
    labels = [
        (_width(a.label, SMALL) + 6, SMALL + 4.0) if a.label else (0.0, 0.0) for a in map(_short_label, picture.arrows)
    ]
    where = placed(sizes, picture.arrows, labels)
    heading = [shortened(text, 120) for text in (picture.title, *picture.remarks)]
    wide = max(where.size[0], *(_width(text, SIZE) for text in heading)) + 2 * MARGIN
    top = MARGIN + LINE * len(heading) + PAD
    high = top + where.size[1] + MARGIN
    body = [f'<text class="heading" x="{MARGIN}" y="{MARGIN + LINE * (n + 0.5):g}">{_text(text)}</text>'
            for n, text in enumerate(heading)]  # fmt: skip
    body.append(f'<g transform="translate({MARGIN + (wide - 2 * MARGIN - where.size[0]) / 2:.1f} {top})">')
    body += [_edge(arrow, where, i) for i, arrow in enumerate(picture.arrows)]
    body += [
        _node(box, those, *pair) for box, those, *pair in zip(picture.boxes, texts, where.centres, sizes, strict=True)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="chainrule" viewBox="0 0 {wide:.0f} {high:.0f}" '
            f'width="{wide:.0f}" height="{high:.0f}" role="img" aria-label={quoteattr(_clean(picture.title))}>',
            f"<style>{_style()}</style>",
            _marker(where.curved),
            '<rect class="paper" width="100%" height="100%"/>',
            *body,
            "</g>",
            "</svg>\n",
        ]
    )


def png(picture: Picture) -> bytes:
    """The drawing as a PNG. Raises `ChainruleError` of kind `install`."""
    try:
        from matplotlib import get_data_path
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise ChainruleError(
            "install",
            f"a PNG needs the library {error.name}",
            hint="pip install 'chainrule[draw]', or use --format svg",
        ) from None
    drawing = svg(picture)
    found = re.search(r'width="(\d+)" height="(\d+)"', drawing)
    assert found is not None
    zoom = min(2.0, (MOST_PIXELS / (float(found[1]) * float(found[2]))) ** 0.5)
    fonts = [f"{get_data_path()}/fonts/ttf/DejaVuSansMono{style}.ttf" for style in ("", "-Bold")]
    return bytes(svg_to_bytes(svg_string=drawing, zoom=zoom, skip_system_fonts=True, font_files=fonts))


def _style() -> str:
    """The looks, for this drawing only: in a page or a notebook it is not alone."""
    halo = "stroke:#ffffff;stroke-width:4px;paint-order:stroke"
    kinds = COLORS | {"output": OUTPUT, "not-finite": NOT_FINITE}
    rules = {
        "text": f"font-family:{FONT};font-size:{SIZE}px;fill:#1f2328",
        "rect": "stroke-width:1.2px",
        ".paper": "fill:#ffffff",
        ".name": "font-weight:bold",
        ".heading": "font-weight:bold",
        ".small": f"font-size:{SMALL}px;fill:#57606a",
        ".node text": "text-anchor:middle",
        ".label": f"font-size:{SMALL}px;fill:#57606a;text-anchor:middle;{halo}",
        ".line": "fill:none;stroke:#57606a;stroke-width:1.2px",
        ".stopped .line": "stroke-dasharray:4 3",
        ".head": "fill:#57606a",
        **{f".{kind} rect": f"fill:{fill};stroke:{line}" for kind, (fill, line) in kinds.items()},
        **{f".node.{kind} rect": "stroke-dasharray:4 3" for kind in DASHED},
        ".node.output rect": "stroke-width:2.4px",
    }
    return "".join(f".chainrule {selector}{{{look}}}" for selector, look in rules.items())


def _marker(before: bool) -> str:
    """The head of an arrow: beyond the line's end, or before it."""
    at = 0 if before else HEAD
    return (
        f'<defs><marker id="head-{at}" markerUnits="userSpaceOnUse" markerWidth="{HEAD}" markerHeight="{HEAD}" '
        f'refX="{at}" refY="4" orient="auto"><path class="head" d="M0 0.5L{HEAD} 4L0 7.5z"/></marker></defs>'
    )


def _edge(arrow: Arrow, where: Placed, i: int) -> str:
    points = [f"{x:.1f} {y:.1f}" for x, y in where.lines[i]]
    path = f"M{points[0]}{'C' if where.curved else 'L'}{' '.join(points[1:])}"
    kind = "edge" if arrow.flows else "edge stopped"
    place = "" if arrow.place is None else f' data-edge="{arrow.place}"'
    parts = [f'<g class="{kind}"{place}>', f"<title>{_text(arrow.text)}</title>" if arrow.text else "",
             f'<path class="line" d="{path}" marker-end="url(#head-{0 if where.curved else HEAD})"/>']  # fmt: skip
    if arrow.label:
        x, y = where.labels[i]
        parts.append(f'<text class="label" x="{x:.1f}" y="{y + 3:.1f}">{_text(_short_label(arrow).label)}</text>')
    return "".join([*parts, "</g>"])


def _node(box: Box, texts: Sequence[str], centre: Point, size: Point) -> str:
    x, y = centre[0] - size[0] / 2, centre[1] - size[1] / 2
    kinds = ["node", box.kind, *["output"] * box.output, *["not-finite"] * (not box.finite)]
    place = "" if box.place is None else f' data-row="{box.place}"'
    radius = size[1] / 2 if box.kind in ("leaf", "accumulate") else 6
    names = ["name", *("small" if name == "grad_fn" else name for name in box.cells), *["small"] * bool(box.remark)]
    rows = [
        f'<text class="{name}" x="{centre[0]:.1f}" y="{y + PAD / 2 + LINE * (n + 0.75):.1f}">{_text(text)}</text>'
        for n, (name, text) in enumerate(zip(names, texts, strict=True))
    ]
    whole = _text("\n".join(lines(box)))
    shape = f'<rect x="{x:.1f}" y="{y:.1f}" width="{size[0]:.1f}" height="{size[1]:.1f}" rx="{min(radius, 18):g}"/>'
    return f'<g class="{" ".join(kinds)}"{place}><title>{whole}</title>{shape}{"".join(rows)}</g>'


def _short_label(arrow: Arrow) -> Arrow:
    return arrow._replace(label=shortened(arrow.label, 30))


def shortened(text: str, most: int = LONGEST) -> str:
    """A text on one line of a box."""
    text = " ".join(text.split())
    return text if width(text) <= most else text[: most - 1].rstrip("…, ") + "…"


def _width(text: str, size: float) -> float:
    return width(text) * size * ADVANCE


def _text(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    """The text without characters that XML forbids."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "�", text)

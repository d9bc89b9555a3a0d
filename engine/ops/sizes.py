"""Shapes in words, and the limit of what may be allocated."""

from __future__ import annotations

import math

from ..errors import ChainruleError

MAX_ELEMENTS = 10**8  # 800 MB: nothing larger is allocated


def shape_text(shape: tuple[int, ...]) -> str:
    """A shape as people write it: 2×3, and 'a scalar' for ()."""
    return "×".join(map(str, shape)) if len(shape) > 1 else f"({shape[0]},)" if shape else "a scalar"


def check_size(shape: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` itself if an array of it may be allocated, else a `ChainruleError` of kind `limit`."""
    if math.prod(shape) > MAX_ELEMENTS:
        raise ChainruleError(
            "limit",
            f"an array of shape {shape_text(shape)} has {math.prod(shape):,} elements; the limit is {MAX_ELEMENTS:,}",
        )
    return shape

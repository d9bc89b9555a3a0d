"""Repeated parts of a large graph, taken together so that the rest can be looked at.

A sum of a thousand terms or a loop of a thousand rounds is one pattern along a chain of nodes. The chain's first two
repeats and its last are kept; those between become one part, with all that only they use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

FEWEST = 5  # repeats that are worth taking together
LONGEST = 24  # nodes of a pattern


class Part(NamedTuple):
    """What is shown as one box: a node, or several taken together.

    nodes     their places, ascending
    repeats   how many repeats they are; 0 for a single node, and for what is left out without a pattern
    like      a node that is shown and stands for the repeats, or None
    """

    nodes: tuple[int, ...]
    repeats: int = 0
    like: int | None = None


def parts(inputs: Sequence[Sequence[int]], signs: Sequence[Hashable], output: int, limit: int) -> list[Part]:
    """The parts of a graph of which at most about `limit` are shown; 0 shows every node.

    `inputs` holds for each node the places of its inputs, all before it; nodes of one operation have one sign.
    """
    count = len(inputs)
    group: list[Part | None] = [None] * count
    if limit and count > limit:
        users = Counter(j for those in inputs for j in those)
        for chain in _chains(inputs):
            steps = [(signs[i], inputs[i].index(j)) for i, j in pairwise(chain)]
            for start, period, repeats in _repeats(steps):
                middle = chain[start + period : start + period * (repeats - 2)]
                if output in middle:
                    continue
                like = chain[start + period * (repeats - 2)]
                _take(inputs, users, group, middle, Part((), repeats - 3, like))
        _cut(inputs, group, output, limit)
    return [part if part.like is None or group[part.like] is None else Part(part.nodes) for part in _in_order(group)]


def _in_order(group: Sequence[Part | None]) -> list[Part]:
    """The parts of a graph, and its nodes that are in none, by their last nodes."""
    found = {part.nodes[-1]: part for part in group if part is not None}
    found |= {i: Part((i,)) for i, part in enumerate(group) if part is None}
    return [found[i] for i in sorted(found)]


def _chains(inputs: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Every node in one chain: from a node to its deepest input, and so on, until a chain that is there already."""
    depth = [0] * len(inputs)
    for i, those in enumerate(inputs):
        depth[i] = 1 + max((depth[j] for j in those), default=0)
    seen = [False] * len(inputs)
    for i in range(len(inputs) - 1, -1, -1):
        chain: list[int] = []
        while not seen[i]:
            seen[i] = True
            chain.append(i)
            if inputs[i]:
                i = max(inputs[i], key=lambda j: depth[j])
        if len(chain) >= FEWEST:
            yield chain


def _repeats(signs: Sequence[Hashable]) -> Iterator[tuple[int, int, int]]:
    """Where a pattern repeats at least `FEWEST` times: its start, its length, how often. They do not overlap."""
    used = [False] * len(signs)
    for period in range(1, min(LONGEST, len(signs) // FEWEST) + 1):
        start = 0
        while start + period < len(signs):
            end = start
            while end + period < len(signs) and signs[end] == signs[end + period] and not used[end + period]:
                end += 1
            repeats = (end - start) // period + 1
            if repeats >= FEWEST and not used[start]:
                used[start : start + period * repeats] = [True] * (period * repeats)
                yield start, period, repeats
            start = max(end, start + 1)


def _take(
    inputs: Sequence[Sequence[int]], users: Counter[int], group: list[Part | None], middle: Sequence[int], part: Part
) -> None:
    """Make one part of the nodes of `middle` and of what only they use; the chain below them stays."""
    inside = set(middle)
    used: Counter[int] = Counter()
    stack = list(middle)
    while stack:
        for j in inputs[stack.pop()]:
            used[j] += 1
            if j not in inside and j != part.like and used[j] == users[j]:
                inside.add(j)
                stack.append(j)
    nodes = tuple(sorted(i for i in inside if group[i] is None))
    for i in nodes:
        group[i] = part._replace(nodes=nodes)


def _cut(inputs: Sequence[Sequence[int]], group: list[Part | None], output: int, limit: int) -> None:
    """Where too many are left, leave out those furthest from the output; leaves stay where they are few."""
    shown = _in_order(group)
    leaves = {part.nodes for part in shown if len(part.nodes) == 1 and not inputs[part.nodes[0]]}
    kept = leaves if len(leaves) <= limit // 2 else set()
    free = [part.nodes for part in shown if part.nodes not in kept and part.nodes != (output,)]
    cut = free[: max(0, len(shown) - limit)]
    if len(cut) > 1 or any(len(nodes) > 1 for nodes in cut):
        nodes = tuple(sorted(i for those in cut for i in those))
        for i in nodes:
            group[i] = Part(nodes)

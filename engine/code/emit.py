"""A graph as the statements of a function: shared expressions become variables, the rest stands where it is used.

Texts are built from the leaves up, so nothing recurses; an expression that grows long becomes a variable too. In
languages whose functions raise errors outside of their domain, a variable that only one side of a choice needs is
computed only there: `v1 = math.sqrt(x) if x > 0 else math.nan`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..graph import Graph
from ..ops.arithmetic import where
from ..ops.arrays import index

if TYPE_CHECKING:
    from .languages import Language

SHORT = 30  # characters of what is written again rather than kept
LONGEST = 120  # characters of an expression


class Piece(NamedTuple):
    """The text of an expression, its precedence, and whether it is a truth value of the language."""

    text: str
    level: int
    truth: bool = False
    number: float | None = None


class Guard(NamedTuple):
    """Where a node is needed: only where all conditions of the chain are true (or false, as `holds` says)."""

    outer: Guard | None
    condition: int
    holds: bool
    depth: int


class Emitter:
    """The statements that compute the nodes `roots`.

    names  of the variables that nodes get where they are one: the inputs' and the statements'
    """

    def __init__(
        self, language: Language, graph: Graph, roots: Sequence[int], names: Mapping[int, str], *, share: bool = True
    ) -> None:
        self.language = language
        self.graph = graph
        self.roots = roots
        self.names = dict(names)
        self.share = share
        self.pieces: dict[int, Piece] = {}
        self.lines: list[tuple[str, str]] = []
        taken = {*self.names.values(), *language.reserved}
        self._free = (name for name in (f"v{n}" for n in range(1, 10**9)) if name not in taken)

    def run(self) -> list[str]:
        """Fill `lines` with variables and their texts; the texts of the roots."""
        uses = self._uses()
        guards = self._guards() if self.language.raises else {}
        for i in self._order(guards):
            piece = self._piece(i)
            node = self.graph.nodes[i]
            own = i in self.names and not node.is_leaf
            short = piece.truth or node.op.name == index.name  # a comparison, an element
            atom = piece.text.isidentifier() or piece.number is not None or (short and len(piece.text) < SHORT)
            shared = self.share and uses[i] > 1 and not atom and not node.constant
            if own or shared or (len(piece.text) > LONGEST and not piece.truth):
                piece = self._variable(i, piece, guards.get(i))
            self.pieces[i] = piece
        return [self.language.as_number(self.pieces[i]).text for i in self.roots]

    def _piece(self, i: int) -> Piece:
        node = self.graph.nodes[i]
        if node.is_leaf:
            return Piece(self.names[i], 99)
        return self.language.piece(self.graph, i, [self.pieces[j] for j in node.args])

    def _variable(self, i: int, piece: Piece, guard: Guard | None) -> Piece:
        name = self.names.get(i) or next(self._free)
        text = self.language.as_number(piece)
        if guard is not None and not piece.text.isidentifier():
            text = self.language.guarded(text, self._condition(guard))
        self.lines.append((name, text.text))
        return Piece(name, 99)

    def _condition(self, guard: Guard | None) -> Piece:
        """The conjunction of a chain of conditions, the outermost first."""
        parts = []
        while guard is not None:
            piece = self.language.as_truth(self.pieces[guard.condition])
            parts.append(piece if guard.holds else self.language.negation(piece))
            guard = guard.outer
        return self.language.conjunction(parts[::-1])

    # --- the order, and who needs what --------------------------------------------------------------------------------

    def _needed(self) -> list[bool]:
        needed = [False] * len(self.graph.nodes)
        for i in self.roots:
            needed[i] = True
        for i in range(len(needed) - 1, -1, -1):
            if needed[i] and not self.graph.nodes[i].is_leaf:
                for j in self.graph.nodes[i].args:
                    needed[j] = True
        return needed

    def _uses(self) -> list[int]:
        needed = self._needed()
        uses = [0] * len(needed)
        for i, node in enumerate(self.graph.nodes):
            if needed[i] and not node.is_leaf:
                for j in node.args:
                    uses[j] += 1
        return uses

    def _guards(self) -> dict[int, Guard | None]:
        """For each node the conditions under which it is needed; None: always."""
        guards: dict[int, Guard | None] = dict.fromkeys(self.roots)
        made: dict[tuple[int, int, bool], Guard] = {}  # equal chains are one object
        for i in range(max(self.roots, default=-1), -1, -1):
            node = self.graph.nodes[i]
            if i not in guards or node.is_leaf:
                continue
            for n, j in enumerate(node.args):
                guard = guards[i]
                if node.op is where and n:
                    chain = Guard(guard, node.args[0], n == 1, guard.depth + 1 if guard else 1)
                    guard = made.setdefault((id(guard), node.args[0], n == 1), chain)
                guards[j] = _common(guards[j], guard) if j in guards else guard
        return guards

    def _order(self, guards: Mapping[int, Guard | None]) -> Iterator[int]:
        """The needed nodes, each after what its text needs: its inputs, and the conditions of its guard."""
        done: set[int] = set()
        stack = list(reversed(self.roots))
        while stack:
            i = stack[-1]
            node = self.graph.nodes[i]
            wanted = [] if node.is_leaf else list(node.args)
            guard = guards.get(i)
            while guard is not None:
                wanted.append(guard.condition)
                guard = guard.outer
            todo = [j for j in reversed(wanted) if j not in done]
            if i not in done and todo:
                stack.extend(todo)
                continue
            stack.pop()
            if i not in done:
                done.add(i)
                yield i


def _common(a: Guard | None, b: Guard | None) -> Guard | None:
    """The conditions that two chains share."""
    while a is not b:
        if a is None or b is None:
            return None
        deeper = a.depth - b.depth
        a, b = (a.outer if deeper >= 0 else a), (b.outer if deeper <= 0 else b)
    return a

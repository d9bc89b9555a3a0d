"""Tokens to nodes: an operator-precedence parser over explicit stacks.

The loop alternates between two questions: which operand comes (a number, a name, an opening bracket, a sign), and what
follows an operand (an operator, a closing bracket, a product by juxtaposition). Operators wait on a stack until a
looser one arrives; nothing recurses, so depth and length are limited by memory only.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import cached_property
from typing import Any, NoReturn

from ..errors import ChainruleError, Span
from ..graph import INPUT, Graph, Node
from ..ops import CALLS, CONSTANTS, INFIX, UNLISTED, Op
from ..ops.arithmetic import COMPARISON, CONDITIONAL, POWER, PRODUCT, SIGN, and_, mul, where
from ..ops.arrays import array, index
from ..ops.powers import pow_
from ..ops.shapes import transpose
from . import calls, operands, refusals
from .characters import END, GRAMMAR_WORDS, canonical_name, is_name, is_number, is_superscript, split, tokenize
from .pending import ROOT, Bottom, Group, Open, Waiting

OPERATORS = {**INFIX, "**": pow_, "≤": INFIX["<="], "≥": INFIX[">="], "≠": INFIX["!="]}
# What may follow an operand: an operator's row, None for what is more than an operator, and the lowest level of the
# operators before it that are applied first. Those of one level gather to the left, but for powers and comparisons.
FOLLOWING: dict[str, tuple[Op | None, int]] = {
    **dict.fromkeys((")", "]", ",", END, ";", "|", "=", ":"), (None, CONDITIONAL)),
    **dict.fromkeys(("if", "else"), (None, CONDITIONAL + 1)),
    **{word: (op, op.level) for word, op in OPERATORS.items()},
    **{word: (None, COMPARISON + 1) for word, op in OPERATORS.items() if op.level == COMPARISON},
    **{word: (op, POWER + 1) for word, op in OPERATORS.items() if op.level == POWER},
}
# Words that may stand for more than an input of their name.
MEANINGS = frozenset({*CALLS, *UNLISTED, *CONSTANTS, *GRAMMAR_WORDS, "None"})
POWERS = frozenset({"^", "**"})
BOTTOM = Bottom()


class Expressions:
    """A parser of expressions that adds their nodes to `graph`.

    `names` are names that are inputs even where the language knows a constant of that name (e, pi); `words` are those
    of the text, where it is `split` already.
    """

    def __init__(self, graph: Graph, text: str, names: Iterable[str] = (), words: list[str] | None = None) -> None:
        self.graph = graph
        self.nodes = graph.nodes
        self.text = text
        self.words = split(text) if words is None else words
        self.k = 0  # the next token
        self.known: dict[str, int] = {}  # words that stand for a node: numbers and names seen so far
        self.forced = frozenset(names)
        self.assigned: set[str] | None = None
        self.called: dict[str, int] = {}  # functions' names, and the token of their first call
        self.draws = 0  # random arrays drawn so far
        self.operands: list[int] = []
        self.begins: list[int] = []  # the token with which each operand starts, brackets included
        self.stack: list[Any] = [BOTTOM]  # operators that wait and brackets that are open

    @cached_property
    def starts(self) -> list[int]:
        """Where each word starts in the text; only errors ask."""
        return tokenize(self.text).starts

    # --- the loop -----------------------------------------------------------------------------------------------------

    def expression(self) -> int:
        """Parse one expression from the current token on and return its node; stops before what cannot belong to it."""
        words, known, names, nodes = self.words, self.known, self.graph.names, self.nodes
        found, begins, stack = self.operands, self.begins, self.stack
        k = self.k
        while True:
            word = words[k]  # an operand is wanted
            if word in known:
                found.append(known[word])
                begins.append(k)
                k += 1
            elif word.isidentifier() and word not in MEANINGS and words[k + 1] != "=" and word.isascii():
                node = known[word] = names[word] = len(nodes)
                nodes.append(Node(INPUT, (), (k, k + 1), False, None, word))
                found.append(node)
                begins.append(k)
                k += 1
            elif word == "(":
                stack.append(Group(k, len(found)))
                k += 1
                continue
            elif word[:1].isdecimal():
                found.append(operands.number(self, word, k))
                begins.append(k)
                k += 1
            else:
                self.k = k
                wanted = operands.read(self, word)
                k = self.k
                if wanted:
                    continue
            while True:  # an operand was read
                word = words[k]
                if word in FOLLOWING:
                    op, least = FOLLOWING[word]
                    while True:
                        waiting = stack[-1]
                        if type(waiting) is Op:
                            if waiting.level < least:
                                break
                            stack.pop()
                            begins.pop()
                            right = found.pop()
                            left = found[-1]
                            found[-1] = len(nodes)
                            constant = nodes[left].constant and nodes[right].constant
                            nodes.append(Node(waiting, (left, right), (begins[-1], k), constant))
                        elif waiting.level >= least:
                            stack.pop()
                            self.k = k
                            self.apply(waiting)
                        else:
                            break
                    if op is not None:
                        stack.append(op)
                        k += 1
                        break
                    if word == ")" and type(waiting) is Group and waiting.depth + 1 == len(found):
                        stack.pop()
                        begins[-1] = waiting.at
                        k += 1
                        continue
                self.k = k
                follows = None if word == END and waiting is BOTTOM else self.follow(word)
                if follows is None:
                    begins.pop()
                    return found.pop()
                k = self.k
                if follows:
                    break

    def apply(self, waiting: Op | Waiting) -> None:
        """Apply to its operands what waited for them."""
        graph, end = self.graph, self.k
        if isinstance(waiting, Op):
            waiting = Waiting(waiting.level, waiting, end)
        op = waiting.op
        if op is None:
            if waiting.word == "if":
                refusals.unfinished(self, waiting)
            return  # unary plus
        if waiting.level == ROOT and self.words[end] in POWERS:
            refusals.root_reach(self, waiting, end)
        args, begin = tuple(self.operands[-op.arity :]), self.begins[-op.arity]
        del self.operands[-op.arity :], self.begins[-op.arity :]
        if waiting.prefix:
            begin = waiting.at
        if op is where:
            args = (args[1], args[0], args[2])
        node = graph.append(op, args, (begin, end))
        if waiting.chained is not None:
            begin = graph.nodes[waiting.chained].span[0]
            node = graph.append(and_, (waiting.chained, node), (begin, end))
        self.operands.append(node)
        self.begins.append(begin)

    @property
    def end(self) -> int:
        """Where the last token that was read ends in the text."""
        k = self.k - 1
        return self.starts[k] + len(self.words[k])

    # --- names and operands -------------------------------------------------------------------------------------------

    def push(self, node: int, k: int) -> None:
        """Make `node` an operand whose text starts at token `k`, the current one."""
        self.operands.append(node)
        self.begins.append(k)
        self.k = k + 1

    def named(self, word: str, k: int) -> int:
        """The node of a name that is seen for the first time: another spelling, a constant, or a new input."""
        name, nodes = canonical_name(word), self.nodes
        node = self.known.get(name)
        if node is None:
            node = self.known[name] = len(nodes)
            if name in CONSTANTS and not self.is_input(name):
                nodes.append(Node(CONSTANTS[name], (), (k, k + 1), True))
            else:
                nodes.append(Node(INPUT, (), (k, k + 1), False, None, name))
                self.graph.names[name] = node
        self.known[word] = node
        return node

    def is_input(self, name: str) -> bool:
        """Whether the name of a constant is an input here: named from outside, or assigned in the text."""
        if self.assigned is None:
            self.assigned = set()
            if "=" in self.words:
                self.assigned = {canonical_name(a) for a, b in itertools.pairwise(self.words) if b == "="}
        return name in self.forced or name in self.assigned

    # --- after an operand ---------------------------------------------------------------------------------------------

    def follow(self, word: str) -> bool | None:
        """Read a token after an operand that is no operator; whether an operand is wanted, None at the end."""
        k = self.k
        if word == ")" or word == "]":
            return self.close(word)
        if word in OPERATORS:
            self.compare(OPERATORS[word], k)
            return True
        if word == "\n":
            if self.bracketed:
                self.k += 1
                return False
            while self.stack[-1].level >= CONDITIONAL:
                self.apply(self.stack.pop())
            return None
        if word == ",":
            return self.comma(k)
        if word == "[" and not is_number(self.words[k - 1]):
            self.open(Open("index", k, len(self.operands), self.begins[-1]))
            return True
        if is_superscript(word):
            self.superscript(word, k)
            return False
        if word == ".T":
            self.transposed(k)
            return False
        if word == "if":
            self.stack.append(Waiting(CONDITIONAL, None, k, word="if"))
            self.k += 1
            return True
        if word == "else":
            return self.otherwise(k)
        if word == ":" and self.bracketed:
            return calls.slice_colon(self)
        if word == "(" or is_name(word) or word in ("√", "∛"):
            self.juxtapose(word, k)
            return True
        if word in FOLLOWING and not self.bracketed:
            return None
        refusals.after_operand(self, word, k)

    def compare(self, op: Op, k: int) -> None:
        """Read the sign of a comparison. A second one makes a chain: a < b < c is a < b and b < c, with one b."""
        waiting = Waiting(COMPARISON, op, k)
        if self.stack[-1].level == COMPARISON:
            middle, begin = self.operands[-1], self.begins[-1]
            self.apply(self.stack.pop())
            waiting.chained = self.operands[-1]
            self.operands[-1], self.begins[-1] = middle, begin
        self.stack.append(waiting)
        self.k += 1

    def otherwise(self, k: int) -> bool:
        """Read `else`: the condition is complete, and the other value comes."""
        while (waiting := self.stack[-1]).level == CONDITIONAL and waiting.word == "else":
            self.apply(self.stack.pop())
        if waiting.level < CONDITIONAL:
            self.fail("syntax", "'else' without 'if'", k, hint="write a if c else b")
        self.stack[-1] = Waiting(CONDITIONAL, where, k, word="else")
        self.k += 1
        return True

    def superscript(self, word: str, k: int) -> None:
        """Read a raised exponent after an operand."""
        if self.stack[-1].level == ROOT:
            refusals.root_reach(self, self.stack[-1], k)
        if word == "ᵀ":
            self.transposed(k)
            return
        exponent = operands.exponent(self, word, k)
        self.k += 1
        begin = self.begins[-1]
        self.operands[-1] = self.graph.append(pow_, (self.operands[-1], exponent), (begin, self.k))

    def transposed(self, k: int) -> None:
        """Read the sign of a transpose after an operand."""
        self.k += 1
        self.operands[-1] = self.graph.append(transpose, (self.operands[-1],), (self.begins[-1], self.k))

    def juxtapose(self, word: str, k: int) -> None:
        """A product without a sign, 2x or (x+1)(x-1): read as `*` unless it could be read otherwise."""
        before = self.words[k - 1]
        if not (is_number(before) or before == ")" or is_superscript(before)):
            refusals.no_product(self, word, k)
        if self.stack[-1].level == ROOT:
            refusals.root_reach(self, self.stack[-1], k)
        start = self.begins[-1]  # of the factor before, its signs included
        for waiting in reversed(self.stack):
            if waiting.level == SIGN:
                start = waiting.at
                continue
            if waiting.level == POWER or (waiting.level == PRODUCT and waiting is not mul):
                refusals.unclear_product(self, start - 1, k)
            break
        while self.stack[-1].level >= PRODUCT:
            self.apply(self.stack.pop())
        self.stack.append(mul)

    @property
    def bracketed(self) -> bool:
        """Whether a bracket is open."""
        return any(waiting.level == 0 for waiting in reversed(self.stack))

    # --- brackets -----------------------------------------------------------------------------------------------------

    def open(self, bracket: Open) -> None:
        """Put an open bracket on the stack; the current token is the bracket."""
        self.stack.append(bracket)
        self.k += 1

    def comma(self, k: int) -> bool | None:
        """Read a comma: the next argument, entry or index comes."""
        if not self.bracketed:
            return None
        bracket = self.stack[-1]
        if bracket.kind != "group":
            calls.end_item(self, bracket)
        elif getattr(self.stack[-2], "kind", "") != "call":
            self.fail("syntax", "a comma inside plain brackets", k, hint="a list is written [1, 2]")
        self.k += 1
        if self.words[self.k] == "]" and bracket.kind == "list":
            return self.close("]")
        return True

    def close(self, word: str) -> bool:
        """Read a closing bracket: its group, list, index or call becomes an operand. Never is an operand wanted."""
        bracket = self.stack[-1]
        if bracket is BOTTOM:
            refusals.extra_bracket(self, self.k)
        kind, depth, found, begins = bracket.kind, bracket.depth, self.operands, self.begins
        if (word == ")") != (kind == "group" or kind == "call"):
            refusals.wrong_bracket(self, bracket, self.k)
        if kind == "index" or (kind == "call" and (bracket.params or bracket.pending is not None)):
            calls.end_item(self, bracket)
        self.stack.pop()
        self.k += 1
        if kind == "group" and len(found) == depth + 1:
            begins[-1] = bracket.at
            return False
        span = (bracket.start, self.k)
        if kind == "index":
            found[-1] = self.graph.append(index.bind(key=tuple(bracket.parts)), (found[-1],), span)
            begins[-1] = bracket.start
            return False
        args = tuple(found[depth:])
        del found[depth:], begins[depth:]
        node = calls.call(self, bracket, args) if kind == "call" else self.graph.append(array, args, span)
        if bracket.power is not None:
            word = self.words[bracket.power]
            exponent = self.known.get(word) if is_number(word) else operands.exponent(self, word, bracket.power)
            exponent = operands.number(self, word, bracket.power) if exponent is None else exponent
            node = self.graph.append(pow_, (node, exponent), span)
        found.append(node)
        begins.append(bracket.start)
        return False

    # --- errors -------------------------------------------------------------------------------------------------------

    def token_span(self, k: int) -> Span:
        """Where token `k` stands; the end of the text is the place after its last character."""
        k = min(k, len(self.words) - 1)
        return Span(self.starts[k], self.starts[k] + max(1, len(self.words[k])))

    def fail(self, kind: str, message: str, *tokens: int, hint: str | None = None) -> NoReturn:
        """Raise an error at some tokens."""
        raise ChainruleError(kind, message, spans=map(self.token_span, tokens), hint=hint, source=self.text)

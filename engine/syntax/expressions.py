"""Tokens to nodes: an operator-precedence parser over explicit stacks.

The loop alternates between two questions: which operand comes (a number, a name, an opening bracket, a sign), and what
follows an operand (an operator, a closing bracket, a product by juxtaposition). Operators wait on a stack until a
looser one arrives; nothing recurses, so depth and length are limited by memory only.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, NoReturn

from ..errors import ChainruleError, Span
from ..graph import INPUT, Graph, Node
from ..ops import CONSTANTS, INFIX, Op
from ..ops.arithmetic import COMPARISON, CONDITIONAL, POWER, PRODUCT, SIGN, and_, mul, where
from ..ops.arrays import array, index
from ..ops.powers import pow_
from ..ops.shapes import transpose
from . import calls, operands, refusals
from .characters import END, canonical_name, is_name, is_number, is_superscript, split, tokenize
from .pending import ROOT, Marked, Open, Waiting

# What may follow an operand as an infix operator.
OPERATORS = {**INFIX, "**": pow_, "≤": INFIX["<="], "≥": INFIX[">="], "≠": INFIX["!="]}


class Expressions:
    """A parser of expressions that adds their nodes to `graph`.

    `names` are names that are inputs even where the language knows a constant of that name (e, pi).
    """

    def __init__(self, graph: Graph, text: str, names: Iterable[str] = ()) -> None:
        self.graph = graph
        self.text = text
        self.words = split(text)
        self.k = 0  # the next token
        self.known: dict[str, int] = {}  # words that stand for a node: numbers and names seen so far
        self.forced = set(names)
        self.assigned: set[str] | None = None
        self.called: dict[str, int] = {}  # functions' names, and the token of their first call
        self.first_use: dict[str, int] = {}  # inputs' names, and the token of their first use
        self.draws = 0  # random arrays drawn so far
        self.operands: list[int] = []
        self.begins: list[int] = []  # the token with which each operand starts, brackets included
        self.stack: list[Any] = []  # operators that wait and brackets that are open
        self.brackets = 0

    @cached_property
    def starts(self) -> list[int]:
        """Where each word starts in the text; only errors ask."""
        return tokenize(self.text).starts

    # --- the loop -----------------------------------------------------------------------------------------------------

    def expression(self) -> int:
        """Parse one expression from the current token on and return its node; stops before what cannot belong to it."""
        words, known = self.words, self.known
        found, begins, stack = self.operands, self.begins, self.stack
        k = self.k
        while True:
            word = words[k]  # an operand is wanted
            node = known.get(word)
            if word == "(":
                stack.append(Open("group", k, len(found), k))
                self.brackets += 1
                k += 1
                continue
            if node is None:
                self.k = k
                wanted = operands.read(self, word)
                k = self.k
                if wanted:
                    continue
            else:
                found.append(node)
                begins.append(k)
                k += 1
            while True:  # an operand was read
                self.k = k
                word = words[k]
                op = OPERATORS.get(word)
                if op is not None:
                    level = op.level
                    if level == POWER and stack and stack[-1].level == ROOT:
                        refusals.root_reach(self, k)
                    while stack:
                        above = stack[-1].level
                        if above < level or (above == level and (level in (COMPARISON, POWER))):
                            break
                        self.reduce()
                    if level == COMPARISON and stack and stack[-1].level == COMPARISON:
                        self.chain(op, k)
                    else:
                        stack.append(Waiting(level, op, k))
                    k += 1
                    break
                if word == ")":
                    self.close(word)
                    k += 1
                    continue
                if word == "\n" and self.brackets:
                    k += 1
                    continue
                follows = self.follow(word)
                if follows is None:
                    return self.finish()
                k = self.k
                if follows:
                    break

    def chain(self, op: Op, k: int) -> None:
        """Read the second sign of a < b < c, which is a < b and b < c with one b."""
        middle, begin = self.operands[-1], self.begins[-1]
        self.reduce()
        waiting = Marked(COMPARISON, op, k)
        waiting.chained = self.operands[-1]
        self.operands[-1], self.begins[-1] = middle, begin
        self.stack.append(waiting)

    def reduce(self) -> None:
        """Apply the operator on top of the stack to its operands."""
        waiting = self.stack.pop()
        operands, begins, graph = self.operands, self.begins, self.graph
        end = self.k
        if type(waiting) is Waiting:
            del begins[-1]
            right, nodes = operands.pop(), graph.nodes
            left = operands[-1]
            operands[-1] = len(nodes)
            constant = nodes[left].constant and nodes[right].constant
            nodes.append(Node(waiting.op, (left, right), (begins[-1], end), constant))
            return
        if waiting.op is None:  # unary plus, or an open bracket or conditional that never ended
            if waiting.level == SIGN:
                operands.append(operands.pop())
                return
            refusals.unfinished(self, waiting)
        right = operands.pop()
        if waiting.prefix:
            begins[-1] = waiting.at
            operands.append(graph.append(waiting.op, (right,), (begins[-1], end)))
            return
        begins.pop()
        left = operands.pop()
        if waiting.op is where:
            begins.pop()
            args: tuple[int, ...] = (left, operands.pop(), right)
        else:
            args = (left, right)
        start = begins[-1]
        node = graph.append(waiting.op, args, (start, end))
        if waiting.chained is not None:
            start = graph.nodes[waiting.chained].span[0]
            node = graph.append(and_, (waiting.chained, node), (start, end))
        operands.append(node)

    @property
    def end(self) -> int:
        """Where the last token that was read ends in the text."""
        k = self.k - 1
        return self.starts[k] + len(self.words[k])

    def finish(self) -> int:
        """Apply all that waits and return the expression's node."""
        while self.stack:
            self.reduce()
        self.begins.pop()
        return self.operands.pop()

    # --- names and operands -------------------------------------------------------------------------------------------

    def push(self, node: int, k: int) -> None:
        """Make `node` an operand whose text starts at token `k`, the current one."""
        self.operands.append(node)
        self.begins.append(k)
        self.k += 1

    def named(self, word: str, k: int) -> int:
        """The node of a name that is seen for the first time: another spelling, a constant, or a new input."""
        name = word if word.isascii() else canonical_name(word)
        node = self.known.get(name)
        if node is None:
            span = (k, k + 1)
            if name in CONSTANTS and not self.is_input(name):
                node = self.graph.append(CONSTANTS[name], (), span)
            else:
                graph = self.graph
                made = Node(INPUT, (), span, False)
                made.name = name
                node = graph.names[name] = len(graph.nodes)
                graph.nodes.append(made)
                self.first_use[name] = k
            self.known[name] = node
        if name is not word:
            self.known[word] = node
        return node

    def is_input(self, name: str) -> bool:
        """Whether the name of a constant is an input here: named from outside, or assigned in the text."""
        if self.assigned is None:
            self.assigned = {canonical_name(a) for a, b in zip(self.words, self.words[1:], strict=False) if b == "="}
        return name in self.forced or name in self.assigned

    # --- after an operand ---------------------------------------------------------------------------------------------

    def follow(self, word: str) -> bool | None:
        """Read a token after an operand that is no infix operator; whether an operand is wanted, None at the end."""
        k = self.k
        if word == ")" or word == "]":
            return self.close(word)
        if word == END and not self.brackets:
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
            self.postfix(transpose, k)
            return False
        if word == "if":
            self.unwind(CONDITIONAL)
            self.stack.append(Marked(CONDITIONAL, None, k, word="if"))
            self.k += 1
            return True
        if word == "else":
            return self.otherwise(k)
        if word == ":" and self.stack:
            return calls.slice_colon(self)
        if word == "(" or is_name(word) or word in ("√", "∛"):
            self.juxtapose(word, k)
            return True
        if self.brackets == 0 and word in (END, ";", "\n", "|", "=", ":"):
            return None
        refusals.after_operand(self, word, k)

    def unwind(self, level: int) -> None:
        """Apply what binds tighter than `level`."""
        while self.stack and self.stack[-1].level > level:
            self.reduce()

    def otherwise(self, k: int) -> bool:
        """Read `else`: the condition is complete, and the other value comes."""
        while self.stack and self.stack[-1].level >= CONDITIONAL and self.stack[-1].word != "if":
            self.reduce()
        if not self.stack or self.stack[-1].level == 0:
            self.fail("syntax", "'else' without 'if'", k, hint="write a if c else b")
        self.stack[-1] = Marked(CONDITIONAL, where, k, word="else")
        self.k += 1
        return True

    def superscript(self, word: str, k: int) -> None:
        """Read a raised exponent after an operand."""
        if self.stack and self.stack[-1].level == ROOT:
            refusals.root_reach(self, k)
        if word == "ᵀ":
            self.postfix(transpose, k)
            return
        exponent = operands.exponent(self, word, k)
        self.k += 1
        begin = self.begins[-1]
        self.operands[-1] = self.graph.append(pow_, (self.operands[-1], exponent), (begin, self.k))

    def postfix(self, op: Op, k: int) -> None:
        """Apply a postfix operator to the operand just read."""
        self.k += 1
        self.operands[-1] = self.graph.append(op, (self.operands[-1],), (self.begins[-1], self.k))

    def juxtapose(self, word: str, k: int) -> None:
        """A product without a sign, 2x or (x+1)(x-1): read as `*` unless it could be read otherwise."""
        before = self.words[k - 1]
        if not (is_number(before) or before == ")" or is_superscript(before)):
            refusals.no_product(self, word, k)
        if self.stack and self.stack[-1].level == ROOT:
            refusals.root_reach(self, k)
        for waiting in reversed(self.stack):
            if waiting.level == SIGN and waiting.prefix:
                continue
            if waiting.level == POWER or (waiting.level == PRODUCT and waiting.op is not mul):
                refusals.unclear_product(self, waiting, k)
            break
        self.unwind(PRODUCT - 1)
        self.stack.append(Waiting(PRODUCT, mul, k))

    # --- brackets -----------------------------------------------------------------------------------------------------

    def open(self, bracket: Open) -> None:
        """Put an open bracket on the stack; the current token is the bracket."""
        self.stack.append(bracket)
        self.brackets += 1
        self.k += 1

    def innermost(self, k: int) -> Open:
        """Apply what waits inside the innermost bracket and return that bracket."""
        stack = self.stack
        while stack and stack[-1].level:
            self.reduce()
        if not stack:
            refusals.extra_bracket(self, k)
        bracket: Open = stack[-1]
        return bracket

    def comma(self, k: int) -> bool | None:
        """Read a comma: the next argument, entry or index comes."""
        if self.brackets == 0:
            return None
        bracket = self.innermost(k)
        if bracket.kind == "group" and not (len(self.stack) > 1 and getattr(self.stack[-2], "kind", "") == "call"):
            self.fail("syntax", "a comma inside plain brackets", k, hint="a list is written [1, 2]")
        calls.end_item(self, bracket)
        self.k += 1
        if self.words[self.k] == "]" and bracket.kind == "list":
            return self.close("]")
        return True

    def close(self, word: str) -> bool:
        """Read a closing bracket: its group, list, index or call becomes an operand. Never is an operand wanted."""
        k = self.k
        bracket = self.innermost(k)
        kind, depth, begins = bracket.kind, bracket.depth, self.begins
        if kind == "group" and word == ")" and len(self.operands) == depth + 1:  # the commonest case
            self.stack.pop()
            self.brackets -= 1
            self.k = k + 1
            begins[-1] = bracket.start
            return False
        if (word == ")") != (kind == "group" or kind == "call"):
            refusals.wrong_bracket(self, bracket, k)
        if kind == "index" or bracket.pending is not None or bracket.params:
            calls.end_item(self, bracket)
        self.stack.pop()
        self.brackets -= 1
        self.k = k + 1
        args = tuple(self.operands[depth:])
        span = (bracket.start, self.k)
        if kind == "index":
            node = self.graph.append(index.bind(key=tuple(bracket.parts)), (self.operands.pop(),), span)
            begins.pop()
        else:
            del self.operands[depth:], begins[depth:]
            node = self.graph.append(array, args, span) if bracket.kind != "call" else calls.call(self, bracket, args)
        if bracket.power is not None:
            word = self.words[bracket.power]
            exponent = self.known.get(word) if is_number(word) else operands.exponent(self, word, bracket.power)
            exponent = operands.number(self, word, bracket.power) if exponent is None else exponent
            node = self.graph.append(pow_, (node, exponent), span)
        self.operands.append(node)
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

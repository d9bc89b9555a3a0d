"""Tokens to nodes: an operator-precedence parser over explicit stacks.

The loop alternates between two questions: which operand comes (a number, a name, an opening bracket, a sign), and what
follows an operand (an operator, a closing bracket, a product by juxtaposition). Operators wait on a stack until a looser
one arrives; nothing recurses, so depth and length are limited by memory only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NoReturn

from ..errors import ChainruleError, Span
from ..graph import INPUT, Graph
from ..ops import CALLS, CONSTANTS, INFIX, TABLE, Op
from ..ops.arithmetic import COMPARISON, CONDITIONAL, NOT, POWER, PRODUCT, SIGN
from . import calls, refusals
from .characters import END, GRAMMAR_WORDS, Tokens, canonical_name, is_name, is_number, is_superscript, read_superscript, tokenize

ROOT = POWER + 1  # √ binds tighter than any operator, and refuses those whose reach would be unclear

# What may follow an operand as an infix operator, and what may stand before one as a prefix.
OPERATORS = {**INFIX, "**": INFIX["^"], "≤": INFIX["<="], "≥": INFIX[">="], "≠": INFIX["!="]}
PREFIXES = {"-": TABLE["neg"], "+": None, "not": TABLE["not"], "√": TABLE["sqrt"], "∛": TABLE["cbrt"]}
_MUL, _POW, _AND, _WHERE, _ARRAY, _INDEX, _TRANSPOSE = (
    TABLE[name] for name in ("mul", "pow", "and", "where", "array", "index", "transpose")
)


class Waiting:
    """An operator that waits for its right operand; `chained` is the comparison before it in a < b < c."""

    __slots__ = ("at", "chained", "level", "op", "prefix", "word")

    def __init__(self, level: int, op: Op | None, at: int, prefix: bool = False, word: str = "") -> None:
        self.level = level
        self.op = op
        self.at = at  # the token
        self.prefix = prefix
        self.word = word
        self.chained: int | None = None


class Open:
    """An open bracket: `(` of a group or a call, `[` of a list or an index."""

    __slots__ = ("at", "depth", "kind", "level", "name", "params", "parts", "pending", "pending_at", "power",
                 "slice", "start")  # fmt: skip

    def __init__(self, kind: str, at: int, depth: int, start: int, name: str = "") -> None:
        self.kind = kind
        self.level = 0
        self.at = at  # the token of the bracket
        self.start = start  # where the text of the whole operand starts
        self.depth = depth  # how many operands lie below it
        self.name = name  # the function's, for a call
        self.params: dict[str, Any] = {}  # its keyword arguments
        self.pending: str | None = None  # the keyword whose value comes next
        self.pending_at = at  # its token
        self.parts: list[Any] = []  # an index's finished items
        self.slice: list[int | None] | None = None  # the parts so far of the slice that is being read
        self.power: int | None = None  # sin^2(x): the token of the exponent


class Expressions:
    """A parser of expressions that adds their nodes to `graph`.

    `names` are names that are inputs even where the language knows a constant of that name (e, pi).
    """

    def __init__(self, graph: Graph, text: str, names: Iterable[str] = ()) -> None:
        self.graph = graph
        self.text = text
        self.words, self.starts = tokenize(text)
        self.k = 0  # the next token
        self.known: dict[str, int] = {}  # words that stand for a node: numbers and names seen so far
        self.forced = set(names)
        self.assigned: set[str] | None = None
        self.called: dict[str, int] = {}  # functions' names, and the token of their first call
        self.first_use: dict[str, int] = {}  # inputs' names, and the token of their first use
        self.draws = 0  # random arrays drawn so far
        self.operands: list[int] = []
        self.begins: list[int] = []  # where the text of each operand starts, brackets included
        self.stack: list[Any] = []  # operators that wait and brackets that are open
        self.brackets = 0

    @property
    def tokens(self) -> Tokens:
        """The words, and where each starts."""
        return Tokens(self.words, self.starts)

    # --- the loop -----------------------------------------------------------------------------------------------------

    def expression(self) -> int:
        """Parse one expression from the current token on and return its node; stops before what cannot belong to it."""
        words, starts, known = self.words, self.starts, self.known
        operands, begins, stack = self.operands, self.begins, self.stack
        operand_wanted = True
        while True:
            k = self.k
            word = words[k]
            if operand_wanted:
                node = known.get(word)
                if node is None:
                    operand_wanted = self.operand(word)
                    continue
                operands.append(node)
                begins.append(starts[k])
                self.k = k + 1
                operand_wanted = False
                continue
            op = OPERATORS.get(word)
            if op is not None:
                level = op.level
                if level == POWER and stack and stack[-1].level == ROOT:
                    refusals.root_reach(self, k)
                while stack and (stack[-1].level > level or (stack[-1].level == level and COMPARISON != level != POWER)):
                    self.reduce()
                if level == COMPARISON and stack and stack[-1].level == COMPARISON:
                    self.chain(op, k)
                else:
                    stack.append(Waiting(level, op, k))
                self.k = k + 1
                operand_wanted = True
                continue
            if word == "\n" and self.brackets:
                self.k = k + 1
                continue
            follows = self.follow(word)
            if follows is None:
                return self.finish()
            operand_wanted = follows

    def chain(self, op: Op, k: int) -> None:
        """Read the second sign of a < b < c, which is a < b and b < c with one b."""
        middle, begin = self.operands[-1], self.begins[-1]
        self.reduce()
        waiting = Waiting(COMPARISON, op, k)
        waiting.chained = self.operands[-1]
        self.operands[-1], self.begins[-1] = middle, begin
        self.stack.append(waiting)

    def reduce(self) -> None:
        """Apply the operator on top of the stack to its operands."""
        waiting = self.stack.pop()
        operands, begins, graph = self.operands, self.begins, self.graph
        k = self.k - 1
        end = self.starts[k] + len(self.words[k])
        if waiting.op is None:  # unary plus, or an open bracket or conditional that never ended
            if waiting.level == SIGN:
                operands.append(operands.pop())
                return
            refusals.unfinished(self, waiting)
        right = operands.pop()
        if waiting.prefix:
            begins[-1] = self.starts[waiting.at]
            operands.append(graph.append(waiting.op, (right,), (begins[-1], end)))
            return
        begins.pop()
        left = operands.pop()
        if waiting.op is _WHERE:
            begins.pop()
            args = (left, operands.pop(), right)
        else:
            args = (left, right)
        start = begins[-1]
        node = graph.append(waiting.op, args, (start, end))
        if waiting.chained is not None:
            start = graph.nodes[waiting.chained].span[0]
            node = graph.append(_AND, (waiting.chained, node), (start, end))
        operands.append(node)

    @property
    def end(self) -> int:
        """Where the last token that was read ends."""
        k = self.k - 1
        return self.starts[k] + len(self.words[k])

    def finish(self) -> int:
        """Apply all that waits and return the expression's node."""
        while self.stack:
            self.reduce()
        self.begins.pop()
        return self.operands.pop()

    # --- where an operand is wanted -----------------------------------------------------------------------------------

    def operand(self, word: str) -> bool:
        """Read a token where an operand is wanted; whether one is wanted still."""
        k = self.k
        if is_number(word):
            self.push(self.number(word, k), k)
            return False
        if word in PREFIXES:
            self.prefix(word, k)
            return True
        if word == "(":
            self.open(Open("group", k, len(self.operands), self.starts[k]))
            return True
        if word == "[":
            self.open(Open("list", k, len(self.operands), self.starts[k]))
            return self.words[self.k] != "]" or self.close("]")
        if word == "\n" and self.brackets:
            self.k += 1
            return True
        if is_name(word) and word not in GRAMMAR_WORDS:
            return self.name_or_call(word, k)
        if word == "∞":
            self.push(self.named("inf", k), k)
            return False
        return calls.no_operand(self, word)

    def push(self, node: int, k: int) -> None:
        """Make `node` an operand whose text starts at token `k`, the current one."""
        self.operands.append(node)
        self.begins.append(self.starts[k])
        self.k += 1

    def number(self, word: str, k: int) -> int:
        """The node of a number."""
        following = self.words[k + 1]
        joined = self.starts[k + 1] == self.starts[k] + len(word)
        if joined and (word.endswith(".") and (is_name(following) or following == ".T")):
            refusals.point_before_name(self, k)
        if joined and word == "0" and following[:1] in tuple("xXbBoO") and following[1:2].isdecimal():
            refusals.other_base(self, k)
        value = float(word)
        if math.isinf(value):
            self.fail("value", f"{word} is larger than the largest number, about 1.8e308", k)
        node = self.graph.number(value, (self.starts[k], self.starts[k] + len(word)))
        self.known[word] = node
        return node

    def prefix(self, word: str, k: int) -> None:
        """Read a sign, `not` or a root sign."""
        op = PREFIXES[word]
        level = SIGN if op is None else op.level or ROOT
        if level == NOT and self.stack and self.stack[-1].level > NOT:
            self.fail("syntax", "'not' binds looser than the operator before it", k, hint="put brackets: (not …)")
        if self.stack and self.stack[-1].level == ROOT:
            self.fail("syntax", "a root sign stands before a number, a name or a bracket", k, hint=f"write {word}( … )")
        self.stack.append(Waiting(level, op, k, prefix=True, word=word))
        self.k += 1

    def name_or_call(self, word: str, k: int) -> bool:
        """Read a name: a function that is called, a constant, or an input; whether an operand is wanted still."""
        following = self.words[k + 1]
        if following == "=" and self.stack and isinstance(self.stack[-1], Open) and self.stack[-1].kind == "call":
            return calls.keyword(self, word, k)
        if word in CALLS:
            if following == "(":
                self.called.setdefault(word, k)
                self.k += 1
                self.open(Open("call", k + 1, len(self.operands), self.starts[k], word))
                return self.words[self.k] != ")" or self.close(")")
            if following in ("^", "**") or is_superscript(following):
                opened = calls.powered_call(self, word, k)
                if opened:
                    return True
            if is_name(following) and following not in GRAMMAR_WORDS or is_number(following):
                refusals.bracketless_call(self, k)
        if word == "None" and self.stack and getattr(self.stack[-1], "kind", "") == "index":
            return calls.new_axis(self)
        self.push(self.named(word, k), k)
        return False

    def named(self, word: str, k: int) -> int:
        """The node of a name that is seen for the first time: another spelling, a constant, or a new input."""
        name = canonical_name(word)
        node = self.known.get(name)
        if node is None:
            span = (self.starts[k], self.starts[k] + len(word))
            if name in CONSTANTS and not self.is_input(name):
                node = self.graph.append(TABLE[name], (), span)
            else:
                node = self.graph.append(INPUT, (), span)
                self.graph.give_name(name, node)
                self.first_use[name] = k
        self.known[name] = self.known[word] = node
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
        if word == ",":
            return self.comma(k)
        if word == "[" and not is_number(self.words[k - 1]):
            self.open(Open("index", k, len(self.operands), self.begins[-1]))
            return True
        if is_superscript(word):
            self.superscript(word, k)
            return False
        if word == ".T":
            self.postfix(_TRANSPOSE, k)
            return False
        if word == "if":
            self.unwind(CONDITIONAL)
            self.stack.append(Waiting(CONDITIONAL, None, k, word="if"))
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
        self.stack[-1] = Waiting(CONDITIONAL, _WHERE, k, word="else")
        self.k += 1
        return True

    def superscript(self, word: str, k: int) -> None:
        """Read a raised exponent after an operand."""
        if self.stack and self.stack[-1].level == ROOT:
            refusals.root_reach(self, k)
        if word == "ᵀ":
            self.postfix(_TRANSPOSE, k)
            return
        exponent = self.exponent(word, k)
        self.k += 1
        begin = self.begins[-1]
        self.operands[-1] = self.graph.append(_POW, (self.operands[-1], exponent), (begin, self.end))

    def exponent(self, word: str, k: int) -> int:
        """The node of a raised exponent."""
        parts = read_superscript(word)
        if parts is None:
            self.fail("syntax", f"{word} is not an exponent", k, hint="write ^( … )")
        span = (self.starts[k], self.starts[k] + len(word))
        node = self.graph.number(float(parts.digits), span) if parts.digits else None
        if parts.letter:
            n = self.known.get("n")
            n = self.named("n", k) if n is None else n
            node = n if node is None else self.graph.append(_MUL, (node, n), span)
        assert node is not None
        return self.graph.append(TABLE["neg"], (node,), span) if parts.negative else node

    def postfix(self, op: Op, k: int) -> None:
        """Apply a postfix operator to the operand just read."""
        self.k += 1
        self.operands[-1] = self.graph.append(op, (self.operands[-1],), (self.begins[-1], self.end))

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
            if waiting.level == POWER or (waiting.level == PRODUCT and waiting.op is not _MUL):
                refusals.unclear_product(self, waiting, k)
            break
        self.unwind(PRODUCT - 1)
        self.stack.append(Waiting(PRODUCT, _MUL, k))

    # --- brackets -----------------------------------------------------------------------------------------------------

    def open(self, bracket: Open) -> None:
        """Put an open bracket on the stack; the current token is the bracket."""
        self.stack.append(bracket)
        self.brackets += 1
        self.k += 1

    def innermost(self, k: int) -> Open:
        """Apply what waits inside the innermost bracket and return that bracket."""
        while self.stack and self.stack[-1].level:
            self.reduce()
        if not self.stack:
            refusals.extra_bracket(self, k)
        bracket: Open = self.stack[-1]
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
        if (word == ")") != (bracket.kind in ("group", "call")):
            refusals.wrong_bracket(self, bracket, k)
        calls.end_item(self, bracket, last=True)
        self.stack.pop()
        self.brackets -= 1
        self.k += 1
        operands, begins = self.operands, self.begins
        args = tuple(operands[bracket.depth :])
        if bracket.kind == "group" and len(args) == 1:
            begins[-1] = bracket.start
            return False
        span = (bracket.start, self.end)
        if bracket.kind == "index":
            node = self.graph.append(_INDEX.bind(key=tuple(bracket.parts)), (operands.pop(),), span)
            begins.pop()
        else:
            del operands[bracket.depth :], begins[bracket.depth :]
            node = self.graph.append(_ARRAY, args, span) if bracket.kind != "call" else calls.call(self, bracket, args)
        if bracket.power is not None:
            word = self.words[bracket.power]
            exponent = self.known.get(word) if is_number(word) else self.exponent(word, bracket.power)
            exponent = self.number(word, bracket.power) if exponent is None else exponent
            node = self.graph.append(_POW, (node, exponent), span)
        operands.append(node)
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

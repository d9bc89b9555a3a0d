"""Programs: statements, and what stands after the bar."""

from __future__ import annotations

import gc
import re
import zlib
from collections.abc import Iterable

from ..errors import ChainruleError, Span, did_you_mean
from ..graph import INPUT, LEAF, NUMBER, Graph, Value
from ..ops import CONSTANTS
from ..ops.arithmetic import identity
from ..ops.barriers import const
from . import refusals
from .characters import END, GRAMMAR_WORDS, canonical_name, is_name, tokenize
from .expressions import Expressions

MAX_TEXT = 16 * 2**20  # characters of one program
_SEPARATORS = frozenset({";", "\n"})
_LAST = frozenset({END, "|"})
_DEFINING = frozenset({"=", "==", "("})  # what may follow the name on a left side
_ENDS = _SEPARATORS | _LAST
_SHAPE = re.compile(r"\(?\s*(\d+(?:\s*[x×*,]\s*\d+)*)?\s*,?\s*\)?")


def parse_into(
    graph: Graph, text: str, *, names: Iterable[str] = (), seed: int = 0, words: list[str] | None = None
) -> None:
    """Parse a program into an empty graph.

    `names` are names that are inputs even where the language has a constant of that name (e, pi); `words` are those of
    the text, where it is `split` already.
    Raises `ChainruleError` with the place in `text`.
    """
    if len(text) > MAX_TEXT:
        raise ChainruleError("limit", f"the program has {len(text):,} characters; the limit is {MAX_TEXT:,}")
    graph.source, graph.seed, graph.lexer = text, (seed,), tokenize
    collecting = gc.isenabled()
    if collecting:
        gc.disable()  # a graph has no cycles, and looking for some takes a quarter of the time
    try:
        _Program(graph, text, names, words).parse()
    finally:
        if collecting:
            gc.enable()


def parse_value(text: str, *, seed: int = 0, name: str = "") -> Value:
    """The value of a constant expression: a number, `pi/2`, `[1, 2, 3]`, `randn(3)`.

    Random numbers differ from name to name.
    """
    graph = Graph(source=text, seed=(seed, zlib.crc32(name.encode())), lexer=tokenize)
    parser = Expressions(graph, text)
    if parser.words[0] == END:
        raise ChainruleError("value", "the value is empty", source=text, spans=[Span(0, 0)])
    node = parser.expression()
    if parser.words[parser.k] != END:
        refusals.after_operand(parser, parser.words[parser.k], parser.k)
    for name, i in graph.names.items():
        parser.fail("value", f"a value is a constant, and {name} is not", graph.nodes[i].span[0])
    return graph.constant_value(node)


def parse_expression(graph: Graph, text: str, span: Span) -> int:
    """Parse the expression at `text[span]` behind the nodes of a program's graph, whose names it may use.

    Returns its node. Raises `ChainruleError` placed in `text`, for names that the program does not have too.
    """
    lines = text[span.start : span.end]
    parser = Expressions(graph, re.sub(r"[^\n]", " ", text[: span.start]) + lines)
    parser.known.update(graph.names)
    known = [*graph.names]
    while parser.words[parser.k] == "\n":
        parser.k += 1
    try:
        node = parser.expression()
        while parser.words[parser.k] == "\n":
            parser.k += 1
        if parser.words[parser.k] != END:
            refusals.after_operand(parser, parser.words[parser.k], parser.k)
        if strangers := [*graph.names][len(known) :]:
            name = strangers[0]
            hint = did_you_mean(name, known) or f"its names are {', '.join(known)}"
            parser.fail("name", f"the program has no {name!r}", graph.nodes[graph.names[name]].span[0], hint=hint)
        for name, k in parser.called.items():
            if name in graph.names:
                refusals.input_called(parser, name, k)
    except ChainruleError as error:
        error.source = text
        raise
    return node


class _Program(Expressions):
    """The parser of whole programs."""

    def parse(self) -> None:
        """Parse all statements, then the bar."""
        word = self.skip_separators()
        if word == "|":
            refusals.no_operand(self, "|", self.k)
        if word == END:
            self.fail("syntax", "the program is empty", self.k, hint="write an expression: x^2")
        while self.statement():
            pass
        for name, k in self.called.items():
            if name in self.graph.names or name in self.forced:
                refusals.input_called(self, name, k)
        if self.words[self.k] == "|":
            self.bar()

    def skip_separators(self) -> str:
        """Go past semicolons and line ends; the token that comes then."""
        words = self.words
        while words[self.k] in _SEPARATORS:
            self.k += 1
        return words[self.k]

    # --- statements ---------------------------------------------------------------------------------------------------

    def statement(self) -> bool:
        """Parse one statement and define its name; whether another one follows."""
        k, mark = self.k, len(self.nodes)
        name = self.left_side() if self.words[k + 1] in _DEFINING else None
        node = self.expression()
        if self.words[self.k] not in _ENDS:
            self.end_of_statement(name, k)
        if self.skip_separators() in _LAST:
            self.finish_program(name, node, mark, k)
            return False
        if name is None:
            self.fail("syntax", "only the last statement may go without a name", k, hint="write name = …")
        if self.graph.declared:
            self.fail("syntax", f"{name}( … ) = declares the output, so it comes last", k)
        self.define(name, node, mark, k)
        return True

    def left_side(self) -> str | None:
        """Read `name =` or `name(names) =`, if the statement has it."""
        k, words = self.k, self.words
        following = words[k + 1]
        if not is_name(words[k]):
            return None
        if following == "=":
            if words[k] in GRAMMAR_WORDS:
                self.fail("syntax", f"'{words[k]}' is a word of the grammar", k, hint="choose another name")
            self.k = k + 2
            return canonical_name(words[k])
        if following == "==" and not self.compares(k):
            self.fail("syntax", "'==' compares; a definition has one '='", k + 1, hint=f"write {words[k]} = …")
        return self.header(k) if following == "(" else None

    def compares(self, k: int) -> bool:
        """Whether `name == …` stands inside a larger comparison, so that no definition can be meant."""
        end = k
        while self.words[end] not in (END, ";", "\n", "|"):
            end += 1
        return any(word in GRAMMAR_WORDS for word in self.words[k:end])

    def header(self, k: int) -> str | None:
        """Read `f(x, w) =`: the output's name and the inputs it declares."""
        words, i, names = self.words, k + 2, []
        while is_name(words[i]) and words[i] not in GRAMMAR_WORDS:
            names.append(i)
            i += 1
            if words[i] != ",":
                break
            i += 1
        if words[i] != ")" or words[i + 1] != "=":
            return None
        for at in names:
            name = canonical_name(words[at])
            if name in self.graph.names:
                refusals.assigned_twice(self, name, self.graph.span(self.graph.names[name]), at)
            self.forced |= {name}
            self.named(words[at], at)
            self.graph.declared += (name,)
        self.k = i + 2
        return canonical_name(words[k])

    def end_of_statement(self, name: str | None, start: int) -> None:
        """Refuse what follows a complete expression and starts nothing."""
        k = self.k
        word = self.words[k]
        if word == "=":
            if name is None:
                left = self.text[self.starts[start] : self.end]
                hint = f"an equation is no program; write y = {left} - (…)" if len(left) < 40 else None
                self.fail("syntax", "what stands before '=' is not a name", start, hint=hint)
            self.fail("syntax", "a second '=' in one statement", k, hint="part statements with ';', compare with '=='")
        if word == ",":
            self.fail(
                "syntax", "a comma outside brackets", k, hint="part statements with ';'; values follow a bar: | x=2"
            )
        if word == ":":
            self.fail("syntax", "':' outside brackets", k, hint="shapes follow the bar: … | x: 3")

    def define(self, name: str, node: int, mark: int, k: int) -> None:
        """Give a name to a statement that is not the last: a leaf where its right side is constant."""
        self.check_new(name, k)
        graph = self.graph
        made = graph.nodes[node]
        span = (k, self.k)
        if made.constant:
            frozen = made.op is const
            node = graph.append(LEAF, made.args if frozen else (node,), span)
            graph.nodes[node].frozen = frozen
        elif node < mark or made.is_leaf:
            node = graph.append(identity, (node,), span)
        graph.give_name(name, node)
        self.known[name] = self.known[self.words[k]] = node

    def finish_program(self, name: str | None, node: int, mark: int, k: int) -> None:
        """The last statement is the output, and never a leaf or a number that others use too."""
        if name is not None:
            self.check_new(name, k)
        graph = self.graph
        made = graph.nodes[node]
        if node < mark or (not made.args and (made.is_leaf or made.op is NUMBER or made.op.name in CONSTANTS)):
            node = graph.append(identity, (node,), made.span)
        graph.output = graph.last = node
        if name is not None:
            graph.give_name(name, node)

    def check_new(self, name: str, k: int) -> None:
        """Refuse a name that is taken already."""
        taken = self.graph.names.get(name)
        if taken is None:
            return
        if self.graph.nodes[taken].op is INPUT and name not in self.graph.declared:
            first = self.graph.nodes[taken].span[0]
            refusals.defined_before(self, name, first, k, own=first > k)
        refusals.assigned_twice(self, name, self.graph.span(taken), k)

    # --- the bar ------------------------------------------------------------------------------------------------------

    def bar(self) -> None:
        """Parse the values, shapes and assumptions after the bar."""
        self.k += 1
        while True:
            self.skip_separators()
            self.bar_item()
            self.skip_separators()
            word = self.words[self.k]
            if word == END:
                return
            if word == "|":
                self.fail("syntax", "a second bar", self.k, hint="one bar ends a program; for |x| write abs(x)")
            if word != ",":
                refusals.after_operand(self, word, self.k)
            self.k += 1

    def bar_item(self) -> None:
        """Parse one item: a value, a shape or an assumption."""
        k, graph = self.k, self.graph
        following = self.words[k + 1] if self.words[k] != END else END
        name = canonical_name(self.words[k])
        if is_name(self.words[k]) and following in ("=", ":"):
            if graph.names.get(name) is None or not graph.nodes[graph.names[name]].is_leaf:
                self.unknown(name, k)
            if name in (graph.at if following == "=" else graph.shapes):
                self.fail("name", f"{name} is given twice after the bar", k)
            self.k += 2
            if following == ":":
                graph.shapes[name] = self.shape()
                return
            start, count = self.k, len(graph.names)
            node = self.expression()
            if not graph.nodes[node].constant or len(graph.names) > count:
                self.fail("value", f"the value of {name} must be a constant", start)
            graph.at[name] = graph.constant_value(node)
            return
        if self.words[k] == END:
            self.fail("syntax", "nothing stands after the bar", k - 1, hint="write values, as in | x=2, w=1")
        count = len(graph.names)
        node = self.expression()
        if len(graph.names) > count:
            self.unknown(list(graph.names)[-1], k)
        if not graph.nodes[node].op.infix or graph.nodes[node].op.differentiable:
            self.fail("syntax", "an assumption is a comparison", k, hint="write x > 0; values are x=2")
        graph.assumptions.append(node)

    def unknown(self, name: str, k: int) -> None:
        """Refuse a name that the program does not have."""
        inputs = [known for known in self.graph.inputs if known != name]
        node = self.graph.names.get(name)
        if node is not None and not self.graph.nodes[node].is_leaf:
            self.fail("name", f"{name} is computed by the program and takes no value", k)
        hint = did_you_mean(name, inputs) or (f"its inputs are {', '.join(inputs)}" if inputs else "it has no inputs")
        self.fail("name", f"the program has no input {name!r}", k, hint=hint)

    def shape(self) -> tuple[int, ...]:
        """Read a shape: 3, 3x3, 3×3, (3,3), ()."""
        start, depth = self.k, 0
        while self.words[self.k] not in (END, "|", "\n") and not (self.words[self.k] == "," and depth == 0):
            depth += (self.words[self.k] == "(") - (self.words[self.k] == ")")
            self.k += 1
        text = self.text[self.starts[start] : self.starts[self.k]].strip()
        match = _SHAPE.fullmatch(text)
        if match is None or not text:
            self.fail("syntax", f"{text!r} is not a shape", start, hint="write x: 3, A: 3x3 or A: (3, 3)")
        return tuple(int(n) for n in re.findall(r"\d+", match[1] or ""))

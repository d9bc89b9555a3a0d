"""A graph's expressions in LaTeX: fractions, exponents, Greek letters; the rest as the language writes it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from .graph import Graph
from .ops.arithmetic import POSTFIX, POWER, SUM, abs_, div
from .ops.powers import sqrt
from .printing import Piece, pieces

CAPITALS = {"Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi", "Omega"}
SIGNS = {
    "*": r"\cdot ", "@": r"\,", "<=": r"\le ", ">=": r"\ge ", "==": "=", "!=": r"\ne ", "%": r"\bmod ",
    "//": r"\mathbin{/\!/}", "inf": r"\infty ", "pi": r"\pi ", ".T": r"^{\top}", "...": r"\ldots ", "…": r"\ldots ",
    "and": r"\wedge ", "or": r"\vee ", "not": r"\neg ", "if": r"\ \text{if}\ ", "else": r"\ \text{else}\ ", "_": r"\_",
}  # fmt: skip
TOKEN = re.compile(r"[^\W\d]\w*|\d+(?:\.\d*)?(?:e[+-]?\d+)?|<=|>=|==|!=|//|\.T\b|\.{3}|.", re.DOTALL)


def expression_latex(graph: Graph, root: int, *, own: bool = False, name: Callable[[int], str | None]) -> str:
    """The LaTeX of one node's expression, for a place where mathematics stands.

    `name` gives the LaTeX of the nodes that stand as names, and None for the others; the root is spelled out if `own`.
    """
    out: list[str] = []
    stack: list[Piece] = list(reversed(_latex_pieces(graph, root)[1])) if own else [(root, 0)]
    while stack:
        piece = stack.pop()
        if isinstance(piece, str):
            out.append(piece)
            continue
        i, level = piece
        known = name(i)
        own_level, inside = (POSTFIX, [known]) if known is not None else _latex_pieces(graph, i)
        if own_level < level or (known is not None and level > SUM and known.startswith("-")):
            out.append(r"\left(")
            stack.append(r"\right)")
        stack.extend(reversed(inside))
    return "".join(out)


def _latex_pieces(graph: Graph, i: int) -> tuple[int, list[Piece]]:
    """A node's precedence, and its LaTeX as pieces."""
    node = graph.nodes[i]
    if node.op.name == div.name:
        return POSTFIX, [r"\frac{", (node.args[0], 0), "}{", (node.args[1], 0), "}"]
    if node.op.name == sqrt.name:
        return POSTFIX, [r"\sqrt{", (node.args[0], 0), "}"]
    if node.op.name == abs_.name:
        return POSTFIX, [r"\left|", (node.args[0], 0), r"\right|"]
    if node.op.level == POWER:
        return POWER, ["{", (node.args[0], POSTFIX), "}^{", (node.args[1], 0), "}"]
    level, text = pieces(graph, i)
    return level, [text_latex(piece) if isinstance(piece, str) else piece for piece in text]


def text_latex(text: str) -> str:
    """A text of the language in LaTeX: words upright, signs as mathematics has them, numbers with powers of ten."""
    return "".join(map(_token_latex, TOKEN.findall(text)))


def _token_latex(token: str) -> str:
    if token in SIGNS:
        return SIGNS[token]
    if token[0].isdigit():
        digits, _, exponent = token.partition("e")
        return rf"{digits}\cdot 10^{{{int(exponent)}}}" if exponent else digits
    if len(token) > 1:
        return rf"\operatorname{{{''.join(map(_letter, token))}}}"
    return _letter(token)


def name_latex(name: str) -> str:
    """A name in LaTeX: x_1 with a subscript, loss in one word, Greek letters by their commands."""
    head, _, below = name.partition("_")
    letters = "".join(map(_letter, head))
    made = letters if len(head) == 1 else rf"\mathit{{{letters}}}"
    match = re.fullmatch(r"([^\W\d])(\d+)", head)
    if match and not below:
        return rf"{_letter(match[1])}_{{{match[2]}}}"
    return made + (rf"_{{\mathit{{{''.join(map(_letter, below))}}}}}" if below else "")


def _letter(char: str) -> str:
    """One character; a letter that LaTeX has no command for by its number."""
    if char.isascii():
        return SIGNS.get(char, char)
    words = unicodedata.name(char, "").split()
    if words[:1] == ["GREEK"] and "LETTER" in words:
        word = words[-1].lower().replace("lamda", "lambda")
        if words[1] == "SMALL":
            return "o" if word == "omicron" else rf"\{word} "
        return rf"\{word.title()} " if word.title() in CAPITALS else rf"\mathrm{{{word[0].upper()}}}"
    return SIGNS.get(char, rf"\text{{U+{ord(char):04X}}}")

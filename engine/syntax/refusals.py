"""What the language refuses: where, why, and what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ..errors import ChainruleError, Span, did_you_mean
from ..ops import CALLS, TABLE
from .characters import END, is_name, is_number, is_superscript

if TYPE_CHECKING:
    from .expressions import Expressions
    from .pending import Group, Open, Waiting


def _text(parser: Expressions, start: int, end: int) -> str:
    """A stretch of the source, short enough for a hint."""
    text = parser.text[start:end]
    return text if len(text) <= 40 else text[:18] + " … " + text[-18:]


def _operand_after(parser: Expressions, k: int) -> str:
    """The text of the operand that starts at token `k`, as far as a hint needs it."""
    words, depth, i = parser.words, 0, k
    while i < len(words) - 1:
        depth += (words[i] in ("(", "[")) - (words[i] in (")", "]"))
        i += 1
        if depth <= 0 and not (is_name(words[i - 1]) and words[i] == "("):
            break
    return _text(parser, parser.starts[k], parser.starts[i - 1] + len(words[i - 1]))


# --- two readings -----------------------------------------------------------------------------------------------------


def unclear_product(parser: Expressions, at: int, k: int) -> NoReturn:
    """`1/2x`, `2^3x`: a product by juxtaposition after / // % @ or in an exponent, whose sign is token `at`."""
    sign = parser.words[at]
    a = _text(parser, parser.starts[parser.begins[-2]], parser.starts[at]).strip()
    b = _text(parser, parser.starts[at + 1], parser.end)
    c = _operand_after(parser, k)
    space = " " * (parser.starts[k] > parser.end)
    message = f"{a}{sign}{b}{space}{c} can be read in two ways"
    parser.fail("syntax", message, k, hint=f"write {a}{sign}({b}*{c}) or ({a}{sign}{b})*{c}")


def root_reach(parser: Expressions, waiting: Waiting, k: int) -> NoReturn:
    """`√2x`, `√x²`: how far does the root reach?"""
    name = TABLE["sqrt" if waiting.word == "√" else "cbrt"].name
    inside = _text(parser, parser.starts[waiting.at + 1], parser.end)
    word = parser.words[k]
    c = word if is_superscript(word) else _operand_after(parser, k)
    if word in ("^", "**"):
        c = word + _operand_after(parser, k + 1)
    times = "" if is_superscript(word) or word in ("^", "**") else "*"
    parser.fail(
        "syntax",
        f"{waiting.word}{inside}{c} can be read in two ways",
        k,
        hint=f"write {name}({inside}{times}{c}) or {name}({inside}){times}{c}",
    )


def input_called(parser: Expressions, name: str, k: int) -> NoReturn:
    """`gamma*x + gamma(x+1)`: one name as an input and as a function."""
    parser.fail(
        "syntax",
        f"{name} is an input here, and {name}( … ) calls a function",
        k,
        hint=f"write {name}*( … ) for a product; for the function, give the input another name",
    )


def point_before_name(parser: Expressions, k: int) -> NoReturn:
    """`2.T`, `2.x`: a number's point or a name's?"""
    number, name = parser.words[k], parser.words[k + 1].lstrip(".")
    parser.fail(
        "syntax", f"{number}{name} can be read in two ways", k, hint=f"write {number}0*{name} or ({number[:-1]}).{name}"
    )


def other_base(parser: Expressions, k: int) -> NoReturn:
    """`0x10`."""
    text = parser.words[k] + parser.words[k + 1]
    parser.fail("syntax", f"{text}: numbers are decimal", k, hint=f"for a product write 0*{parser.words[k + 1]}")


def inverse_or_reciprocal(parser: Expressions, word: str, k: int, bracket: int) -> NoReturn:
    """`sin^-1(x)`."""
    op = CALLS[word]
    inverse = CALLS.get("a" + op.name)
    argument = _operand_after(parser, bracket)
    first = f"{inverse.name}{argument} or " if inverse is not None else ""
    power = _text(parser, parser.starts[k], parser.starts[bracket])
    parser.fail("syntax", f"{power}( … ) can be read in two ways", k, hint=f"write {first}1/{word}{argument}")


# --- products without a sign ------------------------------------------------------------------------------------------


def no_product(parser: Expressions, word: str, k: int) -> NoReturn:
    """`x y`, `x(w+1)`, `x[0]y`: no product after a name or an index."""
    _open_since_the_line_before(parser, k)
    before = parser.words[k - 1]
    left = _text(parser, parser.starts[parser.begins[-1]], parser.end)
    right = _operand_after(parser, k)
    if word == "(" and is_name(before):
        if before in CALLS:
            input_called(parser, before, k - 1)
        close = did_you_mean(before, CALLS)
        hint = (f"{close} " if close else "") + f"for a product write {before}*{right}"
        parser.fail("name", f"{before} is not a function", k - 1, hint=hint)
    if is_name(before) and before not in CALLS and word != "(" and (close := did_you_mean(f"{before}{word}", CALLS)):
        parser.fail("syntax", f"{before} {word}: two names side by side", k, hint=close)
    parser.fail("syntax", f"{left} and {right} stand side by side", k, hint=f"for a product write {left}*{right}")


def bracketless_call(parser: Expressions, k: int) -> NoReturn:
    """`sin x`."""
    word = parser.words[k]
    i = k + 1
    power = ""
    if parser.words[i] in ("^", "**"):
        power, i = "^" + parser.words[i + 1], i + 2
    elif is_superscript(parser.words[i]):
        power, i = parser.words[i], i + 1
    last, depth = i, 0
    while parser.words[last] not in (END, "+", "-", ";", "\n", "|", ",") or depth:
        depth += (parser.words[last] in ("(", "[")) - (parser.words[last] in (")", "]"))
        if depth < 0 or parser.words[last] == END:
            break
        last += 1
    argument = _text(parser, parser.starts[i], parser.starts[last]).strip()
    parser.fail("syntax", f"{word} needs brackets", k, hint=f"write {word}({argument}){power}")


# --- brackets ---------------------------------------------------------------------------------------------------------


def unfinished(parser: Expressions, waiting: Group | Open | Waiting) -> NoReturn:
    """Something that was opened and never ended: a bracket, or `if`."""
    if waiting.level == 0:
        mark = parser.words[waiting.at]
        closing = ")" if mark == "(" else "]"
        parser.fail("syntax", f"'{mark}' is never closed", waiting.at, hint=f"add '{closing}'")
    parser.fail("syntax", "'if' without 'else'", waiting.at, hint="write a if c else b")


def _open_since_the_line_before(parser: Expressions, k: int) -> None:
    """A bracket that was forgotten, so that the next line's statement seems to stand inside it."""
    if parser.words[k - 1] == "\n":
        for bracket in reversed(parser.stack):
            if bracket.level == 0:
                unfinished(parser, bracket)


def extra_bracket(parser: Expressions, k: int) -> NoReturn:
    """`x+1)`."""
    mark = parser.words[k]
    parser.fail(
        "syntax", f"'{mark}' closes nothing", k, hint=f"remove it, or add '{'(' if mark == ')' else '['}' before"
    )


def wrong_bracket(parser: Expressions, bracket: Group | Open, k: int) -> NoReturn:
    """`(x]`."""
    mark = parser.words[bracket.at]
    closing = ")" if mark == "(" else "]"
    parser.fail("syntax", f"'{mark}' is closed by '{parser.words[k]}'", k, bracket.at, hint=f"write '{closing}'")


# --- tokens that do not fit -------------------------------------------------------------------------------------------


def no_operand(parser: Expressions, word: str, k: int) -> NoReturn:
    """A token where a number, a name or a bracket should stand."""
    before = parser.words[k - 1] if k else ""
    if word == "|":
        parser.fail("syntax", "bars do not mean the absolute value here", k, hint="write abs(x)")
    if word in (END, ";", "\n") and k:
        for bracket in reversed(parser.stack):
            if bracket.level == 0 and word == END:
                unfinished(parser, bracket)
        parser.fail(
            "syntax",
            f"the expression ends after '{before.strip() or 'a line break'}'",
            k - 1,
            hint="what comes next is missing" + ("; brackets let it go on in the next line" if word == "\n" else ""),
        )
    if word in (")", "]"):
        if not any(bracket.level == 0 for bracket in parser.stack):
            extra_bracket(parser, k)
        after = f"after '{before}'" if before else "here"
        parser.fail("syntax", f"an operand is missing {after}", k)
    if word == "=":
        if before == "=":
            equals_twice(parser, k)
        parser.fail("syntax", "a name is missing before '='", k, hint="write y = …")
    if word == ",":
        parser.fail("syntax", "an operand is missing before ','", k)
    if is_superscript(word) or word in ("*", "/", "^", "**", "//", "%", "@", "<", ">", "<=", ">=", "==", "!="):
        where = (
            f"between '{before}' and '{word}'" if before and before not in ("(", "[", ";", "\n") else f"before '{word}'"
        )
        parser.fail("syntax", f"an operand is missing {where}", k)
    unexpected(parser, word, k)


def equals_twice(parser: Expressions, k: int) -> NoReturn:
    """`= =` with a space."""
    parser.fail("syntax", "'= =' is not an operator", k, hint="compare with ==")


def after_operand(parser: Expressions, word: str, k: int) -> NoReturn:
    """A token after a complete operand that can neither continue nor end it."""
    _open_since_the_line_before(parser, k)
    before = parser.words[k - 1]
    if word == END:
        for bracket in reversed(parser.stack):
            if bracket.level == 0:
                unfinished(parser, bracket)
    if is_number(word):
        if is_number(before) and parser.starts[k] == parser.end:
            parser.fail("syntax", f"{before}{word} is not a number", k)
        parser.fail(
            "syntax",
            f"'{word}' follows '{before}' without an operator",
            k,
            hint=f"for a product write {before if len(before) < 20 else '…'}*{word}",
        )
    if word == "=":
        parser.fail("syntax", "'=' inside brackets", k, hint="compare with ==; a definition stands outside brackets")
    if word == "|":
        parser.fail("syntax", "'|' inside brackets", k, hint="write abs(x) for the absolute value")
    if word == ";":
        for bracket in reversed(parser.stack):
            if bracket.level == 0:
                unfinished(parser, bracket)
    if word == "[":
        parser.fail("syntax", f"'{before}' cannot be indexed", k)
    unexpected(parser, word, k)


def unexpected(parser: Expressions, word: str, k: int) -> NoReturn:
    """A character that the language does not use, or a word of the grammar out of place."""
    advice = {
        "&": "write and", "~": "write not", "!": "a factorial x! is gamma(x+1); 'not equal' is !=",
        "'": "a derivative is asked for by the command, not in the expression", "\\": "write functions by name: sin(x)",
        "{": "group with ( )", "}": "group with ( )", "$": None, '"': "no quotes inside an expression",
    }  # fmt: skip
    if is_name(word):
        parser.fail("syntax", f"'{word}' is out of place here", k)
    if word == "\0":
        parser.fail("syntax", "a NUL character", k)
    shown = word if word.isprintable() else f"U+{ord(word[0]):04X}"
    parser.fail("syntax", f"unexpected '{shown}'", k, hint=advice.get(word))


# --- statements -------------------------------------------------------------------------------------------------------


def defined_before(parser: Expressions, name: str, first: int, again: int, own: bool) -> NoReturn:
    """A name that is assigned after it was used."""
    if own:
        message, hint = f"{name} is used in its own definition", f"use another name: {name}_1 = …"
    else:
        message, hint = f"{name} is used before it is defined", "move its definition up"
    parser.fail("name", message, first, again, hint=hint)


def assigned_twice(parser: Expressions, name: str, first: Span, again: int) -> NoReturn:
    """A name that is assigned twice."""
    raise ChainruleError(
        "name",
        f"{name} is assigned twice",
        spans=[parser.token_span(again), first],
        hint=f"a name keeps its meaning; call the second {name}_1",
        source=parser.text,
    )

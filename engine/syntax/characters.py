"""Characters to tokens: typed or pasted mathematics, cut into words by one compiled pattern."""

from __future__ import annotations

import re
from typing import NamedTuple

# One character for one character, so that places in the text stay true.
_SPELLINGS = {
    "*": "×·⋅∗∙",
    "/": "÷∕⁄",
    "-": "−–",
    "μ": "µ",
    " ": "\u00a0\u2007\u202f\u2009\u200a\u2002\u2003\u3000\ufeff",
}
_TRANSLATION: dict[int, str | int] = {ord(c): plain for plain, variants in _SPELLINGS.items() for c in variants}
_TRANSLATION |= {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}  # full-width forms of ASCII

SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789aehijklmnoprstuvx", strict=True))
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿᵀ"
_LOWERED = "".join(_SUBSCRIPTS)
_SPELLED = {"π": "pi", "τ": "tau"}

_EXPONENT = r"(?:[eE][+-]?[0-9]+)?"
_NAME = rf"[^\W\d_{_RAISED}{_LOWERED}][^\W{_RAISED}]*"


def _word(name: str) -> str:
    """The pattern of a word, the commonest kinds first."""
    return (
        rf"[(),+^-]|{name}|[0-9]+(?:\.(?!\.)[0-9]*)?{_EXPONENT}|\*\*?|//?"
        rf"|\.[0-9]+{_EXPONENT}|[{_RAISED}]+|[<>=!]=|\.\.\.|\.T\b"
    )


_TOKEN = re.compile(rf"[ \t\r\f\v]*(?:\#[^\n]*)?({_word(_NAME)}|.|$)", re.DOTALL)
# The same for ASCII without comments, in two thirds of the time.
_PLAIN_WORD = re.compile(rf"{_word('[A-Za-z][A-Za-z0-9_]*')}|[^ \t\r\f\v]|$")
_SUBSCRIPT_RUN = re.compile(f"_?([{_LOWERED}]+)")

GRAMMAR_WORDS = frozenset({"if", "else", "and", "or", "not"})  # the only words that cannot be names
END = ""  # the token after the last


class Tokens(NamedTuple):
    """The words of a text, the last of them `END`, and where each starts."""

    words: list[str]
    starts: list[int]


def split(text: str) -> list[str]:
    """Cut `text` into words, the last of them `END`: every character is in a word, a comment, or the space between."""
    if text.isascii() and "#" not in text:
        return _PLAIN_WORD.findall(text)
    words: list[str] = _TOKEN.findall(_plain(text))
    if words[-2:] == [END, END]:  # the pattern meets the end of the text twice after trailing space
        words.pop()
    return words


def tokenize(text: str) -> Tokens:
    """The words of `text`, and where each starts."""
    words = split(text)
    starts = [match.start(1) for match in _TOKEN.finditer(_plain(text))]
    return Tokens(words, starts[: len(words)])


def _plain(text: str) -> str:
    return text if text.isascii() else text.translate(_TRANSLATION)


def is_name(word: str) -> bool:
    """Whether a word is a name (a function's, an input's or one of the grammar's)."""
    return word[:1].isalpha() and word[0] not in _RAISED


def is_number(word: str) -> bool:
    """Whether a word is a number."""
    return word[:1].isdecimal() or (word[:1] == "." and word[1:2].isdecimal())


def is_superscript(word: str) -> bool:
    """Whether a word is raised: x², x⁻¹, xⁿ, Aᵀ."""
    return word[:1] in _RAISED and word != END


def canonical_name(word: str) -> str:
    """A name as the language spells it: x₁ is x_1, π is pi."""
    if word.isascii():
        return word
    spelled = _SUBSCRIPT_RUN.sub(lambda run: "_" + "".join(_SUBSCRIPTS[c] for c in run[1]), word)
    return _SPELLED.get(spelled, spelled)


class Superscript(NamedTuple):
    """A raised exponent: an optional sign, digits, and ⁿ."""

    negative: bool
    digits: str
    letter: bool


def read_superscript(word: str) -> Superscript | None:
    """The parts of a raised word, or None where it is no exponent."""
    match = re.fullmatch("([⁻⁺]?)([⁰¹²³⁴⁵⁶⁷⁸⁹]*)(ⁿ?)", word)
    if match is None or not (match[2] or match[3]):
        return None
    return Superscript(match[1] == "⁻", "".join(SUPERSCRIPTS[c] for c in match[2]), bool(match[3]))

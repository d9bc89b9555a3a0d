"""Claims, the left sides: `dy/dx`, `d²y/dxdw`, `y''`, `d/dx(…)`, `d(…)/dx`, `grad y`, `hess y`, `D_[1, 2] y`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..errors import ChainruleError, Span, did_you_mean
from ..graph import Graph
from .characters import SUPERSCRIPTS, canonical_name, tokenize

PRIMES = {"'": 1, "′": 1, "’": 1, "´": 1, "″": 2, "‴": 3}
OPERATORS = {"grad": 1, "∇": 1, "jac": 1, "jacobian": 1, "hess": 2, "hessian": 2}  # and how often they differentiate

_ORDER = r"(?:\s*(?:\^|\*\*)\s*(\d+)|(\d+)|([⁰¹²³⁴⁵⁶⁷⁸⁹]+))?"
_WORD = r"[^\W\d][\w₀-₉]*"
_PRIME = re.compile(rf"\s*({_WORD})\s*([{''.join(PRIMES)}]+)\s*(?:\(([^()=]*)\))?\s*")
_OPERATOR = re.compile(rf"\s*(?:({'|'.join(OPERATORS)})\b|(∇))\s*\(?\s*({_WORD})\s*\)?\s*")
_DIRECTION = re.compile(rf"\s*D_?\s*([\[(].*[\])])\s*\(?\s*({_WORD})\s*\)?\s*")
_QUOTIENT = re.compile(rf"\s*\(?\s*[d∂]{_ORDER}\s*({_WORD})\s*\)?\s*/\s*\(?((?:\s*\*?\s*[d∂]\s*[^\s()/]+)+)\s*\)?\s*")
_APPLIED = re.compile(rf"\s*\(?\s*[d∂]{_ORDER}\s*\)?\s*/\s*\(?((?:\s*\*?\s*[d∂]\s*[^\s()/*]+)+)\)?(?=[\s(])")
_AROUND = re.compile(rf"\s*[d∂]{_ORDER}\s*\((.*)\)\s*/\s*\(?((?:\s*\*?\s*[d∂]\s*[^\s()/]+)+)\s*\)?\s*", re.DOTALL)


class Left(NamedTuple):
    """A left side, read.

    of     the name that is differentiated, or where an expression stands there, its span in the text
    by     the names differentiated by, one for each order; empty where `order` and the program's inputs say it
    at     the text of the arguments in f'(2), if they stand there
    along  the span of the direction in `D_[1, 2] y`
    """

    of: str | Span
    by: tuple[str, ...]
    order: int
    all_inputs: bool = False
    at: Span | None = None
    along: Span | None = None


class Stretch(NamedTuple):
    """A statement's place in a text, and where its first top-level equals sign stands (-1: none)."""

    start: int
    end: int
    equals: int


def stretches(text: str) -> tuple[list[Stretch], int]:
    """The statements of a text, and where its bar stands (the text's end: none)."""
    words, starts = tokenize(text)
    found: list[Stretch] = []
    depth, begin, equals = 0, 0, -1
    for word, at in zip(words, starts, strict=True):
        depth += (word in ("(", "[")) - (word in (")", "]"))
        if word == "=" and depth <= 0 and equals < 0:
            equals = at
        if word in (";", "\n", "|", "") and (depth <= 0 or word == ""):
            if text[begin:at].partition("#")[0].strip():
                found.append(Stretch(begin, at, equals))
            begin, equals = at + 1, -1
            if word == "|":
                return found, at
    return found, len(text)


def is_claim(text: str, stretch: Stretch) -> bool:
    """Whether a statement has an equals sign, and a left side that no program's statement has."""
    left = text[stretch.start : stretch.equals] if stretch.equals >= 0 else "y"
    return re.fullmatch(rf"\s*{_WORD}\s*(\([^()]*\))?\s*", re.sub(r"#[^\n]*", "", left)) is None


def named_constants(left: str, constants: Iterable[str]) -> list[str]:
    """Constants of the language that a left side differentiates by: they are inputs then."""
    return [c for c in constants if re.search(rf"[d∂]\s*{c}(?![a-zA-Z])", left)]


def read_left(text: str, start: int, end: int, known: Iterable[str], inputs: Iterable[str]) -> Left:
    """Read the left side at `text[start:end]`; `known` are the program's names. Raises `ChainruleError`."""
    left, names, taken = text[start:end], set(known), list(inputs)
    if (match := _PRIME.fullmatch(left)) is not None:
        at = None
        if match[3] is not None and [canonical_name(w.strip()) for w in match[3].split(",")] != taken:
            at = Span(start + match.start(3), start + match.end(3))
        _check_name(text, names, match[1], start + match.start(1))
        return Left(canonical_name(match[1]), (), sum(map(PRIMES.__getitem__, match[2])), at=at)
    if (match := _OPERATOR.fullmatch(left)) is not None:
        _check_name(text, names, match[3], start + match.start(3))
        return Left(canonical_name(match[3]), (), OPERATORS[match[1] or match[2]], all_inputs=True)
    if (match := _DIRECTION.fullmatch(left)) is not None:
        _check_name(text, names, match[2], start + match.start(2))
        span = Span(start + match.start(1), start + match.end(1))
        return Left(canonical_name(match[2]), (), 1, along=span)
    if (match := _QUOTIENT.fullmatch(left)) is not None:
        name = _check_name(text, names, match[4], start + match.start(4))
        by = _denominator(text, match[5], start + match.start(5), _order(match), names)
        return Left(name, by, len(by))
    if (match := _APPLIED.match(left)) is not None and left[match.end() :].strip():
        by = _denominator(text, match[4], start + match.start(4), _order(match), names)
        return Left(Span(start + match.end(), end), by, len(by))
    if (match := _AROUND.fullmatch(left)) is not None:
        by = _denominator(text, match[5], start + match.start(5), _order(match), names)
        return Left(Span(start + match.start(4), start + match.end(4)), by, len(by))
    hint = "write dy/dx = …, d/dx(…) = …, y' = …, grad y = […], or d2y/dx2 = …"
    span = Span(start + len(left) - len(left.lstrip()), start + max(1, len(left.rstrip())))
    raise ChainruleError("syntax", "this is no claim about a derivative", spans=[span], hint=hint, source=text)


def _order(match: re.Match[str]) -> int:
    return _number(match[1], match[2], match[3]) or 1


def _number(*texts: str | None) -> int:
    text = next((t for t in texts if t), "0")
    return int("".join(SUPERSCRIPTS.get(c, c) for c in text))


def _check_name(text: str, names: set[str], word: str, at: int) -> str:
    name = canonical_name(word)
    if name not in names:
        hint = did_you_mean(name, names) or f"its names are {', '.join(sorted(names))}"
        span = Span(at, at + len(word))
        raise ChainruleError("name", f"the program has no {name!r}", spans=[span], hint=hint, source=text)
    return name


def _denominator(text: str, part: str, at: int, order: int, names: set[str]) -> tuple[str, ...]:
    """The names of dx²dw, each as often as it is differentiated by; every way to read it is tried."""
    fits = {tuple(fit) for fit in _fits(part.strip(), order, names)}
    span = Span(at, at + len(part))
    if len(fits) == 1:
        return fits.pop()
    if fits:
        ways = " or ".join(sorted("by " + ", ".join(fit) for fit in fits))
        raise ChainruleError("syntax", f"{part.strip()} can be read as {ways}", spans=[span], source=text,
                             hint="separate the names: d2y/(dx dw)")  # fmt: skip
    total = next((sum_ for sum_ in range(1, 9) if any(_fits(part.strip(), sum_, names))), None)
    if total is not None:
        message = f"the orders do not add up: {order} above, {total} below"
        raise ChainruleError("syntax", message, spans=[span], source=text, hint="write dy/dx, d2y/dx2, d2y/dxdw")
    word = re.split(r"[\s^*²³]", part.strip().lstrip("d∂").strip())[0]
    while (known := next((n for n in names if re.match(rf"{n}[d∂].", word)), None)) is not None:
        word = word[len(known) + 1 :]
    hint = did_you_mean(word, names) or f"its names are {', '.join(sorted(names))}"
    raise ChainruleError("name", f"the program has no {word!r} to differentiate by", spans=[span], hint=hint,
                         source=text)  # fmt: skip


def _fits(part: str, order: int, names: set[str]) -> Iterator[list[str]]:
    """The ways to read a denominator so that its orders add up to `order`."""
    part = part.lstrip(" *\t")
    if not part:
        if order == 0:
            yield []
        return
    if order <= 0 or part[0] not in "d∂":
        return
    rest = part[1:].lstrip()
    for end in range(1, len(rest) + 1):
        name = canonical_name(rest[:end])
        if name not in names:
            continue
        power = re.match(_ORDER, rest[end:])
        assert power is not None
        times = _number(*power.groups()) or 1
        if power.end() and times <= order:
            for more in _fits(rest[end + power.end() :], order - times, names):
                yield [name] * times + more
        for more in _fits(rest[end:], order - 1, names):
            yield [name, *more]


def known_names(graph: Graph) -> set[str]:
    """The names that a claim may use: the program's, its output's, and its inputs'."""
    return {*graph.names, graph.output_name}

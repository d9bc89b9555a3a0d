"""Errors: what went wrong, where in the text, and what to do instead."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple


class Span(NamedTuple):
    """A stretch of a source text: characters `start` up to, not including, `end`, counted from 0."""

    start: int
    end: int


class ChainruleError(RuntimeError):
    """An error that a user can cause, with the place and the mend.

    `kind` is one word for programs (`syntax`, `name`, `missing`, `value`, `shape`, `grad`, `limit`, `file`);
    `spans` are places in `source`, the first of them the one to blame; `hint` says what to do instead.
    """

    def __init__(
        self, kind: str, message: str, *, spans: Iterable[Span] = (), hint: str | None = None, source: str | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.spans = tuple(spans)
        self.hint = hint
        self.source = source

    def __reduce__(self) -> Any:
        """Pickled as it is, so that it comes out of a process of `multiprocessing`."""
        made = partial(type(self), self.kind, self.message, spans=self.spans, hint=self.hint, source=self.source)
        return made, ()

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} ({self.hint})"

    @property
    def place(self) -> Place | None:
        """Line and column of the first span, or None where the error has no place in a text."""
        if self.source is None or not self.spans:
            return None
        return place(self.source, self.spans[0])

    def located(self, source: str, *spans: Span) -> ChainruleError:
        """The same error, placed in `source` at `spans` unless it already has a place."""
        if self.source is None:
            self.source = source
            self.spans = self.spans or spans
        return self


class Place(NamedTuple):
    """A span seen as a person sees it: the line's number and text, and columns counted from 1."""

    line: int
    column: int
    width: int
    text: str

    def window(self, width: int) -> Place:
        """The same place in at most `width` characters of the line, for lines of many kilobytes."""
        if len(self.text) <= width:
            return self
        start = max(0, min(self.column - 1 - width // 2, len(self.text) - width))
        text = self.text[start : start + width]
        if start:
            text = "…" + text[1:]
        if start + width < len(self.text):
            text = text[:-1] + "…"
        column = self.column - start
        return self._replace(text=text, column=column, width=max(1, min(self.width, width - column + 1)))


def place(source: str, span: Span) -> Place:
    """Where `span` stands in `source`; a span over several lines is shown up to the end of its first line."""
    start = min(span.start, len(source))
    line_start = source.rfind("\n", 0, start) + 1
    line_end = source.find("\n", line_start)
    line_end = len(source) if line_end < 0 else line_end
    width = max(1, min(span.end, line_end) - start)
    text = source[line_start:line_end].rstrip("\r")
    return Place(source.count("\n", 0, line_start) + 1, start - line_start + 1, width, text)


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """A hint with the closest of the `known` names, or None when nothing is close."""
    import difflib  # only mistakes need it

    close = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else None

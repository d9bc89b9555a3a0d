"""LaTeX to the language: mathematics as it stands in papers and homework, turned into text that the parser reads.

    \\frac{d}{dx} x^2 \\sin x = 2x \\sin x + x^2 \\cos x    →    d/dx(x^2*sin(x)) = 2*x*sin(x) + x^2*cos(x)

Single letters are names, so xy is x·y; x_{1} and \\mathrm{rate} are one name each. An exponent and an argument of
\\frac are one token or a group. A function without brackets takes the product up to the next function, + or -.
"""

from __future__ import annotations

import re
from typing import NoReturn

from ..errors import ChainruleError, Span
from ..ops import CALLS

_TOKEN = re.compile(r"\\[a-zA-Z]+\*?|\\.|\d+(?:\.\d+)?|\.\d+|\s+|.", re.DOTALL)
_SPACE = frozenset(
    r"\, \; \: \! \quad \qquad \displaystyle \left \right \limits ~ $ \[ \] \( \) &"  # noqa: SIM905
    r" \big \Big \bigl \bigr \Bigl \Bigr".split()
) | {"\\ "}
_TIMES = {"*", "\\cdot", "\\times", "\\ast"}
_OVER = {"/", "\\div"}
_FRACTIONS = {"\\frac", "\\dfrac", "\\tfrac"}
_WORDS = {"\\mathrm", "\\text", "\\operatorname", "\\operatorname*", "\\mathit", "\\mathsf", "\\textrm"}
_SPELLED = {"\\lg": "log10", "\\arccot": "acot", "\\sgn": "sign", "\\varepsilon": "epsilon", "\\varphi": "phi",
            "\\vartheta": "theta", "\\infty": "inf"}  # fmt: skip
_SIGNS = {"\\le": "<=", "\\leq": "<=", "\\ge": ">=", "\\geq": ">=", "\\ne": "!=", "\\neq": "!=", "<": "<", ">": ">"}
_OPEN = {"(": ")", "[": "]", "\\{": "\\}", "\\lparen": "\\rparen"}
_BARS = {"|": "|", "\\lvert": "\\rvert", "\\vert": "\\vert", "\\|": "\\|"}
_GREEK = frozenset(
    re.findall(
        r"\w+",
        """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi
        chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega ell""",
    )
)
_ENDS = {"", ";", "\\\\", "\n", "=", ",", ")", "]", "}", "\\}", "\\rparen"}
_NO_FACTOR = {*_ENDS, *_SIGNS, *_BARS.values(), "+", "-", "^", "_", "'"}
_DENOMINATOR = re.compile(r"([d∂][^\W\d]\w*?(\^\d+)?)+")
MOST_NESTED = 100


def from_latex(text: str) -> str:
    """A text in LaTeX as text in the language. Raises `ChainruleError` with the place in the LaTeX."""
    return _Reader(text).statements()


class _Reader:
    """A parser that emits text."""

    def __init__(self, text: str) -> None:
        self.text = text
        found = [(m[0], m.start()) for m in _TOKEN.finditer(text)]
        found = [(t if t.strip() else "\n" if "\n" in t else " ", at) for t, at in found if t not in _SPACE]
        self.tokens = [(t, at) for t, at in found if t != " "] + [("", len(text))]
        self.k = 0
        self.depth = 0
        self.open_bars = 0
        self.functions: dict[str, list[str]] = {}  # names that a header defined, with their arguments

    @property
    def token(self) -> str:
        """The current token."""
        return self.tokens[self.k][0]

    def take(self, wanted: str | None = None) -> str:
        """Go past the current token and return it."""
        token = self.token
        if wanted is not None and token != wanted:
            self.fail(f"{wanted} is missing")
        self.k += 1
        return token

    def fail(self, message: str, hint: str | None = None) -> NoReturn:
        """Refuse the text at the current token."""
        at = self.tokens[self.k][1]
        span = Span(at, at + max(1, len(self.token)))
        raise ChainruleError("syntax", message, spans=[span], source=self.text, hint=hint)

    # --- statements ---------------------------------------------------------------------------------------------------

    def statements(self) -> str:
        """All statements, parted by semicolons, line ends or `\\\\`."""
        found: list[str] = []
        while True:
            while self.token in (";", "\n", "\\\\", "."):
                self.take()
            if self.token == "":
                return "; ".join(found)
            found.append(self.statement())
            if self.token not in ("", ";", "\n", "\\\\", "."):
                self.fail(f"{self.token} cannot stand here")

    def statement(self) -> str:
        """One statement: a claim, a definition, or an expression."""
        left = self.left_side()
        if left is None:
            left = self.comparison()
        if self.token != "=":
            return left
        self.take()
        return f"{left} = {'' if self.token in _ENDS else self.comparison()}"

    def left_side(self) -> str | None:
        """A left side that is no expression: a derivative, or the head of a function."""
        start = self.k
        found = self.derivative() or self.head()
        if found is None:
            self.k = start
        return found

    def derivative(self) -> str | None:
        """`\\frac{dy}{dx}`, `\\frac{d^2}{dx^2} (…)`, `\\frac{\\partial (…)}{\\partial x}`."""
        if self.token not in _FRACTIONS:
            return None
        self.take()
        start = self.k
        above, below = self.raw_group(), self.raw_group()
        if above is None or not re.match(r"[d∂]", above) or not re.fullmatch(_DENOMINATOR, below or ""):
            return None
        end = self.k
        if above in ("d", "∂"):
            return f"{above}/{below}({self.comparison()})"
        self.k = start
        self.take("{")
        sign = self.differential_sign()
        if self.token == "^":
            self.take()
            sign += f"^{self.argument()}"
        inside = "" if self.token == "}" else self.differentiated()
        if self.token != "}":
            self.fail(f"{self.token} cannot stand here")
        self.k = end
        return f"{sign}{inside}/{below}" + ("" if inside else f"({self.comparison()})")

    def differential_sign(self) -> str:
        """`d`, `\\partial`, `\\mathrm{d}`."""
        if self.token in _WORDS:
            self.take()
            return self.raw_group() or ""
        return "∂" if self.take() == "\\partial" else "d"

    def differentiated(self) -> str:
        """What stands behind the d above the line: a name, or an expression."""
        start = self.k
        if self.starts_name():
            name = self.name()
            if self.token == "}":
                return name
            self.k = start
        group = self.token in _OPEN
        inside = self.comparison()
        return inside if group and re.fullmatch(r"\([^()]*\)", inside) else f"({inside})"

    def raw_group(self) -> str | None:
        """A group's tokens as they are, derivative signs as d and ∂; None where no group stands here."""
        if self.token != "{":
            return self.take() if self.token.isalnum() else None
        depth = 0
        found: list[str] = []
        while self.token:
            token = self.take()
            depth += (token == "{") - (token == "}")
            if token == "\\partial":
                token = "∂"
            elif token in _WORDS or token in ("{", "}"):
                token = ""
            found.append(token.lstrip("\\"))
            if depth == 0:
                break
        return "".join(found)

    def head(self) -> str | None:
        """`y`, `y'`, `f(x, y)`, `f'(x)`, `f'(2)`, before an equals sign."""
        if not self.starts_name():
            return None
        name = self.name()
        primes = ""
        while self.token in ("'", "\\prime", "^"):
            if self.token == "^":
                following = [t for t, _ in self.tokens[self.k + 1 : self.k + 3]]
                if following[:1] != ["\\prime"] and following != ["{", "\\prime"]:
                    return None
                self.take()
                primes += (self.raw_group() or self.take()).replace("prime", "'")
            else:
                primes += "'"
                self.take()
        inside = None
        if self.token == "(":
            begin = self.k
            while self.token not in (")", ""):
                self.take()
            self.take()
            if self.token == "=":
                end, self.k = self.k, begin + 1
                inside = [self.comparison()]
                while self.token == ",":
                    self.take()
                    inside.append(self.comparison())
                self.k = end
        if self.token != "=":
            return None
        if inside is not None and not primes:
            self.functions[name] = inside
        return name + primes + (f"({', '.join(inside)})" if inside else "")

    # --- expressions --------------------------------------------------------------------------------------------------

    def comparison(self) -> str:
        """A sum, or sums compared."""
        text = self.sum()
        while self.token in _SIGNS:
            text += f" {_SIGNS[self.take()]} {self.sum()}"
        return text

    def sum(self) -> str:
        """Products added and subtracted."""
        self.depth += 1
        if self.depth > MOST_NESTED:
            self.fail(f"more than {MOST_NESTED} groups inside one another")
        sign = self.take() if self.token in ("+", "-") else ""
        text = sign.replace("+", "") + self.product()
        while self.token in ("+", "-"):
            text += f" {self.take()} {self.product()}"
        self.depth -= 1
        return text

    def product(self, *, of_function: bool = False) -> str:
        """Factors multiplied and divided; the argument of a function without brackets ends before the next function."""
        text = self.factor()
        divided = False
        while True:
            sign = "*" if self.token in _TIMES else "/" if self.token in _OVER else ""
            if of_function and sign == "/":
                self.fail("how far does the function reach?", hint=r"put brackets: \sin(x)/2 or \sin(x/2)")
            following = self.k
            if sign:
                self.take()
            if of_function and self.starts_function():
                self.k = following
                return text
            if not sign and not self.starts_factor():
                return text
            if not sign and divided:
                self.fail("what is divided by?", hint=r"write \frac{a}{b}, or put a sign: a/b \cdot c")
            divided = sign == "/" or (divided and sign != "*")
            text += f"{sign or '*'}{self.factor()}"

    def starts_factor(self) -> bool:
        """Whether a factor may start here."""
        token = self.token
        if token in _BARS:
            return not self.open_bars
        return token not in _NO_FACTOR

    def starts_name(self) -> bool:
        """Whether a name stands here."""
        t = self.token
        return (len(t) == 1 and t.isalpha()) or t.lstrip("\\") in _GREEK or (t in _WORDS and not self.starts_function())

    def starts_function(self) -> bool:
        """Whether a function's name stands here."""
        return self.function_name() is not None

    def function_name(self) -> str | None:
        """The function of the language that a command means."""
        token = self.token
        if token in _WORDS:
            word = "".join(t for t, _ in self.tokens[self.k + 1 : self.k + 24])
            word = word[1:].partition("}")[0] if word.startswith("{") else ""
        else:
            word = _SPELLED.get(token, token[1:]) if token.startswith("\\") else ""
        return word if word in CALLS and word not in _GREEK and len(word) > 1 else None

    def factor(self) -> str:
        """A base with its exponent."""
        base = self.base()
        if self.token == "'":
            self.fail("a derivative cannot stand inside an expression", hint=r"statements are parted by ; or \\")
        if self.token == "^":
            self.take()
            exponent = self.argument()
            base += f"^{exponent if exponent.isalnum() else f'({exponent})'}"
        return base

    def argument(self) -> str:
        """One token or a group."""
        if self.token == "{":
            return self.group("{", "}")
        if self.token in _FRACTIONS or self.token.startswith("\\") or (len(self.token) == 1 and self.token.isalpha()):
            return self.base()
        if not self.token.isdigit():
            self.fail("a number, a letter or a group in braces is wanted here")
        number, at = self.tokens[self.k]  # x^23 is x²·3
        if len(number) > 1:
            self.tokens[self.k] = (number[1:], at + 1)
            return number[0]
        return self.take()

    def group(self, opening: str, closing: str) -> str:
        """What stands between two brackets."""
        self.take(opening)
        bars, self.open_bars = self.open_bars, 0
        text = self.comparison()
        self.open_bars = bars
        if self.token != closing:
            self.fail(f"{closing} is missing" if self.token in _ENDS else f"{self.token} cannot stand here")
        self.take()
        return text

    def base(self) -> str:
        """A number, a name, a group, a root, a quotient, or a function of something."""
        token = self.token
        if token in _FRACTIONS:
            self.take()
            above, below = self.argument(), self.argument()
            return f"({_bracketed(above)}/{_bracketed(below)})"
        if token == "\\sqrt":
            return self.root()
        if token == "{":
            return f"({self.group('{', '}')})"
        if token in _OPEN:
            return f"({self.group(token, _OPEN[token])})"
        if token in _BARS:
            return self.bars(token)
        if re.fullmatch(r"\d+(\.\d+)?|\.\d+", token):
            return self.take()
        if self.starts_function():
            return self.function()
        if self.starts_name():
            return self.known_function(self.name())
        if token == "\\infty":
            self.take()
            return "inf"
        if token in _ENDS:
            self.fail("an expression is wanted here")
        self.fail(f"{token} is not understood in LaTeX", hint="write it in the language: see the README")

    def known_function(self, name: str) -> str:
        """A letter before a bracket: a function that was defined, or a product."""
        if self.token == "(" and name in self.functions:
            begin = self.k
            inside = self.group("(", ")") if len(self.functions[name]) == 1 else None
            if inside != self.functions[name][0]:
                self.k = begin
                self.fail(f"{name} is a function here; only {name}({', '.join(self.functions[name])}) can be used")
        return name

    def name(self) -> str:
        """A letter, a Greek one, or a word, with its subscript."""
        token = self.take()
        if token in _WORDS:
            self.take("{")
            word = ""
            while self.token not in ("}", ""):
                word += self.take()
            self.take("}")
        else:
            word = _SPELLED.get(token, token).lstrip("\\")
        if self.token == "_":
            self.take()
            word += "_" + re.sub(r"\W", "", self.raw_group() or self.take())
        return word

    def root(self) -> str:
        """`\\sqrt{x}`, `\\sqrt[3]{x}`."""
        self.take()
        if self.token != "[":
            return f"sqrt({self.argument()})"
        order = self.group("[", "]")
        inside = self.argument()
        return f"cbrt({inside})" if order == "3" else f"({inside})^(1/({order}))"

    def bars(self, opening: str) -> str:
        """`|x|`."""
        self.take()
        self.open_bars += 1
        text = self.comparison()
        self.open_bars -= 1
        self.take(_BARS[opening])
        return f"abs({text})"

    def function(self) -> str:
        """`\\sin x`, `\\sin^2 x`, `\\log_{10} x`, `\\sin(x)`."""
        name = self.function_name()
        assert name is not None
        if self.take() in _WORDS:
            self.raw_group()
        power = base = ""
        while self.token in ("^", "_"):
            if self.take() == "^":
                power = self.argument()
            else:
                base = self.argument()
        if power.startswith("-"):
            self.fail(f"{name}^({power}) can be read in two ways", hint=f"write \\arc{name} x or 1/\\{name}(x)")
        bracketed = self.token in _OPEN or self.token == "{"
        inside = self.group(self.token, _OPEN.get(self.token, "}")) if bracketed else self.product(of_function=True)
        text = f"{name}({inside}{f', {base}' if base else ''})"
        return f"{text}^({power})" if power else text


def _bracketed(text: str) -> str:
    return text if re.fullmatch(r"[\w.]+", text) else f"({text})"

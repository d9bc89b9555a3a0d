"""Claims as people write them: every form is read, in the language and in LaTeX, and what is unclear is refused."""

from __future__ import annotations

import pytest

import chainrule as cr
from chainrule.claims import Claim, read_block
from chainrule.printing import expression_text
from chainrule.syntax.latex import from_latex


def read(source: str, *claims: str) -> Claim:
    block = read_block(source, claims=claims)
    (claim,) = block.claims
    if isinstance(claim, cr.ChainruleError):
        raise claim
    return claim


def said(claim: Claim) -> tuple[str, str, str]:
    """What is differentiated, by what, and what is claimed."""
    texts = (expression_text(claim.graph, node) for node in (claim.root, claim.answer))
    root, answer = texts
    return root, claim.wrt, answer


@pytest.mark.parametrize(
    ("left", "by"),
    [
        ("dy/dx", "x"),
        ("dy/d x", "x"),
        ("dy / dx", "x"),
        ("(dy)/(dx)", "x"),
        ("∂y/∂x", "x"),
        ("∂y/∂w", "w"),
        ("d2y/dx2", "x,x"),
        ("d^2y/dx^2", "x,x"),
        ("d**2y/dx**2", "x,x"),
        ("d²y/dx²", "x,x"),
        ("d^2 y/dx^2", "x,x"),
        ("d3y/dx3", "x,x,x"),
        ("d2y/dxdw", "x,w"),
        ("d2y/dx dw", "x,w"),
        ("d2y/(dx dw)", "x,w"),
        ("∂²y/∂x∂w", "x,w"),
        ("∂^2y/∂w∂x", "w,x"),
        ("d3y/dx2dw", "x,x,w"),
        ("∂³y/∂x²∂w", "x,x,w"),
        ("grad y", "x,w"),
        ("grad(y)", "x,w"),
        ("∇y", "x,w"),
        ("jac y", "x,w"),
        ("hess y", "x,w,x,w"),
        ("D_[1, 2] y", "x,w"),
    ],
)
def test_left_side(left, by):
    assert said(read("y = x^2*w", f"{left} = 2*x")) == ("y", by, "2*x")


@pytest.mark.parametrize(
    ("left", "by", "at"),
    [
        ("f'(x)", "x", {}),
        ("f'", "x", {}),
        ("f''(x)", "x,x", {}),
        ("f′(x)", "x", {}),
        ("f″(x)", "x,x", {}),
        ("f’’(x)", "x,x", {}),
        ("f'(2)", "x", {"x": 2}),
        ("f''(-1/2)", "x,x", {"x": -0.5}),
        ("df/dx", "x", {}),
    ],
)
def test_primes(left, by, at):
    claim = read("f(x) = x^3", f"{left} = 6")
    assert said(claim) == ("f", by, "6")
    assert {claim.graph.nodes[i].name: value for i, value in claim.at.items()} == at


@pytest.mark.parametrize(
    ("claim", "root", "by"),
    [
        ("d/dx(x^2*w) = 2*x*w", "x^2*w", "x"),
        ("d/dx x^2 = 2*x", "x^2", "x"),
        ("∂/∂w (x^2*w) = x^2", "x^2*w", "w"),
        ("d^2/dx^2(x^3) = 6*x", "x^3", "x,x"),
        ("d²/dx²(x^3) = 6*x", "x^3", "x,x"),
        ("d(x^2)/dx = 2*x", "x^2", "x"),
        ("d2(x^2*w)/dxdw = 2*x", "x^2*w", "x,w"),
        ("d/dx(1) = 0", "1", "x"),
    ],
)
def test_expression_inside_the_claim(claim, root, by):
    assert said(read(claim))[:2] == (root, by)


@pytest.mark.parametrize(
    ("program", "claim", "by"),
    [
        ("y = x2*x", "dy/dx2 = x", "x2"),
        ("y = x2*x", "d2y/dx2 = 0", "x,x"),
        ("y = x₂*x", "dy/dx_2 = x", "x_2"),
        ("y = dx*x", "dy/ddx = x", "dx"),
        ("a = x^2; y = sin(a)", "dy/da = cos(a)", "a"),
        ("a = x^2; y = sin(a)", "da/dx = 2*x", "x"),
        ("y = e*x", "dy/de = x", "e"),
    ],
)
def test_orders_and_names_decide(program, claim, by):
    assert read(program, claim).wrt == by


def test_claims_in_the_text_of_the_block():
    block = read_block("f(x) = x^3  # the cube\n# by the power rule\nf'(x) = 3*x^2\nf''(x) = 6*x  # again\n| x > 0")
    assert block.texts == ["f'(x) = 3*x^2", "f''(x) = 6*x"]
    assert [claim.wrt for claim in block.claims] == ["x", "x,x"]
    assert len(block.program.assumptions) == 1


def test_claims_by_key():
    block = read_block("x^2*w", claims={"x": "2*x*w", "x,x": "2*w", "x,w": "2*x"})
    assert [claim.wrt for claim in block.claims] == ["x", "x,x", "x,w"]


@pytest.mark.parametrize(
    ("program", "claim", "message"),
    [
        ("y = x^2", "1 = 1", "this is no claim about a derivative"),
        ("y = x^2", "x + 1 = 2", "this is no claim about a derivative"),
        ("y = x^2", "dy/dx =", "nothing is claimed"),
        ("y = x^2", "dy/dx = # later", "nothing is claimed"),
        ("y = x^2", "dy/dx = 2*z", "the program has no 'z'"),
        ("y = x^2", "dz/dx = 2*x", "the program has no 'z'"),
        ("y = x^2", "dy/dw = 2*x", "the program has no 'w' to differentiate by"),
        ("y = x*w", "d2y/dxdq = 1", "the program has no 'q' to differentiate by"),
        ("y = x^2", "d2y/dx = 2", "the orders do not add up: 2 above, 1 below"),
        ("y = x^2", "dy/dx2 = 2", "the orders do not add up: 1 above, 2 below"),
        ("y = x*w", "y' = w", "y' does not say by which input (x, w)"),
        ("y = x*x2*x22", "d3y/dx22 = 1", "the orders do not add up"),
        ("y = x*w*xdw*wdx", "d2y/dxdwdx = 0", "dxdwdx can be read as by x, wdx or by xdw, x"),
        ("f(x) = x^2", "f'(1, 2) = 2", "2 values for the inputs x"),
        ("f(x) = x^2*a", "f'(w) = 2", "the program has no 'w'"),
        ("y = x*w", "D_[1] y = 2", "the direction needs an entry for each of x, w"),
        ("y = x^2", "dy/dx = cos(x", "'(' is never closed"),
        ("y = x^2", "2*x", "'2*x' is no claim"),
    ],
)
def test_refusals(program, claim, message):
    with pytest.raises(cr.ChainruleError) as refused:
        read(program, claim)
    assert message in refused.value.message
    assert refused.value.hint or refused.value.spans


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x^2", "there is no claim to verify"),
        ("", "the program is empty"),
        ("1 = 1", "this is no claim about a derivative"),
        ("dy/dx = 2*x", "there is no program before the claim"),
        ("y = x@A@x | x: 3, A: 3x3\ndy/dx = 2*A@x", "a claim behind the bar"),
        ("y = sin(x\ndy/dx = cos(x)", "'(' is never closed"),
    ],
)
def test_refused_blocks(source, message):
    with pytest.raises(cr.ChainruleError) as refused:
        read_block(source)
    assert message in refused.value.message


# --- LaTeX ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\frac{d}{dx} x^2 \sin x = 2x \sin x + x^2 \cos x", "d/dx(x^2*sin(x)) = 2*x*sin(x) + x^2*cos(x)"),
        (r"\frac{\partial}{\partial x} x y = y", "∂/∂x(x*y) = y"),
        (r"\frac{\partial y}{\partial x_{1}} = 2 x_1", "∂y/∂x_1 = 2*x_1"),
        (r"\frac{d^2 y}{dx^2} = 2", "d^2y/dx^2 = 2"),
        (r"\frac{\partial^2 z}{\partial x \partial y} = 1", "∂^2z/∂x∂y = 1"),
        (r"\frac{d(x^2)}{dx} = 2x", "d(x^2)/dx = 2*x"),
        (r"\frac{d \sin x}{dx} = \cos x", "d(sin(x))/dx = cos(x)"),
        (r"\dfrac{\partial^2 (x^2 y)}{\partial x\,\partial y} = 2x", "∂^2(x^2*y)/∂x∂y = 2*x"),
        (r"\frac{\mathrm{d}\,xy}{\mathrm{d}x} = y", "d(x*y)/dx = y"),
        (r"\frac{d (x+1)(x-1)}{dx} = 2x", "d((x + 1)*(x - 1))/dx = 2*x"),
        (r"\frac d{dx} x^2 = 2x", "d/dx(x^2) = 2*x"),
        (r"f'(x) = 3x^2 \cdot 1", "f'(x) = 3*x^2*1"),
        (r"f^{\prime}(x) = \pi", "f'(x) = pi"),
        (r"xy \cdot z", "x*y*z"),
        (r"x_{12} x_1 \alpha_2", "x_12*x_1*alpha_2"),
        (r"\mathrm{rate} t", "rate*t"),
        (r"x^23\,", "x^2*3"),
        (r"x^{23}\,", "x^23"),
        (r"e^{-x}", "e^(-x)"),
        (r"\frac12 x", "(1/2)*x"),
        (r"\frac{x+1}{x-1}", "((x + 1)/(x - 1))"),
        (r"\sqrt{x}", "sqrt(x)"),
        (r"\sqrt x y", "sqrt(x)*y"),
        (r"\sqrt[3]{x}", "cbrt(x)"),
        (r"\sqrt[4]{x}", "(x)^(1/(4))"),
        (r"\left( x + 1 \right)^2", "(x + 1)^2"),
        (r"\ln |x|", "ln(abs(x))"),
        (r"\left| x - 1 \right| \cdot 2", "abs(x - 1)*2"),
        (r"\sin x \cos x", "sin(x)*cos(x)"),
        (r"\sin 2x", "sin(2*x)"),
        (r"\sin 2 \pi x + 1", "sin(2*pi*x) + 1"),
        (r"\sin^2 x", "sin(x)^(2)"),
        (r"\log_{10} x", "log(x, 10)"),
        (r"\log_2 x", "log(x, 2)"),
        (r"\arctan x", "arctan(x)"),
        (r"\operatorname{sinh} x", "sinh(x)"),
        (r"2 \times 3 \div x", "2*3/x"),
        (r"\tan\left(x\right)", "tan(x)"),
    ],
)
def test_latex(latex, text):
    assert from_latex(latex) == text


@pytest.mark.parametrize(
    ("latex", "message"),
    [
        (r"\frob{x}", r"\frob is not understood in LaTeX"),
        (r"\sin x/2", "how far does the function reach?"),
        (r"\frac{1}{x", "} is missing"),
        (r"\frac{d(x^2]}{dx} = 2x", ") is missing"),
        (r"\frac{d x^2)}{dx} = 2x", ") cannot stand here"),
        (r"\left( x \right]", ") is missing"),
        (r"\sin^{-1} x", "can be read in two ways"),
        (r"x^", "is wanted here"),
        (r"a/b c \,", "what is divided by?"),
        (r"\sqrt[3]{x} f'(x)", "a derivative cannot stand inside an expression"),
        ("{" * 500 + r"\,x" + "}" * 500, "inside one another"),
    ],
)
def test_refused_latex(latex, message):
    with pytest.raises(cr.ChainruleError) as refused:
        from_latex(latex)
    assert message in refused.value.message
    assert refused.value.source == latex


def test_latex_means_what_the_language_says():
    latex = read_block(r"\frac{d}{dx} \left( x^2 e^{-x} \right) = (2x - x^2) e^{-x}").claims[0]
    plain = read_block("d/dx(x^2*e^(-x)) = (2x - x^2)*e^(-x)").claims[0]
    assert said(latex) == said(plain)

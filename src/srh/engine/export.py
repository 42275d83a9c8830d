"""Expression to LaTeX and to SymPy."""

from __future__ import annotations

import math
import re
import unicodedata
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from srh.engine.expression import (
    Binary,
    Expression,
    Function,
    GroupedParameter,
    Number,
    Parameter,
    Symbol,
    Unary,
)
from srh.engine.render import ATOM, PRECEDENCE, PRODUCT, SIGN, SUM
from srh.errors import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Sequence

_LATEX_SPECIAL = {char: "\\" + char for char in "#$%&_{}"} | {
    "\\": r"\backslash ",
    "^": r"\hat{}",
    "~": r"\sim ",
}
# fmt: off
_GREEK = frozenset({
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta",
    "iota", "kappa", "lambda", "mu", "nu", "xi", "pi", "rho", "sigma",
    "tau", "upsilon", "phi", "chi", "psi", "omega",
})
# fmt: on
_DEEPEST_SYMPY = 100
_CONSTANT_LATEX = {math.pi: r"\pi", math.e: r"\mathrm{e}"}


def to_latex(expression: Expression) -> str:
    """Return LaTeX for math mode.

    Bound parameters are written as their values, unbound ones by name, grouped ones by name with
    the label column as index. The numbers pi and e are written as such.

    Raises:
        ExpressionError: A node has no LaTeX form.
    """
    parts: list[str] = []
    stack: list[Expression | str] = [expression]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
        else:
            stack.extend(reversed(_latex_pieces(item)))
    return "".join(parts)


def _latex_pieces(node: Expression) -> list[Expression | str]:
    if isinstance(node, Binary):
        return _latex_binary(node.op, node.left, node.right)
    if isinstance(node, Unary):
        return ["-", *_latex_held(node.operand, SIGN + 1)]
    if isinstance(node, Function):
        pieces: list[Expression | str] = []
        for index, text in enumerate(re.split(r"\{(\d)\}", node.operator.latex)):
            pieces.append(node.args[int(text)] if index % 2 else _unescape(text))
        return pieces
    return [_latex_leaf(node)]


def _unescape(template: str) -> str:
    return template.replace("{{", "{").replace("}}", "}")


def _latex_binary(op: str, left: Expression, right: Expression) -> list[Expression | str]:
    if op == "/":
        return [r"\frac{", left, "}{", right, "}"]
    if op == "**":
        return ["{", *_latex_held(left, ATOM), "}^{", right, "}"]
    if op == "*":
        return [*_latex_held(left, PRODUCT), r" \cdot ", *_latex_held(right, SIGN + 1)]
    return [*_latex_held(left, SUM), f" {op} ", *_latex_held(right, PRODUCT)]


def _latex_held(node: Expression, needed: int) -> list[Expression | str]:
    if _latex_precedence(node) >= needed:
        return [node]
    return [r"\left(", node, r"\right)"]


def _latex_precedence(node: Expression) -> int:
    if isinstance(node, Binary):
        return SIGN + 1 if node.op == "/" else PRECEDENCE[node.op]
    if isinstance(node, Unary):
        return PRODUCT
    text = _latex_leaf(node) if not isinstance(node, Function) else ""
    if text.startswith("-"):
        return PRODUCT
    if text.startswith(r"\frac"):
        return SIGN + 1
    return PRODUCT if r"\cdot" in text else ATOM


def _latex_leaf(node: Expression) -> str:
    if isinstance(node, Number):
        return _latex_number(node.value)
    if isinstance(node, Symbol):
        return _latex_name(node.name)
    if isinstance(node, Parameter):
        return _latex_name(node.name) if node.value is None else _latex_number(node.value)
    if isinstance(node, GroupedParameter):
        return f"{{{_latex_name(node.name)}}}_{{{_latex_name(node.label)}}}"
    raise ExpressionError(f"{type(node).__name__} has no LaTeX form")


def _latex_number(value: float | Fraction) -> str:
    if isinstance(value, Fraction):
        sign = "-" if value < 0 else ""
        return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"
    if value in _CONSTANT_LATEX:
        return _CONSTANT_LATEX[value]
    mantissa, _, exponent = repr(value).partition("e")
    return rf"{mantissa} \cdot 10^{{{int(exponent)}}}" if exponent else mantissa


def _latex_name(name: str) -> str:
    letter = _latex_letter(name)
    if letter:
        return letter
    base, _, index = name.partition("_")
    letter = _latex_letter(base)
    if letter and index.isalnum():
        return rf"{letter}_{{\mathrm{{{index}}}}}"
    text = "".join(_LATEX_SPECIAL.get(char, char) for char in name)
    return rf"\mathrm{{{text}}}".replace(" ", r"\ ")


def _latex_letter(name: str) -> str:
    """Return the LaTeX of a single letter, Greek ones also by their English name, or nothing."""
    if name in _GREEK:
        return "\\" + name
    words = unicodedata.name(name, "").split() if len(name) == 1 else []
    if len(words) == 4 and words[0] == "GREEK" and words[3].lower() in _GREEK:
        word = words[3].lower()
        return "\\" + (word.capitalize() if words[1] == "CAPITAL" else word)
    return name if len(name) == 1 and name.isalpha() else ""


def to_sympy(expression: Expression) -> Any:
    """Return a SymPy expression over real symbols.

    Bound parameters become their values; unbound ones become symbols; a grouped parameter becomes
    a function of its label column. SymPy rearranges as it likes.

    Raises:
        ExpressionError: The tree is too deep for SymPy, which is recursive.
    """
    import sympy  # half a second that only this needs

    done: list[tuple[Any, int]] = []
    for node in expression.iter_postorder():
        count = len(node.operands)
        parts = done[len(done) - count :]
        del done[len(done) - count :]
        # SymPy keeps sums and products flat, however long they are.
        flat = isinstance(node, Binary) and node.op in {"+", "-", "*"}
        depth = max((depth for _, depth in parts), default=0) + (not flat)
        if depth > _DEEPEST_SYMPY:
            raise ExpressionError(
                f"the expression nests functions deeper than {_DEEPEST_SYMPY}; "
                "that is too deep for SymPy"
            )
        done.append((_sympy_node(sympy, node, [form for form, _ in parts]), depth))
    return done[0][0]


def _sympy_node(sympy: Any, node: Expression, args: Sequence[Any]) -> Any:
    if isinstance(node, Unary | Binary | Function):
        if isinstance(node, Binary) and node.op == "**":
            known = _numeric_power(sympy, *args)
            if known is not None:
                return known
        how = node.operator.sympy
        return getattr(sympy, how)(*args) if isinstance(how, str) else how(sympy, *args)
    if isinstance(node, Number):
        return _sympy_number(sympy, node.value)
    if isinstance(node, Parameter) and node.value is not None:
        return _sympy_number(sympy, node.value)
    if isinstance(node, Symbol | Parameter):
        return sympy.Symbol(node.name, real=True)
    if isinstance(node, GroupedParameter):
        return sympy.Function(node.name, real=True)(sympy.Symbol(node.label, real=True))
    raise ExpressionError(f"{type(node).__name__} has no SymPy form")


def _numeric_power(sympy: Any, base: Any, exponent: Any) -> Any | None:
    """Return a closed power whose value float64 cannot hold as float64 has it, else ``None``.

    SymPy would compute 9**9**9 exactly, all 369,693,100 digits of it.
    """
    if not (base.is_number and exponent.is_number):
        return None
    try:
        value = float(base) ** float(exponent)
    except (OverflowError, ZeroDivisionError):
        return sympy.oo
    except TypeError:  # a complex base or exponent: nothing that grows
        return None
    return sympy.Integer(0) if value == 0 else None


def _sympy_number(sympy: Any, value: float | Fraction) -> Any:
    if value == math.pi:
        return sympy.pi
    if value == math.e:
        return sympy.E
    if isinstance(value, float):
        return sympy.Float(value)
    return sympy.Rational(value.numerator, value.denominator)

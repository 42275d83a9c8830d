"""Expression to LaTeX."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable
from fractions import Fraction

from srh.engine.expression import Binary, Expression, Function, Number, Symbol, Unary
from srh.engine.indexed import (
    Aggregate,
    Delay,
    Gather,
    Incidence,
    Indexed,
    Reduction,
    RelationField,
    RelationLift,
)
from srh.engine.parameters import GroupedParameter, Parameter
from srh.engine.render import ATOM, PRECEDENCE, PRODUCT, SIGN, SUM
from srh.errors import ExpressionError

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
_REDUCERS = {
    "sum": r"\sum",
    "prod": r"\prod",
    "max": r"\max",
    "min": r"\min",
    "mean": r"\operatorname*{mean}",
}
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
    if node.operands:
        return _latex_structured(node)
    return [_latex_leaf(node)]


def _latex_structured(node: Expression) -> list[Expression | str]:
    if isinstance(node, Indexed):
        return ["{", node.base, f"}}_{{{_latex_indices(node.names)}}}"]
    if isinstance(node, Reduction):
        over = _latex_indices([index.name for index in node.over])
        if node.incidence is not None:
            over += rf":\,{_latex_incidence(node.incidence)}"
        return [rf"{_REDUCERS[node.op]}_{{{over}}} ", *_latex_held(node.body, PRODUCT)]
    if isinstance(node, Gather):
        return [r"\left[", node.body, rf"\right]_{{{_latex_incidence(node.incidence)}}}"]
    if isinstance(node, Aggregate):
        return [rf"\sum_{{{_latex_name(node.relation)}}} ", *_latex_held(node.body, PRODUCT)]
    if isinstance(node, RelationLift):
        position = "" if node.position is None else f"_{{{node.position}}}"
        name = rf"\operatorname{{{node.role}}}{position}"
        return [rf"{name}\left(", node.operand, r"\right)"]
    if isinstance(node, Delay):
        return [
            r"\left.",
            *_latex_held(node.operand, PRODUCT),
            r"\right|_{t - ",
            *_latex_held(node.lag, PRODUCT),
            "}",
        ]
    raise ExpressionError(f"{type(node).__name__} has no LaTeX form")


def _latex_indices(names: Iterable[str]) -> str:
    return ", ".join(map(_latex_name, names))


def _latex_incidence(incidence: Incidence) -> str:
    return rf"({_latex_indices(incidence.names)}) \in {_latex_name(incidence.relation)}"


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
    if isinstance(node, Reduction | Aggregate):
        return PRODUCT
    text = "" if node.operands else _latex_leaf(node)
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
    if isinstance(node, RelationField):
        return _latex_name(node.name)
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

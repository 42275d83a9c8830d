"""Expression to text that parses back to the same expression, and a readable outline."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from srh.engine.expression import Binary, Expression, Function, Number, NumberFormat, Symbol, Unary
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
from srh.engine.names import REDUCERS, quote
from srh.engine.parameters import GroupedParameter, Parameter
from srh.errors import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# How tight a text holds together; brackets are written where less than needed is there.
SUM, PRODUCT, SIGN, POWER, ATOM = 1, 2, 3, 4, 5
PRECEDENCE = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "**": POWER}

_SPACED = {"+": " + ", "-": " - ", "*": "*", "/": "/", "**": "**"}
# What the sides of an operator need: sums and products group to the left, powers to the right.
_NEEDS = {
    "+": (SUM, PRODUCT),
    "-": (SUM, PRODUCT),
    "*": (PRODUCT, SIGN),
    "/": (PRODUCT, SIGN),
    "**": (ATOM, SIGN),
}
_DEEPEST_INDENT = 40


def render(expression: Expression, number_format: NumberFormat = None) -> str:
    """Return the text of an expression.

    Args:
        expression: Any expression.
        number_format: Format specification (``".4g"``) or function for floats. Without it floats
            have the digits that restore them exactly, and ``parse(text) == expression``.

    Raises:
        ExpressionError: A node has no text form.
    """
    floats = _formatter(number_format)
    parts: list[str] = []
    stack: list[Expression | str] = [expression]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
        else:
            stack.extend(reversed(_pieces(item, floats)))
    return "".join(parts)


def precedence(node: Expression) -> int:
    """Return how tight the text of a node holds together."""
    if isinstance(node, Binary):
        return PRECEDENCE[node.op]
    if isinstance(node, Unary):
        return SIGN
    if isinstance(node, Number):
        if isinstance(node.value, Fraction):
            return PRODUCT
        return SIGN if str(node.value).startswith("-") else ATOM
    return ATOM


def to_tree(expression: Expression) -> str:
    """Return one line per node, indented by depth."""
    lines: list[str] = []
    stack = [(expression, 0)]
    while stack:
        node, depth = stack.pop()
        indent = "  " * min(depth, _DEEPEST_INDENT)
        mark = f"[{depth}] " if depth > _DEEPEST_INDENT else ""
        lines.append(f"{indent}{mark}{_headline(node)}")
        stack.extend((operand, depth + 1) for operand in reversed(node.operands))
    return "\n".join(lines)


def _headline(node: Expression) -> str:
    if isinstance(node, Binary):
        return node.op
    if isinstance(node, Unary):
        return "-(...)"
    if isinstance(node, Reduction | Gather | Aggregate):
        return f"{structure_head(node)}...)"
    if isinstance(node, RelationLift):
        return node.role if node.position is None else f"{node.role} {node.position}"
    if isinstance(node, Delay):
        return "delay"
    return node.name if isinstance(node, Function) else node.to_str()


def _formatter(number_format: NumberFormat) -> Callable[[float], str]:
    if number_format is None:
        return repr
    if isinstance(number_format, str):
        specification = number_format
        return lambda value: format(value, specification)
    return number_format


def _pieces(node: Expression, floats: Callable[[float], str]) -> list[Expression | str]:
    """Return the text of one node, its operands left as they are."""
    if isinstance(node, Binary):
        left, right = _NEEDS[node.op]
        if node.op == "/" and _reads_as_fraction(node):
            right = ATOM + 1
        return [*_held(node.left, left), _SPACED[node.op], *_held(node.right, right)]
    if isinstance(node, Function):
        pieces: list[Expression | str] = [node.name, "("]
        for argument in node.args:
            pieces += [argument, ", "]
        return [*pieces[:-1], ")"]
    if node.operands and not isinstance(node, Unary):
        return _structured_pieces(node)
    if isinstance(node, Unary):
        # -2 is the number, -(2) is the sign applied to a number.
        plain = isinstance(node.operand, Number) and precedence(node.operand) == ATOM
        return ["-", *_held(node.operand, ATOM + 1 if plain else SIGN)]
    return [_leaf(node, floats)]


def _structured_pieces(node: Expression) -> list[Expression | str]:
    if isinstance(node, Indexed):
        base = node.base
        # sum[i] would be the beginning of a reduction.
        reads_as_reducer = isinstance(base, Symbol) and base.name in REDUCERS
        name = f"`{base}`" if reads_as_reducer and not str(base).startswith("`") else base
        return [name, f"[{_listed(node.indices)}]"]
    if isinstance(node, RelationLift):
        position = "" if node.position is None else f", {node.position}"
        return [f"{node.role}(", node.operand, f"{position})"]
    if isinstance(node, Delay):
        return ["delay(", node.operand, ", ", node.lag, ")"]
    return [f"{structure_head(node)}", node.operands[0], ")"]


def structure_head(node: Expression) -> str:
    """Return the text of a reduction, gather or aggregate up to its body.

    Raises:
        ExpressionError: It is none of these.
    """
    if isinstance(node, Reduction):
        first = f"{_incidence(node.incidence)}, " if node.incidence is not None else ""
        return f"{node.op}[{_listed(node.over)}]({first}"
    if isinstance(node, Gather):
        return f"gather({_incidence(node.incidence)}, "
    if isinstance(node, Aggregate):
        return f"aggr({quote(node.relation)}, "
    raise ExpressionError(f"{type(node).__name__} has no text form")


def _incidence(incidence: Incidence) -> str:
    name = quote(incidence.relation)
    return f"{f'`{name}`' if name in REDUCERS else name}[{_listed(incidence.indices)}]"


def _listed(indices: Iterable[object]) -> str:
    return ", ".join(map(str, indices))


def _leaf(node: Expression, floats: Callable[[float], str]) -> str:
    if isinstance(node, Number):
        return floats(node.value) if isinstance(node.value, float) else str(node.value)
    if isinstance(node, Symbol):
        return quote(node.name)
    if isinstance(node, Parameter):
        value = "" if node.value is None else f", value={floats(node.value)}"
        return f"param({node.name!r}{value})"
    if isinstance(node, GroupedParameter):
        return _grouped(node, floats)
    if isinstance(node, RelationField):
        return f"RelationField({quote(node.name)}, relation={quote(node.relation)})"
    raise ExpressionError(f"{type(node).__name__} has no text form")


def _held(operand: Expression, needed: int) -> list[Expression | str]:
    return [operand] if precedence(operand) >= needed else ["(", operand, ")"]


def _reads_as_fraction(node: Binary) -> bool:
    """Say whether a quotient of two numbers, written bare, would be read as one fraction."""
    left, right = node.left, node.right
    return (
        isinstance(left, Number)
        and isinstance(right, Number)
        and isinstance(left.value, int)
        and isinstance(right.value, int)
        and right.value > 0
    )


def _grouped(node: GroupedParameter, floats: Callable[[float], str]) -> str:
    text = f"grouped_param({quote(node.label)}, name={node.name!r}"
    if node.values:
        pairs = (f"{label!r}: {floats(value)}" for label, value in node.values.items())
        text += f", value={{{', '.join(pairs)}}}"
    if node.default is not None:
        text += f", default={floats(node.default)}"
    return text + ")"

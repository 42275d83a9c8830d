"""Computing closed subexpressions, without making readable constants unreadable.

Integers and fractions are computed exactly (``2*3/4`` becomes ``3/2``). What is irrational stays
as written as long as all of it is exact (``sqrt(2)``, ``2*exp(1)``), and becomes a float as soon as
a float is involved (``1.5*sqrt(2)``). A subexpression without a finite value (``1/0``,
``sqrt(-1)``, ``9**9**9``) stays as written. Order never changes: ``2*x*3`` has no closed part.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from srh.engine.expression import Binary, Expression, Function, Number, Unary

if TYPE_CHECKING:
    from collections.abc import Sequence

_LARGEST_EXACT = 2**53
"""Exact results are kept while numerator and denominator are exact as float64."""

_LARGEST_EXPONENT = 1024


class _Closed(NamedTuple):
    """A subexpression, and its value if it has no columns and parameters.

    Attributes:
        node: The folded subexpression.
        value: Its value as float64, or ``None`` if it is open or has no finite value.
        exact: Whether no float takes part in it.
    """

    node: Expression
    value: float | None
    exact: bool


def fold_constants(expression: Expression) -> Expression:
    """Return the expression with its closed subexpressions computed.

    Args:
        expression: Any expression. Bound parameters are not constants.

    Returns:
        An expression with the same value everywhere, up to rounding.
    """
    done: list[_Closed] = []
    for node in expression.iter_postorder():
        count = len(node.operands)
        parts = done[len(done) - count :]
        del done[len(done) - count :]
        done.append(_inner(node, parts) if count else _leaf(node))
    return done[0].node


def _leaf(node: Expression) -> _Closed:
    if isinstance(node, Number):
        return _Closed(node, float(node.value), not isinstance(node.value, float))
    return _Closed(node, None, True)


def _inner(node: Expression, parts: Sequence[_Closed]) -> _Closed:
    rebuilt = node._with_operands(tuple(part.node for part in parts))
    values = [part.value for part in parts if part.value is not None]
    value = _compute(rebuilt, values) if len(values) == len(parts) else None
    if value is None:
        return _Closed(rebuilt, None, True)
    if not all(part.exact for part in parts):
        return _Closed(Number(value), value, False)
    exact = _exact(rebuilt, value)
    if exact is None:
        return _Closed(rebuilt, value, True)
    return _Closed(exact, value, not isinstance(exact.value, float))


def _compute(node: Expression, values: Sequence[float]) -> float | None:
    """Return the node's value on numbers, or ``None`` if it is not finite."""
    if not isinstance(node, Unary | Binary | Function):
        return None
    with np.errstate(all="ignore"):
        value = float(node.operator.numpy(*np.array(values, dtype=np.float64)))
    return value if math.isfinite(value) else None


def _exact(node: Expression, value: float) -> Number | None:
    """Return the rational number that a node of rational operands is, if it is one."""
    numbers = [operand.value for operand in node.operands if isinstance(operand, Number)]
    if len(numbers) < len(node.operands):
        return None
    rationals = [Fraction(number) for number in numbers]
    if isinstance(node, Unary):
        result: Fraction | None = -rationals[0]
    elif isinstance(node, Binary):
        result = _arithmetic(node.op, *rationals)
    elif isinstance(node, Function):
        result = _function(node.name, rationals, value)
    else:
        return None
    if result is None or max(abs(result.numerator), result.denominator) > _LARGEST_EXACT:
        return None
    # -(0) and 0*(-1) are -0.0, whose sign no fraction has.
    return Number(value if result == 0 and math.copysign(1.0, value) < 0 else result)


def _arithmetic(op: str, a: Fraction, b: Fraction) -> Fraction | None:
    if op == "+":
        return a + b
    if op == "-":
        return a - b
    if op == "*":
        return a * b
    if op == "/":
        return a / b if b else None
    if b.denominator != 1 or abs(b) > _LARGEST_EXPONENT or (a == 0 and b < 0):
        return None
    return Fraction(a**b.numerator)


def _function(name: str, args: Sequence[Fraction], value: float) -> Fraction | None:
    if name == "sqrt":
        root = Fraction(math.isqrt(args[0].numerator), math.isqrt(args[0].denominator))
        return root if root**2 == args[0] else None
    if name == "abs":
        return abs(args[0])
    if name in {"min", "max"}:
        return min(args) if name == "min" else max(args)
    if name == "inv":
        return 1 / args[0]
    # exp(0), cos(0), log(1): at 0 and 1 a whole result is no coincidence of rounding.
    known = name == "sign" or (len(args) == 1 and args[0] in {0, 1} and value.is_integer())
    return Fraction(int(value)) if known else None

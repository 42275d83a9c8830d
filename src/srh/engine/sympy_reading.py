"""SymPy to expression: the way back from ``to_sympy``, written as a person would write it.

SymPy knows no subtraction and no division: ``a - b/c`` is a sum of a product with -1 and a product
with a power. Here signs and negative powers become what they mean, and ``log(x)/log(10)`` becomes
``log10(x)``. The module is imported where SymPy is in use already.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from srh.engine.expression import Binary, Expression, Function, Number, Symbol, Unary
from srh.engine.names import CONSTANTS
from srh.errors import ExpressionError
from srh.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Reader: TypeAlias = "Callable[[Any], Expression]"

_DEEPEST = 200
_ONE = Number(1)
_SAME_NAME = ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sign")
_FUNCTIONS = {
    **{name: name for name in (*_SAME_NAME, "sec", "sech", "csc", "cot")},
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "atan2": "arctan2",
    "Abs": "abs",
    "Min": "min",
    "Max": "max",
}
_RECIPROCALS = {"coth": "tanh", "csch": "sinh"}


def from_sympy(form: Any) -> Expression:
    """Return the expression that a SymPy expression stands for.

    Args:
        form: Built of symbols, real numbers, sums, products, powers and functions that the engine
            has. A symbol becomes the column of its name.

    Returns:
        An expression with the same value wherever SymPy's is real; constants are exact, a SymPy
        float becomes the nearest float64.

    Raises:
        ExpressionError: A part has no counterpart (an imaginary number, an infinity, an integral,
            a condition), a number is beyond float64, or it nests too deeply.
    """
    return _read(form, 0)


def _read(form: Any, depth: int) -> Expression:
    if depth > _DEEPEST:
        raise ExpressionError(f"the SymPy expression nests deeper than {_DEEPEST}")
    if form.is_Symbol:
        return Symbol(form.name)
    if form.is_number and not form.args:
        return _number(form)

    def parts(part: Any) -> Expression:
        return _read(part, depth + 1)

    if form.is_Add:
        return _sum([*form.as_ordered_terms()], parts)
    if form.is_Mul:
        return _product(form, parts)
    if form.is_Pow:
        return _power(form.base, form.exp, parts)
    return _function(form, parts)


def _number(form: Any) -> Expression:
    if form.is_Rational:
        return Number(Fraction(int(form.p), int(form.q)))
    if form.is_Float:
        return Number(float(form))
    named = {"Pi": "pi", "Exp1": "e"}.get(type(form).__name__)
    if named is not None:
        return Number(CONSTANTS[named])
    if form.is_real and form.is_finite:  # EulerGamma and its like
        return Number(float(form))
    raise _foreign(form)


def _sum(terms: Sequence[Any], parts: _Reader) -> Expression:
    # What begins with a minus stands first only where everything does.
    first = next((term for term in terms if not term.could_extract_minus_sign()), terms[0])
    result: Expression = parts(first)
    for term in terms:
        if term is first:
            continue
        if term.could_extract_minus_sign():
            result = Binary("-", result, parts(-term))
        else:
            result = Binary("+", result, parts(term))
    return result


def _product(form: Any, parts: _Reader) -> Expression:
    coefficient, rest = form.as_coeff_Mul()
    if coefficient.is_negative:
        return _negated(parts(-form))
    above: list[Expression] = []
    below: list[Expression] = []
    if coefficient.is_Rational and coefficient != 1:
        above += [Number(int(coefficient.p))] if coefficient.p != 1 else []
        below += [Number(int(coefficient.q))] if coefficient.q != 1 else []
    elif coefficient != 1:
        above.append(parts(coefficient))
    factors = list(rest.as_ordered_factors())
    decadic = _take_log10(factors)
    for factor in factors:
        if factor.is_Pow and factor.exp.is_Rational and factor.exp.is_negative:
            below.append(_power(factor.base, -factor.exp, parts))
        else:
            above.append(parts(factor))
    above += [Function("log10", [parts(argument)]) for argument in decadic]
    top = functools.reduce(_times, above) if above else _ONE
    return Binary("/", top, functools.reduce(_times, below)) if below else top


def _take_log10(factors: list[Any]) -> list[Any]:
    """Remove ``log(u)`` and ``1/log(10)`` from a product; return each ``u``."""
    found: list[Any] = []
    while True:
        scale = next((f for f in factors if f.is_Pow and f.exp == -1 and _is_log(f.base, 10)), None)
        log = next((f for f in factors if _is_log(f)), None)
        if scale is None or log is None:
            return found
        factors.remove(scale)
        factors.remove(log)
        found.append(log.args[0])


def _is_log(form: Any, argument: int | None = None) -> bool:
    return type(form).__name__ == "log" and (argument is None or form.args[0] == argument)


def _power(base: Any, exponent: Any, parts: _Reader) -> Expression:
    if type(base).__name__ == "Exp1":
        return Function("exp", [parts(exponent)])
    if exponent == 1:
        return parts(base)
    if exponent.is_Rational and exponent.is_negative:
        return Binary("/", _ONE, _power(base, -exponent, parts))
    if exponent.is_Rational and exponent == Fraction(1, 2):
        return Function("sqrt", [parts(base)])
    return Binary("**", parts(base), parts(exponent))


def _function(form: Any, parts: _Reader) -> Expression:
    name = type(form).__name__
    if name in _FUNCTIONS and form.args:
        args = [parts(argument) for argument in form.args]
        known = _FUNCTIONS[name]
        if known in {"min", "max"}:
            return functools.reduce(lambda a, b: Function(known, [a, b]), args)
        return Function(known, args)
    if name in _RECIPROCALS:
        return Binary("/", _ONE, Function(_RECIPROCALS[name], [parts(form.args[0])]))
    raise _foreign(form)


def _times(left: Expression, right: Expression) -> Expression:
    return Binary("*", left, right)


def _negated(expression: Expression) -> Expression:
    """Put the minus into the number that a product begins with, if it does."""
    if isinstance(expression, Number):
        # The sign of zero has no part in this: a coefficient is not zero.
        return Number(-expression.value)
    if isinstance(expression, Binary) and expression.op in {"*", "/"}:
        left = _negated(expression.left)
        return Binary(expression.op, left, expression.right)
    return Unary("-", expression)


def _foreign(form: Any) -> ExpressionError:
    value = getattr(form, "is_finite", None)
    why = " (no finite number)" if value is False or math.inf in form.args else ""
    return ExpressionError(
        f"SymPy's {one_line(str(form), 60)!r}{why} has no counterpart in a formula"
    )

"""The operator table: everything that a formula can compute with, one row each.

A row says how an operator is called, how NumPy computes it, what its partial derivatives are and
how it is written in SymPy, LaTeX and NumPy source: adding one is adding a row. What other modules
know of single operators by name makes them faster or more exact (``kernels.py``, ``structure.py``,
``folding.py``, ``starts.py``); an operator that they do not know works all the same.
"""

# Partials and SymPy callables share one signature each and rarely use all of it.
# ruff: noqa: ARG001, ARG005, PLW0108

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Array = NDArray[np.float64]
Partial: TypeAlias = "Callable[..., Any]"


@dataclass(frozen=True, slots=True)
class Operator:
    """One row of the table.

    Attributes:
        name: What the expression tree calls it.
        arity: Number of arguments.
        numpy: ``numpy(*arrays, out=None) -> array``, elementwise on float64; ``out`` may be
            positional and may be an argument. Where the operator is not defined the result is
            NaN, at a pole ±inf; the caller holds ``np.errstate``.
        partials: Per argument ``partial(*arrays, value=...)``, an array, or a scalar where it is
            the same in every row; ``value`` is the operator's result on the same arrays.
        sympy: Name of a callable of SymPy, or a function of the module and the arguments.
        latex: LaTeX with ``{0}`` and ``{1}`` for the arguments; empty for the infix operators,
            which the renderer writes itself.
        source: NumPy source with ``{0}`` and ``{1}``, safe to stand anywhere; empty for infix.
    """

    name: str
    arity: int
    numpy: Callable[..., Any]
    partials: tuple[Partial, ...]
    sympy: str | Callable[..., Any]
    latex: str = ""
    source: str = ""


def _sigmoid(x: Any, out: Any = None) -> Any:
    # exp overflows to inf for x < -709, and 1/inf = 0 is right: no second branch is needed.
    result = np.exp(np.negative(x, out=out), out=out)
    return np.reciprocal(np.add(result, 1.0, out=out), out=out)


def _reciprocal_of(function: Callable[..., Any]) -> Callable[..., Any]:
    def compute(x: Any, out: Any = None) -> Any:
        return np.reciprocal(function(x, out=out), out=out)

    return compute


def _minimum(a: Any, b: Any, out: Any = None) -> Any:
    # NumPy deprecates a positional ``out`` in these two ufuncs alone.
    return np.minimum(a, b, out=out)


def _maximum(a: Any, b: Any, out: Any = None) -> Any:
    return np.maximum(a, b, out=out)


def _power_by_base(base: Any, exponent: Any, *, value: Any) -> Any:
    result = exponent * value / base
    # At a zero base that is 0/0 where the slope has a value.
    at_zero = np.asarray(base) == 0
    if at_zero.any():
        slope = np.where(exponent == 0, 0.0, exponent * np.power(base, exponent - 1.0))
        result = np.where(at_zero, slope, result)
    return result


def _power_by_exponent(base: Any, exponent: Any, *, value: Any) -> Any:
    # The limit of 0·log(0) is 0; IEEE makes it NaN.
    return np.where(value == 0, 0.0, value * np.log(base))


# Divided by the length twice instead of by its square, which would overflow first.
def _arctan2_by_y(y: Any, x: Any, *, value: Any) -> Any:
    length = np.hypot(y, x)
    return x / length / length


def _arctan2_by_x(y: Any, x: Any, *, value: Any) -> Any:
    length = np.hypot(y, x)
    return -y / length / length


# At the origin the cone has no slope; 0 is its central subgradient.
def _hypot_by_a(a: Any, b: Any, *, value: Any) -> Any:
    return a / np.where(value == 0, 1.0, value)


def _hypot_by_b(a: Any, b: Any, *, value: Any) -> Any:
    return b / np.where(value == 0, 1.0, value)


# Where both are equal, the first one counts.
def _first_is_less(a: Any, b: Any, *, value: Any) -> Any:
    return np.less_equal(a, b).astype(np.float64)


def _first_is_greater(a: Any, b: Any, *, value: Any) -> Any:
    return np.greater_equal(a, b).astype(np.float64)


def _one(*args: Any, value: Any) -> float:
    return 1.0


def _minus_one(*args: Any, value: Any) -> float:
    return -1.0


_INFIX = (
    Operator("+", 2, np.add, (_one, _one), "Add"),
    Operator("-", 2, np.subtract, (_one, _minus_one), lambda s, a, b: a - b),
    Operator("*", 2, np.multiply, (lambda a, b, *, value: b, lambda a, b, *, value: a), "Mul"),
    Operator(
        "/",
        2,
        np.divide,
        (lambda a, b, *, value: 1.0 / b, lambda a, b, *, value: -value / b),
        lambda s, a, b: a / b,
    ),
    Operator("**", 2, np.power, (_power_by_base, _power_by_exponent), "Pow"),
    Operator("neg", 1, np.negative, (_minus_one,), lambda s, x: -x),
)

_LN10 = float(np.log(10.0))


def _row(
    name: str,
    numpy: Callable[..., Any],
    partials: tuple[Partial, ...],
    sympy: str | Callable[..., Any],
    latex: str = "",
    *,
    arity: int = 1,
    source: str = "",
) -> Operator:
    """Make a function's row, in LaTeX its own command by default and ``np.name(...)``."""
    places = ", ".join(f"{{{index}}}" for index in range(arity))
    latex = latex or rf"\{name}\left({places}\right)"
    source = source or f"np.{name}({places})"
    return Operator(name, arity, numpy, partials, sympy, latex, source)


_FUNCTIONS = (
    _row("sin", np.sin, (lambda x, *, value: np.cos(x),), "sin"),
    _row("cos", np.cos, (lambda x, *, value: -np.sin(x),), "cos"),
    _row("tan", np.tan, (lambda x, *, value: 1.0 + value * value,), "tan"),
    _row("sinh", np.sinh, (lambda x, *, value: np.cosh(x),), "sinh"),
    _row("cosh", np.cosh, (lambda x, *, value: np.sinh(x),), "cosh"),
    _row("tanh", np.tanh, (lambda x, *, value: 1.0 - value * value,), "tanh"),
    _row("arcsin", np.arcsin, (lambda x, *, value: 1.0 / np.sqrt(1.0 - x * x),), "asin"),
    _row("arccos", np.arccos, (lambda x, *, value: -1.0 / np.sqrt(1.0 - x * x),), "acos"),
    _row("arctan", np.arctan, (lambda x, *, value: 1.0 / (1.0 + x * x),), "atan"),
    _row("exp", np.exp, (lambda x, *, value: value,), "exp"),
    _row("log", np.log, (lambda x, *, value: 1.0 / x,), "log"),
    _row(
        "log10",
        np.log10,
        (lambda x, *, value: 1.0 / (_LN10 * x),),
        lambda s, x: s.log(x, 10),
        r"\log_{{10}}\left({0}\right)",
    ),
    _row("sqrt", np.sqrt, (lambda x, *, value: 0.5 / value,), "sqrt", r"\sqrt{{{0}}}"),
    _row("abs", np.abs, (lambda x, *, value: np.sign(x),), "Abs", r"\left|{0}\right|"),
    _row(
        "sign",
        np.sign,
        (lambda x, *, value: 0.0,),
        "sign",
        r"\operatorname{{sign}}\left({0}\right)",
    ),
    _row(
        "sigmoid",
        _sigmoid,
        (lambda x, *, value: value * (1.0 - value),),
        lambda s, x: 1 / (1 + s.exp(-x)),
        r"\sigma\left({0}\right)",
        source="(1.0/(1.0 + np.exp(-({0}))))",
    ),
    _row(
        "sec",
        _reciprocal_of(np.cos),
        (lambda x, *, value: value * np.tan(x),),
        "sec",
        source="(1.0/np.cos({0}))",
    ),
    _row(
        "sech",
        _reciprocal_of(np.cosh),
        (lambda x, *, value: -value * np.tanh(x),),
        "sech",
        r"\operatorname{{sech}}\left({0}\right)",
        source="(1.0/np.cosh({0}))",
    ),
    _row(
        "csc",
        _reciprocal_of(np.sin),
        (lambda x, *, value: -value / np.tan(x),),
        "csc",
        source="(1.0/np.sin({0}))",
    ),
    _row(
        "cot",
        _reciprocal_of(np.tan),
        (lambda x, *, value: -1.0 - value * value,),
        "cot",
        source="(1.0/np.tan({0}))",
    ),
    _row(
        "inv",
        np.reciprocal,
        (lambda x, *, value: -value * value,),
        lambda s, x: 1 / x,
        r"\left({0}\right)^{{-1}}",
        source="(1.0/({0}))",
    ),
    _row(
        "min",
        _minimum,
        (_first_is_less, lambda a, b, *, value: 1.0 - np.less_equal(a, b)),
        "Min",
        arity=2,
        source="np.minimum({0}, {1})",
    ),
    _row(
        "max",
        _maximum,
        (_first_is_greater, lambda a, b, *, value: 1.0 - np.greater_equal(a, b)),
        "Max",
        arity=2,
        source="np.maximum({0}, {1})",
    ),
    _row(
        "arctan2",
        np.arctan2,
        (_arctan2_by_y, _arctan2_by_x),
        "atan2",
        r"\operatorname{{arctan2}}\left({0}, {1}\right)",
        arity=2,
    ),
    _row(
        "hypot",
        np.hypot,
        (_hypot_by_a, _hypot_by_b),
        lambda s, a, b: s.sqrt(a**2 + b**2),
        r"\operatorname{{hypot}}\left({0}, {1}\right)",
        arity=2,
    ),
)

OPERATORS: Mapping[str, Operator] = MappingProxyType(
    {operator.name: operator for operator in (*_INFIX, *_FUNCTIONS)}
)
"""The table by name: ``+ - * / **``, ``neg`` (unary minus) and every function."""

BINARY_OPERATORS = frozenset(row.name for row in _INFIX if row.arity == 2)
FUNCTIONS = frozenset(row.name for row in _FUNCTIONS)
"""Names that a formula can call."""

ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "ln": "log",
        "asin": "arcsin",
        "acos": "arccos",
        "atan": "arctan",
        "atan2": "arctan2",
        "absolute": "abs",
        "fabs": "abs",
        "minimum": "min",
        "maximum": "max",
        "reciprocal": "inv",
    }
)
"""Spellings of other libraries that mean exactly one of our functions."""

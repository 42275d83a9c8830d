# ruff: noqa: ARG001, ARG005 - all partials are called alike, few need everything.
"""How each node of a flat program is computed and differentiated.

Most kernels are rows of the operator table. Here are the few that a program treats specially:
small constant exponents become multiplications (at most 1.5 units in the last place from the
correctly rounded power, in a fortieth of its time), and the partials of quotients and powers are
computed one by one, because most of them are never needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from srh.engine.operators import OPERATORS

Partial = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Kernel:
    """How one node is computed and differentiated.

    Attributes:
        name: Operator's name in the table, or of a special case.
        numpy: ``numpy(*arrays, out=None)``.
        partials: Per argument ``partial(*arrays, value=...)``, computed only if it is needed.
        exponent: The constant exponent of a specialised power, otherwise None.
    """

    name: str
    numpy: Callable[..., Any]
    partials: tuple[Partial, ...]
    exponent: float | None = None


def _table_partial(derivative: Callable[..., Sequence[Any]], index: int) -> Partial:
    return lambda *args, value: derivative(*args, value=value)[index]


def _power_by_base(base: Any, exponent: Any, *, value: Any) -> Any:
    with_zero = np.asarray(base) == 0
    result = exponent * value / base
    if with_zero.any():
        at_zero = np.where(exponent == 0, 0.0, exponent * np.power(base, exponent - 1.0))
        result = np.where(with_zero, at_zero, result)
    return result


def _power_by_exponent(base: Any, exponent: Any, *, value: Any) -> Any:
    return np.where(value == 0, 0.0, value * np.log(base))


# The table gives all partials of an operator at once; for these it would be wasteful.
_LAZY_PARTIALS: Mapping[str, tuple[Partial, ...]] = {
    "/": (lambda a, b, *, value: 1.0 / b, lambda a, b, *, value: -value / b),
    "**": (_power_by_base, _power_by_exponent),
}


def _kernel(name: str) -> Kernel:
    row = OPERATORS[name]
    partials = _LAZY_PARTIALS.get(name) or tuple(
        _table_partial(row.derivative, index) for index in range(row.arity)
    )
    return Kernel(name, row.numpy, partials)


KERNELS: Mapping[str, Kernel] = {name: _kernel(name) for name in OPERATORS}


def _cube(x: Any, out: Any = None) -> Any:
    return np.multiply(np.multiply(x, x, out=out), x, out=out)


def _fourth(x: Any, out: Any = None) -> Any:
    return np.square(np.square(x, out=out), out=out)


def _inverse_square(x: Any, out: Any = None) -> Any:
    return np.reciprocal(np.square(x, out=out), out=out)


POWERS: Mapping[float, Kernel] = {
    2.0: Kernel("square", np.square, (lambda x, *, value: x + x,), 2.0),
    3.0: Kernel("cube", _cube, (lambda x, *, value: 3.0 * np.square(x),), 3.0),
    4.0: Kernel("fourth", _fourth, (lambda x, *, value: 4.0 * _cube(x),), 4.0),
    -1.0: Kernel("reciprocal", np.reciprocal, (lambda x, *, value: -np.square(value),), -1.0),
    -2.0: Kernel("inverse_square", _inverse_square, (lambda x, *, value: -2.0 * value / x,), -2.0),
    0.5: Kernel("sqrt", np.sqrt, (lambda x, *, value: 0.5 / value,), 0.5),
}

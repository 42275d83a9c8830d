# ruff: noqa: ARG005 - all partials are called alike, few need everything.
"""How each node of a flat program is computed and differentiated.

Most kernels are rows of the operator table. Here are the few that a program treats specially:
small constant exponents become multiplications (at most 1.5 units in the last place from the
correctly rounded power, in a fortieth of its time).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from srh.engine.operators import OPERATORS, Partial


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


KERNELS: Mapping[str, Kernel] = {
    name: Kernel(name, row.numpy, row.partials) for name, row in OPERATORS.items()
}


PASSING = frozenset({"take", "pick", "sum of rows", "mean of rows"})
"""Kernels of structured formulas that pass on sums and factors as they are."""


REDUCING = frozenset({"prod of rows", "max of rows", "min of rows"})
"""The other kernels of structured formulas that reduce rows."""


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

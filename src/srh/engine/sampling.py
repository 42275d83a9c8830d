"""Formulas computed at made-up points, with a measure of how far rounding reaches.

Values are computed as long double (11 more bits than float64 on common processors), as float64, and
twice more with every intermediate result disturbed at random by as much as float64 rounds it; how
far these lie apart is the size of rounding errors. A point where an intermediate value is infinite
says nothing: overflow is the machine's, not the formula's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.engine.expression import Binary, Expression, Function, Number, Symbol, Unary

Array = NDArray[Any]
Points = Mapping[str, NDArray[np.float64]]

POINTS = 1024
"""Number of points that a formula is tried at."""

_FEWEST = 12
_NOISE = 16.0
_DISTURBED = 2
_EPSILON = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, slots=True)
class Values:
    """A formula's values at points.

    Attributes:
        exact: As long double; NaN where the formula is undefined.
        rounded: As float64.
        noise: How far rounding may have moved ``exact``, generously.
        usable: Where nothing overflowed on the way, and rounding does not decide whether there is
            a value.
    """

    exact: Array
    rounded: Array
    noise: Array
    usable: Array


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two formulas at the same points.

    Attributes:
        equal: Number of points where both are defined and clearly equal.
        differing: Points where both are defined and clearly differ.
        one_sided: Points where only one is defined.
        unclear: Number of points where rounding, or overflow, hides the answer.
        largest: Largest relative difference at points that count as equal.
    """

    equal: int
    differing: Array
    one_sided: Array
    unclear: int
    largest: float

    @property
    def agree(self) -> bool:
        """Whether there are enough points that are equal, and none that is not."""
        return self.equal >= _FEWEST and not len(self.differing) and not len(self.one_sided)


def compute(expression: Expression, points: Points) -> Values:
    """Compute a formula of symbols, numbers and arithmetic.

    Args:
        expression: As ``Leaves.hide`` returns it.
        points: Values ``(n,)`` by symbol.
    """
    size = len(next(iter(points.values()))) if points else 1
    with np.errstate(all="ignore"):
        exact, finite = _walk(expression, points, size, np.longdouble)
        rounded, finite_too = _walk(expression, points, size, np.float64)
        usable = finite & finite_too
        spread = np.abs(exact - rounded)
        for seed in range(_DISTURBED):
            other, also_finite = _walk(expression, points, size, np.longdouble, seed)
            usable &= also_finite & (np.isnan(other) == np.isnan(exact))
            spread = np.fmax(spread, np.abs(exact - other))
    usable &= np.isnan(rounded) == np.isnan(exact)
    return Values(exact, rounded, _NOISE * spread + np.abs(exact) * _EPSILON, usable)


def _walk(
    expression: Expression,
    points: Points,
    size: int,
    kind: type[np.floating[Any]],
    disturbed: int | None = None,
) -> tuple[Array, Array]:
    """Return values, and where no intermediate one is infinite."""
    rng = None if disturbed is None else np.random.default_rng(disturbed)
    done: list[Array] = []
    finite = np.ones(size, np.bool_)
    for node in expression.iter_postorder():
        if isinstance(node, Symbol):
            value = points[node.name].astype(kind)
        elif isinstance(node, Number):
            value = np.full(size, _constant(node, kind))
        elif isinstance(node, Unary | Binary | Function):
            arity = len(node.operands)
            value = node.operator.numpy(*done[-arity:])
            del done[-arity:]
            finite &= ~np.isinf(value)
            if rng is not None:
                value = value * (1 + _EPSILON * rng.uniform(-1, 1, size).astype(kind))
        else:
            raise TypeError(f"{type(node).__name__} has no value of its own")
        done.append(value)
    return done[0], finite


def _constant(node: Number, kind: type[np.floating[Any]]) -> Any:
    value = node.value
    if kind is np.longdouble and not isinstance(value, float | int):
        return np.longdouble(value.numerator) / np.longdouble(value.denominator)
    return kind(float(value))


def compare(a: Values, b: Values, tolerance: float) -> Comparison:
    """Compare two formulas point by point.

    Args:
        a: Values of the one.
        b: Values of the other, at the same points.
        tolerance: Relative difference up to which values count as equal.
    """
    usable = a.usable & b.usable
    there_a, there_b = ~np.isnan(a.exact), ~np.isnan(b.exact)
    both = usable & there_a & there_b
    with np.errstate(all="ignore"):
        gap = np.abs(a.exact - b.exact)
        size = np.maximum(np.abs(a.exact), np.abs(b.exact))
        noise = a.noise + b.noise
        near = both & (gap <= tolerance * size + noise)
        clear = noise <= 1e-6 * size
        # A zero is exact, or what is left of a cancellation: only noise tells.
        equal = near & (clear | (gap == 0))
        differing = both & ~near & (gap > 4 * noise + tolerance * size)
        ratios = np.where(equal & (size > 0), gap / size, 0)
    one_sided = usable & (there_a != there_b)
    return Comparison(
        equal=int(equal.sum()),
        differing=np.flatnonzero(differing),
        one_sided=np.flatnonzero(one_sided),
        unclear=int((both & ~equal & ~differing).sum() + (~usable).sum()),
        largest=float(ratios.max(initial=0.0)),
    )


def generic_points(names: Sequence[str], seed: int = 0) -> dict[str, NDArray[np.float64]]:
    """Return points of many sizes and signs, ``(POINTS,)`` per name.

    A quarter each: around 1, positive; within -1 and 1; within -4 and 4; of sizes between a
    thousandth and a thousand with any sign.
    """
    rng = np.random.default_rng(seed)
    quarter = POINTS // 4
    found = {}
    for name in names:
        sizes = 10 ** rng.uniform(-3, 3, quarter)
        found[name] = np.concatenate(
            [
                rng.uniform(0.2, 3, quarter),
                rng.uniform(-1, 1, quarter),
                rng.uniform(-4, 4, quarter),
                sizes * rng.choice([-1.0, 1.0], quarter),
            ]
        )
    return found

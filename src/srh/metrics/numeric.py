"""Sums that neither overflow nor underflow.

Squares leave the range of float64 long before the numbers do: residuals of 1e-200 have a root
mean square of 1e-200, but a mean square of zero. Arrays are therefore carried as ``digits`` times a
power of two, which is zero wherever the plain computation works. Scaling by a power of two is
exact, so that the result has the same bits either way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from srh.metrics.score import Status

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]


class UndefinedMetricError(Exception):
    """Control flow inside this package: a metric has no value for the data.

    Attributes:
        code: Identifier of the reason.
        message: The reason in words.
        status: The status that the score gets.
    """

    def __init__(self, code: str, message: str, status: Status = "non_evaluable") -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status: Status = status


@dataclass(frozen=True)
class Scaled:
    """Numbers written as ``digits * 2**exponent``.

    Attributes:
        digits: Shape (n,). Their squares, and ratios of these, are within the range of float64.
        exponent: Common exponent of two.
        top: The largest magnitude among the digits is below ``2**top`` and at least half of it.
    """

    digits: FloatArray
    exponent: int
    top: int

    def mean_square(self) -> float:
        """Return the mean of the squared digits; its exponent is twice this one."""
        return self._mean_square

    @cached_property
    def _mean_square(self) -> float:
        return mean(np.square(self.digits))


# Squares, and ratios of squares, of numbers of these magnitudes need no exponent of their own.
_ORDINARY = range(-240, 241)


def mean(values: FloatArray) -> float:
    """Return the mean of ``values``, shape (n,) with n >= 1: the bits of ``np.mean``, sooner."""
    return float(np.add.reduce(values) / values.size)


def align(digits: FloatArray, exponents: IntArray) -> Scaled:
    """Return ``digits * 2**exponents``, shape (n,) with n >= 1, over one common exponent.

    What is smaller than the largest number by 300 orders of magnitude becomes zero.
    """
    used = exponents[digits != 0]
    top = int(np.max(used)) if used.size else 0
    scaled = np.ldexp(digits, exponents - top)
    return Scaled(scaled, top, 0)


def scale(values: FloatArray, exponent: int = 0) -> Scaled:
    """Return finite ``values * 2**exponent``, shape (n,) with n >= 1, over a common exponent."""
    top = _ordinary_top(values)
    if top is not None:
        return Scaled(values, exponent, top)
    scaled = align(*np.frexp(values))
    return Scaled(scaled.digits, scaled.exponent + exponent, scaled.top)


def subtract(left: FloatArray, right: FloatArray) -> Scaled:
    """Return ``left - right`` of finite arrays, shape (n,) with n >= 1."""
    with np.errstate(over="ignore"):
        values = left - right
    top = _ordinary_top(values)
    return align(*difference(left, right)) if top is None else Scaled(values, 0, top)


def _ordinary_top(values: FloatArray) -> int | None:
    """Return the exponent of the largest magnitude (0 if all are zero); None if out of range."""
    largest = max(float(np.maximum.reduce(values)), -float(np.minimum.reduce(values)))
    top = math.frexp(largest)[1]
    return top if top in _ORDINARY and largest != math.inf else None


def difference(left: FloatArray, right: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return ``left - right`` of finite arrays as digits and exponents, each of shape (n,).

    A difference beyond the largest float is that of the halves, with an exponent more.
    """
    with np.errstate(over="ignore"):
        values = left - right
    beyond = ~np.isfinite(values)
    digits, exponents = np.frexp(np.where(beyond, left / 2 - right / 2, values))
    return digits, exponents + beyond


def centred(values: FloatArray) -> Scaled:
    """Return finite ``values`` minus their mean.

    The mean is subtracted twice: its own rounding is as large as the spread of numbers that differ
    in their last digits only, and the second pass removes it.
    """
    scaled = scale(values)
    deviations = scaled.digits - mean(scaled.digits)
    deviations -= mean(deviations)
    return scale(deviations, scaled.exponent)


def unscale(digits: float, exponent: int, *, may_vanish: bool = False) -> float:
    """Return ``digits * 2**exponent``.

    Args:
        digits: A finite number.
        exponent: Exponent of two.
        may_vanish: Whether a number too small for float64 may become zero.

    Raises:
        UndefinedMetricError: The number is too large for float64, or would become zero.
    """
    try:
        value = math.ldexp(digits, exponent)
    except OverflowError as error:
        raise UndefinedMetricError(
            "overflow", f"about 2**{_magnitude(digits, exponent)}, too large for a float"
        ) from error
    if value == 0.0 != digits and not may_vanish:
        raise UndefinedMetricError(
            "underflow", f"about 2**{_magnitude(digits, exponent)}, too small for a float"
        )
    return value


def _magnitude(digits: float, exponent: int) -> int:
    return math.frexp(digits)[1] + exponent


def average_ranks(values: FloatArray) -> FloatArray:
    """Return the ranks 1..n of ``values``, shape (n,); equal values share their mean rank."""
    order = np.argsort(values)  # the order among equals does not matter
    ordered = values[order]
    if not (ordered[1:] == ordered[:-1]).any():
        ranks = np.empty(values.size)
        ranks[order] = np.arange(1.0, values.size + 1.0)
        return ranks
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(np.append(starts, values.size))
    ranks = np.empty(values.size, dtype=np.float64)
    ranks[order] = np.repeat(starts + (counts + 1) / 2, counts)
    return ranks

"""Sums that neither overflow nor underflow.

Squares leave the range of float64 long before the numbers do: residuals of 1e-200 have a root
mean square of 1e-200, but a mean square of zero. Arrays are therefore carried as ``digits`` times a
power of two. Scaling by a power of two is exact, so that wherever the plain computation works
the result has the same bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
        digits: Shape (n,); the largest magnitude is near one, unless all are zero.
        exponent: Common exponent of two.
    """

    digits: FloatArray
    exponent: int

    def mean_square(self) -> float:
        """Return the mean of the squared digits; its exponent is twice this one."""
        return float(np.mean(np.square(self.digits)))


def align(digits: FloatArray, exponents: IntArray) -> Scaled:
    """Return ``digits * 2**exponents``, shape (n,) with n >= 1, over one common exponent.

    What is smaller than the largest number by 300 orders of magnitude becomes zero.
    """
    used = exponents[digits != 0]
    top = int(np.max(used)) if used.size else 0
    return Scaled(np.ldexp(digits, exponents - top), top)


def scale(values: FloatArray, exponent: int = 0) -> Scaled:
    """Return finite ``values * 2**exponent``, shape (n,) with n >= 1, over a common exponent."""
    scaled = align(*np.frexp(values))
    return Scaled(scaled.digits, scaled.exponent + exponent)


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
    deviations = scaled.digits - np.mean(scaled.digits)
    deviations -= np.mean(deviations)
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
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    counts = np.diff(np.append(starts, values.size))
    ranks = np.empty(values.size, dtype=np.float64)
    ranks[order] = np.repeat(starts + (counts + 1) / 2, counts)
    return ranks

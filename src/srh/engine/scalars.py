"""Numbers and group labels brought to plain Python values."""

from __future__ import annotations

import numbers
from fractions import Fraction
from typing import Any, TypeAlias

from srh.errors import ExpressionError

Label: TypeAlias = str | int | float
Real: TypeAlias = int | float | Fraction

LARGEST = int(1.7976931348623157e308)
"""Largest finite float64."""


def exact_or_float(value: Real) -> Real:
    """Return a finite real as a plain ``int``, ``Fraction`` or ``float``.

    Raises:
        ExpressionError: Not a real number, not finite, or beyond the range of float64.
    """
    if type(value) is float and value - value == 0:
        return value
    if isinstance(value, bool) or not isinstance(value, int | numbers.Real):
        raise ExpressionError(f"a number must be real, not {type(value).__name__}")
    if isinstance(value, int | numbers.Rational):
        top, bottom = int(value.numerator), int(value.denominator)
        if abs(top) > LARGEST or bottom > LARGEST:
            raise ExpressionError("the number is beyond the range of float64 (1.8e308)")
        return top if bottom == 1 else Fraction(top, bottom)
    return finite(value, "a number")


def finite(value: Any, what: str) -> float:
    """Return a finite real as float64.

    Args:
        value: Any real number.
        what: What the number is, for the message.

    Raises:
        ExpressionError: Not a real number, or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise ExpressionError(f"{what} must be a real number, not {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if number - number != 0:  # both nan - nan and inf - inf are nan
        raise ExpressionError(f"{what} must be finite, not {number}")
    return number


def plain_label(label: object) -> Label:
    """Return a group label as plain ``str``, ``int`` or ``float``; whole floats become ``int``.

    Raises:
        ExpressionError: The label is no text or finite number, or cannot be stored as UTF-8.
    """
    if isinstance(label, str):
        try:
            label.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ExpressionError(f"the group label {label!a} is not valid Unicode") from error
        return str(label)
    if isinstance(label, bool) or not isinstance(label, numbers.Real):
        raise ExpressionError(
            f"a group label must be a text or a number, not {type(label).__name__}"
        )
    if isinstance(label, numbers.Integral):
        return int(exact_or_float(int(label)))
    # 2.0 and 2 are equal labels in every column, so they are one label here.
    number = finite(label, "a group label")
    return int(number) if number.is_integer() and abs(number) < 2**53 else number

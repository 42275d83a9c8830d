"""A metric's missing value, with its reason, in results that hold numbers only."""

from __future__ import annotations

import math

from srh.metrics import Score


class Missing(float):
    """NaN that says why it is none.

    An evaluator returns numbers. Where a metric has no value this is what it returns: any
    arithmetic takes it for NaN, and `scores_from_metrics` finds the reason.

    Attributes:
        code: Identifier of the reason, in lower case.
        message: The reason in words.
    """

    code: str
    message: str

    def __new__(cls, code: str, message: str) -> Missing:
        """Make one."""
        value = super().__new__(cls, math.nan)
        value.code, value.message = code, message
        return value

    def __reduce__(self) -> tuple[type[Missing], tuple[str, str]]:
        return Missing, (self.code, self.message)

    def __repr__(self) -> str:
        return f"<missing: {self.code}: {self.message}>"


def number_of(score: Score) -> float:
    """Return a score's value, or `Missing` with its reason."""
    if score.value is not None:
        return score.value
    return Missing(score.code or "undefined", score.message or "")

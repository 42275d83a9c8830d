"""95 % confidence intervals of what examples' scores are combined to.

They say how much the number would vary with other examples of the same kind, drawn independently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import msgspec
import numpy as np

IntervalKind = Literal["wilson", "student_t", "bootstrap"]
CONFIDENCE = 0.95
_NORMAL = 1.959963984540054  # the 97.5 % quantile of the standard normal distribution
_MOST_RESAMPLES, _FEWEST_RESAMPLES, _DRAWS = 1000, 200, 20_000_000
_SEED = 20_040_229


class Interval(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A confidence interval.

    Attributes:
        low: Lower end.
        high: Upper end.
        kind: How it was made.
    """

    low: float
    high: float
    kind: IntervalKind


def wilson(successes: int, n: int) -> Interval:
    """Return the score interval of a share; it stays within [0, 1] and has a width for 0 and n.

    Source: E. B. Wilson, Journal of the American Statistical Association 22 (1927) 209-212.
    """
    share, square = successes / n, _NORMAL**2
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = _NORMAL * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(low, high, "wilson")


def student_t(values: Sequence[float]) -> Interval | None:
    """Return Student's interval of a mean; None for fewer than two values, or without spread."""
    n = len(values)
    if n < 2 or min(values) == max(values):
        return None
    from scipy.special import stdtrit

    mean = math.fsum(value / n for value in values)
    spread = math.hypot(*(value - mean for value in values)) / math.sqrt(n - 1)
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * spread / math.sqrt(n)
    return _finite(mean - half, mean + half, "student_t")


def bootstrap_median(values: Sequence[float]) -> Interval | None:
    """Return the percentile interval of a median, from seeded resamples; None without spread.

    Source: B. Efron, The Annals of Statistics 7 (1979) 1-26.
    """
    n = len(values)
    if n < 2 or min(values) == max(values):
        return None
    numbers, generator = np.asarray(values), np.random.default_rng(_SEED)
    count = max(_FEWEST_RESAMPLES, min(_MOST_RESAMPLES, _DRAWS // n))
    with np.errstate(over="ignore"):
        medians = [float(np.median(generator.choice(numbers, n))) for _ in range(count)]
        low, high = np.quantile(medians, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return _finite(float(low), float(high), "bootstrap")


def _finite(low: float, high: float, kind: IntervalKind) -> Interval | None:
    return Interval(low, high, kind) if math.isfinite(low) and math.isfinite(high) else None

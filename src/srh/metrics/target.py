"""A target, with what metrics ask of it again and again."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srh.errors import MetricError
from srh.metrics.numeric import FloatArray, Scaled, average_ranks, centred


class Target:
    """What predictions are measured against.

    Whoever measures many predictions against one target keeps this, so that its ranks, say, are
    worked out once. The numbers must not change meanwhile.

    Args:
        values: Real numbers, shape (n,).

    Attributes:
        values: Float64, shape (n,).

    Raises:
        MetricError: They are no vector of real numbers.
    """

    def __init__(self, values: ArrayLike) -> None:
        self.values = as_vector(values, "target")

    @cached_property
    def deviations(self) -> Scaled:
        """The values minus their mean."""
        return centred(self.values)

    @cached_property
    def rank_deviations(self) -> Scaled:
        """The ranks minus their mean; equal values share their mean rank."""
        return centred(average_ranks(self.values))

    @cached_property
    def zeros(self) -> NDArray[np.intp]:
        """Rows that are zero."""
        return np.flatnonzero(self.values == 0)

    @cached_property
    def smallest(self) -> float:
        """Smallest magnitude."""
        return float(np.min(np.abs(self.values)))

    @cached_property
    def varies(self) -> bool:
        """Whether two values differ."""
        return bool(np.min(self.values) != np.max(self.values))


def as_vector(values: ArrayLike, what: str) -> FloatArray:
    """Return values as a float64 vector.

    Raises:
        MetricError: They are no vector of real numbers; ``what`` says which.
    """
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise MetricError(
            f"{what}: a vector of numbers is needed, got a ragged sequence"
        ) from error
    if array.ndim != 1:
        raise MetricError(f"{what}: shape (n,) is needed, got {array.shape}")
    if array.size and array.dtype.kind not in "iuf":
        raise MetricError(f"{what}: real numbers are needed, got {array.dtype}")
    with np.errstate(over="ignore"):  # a long double may become infinite; that is found later
        return array.astype(np.float64, copy=False)

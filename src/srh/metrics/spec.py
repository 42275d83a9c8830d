"""What a task declares about a metric."""

from __future__ import annotations

from typing import Literal

import msgspec

Direction = Literal["minimize", "maximize"]
Aggregation = Literal["mean", "median", "min", "max"]


class MetricSpec(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True
):
    """One ``[[metrics]]`` table of a task file.

    Attributes:
        name: Name of the metric.
        direction: Whether less or more of it is better; None takes what the metric's own entry
            in the registry says, and a contradiction is refused.
        aggregation: How the scores of the folds become one number.
    """

    name: str
    direction: Direction | None = None
    aggregation: Aggregation = "mean"

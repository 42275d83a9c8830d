"""How an evaluator should split a context."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from srh.errors import DataError

SplitMethod = Literal["random", "ood", "chronological", "same"]


@dataclass(frozen=True, kw_only=True)
class SplitOptions:
    """How an evaluator should split a context.

    Attributes:
        method: ``"random"``: rows at random. ``"ood"``: the far end of a variable validates (out of
            distribution). ``"chronological"``: the latest rows do. ``"same"``: every row trains and
            validates, so that nothing is held out and validation metrics are training metrics; this
            has to be asked for by name, a fraction of zero is refused.
        validation_fraction: Share of the rows that validate, strictly between 0 and 1.
        seed: Seed of a random split, and of the starts of fits; not negative.
        ood_variable: Column whose extreme values are left for validation by ``"ood"``.
        time: Column that orders the rows for ``"chronological"``. ``None``: rows are in order.

    Raises:
        DataError: A value is out of its range.
    """

    method: SplitMethod = "random"
    validation_fraction: float = 0.25
    seed: int = 0
    ood_variable: str | None = None
    time: str | None = None

    def __post_init__(self) -> None:
        if self.method not in get_args(SplitMethod):
            known = ", ".join(repr(name) for name in get_args(SplitMethod))
            raise DataError(f"split method {self.method!r} is unknown; use one of {known}")
        if not 0 < self.validation_fraction < 1:
            raise DataError(
                f"validation_fraction is {self.validation_fraction}; it must lie between 0 and 1, "
                "both excluded: without validation rows nothing is validated. To fit and measure "
                'on the same rows, say so with method="same"'
            )
        if self.seed < 0:
            raise DataError(f"seed is {self.seed}; it must not be negative")

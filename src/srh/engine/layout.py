"""Where each parameter, and each group's own value of it, lives in flat vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Leaf:
    """Where a parameter lives in the flat parameter vector.

    Attributes:
        name: Its name.
        start: First slot.
        size: Number of slots: 1, or the number of groups.
        label: Name of the label column of a grouped parameter.
    """

    name: str
    start: int
    size: int
    label: str | None = None

    @property
    def slots(self) -> slice:
        """Its part of the parameter vector."""
        return slice(self.start, self.start + self.size)


@dataclass(frozen=True, slots=True)
class ArrowLayout:
    """Where grouped nonlinear parameters stand among the nonlinear slots.

    Attributes:
        members: Parameter indices, grouped ones first.
        codes: Group of each row.
        groups: Number of groups.
        local: Positions of the grouped slots ``(grouped parameters, groups)``.
        shared: Positions of the others.
    """

    members: tuple[list[int], list[int]]
    codes: Codes
    groups: int
    local: NDArray[np.intp]
    shared: NDArray[np.intp]

"""Arrays that are no columns of a table: values per node or edge, relations, single numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Structured:
    """Arrays beside a dataset's columns, and what is known of all of its arrays.

    Attributes:
        arrays: By name, of any shape.
        samples: Names of the arrays whose first axis are the dataset's rows.
        relation_names: Names of the arrays that are relations.
        structures: For arrays with one value per row of a relation (last axis), that relation.
        num_nodes: Number of nodes, where there is a relation.
        axes: Names of the axes of arrays and columns.
        descriptions: What arrays and columns mean, in words.
    """

    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    samples: frozenset[str] = frozenset()
    relation_names: tuple[str, ...] = ()
    structures: Mapping[str, str] = field(default_factory=dict)
    num_nodes: int | None = None
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    descriptions: Mapping[str, str] = field(default_factory=dict)

    def take(self, rows: NDArray[np.int64]) -> Structured:
        """Return these with some of the rows, for arrays that have them."""
        if not self.samples:
            return self
        return replace(
            self,
            arrays={
                name: array[rows] if name in self.samples else array
                for name, array in self.arrays.items()
            },
        )


NOTHING_STRUCTURED = Structured()

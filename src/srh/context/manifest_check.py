"""Whether arrays are what their manifest says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.context.manifest import VariableSpec


def array_problems(
    name: str, spec: VariableSpec, shape: tuple[int, ...], sizes: Mapping[str, int]
) -> list[str]:
    """Return where a variable's shape contradicts its axes.

    Args:
        name: Of the variable.
        spec: What the manifest says of it.
        shape: Its array's shape.
        sizes: Length of each axis that is known.
    """
    where = f"variables.{name}.axes"
    if len(spec.axes) != len(shape):
        return [f"{where}: names {len(spec.axes)} axes, and the array has {len(shape)}: {shape}"]
    return [
        f"{where}: {axis!r} has length {sizes[axis]}, the array {length} along it: {shape}"
        for axis, length in zip(spec.axes, shape, strict=True)
        if axis in sizes and sizes[axis] != length
    ]


def relation_problems(name: str, table: NDArray[Any], num_nodes: int | None) -> list[str]:
    """Return what keeps an array from being a relation between the nodes.

    Args:
        name: Of the variable.
        table: Its array.
        num_nodes: Number of nodes, if it is known.
    """
    where = f"variables.{name}.kind"
    if table.ndim != 2 or table.shape[1] not in (2, 3):
        return [
            f"{where}: a relation has shape (E, 2), rows (target, source), or (H, 3), rows "
            f"(target, source1, source2), not {table.shape}"
        ]
    if table.dtype.kind not in "iu":
        return [f"{where}: a relation holds integers, numbers of nodes, not {table.dtype}"]
    if num_nodes is None or not table.size:
        return []
    low, high = int(table.min()), int(table.max())
    if low >= 0 and high < num_nodes:
        return []
    row = int(np.flatnonzero(((table < 0) | (table >= num_nodes)).any(axis=1))[0])
    return [
        f"{where}: row {row} is {table[row].tolist()}; endpoints lie in 0 to num_nodes - 1 = "
        f"{num_nodes - 1}"
    ]

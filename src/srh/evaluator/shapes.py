"""Values for each sample, for each node, or for each node of each sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from srh.errors import MetricError


def missing_axes(found: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Return the axes that a formula's values lack: the samples, or the nodes.

    Raises:
        MetricError: The values have none of these shapes, or it cannot be told which.
    """
    if found == wanted:
        return ()
    lacking = len(wanted) - len(found)
    for_each_node, for_each_sample = wanted[lacking:], wanted[: len(found)]
    if lacking < 0 or found not in (for_each_node, for_each_sample):
        raise MetricError(f"the formula gives values of shape {found}, where {wanted} is needed")
    if for_each_node == for_each_sample and found:
        raise MetricError(
            f"the formula gives values of shape {found}, where {wanted} is needed, and it cannot "
            "be told whether they are for samples or for nodes"
        )
    every = range(len(wanted))
    return tuple(every[:lacking] if found == for_each_node else every[len(found) :])


def spread(values: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return a formula's values repeated along the axes that they lack; errors as above."""
    axes = missing_axes(values.shape, shape)
    return np.broadcast_to(np.expand_dims(values, axes), shape)

"""Many starts walked downhill at once, on few rows.

Walking a whole batch sorts good basins from bad ones at the price of one or two descents. The walk
is that of ``levenberg.py``, each array with a leading axis for the starts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from srh.engine.screen import Glance, Screen

Array = NDArray[np.float64]

_RIDGE = 1e-12


def walk_together(
    screen: Screen, starts: Array, lower: Array, upper: Array, iterations: int
) -> tuple[Array, Array]:
    """Walk downhill from each of some starts.

    Args:
        screen: Judges them.
        starts: One value per parameter ``(B, p)``; those of linear ones are ignored.
        lower: Bounds ``(p,)``.
        upper: As ``lower``.
        iterations: Steps tried, the same for all.

    Returns:
        The ends ``(B, p)`` and their costs ``(B,)``, in which an undefined row counts as much as
        all of the target.
    """
    here = screen.glance(starts)
    size, count = here.slopes.shape[:2]
    damping, longest = np.full(size, 1e-2), np.zeros((size, count))
    for _ in range(iterations):
        longest = np.maximum(longest, np.einsum("bim,bim->bi", here.slopes, here.slopes))
        theta = here.theta.copy()
        theta[:, screen.nonlinear] += _steps(here, damping, longest)
        there = screen.glance(np.clip(theta, lower, upper))
        better = there.cost < here.cost
        damping = np.where(better, np.maximum(0.2 * damping, 1e-12), 5.0 * damping)
        here = Glance(
            np.where(better[:, None], there.theta, here.theta),
            np.where(better, there.cost, here.cost),
            np.where(better[:, None], there.residual, here.residual),
            np.where(better[:, None, None], there.slopes, here.slopes),
        )
    return here.theta, here.cost


def _steps(here: Glance, damping: Array, longest: Array) -> Array:
    """Solve the damped normal equations of all starts, in units of the longest columns."""
    unit = 1.0 / np.sqrt(np.where(longest > 0, longest, 1.0))
    scaled = here.slopes * unit[:, :, None]
    normal = np.einsum("bim,bjm->bij", scaled, scaled)
    index = np.arange(normal.shape[1])
    normal[:, index, index] += damping[:, None] + _RIDGE
    right = np.einsum("bim,bm->bi", scaled, here.residual)
    return np.asarray(np.linalg.solve(normal, right[:, :, None])[:, :, 0] * unit)

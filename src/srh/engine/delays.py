"""The past of a column: linear interpolation along the first axis, and its derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from srh.engine.relations import Array, Integers


class Past(NamedTuple):
    """Where delayed values lie in a history.

    Attributes:
        before: Entry before each wanted time ``(T, n)``.
        share: How far it lies towards the next entry, 0 to 1; NaN outside the history.
        gap: Time between the two entries.
    """

    before: Integers
    share: Array
    gap: Array


def look_back(time: Array, lag: Array) -> Past:
    """Find the times ``time - lag`` in the history.

    Args:
        time: ``(T,)``, increasing.
        lag: ``(T, n)``, not negative where the history begins; NaN is outside.
    """
    wanted = time[:, None] - lag
    before = np.clip(np.searchsorted(time, wanted, "right") - 1, 0, max(len(time) - 2, 0))
    gap = time[np.minimum(before + 1, len(time) - 1)] - time[before]
    share = np.where(gap > 0, (wanted - time[before]) / np.where(gap > 0, gap, 1.0), 0.0)
    inside = (wanted >= time[0]) & (wanted <= time[-1])
    return Past(before, np.where(inside, share, np.nan), gap)


def interpolate(history: Array, past: Past) -> Array:
    """Return the values of a history ``(T, n)`` in the past ``(T, n)``; NaN outside."""
    here, after = _ends(history, past)
    inner = here + (after - here) * past.share
    # Where an entry is hit it counts alone: its neighbour may be NaN.
    exact = np.where(past.share == 0, here, np.where(past.share == 1, after, inner))
    return np.asarray(exact)


def slope(history: Array, past: Past) -> Array:
    """Return the derivative of ``interpolate`` by the lag."""
    here, after = _ends(history, past)
    flat = past.gap == 0
    steep = -(after - here) / np.where(flat, 1.0, past.gap)
    return np.where(np.isnan(past.share), np.nan, np.where(flat, 0.0, steep))


def _ends(history: Array, past: Past) -> tuple[Array, Array]:
    columns = np.arange(history.shape[1])
    next_one = np.minimum(past.before + 1, len(history) - 1)
    return history[past.before, columns], history[next_one, columns]

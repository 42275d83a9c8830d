"""Candidate frequencies of a target along a coordinate.

Rows may stand anywhere, so the target is gathered on a regular grid (nearest point) and transformed
by FFT, zero-padded four times: peaks are then located to an eighth of the natural width, which is
inside the basin of least squares. Two versions of the target are looked at, one less its mean and
one less a cubic, because a strong trend hides a wave and a cubic hides a slow one. Of the many
frequencies that agree on equally spaced rows the lowest is meant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from srh.engine.leastsquares import solve

Array = NDArray[np.float64]

_GRID = 2048
_PLANE = 128
_PADDING = 4


def frequencies(coordinate: Array, target: Array, count: int = 6) -> tuple[Array, Array]:
    """Find angular frequencies at which a target oscillates.

    Args:
        coordinate: Position of each row ``(n,)``.
        target: ``(n,)``.
        count: Most peaks to return per version of the target.

    Returns:
        Angular frequencies, strongest first, and their shares of power; empty if there are none.
    """
    usable = np.isfinite(coordinate) & np.isfinite(target)
    x, y = coordinate[usable], target[usable]
    if len(x) < 8 or not np.ptp(x) > 0 or not np.ptp(y) > 0:
        return np.empty(0), np.empty(0)
    low, width = float(np.min(x)), float(np.ptp(x))
    # A grid much finer than the rows would only add aliases.
    grid = min(_GRID, 1 << max(6, int(4 * len(x)).bit_length()))
    cells = np.rint((x - low) * ((grid - 1) / width)).astype(np.intp)
    unit = 2.0 * np.pi * (grid - 1) / (width * grid * _PADDING)
    position = (x - low) * (2.0 / width) - 1.0
    highest = _highest(x) / unit
    found, power = [], []
    for degree in (0, 3):
        powers = [position**power for power in range(degree + 1)]
        together = np.stack([*powers, y / np.max(np.abs(y))])
        rest = solve(together, np.einsum("ij,ij->i", together, together)).residual
        spectrum = np.abs(np.fft.rfft(np.bincount(cells, rest, grid), grid * _PADDING)) ** 2
        # One cell more, so that a peak at the very end is seen.
        peaks = _peaks(spectrum[: int(min(highest + 2, len(spectrum)))], count)
        found.append(peaks * unit)
        power.append(spectrum[peaks] / max(float(spectrum.max(initial=0.0)), 1e-300))
    frequency, strength = np.concatenate(found), np.concatenate(power)
    order = np.argsort(-strength, kind="stable")
    return frequency[order], strength[order]


def plane_frequencies(first: Array, second: Array, target: Array, count: int = 4) -> Array:
    """Find pairs of angular frequencies of a wave in two coordinates.

    Args:
        first: Coordinate ``(n,)``.
        second: Coordinate ``(n,)``.
        target: ``(n,)``.
        count: Most pairs.

    Returns:
        ``(pairs, 2)``, strongest first; empty if there are none.
    """
    usable = np.isfinite(first) & np.isfinite(second) & np.isfinite(target)
    x, t, y = first[usable], second[usable], target[usable]
    if len(y) < 16 or not (np.ptp(x) > 0 and np.ptp(t) > 0 and np.ptp(y) > 0):
        return np.empty((0, 2))
    cell = [np.rint((v - np.min(v)) * ((_PLANE - 1) / np.ptp(v))).astype(np.intp) for v in (x, t)]
    rest = (y - np.mean(y)) / np.max(np.abs(y))
    plane = np.bincount(cell[0] * _PLANE + cell[1], rest, _PLANE * _PLANE).reshape(_PLANE, _PLANE)
    size = 2 * _PLANE
    spectrum = np.abs(np.fft.rfft2(plane, (size, size))) ** 2
    unit = [2.0 * np.pi * (_PLANE - 1) / (np.ptp(v) * size) for v in (x, t)]
    pairs = []
    for _ in range(count):
        row, column = divmod(int(np.argmax(spectrum)), spectrum.shape[1])
        if not spectrum[row, column] > 0:
            break
        signed = row if row <= size // 2 else row - size
        pairs.append((float(signed) * unit[0], float(column) * unit[1]))
        rows = np.arange(row - 3, row + 4) % size
        spectrum[
            rows[:, None], np.arange(max(column - 3, 0), min(column + 4, spectrum.shape[1]))
        ] = 0
    return np.array(pairs).reshape(-1, 2)


def _highest(x: Array) -> float:
    """Return the angular frequency from which on waves on these points repeat slower ones."""
    gaps = np.diff(np.unique(x))
    multiples = gaps / np.min(gaps)
    regular = np.max(np.abs(multiples - np.rint(multiples))) < 1e-4
    return float(np.pi / np.min(gaps)) if regular else float("inf")


def _peaks(spectrum: Array, count: int) -> NDArray[np.intp]:
    inside = spectrum[1:-1]
    tops = np.flatnonzero((inside >= spectrum[:-2]) & (inside > spectrum[2:])) + 1
    return tops[np.argsort(-spectrum[tops], kind="stable")[:count]]

"""Frequencies for the parameters of waves, from the target's periodogram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from srh.engine.climbs import PERIODIC, SUMS, Climbs, Move
from srh.engine.columns import Table
from srh.engine.periodogram import frequencies, plane_frequencies

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Axis:
    """What a coefficient multiplies, or divides, in the argument of a wave.

    Attributes:
        key: The same for the same axis of one formula.
        coordinate: ``(n,)``.
        inverse: Whether the coefficient divides: it is a length, not a frequency.
        sign: 1.0 or -1.0, with which the term enters the argument.
    """

    key: tuple[int, ...]
    coordinate: Array
    inverse: bool
    sign: float

    def scale(self, omega: Array) -> Array:
        """Turn angular frequencies along the axis into values of the coefficient."""
        return 1.0 / omega if self.inverse else omega


class Waves:
    """Finds frequencies along the axes of one formula; spectra are computed once.

    Args:
        climbs: Ways up through the formula.
        table: Columns of ``n`` rows.
        target: ``(n,)``.
        rng: Source of all randomness.
    """

    def __init__(
        self,
        climbs: Climbs,
        table: Table,
        target: Array,
        rng: np.random.Generator,
    ) -> None:
        self._program, self._table, self._target, self._rng = climbs.program, table, target, rng
        self._parents = climbs.parents
        self._frame: Any = None  # made when it is needed
        self._half, self._combined = self._chances()
        self._spectra: dict[tuple[int, ...], tuple[Array, Array]] = {}
        self._planes: dict[tuple[tuple[int, ...], tuple[int, ...]], Array] = {}

    def _chances(self) -> tuple[float, float]:
        """Return how often peaks are halved, and combined, judging by what is done to waves."""
        nodes = self._program.nodes
        waves = [
            position
            for position, node in enumerate(nodes)
            if node.kernel is not None and node.kernel.name in PERIODIC and node.mask
        ]
        half, combined = 0.08, 0.1 if len(waves) > 1 else 0.0
        for position in waves:
            for parent, _ in self._parents[position]:
                kernel = nodes[parent].kernel
                if kernel is not None and kernel.exponent is not None:
                    half = 0.4
                if kernel is not None and kernel.name == "*" and len(waves) > 1:
                    combined = 0.4
        return half, combined

    def axis(self, moves: Sequence[Move], theta: Sequence[Any]) -> Axis | None:
        """Follow a coefficient from the first column it meets into the argument of a wave.

        Args:
            moves: Steps from there to the argument, at least one.
            theta: One number per parameter, for what else stands on the way.

        Returns:
            The axis, or None if the coefficient is more than a factor or divisor.
        """
        if self._frame is None:
            self._frame = self._program.frame(self._table)
        values = self._frame.forward(theta)
        coordinate: Any = 1.0
        sign = 1.0
        for step, move in enumerate(moves):
            if move.name == "neg" or (move.name == "-" and move.index == 1):
                sign = -sign
            elif move.name in SUMS:
                continue
            elif move.name == "*" and move.other is not None:
                coordinate = coordinate * values[move.other]
            elif move.name == "/" and move.other is not None and move.index == 0:
                coordinate = coordinate / values[move.other]
            elif move.name == "/" and move.other is not None and step == 0:
                coordinate = values[move.other]
            else:
                return None
        inverse = moves[0].name == "/" and moves[0].index == 1
        by_row = self._program.by_row(self._table, coordinate)
        if by_row is None:
            return None
        whole = np.array(np.broadcast_to(by_row, (self._table.n_rows,)))
        return Axis(tuple(move.node for move in moves), whole, inverse, sign)

    def pick(
        self, axis: Axis, wave: int, size: int, mode: float, earlier: dict[int, Array]
    ) -> Array | None:
        """Draw frequencies along an axis.

        Args:
            axis: The axis.
            wave: The periodic function's node; parameters of one wave share its frequency.
            size: How many.
            mode: In 0..1, fixed for one set of parameters. It decides whether a frequency is a
                peak of the spectrum, or half of one (a square doubles it), or whether several are
                half the sum and half the difference of two peaks (a product of waves).
            earlier: Peaks drawn before for the same set, by wave; the new ones are added.

        Returns:
            ``(size,)``, or None if the target has no spectrum along this axis.
        """
        if axis.key not in self._spectra:
            peaks, power = frequencies(axis.coordinate, self._target)
            order = np.argsort(peaks, kind="stable")
            self._spectra[axis.key] = peaks[order], power[order]
        found, strength = self._spectra[axis.key]
        if not len(found):
            return None
        if wave not in earlier:
            chance = strength + 0.02
            peaks = self._rng.choice(found, size=(2, size), p=chance / chance.sum())
            # Two waves of one frequency would be one wave: move on to the next peak.
            known = next(iter(earlier.values()), peaks + 1.0)
            taken = peaks[0] == known[0]
            peaks[0] = np.where(
                taken, found[(np.searchsorted(found, peaks[0]) + 1) % len(found)], peaks[0]
            )
            earlier[wave] = peaks
        if mode >= self._combined:
            first = earlier[wave][0]
            return np.asarray(0.5 * first if mode >= 1.0 - self._half else first)
        first, second = next(iter(earlier.values()))
        if wave == next(iter(earlier)):
            return np.asarray(0.5 * (first + second))
        return np.asarray(np.maximum(0.5 * np.abs(first - second), 0.05 * first))

    def pick_pair(self, first: Axis, second: Axis, size: int) -> tuple[Array, Array]:
        """Draw pairs of frequencies of a wave that runs along two axes."""
        key = (first.key, second.key)
        if key not in self._planes:
            self._planes[key] = plane_frequencies(first.coordinate, second.coordinate, self._target)
        pairs = self._planes[key]
        if not len(pairs):
            one = np.ones(size)
            return one, one
        # The strongest half of the time, the others in falling shares.
        chance = 0.5 ** np.arange(1, len(pairs) + 1)
        chosen = pairs[self._rng.choice(len(pairs), size, p=chance / chance.sum())]
        one, two = first.sign * chosen[:, 0], second.sign * chosen[:, 1]
        # The opposite pair is the same wave; coefficients are mostly meant to be positive.
        flip = np.where((one < 0) == (self._rng.random(size) < 0.75), -1.0, 1.0)
        return one * flip, two * flip

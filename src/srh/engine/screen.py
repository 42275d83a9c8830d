"""Many parameter vectors judged at once, on few rows.

One evaluation costs NumPy about as much for a few dozen vectors on some dozens of rows as for one
vector on all rows: most of it is overhead. Grouped parameters are taken as single ones here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.engine.leastsquares import BatchBasis, solve_batch
from srh.engine.objective import HUGE, Objective, scale_columns
from srh.engine.structure import bits

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Glance:
    """The projected problem at ``B`` places.

    Attributes:
        theta: All parameters ``(B, p)``, the linear ones solved.
        cost: ``(B,)``; an undefined row counts as much as all of the target.
        residual: Projected and scaled ``(B, m)``.
        slopes: Projected, scaled derivatives by the nonlinear parameters ``(B, k, m)``.
    """

    theta: Array
    cost: Array
    residual: Array
    slopes: Array


class Screen:
    """An objective reduced to few rows; the caller holds ``np.errstate``.

    Args:
        objective: What to reduce.
        rows: ``(m,)`` positions of the rows.

    Attributes:
        evaluations: Parameter vectors judged so far.
        nonlinear: Indices of the nonlinear parameters.
    """

    def __init__(self, objective: Objective, rows: NDArray[np.intp]) -> None:
        self.evaluations = 0
        self.nonlinear = objective.nonlinear_parameters
        self._masks = objective.linear, objective.nonlinear
        self._linear = bits(objective.linear)
        self._size = len(rows)
        self._frame = objective.program.frame(objective.table.rows(rows))
        self._roots = None if objective.roots is None else objective.roots[rows]
        self._scale = objective.scale
        self._factor = self._scale if self._roots is None else self._scale * self._roots
        self._target = objective.target[rows]
        self._total = float(np.sum((self._target * self._factor) ** 2))

    def costs(self, starts: Array) -> Array:
        """Judge starts ``(B, p)``, in which the entries of linear parameters are ignored.

        Returns:
            Costs ``(B,)``; an undefined row counts as much as all of the target.
        """
        return self._look(starts)[1].cost

    def glance(self, starts: Array) -> Glance:
        """Judge starts as ``costs`` does, with what a step from each of them needs."""
        values, seen, basis = self._look(starts)
        slopes = np.zeros((len(starts), len(self.nonlinear), self._size))
        arguments = list(seen.theta.T[:, :, None])
        values = self._frame.update(values, arguments, self._masks[0])
        found = self._frame.reverse(values, self._masks[1])
        for index, k in enumerate(self.nonlinear):
            slopes[:, index] = found.get(k, 0.0)
        slopes *= self._factor
        slopes[~(np.abs(slopes) < HUGE)] = 0.0
        basis.project(slopes)
        return Glance(seen.theta, seen.cost, seen.residual, slopes)

    def _look(self, starts: Array) -> tuple[list[Any], Glance, BatchBasis]:
        self.evaluations += len(starts)
        theta = starts.copy()
        arguments = list(theta.T[:, :, None])
        for k in self._linear:
            arguments[k] = np.zeros((1, 1))
        together = np.zeros((len(starts), len(self._linear) + 1, self._size))
        columns, right = together[:, :-1], together[:, -1]
        values = self._frame.forward(arguments)
        right[:] = (self._target - values[-1]) * self._factor
        slopes = self._frame.reverse(values, self._masks[0]) if self._linear else {}
        for index, k in enumerate(self._linear):
            columns[:, index] = slopes.get(k, 0.0)
        scales = scale_columns(columns, self._roots)
        good = np.asarray((np.abs(together) < HUGE).all(axis=1))
        if not good.all():
            np.copyto(together, 0.0, where=~good[:, None])
        bad = self._size - np.count_nonzero(good, axis=1)
        solved, basis = solve_batch(together)
        theta[:, self._linear] = solved * scales / self._scale
        cost = np.einsum("bm,bm->b", right, right) + bad * self._total
        return values, Glance(theta, cost, right, columns), basis

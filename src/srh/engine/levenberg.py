"""Levenberg–Marquardt on an ``Objective``, with simple bounds.

Each iteration linearises the residual (``models.py``) and measures steps in units of the largest
length that each column has had (Marquardt's scaling after Moré 1978). Damping follows the ratio
of achieved to predicted reduction (Nielsen 1999). With bounds, parameters that stand at a bound
and would leave it are held, and steps are clipped (a projected Newton method, Bertsekas 1982).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srh.engine.models import Step, linearise
from srh.engine.objective import Objective, Point

Array = NDArray[np.float64]

_TRIALS = 14
_SMALL_STEP = 1e-12
_SMALL_GAIN = 1e-14
_NEAR = 0.05

SAME = 1e-6
"""Costs that agree to this are those of one minimum."""

EXPLORE, CONVERGE = 1e-10, 1e-16
"""Relative fall of the cost that a full step must promise to be worth taking."""


@dataclass(frozen=True, slots=True)
class Descent:
    """Where a descent ended.

    Attributes:
        point: The best point.
        iterations: Number of steps taken.
        converged: Whether it stopped by itself.
    """

    point: Point
    iterations: int
    converged: bool


def descend(
    objective: Objective,
    start: Array,
    *,
    iterations: int,
    lower: Array,
    upper: Array,
    budget: int,
    tolerance: float = CONVERGE,
    known: Point | None = None,
) -> Descent:
    """Walk downhill from a start.

    Args:
        objective: What to minimise.
        start: All parameters ``(p,)``.
        iterations: Most steps.
        lower: Bounds of the nonlinear slots ``(k,)``.
        upper: As ``lower``.
        budget: Stop when the objective has counted this many evaluations.
        tolerance: Stop when a full step promises less than this share of the cost.
        known: A minimum. The walk ends there as soon as it is sure to lead there, and gives up
            after 12 steps if its cost is twice as high and falling slowly.

    Returns:
        The end of the walk.
    """
    hopeless = np.inf if known is None else 2.0 * known.cost
    walk = _Walk(objective, start, lower, upper, tolerance, known)
    for iteration in range(iterations):
        if objective.evaluations >= budget:
            return Descent(walk.point, iteration, converged=False)
        try:
            onwards = not walk.arrived and walk.step()
        except np.linalg.LinAlgError:
            # A decomposition of a hopeless matrix: this walk ends, others go on.
            return Descent(walk.point, iteration, converged=False)
        if walk.known_ahead:
            assert known is not None  # noqa: S101 - otherwise it cannot be ahead
            return Descent(known, iteration, converged=True)
        if not onwards:
            return Descent(walk.point, iteration, converged=walk.usable)
        if iteration >= 12 and walk.point.cost > hopeless and walk.gain < 0.05:
            return Descent(walk.point, iteration + 1, converged=False)
    return Descent(walk.point, iterations, converged=walk.arrived)


class _Walk:
    """The state of a descent.

    Attributes:
        point: Where it stands.
        gain: Relative fall of the cost in the last step.
        arrived: Whether the last steps changed nothing any more.
        usable: Whether the derivatives could be used.
        known_ahead: Whether the next steps lead to the known minimum.
    """

    def __init__(
        self,
        objective: Objective,
        start: Array,
        lower: Array,
        upper: Array,
        tolerance: float,
        known: Point | None,
    ) -> None:
        self._objective, self._lower, self._upper = objective, lower, upper
        self._known = known.cost if known is not None and not known.undefined else np.nan
        self.known_ahead = False
        self._tolerance = tolerance
        self._slots = objective.free_slots
        self._bounded = bool(np.isfinite(lower).any() or np.isfinite(upper).any())
        theta = start.copy()
        theta[self._slots] = self._inside(theta[self._slots])
        self.point = objective.point(theta)
        self.gain, self.usable = 1.0, True
        self._damping = 1e-3
        self._scale = np.zeros(len(self._slots))
        self._idle = 0

    @property
    def arrived(self) -> bool:
        exact = self.point.cost <= self._objective.rounding and not self.point.undefined
        return exact or self._idle >= 2

    def step(self) -> bool:
        """Go one step; return False if there is none downhill."""
        if not len(self._slots):
            return False
        model = linearise(self._objective, self.point)
        self.usable = math.isfinite(sum(model.lengths.tolist()))
        if not self.usable:
            return False
        self._scale = np.maximum(self._scale, model.lengths)
        gradient = model.gradient
        free = self._scale > 0
        if self._bounded:
            place = self.point.theta[self._slots]
            held = (place <= self._lower) & (gradient < 0) | (place >= self._upper) & (gradient > 0)
            free &= ~held
        if True not in free.tolist():
            return False
        step = model.step(free, self._scale)
        if step.promise <= self._tolerance * self.point.cost and not self.point.undefined:
            return False
        # A full step close to a minimum predicts its cost.
        bottom = self.point.cost - step.promise
        near = step.promise <= _NEAR * self.point.cost and not self.point.undefined
        self.known_ahead = near and abs(bottom - self._known) <= SAME * self._known
        return not self.known_ahead and self._try(step)

    def _try(self, step: Step) -> bool:
        """Raise the damping until a step is downhill."""
        point = self.point
        place = point.theta[self._slots]
        factor = 4.0
        for _ in range(_TRIALS):
            move, predicted = step.solve(self._damping)
            target = self._inside(place + move)
            moved = max((np.abs(target - place) / (np.abs(place) + 1e-300)).tolist())
            if not 1e-16 < moved < np.inf:
                return False
            theta = point.theta.copy()
            theta[self._slots] = target
            candidate = self._objective.point(theta)
            if candidate.better_than(point):
                self._accept(candidate, predicted, moved)
                return True
            self._damping *= factor
            factor *= 2.0
        return False

    def _inside(self, place: Array) -> Array:
        return np.clip(place, self._lower, self._upper) if self._bounded else place

    def _accept(self, candidate: Point, predicted: float, moved: float) -> None:
        before, self.point = self.point, candidate
        if candidate.undefined < before.undefined:
            self.gain = 1.0
            return
        fall = before.cost - candidate.cost
        ratio = fall / max(predicted, 1e-300)
        shrink = 0.02 if ratio > 0.9 else max(1.0 / 3.0, 1.0 - (2.0 * ratio - 1.0) ** 3)
        self._damping = max(self._damping * shrink, 1e-14)
        self.gain = fall / before.cost
        idle = self.gain <= _SMALL_GAIN or moved <= _SMALL_STEP
        self._idle = self._idle + 1 if idle else 0

"""The search for the best minimum: rounds of screened starts, each followed by descents.

Theory of operation. A round draws 32 starts (``starts.py``), judges them together on about 48 rows
and descends from the best few on all rows (a fixed sample of them if there are very many). The
search ends

* when a fit is exact to rounding: nothing better exists;
* when the best minimum was found again and again, from different rounds: hits within one round
  can be one shared local minimum;
* when the budget is spent. It is counted in evaluations, never in seconds, so the same seed gives
  the same bits on a busy machine.

At the end the best minimum is followed to convergence on all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from srh.engine.layout import Leaf
from srh.engine.levenberg import EXPLORE, SAME, Descent, descend
from srh.engine.objective import Objective, Point
from srh.engine.starts import StartMaker
from srh.engine.structure import bits
from srh.engine.swarm import walk_together

Array: TypeAlias = NDArray[np.float64]

SAMPLE_ROWS = 2000
"""Rows on which minima are searched when the data have more than twice as many."""

_SCREEN_ROWS = 48
_STARTS, _TEAMS = 32, 4
_DESCENTS = 3
_HARD = 3
_POOL = 6
_SWARM_ROWS, _SWARM_STEPS = 96, 10
DEBUG=[]
_HITS, _ROUNDS_HIT = 5, 3
# Unexplained share of the target's variance up to which a minimum needs so many times more hits.
_DOUBTS = ((0.05, 1), (0.3, 2), (np.inf, 4))
_REPAIRS = 5
# A group is fitted alone if it can have so many evaluations.
_GROUP_BUDGET = 60
_EXACT = 1e-22


@dataclass(slots=True)
class Found:
    """The outcome of a search.

    Attributes:
        point: Best point on all rows.
        converged: Whether the last descent stopped by itself.
        exact: Whether the fit is exact to rounding.
        budget_spent: Whether the search ended for lack of budget.
        n_starts: Starts judged.
        n_iter: Steps of all descents.
        n_evaluations: Evaluations of all objectives.
    """

    point: Point
    converged: bool
    exact: bool
    budget_spent: bool
    n_starts: int
    n_iter: int
    n_evaluations: int


@dataclass(slots=True)
class _Log:
    """Minima found so far.

    Attributes:
        best: End of the best descent.
        hits: Rounds in which the best minimum was found, one entry per descent.
    """

    best: Descent | None = None
    hits: list[int] = field(default_factory=list)
    n_starts: int = 0
    n_iter: int = 0
    n_descents: int = 0
    hard: bool = False
    pool: list[Point] = field(default_factory=list)

    def add(self, descent: Descent, turn: int) -> None:
        self.n_iter += descent.iterations
        self.n_descents += 1
        best = self.best
        if not any(_same_minimum(descent.point, point) for point in self.pool):
            self.pool.append(descent.point)
            self.pool.sort(key=lambda point: (point.undefined, point.cost))
            del self.pool[_POOL:]
        if best is None or descent.point.better_than(best.point):
            same = best is not None and _same_minimum(descent.point, best.point)
            self.hits = [*(self.hits if same else ()), turn]
            self.best = descent
        elif _same_minimum(descent.point, best.point):
            self.hits.append(turn)

    def settled(self, total: float) -> bool:
        """Say whether the best minimum was found often enough to believe in it.

        Args:
            total: Cost of the best constant. The less of it a fit explains, the likelier it
                is that something better was missed.
        """
        if self.best is None:
            return False
        point = self.best.point
        rest = 1.0 if point.undefined else point.cost / total if total > 0 else 0.0
        factor = next(factor for limit, factor in _DOUBTS if rest <= limit)
        if self.hard:
            return len(set(self.hits)) >= (8 if factor == 4 else 6)
        return len(self.hits) >= _HITS * factor and len(set(self.hits)) >= _ROUNDS_HIT * factor


def _same_minimum(a: Point, b: Point) -> bool:
    return a.undefined == b.undefined and abs(a.cost - b.cost) <= SAME * max(a.cost, b.cost)


class Search:
    """A search on one objective.

    Args:
        objective: On all rows.
        given: Initial values by parameter index.
        initial: Full parameter vector holding given values of grouped parameters; NaN elsewhere.
        lower: Bounds of all slots.
        upper: As ``lower``.
        budget: Most evaluations.
        seed: Of all randomness.
    """

    def __init__(
        self,
        objective: Objective,
        given: dict[int, float],
        initial: Array,
        lower: Array,
        upper: Array,
        budget: int,
        seed: int,
    ) -> None:
        self._full, self._initial, self._budget = objective, initial, budget
        self._lower, self._upper = lower, upper
        rng = self._rng = np.random.default_rng(seed)
        rows = objective.table.n_rows
        self._sample = objective
        groups = 0 if objective.arrow is None else objective.arrow.groups
        # A sample must leave each group enough rows to be fitted.
        if rows > 2 * SAMPLE_ROWS and 20 * groups <= SAMPLE_ROWS:
            self._sample = _part(objective, _representatives(objective.target, SAMPLE_ROWS, rng))
        screened = _representatives(self._sample.target, _SCREEN_ROWS, rng)
        self._screen = _part(self._sample, screened)
        self._maker = StartMaker(
            objective.program,
            self._sample.table,
            self._sample.target,
            objective.nonlinear,
            given,
            rng,
        )
        self._elsewhere = 0
        self._exact_cost = exact_cost(self._sample)
        scaled = self._sample.target * self._sample.factor
        self._variation = float(np.sum((scaled - np.mean(scaled)) ** 2))

    def run(self) -> Found:
        """Search, then converge on all rows."""
        log = _Log()
        self._round(log, 0)
        if not self._is_exact(log):
            self._by_group(log)
        turn = 1
        # A tenth is kept for the last descent.
        while (
            not self._settled(log) and not self._is_exact(log) and self._spent < 0.9 * self._budget
        ):
            self._round(log, turn)
            turn += 1
        last = self._repair_groups(log, self._last(log))
        tidy = self._tidy(last.point)
        return Found(
            point=tidy,
            converged=last.converged,
            exact=tidy.undefined == 0 and tidy.cost <= exact_cost(self._full),
            budget_spent=not (self._settled(log) or self._is_exact(log)),
            n_starts=log.n_starts,
            n_iter=log.n_iter + last.iterations,
            n_evaluations=self._spent,
        )

    def _last(self, log: _Log) -> Descent:
        """Follow the best minimum to convergence on all rows."""
        assert log.best is not None  # noqa: S101 - the caller has descended
        if self._sample is self._full and log.best.converged and self._is_exact(log):
            return log.best
        return self._converge(log.best.point.theta)

    def _converge(self, theta: Array) -> Descent:
        return descend(
            self._full,
            theta,
            iterations=200,
            lower=self._lower[self._full.free_slots],
            upper=self._upper[self._full.free_slots],
            budget=self._full.evaluations + max(self._budget - self._spent, 20),
        )

    def _repair_groups(self, log: _Log, last: Descent) -> Descent:
        """Start groups that fit much worse than most again, from the median of the others.

        With many groups, some of them always end in a minimum of their own.
        """
        layout = self._full.arrow
        if layout is None:
            return last
        for _ in range(_REPAIRS):
            rows = np.bincount(layout.codes, minlength=layout.groups)
            squares = np.bincount(layout.codes, last.point.residual**2, layout.groups)
            costs = squares / np.maximum(rows, 1)
            bad = costs > 4.0 * np.median(costs[rows > 0]) + self._full.rounding
            if not bad.any() or bad.all():
                break
            theta = last.point.theta.copy()
            for k in layout.members[0]:
                own = theta[self._full.leaves[k].slots]
                own[bad] = np.median(own[~bad])
            again = self._converge(theta)
            log.n_iter += again.iterations
            if not again.point.better_than(last.point):
                break
            last = again
        return last

    def _tidy(self, point: Point) -> Point:
        """Choose, among solutions that are the same, phases within half a turn and positive signs.

        Whether they are the same is not derived but tried: the fit must stay as good.
        """
        phases = self._maker.phases
        for k in bits(self._full.nonlinear):
            leaf = self._full.leaves[k]
            value = float(point.theta[leaf.start])
            if leaf.label is not None:
                continue
            if phases >> k & 1:
                other = value - 2.0 * np.pi * np.round(value / (2.0 * np.pi))
            else:
                other = abs(value)
            if other == value or not self._lower[leaf.start] <= other <= self._upper[leaf.start]:
                continue
            theta = point.theta.copy()
            theta[leaf.start] = other
            candidate = self._full.point(theta)
            allowed = point.cost * (1.0 + 1e-9) + exact_cost(self._full)
            if candidate.undefined <= point.undefined and candidate.cost <= allowed:
                point = candidate
        return point

    @property
    def _spent(self) -> int:
        objectives = {id(o): o for o in (self._full, self._sample, self._screen)}
        return self._elsewhere + sum(o.evaluations for o in objectives.values())

    def _settled(self, log: _Log) -> bool:
        return log.settled(self._variation)

    def _is_exact(self, log: _Log) -> bool:
        best = log.best
        return (
            best is not None and not best.point.undefined and (best.point.cost <= self._exact_cost)
        )

    def _round(self, log: _Log, turn: int) -> None:
        teams = _TEAMS if turn else _TEAMS // 2
        log.hard = log.hard or turn >= _HARD or (turn > 0 and 2 * len(log.hits) < log.n_descents)
        if log.hard:
            self._swarm(log, turn)
            return
        starts = self._maker.batch(teams, _STARTS // teams, spread=min(0.4 + 0.2 * turn, 2.0))
        log.n_starts += len(starts)
        leaves = self._full.leaves
        for k in bits(self._full.nonlinear):
            first = leaves[k].start
            starts[:, k] = np.clip(starts[:, k], self._lower[first], self._upper[first])
        costs = self._screen.screen(starts)
        order = np.argsort(costs, kind="stable")
        for index in order[:_DESCENTS].tolist():
            log.add(self._descend(self._spread(starts[index]), log), turn)
            if self._is_exact(log) or self._spent >= 0.9 * self._budget:
                return

    def _swarm(self, log: _Log, turn: int) -> None:
        spread = min(0.4 + 0.2 * (turn % 8), 2.0)
        starts = [self._maker.batch(4, 4, spread)]
        for index in range(4):
            point = log.pool[0 if index < 2 else self._rng.integers(len(log.pool))]
            single = np.array([np.median(point.theta[leaf.slots]) for leaf in self._full.leaves])
            starts.append(self._maker.around(single, point.residual, 1, 4, spread))
        starts = np.concatenate(starts)
        log.n_starts += len(starts)
        first = [leaf.start for leaf in self._full.leaves]
        lower, upper = self._lower[first], self._upper[first]
        starts = np.clip(starts, lower, upper)
        part = _part(self._sample, _representatives(self._sample.target, _SWARM_ROWS, self._rng))
        ends, costs = walk_together(part, starts, lower, upper, _SWARM_STEPS)
        self._elsewhere += part.evaluations
        order = np.argsort(costs, kind="stable").tolist()
        seen = []
        for index in order:
            if any(abs(costs[index] - c) <= 1e-3 * c for c in seen):
                continue
            seen.append(costs[index])
            log.add(self._descend(self._spread(ends[index]), log), turn)
            DEBUG.append((turn, index < 16, log.best.point.cost, self._spent))
            if len(seen) >= _DESCENTS or self._is_exact(log) or self._spent >= 0.9 * self._budget:
                return

    def _by_group(self, log: _Log) -> None:
        """Start from fits of each group alone, where nonlinear parameters are grouped.

        A group by itself determines all parameters; shared ones start at the median of theirs.
        """
        leaves = self._full.leaves
        labels = {leaf.label for k in bits(self._full.nonlinear) if (leaf := leaves[k]).label}
        if len(labels) != 1:
            return
        label = str(labels.pop())
        codes = self._sample.table.groups[label][1]
        groups = np.unique(codes)
        share = self._budget // (3 * len(groups))
        if share < _GROUP_BUDGET:
            return
        alone = np.array([self._fit_group(np.flatnonzero(codes == g), share) for g in groups])
        theta = np.empty(self._full.size)
        for k, leaf in enumerate(leaves):
            theta[leaf.slots] = np.median(alone[:, k])
            if leaf.label == label:
                theta[leaf.start + groups] = alone[:, k]
        log.add(self._descend(theta, log), 0)

    def _fit_group(self, rows: NDArray[np.intp], budget: int) -> Array:
        """Fit one group, every parameter its own; return one value per parameter."""
        part = self._sample
        single = [Leaf(leaf.name, k, 1) for k, leaf in enumerate(part.leaves)]
        weights = None if part.weights is None else part.weights[rows]
        table = part.table.rows(rows)
        objective = Objective(part.program, table, part.target[rows], weights, single, part.linear)
        first = [leaf.start for leaf in part.leaves]
        free = np.full(len(single), np.nan)
        search = Search(objective, {}, free, self._lower[first], self._upper[first], budget, 0)
        found = search.run()
        self._elsewhere += found.n_evaluations
        return found.point.theta

    def _descend(self, theta: Array, log: _Log) -> Descent:
        slots = self._sample.free_slots
        best = log.best.point.cost if log.best is not None else np.inf
        return descend(
            self._sample,
            theta,
            iterations=60,
            lower=self._lower[slots],
            upper=self._upper[slots],
            budget=self._budget,
            tolerance=EXPLORE,
            hopeless=2.0 * best,
            known=None if log.best is None else log.best.point,
        )

    def _spread(self, start: Array) -> Array:
        """Turn one value per parameter into one per slot."""
        theta = np.empty(self._full.size)
        for k, leaf in enumerate(self._full.leaves):
            theta[leaf.slots] = start[k]
            if leaf.label is not None:
                own = self._initial[leaf.slots]
                theta[leaf.slots] = np.where(np.isfinite(own), own, theta[leaf.slots])
        return theta


def exact_cost(objective: Objective) -> float:
    """Return the cost below which a fit is exact to rounding."""
    scaled = objective.target * objective.factor
    centre = scaled - np.mean(scaled)
    return max(_EXACT * float(np.sum(centre**2)), 64.0 * objective.rounding)


def _part(objective: Objective, rows: NDArray[np.intp]) -> Objective:
    weights = None if objective.weights is None else objective.weights[rows]
    return Objective(
        objective.program,
        objective.table.rows(rows),
        objective.target[rows],
        weights,
        objective.leaves,
        objective.linear,
    )


def _representatives(target: Array, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose rows: half at random, half evenly through the ordered target, to have its peaks."""
    if len(target) <= count:
        return np.arange(len(target))
    ordered = np.argsort(target, kind="stable")
    even = ordered[np.linspace(0, len(target) - 1, count // 2).astype(np.intp)]
    others = np.ones(len(target), np.bool_)
    others[even] = False
    rest = np.flatnonzero(others)
    return np.sort(np.concatenate([even, rng.choice(rest, count - len(even), replace=False)]))

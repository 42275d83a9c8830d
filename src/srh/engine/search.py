"""The search for the best minimum: rounds of starts, each followed by descents.

Theory of operation. A plain round draws 32 starts (``starts.py``), judges them together on about 48
rows and descends from the best few on all rows (a fixed sample of them if there are very many).
Where descents disagree, rounds become *swarms*: half of the starts are new, half vary good minima
in some of their parameters, guided by what those leave unexplained, and all of them walk downhill
together on about 64 rows (``swarm.py``) before the best few descend on all rows.

The search ends

* when a fit is exact to rounding: nothing better exists;
* when the best minimum was found again and again, from different rounds (``minima.py``);
* when the budget is spent. It is counted in evaluations, never in seconds, so the same seed gives
  the same bits on a busy machine.

At the end the best minimum is followed to convergence on all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from srh.engine.layout import Leaf
from srh.engine.levenberg import EXPLORE, Descent, descend
from srh.engine.minima import Minima
from srh.engine.objective import Objective, Point
from srh.engine.screen import Screen
from srh.engine.starts import StartMaker
from srh.engine.structure import bits
from srh.engine.swarm import walk_together

Array: TypeAlias = NDArray[np.float64]

SAMPLE_ROWS = 2000
"""Rows on which minima are searched when the data have more than twice as many."""

_SCREEN_ROWS = 48
# Fewest samples that represent all of them, where a sample has many rows.
_SAMPLES = 6
_STARTS, _TEAMS = 32, 4
_DESCENTS = 3
_SWARM_ROWS, _SWARM_STEPS = 64, 8
_SWARM_TEAMS, _SWARM_TEAM = 4, 4
# Ends of a swarm whose costs agree to this are taken for one.
_ALIKE = 1e-3
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
            self._sample = _part(objective, _representatives(objective, SAMPLE_ROWS, rng))
        screened = _representatives(self._sample, _SCREEN_ROWS, rng)
        self._screen = Screen(self._sample, screened)
        self._maker = StartMaker(
            objective.program,
            self._sample.table,
            self._sample.target,
            objective.nonlinear,
            given,
            rng,
        )
        self._elsewhere = 0
        self._enough = exact_cost(self._sample)
        self._minima, self._n_starts = Minima(), 0
        self._first = [leaf.start for leaf in objective.leaves]
        self._ungrouped = all(leaf.label is None for leaf in objective.leaves)

    def run(self) -> Found:
        """Search, then converge on all rows."""
        turn = 0
        # A tenth is kept for the last descent.
        while not self._done:
            self._round(turn)
            if turn == 0 and not self._is_exact:
                self._by_group()
            turn += 1
        last = self._repair_groups(self._last())
        tidy = self._tidy(last.point)
        return Found(
            point=tidy,
            converged=last.converged,
            exact=tidy.undefined == 0 and tidy.cost <= exact_cost(self._full),
            budget_spent=not (self._settled or self._is_exact),
            n_starts=self._n_starts,
            n_iter=self._minima.n_iter,
            n_evaluations=self._spent,
        )

    def _last(self) -> Descent:
        """Follow the best minimum to convergence on all rows."""
        best = self._minima.best
        assert best is not None  # noqa: S101 - the first round always descends
        if self._sample is self._full and best.converged and self._is_exact:
            return best
        return self._converge(best.point.theta)

    def _converge(self, theta: Array) -> Descent:
        last = descend(
            self._full,
            theta,
            iterations=200,
            lower=self._lower[self._full.free_slots],
            upper=self._upper[self._full.free_slots],
            budget=self._full.evaluations + max(self._budget - self._spent, 20),
        )
        self._minima.n_iter += last.iterations
        return last

    def _repair_groups(self, last: Descent) -> Descent:
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
        sample = 0 if self._sample is self._full else self._sample.evaluations
        return self._elsewhere + self._full.evaluations + sample + self._screen.evaluations

    @property
    def _settled(self) -> bool:
        return self._minima.settled(self._sample.variation)

    @property
    def _is_exact(self) -> bool:
        best = self._minima.best
        return best is not None and not best.point.undefined and best.point.cost <= self._enough

    @property
    def _done(self) -> bool:
        return self._settled or self._is_exact or self._spent >= 0.9 * self._budget

    def _round(self, turn: int) -> None:
        if turn:
            self._minima.judge(turn)
        cost = 2 * _SWARM_TEAMS * _SWARM_TEAM * (_SWARM_STEPS + 2)
        affordable = self._spent + cost <= 0.9 * self._budget
        swarm = self._minima.hard and self._ungrouped and affordable
        if swarm:
            starts, costs = self._swarm(turn)
        else:
            teams = _TEAMS if turn else _TEAMS // 2
            spread = min(0.4 + 0.2 * turn, 2.0)
            starts = self._within(self._maker.batch(teams, _STARTS // teams, spread))
            costs = self._screen.costs(starts)
        self._n_starts += len(starts)
        tried: list[float] = []
        for index in np.argsort(costs, kind="stable").tolist():
            if swarm and any(abs(costs[index] - cost) <= _ALIKE * cost for cost in tried):
                continue
            tried.append(float(costs[index]))
            self._minima.add(self._descend(self._spread(starts[index])), turn)
            out_of_budget = self._spent >= 0.9 * self._budget
            if len(tried) == _DESCENTS or self._is_exact or out_of_budget:
                return

    def _swarm(self, turn: int) -> tuple[Array, Array]:
        """Walk new starts and variations of good minima downhill; return ends and costs."""
        spread = 0.4 + 0.2 * (turn % 8)
        pool = self._minima.pool
        parts = [self._maker.batch(_SWARM_TEAMS, _SWARM_TEAM, spread)]
        for team in range(_SWARM_TEAMS):
            # Half of them vary the best.
            base = pool[0 if team % 2 else self._rng.integers(len(pool))]
            parts.append(
                self._maker.around(base.theta[self._first], base.residual, _SWARM_TEAM, spread)
            )
        rows = _representatives(self._sample, _SWARM_ROWS, self._rng)
        part = Screen(self._sample, rows)
        limits = self._lower[self._first], self._upper[self._first]
        starts = self._within(np.concatenate(parts))
        ends, costs = walk_together(part, starts, *limits, _SWARM_STEPS)
        self._elsewhere += part.evaluations
        return ends, costs

    def _within(self, starts: Array) -> Array:
        return np.clip(starts, self._lower[self._first], self._upper[self._first])

    def _by_group(self) -> None:
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
        self._minima.add(self._descend(theta), 0)

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

    def _descend(self, theta: Array) -> Descent:
        slots = self._sample.free_slots
        best = self._minima.best
        return descend(
            self._sample,
            theta,
            iterations=60,
            lower=self._lower[slots],
            upper=self._upper[slots],
            budget=self._budget,
            tolerance=EXPLORE,
            known=None if best is None else best.point,
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
    return max(_EXACT * objective.variation, 64.0 * objective.rounding)


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


def _representatives(
    objective: Objective, count: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Choose rows, of few samples where the rows of a sample can only be computed together."""
    target, samples = objective.target, objective.table.sample_of_rows
    if samples is None:
        return _spread_rows(target, count, rng)
    known = np.unique(samples)
    wanted = max(_SAMPLES, count * len(known) // len(target))
    if wanted < len(known):
        known = rng.choice(known, wanted, replace=False)
    rows = np.flatnonzero(np.isin(samples, known))
    return rows[_spread_rows(target[rows], max(count, _SAMPLES), rng)]


def _spread_rows(target: Array, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose rows: half at random, half evenly through the ordered target, to have its peaks."""
    if len(target) <= count:
        return np.arange(len(target))
    ordered = np.argsort(target, kind="stable")
    half = count // 2
    even = ordered[np.arange(half) * (len(target) - 1) // (half - 1)]
    others = np.ones(len(target), np.bool_)
    others[even] = False
    rest = np.flatnonzero(others)
    return np.sort(np.concatenate([even, rng.permutation(rest)[: count - half]]))

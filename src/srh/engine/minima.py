"""What descents have found so far, and whether it can be believed.

A minimum is believed when descents from different rounds have ended there again and again: hits
within one round can be one shared local minimum. Where the first descents disagree the landscape
is *hard*; then rounds are of another kind (``search.py``), each of which is evidence by itself.
The less of the target a fit explains, the likelier it is that something better was missed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from srh.engine.levenberg import SAME, Descent
from srh.engine.objective import Point

_HITS, _ROUNDS = 5, 3
# Unexplained share of the target's variance up to which a minimum needs so many times more hits.
_DOUBTS = ((0.05, 1), (0.3, 2), (float("inf"), 4))
# Rounds of a hard search in which the best minimum must be hit, where a fit explains most, or not.
_HARD_ROUNDS, _DOUBTFUL_ROUNDS = 7, 9
# A search that is not settled after so many rounds is hard.
_EASY_ROUNDS = 3
_POOL = 6


@dataclass(slots=True)
class Minima:
    """Ends of descents.

    Attributes:
        best: End of the best descent.
        hits: Rounds in which the best minimum was found, one entry per descent.
        pool: The best few different minima, best first.
        n_descents: Descents seen.
        n_iter: Their steps.
        hard: Whether the landscape is hard.
    """

    best: Descent | None = None
    hits: list[int] = field(default_factory=list)
    pool: list[Point] = field(default_factory=list)
    n_descents: int = 0
    n_iter: int = 0
    hard: bool = False

    def add(self, descent: Descent, turn: int) -> None:
        """Take note of a descent of round ``turn``."""
        self.n_iter += descent.iterations
        self.n_descents += 1
        best = self.best
        same = best is not None and _same_minimum(descent.point, best.point)
        if best is None or descent.point.better_than(best.point):
            self.hits = [*(self.hits if same else ()), turn]
            self.best = descent
        elif same:
            self.hits.append(turn)
        if not any(_same_minimum(descent.point, point) for point in self.pool):
            self.pool.append(descent.point)
            self.pool.sort(key=lambda point: (point.undefined, point.cost))
            del self.pool[_POOL:]

    def judge(self, turn: int) -> None:
        """Decide before round ``turn`` whether the landscape is hard."""
        self.hard |= turn >= _EASY_ROUNDS or 2 * len(self.hits) < self.n_descents

    def settled(self, total: float) -> bool:
        """Say whether the best minimum was found often enough to believe in it.

        Args:
            total: Cost of the best constant.
        """
        if self.best is None:
            return False
        point = self.best.point
        rest = 1.0 if point.undefined else point.cost / total if total > 0 else 0.0
        factor = next(factor for limit, factor in _DOUBTS if rest <= limit)
        rounds = len(set(self.hits))
        if self.hard:
            return rounds >= (_HARD_ROUNDS if factor < _DOUBTS[-1][1] else _DOUBTFUL_ROUNDS)
        return len(self.hits) >= _HITS * factor and rounds >= _ROUNDS * factor


def _same_minimum(a: Point, b: Point) -> bool:
    return a.undefined == b.undefined and abs(a.cost - b.cost) <= SAME * max(a.cost, b.cost)

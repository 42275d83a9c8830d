"""Starting values that follow from what a parameter does in the formula.

Theory of operation. A parameter has a scale only through the data that it meets. From its leaf we
climb towards the root; what is passed on the way can be inverted. The climb ends at an *anchor*,
where the size of the subexpression is known from its role:

* the argument of ``exp``, ``tanh``, … varies by about one: at a random row, or between two rows;
* the argument of ``sin``, ``cos``, … repeats with a frequency that the target shows;
* a term next to a column or constant in a sum is about as large as it (``K + x``, ``1 + p*x``), or
  cancels it in some row (``x - c``);
* an exponent is a small number;
* at the root the subexpression is as large as the target.

The value wanted at the anchor is then carried back down to the parameter, powers included. Signs
are tried both ways, positive parameters preferred, and the spread grows from round to round.
Parameters are drawn one after the other in random order, each seeing those drawn before; within
one *team* of starts all decisions are shared, so the arithmetic runs on arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from srh.engine.climbs import PERIODIC, SUMS, TRANSPARENT, Climbs, Move, Team
from srh.engine.columns import Table
from srh.engine.frame import Frame
from srh.engine.program import Program
from srh.engine.structure import bits
from srh.engine.waves import Axis, Waves

Array = NDArray[np.float64]


class StartMaker:
    """Draws starts for the nonlinear parameters of a formula.

    Args:
        program: The formula.
        table: Columns of the rows that stand for the data ``(n,)``.
        target: ``(n,)``.
        nonlinear: Bit mask of the parameters to draw.
        given: Initial values by parameter index; every fourth start uses them.
        rng: Source of all randomness.
    """

    def __init__(
        self,
        program: Program,
        table: Table,
        target: Array,
        nonlinear: int,
        given: dict[int, float],
        rng: np.random.Generator,
    ) -> None:
        self._program, self._table, self._target = program, table, target
        self._given, self._rng = given, rng
        self._climbs = Climbs(program)
        self._leaf = {
            program.parameters.index(node.name): position
            for position, node in enumerate(program.nodes)
            if node.kind == "parameter"
        }
        # One that has folded away, as in param('a')**0, changes nothing: any value will do.
        self._nonlinear = [k for k in bits(nonlinear) if k in self._leaf]
        self._in_wave = self._mark_waves()
        self._waves = Waves(self._climbs, table, target, rng)
        self._terms = self._find_terms()

    def _find_terms(self) -> list[list[int]]:
        """Return the nonlinear parameters of each term of the formula, if there are several."""
        nodes = self._program.nodes
        terms, stack = [], [len(nodes) - 1]
        while stack:
            node = nodes[stack.pop()]
            if node.kernel is not None and node.kernel.name in ("+", "-", "neg"):
                stack.extend(node.args)
            elif own := [k for k in self._nonlinear if node.mask >> k & 1]:
                terms.append(own)
        return terms if len(terms) > 1 else []

    def _mark_waves(self) -> list[bool]:
        """Mark the nodes that are terms of the argument of a periodic function."""
        nodes = self._program.nodes
        marked = [False] * len(nodes)
        for position in range(len(nodes) - 1, -1, -1):
            kernel = nodes[position].kernel
            if kernel is None:
                continue
            passes = marked[position] and kernel.name in ("+", "-", "neg")
            for arg in nodes[position].args:
                marked[arg] |= passes or kernel.name in PERIODIC
        return marked

    @property
    def phases(self) -> int:
        """Bit mask of the nonlinear parameters that are a term of a wave's argument."""
        return sum(1 << k for k in self._nonlinear if self._in_wave[self._leaf[k]])

    def batch(self, teams: int, size: int, spread: float) -> Array:
        """Draw ``teams * size`` starts.

        Args:
            teams: Number of independent sets of decisions.
            size: Starts in each.
            spread: Decades around the expected size.

        Returns:
            One value per parameter ``(teams * size, parameters)``; linear ones are 1.
        """
        drawn = []
        for index in range(teams):
            use_given = bool(self._given) and (index == 0 or self._rng.random() < 0.25)
            rows = self._rng.integers(self._table.n_rows, size=(2, size))
            drawn.append(self._draw_team(rows, spread, self._given if use_given else {}))
        return np.concatenate(drawn)

    def around(self, theta: Array, residual: Array, size: int, spread: float) -> Array:
        """Draw some parameters anew: what a good fit lacks shows in its residual.

        Args:
            theta: One value per parameter ``(parameters,)``.
            residual: What they leave of the target ``(n,)``.
            size: Number of starts, which share their decisions.
            spread: Decades around the expected size.

        Returns:
            ``(size, parameters)``; the parameters that are not drawn keep their value.
        """
        whole = self._waves
        self._waves = Waves(self._climbs, self._table, residual, self._rng)
        chance = residual**2
        chance += np.mean(chance) + 1e-300
        chance /= chance.sum()
        rows = self._rng.choice(self._table.n_rows, size=(2, size), p=chance)
        anew = self._chosen()
        kept = {k: float(theta[k]) for k in self._nonlinear if k not in anew}
        drawn = self._draw_team(rows, spread, kept)
        self._waves = whole
        return drawn

    def _chosen(self) -> list[int]:
        """Choose what to draw anew: a term's parameters, or any."""
        if self._terms and self._rng.random() < 0.8:
            return self._terms[self._rng.integers(len(self._terms))]
        chosen = self._rng.random(len(self._nonlinear)) < 0.5
        return [k for k, new in zip(self._nonlinear, chosen.tolist(), strict=True) if new]

    def _draw_team(
        self, rows: NDArray[np.intp], spread: float, known: Mapping[int, float]
    ) -> Array:
        rng, size = self._rng, rows.shape[1]
        theta = np.ones((size, len(self._program.parameters)))
        team = Team(theta, 0, rows[0], spread, float(rng.random()))
        frame = self._program.frame(self._table.rows(rows))
        for k, value in known.items():
            theta[:, k] = value
            team.drawn |= 1 << k
        fixed = team.drawn
        # A second pass sees all others: it settles scales that depend on each other.
        passes = 2 if len(self._nonlinear) > 1 and rng.random() < 0.5 else 1
        with np.errstate(all="ignore"):
            for _ in range(passes):
                for k in rng.permutation(self._nonlinear).tolist():
                    if not fixed >> k & 1:
                        self._draw_parameter(team, frame, k)
        return theta

    def _draw_parameter(self, team: Team, frame: Frame, k: int) -> None:
        team.values = frame.forward(list(team.theta.T))
        value = self._draw(team, k)
        fallback = 10.0 ** self._rng.uniform(-team.spread, team.spread, len(value))
        team.theta[:, k] = np.where(np.isfinite(value), value, fallback)
        team.drawn |= 1 << k

    def _draw(self, team: Team, k: int) -> Array:
        """Draw one parameter for a whole team."""
        moves: list[Move] = []
        position = self._leaf[k]
        while self._climbs.parents[position]:
            parents = self._climbs.parents[position]
            several = len(parents) > 1
            parent, index = parents[self._rng.integers(len(parents)) if several else 0]
            move = self._climbs.move(parent, index)
            found = self._anchor(team, k, moves, move)
            if found is not None:
                return found
            moves.append(move)
            position = parent
        return self._climbs.carry_down(team, moves, self._target[team.here], centred=False)

    def _anchor(self, team: Team, k: int, moves: list[Move], move: Move) -> Array | None:  # noqa: PLR0911
        """Return the drawn values if the climb ends at ``move``."""
        name = move.name
        if name in SUMS:
            return self._sum_anchor(team, moves, move)
        if name in ("*", "/", "neg") or name in TRANSPARENT:
            return None
        if name == "delay":
            return self._lag_anchor(team, moves) if move.index else None
        if name in PERIODIC:
            return self._wave_anchor(team, k, moves, move)
        if name == "**" and move.index == 0:
            return None
        if name == "**" and not any(self._climbs.by_rows(m.other) for m in moves):
            return self._climbs.carry_down(
                team, moves, self._exponents(len(team.here)), centred=False
            )
        if name in ("min", "max", "arctan2", "hypot"):
            assert move.other is not None  # noqa: S101 - these have two operands
            size = np.abs(np.broadcast_to(team.here_of(move.other), team.here.shape))
            return self._both_signs(team, moves, size * self._factors(team), centred=False)
        centred = bool(self._rng.random() < 0.5)
        return self._both_signs(team, moves, self._factors(team), centred=centred)

    def _lag_anchor(self, team: Team, moves: list[Move]) -> Array:
        """A lag lies within the history: its first half, so that something is left to compare."""
        lags = self._rng.uniform(0.0, 0.5 * self._table.history, len(team.here))
        return self._climbs.carry_down(team, moves, lags, centred=False)

    def _factors(self, team: Team) -> Array:
        return np.asarray(10.0 ** self._rng.uniform(-team.spread, team.spread, len(team.here)))

    def _exponents(self, size: int) -> Array:
        smooth = self._rng.uniform(-4.0, 4.0, size)
        return np.where(self._rng.random(size) < 0.5, smooth, np.round(2.0 * smooth) / 2.0)

    def _sum_anchor(self, team: Team, moves: list[Move], move: Move) -> Array | None:  # noqa: PLR0911
        assert move.other is not None  # noqa: S101 - sums have two operands
        rng, node = self._rng, self._program.nodes[move.other]
        scaled = any(self._climbs.by_rows(m.other) for m in moves)
        if self._in_wave[move.node] and not scaled:
            if not node.by_rows:
                return None
            phase = rng.uniform(-np.pi, np.pi, len(team.here))
            return self._climbs.carry_down(team, moves, phase, centred=False)
        unknown = node.mask & ~team.drawn & sum(1 << k for k in self._nonlinear)
        if self._in_wave[move.node] or unknown or self._is_root_sum(move.node):
            return None
        if node.mask and not node.by_rows:
            return None
        if rng.random() < 0.2:
            return None
        beside = np.broadcast_to(team.here_of(move.other), team.here.shape)
        if scaled or not node.by_rows:
            size = np.abs(np.where(beside == 0, 1.0, beside)) * self._factors(team)
            return self._both_signs(team, moves, size, centred=False)
        # A location: the sum vanishes in some row, or both terms are of one size and sign.
        cancels = 1.0 if move.name == "-" else -1.0
        spill = np.where(rng.random(len(beside)) < 0.25, rng.normal(0.0, 0.5, len(beside)), 0.0)
        wanted = cancels * beside + spill * np.abs(beside)
        if rng.random() < (0.15 if move.name == "-" else 0.5):
            wanted = -wanted
        return self._climbs.carry_down(team, moves, wanted, centred=False)

    def _is_root_sum(self, position: int) -> bool:
        """Say whether a sum is a term of the formula itself: its size follows from the target."""
        nodes = self._program.nodes
        while self._climbs.parents[position]:
            position = self._climbs.parents[position][0][0]
            kernel = nodes[position].kernel
            if kernel is None or kernel.name not in ("+", "-", "neg"):
                return False
        return True

    def _both_signs(self, team: Team, moves: list[Move], size: Array, *, centred: bool) -> Array:
        """Carry ``±size`` down; prefer the sign that makes the parameter positive."""
        plus = self._climbs.carry_down(team, moves, size, centred=centred)
        minus = self._climbs.carry_down(team, moves, -size, centred=centred)
        prefer = self._rng.random(len(size)) < 0.75
        choose_plus = np.where(prefer, plus > 0, plus <= 0)
        choose_plus = np.where(np.isfinite(plus), choose_plus, False) | ~np.isfinite(minus)
        return np.where(choose_plus, plus, minus)

    def _wave_anchor(self, team: Team, k: int, moves: list[Move], move: Move) -> Array:
        size = len(team.here)
        if team.drawn >> k & 1:
            # Frequencies and phases were drawn together; alone they would not fit any more.
            return team.theta[:, k]
        inner, outer = self._climbs.split(moves)
        if not outer:
            phase = self._rng.uniform(-np.pi, np.pi, size)
            return self._climbs.carry_down(team, moves, phase, centred=False)
        general = self._both_signs(team, moves, self._factors(team) * np.pi, centred=True)
        axis = self._waves.axis(outer, list(team.theta[0]))
        if axis is None:
            return general
        partner = self._partner(team, k, move, axis)
        if partner is not None:
            value = self._draw_pair(team, inner, axis, partner)
        else:
            omega = self._waves.pick(axis, move.node, size, team.mode, team.picks)
            if omega is None:
                return general
            value = self._climbs.carry_down(team, inner, axis.scale(omega), centred=False)
        return np.where(self._rng.random(size) < 0.85, value, general)

    def _partner(
        self, team: Team, k: int, move: Move, own: Axis
    ) -> tuple[int, Sequence[Move], Axis] | None:
        """Return the one other coefficient of the same wave that is still to be drawn."""
        argument = self._program.nodes[move.node].args[0]
        inside = self._program.nodes[argument].mask & ~team.drawn & ~(1 << k)
        found = []
        for other in bits(inside & sum(1 << index for index in self._nonlinear)):
            inner, outer = self._climbs.split(self._climbs.path(self._leaf[other], argument))
            if outer:
                axis = self._waves.axis(outer, list(team.theta[0]))
                if axis is None:
                    return None
                # On the same axis it is only another factor of the same frequency.
                if axis.key != own.key:
                    found.append((other, inner, axis))
        return found[0] if len(found) == 1 else None

    def _draw_pair(
        self,
        team: Team,
        moves: Sequence[Move],
        axis: Axis,
        partner: tuple[int, Sequence[Move], Axis],
    ) -> Array:
        other, other_moves, other_axis = partner
        size = len(team.here)
        first, second = self._waves.pick_pair(axis, other_axis, size)
        value = self._climbs.carry_down(team, other_moves, other_axis.scale(second), centred=False)
        team.theta[:, other] = np.where(np.isfinite(value), value, 1.0)
        team.drawn |= 1 << other
        return self._climbs.carry_down(team, moves, axis.scale(first), centred=False)

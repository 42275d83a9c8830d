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
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.engine.columns import Table
from srh.engine.frame import Frame
from srh.engine.program import Program
from srh.engine.structure import bits
from srh.engine.waves import PERIODIC, SUMS, Axis, Move, Waves

Array = NDArray[np.float64]

# Inverses of what may stand between a parameter and its anchor.
_INVERSES: dict[str, Any] = {
    "neg": np.negative,
    "square": np.sqrt,
    "cube": np.cbrt,
    "fourth": lambda t: np.sqrt(np.sqrt(t)),
    "reciprocal": np.reciprocal,
    "inv": np.reciprocal,
    "inverse_square": lambda t: 1.0 / np.sqrt(t),
    "sqrt": np.square,
    "abs": np.abs,
    "exp": np.log,
    "log": np.exp,
    "log10": lambda t: 10.0**t,
}
_TRANSPARENT = frozenset(_INVERSES) - {"exp"}


@dataclass(slots=True)
class _Team:
    """Starts that share their decisions.

    Attributes:
        theta: Values so far ``(size, parameters)``.
        drawn: Bit mask of the parameters that have theirs.
        here: Row of each start.
        spread: Decades around the expected size.
        mode: Uniform in 0..1: how the frequencies of several waves are combined.
        picks: Frequencies drawn so far.
        values: Node values, those that differ by row as ``(2, size)`` at ``here`` and ``there``.
    """

    theta: Array
    drawn: int
    here: NDArray[np.intp]
    spread: float
    mode: float
    picks: dict[int, Array] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)

    def here_of(self, position: int) -> Any:
        """Return a node's value in each start's own row."""
        value = self.values[position]
        return value[0] if np.ndim(value) == 2 else value

    def there_of(self, position: int) -> Any:
        """Return a node's value in each start's other row."""
        value = self.values[position]
        return value[1] if np.ndim(value) == 2 else value


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
        self._parents: list[list[tuple[int, int]]] = [[] for _ in program.nodes]
        for position, node in enumerate(program.nodes):
            for index, arg in enumerate(node.args):
                self._parents[arg].append((position, index))
        self._leaf = {
            program.parameters.index(node.name): position
            for position, node in enumerate(program.nodes)
            if node.kind == "parameter"
        }
        # One that has folded away, as in param('a')**0, changes nothing: any value will do.
        self._nonlinear = [k for k in bits(nonlinear) if k in self._leaf]
        self._in_wave = self._mark_waves()
        self._waves = Waves(program, table, target, self._parents, rng)
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
        self._waves = Waves(self._program, self._table, residual, self._parents, self._rng)
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
        team = _Team(theta, 0, rows[0], spread, float(rng.random()))
        frame = Frame(self._program, self._table.rows(rows))
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

    def _draw_parameter(self, team: _Team, frame: Frame, k: int) -> None:
        team.values = frame.forward(list(team.theta.T))
        value = self._draw(team, k)
        fallback = 10.0 ** self._rng.uniform(-team.spread, team.spread, len(value))
        team.theta[:, k] = np.where(np.isfinite(value), value, fallback)
        team.drawn |= 1 << k

    def _draw(self, team: _Team, k: int) -> Array:
        """Draw one parameter for a whole team."""
        rng, nodes = self._rng, self._program.nodes
        moves: list[Move] = []
        position = self._leaf[k]
        while self._parents[position]:
            parents = self._parents[position]
            parent, index = parents[rng.integers(len(parents))]
            kernel = nodes[parent].kernel
            assert kernel is not None  # noqa: S101 - only operations have operands
            args = nodes[parent].args
            other = args[1 - index] if len(args) == 2 else None
            move = Move(parent, kernel.name, index, other)
            found = self._anchor(team, k, moves, move)
            if found is not None:
                return found
            moves.append(move)
            position = parent
        return self._carry_down(team, moves, self._target[team.here], centred=False)

    def _anchor(self, team: _Team, k: int, moves: list[Move], move: Move) -> Array | None:  # noqa: PLR0911
        """Return the drawn values if the climb ends at ``move``."""
        name = move.name
        if name in SUMS:
            return self._sum_anchor(team, moves, move)
        if name in ("*", "/", "neg") or name in _TRANSPARENT:
            return None
        if name in PERIODIC:
            return self._wave_anchor(team, k, moves, move)
        if name == "**" and move.index == 0:
            return None
        if name == "**" and not any(m.other is not None and self._by_rows(m.other) for m in moves):
            return self._carry_down(team, moves, self._exponents(len(team.here)), centred=False)
        if name in ("min", "max", "arctan2", "hypot"):
            assert move.other is not None  # noqa: S101 - these have two operands
            size = np.abs(np.broadcast_to(team.here_of(move.other), team.here.shape))
            return self._both_signs(team, moves, size * self._factors(team), centred=False)
        centred = bool(self._rng.random() < 0.5)
        return self._both_signs(team, moves, self._factors(team), centred=centred)

    def _by_rows(self, position: int) -> bool:
        return self._program.nodes[position].by_rows

    def _factors(self, team: _Team) -> Array:
        return np.asarray(10.0 ** self._rng.uniform(-team.spread, team.spread, len(team.here)))

    def _exponents(self, size: int) -> Array:
        smooth = self._rng.uniform(-4.0, 4.0, size)
        return np.where(self._rng.random(size) < 0.5, smooth, np.round(2.0 * smooth) / 2.0)

    def _sum_anchor(self, team: _Team, moves: list[Move], move: Move) -> Array | None:  # noqa: PLR0911
        assert move.other is not None  # noqa: S101 - sums have two operands
        rng, node = self._rng, self._program.nodes[move.other]
        scaled = any(m.other is not None and self._by_rows(m.other) for m in moves)
        if self._in_wave[move.node] and not scaled:
            if not node.by_rows:
                return None
            phase = rng.uniform(-np.pi, np.pi, len(team.here))
            return self._carry_down(team, moves, phase, centred=False)
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
        return self._carry_down(team, moves, wanted, centred=False)

    def _is_root_sum(self, position: int) -> bool:
        """Say whether a sum is a term of the formula itself: its size follows from the target."""
        nodes = self._program.nodes
        while self._parents[position]:
            position = self._parents[position][0][0]
            kernel = nodes[position].kernel
            if kernel is None or kernel.name not in ("+", "-", "neg"):
                return False
        return True

    def _both_signs(self, team: _Team, moves: list[Move], size: Array, *, centred: bool) -> Array:
        """Carry ``±size`` down; prefer the sign that makes the parameter positive."""
        plus = self._carry_down(team, moves, size, centred=centred)
        minus = self._carry_down(team, moves, -size, centred=centred)
        prefer = self._rng.random(len(size)) < 0.75
        choose_plus = np.where(prefer, plus > 0, plus <= 0)
        choose_plus = np.where(np.isfinite(plus), choose_plus, False) | ~np.isfinite(minus)
        return np.where(choose_plus, plus, minus)

    def _carry_down(
        self, team: _Team, moves: Sequence[Move], wanted: Array, *, centred: bool
    ) -> Array:
        """Invert the climb: from a value at the anchor to the parameter's."""
        value = np.asarray(wanted)
        for move in reversed(moves):
            value = self._invert(team, move, value, centred=centred)
        return np.asarray(np.broadcast_to(value, team.here.shape))

    def _invert(self, team: _Team, move: Move, value: Array, *, centred: bool) -> Array:  # noqa: PLR0911
        name, other = move.name, move.other
        if other is None:
            inverse = _INVERSES.get(name)
            return value if inverse is None else np.asarray(inverse(value))
        here = team.here_of(other)
        if name in SUMS:
            # The rest of the sum is an offset; sizes and frequencies do not depend on it.
            return -value if name == "-" and move.index == 1 else value
        there = team.there_of(other) if centred and self._by_rows(other) else None
        if name == "*":
            return np.asarray(value / (here if there is None else here - there))
        if name == "/" and move.index == 0:
            return np.asarray(value * here if there is None else value / (1.0 / here - 1.0 / there))
        if name == "/":
            return np.asarray((here if there is None else here - there) / value)
        if name == "**" and move.index == 0:
            return np.asarray(np.abs(value) ** (1.0 / here))
        if name == "**":
            return np.asarray(value / np.log(np.abs(here)))
        return value

    def _wave_anchor(self, team: _Team, k: int, moves: list[Move], move: Move) -> Array:
        size = len(team.here)
        if team.drawn >> k & 1:
            # Frequencies and phases were drawn together; alone they would not fit any more.
            return team.theta[:, k]
        rowwise = [
            index
            for index, m in enumerate(moves)
            if m.other is not None and self._by_rows(m.other) and m.name not in SUMS
        ]
        if not rowwise:
            phase = self._rng.uniform(-np.pi, np.pi, size)
            return self._carry_down(team, moves, phase, centred=False)
        general = self._both_signs(team, moves, self._factors(team) * np.pi, centred=True)
        theta = list(team.theta[0])
        axis = self._waves.axis(moves[rowwise[0] :], theta)
        if axis is None:
            return general
        partner = self._partner(team, k, move, axis)
        if partner is not None:
            value = self._draw_pair(team, moves[: rowwise[0]], axis, partner)
        else:
            omega = self._waves.pick(axis, move.node, size, team.mode, team.picks)
            if omega is None:
                return general
            value = self._carry_down(team, moves[: rowwise[0]], axis.scale(omega), centred=False)
        return np.where(self._rng.random(size) < 0.85, value, general)

    def _partner(
        self, team: _Team, k: int, move: Move, own: Axis
    ) -> tuple[int, list[Move], Axis] | None:
        """Return the one other coefficient of the same wave that is still to be drawn."""
        argument = self._program.nodes[move.node].args[0]
        inside = self._program.nodes[argument].mask & ~team.drawn & ~(1 << k)
        found = []
        for other in bits(inside & sum(1 << index for index in self._nonlinear)):
            moves = self._waves.path(self._leaf[other], argument)
            rowwise = [
                index
                for index, m in enumerate(moves)
                if m.other is not None and self._by_rows(m.other) and m.name not in SUMS
            ]
            if rowwise:
                axis = self._waves.axis(moves[rowwise[0] :], list(team.theta[0]))
                if axis is None:
                    return None
                # On the same axis it is only another factor of the same frequency.
                if axis.key != own.key:
                    found.append((other, moves[: rowwise[0]], axis))
        return found[0] if len(found) == 1 else None

    def _draw_pair(
        self,
        team: _Team,
        moves: list[Move],
        axis: Axis,
        partner: tuple[int, list[Move], Axis],
    ) -> Array:
        other, other_moves, other_axis = partner
        size = len(team.here)
        first, second = self._waves.pick_pair(axis, other_axis, size)
        value = self._carry_down(team, other_moves, other_axis.scale(second), centred=False)
        team.theta[:, other] = np.where(np.isfinite(value), value, 1.0)
        team.drawn |= 1 << other
        return self._carry_down(team, moves, axis.scale(first), centred=False)

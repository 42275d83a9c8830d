"""Climbing from a parameter through a formula, and carrying values back down.

A *move* is one step up; a list of them is a way from a parameter to an operation above it. What is
passed on the way can be inverted, powers included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from srh.engine.kernels import PASSING, REDUCING
from srh.engine.program import Program

Array: TypeAlias = NDArray[np.float64]

PERIODIC = frozenset({"sin", "cos", "tan", "sec", "csc", "cot"})
SUMS = frozenset({"+", "-"})

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
TRANSPARENT = (frozenset(_INVERSES) - {"exp"}) | PASSING | REDUCING


@dataclass(frozen=True, slots=True)
class Move:
    """One step of a climb through a program.

    Attributes:
        node: Where the step leads.
        name: The operation there.
        index: Which operand of it we come from.
        other: The other operand, if there is one.
    """

    node: int
    name: str
    index: int
    other: int | None


@dataclass(slots=True)
class Team:
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


class Climbs:
    """Ways up through one formula.

    Args:
        program: The formula.

    Attributes:
        program: As given.
        parents: Per node the operations that use it, each with the operand's index.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.parents: list[list[tuple[int, int]]] = [[] for _ in program.nodes]
        for position, node in enumerate(program.nodes):
            for index, arg in enumerate(node.args):
                self.parents[arg].append((position, index))

    def by_rows(self, position: int | None) -> bool:
        """Say whether a node exists and may differ from row to row."""
        return position is not None and self.program.nodes[position].by_rows

    def move(self, parent: int, index: int) -> Move:
        """Return the step up to an operation from one of its operands."""
        node = self.program.nodes[parent]
        assert node.kernel is not None  # noqa: S101 - only operations have operands
        other = node.args[1 - index] if len(node.args) == 2 else None
        return Move(parent, node.kernel.name, index, other)

    def path(self, position: int, goal: int) -> list[Move]:
        """Return a way up from one node to another that lies above it."""
        below = {goal}
        for inner in range(goal, -1, -1):
            if inner in below:
                below.update(self.program.nodes[inner].args)
        moves = []
        while position != goal:
            parent, index = next(p for p in self.parents[position] if p[0] in below)
            moves.append(self.move(parent, index))
            position = parent
        return moves

    def split(self, moves: Sequence[Move]) -> tuple[Sequence[Move], Sequence[Move]]:
        """Split a way where it first meets a factor or divisor that differs by row."""
        for index, move in enumerate(moves):
            if self.by_rows(move.other) and move.name not in SUMS:
                return moves[:index], moves[index:]
        return moves, ()

    def carry_down(
        self, team: Team, moves: Sequence[Move], wanted: Array, *, centred: bool
    ) -> Array:
        """Invert the climb: from a value at the anchor to the parameter's."""
        value = np.asarray(wanted)
        for move in reversed(moves):
            value = self._invert(team, move, value, centred=centred)
        return value if value.shape == team.here.shape else np.full(team.here.shape, value)

    def _invert(self, team: Team, move: Move, value: Array, *, centred: bool) -> Array:  # noqa: PLR0911
        name, other = move.name, move.other
        if other is None:
            inverse = _INVERSES.get(name)
            return value if inverse is None else np.asarray(inverse(value))
        here = team.here_of(other)
        if name in SUMS:
            # The rest of the sum is an offset; sizes and frequencies do not depend on it.
            return -value if name == "-" and move.index == 1 else value
        there = team.there_of(other) if centred and self.by_rows(other) else None
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

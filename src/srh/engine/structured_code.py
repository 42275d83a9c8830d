"""What a compiled structured formula is made of, besides the nodes of ``program.py``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from srh.engine.expression import Expression, Number
from srh.engine.kernels import Kernel
from srh.engine.program import Node
from srh.engine.scopes import EVERYTHING, Space

Reading: TypeAlias = Literal["node", "field", "bare"]


@dataclass(frozen=True, slots=True)
class Move(Kernel):
    """Takes values from one space to another, see ``Graph.index``."""

    source: Space = EVERYTHING
    space: Space = EVERYTHING
    at: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fold(Kernel):
    """Reduces values of a joined space to its parent."""

    op: str = "sum"
    space: Space = EVERYTHING


@dataclass(frozen=True, slots=True)
class Lag(Kernel):
    """Interpolates its first operand at a time its second operand ago."""

    delayed: Expression = field(default_factory=lambda: Number(0))
    space: Space = EVERYTHING


@dataclass(frozen=True, slots=True)
class Pick(Kernel):
    """Takes the operand whose number its last operand holds."""


@dataclass(frozen=True, slots=True)
class ColumnRead:
    """A column as a program reads it.

    Attributes:
        position: Node of the program.
        name: The column.
        space: What its last axis runs over.
        reading: One value per ``node``, per row of a relation (``field``), or as the data have it
            (``bare``).
        text: How the formula writes it.
        labels: The labels whose numbers are wanted instead of values.
    """

    position: int
    name: str
    space: Space
    reading: Reading
    text: str
    labels: tuple[object, ...] | None = None


@dataclass(frozen=True, slots=True)
class Code:
    """A compiled structured formula.

    Attributes:
        nodes: In topological order; the last one is the result.
        parameters: Names, in the order of the bits in the nodes' masks.
        spaces: All spaces that occur.
        space: Space of the result.
        columns: What is read.
        relations: Relations used, each with the number of its columns if the text tells it.
        sources: Relations whose ``sour`` has no position.
        reach: The highest position that ``sour`` has, by relation.
        delayed: Whether it looks into the past.
    """

    nodes: tuple[Node, ...]
    parameters: tuple[str, ...]
    spaces: tuple[Space, ...]
    space: Space
    columns: tuple[ColumnRead, ...]
    relations: dict[str, int | None]
    sources: tuple[str, ...]
    reach: dict[str, int]
    delayed: bool

    @property
    def uses_nodes(self) -> bool:
        """Whether the number of nodes matters."""
        return any(_runs_over_nodes(space) for space in self.spaces)


def _runs_over_nodes(space: Space) -> bool:
    if space.parent is None:
        return bool(space.indices)
    return space.relation is None or _runs_over_nodes(space.parent)

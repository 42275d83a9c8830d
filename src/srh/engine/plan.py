"""In which order and into which registers the row-wise part of a program is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from srh.engine.program import Node


@dataclass(frozen=True, slots=True)
class Plan:
    """The row-wise part of a program with a register for each intermediate result.

    Attributes:
        columns: Position and name of the columns.
        grouped: Position and name of the parameters that differ by row.
        steps: Position, function, operands (the second may be missing) and register of what is
            computed before the result.
        last: Function and operands of the result, if it is computed by row.
        registers: How many there are.
    """

    columns: tuple[tuple[int, str], ...]
    grouped: tuple[tuple[int, str], ...]
    steps: tuple[tuple[int, Callable[..., Any], int, int | None, int], ...]
    last: tuple[Callable[..., Any], tuple[int, ...]] | None
    registers: int


def make_plan(nodes: Sequence[Node]) -> Plan:
    """Assign registers; one is free again after the last step that reads it.

    Args:
        nodes: Of a program, the result last.
    """
    columns = tuple((i, node.name) for i, node in enumerate(nodes) if node.kind == "column")
    grouped = tuple(
        (i, node.name) for i, node in enumerate(nodes) if node.kind == "parameter" and node.by_rows
    )
    last_use = {arg: position for position, node in enumerate(nodes) for arg in node.args}
    register_of: dict[int, int] = {}
    free: list[int] = []
    steps = []
    count = 0
    for position, node in enumerate(nodes[:-1]):
        if node.kernel is None or not node.by_rows:
            continue
        dying = {register_of[a] for a in node.args if a in register_of and last_use[a] == position}
        # Only ufuncs may write over their own argument.
        if isinstance(node.kernel.numpy, np.ufunc):
            free.extend(sorted(dying))
            dying = set()
        if not free:
            free.append(count)
            count += 1
        register_of[position] = free.pop()
        free.extend(sorted(dying))
        second = node.args[1] if len(node.args) == 2 else None
        steps.append((position, node.kernel.numpy, node.args[0], second, register_of[position]))
    root = nodes[-1]
    last = (root.kernel.numpy, root.args) if root.kernel is not None and root.by_rows else None
    return Plan(columns, grouped, tuple(steps), last, count)

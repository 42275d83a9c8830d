"""Structured formulas: from expression and data to values, and what fitting needs of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from srh.engine.binding import bind
from srh.engine.columns import Table
from srh.engine.expression import Expression
from srh.engine.groups import expand_groups, require_values
from srh.engine.parameters import AnyParameter, Parameter, require_bound
from srh.engine.program import Program
from srh.engine.relations import Array
from srh.engine.structured import compile_structured
from srh.engine.structured_code import Code
from srh.engine.structured_data import (
    DelayResolver,
    StructuredTable,
    read_labels,
    read_source,
)
from srh.engine.structured_frame import Probe, StructuredFrame, steps_of

_BLOCK = 65_536
"""Entries of the largest intermediate result that are computed together."""


@dataclass(frozen=True)
class StructuredProgram(Program):
    """A compiled structured formula; immutable and safe to share between threads.

    Attributes:
        code: What was compiled.
    """

    code: Code
    _ends: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)
    _constants: tuple[tuple[int, Any], ...] = field(init=False, repr=False, compare=False)
    _leaves: tuple[tuple[int, int], ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        last = {arg: position for position, node in enumerate(self.nodes) for arg in node.args}
        ends = tuple(
            tuple(arg for arg in dict.fromkeys(node.args) if last[arg] == position)
            for position, node in enumerate(self.nodes)
        )
        places = {name: k for k, name in enumerate(self.parameters)}
        constants = tuple(
            (p, np.float64(node.value))
            for p, node in enumerate(self.nodes)
            if node.kind == "constant"
        )
        leaves = tuple(
            (p, places[node.name]) for p, node in enumerate(self.nodes) if node.kind == "parameter"
        )
        for name, value in (("_ends", ends), ("_constants", constants), ("_leaves", leaves)):
            object.__setattr__(self, name, value)

    def evaluate(self, table: Table, parameters: Sequence[Any], *, threads: int = 1) -> Array:
        """Compute the formula's value in every row.

        Args:
            table: From ``bind``.
            parameters: One number per name in ``self.parameters``.
            threads: Threads that share the samples; the result does not depend on it.

        Returns:
            Float64 array ``(n,)``; NaN where the formula is not defined.
        """
        table = _structured(table)
        blocks = self._blocks(table)
        if len(blocks) == 1:
            result = self._compute(table, parameters)
        else:
            result = self._run_blocks(table, parameters, blocks, threads)
        flat = result.reshape(-1)
        return flat if table.selection is None else flat[table.selection]

    def _run_blocks(
        self, table: StructuredTable, parameters: Sequence[Any], blocks: list[slice], threads: int
    ) -> Array:
        result = np.empty((table.n_samples, table.width))

        def run(block: slice) -> None:
            result[block] = self._compute(table.samples(block), parameters)

        if threads > 1:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(run, blocks))
        else:
            for block in blocks:
                run(block)
        return result

    def _blocks(self, table: StructuredTable) -> list[slice]:
        """Cut the samples so that intermediate results stay small."""
        if self.code.delayed or table.n_samples <= 1:
            return [slice(0, table.n_samples)]
        rows = max(
            table.graph.layout(space).count for space in (*self.code.spaces, self.code.space)
        )
        size = max(1, _BLOCK // max(rows, 1))
        return [slice(s, min(s + size, table.n_samples)) for s in range(0, table.n_samples, size)]

    def _compute(self, table: StructuredTable, parameters: Sequence[Any]) -> Array:
        values: list[Any] = [None] * len(self.nodes)
        for position, value in self._constants:
            values[position] = value
        for position in table.columns:
            values[position] = table.columns[position]
        for position, leaf in self._leaves:
            values[position] = np.float64(parameters[leaf])
        # Results that nobody else holds may be written over by the operation that consumes them.
        own: set[int] = set()
        with np.errstate(all="ignore"):
            for position, function, args, _ in steps_of(self, table):
                operands = [values[arg] for arg in args]
                ends = self._ends[position]
                out = None
                if ends and isinstance(function, np.ufunc):
                    out = _reusable(operands, [values[arg] for arg in ends if arg in own])
                values[position] = result = (
                    function(*operands) if out is None else function(*operands, out)
                )
                own.add(position)
                if out is None:
                    shared = [arg for arg in args if values[arg] is result]
                    if shared:
                        own.difference_update(shared, (position,))
                for arg in ends:
                    values[arg] = None
        value, shape = values[-1], (table.n_samples, table.width)
        if self.root in own and np.shape(value) == shape:
            return np.asarray(value)
        return np.array(np.broadcast_to(value, shape), np.float64)

    def frame(self, table: Table) -> Any:
        """Return the program on rows of data: ``(2, size)`` rows give a ``Probe``."""
        table = _structured(table)
        if table.selection is not None and table.selection.ndim == 2:
            return Probe(self, table)
        return StructuredFrame(self, table)

    def frames(self, table: Table) -> list[tuple[slice, Any]]:
        """Return the program on blocks of rows, which are whole samples where that can be."""
        table = _structured(table)
        blocks = self._blocks(table) if table.selection is None else [slice(0, table.n_samples)]
        if len(blocks) == 1:
            return [(slice(0, table.n_rows), self.frame(table))]
        return [
            (
                slice(block.start * table.width, block.stop * table.width),
                self.frame(table.samples(block)),
            )
            for block in blocks
        ]

    def by_row(self, table: Table, value: Any) -> Any:
        """Return a node's value in each row of the table, or None if it has other rows."""
        table = _structured(table)
        if np.ndim(value) < 2:
            return value
        if value.shape[1] not in (1, table.width):
            return None
        whole = np.broadcast_to(value, (table.n_samples, table.width)).reshape(-1)
        return whole if table.selection is None else whole[table.selection]

    def value_and_jacobian(self, table: Table, parameters: Sequence[Any]) -> tuple[Array, Array]:
        """Compute value and exact derivatives in every row, see ``Program``."""
        values = np.empty(table.n_rows)
        jacobian = np.zeros((len(self.parameters), table.n_rows))
        with np.errstate(all="ignore"):
            for rows, frame in self.frames(table):
                known = frame.forward(list(parameters))
                values[rows] = known[-1]
                for leaf, slope in frame.reverse(known, (1 << len(self.parameters)) - 1).items():
                    jacobian[leaf, rows] = slope
        return values, jacobian.T


def _reusable(operands: Sequence[Any], own: Sequence[Any]) -> Any:
    """Return one of a step's own operands that has the shape of its result."""
    for value in own:
        if np.ndim(value) == 2 and all(np.ndim(o) < 2 or o.shape == value.shape for o in operands):
            return value
    return None


def _structured(table: Table) -> StructuredTable:
    assert isinstance(table, StructuredTable)  # noqa: S101 - binding made it
    return table


@lru_cache(maxsize=64)
def structured_program(expression: Expression) -> StructuredProgram:
    """Compile a structured formula without grouped parameters."""
    code = compile_structured(expression)
    return StructuredProgram(code.nodes, code.parameters, code)


def evaluate_structured(
    expression: Expression,
    data: Any,
    *,
    threads: int = 1,
    relations: Mapping[str, Any] | None = None,
    num_nodes: int | None = None,
    time: ArrayLike | str | None = None,
    delay_resolver: DelayResolver | None = None,
) -> Array:
    """Compute a structured formula, see ``srh.engine.program.evaluate``."""
    leaves = _parameters(expression)
    require_bound(leaves)
    source = read_source(data, relations, num_nodes, time)
    labels = read_labels(leaves, source)
    if labels:
        found = {name: names for name, (names, _) in labels.items()}
        require_values(leaves, found)
        expression, _ = expand_groups(expression, found)
        leaves = _parameters(expression)
    program = structured_program(expression)
    table = bind(program.code, source, labels, delay_resolver)
    values = [leaf.value for leaf in leaves if isinstance(leaf, Parameter)]
    return program.evaluate(table, values, threads=threads).reshape(table.shape)


@lru_cache(maxsize=64)
def _parameters(expression: Expression) -> tuple[AnyParameter, ...]:
    return expression.parameters

"""Relations as integer tables, and the spaces of a formula laid out on them.

Theory of operation. A joined space (``scopes.py``) is laid out so that the rows that belong to one
row of its parent stand together. Taking values to it is then one ``take``, and reducing them to
the parent one ``reduceat`` over consecutive segments: no scattered additions, and sums always in
the same order. A graph keeps the layouts that were asked for; the few graphs used last are kept,
so that a formula evaluated again and again on one relation sorts it once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from srh.engine.scopes import EVERYTHING, Space
from srh.errors import ExpressionError

Array: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.intp]

MAX_ROWS = 20_000_000
"""Most rows that a space may have: nested reductions multiply them."""

_KEPT_GRAPHS, _KEPT_ROWS = 4, 1_000_000

_UFUNCS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
# What a reduction of nothing is: the neutral element where there is one.
_OF_NOTHING = {"sum": 0.0, "prod": 1.0, "mean": np.nan, "max": np.nan, "min": np.nan}


def read_relation(name: str, table: Any) -> Integers:
    """Return a relation's table as an array.

    Args:
        name: For messages.
        table: Integers ``(E, 2)`` or ``(H, 3)``, target first.

    Raises:
        ExpressionError: It is of another shape or type.
    """
    array = np.asarray(table)
    if array.ndim != 2 or array.shape[1] < 2:
        raise ExpressionError(
            f"relation {name!r} must be a table (E, 2) of rows (target, source), or (H, 3) of rows "
            f"(target, source1, source2); it has the shape {array.shape}"
        )
    if array.dtype.kind not in "iu":
        raise ExpressionError(
            f"relation {name!r} holds {array.dtype}; its entries are numbers of nodes: convert "
            "them with astype(int)"
        )
    return array


def check_endpoints(name: str, table: Integers, num_nodes: int) -> None:
    """Refuse a relation with an endpoint that is no node.

    Raises:
        ExpressionError: Naming the first such row.
    """
    outside = (table < 0) | (table >= num_nodes)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise ExpressionError(
            f"relation {name!r} has the endpoint {int(table[row, column])} in row {row}, but there "
            f"are {num_nodes} nodes, numbered from 0"
        )


@dataclass(frozen=True, slots=True)
class Layout:
    """A space on a graph.

    Attributes:
        count: Number of its rows.
        nodes: By index, the node of each row.
        parent: The parent's row of each row, ascending.
        table: The relation's row of each row.
        sizes: Rows of each parent row.
        starts: First row of each parent row that has any.
        filled: The parent rows that have any; None if all have.
    """

    count: int
    nodes: Mapping[str, Integers]
    parent: Integers | None = None
    table: Integers | None = None
    sizes: Integers | None = None
    starts: Integers | None = None
    filled: Integers | None = None


class Graph:
    """Relations between a number of nodes, with the spaces laid out on them so far.

    Args:
        tables: Checked tables by name.
        num_nodes: Number of nodes.
    """

    def __init__(self, tables: Mapping[str, Integers], num_nodes: int) -> None:
        self.tables, self.num_nodes = dict(tables), num_nodes
        # What others derive from the layouts, by ``id`` of what it belongs to.
        self.kept: dict[int, tuple[Any, Any]] = {}
        self._layouts: dict[Space, Layout] = {}
        self._indices: dict[tuple[Space, Space, tuple[str, ...]], Integers | None] = {}

    def layout(self, space: Space) -> Layout:
        """Return how a space is laid out.

        Raises:
            ExpressionError: It has more than ``MAX_ROWS`` rows, or the relation another number of
                columns than the formula gives it indices.
        """
        found = self._layouts.get(space)
        if found is None:
            found = self._root(space) if space.parent is None else self._joined(space)
            self._layouts[space] = found
            if found.count > _KEPT_ROWS:  # too large to be kept for later
                with suppress(ValueError):
                    _recent.remove(self)
        return found

    def _root(self, space: Space) -> Layout:
        count = self._bounded(self.num_nodes ** len(space.indices))
        shape = (self.num_nodes,) * len(space.indices)
        places = np.unravel_index(np.arange(count), shape) if shape else ()
        return Layout(count, dict(zip(space.indices, places, strict=True)))

    def _joined(self, space: Space) -> Layout:
        assert space.parent is not None  # noqa: S101 - the caller has looked
        parent = self.layout(space.parent)
        columns, height = self._columns(space)
        if space.shared:
            above = self._key(parent.nodes, space.shared, parent.count)
            below = self._key(columns, space.shared, height)
            order = np.argsort(below, kind="stable")
            ordered = below[order]
            first = np.searchsorted(ordered, above, "left")
            sizes = np.searchsorted(ordered, above, "right") - first
            total = self._bounded(int(sizes.sum()))
            ends = np.cumsum(sizes)
            within = np.arange(total) - np.repeat(ends - sizes, sizes)
            table = order[np.repeat(first, sizes) + within]
        else:
            total = self._bounded(parent.count * height)
            sizes = np.full(parent.count, height, np.intp)
            ends = np.cumsum(sizes)
            table = np.tile(np.arange(height), parent.count)
        up = np.repeat(np.arange(parent.count), sizes)
        nodes = {name: place[up] for name, place in parent.nodes.items()}
        nodes.update((name, column[table]) for name, column in columns.items())
        filled = np.flatnonzero(sizes)
        starts = (ends - sizes)[filled]
        whole = len(filled) == parent.count
        return Layout(total, nodes, up, table, sizes, starts, None if whole else filled)

    def _columns(self, space: Space) -> tuple[dict[str, Integers], int]:
        """Return what is joined: the columns of a relation, or all nodes, and their length."""
        if space.relation is None:
            everyone = self._root(Space(space.indices))
            return dict(everyone.nodes), everyone.count
        table = self.tables[space.relation]
        return dict(zip(space.indices, table.T, strict=False)), len(table)

    def _key(self, nodes: Mapping[str, Integers], names: Sequence[str], count: int) -> Integers:
        """Return one number per row that says which nodes it has at some indices."""
        self._bounded(self.num_nodes ** (len(names) - 1))  # beyond that a key might overflow
        start = np.zeros(count, np.intp)
        return reduce(lambda key, name: key * self.num_nodes + nodes[name], names, start)

    @staticmethod
    def _bounded(rows: int) -> int:
        if rows > MAX_ROWS:
            raise ExpressionError(
                f"a part of the formula would have {rows} rows; the limit is {MAX_ROWS} "
                "(MAX_ROWS). Nested reductions multiply rows: reduce over a relation, or bring "
                "what does not depend on the outer index out of the inner reduction"
            )
        return rows

    def index(self, source: Space, space: Space, at: tuple[str, ...]) -> Integers | None:
        """Return for each row of a space the row of another one that it takes its value from.

        Args:
            source: A root space, a space that ``space`` is joined to, or the rows of a relation.
            space: Where the values are wanted.
            at: For a root space the index that stands for each of its own; for a relation's rows
                the indices that they are bound to.

        Returns:
            ``(rows,)``, or None where both have the same rows.
        """
        key = (source, space, at)
        if key not in self._indices:
            self._indices[key] = self._find_index(source, space, at)
        return self._indices[key]

    def _find_index(self, source: Space, space: Space, at: tuple[str, ...]) -> Integers | None:
        layout = self.layout(space)
        same_rows = space.is_rows and source.is_rows
        if same_rows or (space.parent is None and len(space.indices) == 1):
            return None
        if source.parent is None and at:
            return self._key(layout.nodes, at, layout.count)
        place = np.arange(layout.count)
        here = space
        while here != source:
            assert here.parent is not None  # noqa: S101 - the compiler has checked
            layout = self.layout(here)
            if source.is_rows and here.relation == source.relation and at in ((), here.indices):
                assert layout.table is not None  # noqa: S101 - it is joined
                return np.asarray(layout.table[place])
            assert layout.parent is not None  # noqa: S101 - it is joined
            place = layout.parent[place]
            here = here.parent
        return place


def reduce_rows(op: str, values: Array, layout: Layout) -> Array:
    """Reduce values of a joined space to its parent.

    Args:
        op: One of ``sum mean prod max min``.
        values: ``(samples, rows)``.
        layout: Of the space.

    Returns:
        ``(samples, parent rows)``; of no rows the sum is 0, the product 1, the others NaN.
    """
    assert layout.sizes is not None  # noqa: S101 - it is joined
    assert layout.starts is not None  # noqa: S101
    ufunc, count = _UFUNCS[op], len(layout.sizes)
    if count == 1 and layout.count:
        result = ufunc.reduce(values, axis=1, keepdims=True)
    elif layout.filled is None and layout.count:
        result = ufunc.reduceat(values, layout.starts, axis=1)
    else:
        result = np.full((len(values), count), _OF_NOTHING[op])
        if layout.count:
            result[:, layout.filled] = ufunc.reduceat(values, layout.starts, axis=1)
    return np.asarray(result / layout.sizes if op == "mean" else result)


_recent: list[Graph] = []


def graph_of(tables: Mapping[str, Integers], num_nodes: int) -> Graph:
    """Return the graph of some tables, with what was laid out on it before.

    The tables are compared by content: somebody may have changed an array since.
    """
    for graph in list(_recent):
        if graph.num_nodes == num_nodes and _same_tables(graph.tables, tables):
            return graph
    for name, table in tables.items():
        check_endpoints(name, table, num_nodes)
    graph = Graph({name: np.array(table, np.intp) for name, table in tables.items()}, num_nodes)
    if sum(map(len, tables.values())) <= _KEPT_ROWS:
        _recent.insert(0, graph)
        del _recent[_KEPT_GRAPHS:]
    return graph


def _same_tables(a: Mapping[str, Integers], b: Mapping[str, Integers]) -> bool:
    return a.keys() == b.keys() and all(
        a[name].shape == b[name].shape and bool((a[name] == b[name]).all()) for name in a
    )


def rows_of(relation: str, width: int = 2) -> Space:
    """Return the space of a relation's rows, where nothing is bound to its columns."""
    return Space(tuple(str(place) for place in range(width)), EVERYTHING, relation)

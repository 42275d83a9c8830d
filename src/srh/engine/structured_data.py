"""Data of structured formulas: columns per node, per row of a relation and per sample.

Node columns are ``(..., N)``, columns of a relation ``(..., E)`` or ``(..., H)``; leading axes
broadcast like NumPy's. Inside the engine every column is ``(samples, rows)``, either axis 1 where
nothing varies along it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srh.engine.columns import Table, as_numbers, columns_of, group_rows, missing_message
from srh.engine.expression import Expression, Label
from srh.engine.names import normalise_columns, normalise_name
from srh.engine.parameters import AnyParameter, GroupedParameter
from srh.engine.relations import Array, Graph, Integers
from srh.errors import ExpressionError, MissingVariableError

Labelled: TypeAlias = Mapping[str, tuple[tuple[Label, ...], Integers]]
"""By label column its distinct labels, and in the column's shape their numbers."""


class DelayResolver(Protocol):
    """Answers what was some time ago, in place of interpolating in the data."""

    def __call__(self, delayed: Expression, lag: Array, nodes: Mapping[str, Integers]) -> ArrayLike:
        """Return the past values.

        Args:
            delayed: What stands in ``delay(delayed, lag)``.
            lag: How long ago, of any shape that broadcasts to ``(..., rows)``.
            nodes: By index of ``delayed`` the node of each row; empty for plain columns.

        Returns:
            Array that broadcasts to the result, rows last.
        """
        ...


@runtime_checkable
class StructuredData(Protocol):
    """What a context says of structured data, besides its columns.

    Attributes:
        data: Arrays by name, relations among them.
        relation_names: Which of them are relations.
        structures: By column the relation that its last axis follows.
        num_nodes: Number of nodes.
    """

    data: Mapping[str, Any]
    relation_names: Collection[str]
    structures: Mapping[str, str]
    num_nodes: int | None


@dataclass(frozen=True, slots=True)
class Source:
    """Data with their relations, from a mapping and keywords or from a context.

    Attributes:
        columns: By name in the data's spelling.
        spelling: Name in the data by normalised name.
        relations: Tables that were given as relations, by normalised name.
        structures: Relation by column, normalised names.
        num_nodes: If it was said.
        time: Of the first axis, for delays.
    """

    columns: Mapping[str, Any]
    spelling: Mapping[str, str]
    relations: Mapping[str, Any]
    structures: Mapping[str, str]
    num_nodes: int | None
    time: Array | None

    def column(self, name: str) -> Any:
        """Return a column of the data.

        Raises:
            MissingVariableError: There is none of that name.
        """
        if name not in self.spelling:
            raise MissingVariableError(missing_message([name], self.spelling))
        return self.columns[self.spelling[name]]


def read_source(
    data: Any,
    relations: Mapping[str, Any] | None = None,
    num_nodes: int | None = None,
    time: ArrayLike | str | None = None,
) -> Source:
    """Take data, relations and number of nodes out of what a caller gives.

    Args:
        data: A mapping from name to array, or a context (``StructuredData``).
        relations: Relations by name; they win over the data's.
        num_nodes: Number of nodes; wins over the context's.
        time: Times of the first axis, or the column that holds them.

    Raises:
        ExpressionError: Something is of the wrong kind, or two names are the same.
    """
    columns = columns_of(data)
    spelling = normalise_columns(columns)
    named = {} if isinstance(data, Mapping) else _of_context(data, columns)
    given = {normalise_name(name): table for name, table in (relations or {}).items()}
    nodes = num_nodes if isinstance(data, Mapping) or num_nodes is not None else _nodes_of(data)
    if nodes is not None and (
        isinstance(nodes, bool) or not isinstance(nodes, int | np.integer) or nodes < 0
    ):
        raise ExpressionError(f"num_nodes must be a whole number of nodes, not {nodes!r}")
    structures = {} if isinstance(data, Mapping) else getattr(data, "structures", None) or {}
    source = Source(
        columns,
        spelling,
        {**named, **given},
        {normalise_name(a): normalise_name(b) for a, b in structures.items() if b is not None},
        None if nodes is None else int(nodes),
        None,
    )
    return source if time is None else replace(source, time=_read_time(time, source))


def _of_context(context: Any, columns: Mapping[str, Any]) -> dict[str, Any]:
    names = getattr(context, "relation_names", None) or ()
    return {normalise_name(name): columns[name] for name in names if name in columns}


def _nodes_of(context: Any) -> Any:
    return getattr(context, "num_nodes", None)


def _read_time(time: ArrayLike | str, source: Source) -> Array:
    values = as_numbers(source.column(time) if isinstance(time, str) else time, "time")
    if values.ndim != 1 or not len(values) or not (np.diff(values) > 0).all():
        raise ExpressionError(
            "time must be one increasing number per entry of the data's first axis; it has the "
            f"shape {values.shape}"
        )
    return values


@dataclass(frozen=True, slots=True)
class StructuredTable(Table):
    """Data read for one structured formula.

    Attributes:
        graph: Relations and layouts.
        columns: Per node of the program ``(samples or 1, rows or 1)``.
        leading: Shape of the samples.
        width: Length of the result's last axis.
        connected: Whether samples depend on each other, through a delay.
        selection: Which entries of the flat result are its rows; None for all.
        time: Of the first leading axis.
        resolver: Answers delays.
    """

    graph: Graph
    columns: Mapping[int, NDArray[Any]]
    leading: tuple[int, ...]
    width: int
    time: Array | None = None
    resolver: DelayResolver | None = None
    connected: bool = False
    selection: Integers | None = None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return math.prod(self.leading)

    @property
    def history(self) -> float:
        """Time that the first axis spans."""
        return self.leading[0] - 1.0 if self.time is None else float(np.ptp(self.time))

    @property
    def sample_of_rows(self) -> Integers | None:
        """Number of each row's sample; None if there are none to choose from."""
        if self.n_samples == 1 or self.connected:
            return None
        whole = np.arange(self.n_samples * self.width)
        return (whole if self.selection is None else self.selection) // max(self.width, 1)

    def rows(self, rows: slice | NDArray[Any]) -> StructuredTable:
        """Return some of the rows, in the index's shape; samples without any are left out."""
        everyone = (
            np.arange(self.n_samples * self.width) if self.selection is None else self.selection
        )
        chosen = everyone[rows]
        used = np.unique(chosen // max(self.width, 1))
        if self.connected or len(used) == self.n_samples:
            return replace(self, selection=chosen, shape=chosen.shape, n_rows=chosen.size)
        place = np.searchsorted(used, chosen // self.width) * self.width + chosen % self.width
        part = self.samples(used)
        return replace(part, selection=place, shape=chosen.shape, n_rows=chosen.size)

    def samples(self, chosen: slice | Integers) -> StructuredTable:
        """Return some samples, with all of their rows."""
        count = len(np.arange(self.n_samples)[chosen])
        columns = {p: c[chosen] if len(c) > 1 else c for p, c in self.columns.items()}
        return replace(
            self,
            columns=columns,
            leading=(count,),
            selection=None,
            shape=(count, self.width),
            n_rows=count * self.width,
        )


def read_labels(leaves: Iterable[AnyParameter], source: Source) -> Labelled:
    """Number the labels of grouped parameters.

    Raises:
        MissingVariableError: A label column is missing.
        ExpressionError: It holds what is no label.
    """
    found = {}
    for leaf in leaves:
        if isinstance(leaf, GroupedParameter) and leaf.label not in found:
            column = np.asarray(source.column(leaf.label))
            labels, codes = group_rows(column.reshape(-1), leaf.label)
            found[leaf.label] = labels, codes.reshape(column.shape)
    return found

"""Joins a compiled structured formula to data: finds relations and nodes, checks every shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.engine.columns import as_numbers, missing_message
from srh.engine.relations import Graph, Integers, graph_of, read_relation
from srh.engine.scopes import NODE, Space
from srh.engine.structured_code import Code, ColumnRead
from srh.engine.structured_data import DelayResolver, Labelled, Source, StructuredTable
from srh.errors import ExpressionError, MissingVariableError
from srh.text import did_you_mean, one_line, plural

Values = NDArray[Any]


def bind(
    code: Code, source: Source, labels: Labelled, resolver: DelayResolver | None = None
) -> StructuredTable:
    """Read what a formula needs.

    Args:
        code: The compiled formula.
        source: The data.
        labels: From ``read_labels``.
        resolver: Answers delays instead of the data.

    Raises:
        MissingVariableError: A column is missing.
        ExpressionError: A relation is missing or wrong, the number of nodes is not known, or
            shapes do not fit.
    """
    missing = [read.name for read in code.columns if read.name not in source.spelling]
    if missing:
        raise MissingVariableError(missing_message(list(dict.fromkeys(missing)), source.spelling))
    arrays = {
        read.position: labels[read.name][1]
        if read.labels is not None
        else as_numbers(source.column(read.name), read.name)
        for read in code.columns
    }
    tables = {name: _relation(name, width, code, source) for name, width in code.relations.items()}
    num_nodes = _num_nodes(code, source, arrays, tables)
    structured = [arrays[read.position] for read in code.columns if read.reading != "bare"]
    sample_axes = max((array.ndim - 1 for array in structured), default=-1)
    reader = _Reader(source, graph_of(tables, num_nodes), sample_axes)
    pieces = {read.position: reader.read(read, arrays[read.position]) for read in code.columns}
    leading = _leading(code, pieces)
    columns = {position: _flat(piece, leading) for position, piece in pieces.items()}
    width, tail = _width(code, reader.graph)
    shape = (*leading, *tail)
    if code.delayed and resolver is None:
        _check_time(source, leading)
    return StructuredTable(
        {},
        {},
        shape,
        math.prod(shape),
        reader.graph,
        columns,
        leading,
        width,
        source.time,
        resolver,
        code.delayed,
    )


def _width(code: Code, graph: Graph) -> tuple[int, tuple[int, ...]]:
    """Return the length of the result's last axis inside the engine, and its axes outside."""
    known = graph.kept.get(id(code))
    if known is None or known[0] is not code:
        width = graph.layout(code.space).count
        root = code.space.parent is None
        tail = (graph.num_nodes,) * len(code.space.indices) if root else (width,)
        known = graph.kept[id(code)] = code, (width, tail)
    found: tuple[int, tuple[int, ...]] = known[1]
    return found


def _relation(name: str, width: int | None, code: Code, source: Source) -> Integers:
    table = source.relations.get(name)
    if table is None:
        if name not in source.spelling:
            raise MissingVariableError(_no_relation(name, source))
        table = source.column(name)
        if source.relations:
            raise ExpressionError(_no_relation(name, source))
    found = read_relation(name, table)
    columns = found.shape[1]
    if width is not None and width != columns:
        raise ExpressionError(
            f"relation {name!r} has {columns} columns, but the formula gives it {width} indices; "
            f"write {name}[{', '.join('ijklmnop'[:columns])}]"
        )
    if name in code.sources and columns > 2:
        raise ExpressionError(
            f"relation {name!r} has {columns - 1} sources in a row; say which one: sour(x, 1) to "
            f"sour(x, {columns - 1})"
        )
    if code.reach.get(name, 0) >= columns:
        raise ExpressionError(
            f"sour(…, {code.reach[name]}) does not exist in relation {name!r}, whose rows have "
            f"{plural(columns - 1, 'source')}"
        )
    return found


def _no_relation(name: str, source: Source) -> str:
    names = [*source.relations] or [n for n, c in source.columns.items() if _is_table(c)]
    known = ", ".join(map(repr, names)) or "none"
    hint = did_you_mean(name, names)
    if name in source.spelling:
        return (
            f"{name!r} is a column, not one of the relations of the data ({known}){hint}; give it "
            f"as relations={{{name!r}: …}} if it is one"
        )
    return (
        f"the data have no relation {name!r}{hint}; the relations are: {known}. A relation is an "
        f"integer table of rows (target, source): give it in the data or as "
        f"relations={{{name!r}: …}}"
    )


def _is_table(column: Any) -> bool:
    array = np.asarray(column)
    return array.ndim == 2 and array.shape[1] >= 2 and array.dtype.kind in "iu"


def _num_nodes(
    code: Code, source: Source, arrays: Mapping[int, Values], tables: Mapping[str, Integers]
) -> int:
    """Return the number of nodes: as said, or as long as the columns per node are."""
    if source.num_nodes is not None:
        return source.num_nodes
    lengths: dict[str, int] = {
        read.text: arrays[read.position].shape[-1]
        for read in code.columns
        if read.reading == "node" and arrays[read.position].ndim
    }
    lengths = lengths or {
        read.text: arrays[read.position].shape[-1]
        for read in code.columns
        if _is_per_node(read) and arrays[read.position].shape[-1:] not in ((), (1,))
    }
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{text} {length}" for text, length in lengths.items())
        raise ExpressionError(
            f"the number of nodes is not clear from the columns ({one_line(listed)}); their last "
            "axes must agree, or say num_nodes=…"
        )
    for text, length in lengths.items():
        alike = [name for name, table in tables.items() if len(table) == length > _ends(tables)]
        if alike:
            raise ExpressionError(
                f"{text} has {length} values, as many as relation {alike[0]!r} has rows: say "
                f"num_nodes={length} if they belong to nodes; values per row have all indices of "
                f"the relation, as w[i, j]"
            )
        return length
    if code.uses_nodes:
        raise ExpressionError(_nodes_unknown(code))
    return _ends(tables)


def _ends(tables: Mapping[str, Integers]) -> int:
    """Return the least number of nodes that relations can have."""
    return max((int(table.max()) + 1 for table in tables.values() if table.size), default=0)


def _nodes_unknown(code: Code) -> str:
    inside = [r for r in code.columns if r.reading == "bare" and r.space.parent is not None]
    advice = ""
    if inside:
        sugar = NODE in inside[0].space.indices
        name = inside[0].name
        advice = f"; if {name!r} has, write " + (
            f"targ({name}) or sour({name})" if sugar else f"{name}[{inside[0].space.indices[-1]}]"
        )
    return (
        "the number of nodes is not known: no column of the formula has one value per node"
        f"{advice}; else say num_nodes=… (nodes in no row of a relation count, too)"
    )


def _is_per_node(read: ColumnRead) -> bool:
    return read.space.parent is None and len(read.space.indices) == 1


class _Reader:
    """Checks columns and brings them to the space in which they are read."""

    def __init__(self, source: Source, graph: Graph, sample_axes: int) -> None:
        self._source, self.graph, self._sample_axes = source, graph, sample_axes

    def read(self, read: ColumnRead, array: Values) -> Values:
        """Return a column with the rows of its space as last axis, or 1 if it does not vary."""
        if read.name in self._source.relations:
            raise ExpressionError(
                f"{read.name!r} is a relation, not a column of values: write it as the first "
                f"argument, sum[j]({read.name}[i, j], …)"
            )
        if read.reading == "field":
            return self._field(read, array)
        if read.reading == "node":
            return self._per_node(read, array)
        return self._bare(read, array)

    def _field(self, read: ColumnRead, array: Values) -> Values:
        relation = str(read.space.relation)
        declared = self._source.structures.get(read.name)
        rows = len(self.graph.tables[relation])
        if declared is not None and declared != relation:
            raise ExpressionError(
                f"{read.text} is used with relation {relation!r}, but {read.name!r} has one value "
                f"per row of {declared!r}"
            )
        if array.ndim == 0 or array.shape[-1] != rows:
            raise ExpressionError(
                f"{read.text} needs one value per row of {relation!r} on its last axis: "
                f"(..., {rows}), not {array.shape}" + self._advice(read, array)
            )
        return array

    def _advice(self, read: ColumnRead, array: Values) -> str:
        if array.ndim == 0:
            return f"; a single number is written without indices: {read.name}"
        if array.shape[-1] == self.graph.num_nodes:
            return f"; values per node are written with one index: {read.name}[i]"
        if read.reading == "node" and read.name in self._source.structures:
            return f"; it follows relation {self._source.structures[read.name]!r}"
        return ""

    def _per_node(self, read: ColumnRead, array: Values) -> Values:
        nodes = self.graph.num_nodes
        if array.ndim == 0 or array.shape[-1] != nodes or read.name in self._source.structures:
            alike = [n for n, t in self.graph.tables.items() if array.shape[-1:] == (len(t),)]
            advice = self._advice(read, array)
            if array.ndim and alike:
                advice = (
                    f"; it is as long as relation {alike[0]!r}, whose columns are written with "
                    f"all of its indices: {read.name}[i, j]"
                )
            raise ExpressionError(
                f"{read.text} needs one value per node on its last axis: (..., {nodes}), "
                f"not {array.shape}{advice}"
            )
        return array

    def _bare(self, read: ColumnRead, array: Values) -> Values:
        space = read.space
        if not space.indices and space.parent is None:
            # Beside values per node (T, N), one value per sample may be (T,) or (T, 1).
            per_sample = array.shape[-1:] == (1,) and array.ndim == self._sample_axes + 1
            return array if per_sample else array[..., None]
        if array.ndim == 0:
            return array[None]
        if array.shape[-1] == 1:
            return array
        if space.parent is None and len(space.indices) == 1:
            if array.shape[-1] == self.graph.num_nodes:
                return array
            raise ExpressionError(self._no_fit(read, array, f"(..., {self.graph.num_nodes})"))
        return self._bare_field(read, array)

    def _bare_field(self, read: ColumnRead, array: Values) -> Values:
        """Read a column without indices between the rows of a relation."""
        space: Space | None = read.space
        while space is not None and space.relation is None:
            space = space.parent
        if space is None or space.relation is None:
            raise ExpressionError(self._no_fit(read, array, "a single number"))
        relation, nodes = space.relation, self.graph.num_nodes
        rows = len(self.graph.tables[relation])
        sugar = NODE in space.indices or read.space.is_rows
        declared = self._source.structures.get(read.name)
        if array.shape[-1] != rows or declared not in (None, relation):
            raise ExpressionError(self._no_fit(read, array, f"(..., {rows}) for {relation!r}"))
        if rows == nodes and declared is None and not sugar:
            raise ExpressionError(
                f"{read.name!r} could be values per node or per row of {relation!r}, of both there "
                f"are {rows}: write {read.name}[i] or {read.name}[i, j]"
            )
        index = self.graph.index(Space(("0", "1"), Space(), relation), read.space, ())
        return array if index is None else array[..., index]

    def _no_fit(self, read: ColumnRead, array: Values, wanted: str) -> str:
        nodes = self.graph.num_nodes
        advice = ""
        if array.shape[-1] == nodes and read.space.parent is not None:
            sugar = NODE in read.space.indices
            forms = f"targ({read.name}) or sour({read.name})" if sugar else f"{read.name}[i]"
            advice = f"; values per node are written {forms} here"
        elif read.space.parent is None:
            advice = "; one value per sample has the shape (..., 1)"
        return (
            f"the column {read.name!r} of shape {array.shape} does not fit here, where {wanted} is "
            f"needed{advice}"
        )


def _leading(code: Code, pieces: Mapping[int, Values]) -> tuple[int, ...]:
    """Return the common shape of the samples."""
    shapes = {piece.shape[:-1] for piece in pieces.values()}
    if len(shapes) == 1:
        return shapes.pop()
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        listed = ", ".join(
            f"{read.text} {pieces[read.position].shape[:-1]}" for read in code.columns
        )
        raise ExpressionError(
            f"the leading axes of the columns do not fit together: {one_line(listed)}"
        ) from error


def _flat(piece: Values, leading: tuple[int, ...]) -> Values:
    """Make one axis of the samples, of length 1 where nothing varies along it."""
    last = piece.shape[-1]
    if piece.ndim == 1 and piece.flags.c_contiguous:
        return piece.reshape(1, last)
    if piece.ndim == 1 or all(length == 1 for length in piece.shape[:-1]):
        return np.ascontiguousarray(piece).reshape(1, last)
    whole = np.ascontiguousarray(np.broadcast_to(piece, (*leading, last)))
    return whole.reshape(math.prod(leading), last)


def _check_time(source: Source, leading: tuple[int, ...]) -> None:
    if not leading:
        raise ExpressionError(
            "delay needs a history: the first axis of the data must be the time, as (T,) or (T, N)"
        )
    if source.time is not None and len(source.time) != leading[0]:
        raise ExpressionError(
            f"time has {len(source.time)} entries, the first axis of the data {leading[0]}"
        )

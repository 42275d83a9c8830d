"""Data as the engine computes with them: float64 columns of one length, and group labels as codes.

What comes in is a mapping from names to array-likes of one shape (numbers broadcast). What goes
out is a ``Table``: only the columns that an expression uses, flat and contiguous.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from srh.engine.expression import Label, Symbol, plain_label
from srh.engine.names import normalise_columns
from srh.engine.parameters import GroupedParameter
from srh.errors import ExpressionError, MissingVariableError
from srh.text import did_you_mean, one_line

if TYPE_CHECKING:
    from srh.engine.expression import Expression

Array = NDArray[np.float64]
Codes = NDArray[np.intp]
Groups = tuple[tuple[Label, ...], Codes]


@dataclass(frozen=True, slots=True)
class Table:
    """Columns of ``n`` rows.

    Attributes:
        values: Float64 arrays ``(n,)`` by column name.
        groups: Per label column its distinct labels and each row's position among them.
        shape: Shape of the data before they were made flat.
        n_rows: ``n``.
    """

    values: Mapping[str, Array]
    groups: Mapping[str, Groups]
    shape: tuple[int, ...]
    n_rows: int

    @property
    def history(self) -> float:
        """Time that the data span, where formulas look back."""
        return 0.0

    @property
    def sample_of_rows(self) -> NDArray[np.intp] | None:
        """Number of each row's sample, where rows of one sample can only be computed together."""
        return None

    def rows(self, rows: slice | NDArray[Any]) -> Table:
        """Return some of the rows, in the index's shape; the groups keep all labels."""
        values = {name: column[rows] for name, column in self.values.items()}
        groups = {name: (labels, codes[rows]) for name, (labels, codes) in self.groups.items()}
        shape = np.empty(self.n_rows, np.bool_)[rows].shape
        return Table(values, groups, shape, int(np.prod(shape)))


def read_table(expression: Expression, data: Any, num_nodes: int | None = None) -> Table:
    """Take the columns that an expression uses out of data.

    Args:
        expression: Decides which columns are read, and which of them hold group labels.
        data: A mapping from column name to array-like, or an object whose ``data`` is one.
        num_nodes: Of structured data, where a formula without columns is one value per node.

    Returns:
        The columns, broadcast to one shape and made flat.

    Raises:
        MissingVariableError: A column is missing.
        ExpressionError: A column is text or of no numeric kind, shapes differ, or a label column
            holds labels that are neither texts nor numbers.
    """
    columns = columns_of(data)
    spelling = normalise_columns(columns)
    missing = [name for name in expression.variables if name not in spelling]
    if missing:
        raise MissingVariableError(missing_message(missing, spelling))
    numeric = list(
        dict.fromkeys(n.name for n in expression.iter_preorder() if isinstance(n, Symbol))
    )
    labels = list(
        dict.fromkeys(
            leaf.label for leaf in expression.parameters if isinstance(leaf, GroupedParameter)
        )
    )
    values = {name: as_numbers(columns[spelling[name]], name) for name in numeric}
    raw = {name: np.asarray(columns[spelling[name]]) for name in labels}
    shape = _common_shape({**raw, **values} or _shaping(columns, data, num_nodes))
    flat = {
        name: np.ascontiguousarray(np.broadcast_to(column, shape)).reshape(-1)
        for name, column in values.items()
    }
    groups = {
        name: group_rows(np.broadcast_to(column, shape).reshape(-1), name)
        for name, column in raw.items()
    }
    n_rows = int(np.prod(shape, dtype=np.intp))
    return Table(flat, groups, shape, n_rows)


def columns_of(data: Any) -> Mapping[str, Any]:
    """Return the mapping of columns that data are or carry.

    Raises:
        ExpressionError: They are and carry none.
    """
    found = data if isinstance(data, Mapping) else getattr(data, "data", None)
    if not isinstance(found, Mapping):
        raise ExpressionError(
            f"data must be a mapping from column name to array, or have one as .data; "
            f"this is {type(data).__name__}"
        )
    return found


def as_numbers(column: Any, name: str) -> Array:
    """Return a column as float64.

    Raises:
        ExpressionError: It holds text or something else that is no real number.
    """
    array = np.asarray(column)
    if array.dtype == np.float64:
        return array
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    texts = array.dtype.kind in "USO" and any(isinstance(v, str) for v in array.reshape(-1)[:1000])
    if array.dtype.kind == "O" and not texts:
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            pass
    kind = "text" if texts else f"values of type {array.dtype}"
    example = one_line(str(array.reshape(-1)[0]), 30) if array.size else ""
    raise ExpressionError(
        f"column {name!r} holds {kind} (such as {example!r}) and cannot be computed with; "
        "encode it as numbers, or use it as the label of a grouped parameter"
    )


def group_rows(column: NDArray[Any], name: str) -> Groups:
    """Number the distinct labels of a column.

    Args:
        column: Texts or numbers ``(n,)``.
        name: The column's name, for messages.

    Returns:
        The labels, and each row's position among them.

    Raises:
        ExpressionError: A label is neither a text nor a finite number.
    """
    if column.dtype.kind == "O":
        found: dict[Label, int] = {}
        items = [_plain(item, name) for item in column.tolist()]
        codes = np.fromiter((found.setdefault(i, len(found)) for i in items), np.intp, len(items))
        return tuple(found), codes
    distinct, inverse = np.unique(column, return_inverse=True)
    labels = tuple(_plain(item, name) for item in distinct.tolist())
    return labels, inverse.reshape(-1).astype(np.intp)


def _plain(item: Any, name: str) -> Label:
    try:
        return plain_label(int(item) if isinstance(item, bool) else item)
    except ExpressionError as error:
        raise ExpressionError(f"column {name!r}: {error}") from error


def _shaping(
    columns: Mapping[str, Any], data: Any, num_nodes: int | None
) -> dict[str, NDArray[Any]]:
    """Return the columns whose shape a formula without columns takes on."""
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    nodes = getattr(data, "num_nodes", None) if num_nodes is None else num_nodes
    if nodes is None:
        return arrays
    relations = getattr(data, "relation_names", ())
    return {
        name: array
        for name, array in arrays.items()
        if name not in relations and array.shape[-1:] == (nodes,)
    }


def _common_shape(columns: Mapping[str, NDArray[Any]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*(column.shape for column in columns.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {column.shape}" for name, column in columns.items())
        raise ExpressionError(f"the columns have different shapes: {one_line(shapes)}") from error


def missing_message(missing: list[str], known: Mapping[str, str]) -> str:
    """Name the columns that data do not have, each with the nearest that they have."""
    named = ", ".join(f"{name!r}{did_you_mean(name, known)}" for name in missing)
    return f"the data have no column {named}; they have: {one_line(', '.join(known), 200)}"

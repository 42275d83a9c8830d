"""What a task says about its data, and the loaded table that everything else works on."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from srh.context.structured import NOTHING_STRUCTURED, Structured
from srh.errors import DataError
from srh.text import did_you_mean, one_line


class DataSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the columns of a data file are used. It holds JSON types only.

    No policy computes a statistic: what becomes of a row depends on that row alone, so rows that
    are held out later have no influence on the others. (The codes of ``categorical = "codes"``
    depend on which texts occur, never on the target.)

    Attributes:
        target: Column to be explained. Needed for CSV and for ``.npz`` with one array per column;
            in ``(X, y)`` files it names ``y``.
        features: Columns that formulas and models may use. ``None``: all but the target.
        target_kind: ``"number"``: the target is a quantity, and a text target is refused.
            ``"category"``: its distinct values, texts or numbers, are classes; the column holds
            their codes 0, 1, … k-1 (float64) and `Dataset.classes` keeps the mapping.
        units: Unit of each column, free text. Every key must be a column of the file.
        missing: What a missing value (an empty CSV cell, ``NA``, NaN) in the target or a feature
            does. ``"error"``: it is refused, naming column and row. ``"drop"``: its row is left out
            and a note says how many were. ``"keep"``: it stays NaN in numeric features; a missing
            target or label is still refused, as neither can be NaN or be scored.
        categorical: What a text column among the features does. ``"error"``: it is refused, naming
            column, row and value. ``"labels"``: the text stays, usable as the label of a grouped
            parameter only. ``"codes"``: its sorted distinct texts become 0, 1, … k-1 (float64);
            `Dataset.categories` keeps the mapping. ``"drop"``: it is no feature, unless `features`
            names it, which is refused.
    """

    target: str | None = None
    target_kind: Literal["number", "category"] = "number"
    features: list[str] | None = None
    units: dict[str, str] = {}
    missing: Literal["error", "drop", "keep"] = "error"
    categorical: Literal["error", "labels", "codes", "drop"] = "error"


@dataclass(frozen=True, eq=False)
class Dataset:
    """A loaded table: aligned columns of ``n_rows`` values. Arrays are read-only.

    Attributes:
        columns: Target and features. Each is float64 of shape ``(n_rows,)``, or object (text) where
            the feature is a label.
        target: Name of the target, a key of `columns`.
        features: Names of the features in their order, keys of `columns`.
        source_rows: int64, shape ``(n_rows,)``: 0-based position of each row in the file's data
            before rows were dropped.
        units: Unit of a column, where declared.
        categories: For each feature read as codes, its texts in the order of their codes.
        classes: Of a target of categories, its classes in the order of their codes: all texts, or
            all numbers. Empty where the target is a quantity.
        extra: Columns that are neither target nor feature. They serve partitions only (groups,
            time) and are never given to a formula or model. A missing text is ``None``.
        notes: What the reader did that a person should know, one sentence each.
        structured: Arrays of other shapes that formulas may use, relations among them.

    Raises:
        DataError: A column has not one value per row.
    """

    columns: Mapping[str, NDArray[Any]]
    target: str
    features: tuple[str, ...]
    source_rows: NDArray[np.int64]
    units: Mapping[str, str] = field(default_factory=dict)
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    classes: tuple[str, ...] | tuple[float, ...] = ()
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    structured: Structured = NOTHING_STRUCTURED

    def __post_init__(self) -> None:
        rows = _read_only(self.source_rows)
        object.__setattr__(self, "source_rows", rows)
        for group in ("columns", "extra"):
            views = {name: _read_only(column) for name, column in getattr(self, group).items()}
            for name, column in views.items():
                if column.shape != rows.shape:
                    raise DataError(
                        f"column {name!r} has shape {column.shape}; it must be {rows.shape}"
                    )
            object.__setattr__(self, group, views)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.source_rows)

    @property
    def formula_names(self) -> tuple[str, ...]:
        """Names that a formula may use: features and structured arrays."""
        return (*self.features, *self.structured.arrays)

    @property
    def X(self) -> NDArray[np.float64]:  # noqa: N802
        """Features as a new C-contiguous float64 array of shape ``(n_rows, len(features))``.

        Raises:
            DataError: A feature is a text label.
        """
        matrix = np.empty((self.n_rows, len(self.features)))
        for index, name in enumerate(self.features):
            if self.columns[name].dtype == object:
                raise DataError(
                    f"column {name!r} holds text labels, which a numeric matrix cannot: set "
                    'categorical = "codes" or leave it out of `features`'
                )
            matrix[:, index] = self.columns[name]
        return matrix

    @property
    def y(self) -> NDArray[np.float64]:
        """The target, shape ``(n_rows,)``; codes where it is one of categories."""
        return self.columns[self.target]

    def column(self, name: str) -> NDArray[Any]:
        """Return any column, whether target, feature or neither, of shape ``(n_rows,)``.

        Raises:
            DataError: There is no such column.
        """
        name = column_name(name)
        for columns in (self.columns, self.extra):
            if name in columns:
                return columns[name]
        raise no_such_column(name, [*self.columns, *self.extra])

    def take(self, rows: Sequence[int] | NDArray[Any]) -> Dataset:
        """Return the rows at ``rows`` in that order; `source_rows` follow.

        Args:
            rows: 0-based row numbers, shape ``(m,)``; repeats are allowed.

        Raises:
            DataError: Not whole numbers, or out of range.
        """
        index = row_index(rows, self.n_rows)
        return replace(
            self,
            columns={name: column[index] for name, column in self.columns.items()},
            extra={name: column[index] for name, column in self.extra.items()},
            source_rows=self.source_rows[index],
            structured=self.structured.take(index),
        )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a view that cannot be written through; the caller's array stays as it is."""
    view = array.view()
    view.flags.writeable = False
    return view


def row_index(rows: Sequence[int] | NDArray[Any], n_rows: int) -> NDArray[np.int64]:
    """Return row numbers as an int64 array, checked: NumPy would take masks and negatives.

    Raises:
        DataError: Not a flat list of whole numbers between 0 and ``n_rows - 1``.
    """
    index = np.asarray(rows)
    if index.size == 0 and index.ndim == 1:
        return np.empty(0, dtype=np.int64)
    # A list that mixes True with numbers becomes an integer array without a word.
    masked = not isinstance(rows, np.ndarray) and any(isinstance(r, (bool, np.bool_)) for r in rows)
    if index.ndim != 1 or index.dtype.kind not in "iu" or masked:
        raise DataError("rows must be a flat list of whole row numbers (not a mask, not floats)")
    low, high = index.min(), index.max()
    if low < 0 or high >= n_rows:
        wrong = low if low < 0 else high
        raise DataError(f"row {wrong} is out of range: there are {n_rows} rows, 0 to {n_rows - 1}")
    return index.astype(np.int64)


def column_name(name: str) -> str:
    """Return a column's name as formulas see it: without outer blanks, in Unicode's NFKC form.

    Python normalises the identifiers in a formula so; ``µ`` (micro) and ``μ`` (mu) are one name.
    """
    return unicodedata.normalize("NFKC", name).strip()


def no_such_column(name: str, known: Sequence[str], where: str = "") -> DataError:
    """Return the error for a column that is not there, with the nearest name and a list."""
    shown = ", ".join(repr(one_line(column, 40)) for column in known[:12])
    more = f" and {len(known) - 12} more" if len(known) > 12 else ""
    hint = did_you_mean(name, known)
    prefix = f"{where}: " if where else ""
    return DataError(f"{prefix}no column {one_line(name)!r}{hint}; columns: {shown}{more}")

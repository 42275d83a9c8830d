"""From a data file and a task's declared policies to a `Dataset`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.context.array_files import read_joblib, read_npz
from srh.context.context_table import read_context_table
from srh.context.csv_table import read_csv
from srh.context.data import Dataset, DataSpec, column_name, no_such_column
from srh.context.structured import Structured
from srh.context.table import Table, to_number
from srh.errors import DataError
from srh.text import one_line, plural

PICKLE_SUFFIXES = (".joblib", ".pkl")
_SUFFIXES = (".csv", ".npz", *PICKLE_SUFFIXES)

_MOST_CLASSES = 1000


def load_dataset(path: str | Path, spec: DataSpec | None = None) -> Dataset:
    """Load a data file, or a ``context.data`` folder, as a task declares it.

    Args:
        path: A folder with a manifest, or a ``.csv``, ``.npz``, ``.joblib`` or ``.pkl`` file. The
            last two are pickles: loading one runs what its author put in it, so take them from a
            task's author only.
        spec: Target, features and policies. ``None``: the defaults of `DataSpec`.

    Raises:
        DataError: The file cannot be read, or the data cannot be used as declared. The message
            names file, column and row: the 1-based data row and, for CSV, the line in the file.
        ContextManifestError: A folder breaks the rules of its format.
    """
    path = Path(path)
    spec = spec or DataSpec()
    return apply_policies(read_table(path, spec.target), spec)


def apply_policies(table: Table, spec: DataSpec) -> Dataset:
    """Choose target and features of a table and treat text and missing values as declared.

    Raises:
        DataError: See `load_dataset`.
    """
    if table.n_rows == 0:
        raise DataError(f"{table.where}: has no data rows")
    target, features, notes = _choose_columns(table, spec)
    used = [target, *features]
    _refuse_infinite(table, used)
    rows = _choose_rows(table, used, spec)
    notes += _row_notes(table, rows, target, spec)
    columns = {name: _rows_of(table.columns[name], rows) for name in used}
    categories: dict[str, tuple[str, ...]] = {}
    if spec.categorical == "codes":
        for name in features:
            if columns[name].dtype == object:
                columns[name], categories[name] = _codes(columns[name])
    classes: tuple[str, ...] | tuple[float, ...] = ()
    if spec.target_kind == "category":
        columns[target], classes = _classes(table, columns[target])
    extra = [name for name in table.columns if name not in columns]
    return Dataset(
        columns=columns,
        target=target,
        features=tuple(features),
        source_rows=rows,
        units=_units(table, spec),
        categories=categories,
        classes=classes,
        extra={name: _rows_of(table.columns[name], rows) for name in extra},
        notes=(*table.notes, *notes),
        structured=_structured(table, spec, used, rows),
    )


def _rows_of(column: NDArray[Any], rows: NDArray[np.int64]) -> NDArray[Any]:
    """Return some rows, ascending; all of them without a copy: a column may be a mapped file."""
    return column if len(rows) == len(column) else column[rows]


def _structured(
    table: Table, spec: DataSpec, used: list[str], rows: NDArray[np.int64]
) -> Structured:
    """Return the arrays beside the columns that formulas may use; relations always are."""
    told = table.structured
    if spec.features is not None:
        wanted = {*map(column_name, spec.features), *told.relation_names}
        arrays = {name: array for name, array in told.arrays.items() if name in wanted}
        told = replace(told, arrays=arrays, samples=told.samples & arrays.keys())
    kept = {*used, *told.arrays}
    told = replace(
        told,
        structures={name: other for name, other in told.structures.items() if name in kept},
        axes={name: axes for name, axes in told.axes.items() if name in kept},
    )
    return told if len(rows) == table.n_rows else told.take(rows)


def read_table(path: Path, target: str | None = None) -> Table:
    """Read a data file as it stands, by its suffix.

    Raises:
        DataError: The file cannot be read, or is of an unknown kind.
    """
    suffix = path.suffix.lower()
    if path.is_dir() and suffix not in _SUFFIXES:
        return read_context_table(path, target)
    if suffix == ".csv":
        return read_csv(path)
    if suffix == ".npz":
        return read_npz(path, target)
    if suffix in PICKLE_SUFFIXES:
        return read_joblib(path, target)
    raise DataError(f"{path}: unknown kind of data file; use one of {', '.join(_SUFFIXES)}")


def _choose_columns(table: Table, spec: DataSpec) -> tuple[str, list[str], list[str]]:
    """Return target, features and notes."""
    known = list(table.columns)
    if spec.target is None and table.target is None:
        shown = ", ".join(repr(one_line(name, 40)) for name in known[:12])
        raise DataError(f"{table.where}: set `target` in [data] to one of its columns: {shown}")
    target = table.target or column_name(spec.target or "")
    if target not in known:
        raise no_such_column(target, known, f"{table.where}: target")
    if table.columns[target].dtype == object and spec.target_kind == "number":
        advice = 'The target must be a column of numbers, unless target_kind = "category" in [data]'
        raise _text_error(table, target, advice)
    if spec.features is None:
        features = [name for name in known if name != target]
    else:
        features = _named_features(table, spec.features, target)
    features, notes = _treat_text(table, features, spec)
    if not features and not table.structured.arrays:
        raise DataError(f"{table.where}: no feature is left beside the target {target!r}")
    return target, features, notes


def _named_features(table: Table, names: list[str], target: str) -> list[str]:
    features: list[str] = []
    for name in map(column_name, names):
        if name in table.structured.arrays:
            continue  # see _structured
        if name not in table.columns:
            known = [*table.columns, *table.structured.arrays]
            raise no_such_column(name, known, f"{table.where}: features")
        if name == target:
            raise DataError(f"{table.where}: features: {name!r} is the target; remove it")
        if name in features:
            raise DataError(f"{table.where}: features: {name!r} is listed twice")
        features.append(name)
    return features


def _treat_text(table: Table, features: list[str], spec: DataSpec) -> tuple[list[str], list[str]]:
    """Apply the `categorical` policy to the choice of features."""
    text = [name for name in features if table.columns[name].dtype == object]
    if not text:
        return features, []
    if spec.categorical == "error" or (spec.categorical == "drop" and spec.features is not None):
        advice = (
            "List the columns of numbers in `features`, or set categorical = "
            '"labels", "codes" or "drop" in [data]'
            if spec.features is None
            else 'Remove it from `features`, or set categorical = "labels" or "codes" in [data]'
        )
        raise _text_error(table, text[0], advice)
    if spec.categorical == "drop":
        notes = [f"column {name!r} left out: {_text_summary(table, name)}" for name in text]
        return [name for name in features if name not in text], notes
    how = spec.categorical
    return features, [
        f"column {name!r} read as {how}: {_text_summary(table, name)}" for name in text
    ]


def _text_rows(table: Table, name: str) -> list[int]:
    """Return the rows of a text column that are not numbers (or, if all are, those with text)."""
    cells = table.columns[name].tolist()
    present = [row for row, cell in enumerate(cells) if cell is not None]
    return [row for row in present if to_number(cells[row]) is None] or present


def _text_summary(table: Table, name: str) -> str:
    rows = _text_rows(table, name)
    first = one_line(str(table.columns[name][rows[0]]), 40)
    return (
        f"{len(rows)} of {table.n_rows} values are text, the first in row {rows[0] + 1}: {first!r}"
    )


def _text_error(table: Table, name: str, advice: str) -> DataError:
    rows = _text_rows(table, name)
    value = str(table.columns[name][rows[0]])
    more = f" ({len(rows) - 1} more like it)" if len(rows) > 1 else ""
    what = "is not a number" if to_number(value) is None else "is stored as text"
    return DataError(
        f"{table.place(name, rows[0])}: {one_line(value, 60)!r} {what}{_hint(value)}{more}. "
        f"{advice}"
    )


def _hint(value: str) -> str:
    """Say why a text that looks like a number is none."""
    for mark, other, meaning in (
        ("_", "", "digits are not grouped with '_'"),
        ("−", "-", "write the minus as '-'"),
        (",", ".", "the decimal mark is '.'"),
        ("%", "", "write it without '%'"),
        (" ", "", "digits are not grouped with blanks"),
    ):
        if mark in value and to_number(value.replace(mark, other)) is not None:
            return f": {meaning}"
    return ""


def _refuse_infinite(table: Table, used: list[str]) -> None:
    for name in used:
        column = table.columns[name]
        if column.dtype == object:
            continue
        rows = np.flatnonzero(np.isinf(column))
        if len(rows):
            raise DataError(
                f"{table.place(name, rows[0])}: {column[rows[0]]} is not finite. "
                "Correct it, or leave it empty and set `missing`"
            )


def _row_notes(table: Table, rows: NDArray[np.int64], target: str, spec: DataSpec) -> list[str]:
    notes = []
    dropped = table.n_rows - len(rows)
    if dropped:
        notes.append(f"{plural(dropped, 'row')} dropped: missing values")
    values = table.columns[target][rows]
    if spec.target_kind == "number" and np.all(values == values[0]):
        notes.append(f"the target {target!r} is constant: r2 and correlations have no value")
    return notes


def _choose_rows(table: Table, used: list[str], spec: DataSpec) -> NDArray[np.int64]:
    """Apply the `missing` policy and return the rows that stay."""
    absent = {name: _missing(table.columns[name]) for name in used}
    if spec.missing == "drop":
        keep = ~np.logical_or.reduce(list(absent.values()))
        rows = np.flatnonzero(keep).astype(np.int64)
        if not len(rows):
            worst = max(absent, key=lambda name: int(absent[name].sum()))
            raise DataError(
                f"{table.where}: no row is left: each misses a value; column {worst!r} "
                f"misses {absent[worst].sum()} of {table.n_rows}"
            )
        return rows
    for name in used:
        numeric_feature = name != used[0] and (
            table.columns[name].dtype != object or spec.categorical == "codes"
        )
        if spec.missing == "keep" and numeric_feature:
            continue
        if absent[name].any():
            raise _missing_error(table, name, absent, spec)
    return np.arange(table.n_rows, dtype=np.int64)


def _missing_error(
    table: Table, name: str, absent: dict[str, NDArray[np.bool_]], spec: DataSpec
) -> DataError:
    row = int(np.flatnonzero(absent[name])[0])
    if spec.missing == "keep":
        advice = 'Only numeric features can keep a missing value: set missing = "drop" in [data]'
    else:
        total = sum(int(mask.sum()) for mask in absent.values())
        more = f" ({total} values are missing in all)" if total > 1 else ""
        advice = f'Set missing = "drop" or "keep" in [data], or fill it in{more}'
    return DataError(f"{table.place(name, row)}: the value is missing. {advice}")


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype == object:
        return np.array([cell is None for cell in column.tolist()], dtype=np.bool_)
    absent: NDArray[np.bool_] = np.isnan(column)
    return absent


def _codes(column: NDArray[Any]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    cells = column.tolist()
    texts = tuple(sorted({cell for cell in cells if cell is not None}))
    code = {text: float(index) for index, text in enumerate(texts)}
    return np.array([code.get(cell, np.nan) for cell in cells], dtype=np.float64), texts


def _classes(
    table: Table, column: NDArray[Any]
) -> tuple[NDArray[np.float64], tuple[str, ...] | tuple[float, ...]]:
    """Return a target's codes and the classes that they stand for."""
    codes: NDArray[np.float64]
    classes: tuple[str, ...] | tuple[float, ...]
    if column.dtype == object:
        codes, classes = _codes(column)
    else:
        values, inverse = np.unique(column, return_inverse=True)
        codes, classes = inverse.astype(np.float64), tuple(values.tolist())
    if not 2 <= len(classes) <= _MOST_CLASSES:
        raise DataError(
            f"{table.where}: the target has {len(classes)} classes; 2 to {_MOST_CLASSES} can be "
            "predicted"
        )
    return codes, classes


def _units(table: Table, spec: DataSpec) -> dict[str, str]:
    units = {column_name(name): unit for name, unit in spec.units.items()}
    known = [*table.columns, *table.structured.arrays]
    for name in units:
        if name not in known:
            raise no_such_column(name, known, f"{table.where}: units")
    return {**table.units, **units}

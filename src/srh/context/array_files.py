"""Tables kept as arrays: ``.npz`` files, and ``.joblib`` or ``.pkl`` files of ``(X, y)``."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.context.data import column_name
from srh.context.table import Table, check_names, is_missing
from srh.errors import DataError
from srh.text import did_you_mean, one_line

# Uncompressed. A small archive can claim to unpack to far more than memory holds.
MAX_ARRAY_BYTES = 4 * 2**30


def read_npz(path: Path, target: str | None) -> Table:
    """Read an ``.npz`` file of at most 4 GiB unpacked; nothing in it is unpickled.

    Two forms: arrays ``X`` of shape ``(n, p)`` or ``(n,)`` and ``y`` of shape ``(n,)``, with the p
    names in an optional array ``feature_names``; or one array of shape ``(n,)`` per column, named
    after it.

    Args:
        path: The file.
        target: The name that the task gives the target. In the first form it names ``y``.

    Raises:
        DataError: The file cannot be read, or its arrays do not make a table.
    """
    arrays = _load_npz(path)
    if {"X", "y"} <= set(arrays) <= {"X", "y", "feature_names"}:
        names = arrays.get("feature_names")
        return table_from_arrays(arrays["X"], arrays["y"], names, target, path.name)
    if target is None or "X" in arrays:
        known = ["X", "y", "feature_names"]
        wrong = [name for name in arrays if name not in known]
        hint = did_you_mean(wrong[0], known) if wrong else ""
        raise DataError(
            f"{path.name}: has the arrays {_listed(arrays)}{hint}; give X and y (and "
            "feature_names), or one array per column and set `target` in [data]"
        )
    columns = check_names(arrays, path.name)
    return _table(dict(zip(columns, arrays.values(), strict=True)), path.name)


def read_joblib(path: Path, target: str | None) -> Table:
    """Read ``(X, y)`` written by joblib or pickle.

    Unpickling runs code: such a file is as trusted as the task's author, and must never come from
    a trial. ``X`` is an array of shape ``(n, p)`` or ``(n,)``, or a data frame with named columns.

    Raises:
        DataError: The file cannot be read, or does not hold a pair that makes a table.
    """
    import joblib

    if not path.is_file():
        raise DataError(f"{path}: does not exist or is no regular file")
    try:
        content = joblib.load(path)
    except Exception as error:  # a pickle may raise anything at all
        raise DataError(
            f"{path.name}: cannot be unpickled: {type(error).__name__}: {one_line(str(error))}"
        ) from error
    if not isinstance(content, (tuple, list)) or len(content) != 2:
        raise DataError(f"{path.name}: must hold a pair (X, y), not {_shape_of(content)}")
    features, values = content
    y = _as_array(values, f"{path.name}: y")
    if hasattr(features, "columns"):
        names = check_names([str(name) for name in features.columns], path.name)
        columns = [_as_array(features[name], path.name) for name in features.columns]
        return _paired(names, columns, y, target, path.name)
    return table_from_arrays(_as_array(features, f"{path.name}: X"), y, None, target, path.name)


def table_from_arrays(
    features: NDArray[Any],
    values: NDArray[Any],
    feature_names: NDArray[Any] | None,
    target: str | None,
    where: str,
) -> Table:
    """Return the table of ``X`` and ``y``; unnamed features are called ``x0``, ``x1`` and so on.

    Raises:
        DataError: Shapes or names do not fit together.
    """
    if features.ndim == 1:
        features = features[:, np.newaxis]
    if features.ndim != 2:
        raise DataError(
            f"{where}: X has shape {features.shape}; it must be (n, p) or (n,), "
            "one row per sample (and no sparse matrix)"
        )
    width = features.shape[1]
    if feature_names is None:
        names = [f"x{index}" for index in range(width)]
    else:
        if feature_names.shape != (width,) or feature_names.dtype.kind != "U":
            raise DataError(
                f"{where}: feature_names must be {width} texts, one per column of X, "
                f"not {_shape_of(feature_names)}"
            )
        names = check_names((str(name) for name in feature_names), f"{where}: feature_names")
    return _paired(names, list(features.T), values, target, where)


def _paired(
    names: list[str],
    columns: list[NDArray[Any]],
    values: NDArray[Any],
    target: str | None,
    where: str,
) -> Table:
    notes: tuple[str, ...] = ()
    if values.ndim == 2 and values.shape[1] == 1:
        notes = (f"y has shape {values.shape}: read as ({len(values)},)",)
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"{where}: y has shape {values.shape}; it must be (n,)")
    target = "y" if target is None else column_name(target)
    if target in names:
        raise DataError(
            f"{where}: {target!r} names a feature, so it cannot name y as well; "
            "set `target` in [data] to a name of its own"
        )
    for name, column in zip(names, columns, strict=True):
        if len(column) != len(values):
            raise DataError(
                f"{where}: X has {len(column)} rows ({name!r}) and y has {len(values)}; "
                "they must be equal"
            )
    arrays = dict(zip((*names, target), (*columns, values), strict=True))
    return _table(arrays, where, target, notes)


def _table(
    arrays: dict[str, NDArray[Any]],
    where: str,
    target: str | None = None,
    notes: tuple[str, ...] = (),
) -> Table:
    """Check that arrays are columns of one length, and convert them."""
    for name, array in arrays.items():
        if array.ndim != 1:
            raise DataError(f"{where}: array {name!r} has shape {array.shape}; it must be (n,)")
    lengths = {len(array): name for name, array in arrays.items()}
    if len(lengths) > 1:
        shown = ", ".join(f"{name!r} has {length}" for length, name in sorted(lengths.items()))
        raise DataError(f"{where}: columns differ in length: {shown}")
    columns = {name: table_column(name, array, where) for name, array in arrays.items()}
    return Table(where, columns, next(iter(lengths)), target=target, notes=notes)


def table_column(name: str, array: NDArray[Any], where: str) -> NDArray[Any]:
    """Return a numeric array as float64 and a text array as object.

    Raises:
        DataError: Any other type, or integers that float64 would change.
    """
    kind = array.dtype.kind
    if kind in "iu":
        column = array.astype(np.float64)
        # float64 rounds integers beyond 2**53; beyond the integer type's range the cast back
        # is undefined, so compare as Python numbers, which is exact, where it can matter.
        for row in np.flatnonzero(np.abs(column) >= 2.0**53):
            if int(column[row]) != int(array[row]):
                raise DataError(
                    f"{where}: column {name!r}, row {row + 1}: {array[row]} is beyond 2**53 and "
                    "not exact as float64; store it as text or as a float"
                )
        return column
    if kind == "f":
        return array.astype(np.float64, copy=False)
    if kind in "UO":
        cells = [_text(name, row, cell, where) for row, cell in enumerate(array)]
        if all(cell is None for cell in cells):
            return np.full(len(cells), np.nan)
        return np.array(cells, dtype=object)
    advice = "store 0 and 1" if kind == "b" else "convert it to float64"
    raise DataError(f"{where}: column {name!r} has the type {array.dtype}; {advice}")


def _text(name: str, row: int, cell: Any, where: str) -> str | None:
    if isinstance(cell, str):
        return None if is_missing(cell.strip()) else cell.strip()
    if cell is None or (isinstance(cell, float) and np.isnan(cell)):
        return None
    raise DataError(
        f"{where}: column {name!r}, row {row + 1}: holds an object of type "
        f"{type(cell).__name__}; convert the column to float64 or to text"
    )


def _load_npz(path: Path) -> dict[str, NDArray[Any]]:
    if not path.is_file():
        raise DataError(f"{path}: does not exist or is no regular file")
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > MAX_ARRAY_BYTES:
            raise DataError(
                f"{path.name}: unpacks to {size:,} bytes, more than {MAX_ARRAY_BYTES:,}"
            )
        with np.load(path, allow_pickle=False) as arrays:
            # A member that is no array comes back as bytes.
            content = {name: np.asarray(arrays[name]) for name in arrays.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{path.name}: cannot be read as .npz without pickles: {one_line(str(error))}"
        ) from error
    if not content:
        raise DataError(f"{path.name}: holds no arrays")
    return content


def _as_array(value: Any, where: str) -> NDArray[Any]:
    try:
        return np.asarray(value)
    except (ValueError, TypeError) as error:  # rows of different lengths, say
        raise DataError(f"{where} is no array: {one_line(str(error))}") from error


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(one_line(name, 40)) for name in list(names)[:12]) or "none"


def _shape_of(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} with shape {value.shape}"
    return f"a {type(value).__name__}"

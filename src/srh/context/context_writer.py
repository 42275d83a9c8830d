"""Writing ``context.data`` folders."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from srh.context.context_data import inspect_context_data
from srh.context.csv_table import read_csv
from srh.context.data import no_such_column
from srh.context.manifest import MANIFEST, AxisSpec, VariableSpec, file_problem
from srh.context.parquet_table import read_parquet
from srh.context.table import Table
from srh.errors import DataError
from srh.text import one_line

ROWS_AXIS = "row"


def import_table(
    table: Path,
    folder: Path,
    *,
    units: Mapping[str, str] | None = None,
    descriptions: Mapping[str, str] | None = None,
) -> tuple[int, int]:
    """Write a CSV or Parquet table as a folder, each column a variable along one axis.

    Missing numbers become NaN, missing texts are empty.

    Args:
        table: A ``.csv`` or ``.parquet`` file.
        folder: The folder to make.
        units: Unit by column.
        descriptions: What a column means. Others are left empty, to be filled in the manifest.

    Returns:
        Number of rows and of columns.

    Raises:
        DataError: The table cannot be read, has no rows, or a column cannot be a file; a unit or a
            description is for no column; the folder is there already.
    """
    columns = _read_table(table)
    units, descriptions = units or {}, descriptions or {}
    for name in [*units, *descriptions]:
        if name not in columns.columns:
            raise no_such_column(name, list(columns.columns), table.name)
    variables = {
        name: VariableSpec(
            file=f"{name}.npy",
            description=descriptions.get(name, ""),
            axes=[ROWS_AXIS],
            unit=units.get(name, ""),
        )
        for name in columns.columns
    }
    axes = {ROWS_AXIS: AxisSpec(description=f"Rows of {table.name}", size=columns.n_rows)}
    arrays = {name: _plain(column) for name, column in columns.columns.items()}
    write_context_data(folder, arrays, variables, axes)
    return columns.n_rows, len(arrays)


def write_context_data(
    folder: Path,
    arrays: Mapping[str, NDArray[Any]],
    variables: Mapping[str, VariableSpec],
    axes: Mapping[str, AxisSpec],
    num_nodes: int | None = None,
) -> None:
    """Write a folder; it appears whole or not at all.

    Args:
        folder: The folder to make.
        arrays: Array of each variable, and coordinates of each axis that has a file. Where a
            variable and an axis have one name they share the file.
        variables: What the arrays are.
        axes: Their axes.
        num_nodes: Number of nodes, if there are relations.

    Raises:
        DataError: The folder is there already or cannot be made, a name cannot be that of a file,
            or what was to be written breaks the format's rules.
    """
    if folder.exists() or folder.is_symlink():
        raise DataError(f"{folder}: is there already; choose another name, or remove it")
    for name in arrays:
        wrong = file_problem(name)
        if wrong:
            raise DataError(f"{one_line(name, 60)!r} cannot be the name of a file: {wrong}")
    told = {
        "variables": {name: _told(spec) for name, spec in variables.items()},
        "axes": {name: _told(spec) for name, spec in axes.items()},
        **({} if num_nodes is None else {"num_nodes": num_nodes}),
    }
    # In the order of the table: somebody is going to fill it in.
    content = json.dumps(told, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    try:
        with tempfile.TemporaryDirectory(prefix=".context.", dir=folder.parent) as made:
            draft = Path(made) / folder.name
            draft.mkdir()
            for name, array in arrays.items():
                np.save(draft / f"{name}.npy", array, allow_pickle=False)
            (draft / MANIFEST).write_text(content, encoding="utf-8")
            errors = inspect_context_data(draft).errors
            if errors:
                raise DataError("\n".join(errors))
            draft.rename(folder)
    except OSError as error:
        raise DataError(f"{folder}: cannot be written ({error.strerror})") from error


def _read_table(path: Path) -> Table:
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".parquet"):
        raise DataError(f"{path}: unknown kind of table; use a .csv or .parquet file")
    table = read_csv(path) if suffix == ".csv" else read_parquet(path)
    if not table.n_rows:
        raise DataError(f"{path.name}: has no data rows")
    return table


def _plain(column: NDArray[Any]) -> NDArray[Any]:
    """Return a column of a table as numbers, or as texts of one width."""
    if column.dtype != object:
        return column
    return np.array(["" if cell is None else cell for cell in column.tolist()], dtype=np.str_)


def _told(spec: VariableSpec | AxisSpec) -> dict[str, Any]:
    """Return an entry without the fields that say nothing."""
    return {
        key: value
        for key, value in msgspec.structs.asdict(spec).items()
        if value is not None and (value != "" or key == "description")
    }

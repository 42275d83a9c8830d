"""Reading Parquet files, which takes the extra ``frames``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.context.array_files import table_column
from srh.context.table import Table, check_names
from srh.errors import DataError
from srh.text import one_line


def read_parquet(path: Path) -> Table:
    """Read a Parquet file of flat columns of numbers or texts.

    Raises:
        DataError: The package that reads such files is not installed; the file cannot be read, or
            a column is neither numbers nor texts.
    """
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise DataError(
            f"{path.name}: reading Parquet takes the extra `frames`: pip install 'srh[frames]'"
        ) from error
    if not path.is_file():
        raise DataError(f"{path}: does not exist or is no regular file")
    try:
        content = parquet.read_table(path)
        arrays = [column.to_numpy() for column in content.columns]
    except (ArrowException, OSError, ValueError) as error:
        raise DataError(
            f"{path.name}: cannot be read as Parquet: {one_line(str(error))}"
        ) from error
    names = check_names(content.column_names, path.name)
    if not names:
        raise DataError(f"{path.name}: has no columns")
    columns: dict[str, NDArray[Any]] = {
        name: table_column(name, np.asarray(array), path.name)
        for name, array in zip(names, arrays, strict=True)
    }
    return Table(path.name, columns, content.num_rows)

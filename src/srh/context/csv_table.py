"""Strict reading of CSV files: whatever is doubtful is refused with its line, nothing is repaired.

The format: UTF-8 (a byte-order mark is accepted), commas, one header line, then rows with exactly
as many cells, quoted as RFC 4180 has it. Blanks around a cell do not count. Decimal numbers are
read to the nearest float64. Empty rows at the end are ignored.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.context.table import Table, check_names, is_missing, to_number
from srh.errors import DataError
from srh.files import FileRefusedError, read_regular
from srh.text import one_line

# A table is held as text while it is read, at about ten times its size on disk.
MAX_CSV_BYTES = 128 * 2**20


def read_csv(path: Path) -> Table:
    """Read a CSV file of at most 128 MiB.

    Raises:
        DataError: The file cannot be read or does not follow the format; the message names the
            line.
    """
    where = path.name
    rows = _numbered_rows(_read_text(path), where)
    names = _read_header(rows, where)
    cells, lines = _read_cells(rows, len(names), where)
    empty = _strip_empty_rows(cells, lines, len(names))
    return Table(
        where=where,
        columns={name: _column(cells[start :: len(names)]) for start, name in enumerate(names)},
        n_rows=len(lines),
        lines=np.array(lines, dtype=np.int64),
        notes=(f"{empty} empty rows at the end ignored",) if empty else (),
    )


def _read_text(path: Path) -> str:
    try:
        content = read_regular(path.resolve(), MAX_CSV_BYTES)
    except FileRefusedError as error:
        raise DataError(f"{error}; a larger table belongs in an .npz file") from error
    if b"\0" in content:
        raise DataError(f"{path.name}: holds NUL bytes; save it as UTF-8 text (is it UTF-16?)")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path.name}: line {line} is not UTF-8; save the file as UTF-8") from error


def _numbered_rows(text: str, where: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the line on which it starts."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line = 1
    try:
        for row in reader:
            yield line, row
            line = reader.line_num + 1
    except csv.Error as error:
        raise DataError(f"{where}: line {line}: {one_line(str(error))}") from error


def _read_header(rows: Iterator[tuple[int, list[str]]], where: str) -> list[str]:
    _, header = next(rows, (0, None))
    if header is None:
        raise DataError(f"{where}: the file is empty; its first line must name the columns")
    if _blank(header):
        raise DataError(f"{where}: line 1 is blank; the first line must name the columns")
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        raise DataError(
            f"{where}: line 1 has one column, {one_line(header[0], 60)!r}; "
            "separate columns with commas"
        )
    return check_names(header, f"{where}: line 1")


def _read_cells(
    rows: Iterator[tuple[int, list[str]]], width: int, where: str
) -> tuple[list[str], list[int]]:
    """Return all cells, row after row, and the line on which each row starts.

    One flat list: the garbage collector would walk a list per row again and again.
    """
    cells: list[str] = []
    lines: list[int] = []
    odd: tuple[int, int] | None = None  # line and width of a blank row: is it the end?
    for line, row in rows:
        if odd is None and len(row) == width:
            cells += row
            lines.append(line)
        elif not _blank(row):
            raise _odd_row(*(odd or (line, len(row))), width, where)
        elif odd is None:
            odd = line, len(row)
    return cells, lines


def _odd_row(line: int, found: int, width: int, where: str) -> DataError:
    if found == 0:
        return DataError(f"{where}: line {line} is blank, but rows follow; remove it")
    return DataError(
        f"{where}: line {line} has {found} cells where the header has {width}; "
        "quote cells that hold commas"
    )


def _strip_empty_rows(cells: list[str], lines: list[int], width: int) -> int:
    """Remove rows of bare separators at the end, and return how many they were."""
    count = len(lines)
    while lines and _blank(cells[-width:]):
        del cells[-width:]
        lines.pop()
    return count - len(lines)


def _column(cells: list[str]) -> NDArray[Any]:
    """Return a numeric column as float64, any other as text with ``None`` for missing."""
    joined = "".join(cells)
    if joined.isascii() and "_" not in joined:
        try:
            return np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            pass  # some cell is missing or text: look at each
    stripped = [cell.strip() for cell in cells]
    numbers = [to_number(cell) for cell in stripped]
    if None not in numbers:
        return np.array(numbers, dtype=np.float64)
    return np.array([None if is_missing(cell) else cell for cell in stripped], dtype=object)


def _blank(row: list[str]) -> bool:
    return not any(cell.strip() for cell in row)

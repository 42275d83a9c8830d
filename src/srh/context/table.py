"""A file's columns as they stand in it, before a task's policies are applied."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.context.data import column_name
from srh.context.structured import NOTHING_STRUCTURED, Structured
from srh.errors import DataError
from srh.text import one_line


@dataclass(frozen=True, eq=False)
class Table:
    """Columns read from a file.

    Attributes:
        where: Name of the file, for errors.
        columns: Each of shape ``(n_rows,)``: float64 with NaN where a value is missing, or object
            holding text, with ``None`` where it is missing.
        n_rows: Number of data rows.
        lines: For text files, the line on which each row starts, 1-based.
        target: Name of the target where the format fixes it.
        notes: What a person should know about the reading.
        units: Unit of a column, where the format has it.
        structured: Arrays beside the columns.
    """

    where: str
    columns: dict[str, NDArray[Any]]
    n_rows: int
    lines: NDArray[np.int64] | None = None
    target: str | None = None
    notes: tuple[str, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    structured: Structured = NOTHING_STRUCTURED

    def place(self, column: str, row: int) -> str:
        """Say where a value stands: file, column, 1-based data row and, for text, line."""
        line = "" if self.lines is None else f" (line {self.lines[row]})"
        return f"{self.where}: column {one_line(column)!r}, row {row + 1}{line}"


def check_names(names: Iterable[str], where: str) -> list[str]:
    """Return column names in the form that formulas see, refusing what no formula could name.

    Raises:
        DataError: A name is empty, not printable, holds a backtick (formulas quote names with it),
            or is that of another column.
    """
    seen: dict[str, tuple[int, str]] = {}
    for position, raw in enumerate(names, start=1):
        name = column_name(raw)
        if not name:
            raise DataError(f"{where}: column {position} has an empty name; give it one")
        if "`" in name or len(name) > 200 or not _printable(name):
            raise DataError(
                f"{where}: column {position} is named {one_line(raw, 60)!r}; names are printable, "
                "without backticks, of at most 200 characters"
            )
        if name in seen:
            first, other = seen[name]
            alike = (
                "" if other == raw else f" ({one_line(other)!r} and {one_line(raw)!r} are alike)"
            )
            raise DataError(
                f"{where}: columns {first} and {position} are both named "
                f"{one_line(name)!r}{alike}; rename one"
            )
        seen[name] = (position, raw)
    return list(seen)


def is_missing(text: str) -> bool:
    """Return whether a stripped cell stands for a missing value: empty, ``NA``, or a NaN."""
    return text in ("", "NA") or text.lstrip("+-").lower() == "nan"


def to_number(text: str) -> float | None:
    """Return the float64 nearest to a stripped cell, NaN if it is missing, ``None`` if it is text.

    Python's ``float`` would also read ``1_000`` and the digits of other scripts; tables mean
    something else by those, so they count as text.
    """
    if is_missing(text):
        return np.nan
    if "_" in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _printable(name: str) -> bool:
    return all(unicodedata.category(char)[0] not in "CZ" or char == " " for char in name)

"""The arrays of a context, of which a view takes its rows only when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Index: TypeAlias = slice | NDArray[np.int64]


class _Rows:
    """Some rows of an array, taken on first use."""

    __slots__ = ("_index", "_source", "_taken", "shape")

    def __init__(self, source: NDArray[Any] | _Rows, index: Index, count: int) -> None:
        self.shape: tuple[int, ...] = (count, *source.shape[1:])
        self._source: NDArray[Any] | _Rows | None = source
        self._index = index
        self._taken: NDArray[Any] | None = None

    def take(self) -> NDArray[Any]:
        source = self._source
        if self._taken is None and source is not None:
            rows = _whole(source)[self._index]
            if rows.base is None:
                # Written to, a copy would not reach the original: better it cannot be.
                rows.flags.writeable = False
            self._taken, self._source = rows, None
        assert self._taken is not None  # noqa: S101 - either it was taken, or there is a source
        return self._taken


class Columns(MutableMapping[str, NDArray[Any]]):
    """Arrays by name, and how often they have been exchanged.

    A view on some rows shares its arrays with what it was taken from. Rows that follow each other
    are a slice of it; others are copied column by column, on first use, so that a formula pays for
    the columns that it names.

    Args:
        arrays: What the names stand for. It is made arrays, which copies no array.
    """

    __slots__ = ("_changes", "_entries")

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self._entries: dict[str, NDArray[Any] | _Rows] = (
            dict(arrays._entries)
            if isinstance(arrays, Columns)
            else {name: np.asarray(array) for name, array in arrays.items()}
        )
        self._changes = 0

    @property
    def changes(self) -> int:
        """How many arrays have been set or removed so far."""
        return self._changes

    def shape(self, name: str) -> tuple[int, ...]:
        """Return an array's shape, without taking its rows."""
        return self._entries[name].shape

    def take(self, rows: NDArray[np.int64], aligned: frozenset[str]) -> Columns:
        """Return a view.

        Args:
            rows: 0-based rows, shape ``(m,)``, in range.
            aligned: Names of the arrays that have these rows; the others are shared whole.
        """
        index = _as_index(rows)
        view = Columns({})
        view._entries = {
            name: _Rows(entry, index, len(rows)) if name in aligned else entry
            for name, entry in self._entries.items()
        }
        return view

    def __getitem__(self, name: str) -> NDArray[Any]:
        return _whole(self._entries[name])

    def __setitem__(self, name: str, array: Any) -> None:
        self._entries[name] = np.asarray(array)
        self._changes += 1

    def __delitem__(self, name: str) -> None:
        del self._entries[name]
        self._changes += 1

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return f"<Columns: {', '.join(self)}>"


def _whole(entry: NDArray[Any] | _Rows) -> NDArray[Any]:
    return entry.take() if isinstance(entry, _Rows) else entry


def _as_index(rows: NDArray[np.int64]) -> Index:
    """Return rows that follow each other as a slice, others as they are."""
    if rows.size and rows[-1] - rows[0] == rows.size - 1 and bool(np.all(np.diff(rows) == 1)):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows

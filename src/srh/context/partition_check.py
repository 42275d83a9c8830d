"""Row lists from outside, checked before anything is fitted on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.errors import FormatError

Partition = tuple[list[int], list[int]]
"""Training and validation rows of one fold: 0-based row numbers of the loaded `Dataset`."""

_SHOWN = 5


def check_partitions(
    partitions: Any,
    n_rows: int,
    forbidden: Sequence[int] | NDArray[Any] = (),
    where: str = "partitions",
) -> list[Partition]:
    """Return partitions as lists of plain integers, if every one can be used.

    Args:
        partitions: A list of pairs of lists (or integer arrays) of row numbers.
        n_rows: Number of rows of the data.
        forbidden: Rows that must not be used: the holdout.
        where: Name of the file or message, for errors.

    Raises:
        FormatError: With all mistakes: no partitions; a partition that is no pair; an empty list;
            rows that are booleans, not whole numbers, negative, out of range, repeated in one list,
            held out, or in training and validation at once.
    """
    if not isinstance(partitions, (list, tuple)) or not partitions:
        raise FormatError(where, ["must be a list of [[train rows], [validation rows]] pairs"])
    problems: list[str] = []
    checked: list[Partition] = []
    held_out = np.zeros(n_rows, dtype=np.bool_)
    held_out[np.asarray(forbidden, dtype=np.int64)] = True
    for number, pair in enumerate(partitions):
        name = f"[{number}]"
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            problems.append(f"{name}: must be a pair [[train rows], [validation rows]]")
            continue
        train = _check_rows(pair[0], held_out, f"{name}.train", problems)
        validation = _check_rows(pair[1], held_out, f"{name}.validation", problems)
        both = sorted(set(train) & set(validation))
        if both:
            problems.append(f"{name}: {_rows(both)} in training and in validation")
        checked.append((train, validation))
    if problems:
        raise FormatError(where, problems)
    return checked


def _check_rows(
    rows: Any, held_out: NDArray[np.bool_], name: str, problems: list[str]
) -> list[int]:
    """Return the usable rows of one list, and append what is wrong with the others."""
    if isinstance(rows, np.ndarray) and rows.ndim == 1:
        rows = rows.tolist()
    if not isinstance(rows, (list, tuple)):
        problems.append(f"{name}: must be a list of row numbers, not {type(rows).__name__}")
        return []
    if not rows:
        problems.append(f"{name}: is empty")
        return []
    whole = [int(row) for row in rows if type(row) is int or isinstance(row, np.integer)]
    if len(whole) != len(rows):
        wrong = [row for row in rows if type(row) is not int and not isinstance(row, np.integer)]
        problems.append(f"{name}: {_listed(wrong)} no whole row numbers")
    n_rows = len(held_out)
    inside = [row for row in whole if 0 <= row < n_rows]
    if len(inside) != len(whole):
        wrong = [row for row in whole if not 0 <= row < n_rows]
        problems.append(
            f"{name}: {_rows(wrong)} out of range; the data have rows 0 to {n_rows - 1}"
        )
    counts = np.bincount(np.array(inside, dtype=np.int64), minlength=n_rows)
    repeated = np.flatnonzero(counts > 1).tolist()
    if repeated:
        problems.append(f"{name}: {_rows(repeated)} listed more than once")
    used = np.flatnonzero((counts > 0) & held_out).tolist()
    if used:
        problems.append(f"{name}: {_rows(used)} held out, and never used before the final score")
    return inside


def _rows(rows: list[int]) -> str:
    return ("row " if len(rows) == 1 else "rows ") + _listed(rows)


def _listed(values: list[Any]) -> str:
    shown = ", ".join(repr(value)[:40] for value in values[:_SHOWN])
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return f"{shown}{more} {'is' if len(values) == 1 else 'are'}"

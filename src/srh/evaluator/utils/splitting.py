"""Splits into training and validation rows, as arrays of row numbers.

Each split returns two int64 arrays that share no row, hold every row together, and are both not
empty. The validation part has the rounded fraction of the rows, but at least one and at most all
but one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srh.errors import DataError

Rows = NDArray[np.int64]


def random_split(n_samples: int, validation_fraction: float, seed: int) -> tuple[Rows, Rows]:
    """Split rows at random.

    Args:
        n_samples: Number of rows.
        validation_fraction: Share of the validation rows, strictly between 0 and 1.
        seed: Equal seeds give equal splits.

    Returns:
        Training and validation rows, each in ascending order.

    Raises:
        DataError: Fewer than two rows, or a fraction that is none.
    """
    n_validation = _count_validation(n_samples, validation_fraction)
    order = np.random.default_rng(seed).permutation(n_samples)
    return _rows(np.sort(order[n_validation:])), _rows(np.sort(order[:n_validation]))


def ood_split(values: ArrayLike, validation_fraction: float) -> tuple[Rows, Rows]:
    """Hold out the upper end of a variable, so that validation asks for extrapolation.

    Rows of equal value stay together: the border lies between two different values, as near to
    the wanted fraction as it can (the lower one of two that are equally near).

    Args:
        values: The variable, finite real numbers, shape (n,).
        validation_fraction: Share of the validation rows, strictly between 0 and 1.

    Returns:
        Training and validation rows, each in ascending order.

    Raises:
        DataError: Fewer than two rows, a fraction that is none, values that are not finite
            numbers, or a constant variable.
    """
    column = _ordered_column(values, "the variable of an out-of-distribution split")
    wanted = column.size - _count_validation(column.size, validation_fraction)
    ordered = np.sort(column)
    border = _border(ordered, wanted)
    if border is None:
        raise DataError(
            "the variable of an out-of-distribution split is constant: no row lies further out "
            "than another; choose another variable"
        )
    outside = column >= ordered[border]
    return _rows(np.flatnonzero(~outside)), _rows(np.flatnonzero(outside))


def chronological_split(time: ArrayLike | int, validation_fraction: float) -> tuple[Rows, Rows]:
    """Hold out the latest rows.

    Rows of equal time stay together, as those of equal value do in `ood_split`, and in their order.

    Args:
        time: When each row was taken, finite real numbers of shape (n,); or the number of rows, if
            they are in order already.
        validation_fraction: Share of the validation rows, strictly between 0 and 1.

    Returns:
        Training and validation rows, each in order of time.

    Raises:
        DataError: Fewer than two rows, a fraction that is none, times that are not finite numbers,
            or that are all the same.
    """
    if isinstance(time, int):
        order = np.arange(time)
        border: int | None = time - _count_validation(time, validation_fraction)
    else:
        column = _ordered_column(time, "the time of a chronological split")
        order = np.argsort(column, kind="stable")
        border = _border(
            column[order], order.size - _count_validation(order.size, validation_fraction)
        )
    if border is None:
        raise DataError(
            "the time of a chronological split is the same in every row: none is later than another"
        )
    return _rows(order[:border]), _rows(order[border:])


def _count_validation(n_samples: int, fraction: float) -> int:
    if not 0 < fraction < 1:
        raise DataError(f"a validation fraction lies strictly between 0 and 1, not at {fraction}")
    if n_samples < 2:
        raise DataError(
            f"{n_samples} row cannot be split: training and validation need one each"
            if n_samples == 1
            else "no rows cannot be split: training and validation need one each"
        )
    return min(max(round(fraction * n_samples), 1), n_samples - 1)


def _border(ordered: NDArray[Any], wanted: int) -> int | None:
    """Return the border between two different values that is nearest to the wanted one."""
    borders = np.flatnonzero(ordered[1:] != ordered[:-1]) + 1
    if borders.size == 0:
        return None
    return int(borders[np.argmin(np.abs(borders - wanted))])


def _ordered_column(values: ArrayLike, what: str) -> NDArray[Any]:
    column = np.asarray(values)
    if column.ndim != 1 or column.dtype.kind not in "iuf":
        raise DataError(
            f"{what} must be a column of numbers, got shape {column.shape} of {column.dtype}"
        )
    bad = np.flatnonzero(~np.isfinite(column))
    if bad.size:
        raise DataError(f"{what} is not finite in row {bad[0]}: there is no order to split by")
    return column


def _rows(rows: NDArray[Any]) -> Rows:
    return rows.astype(np.int64)

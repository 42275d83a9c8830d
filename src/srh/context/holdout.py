"""The rows that no search, tool, agent or trial ever sees."""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from srh.errors import DataError, FormatError

# Keeps the holdout's random numbers apart from those of anything else seeded alike.
_STREAM = 0x686F6C64


class HoldoutSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which rows are held out: exactly one of three ways.

    Attributes:
        fraction: Share of the rows, drawn at random; the number is rounded to the nearest.
        rows: 0-based row numbers of the loaded data.
        last: The last so many rows as they stand, for data in the order of time.
        seed: Seed of ``fraction``, not negative.
    """

    fraction: float | None = None
    rows: list[int] | None = None
    last: int | None = None
    seed: int = 0


def holdout_problems(spec: HoldoutSpec) -> list[str]:
    """Return what is wrong with a spec before any data are read: one sentence per field."""
    problems = []
    given = [name for name in ("fraction", "rows", "last") if getattr(spec, name) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        problems.append(f"fraction: give exactly one of `fraction`, `rows`, `last`, not {found}")
    if spec.fraction is not None and not 0 < spec.fraction < 1:
        problems.append(f"fraction: is {spec.fraction}; it must lie between 0 and 1, excluded")
    if spec.rows is not None:
        if not spec.rows:
            problems.append("rows: is empty; remove [holdout] to hold nothing out")
        if len(set(spec.rows)) != len(spec.rows):
            problems.append("rows: lists a row more than once")
        if any(row < 0 for row in spec.rows):
            problems.append("rows: must not be negative")
    if spec.last is not None and spec.last < 1:
        problems.append(f"last: is {spec.last}; it must be at least 1")
    if spec.seed < 0:
        problems.append(f"seed: is {spec.seed}; it must not be negative")
    return problems


def holdout_rows(spec: HoldoutSpec | None, n_rows: int) -> NDArray[np.int64]:
    """Return the held-out rows of ``n_rows``, ascending; none without a spec.

    Raises:
        FormatError: The spec contradicts itself.
        DataError: It does not fit the data: a row out of range, no row, or every row.
    """
    if spec is None:
        return np.empty(0, dtype=np.int64)
    problems = holdout_problems(spec)
    if problems:
        raise FormatError("holdout", problems)
    if spec.rows is not None:
        rows = np.array(sorted(spec.rows), dtype=np.int64)
        if rows[-1] >= n_rows:
            raise DataError(
                f"holdout: row {rows[-1]} is out of range; the data have rows 0 to {n_rows - 1}"
            )
    else:
        count = spec.last if spec.last is not None else round((spec.fraction or 0.0) * n_rows)
        if count == 0:
            raise DataError(f"holdout: fraction = {spec.fraction} of {n_rows} rows is no row")
        rows = np.arange(n_rows)[-count:] if spec.last else _draw(count, n_rows, spec.seed)
    if len(rows) >= n_rows or (spec.last or 0) >= n_rows:
        raise DataError(f"holdout: all {n_rows} rows would be held out; leave some to develop on")
    return rows


def development_rows(spec: HoldoutSpec | None, n_rows: int) -> NDArray[np.int64]:
    """Return the rows that are not held out, ascending; errors as for `holdout_rows`."""
    return np.setdiff1d(np.arange(n_rows, dtype=np.int64), holdout_rows(spec, n_rows))


def _draw(count: int, n_rows: int, seed: int) -> NDArray[np.int64]:
    """Choose rows by sorting raw 64-bit draws.

    NumPy promises the raw stream of PCG64 for all versions, but not the results of the generator's
    methods: an upgrade must never move a row out of the holdout.
    """
    draws = np.random.PCG64(np.random.SeedSequence([_STREAM, seed])).random_raw(n_rows)
    return np.sort(np.argsort(draws, kind="stable")[:count])

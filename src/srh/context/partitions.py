"""Which rows fit and which validate: the folds of the rows that are not held out.

Everything here is deterministic: the same spec and data give the same rows. Row numbers count the
loaded `Dataset` from 0, whatever rows the reader dropped from the file.

scikit-learn is imported by the functions that need it: it takes a second, and scoring given
partitions must not pay for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from srh.context.agent_context import AgentContext, Splitter, check_split
from srh.context.data import Dataset, row_index
from srh.context.partition_check import Partition, check_partitions
from srh.context.split_options import SplitOptions
from srh.errors import DataError, FormatError
from srh.text import one_line

PartitionKind = Literal[
    "kfold", "group_kfold", "stratified", "shuffle", "chronological", "evaluator", "explicit"
]
_DEFAULT_TEST_SIZE = 0.25
_MOST_BINS = 10
_SEEDS = 2**32


class PartitionSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the rows outside the holdout are divided into training and validation rows.

    Attributes:
        kind: ``"kfold"``: `n_splits` folds of rows shuffled by `seed`. ``"group_kfold"``: folds
            that keep the rows of one `group` together. ``"stratified"``: shuffled folds in each of
            which the target is distributed alike: its values are cut at quantiles into at most ten
            bins of at least `n_splits` rows, equal values in one bin; each class of a target of
            categories is one. ``"shuffle"``: `n_splits`
            independent random divisions. ``"chronological"``: each fold trains on the past and
            validates on what follows. ``"evaluator"``: the evaluator's own split, one partition.
            ``"explicit"``: the lists in `partitions` or `file`.
        n_splits: Number of partitions of the first five kinds, at least 2.
        seed: Seed of what is random, 0 to 2**32 - 1.
        group: Column of group names or numbers.
        time: Column that orders the rows, of numbers or ISO 8601 dates; rows of equal time stay
            together. ``None``: the rows are in order as they stand. For ``"evaluator"`` it must be
            a feature, as evaluators see no other columns.
        test_size: Share of validation rows. ``"shuffle"`` and ``"evaluator"``: 0.25 if not given;
            ``"chronological"``: share of the distinct times, 1 / (n_splits + 1) if not given.
        file: JSON file of explicit partitions, which the caller reads.
        partitions: ``[[[train rows], [validation rows]], …]``.
    """

    kind: PartitionKind = "kfold"
    n_splits: int = 5
    seed: int = 0
    group: str | None = None
    time: str | None = None
    test_size: float | None = None
    file: str | None = None
    partitions: list[Any] | None = None


# The optional fields that mean something to each kind.
_FIELDS: dict[str, frozenset[str]] = {
    "kfold": frozenset(),
    "group_kfold": frozenset({"group"}),
    "stratified": frozenset(),
    "shuffle": frozenset({"test_size"}),
    "chronological": frozenset({"time", "test_size"}),
    "evaluator": frozenset({"time", "test_size"}),
    "explicit": frozenset({"file", "partitions"}),
}


def partition_problems(spec: PartitionSpec) -> list[str]:
    """Return what is wrong with a spec before any data are read: one sentence per field."""
    problems = []
    for name in ("group", "time", "test_size", "file", "partitions"):
        if getattr(spec, name) is not None and name not in _FIELDS[spec.kind]:
            problems.append(f"{name}: has no meaning for kind = {spec.kind!r}; remove it")
    if spec.kind not in ("evaluator", "explicit") and spec.n_splits < 2:
        problems.append(f"n_splits: is {spec.n_splits}; it must be at least 2")
    if not 0 <= spec.seed < _SEEDS:
        problems.append(f"seed: is {spec.seed}; it must lie between 0 and 2**32 - 1")
    if spec.test_size is not None and not 0 < spec.test_size < 1:
        problems.append(f"test_size: is {spec.test_size}; it must lie between 0 and 1, excluded")
    if spec.kind == "group_kfold" and spec.group is None:
        problems.append("group: is missing; name the column of groups")
    if spec.kind == "explicit" and (spec.file is None) == (spec.partitions is None):
        problems.append("partitions: give exactly one of `file` and `partitions`")
    return problems


def make_partitions(
    spec: PartitionSpec,
    dataset: Dataset,
    development_rows: Sequence[int] | NDArray[Any],
    *,
    evaluator: Splitter | None = None,
    explicit: Any = None,
) -> list[Partition]:
    """Divide the development rows as ``spec`` says.

    Args:
        spec: The division.
        dataset: The whole loaded data.
        development_rows: Rows of ``dataset`` that are not held out, ascending.
        evaluator: Needed by kind ``"evaluator"``; it sees the development rows only.
        explicit: Decoded content of ``spec.file``, if that is set.

    Returns:
        ``(train, validation)`` row numbers of ``dataset``, ascending; for ``"chronological"`` and
        ``"evaluator"`` in the order of time, and as the evaluator has them.

    Raises:
        FormatError: The spec contradicts itself, or partitions overlap, leave the data, or use a
            held-out row; with all such mistakes.
        DataError: The data do not allow it: too few rows or groups, a missing column or value.
    """
    problems = partition_problems(spec)
    if problems:
        raise FormatError("partitions", problems)
    rows = row_index(development_rows, dataset.n_rows)
    if spec.kind == "explicit":
        partitions = explicit if spec.partitions is None else spec.partitions
    elif spec.kind == "evaluator":
        partitions = [_evaluator_split(spec, dataset, rows, evaluator)]
    else:
        if len(rows) < 2:
            raise DataError(f"partitions: {len(rows)} row(s) cannot be divided; at least 2 needed")
        partitions = [
            (rows[train].tolist(), rows[validation].tolist())
            for train, validation in _SPLITTERS[spec.kind](spec, dataset, rows)
        ]
    held_out = np.setdiff1d(np.arange(dataset.n_rows), rows)
    return check_partitions(partitions, dataset.n_rows, forbidden=held_out)


_Fold = tuple[NDArray[np.int64], NDArray[np.int64]]


def _kfold(spec: PartitionSpec, _dataset: Dataset, rows: NDArray[np.int64]) -> Iterator[_Fold]:
    from sklearn.model_selection import KFold

    _need(spec, len(rows), "rows")
    folds = KFold(spec.n_splits, shuffle=True, random_state=spec.seed)
    yield from folds.split(rows)


def _group_kfold(spec: PartitionSpec, dataset: Dataset, rows: NDArray[np.int64]) -> Iterator[_Fold]:
    from sklearn.model_selection import GroupKFold

    values = _values(dataset, spec.group or "", rows, "group")
    code = {value: index for index, value in enumerate(dict.fromkeys(values))}
    _need(spec, len(code), f"groups in column {spec.group!r}")
    groups = np.array([code[value] for value in values])
    yield from GroupKFold(spec.n_splits).split(rows, groups=groups)


def _stratified(spec: PartitionSpec, dataset: Dataset, rows: NDArray[np.int64]) -> Iterator[_Fold]:
    from sklearn.model_selection import StratifiedKFold

    _need(spec, len(rows), "rows")
    strata = (
        _class_strata(dataset, rows, spec.n_splits)
        if dataset.classes
        else _quantile_bins(dataset.y[rows], spec.n_splits)
    )
    folds = StratifiedKFold(spec.n_splits, shuffle=True, random_state=spec.seed)
    yield from folds.split(rows, strata)


def _shuffle(spec: PartitionSpec, _dataset: Dataset, rows: NDArray[np.int64]) -> Iterator[_Fold]:
    from sklearn.model_selection import ShuffleSplit

    share = spec.test_size or _DEFAULT_TEST_SIZE
    if math.ceil(share * len(rows)) >= len(rows):
        raise DataError(
            f"partitions: test_size = {share} of {len(rows)} rows leaves no training row"
        )
    splits = ShuffleSplit(spec.n_splits, test_size=share, random_state=spec.seed)
    for train, validation in splits.split(rows):
        yield np.sort(train), np.sort(validation)


def _chronological(
    spec: PartitionSpec, dataset: Dataset, rows: NDArray[np.int64]
) -> Iterator[_Fold]:
    from sklearn.model_selection import TimeSeriesSplit

    rank, instants = _time_ranks(spec, dataset, rows)
    unit = "rows" if spec.time is None else f"distinct times in column {spec.time!r}"
    _need(spec, instants - 1, unit, spare=1)
    size = None if spec.test_size is None else max(1, round(spec.test_size * instants))
    if size is not None and size * spec.n_splits >= instants:
        raise DataError(
            f"partitions: {spec.n_splits} folds of {size} leave nothing to train on: there are "
            f"{instants} {unit}; reduce n_splits or test_size"
        )
    order = np.argsort(rank, kind="stable")
    first = np.searchsorted(rank[order], np.arange(instants + 1))
    splits = TimeSeriesSplit(spec.n_splits, test_size=size)
    for train, validation in splits.split(np.arange(instants)):
        start, end = first[validation[0]], first[validation[-1] + 1]
        yield order[: first[train[-1] + 1]], order[start:end]


_SPLITTERS = {
    "kfold": _kfold,
    "group_kfold": _group_kfold,
    "stratified": _stratified,
    "shuffle": _shuffle,
    "chronological": _chronological,
}


def _evaluator_split(
    spec: PartitionSpec, dataset: Dataset, rows: NDArray[np.int64], evaluator: Splitter | None
) -> tuple[list[int], list[int]]:
    if evaluator is None:
        raise DataError('partitions: kind = "evaluator" needs an evaluator, and none was given')
    options = SplitOptions(
        method="random" if spec.time is None else "chronological",
        validation_fraction=spec.test_size or _DEFAULT_TEST_SIZE,
        seed=spec.seed,
        time=spec.time,
    )
    root = AgentContext.from_dataset(dataset, evaluator=evaluator, args=options)
    development = root.take(rows)
    views = check_split(evaluator.split(development), evaluator, development)
    return views["train"].rows.tolist(), views["validation"].rows.tolist()


def _quantile_bins(values: NDArray[np.float64], least: int) -> NDArray[np.int64]:
    """Cut values at quantiles into as many bins as have ``least`` members each, at most ten."""
    for count in range(min(_MOST_BINS, len(values) // least), 1, -1):
        edges = np.unique(np.quantile(values, np.arange(1, count) / count))
        bins = np.searchsorted(edges, values, side="right")
        _, members = np.unique(bins, return_counts=True)
        if members.min() >= least:
            return bins
    return np.zeros(len(values), dtype=np.int64)


def _class_strata(dataset: Dataset, rows: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """Return the class of each row, if each class that occurs has ``least`` rows."""
    strata = dataset.y[rows].astype(np.int64)
    codes, members = np.unique(strata, return_counts=True)
    if members.min() < least:
        rarest = dataset.classes[codes[int(np.argmin(members))]]
        raise DataError(
            f"partitions: class {one_line(str(rarest), 40)!r} has {members.min()} rows, which "
            f"{least} folds cannot share; reduce n_splits"
        )
    return strata


def _time_ranks(
    spec: PartitionSpec, dataset: Dataset, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], int]:
    """Return each row's rank among the distinct times, and how many there are."""
    if spec.time is None:
        return np.arange(len(rows)), len(rows)
    values = _values(dataset, spec.time, rows, "time")
    if values and isinstance(values[0], str):
        values = [_instant(text, spec.time, row) for text, row in zip(values, rows, strict=True)]
    elif not np.all(np.isfinite(values)):
        raise DataError(f"partitions: time column {spec.time!r} holds a value that is not finite")
    try:
        distinct = sorted(set(values))
    except TypeError as error:
        raise DataError(
            f"partitions: time column {spec.time!r} mixes times with and without a time zone"
        ) from error
    rank = {value: index for index, value in enumerate(distinct)}
    return np.array([rank[value] for value in values]), len(distinct)


def _instant(text: str, column: str, row: int) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        raise DataError(
            f"partitions: time column {column!r}, row {row + 1} of the loaded data: "
            f"{one_line(text, 40)!r} is neither a number nor an ISO 8601 date"
        ) from error


def _values(dataset: Dataset, name: str, rows: NDArray[np.int64], role: str) -> list[Any]:
    """Return the values of a group or time column, none of which may be missing."""
    values: list[Any] = dataset.column(name)[rows].tolist()
    for row, value in zip(rows, values, strict=True):
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise DataError(
                f"partitions: {role} column {name!r}, row {row + 1} of the loaded data: "
                "the value is missing"
            )
    return values


def _need(spec: PartitionSpec, available: int, unit: str, spare: int = 0) -> None:
    if available < spec.n_splits:
        raise DataError(
            f"partitions: {spec.n_splits} folds need at least {spec.n_splits + spare} {unit}, "
            f"and there are {available + spare}; reduce n_splits"
        )

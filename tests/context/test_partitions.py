from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from srh.context import (
    AgentContext,
    Dataset,
    HoldoutSpec,
    Partition,
    PartitionSpec,
    development_rows,
    holdout_rows,
    make_partitions,
    partition_problems,
)
from srh.errors import DataError, FormatError
from srh.formats import decode

N = 40


def dataset(n: int = N, **extra: Any) -> Dataset:
    draw = np.random.default_rng(3)
    columns = {"x": draw.normal(size=n), "y": draw.exponential(size=n)}
    columns.update({name: np.array(extra.pop(name)) for name in ("y",) if name in extra})
    others = {name: np.array(values) for name, values in extra.items()}
    return Dataset(columns, "y", ("x",), np.arange(n), extra=others)


HOLDOUT = HoldoutSpec(fraction=0.2, seed=5)
GROUPS = [f"g{row % 7}" for row in range(N)]
TIMES = [float((row * 17) % 20) for row in range(N)]


class HalvingEvaluator:
    """Trains on the first half of what it is shown, validates on the second."""

    @classmethod
    def split(cls, context: AgentContext) -> Mapping[str, AgentContext]:
        half = context.n_samples // 2
        return {
            "train": context.take(np.arange(half)),
            "validation": context.take(np.arange(half, context.n_samples)),
        }


SPECS = [
    PartitionSpec(),
    PartitionSpec(kind="kfold", n_splits=2, seed=9),
    PartitionSpec(kind="group_kfold", group="group", n_splits=3),
    PartitionSpec(kind="stratified", n_splits=4, seed=1),
    PartitionSpec(kind="shuffle", n_splits=3, test_size=0.3, seed=2),
    PartitionSpec(kind="chronological", n_splits=3),
    PartitionSpec(kind="chronological", n_splits=3, time="time", test_size=0.1),
    PartitionSpec(kind="evaluator"),
]


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.kind)
def test_every_kind_keeps_off_the_holdout_and_repeats_itself(spec: PartitionSpec) -> None:
    data = dataset(group=GROUPS, time=TIMES)
    rows = development_rows(HOLDOUT, N)
    held = set(holdout_rows(HOLDOUT, N).tolist())

    def make() -> list[Partition]:
        return make_partitions(spec, data, rows, evaluator=HalvingEvaluator)

    partitions = make()
    assert partitions == make()
    assert len(partitions) == (1 if spec.kind == "evaluator" else spec.n_splits)
    for train, validation in partitions:
        assert train
        assert validation
        assert not set(train) & set(validation)
        assert not (set(train) | set(validation)) & held
        assert {type(row) for row in train + validation} == {int}
        if spec.kind != "chronological":
            assert train == sorted(train)
            assert validation == sorted(validation)


@pytest.mark.parametrize("kind", ["kfold", "group_kfold", "stratified"])
def test_folds_validate_every_development_row_once(kind: Any) -> None:
    spec = PartitionSpec(kind=kind, group="group" if kind == "group_kfold" else None)
    rows = development_rows(HOLDOUT, N)
    partitions = make_partitions(spec, dataset(group=GROUPS), rows)
    assert sorted(row for _, validation in partitions for row in validation) == rows.tolist()
    assert all(sorted(train + validation) == rows.tolist() for train, validation in partitions)


@pytest.mark.parametrize("kind", ["kfold", "stratified", "shuffle"])
def test_another_seed_gives_other_folds(kind: Any) -> None:
    one, other = (
        make_partitions(PartitionSpec(kind=kind, seed=seed), dataset(), range(N)) for seed in (0, 1)
    )
    assert one != other


@pytest.mark.parametrize("groups", [GROUPS, [row % 7 for row in range(N)]])
def test_a_group_is_never_on_both_sides(groups: list[Any]) -> None:
    spec = PartitionSpec(kind="group_kfold", group="group")
    for train, validation in make_partitions(spec, dataset(group=groups), range(N)):
        assert not {groups[row] for row in train} & {groups[row] for row in validation}


def test_strata_balance_the_target() -> None:
    target = np.arange(N) ** 3.0
    spec = PartitionSpec(kind="stratified", n_splits=4)
    for _, validation in make_partitions(spec, dataset(y=target), range(N)):
        # Ten bins of four rows, ordered by target: every fold draws one row from each.
        assert sorted(row // 4 for row in validation) == list(range(10))


@pytest.mark.parametrize("target", [[1.0] * N, [0.0] * (N - 1) + [1.0], [0.0, 1.0] * (N // 2)])
def test_strata_of_few_values_do_not_warn(target: list[float]) -> None:
    spec = PartitionSpec(kind="stratified", n_splits=4)
    partitions = make_partitions(spec, dataset(y=target), range(N))
    assert [len(validation) for _, validation in partitions] == [10] * 4


def test_the_past_trains_for_the_future_and_equal_times_stay_together() -> None:
    data = dataset(time=TIMES)
    spec = PartitionSpec(kind="chronological", n_splits=4, time="time")
    seen = 0
    for train, validation in make_partitions(spec, data, range(N)):
        past, future = ([TIMES[row] for row in part] for part in (train, validation))
        assert max(past) < min(future)
        assert past == sorted(past)
        assert future == sorted(future)
        assert len(train) > seen
        seen = len(train)
    assert len(train) + len(validation) == N


def test_equal_times_keep_the_order_of_the_file() -> None:
    spec = PartitionSpec(kind="chronological", n_splits=2, time="time")
    data = dataset(6, time=[2.0, 1.0, 3.0, 1.0, 2.0, 3.0])
    assert make_partitions(spec, data, range(6)) == [([1, 3], [0, 4]), ([1, 3, 0, 4], [2, 5])]


def test_without_a_time_column_rows_are_in_order() -> None:
    spec = PartitionSpec(kind="chronological", n_splits=2)
    assert make_partitions(spec, dataset(7), [0, 1, 3, 4, 5, 6]) == [
        ([0, 1], [3, 4]),
        ([0, 1, 3, 4], [5, 6]),
    ]


def test_dates_order_as_dates_not_as_text() -> None:
    spec = PartitionSpec(kind="chronological", n_splits=2, time="day")
    days = ["2020-01-03", "2020-01-02T23:00", "20200101"]
    assert make_partitions(spec, dataset(3, day=days), range(3)) == [([2], [1]), ([2, 1], [0])]


def test_evaluator_sees_development_rows_under_their_own_numbers() -> None:
    seen: list[AgentContext] = []

    class Watching(HalvingEvaluator):
        @classmethod
        def split(cls, context: AgentContext) -> Mapping[str, AgentContext]:
            seen.append(context)
            return super().split(context)

    spec = PartitionSpec(kind="evaluator", time="t", test_size=0.4, seed=3)
    partitions = make_partitions(spec, dataset(6), [0, 2, 3, 5], evaluator=Watching)
    assert partitions == [([0, 2], [3, 5])]
    assert seen[0].rows.tolist() == [0, 2, 3, 5]
    assert seen[0].args.method == "chronological"
    assert seen[0].args.validation_fraction == 0.4
    assert seen[0].args.seed == 3


def test_explicit_lists_from_spec_or_file() -> None:
    lists = [[[0, 1], [2]], [[2, 1], [0]]]
    inline = PartitionSpec(kind="explicit", partitions=lists)
    from_file = PartitionSpec(kind="explicit", file="folds.json")
    expected = [([0, 1], [2]), ([2, 1], [0])]
    assert make_partitions(inline, dataset(), range(N)) == expected
    assert make_partitions(from_file, dataset(), range(N), explicit=lists) == expected
    with pytest.raises(FormatError, match=r"\[0\].validation: row 2 is held out"):
        make_partitions(inline, dataset(), [0, 1])
    with pytest.raises(FormatError, match="must be a list"):
        make_partitions(from_file, dataset(), range(N))


def test_an_evaluator_that_overlaps_is_refused() -> None:
    class Overlapping:
        def split(self, context: AgentContext) -> Mapping[str, AgentContext]:
            return {"train": context, "validation": context.take([0])}

    with pytest.raises(FormatError, match="row 0 is in training and in validation"):
        make_partitions(
            PartitionSpec(kind="evaluator"), dataset(), range(N), evaluator=Overlapping()
        )


def test_spec_is_strict_and_made_of_json_types() -> None:
    spec = decode(PartitionSpec, {"kind": "explicit", "partitions": [[[0], [1]]]}, "task.toml")
    assert spec.partitions == [[[0], [1]]]
    with pytest.raises(FormatError, match="did you mean 'n_splits'"):
        decode(PartitionSpec, {"n_split": 3}, "task.toml")


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        (PartitionSpec(n_splits=1), "n_splits: is 1"),
        (PartitionSpec(seed=-1), "seed: is -1"),
        (PartitionSpec(seed=2**32), "seed: is 4294967296"),
        (PartitionSpec(group="g"), "group: has no meaning for kind = 'kfold'"),
        (PartitionSpec(kind="shuffle", test_size=1.0), "test_size: is 1.0"),
        (PartitionSpec(kind="shuffle", test_size=0.0), "test_size: is 0.0"),
        (PartitionSpec(kind="group_kfold"), "group: is missing"),
        (PartitionSpec(kind="explicit"), "exactly one of `file` and `partitions`"),
        (PartitionSpec(kind="explicit", file="a", partitions=[]), "exactly one"),
    ],
)
def test_a_contradiction_is_refused(spec: PartitionSpec, part: str) -> None:
    assert any(part in problem for problem in partition_problems(spec))
    with pytest.raises(FormatError) as caught:
        make_partitions(spec, dataset(), range(N))
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "rows", "part"),
    [
        (PartitionSpec(), range(4), "5 folds need at least 5 rows, and there are 4"),
        (PartitionSpec(kind="stratified"), range(4), "5 folds need at least 5 rows"),
        (PartitionSpec(), range(1), "1 row(s) cannot be divided"),
        (PartitionSpec(), [], "0 row(s) cannot be divided"),
        (PartitionSpec(kind="shuffle", test_size=0.9), range(3), "leaves no training row"),
        (PartitionSpec(kind="chronological"), range(5), "at least 6 rows, and there are 5"),
        (
            PartitionSpec(kind="chronological", time="time"),
            [0, 20, 1, 21, 2, 22],
            "at least 6 distinct times in column 'time', and there are 3",
        ),
        (
            PartitionSpec(kind="chronological", test_size=0.2),
            range(10),
            "5 folds of 2 leave nothing to train on",
        ),
        (PartitionSpec(kind="chronological", time="tme"), range(N), "did you mean 'time'?"),
        (PartitionSpec(kind="chronological", time="hole"), range(N), "row 2 of the loaded data"),
        (PartitionSpec(kind="chronological", time="inf"), range(N), "not finite"),
        (PartitionSpec(kind="chronological", time="zone"), range(N), "time zone"),
        (PartitionSpec(kind="chronological", time="group"), range(N), "'g0' is neither"),
        (PartitionSpec(kind="group_kfold", group="grp"), range(N), "did you mean 'group'?"),
        (PartitionSpec(kind="group_kfold", group="hole"), range(N), "'hole', row 2"),
        (PartitionSpec(kind="group_kfold", group="none"), range(N), "'none', row 2"),
        (
            PartitionSpec(kind="group_kfold", group="group", n_splits=8),
            range(N),
            "8 folds need at least 8 groups in column 'group', and there are 7",
        ),
        (PartitionSpec(kind="evaluator"), range(N), "needs an evaluator"),
        (PartitionSpec(), [True] * N, "whole row numbers"),
        (PartitionSpec(), [*range(N), N], "row 40 is out of range"),
    ],
)
def test_what_the_data_do_not_allow(spec: PartitionSpec, rows: Any, part: str) -> None:
    data = dataset(
        group=GROUPS,
        time=TIMES,
        hole=[0.0, np.nan] * (N // 2),
        inf=[np.inf] * N,
        none=np.array(["a", None] * (N // 2), dtype=object),
        zone=["2020-01-01T00:00", "2020-01-01T00:00Z"] * (N // 2),
    )
    with pytest.raises(DataError) as caught:
        make_partitions(spec, data, rows)
    assert part in str(caught.value)

"""Every split divides all rows in two, deterministically."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srh.errors import DataError
from srh.evaluator.utils import chronological_split, ood_split, random_split

fractions = st.floats(0.001, 0.999)


def assert_divides(parts, n_samples: int) -> None:
    train, validation = parts
    assert train.dtype == validation.dtype == np.int64
    assert train.size
    assert validation.size
    assert sorted([*train, *validation]) == list(range(n_samples))


@given(st.integers(2, 60), fractions, st.integers(0, 2**32))
def test_random_split_divides_the_rows(n_samples, fraction, seed):
    parts = random_split(n_samples, fraction, seed)
    assert_divides(parts, n_samples)
    assert abs(parts[1].size - fraction * n_samples) <= 1
    again = random_split(n_samples, fraction, seed)
    assert all(np.array_equal(a, b) for a, b in zip(parts, again, strict=True))


def test_random_split_depends_on_its_seed_and_is_sorted():
    splits = [random_split(100, 0.2, seed) for seed in range(5)]
    assert len({tuple(validation) for _, validation in splits}) == 5
    assert all(np.all(np.diff(part) > 0) for split in splits for part in split)
    assert [split[1].size for split in splits] == [20] * 5


@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=40).filter(lambda v: len(set(v)) > 1),
    fractions,
)
def test_ood_split_holds_out_larger_values_only(values, fraction):
    train, validation = ood_split(values, fraction)
    assert_divides((train, validation), len(values))
    column = np.array(values)
    assert column[train].max() < column[validation].min()


def test_ood_split_takes_the_upper_end():
    train, validation = ood_split([5.0, 1.0, 4.0, 2.0, 3.0], 0.4)
    assert train.tolist() == [1, 3, 4]
    assert validation.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("values", "held_out"),
    [([1, 2, 2, 2, 2, 3], 1), ([1, 2, 3, 3, 3, 3], 4), ([1, 1, 1, 1, 1, 2], 1)],
)
def test_ood_split_keeps_equal_values_together(values, held_out):
    assert ood_split(values, 1 / 3)[1].size == held_out


def test_chronological_split_holds_out_the_latest_rows_in_order_of_time():
    train, validation = chronological_split([30.0, 10.0, 20.0, 50.0, 40.0], 0.4)
    assert train.tolist() == [1, 2, 0]
    assert validation.tolist() == [4, 3]


def test_chronological_split_of_rows_in_order():
    train, validation = chronological_split(5, 0.2)
    assert (train.tolist(), validation.tolist()) == ([0, 1, 2, 3], [4])


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=40).filter(lambda v: len(set(v)) > 1),
    fractions,
)
def test_chronological_split_divides_the_rows(times, fraction):
    train, validation = chronological_split(times, fraction)
    assert_divides((train, validation), len(times))
    assert max(times[i] for i in train) < min(times[i] for i in validation)
    order = [*train, *validation]
    assert [(times[i], i) for i in order] == sorted((t, i) for i, t in enumerate(times))


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.5, float("nan"), 2])
def test_a_fraction_lies_between_0_and_1(fraction):
    for split in (
        lambda: random_split(10, fraction, 0),
        lambda: ood_split(range(10), fraction),
        lambda: chronological_split(10, fraction),
    ):
        with pytest.raises(DataError, match="strictly between 0 and 1"):
            split()


@pytest.mark.parametrize("n_samples", [0, 1])
def test_too_few_rows(n_samples):
    for split in (
        lambda: random_split(n_samples, 0.5, 0),
        lambda: ood_split(np.ones(n_samples), 0.5),
        lambda: chronological_split(n_samples, 0.5),
    ):
        with pytest.raises(DataError, match="cannot be split"):
            split()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 1.0, 1.0], "constant"),
        ([1.0, float("nan"), 2.0], "row 1"),
        (["a", "b", "c"], "numbers"),
        ([[1.0], [2.0], [3.0]], "shape"),
    ],
)
def test_ood_split_refuses_variables_without_order(values, message):
    with pytest.raises(DataError, match=message):
        ood_split(values, 0.5)


def test_chronological_split_refuses_times_without_order():
    with pytest.raises(DataError, match="row 0"):
        chronological_split([float("nan"), 1.0], 0.5)
    with pytest.raises(DataError, match="the same in every row"):
        chronological_split([2.0, 2.0, 2.0], 0.5)

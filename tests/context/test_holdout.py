from __future__ import annotations

import numpy as np
import pytest

from srh.context import HoldoutSpec, development_rows, holdout_problems, holdout_rows
from srh.errors import DataError, FormatError


def test_no_spec_holds_nothing_out() -> None:
    assert holdout_rows(None, 3).tolist() == []
    assert development_rows(None, 3).tolist() == [0, 1, 2]


def test_fraction_is_pinned_to_its_seed() -> None:
    # Literal rows: whatever version of NumPy draws them, these rows stay held out.
    pinned = [2, 8, 10]
    assert holdout_rows(HoldoutSpec(fraction=0.25, seed=0), 12).tolist() == pinned
    assert holdout_rows(HoldoutSpec(fraction=0.25, seed=1), 12).tolist() != pinned


@pytest.mark.parametrize("n_rows", [5, 24, 1000])
def test_fraction_and_development_divide_the_rows(n_rows: int) -> None:
    spec = HoldoutSpec(fraction=0.2, seed=7)
    held, rest = holdout_rows(spec, n_rows), development_rows(spec, n_rows)
    assert len(held) == round(0.2 * n_rows)
    assert held.dtype == np.int64
    assert sorted([*held, *rest]) == list(range(n_rows))
    assert held.tolist() == sorted(set(held.tolist()))


def test_fraction_draws_from_everywhere() -> None:
    counts = np.zeros(10)
    for seed in range(2000):
        counts[holdout_rows(HoldoutSpec(fraction=0.3, seed=seed), 10)] += 1
    assert np.all(np.abs(counts - 600) < 5 * np.sqrt(2000 * 0.3 * 0.7))


def test_rows_and_last() -> None:
    assert holdout_rows(HoldoutSpec(rows=[4, 1]), 5).tolist() == [1, 4]
    assert holdout_rows(HoldoutSpec(last=2), 5).tolist() == [3, 4]


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        (HoldoutSpec(), "exactly one of `fraction`, `rows`, `last`, not none"),
        (HoldoutSpec(fraction=0.1, last=1), "not fraction and last"),
        (HoldoutSpec(fraction=0.0), "fraction: is 0.0"),
        (HoldoutSpec(fraction=1.0), "fraction: is 1.0"),
        (HoldoutSpec(rows=[]), "rows: is empty"),
        (HoldoutSpec(rows=[1, 1]), "more than once"),
        (HoldoutSpec(rows=[-1]), "negative"),
        (HoldoutSpec(last=0), "last: is 0"),
        (HoldoutSpec(fraction=0.5, seed=-1), "seed: is -1"),
    ],
)
def test_a_contradiction_is_refused(spec: HoldoutSpec, part: str) -> None:
    assert any(part in problem for problem in holdout_problems(spec))
    with pytest.raises(FormatError) as caught:
        holdout_rows(spec, 10)
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        (HoldoutSpec(fraction=0.1), "of 3 rows is no row"),
        (HoldoutSpec(fraction=0.9), "all 3 rows"),
        (HoldoutSpec(last=3), "all 3 rows"),
        (HoldoutSpec(last=30), "all 3 rows"),
        (HoldoutSpec(rows=[0, 1, 2]), "all 3 rows"),
        (HoldoutSpec(rows=[3]), "row 3 is out of range; the data have rows 0 to 2"),
    ],
)
def test_what_does_not_fit_the_data(spec: HoldoutSpec, part: str) -> None:
    with pytest.raises(DataError) as caught:
        holdout_rows(spec, 3)
    assert part in str(caught.value)

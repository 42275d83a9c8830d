from __future__ import annotations

import math

import pytest
from scipy import stats

from srh.report.compare_text import sentence
from srh.report.paired import compare_folds

SIZES = [(80, 20)] * 5


def compare(before, after, sizes=SIZES, direction="minimize"):
    return compare_folds("rmse", direction, before, after, sizes)


def test_the_interval_is_the_corrected_resampled_one():
    before = [1.0, 2.0, 3.0, 4.0, 5.0]
    after = [0.9, 1.7, 2.9, 3.6, 4.9]
    differences = [b - a for a, b in zip(before, after, strict=True)]
    mean = sum(differences) / 5
    variance = sum((d - mean) ** 2 for d in differences) / 4
    half = stats.t.ppf(0.975, 4) * math.sqrt(variance * (1 / 5 + 20 / 80))
    found = compare(before, after)
    assert found.mean == pytest.approx(mean, rel=1e-12)
    assert found.low == pytest.approx(mean - half, rel=1e-9)
    assert found.high == pytest.approx(mean + half, rel=1e-9)
    # The uncorrected interval is narrower by sqrt(0.2 / 0.45): it would have called this better.
    assert found.verdict == "not distinguishable"
    assert mean + stats.t.ppf(0.975, 4) * math.sqrt(variance / 5) < 0


def test_folds_of_unequal_size_count_with_their_own_share():
    before, after = [1.0, 2.0, 3.0], [1.5, 2.2, 3.9]
    found = compare(before, after, sizes=[(10, 5), (12, 3), (14, 1)])
    spread = stats.tstd([0.5, 0.2, 0.9])
    share = (5 / 10 + 3 / 12 + 1 / 14) / 3
    half = stats.t.ppf(0.975, 2) * spread * math.sqrt(1 / 3 + share)
    assert found.high - found.mean == pytest.approx(half, rel=1e-9)


@pytest.mark.parametrize(("direction", "verdict"), [("minimize", "better"), ("maximize", "worse")])
def test_the_direction_decides_what_a_difference_means(direction, verdict):
    found = compare([1.0, 1.1, 0.9, 1.0, 1.0], [0.1, 0.2, 0.11, 0.1, 0.12], direction=direction)
    assert found.verdict == verdict
    assert found.high < 0
    text = sentence(found, "A", "B")
    assert text.startswith(f"B is {verdict} than A on rmse: the mean difference over 5 folds is -")


def test_identical_on_every_fold():
    found = compare([1.0, 2.0, 0.0, 4.0, 5.0], [1.0, 2.0, -0.0, 4.0, 5.0])
    assert found.verdict == "identical"
    assert found.low is None
    assert sentence(found, "A", "B") == "B and A are identical on rmse, on every fold"


def test_without_spread_the_difference_speaks_for_itself():
    found = compare([3.0] * 5, [5.0] * 5)
    assert (found.verdict, found.low, found.high) == ("worse", 2.0, 2.0)
    assert sentence(found, "A", "B").endswith("the difference is +2 on every fold, without spread")


def test_rounding_is_no_difference():
    before = [1.0, 2.0, 3.0, 4.0, 5.0]
    found = compare(before, [value * (1 - 4e-16) for value in before])
    assert any(found.differences)
    assert found.verdict == "not distinguishable"
    assert "rounding only" in sentence(found, "A", "B")


def test_one_fold_has_no_interval():
    found = compare([1.0], [0.5], sizes=[(80, 20)])
    assert (found.verdict, found.low, found.mean) == ("no verdict", None, -0.5)
    assert "one fold only" in sentence(found, "A", "B")


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ([1.0, 1.0, 1.0], [0.1, None, None], "it has no value in folds 1, 2"),
        ([1.0, None, 1.0], [0.1, 0.1, 0.1], "the baseline has no value in fold 1"),
        ([1.0, 1.0], [0.1], "2 folds cannot be paired with 1"),
        ([1.0, 1.0], [], "it has no scores"),
        ([], [1.0, 1.0], "the baseline has no scores"),
        ([1e308, 1.0], [-1e308, 1.0], "too large"),
        ([0.0, 0.0, 0.0], [1e308, -1e308, 1e308], "too large"),
    ],
)
def test_folds_that_worked_make_no_verdict(before, after, reason):
    found = compare(before, after, sizes=[(8, 4)] * max(len(before), len(after)))
    assert found.verdict == "no verdict"
    assert reason in found.reason
    assert found.low is None
    numbers = [found.mean, *found.differences]
    assert all(value is None or math.isfinite(value) for value in numbers)

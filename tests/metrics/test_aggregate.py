"""Folds become one number, or the reason why there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from srh.errors import MetricError
from srh.metrics import Aggregate, Score, aggregate


def scored(*values):
    return [Score.scored("r2", value) for value in values]


@pytest.mark.parametrize(
    ("how", "values", "expected"),
    [
        ("mean", [1.0, 2.0, 6.0], 3.0),
        ("mean", [1.7e308, 1.7e308], 1.7e308),
        ("mean", [1e16, 1.0, -1e16], 1 / 3),
        ("median", [5.0, 1.0, 2.0], 2.0),
        ("median", [5.0, 1.0, 2.0, 4.0], 3.0),
        ("min", [5.0, 1.0, 2.0], 1.0),
        ("max", [5.0, 1.0, 2.0], 5.0),
        ("mean", [0.25], 0.25),
    ],
)
def test_complete_folds(how, values, expected):
    n = len(values)
    assert aggregate(scored(*values), how) == Aggregate(expected, "scored", None, n, n)


def test_one_missing_fold_leaves_no_value():
    scores = scored(1.0, 1.0, 1.0)
    scores[1] = Score.non_evaluable("r2", "constant_target", "every target is 1")
    assert aggregate(scores) == Aggregate(
        None,
        "non_evaluable",
        "constant_target: fold 1: every target is 1",
        2,
        3,
        reasons={"constant_target": 1},
    )


def test_the_gravest_fold_gives_the_status_and_comes_first():
    scores = [
        *scored(1.0),
        Score.non_evaluable("r2", "constant_target", "same"),
        Score.blocked("r2", "no_evidence", "none came"),
        Score.error("r2", "non_finite_prediction", "3 of 4"),
        Score.error("r2", "late", "too late"),
    ]
    combined = aggregate(scores)
    assert (combined.value, combined.status) == (None, "error")
    assert (combined.n_scored, combined.n_total) == (1, 5)
    assert combined.reason == (
        "non_finite_prediction: fold 3: 3 of 4; fold 4: too late; fold 2: none came; "
        "and 1 more fold"
    )


def test_folds_with_the_same_reason_are_named_together():
    scores = [Score.non_evaluable("aic", "no_parameter_count", "not counted")] * 5
    assert aggregate(scores[:2]).reason == "no_parameter_count: folds 0, 1: not counted"
    assert aggregate(scores).reason == "no_parameter_count: folds 0, 1, 2 and 2 more: not counted"


def test_no_folds():
    combined = aggregate([])
    assert (combined.value, combined.status, combined.n_total) == (None, "non_evaluable", 0)
    assert combined.reason.startswith("no_folds: ")


def test_different_metrics_do_not_mix():
    with pytest.raises(MetricError, match="different metrics"):
        aggregate([Score.scored("r2", 1.0), Score.scored("mse", 1.0)])


def test_unknown_aggregation():
    with pytest.raises(MetricError, match="unknown aggregation 'sum'"):
        aggregate(scored(1.0), "sum")


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9),
    st.sampled_from(["mean", "median", "min", "max"]),
)
def test_the_value_lies_between_the_folds(values, how):
    value = aggregate(scored(*values), how).value
    slack = 1e-15 * max(map(abs, values))
    assert min(values) - slack <= value <= max(values) + slack

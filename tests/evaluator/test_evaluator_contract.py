"""What an evaluator may return as metrics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from srh.errors import MetricError
from srh.evaluator import check_metrics, scores_from_metrics


def test_numbers_pass_and_become_plain():
    result = check_metrics({"a": 1, "b": 1.5, "c": np.float32(2.5), "d": np.int64(7)})
    assert result == {"a": 1, "b": 1.5, "c": 2.5, "d": 7}
    assert [type(value) for value in result.values()] == [int, float, float, int]


def test_undefined_metrics_pass():
    assert math.isnan(check_metrics({"r2": math.nan})["r2"])


@pytest.mark.parametrize(
    "value",
    [True, np.True_, "1.0", None, 1j, [1.0], {"a": 1.0}, np.array(1.0), np.array([1.0]), (1,)],
    ids=repr,
)
def test_what_is_no_number_is_refused(value):
    with pytest.raises(MetricError, match="metric 'mine': a number is needed"):
        check_metrics({"mine": value})


@pytest.mark.parametrize("result", [None, 1.0, [("a", 1.0)], "mse"])
def test_a_result_is_a_dict(result):
    with pytest.raises(MetricError, match="dict of metrics"):
        check_metrics(result)


@pytest.mark.parametrize("name", ["", " ", 3, None])
def test_a_name_is_a_text(name):
    with pytest.raises(MetricError, match="name"):
        check_metrics({name: 1.0})


def test_all_mistakes_are_listed():
    with pytest.raises(MetricError) as caught:
        check_metrics({"a": True, "b": 1.0, "c": "x"})
    assert len(str(caught.value).splitlines()) == 2


def test_metrics_become_scores():
    scores = scores_from_metrics({"a": 3, "b": math.nan, "c": math.inf, "d": 10**400})
    assert scores["a"].value == 3.0
    assert (scores["b"].status, scores["b"].code) == ("non_evaluable", "undefined")
    assert (scores["c"].status, scores["c"].code) == ("error", "not_finite")
    assert (scores["d"].status, scores["d"].code) == ("error", "not_finite")

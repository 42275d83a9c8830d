"""A score has a finite value or a reason, never both and never neither."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from srh.errors import FormatError, MetricError, SrhError
from srh.formats import decode, pretty_json, read_json
from srh.metrics import Score


@pytest.mark.parametrize(
    "value", [None, math.nan, math.inf, -math.inf, True, 1, np.float64(1.0), "1.0"]
)
def test_only_a_finite_float_is_a_value(value):
    with pytest.raises(MetricError, match="finite float"):
        Score("r2", value, "scored")


@pytest.mark.parametrize("status", ["non_evaluable", "blocked", "error"])
def test_a_missing_score_has_no_value(status):
    with pytest.raises(MetricError, match="takes no value"):
        Score("r2", 0.0, status, "code: message")


@pytest.mark.parametrize("status", ["non_evaluable", "blocked", "error"])
@pytest.mark.parametrize(
    "reason", [None, "", "no code at all", "code:", "code: ", "Code: message", ": message"]
)
def test_a_missing_score_needs_a_code_and_a_message(status, reason):
    with pytest.raises(MetricError, match="needs a reason"):
        Score("r2", None, status, reason)


def test_there_are_four_statuses():
    with pytest.raises(MetricError, match="unknown status 'fine'"):
        Score("r2", None, "fine", "code: message")


def test_a_value_takes_no_reason():
    with pytest.raises(MetricError, match="takes no reason"):
        Score("r2", 1.0, "scored", "code: message")


def test_helpers_build_each_status():
    assert Score.scored("n", np.int64(3)) == Score("n", 3.0, "scored")
    for status in ("non_evaluable", "blocked", "error"):
        score = getattr(Score, status)("r2", "some_code", "a\nmessage \x1b[31m")
        assert score == Score("r2", None, status, "some_code: a message")
        assert (score.code, score.message) == ("some_code", "a message")
    assert Score.scored("n", 1.5).code is None


@pytest.mark.parametrize("value", [True, np.True_, math.nan, "x", None, 10**400])
def test_scored_refuses_what_is_no_number(value):
    with pytest.raises(MetricError):
        Score.scored("r2", value)


def test_scores_cannot_be_changed():
    with pytest.raises(AttributeError):
        Score.scored("r2", 1.0).value = 0.0


def test_scores_survive_json():
    scores = [Score.scored("r2", 0.1), Score.error("mse", "late", "came too late")]
    decoded = decode(list[Score], read_json(pretty_json(scores), "here"), "here")
    assert decoded == scores


def test_a_contradiction_in_a_file_is_a_format_error():
    raw = {"name": "r2", "value": 1.0, "status": "error", "reason": "code: message"}
    with pytest.raises(FormatError, match="takes no value"):
        decode(Score, raw, "result.json")
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(raw, Score)


def test_metric_errors_are_part_of_the_error_tree():
    assert issubclass(MetricError, SrhError)
    assert issubclass(MetricError, ValueError)

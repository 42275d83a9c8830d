"""Whatever an evaluator returns or raises, each declared name gets a score or a reason."""

from __future__ import annotations

import dataclasses
import math

import msgspec
import pytest

from srh.metrics import (
    METRICS,
    Example,
    Metric,
    MetricSpec,
    Range,
    Score,
    ScoreBatch,
    checked,
    complete,
    measure_example,
)

EXAMPLE = Example("e1", "question", "answer", "reference")


def spec(**fields):
    given = {"name": "mine", "score_type": "continuous", "range": Range(0.0, 1.0)} | fields
    return MetricSpec(**given)


def outcomes(scores):
    return {score.name: score.value if score.code is None else score.code for score in scores}


def forged(value):
    """Return a frozen score whose value somebody has changed all the same."""
    score = Score.scored("mine", 0.5)
    msgspec.structs.force_setattr(score, "value", value)
    return score


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (Score.scored("mine", 0.5), 0.5),
        (Score.scored("mine", 0), 0.0),
        (ScoreBatch((Score.scored("mine", 1),)), 1.0),
        (Score.non_evaluable("mine", "no_meaning", "why"), "no_meaning"),
        (Score.scored("mine", 1.5), "out_of_range"),
        (Score.scored("mine", -1e-300), "out_of_range"),
        (Score.scored("yours", 0.5), "undeclared_name"),
        (ScoreBatch((Score.scored("mine", 0.5), Score.scored("yours", 0.5))), "undeclared_name"),
        (ScoreBatch((Score.scored("mine", 0.5), Score.scored("mine", 0.5))), "repeated_name"),
        (ScoreBatch(()), "missing_name"),
        (ScoreBatch((0.5,)), "wrong_type"),
        (0.5, "wrong_type"),
        (True, "wrong_type"),
        (None, "wrong_type"),
        ({"mine": 0.5}, "wrong_type"),
        ([Score.scored("mine", 0.5)], "wrong_type"),
        (forged(math.nan), "not_finite"),
        (forged(math.inf), "not_finite"),
        (forged(True), "not_finite"),
        (forged("0.5"), "not_finite"),
    ],
)
def test_one_name(returned, expected):
    assert outcomes(checked(spec(), returned)) == {"mine": expected}


def test_binary_scores_are_zero_or_one():
    binary = spec(score_type="binary")
    assert outcomes(checked(binary, Score.scored("mine", 1))) == {"mine": 1.0}
    assert outcomes(checked(binary, Score.scored("mine", 0.5))) == {"mine": "not_binary"}


def test_several_names():
    two = spec(emits=["a", "b"])
    assert outcomes(checked(two, ScoreBatch((Score.scored("b", 1),)))) == {
        "a": "missing_name",
        "b": 1.0,
    }
    assert outcomes(checked(two, Score.scored("c", 1))) == dict.fromkeys("ab", "undeclared_name")


def raising(error):
    def evaluate(example, context, bundle):
        raise error

    return evaluate


@pytest.mark.parametrize(
    "error", [ValueError("odd"), MemoryError(), RecursionError(), KeyError("k"), AssertionError()]
)
def test_an_evaluator_that_raises_gives_that_example_an_error(error):
    info = dataclasses.replace(METRICS["exact_match"], function=raising(error))
    metric = Metric(complete(MetricSpec(name="exact_match"), info), info)
    (score,) = measure_example(metric, EXAMPLE)
    assert (score.status, score.code) == ("error", "evaluator_failed")
    assert type(error).__name__ in score.message


def test_every_score_says_who_measured_what():
    info = METRICS["exact_match"]
    metric = Metric(complete(MetricSpec(name="right", evaluator="exact_match@1"), info), info)
    (score,) = measure_example(metric, EXAMPLE)
    assert (score.name, score.evaluator, score.version, score.example) == (
        "right",
        "exact_match",
        "1",
        "e1",
    )


def test_recorded_evidence_that_any_metric_requires_blocks_it():
    info = METRICS["structural_shape"]
    declared = MetricSpec(name="structural_shape", required_evidence=["judge_evidence"])
    metric = Metric(complete(declared, info), info)
    (score,) = measure_example(metric, EXAMPLE)
    assert (score.status, score.code) == ("blocked", "no_judge_evidence")

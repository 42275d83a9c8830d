"""Many scores become one number with its population, or none with every reason counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from srh.metrics import (
    METRICS,
    Floor,
    Gate,
    MetricSpec,
    Range,
    Score,
    ScoreColumn,
    complete,
    judge_gate,
    summarize,
)
from srh.metrics.interval import bootstrap_median, student_t, wilson


def right(**fields):
    return complete(MetricSpec(name="right", evaluator="exact_match@1", **fields), EXACT)


def words(**fields):
    return complete(MetricSpec(name="words", evaluator="set_overlap@1", **fields), OVERLAP)


EXACT, OVERLAP = METRICS["exact_match"], METRICS["set_overlap"]
UNANSWERED = Score.non_evaluable("x", "no_output", "the trial gave no output")
UNKNOWN = Score.non_evaluable("x", "no_reference", "the example has no reference")
CRASHED = Score.error("x", "host_signal", "it died")


def measured(spec, *scores):
    column = ScoreColumn(spec.name)
    for score in scores:
        column.add(Score.scored("x", score) if isinstance(score, int | float) else score)
    ids = [f"e{index}" for index in range(len(scores))]
    return summarize({spec.name: column}, [spec], ids)


def test_a_value_stands_for_all_examples_by_default():
    found = measured(right(), 1, 0, 1, 1)["right"]
    assert (found.value, found.status, found.n_scored, found.n_total) == (0.75, "scored", 4, 4)
    assert (found.reasons, found.spread) == ({}, None)
    assert found.interval.kind == "wilson"


def test_one_example_without_a_score_leaves_no_value_and_every_reason_is_counted():
    found = measured(right(), 1, UNANSWERED, CRASHED, UNANSWERED)["right"]
    assert (found.value, found.status, found.n_scored, found.n_total) == (None, "error", 1, 4)
    assert found.reasons == {"no_output": 2, "host_signal": 1}
    assert found.reason == (
        "host_signal: 3 of 4 examples have no score (no_output 2, host_signal 1); "
        "first 'e2': it died"
    )
    assert found.interval is None


def test_a_declared_coverage_gives_a_value_that_says_how_much_it_stands_for():
    scores = [1] * 9 + [UNANSWERED]
    found = measured(right(coverage=0.9), *scores)["right"]
    assert (found.value, found.n_scored, found.n_total) == (1.0, 9, 10)
    assert found.reasons == {"no_output": 1}
    assert measured(right(coverage=0.91), *scores)["right"].value is None
    sparse = [1] * 7 + [UNANSWERED] * 93
    assert 0.07 * 100 > 7
    assert measured(right(coverage=0.07), *sparse)["right"].value == 1.0


def test_a_floor_has_a_name_of_its_own_and_counts_only_the_trials_failures():
    spec = right(floor=Floor(name="right_or_zero", value=0.0))
    found = measured(spec, 1, 1, UNANSWERED, 1)
    assert found["right"].value is None
    floored = found["right_or_zero"]
    assert (floored.value, floored.n_scored, floored.n_total) == (0.75, 3, 4)
    assert floored.reasons == {"no_output": 1}, "what was put in their place is not hidden"
    for other in (UNKNOWN, CRASHED, Score.blocked("x", "no_judge_evidence", "none")):
        floored = measured(spec, 1, UNANSWERED, other)["right_or_zero"]
        assert floored.value is None
        assert floored.reasons == {other.code: 1}


@pytest.mark.parametrize(
    ("how", "expected"),
    [("mean", 0.25), ("rate", 0.25), ("median", 0.0), ("min", 0.0), ("max", 1.0)],
)
def test_aggregations(how, expected):
    assert measured(right(aggregation=how), 0, 1, 0, 0)["right"].value == expected


def test_categories_have_no_common_value():
    spec = right(aggregation="none")
    found = measured(spec, 1, 0)["right"]
    assert (found.value, found.status, found.n_scored) == (None, "non_evaluable", 2)
    assert found.reason.startswith("not_aggregated: ")


def test_no_examples():
    found = measured(right(floor=Floor(name="floored", value=0.0)))
    assert found["right"].reason.startswith("no_examples: ")
    assert found["floored"].value is None


def test_spreads_of_repeated_judgements_are_averaged():
    scores = [Score("x", 3.0, "scored", spread=spread) for spread in (1.0, None, 2.0)]
    assert measured(words(), *scores)["words"].spread == 1.5


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_wilson_is_scipys(n):
    for successes in {0, 1, n // 2, n}:
        known = stats.binomtest(successes, n).proportion_ci(0.95, method="wilson")
        found = wilson(successes, n)
        assert found.low == pytest.approx(known.low, abs=1e-12)
        assert found.high == pytest.approx(known.high, abs=1e-12)
        assert 0 <= found.low <= successes / n <= found.high <= 1
        assert found.high > found.low


def test_students_interval_is_scipys():
    values = np.random.default_rng(1).normal(size=30)
    known = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found = student_t(values.tolist())
    assert (found.low, found.high) == pytest.approx((known.low, known.high), rel=1e-12)
    assert student_t([1.0]) is None
    assert student_t([1.0, 1.0, 1.0]) is None


def test_a_means_interval_ends_where_the_range_does():
    found = measured(words(), 1.0, 1.0, 0.9)["words"].interval
    assert found.kind == "student_t"
    assert found.high == 1.0
    assert found.low < 0.9


def test_a_bootstrap_repeats_itself_and_covers_the_median():
    values = np.random.default_rng(2).exponential(size=200).tolist()
    first, again = bootstrap_median(values), bootstrap_median(values)
    assert first == again
    assert first.low < np.median(values) < first.high
    assert first.low < math.log(2) < first.high
    assert bootstrap_median([2.0, 2.0]) is None


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.sampled_from([0.0, 0.5, 1.0, UNANSWERED, UNKNOWN, CRASHED]), min_size=1, max_size=12
    ),
    st.sampled_from(["mean", "median", "min", "max"]),
    st.floats(0.01, 1.0),
)
def test_populations_always_add_up(scores, how, coverage):
    spec = words(aggregation=how, coverage=coverage, floor=Floor(name="floored", value=0.0))
    for found in measured(spec, *scores).values():
        assert (found.value is None) == (found.reason is not None)
        assert (found.value is None) == (found.status != "scored")
        assert found.n_total == len(scores)
        if found.value is not None:
            assert 0 <= found.value <= 1
    main = measured(spec, *scores)["words"]
    assert main.n_scored + sum(main.reasons.values()) == main.n_total
    assert (main.value is None) == (main.n_scored < max(coverage * main.n_total, 1))


GATED = {"authority": "gating", "approver": "A. Author", "threshold": 0.5}


@pytest.mark.parametrize(
    ("fields", "scores", "verdict"),
    [
        (GATED, [1, 1, 0], "pass"),
        (GATED, [1, 0], "pass"),
        (GATED, [1, 0, 0], "fail"),
        (GATED, [1, 1, UNANSWERED], "blocked"),
        (GATED | {"coverage": 0.5}, [1, 1, UNANSWERED], "pass"),
        ({"threshold": 0.5}, [0, 0], "informational"),
        ({}, [UNANSWERED], "informational"),
    ],
)
def test_gates(fields, scores, verdict):
    spec = right(**fields)
    gate = judge_gate(spec, "right", measured(spec, *scores)["right"])
    assert gate.verdict == verdict
    assert gate.reason


def test_a_gate_without_any_measurement_is_blocked():
    found = judge_gate(right(**GATED), "right", None)
    assert found == Gate("right", "blocked", "nothing was measured", "A. Author")


def test_a_gate_knows_the_better_end():
    spec = MetricSpec(name="error", direction="minimize", range=Range(lower=0.0), **GATED)
    for value, verdict in ((0.4, "pass"), (0.5, "pass"), (0.6, "fail")):
        assert judge_gate(spec, "error", measured(spec, value)["error"]).verdict == verdict

"""The ten metrics on ordinary, degenerate and extreme data."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics as reference

from srh.errors import MetricError
from srh.metrics import DEFAULT_METRICS, METRICS, Score, score_predictions

PREDICTION_METRICS = [name for name in DEFAULT_METRICS if name != "complexity"]

# R: AIC(lm(dist ~ speed, cars)) is 419.1569, BIC is 424.8929 (data set "cars" of R).
SPEED = """4 4 7 7 8 9 10 10 10 11 11 12 12 12 12 13 13 13 13 14 14 14 14 15 15 15 16 16 17 17
    17 18 18 18 18 19 19 19 20 20 20 20 20 22 23 24 24 24 24 25"""
DISTANCE = """2 10 4 22 16 10 18 26 34 17 28 14 20 24 28 26 34 34 46 26 36 60 80 20 26 54 32 40
    32 40 50 42 56 76 84 36 46 68 32 48 52 56 64 66 54 70 92 93 120 85"""


def measure(name, y, predictions, **counts) -> Score:
    return score_predictions(y, predictions, names=[name], **counts)[name]


def sample(seed: int, n: int = 57) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.normal(3.0, 2.0, n)
    return y, y + rng.normal(0.2, 0.7, n)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("mse", reference.mean_squared_error),
        ("rmse", reference.root_mean_squared_error),
        ("mae", reference.mean_absolute_error),
        ("mape", reference.mean_absolute_percentage_error),
        ("r2", reference.r2_score),
        ("pearson_r", lambda y, p: stats.pearsonr(y, p).statistic),
        ("spearman_r", lambda y, p: stats.spearmanr(y, p).statistic),
    ],
)
def test_agrees_with_an_independent_implementation(name, expected, seed):
    y, predictions = sample(seed)
    assert measure(name, y, predictions).value == pytest.approx(expected(y, predictions), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_spearman_with_many_ties_agrees_with_scipy(seed):
    rng = np.random.default_rng(seed)
    y, predictions = rng.integers(0, 5, (2, 40))
    expected = stats.spearmanr(y, predictions).statistic
    assert measure("spearman_r", y, predictions).value == pytest.approx(expected, rel=1e-12)


def test_information_criteria_agree_with_r():
    speed = np.array(SPEED.split(), dtype=float)
    distance = np.array(DISTANCE.split(), dtype=float)
    predictions = np.polyval(np.polyfit(speed, distance, 1), speed)
    scores = score_predictions(distance, predictions, names=["aic", "bic"], n_parameters=2)
    assert scores["aic"].value == pytest.approx(419.1569, abs=5e-5)
    assert scores["bic"].value == pytest.approx(424.8929, abs=5e-5)


def test_mean_square_has_the_bits_of_the_plain_computation():
    y, predictions = sample(9, n=1000)
    assert measure("mse", y, predictions).value == np.mean((y - predictions) ** 2)


PERFECT = ([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
CONSTANT_TARGET = ([0.1, 0.1, 0.1], [0.1, 0.2, 0.3])
CONSTANT_PREDICTION = ([0.1, 0.2, 0.3], [0.1, 0.1, 0.1])
ONE_ROW = ([2.0], [3.0])
LAST_BIT = ([1.0, math.nextafter(1.0, 2.0)], [1.0, 1.0])
TINY = ([3e-200, -3e-200], [2e-200, -2e-200])
SUBNORMAL = ([5e-324, 0.0], [0.0, 0.0])
HUGE = ([3e200, -3e200], [2e200, -2e200])
LARGEST = ([1.7e308, -1.7e308], [-1.7e308, 1.7e308])
ACCURATE = ([1e-17, 2e-17, 4e-17], [1.1e-17, 2.1e-17, 3.9e-17])
# One relative error of 1 at each end of float64: neither may vanish beside the other.
WIDE = ([1e300, 1e-300], [0.0, 0.0])
FAR_FROM_ZERO = ([1e15, 1e15 + 1, 1e15 + 2], [1e15, 1e15 + 1, 1e15 + 3])


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (PERFECT, "mse", 0.0),
        (PERFECT, "rmse", 0.0),
        (PERFECT, "mae", 0.0),
        (PERFECT, "mape", 0.0),
        (PERFECT, "r2", 1.0),
        (PERFECT, "pearson_r", 1.0),
        (PERFECT, "spearman_r", 1.0),
        (PERFECT, "aic", "non_evaluable zero_residuals"),
        (PERFECT, "bic", "non_evaluable zero_residuals"),
        (CONSTANT_TARGET, "r2", "non_evaluable constant_target"),
        (CONSTANT_TARGET, "pearson_r", "non_evaluable constant_target"),
        (CONSTANT_TARGET, "spearman_r", "non_evaluable constant_target"),
        (CONSTANT_TARGET, "rmse", math.sqrt(0.05 / 3)),
        (CONSTANT_PREDICTION, "pearson_r", "non_evaluable constant_prediction"),
        (CONSTANT_PREDICTION, "spearman_r", "non_evaluable constant_prediction"),
        (CONSTANT_PREDICTION, "r2", -1.5),
        (ONE_ROW, "r2", "non_evaluable too_few_rows"),
        (ONE_ROW, "pearson_r", "non_evaluable too_few_rows"),
        (ONE_ROW, "spearman_r", "non_evaluable too_few_rows"),
        (ONE_ROW, "aic", "non_evaluable too_few_rows"),
        (ONE_ROW, "mse", 1.0),
        (ONE_ROW, "mape", 0.5),
        (LAST_BIT, "r2", -1.0),
        (TINY, "mse", "non_evaluable underflow"),
        (TINY, "rmse", 1e-200),
        (TINY, "mae", 1e-200),
        (TINY, "mape", 1 / 3),
        (TINY, "r2", 8 / 9),
        (TINY, "pearson_r", 1.0),
        (SUBNORMAL, "mae", "non_evaluable underflow"),
        (SUBNORMAL, "r2", -1.0),
        (HUGE, "mse", "non_evaluable overflow"),
        (HUGE, "rmse", 1e200),
        (HUGE, "mae", 1e200),
        (HUGE, "r2", 8 / 9),
        (LARGEST, "rmse", "non_evaluable overflow"),
        (LARGEST, "mape", 2.0),
        (LARGEST, "r2", -3.0),
        (LARGEST, "pearson_r", -1.0),
        (ACCURATE, "mse", 1e-36),
        (WIDE, "mape", 1.0),
        (WIDE, "r2", -1.0),
        (FAR_FROM_ZERO, "r2", 0.5),
        (([1.0, 0.0, 0.0], [1.0, 1.0, 0.0]), "mape", "non_evaluable zero_target"),
        (([1e-300, 1.0], [1e100, 1.0]), "mape", "non_evaluable overflow"),
        (([1.0, 2.0], [1e200, 1e200]), "r2", "non_evaluable overflow"),
        (([1.0, 2.0], [math.nan, 2.0]), "mse", "error non_finite_prediction"),
        (([1.0, 2.0], [math.inf, 2.0]), "pearson_r", "error non_finite_prediction"),
        (([math.nan, 2.0], [1.0, 2.0]), "mse", "error non_finite_target"),
        (([], []), "mse", "non_evaluable no_rows"),
    ],
)
def test_edge_cases(data, name, expected):
    score = measure(name, *data, n_parameters=1)
    if isinstance(expected, str):
        assert f"{score.status} {score.code}" == expected
    else:
        assert score.status == "scored", score.reason
        assert score.value == pytest.approx(expected, rel=1e-14, abs=0)


def test_likelihood_of_residuals_whose_square_vanishes():
    shifted = measure("aic", *TINY, n_parameters=0).value
    unit = measure("aic", [3.0, -3.0], [2.0, -2.0], n_parameters=0).value
    assert shifted == pytest.approx(unit + 2 * 2 * math.log(1e-200), rel=1e-14)


def test_information_criteria_need_a_row_more_than_parameters():
    y, predictions = sample(1, n=4)
    assert measure("aic", y, predictions, n_parameters=3).status == "scored"
    refused = measure("aic", y, predictions, n_parameters=4)
    assert refused.code == "too_few_rows"
    assert "4 rows do not determine 4 parameters" in refused.reason


@pytest.mark.parametrize("name", ["aic", "bic"])
def test_information_criteria_without_parameter_count(name):
    score = measure(name, *sample(1))
    assert (score.status, score.code) == ("non_evaluable", "no_parameter_count")
    assert "has no parameter count" in score.reason


def test_complexity_does_not_look_at_predictions():
    broken = [1.0], [math.nan]
    assert measure("complexity", *broken, complexity=7) == Score("complexity", 7.0, "scored")
    assert measure("complexity", *PERFECT).code == "no_complexity"


def test_reason_counts_the_rows_that_are_not_finite():
    predictions = [1.0, math.nan, 2.0, -math.inf]
    assert (
        "2 of 4 predictions are not finite (first at row 1)"
        in measure("r2", [1.0, 2.0, 3.0, 4.0], predictions).reason
    )


@pytest.mark.parametrize(
    ("y", "predictions", "message"),
    [
        ([1.0, 2.0], [1.0], "2 rows, the predictions have 1"),
        ([1.0, 2.0], 1.0, "shape"),
        ([1.0, 2.0], [[1.0], [2.0]], "shape"),
        ([[1.0, 2.0]], [[1.0, 2.0]], "shape"),
        ([1.0, 2.0], [1j, 2j], "complex"),
        ([1.0, 2.0], [True, False], "bool"),
        ([1.0, 2.0], ["1", "2"], "real numbers"),
        ([1.0, 2.0], [None, 2.0], "object"),
        ([1.0, 2.0], [[1.0], [2.0, 3.0]], "ragged"),
    ],
)
def test_refuses_what_is_no_pair_of_vectors(y, predictions, message):
    with pytest.raises(MetricError, match=message):
        score_predictions(y, predictions)


@pytest.mark.parametrize("count", [-1, True, 1.5, "2", 2**60])
@pytest.mark.parametrize("field", ["n_parameters", "complexity"])
def test_refuses_counts_that_are_none(field, count):
    with pytest.raises(MetricError, match=field):
        score_predictions([1.0], [1.0], **{field: count})


def test_integers_and_narrow_floats_are_numbers():
    y = np.array([1, 2, 3], dtype=np.int32)
    assert measure("mse", y, np.array([1, 2, 4], dtype=np.float32)).value == 1 / 3


def test_default_names_come_in_the_declared_order():
    assert tuple(score_predictions(*sample(1))) == DEFAULT_METRICS


def test_callers_floating_point_settings_do_not_matter():
    with np.errstate(all="raise"):
        assert measure("r2", *WIDE).value == pytest.approx(-1.0)


def test_input_is_left_as_it_was():
    y, predictions = sample(3)
    before = y.copy(), predictions.copy()
    score_predictions(y, predictions, n_parameters=1, complexity=1)
    assert np.array_equal(y, before[0])
    assert np.array_equal(predictions, before[1])


any_float = st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True)
finite = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=True)


def columns(element):
    return st.integers(1, 8).flatmap(
        lambda n: st.tuples(*(st.lists(element, min_size=n, max_size=n) for _ in "yp"))
    )


@settings(max_examples=400, deadline=None)
@given(columns(any_float), st.integers(0, 5))
def test_no_input_yields_a_value_that_is_not_finite_or_out_of_range(data, n_parameters):
    scores = score_predictions(
        *data,
        names=[*DEFAULT_METRICS, "nrmse", "max_error"],
        n_parameters=n_parameters,
        complexity=3,
    )
    assert tuple(scores)[:10] == DEFAULT_METRICS
    for name, score in scores.items():
        if score.status == "scored":
            assert type(score.value) is float
            assert math.isfinite(score.value)
            assert score.value in METRICS[name].range
            assert score.reason is None
        else:
            assert score.value is None
            assert score.reason


def exact(name: str, y: list[float], predictions: list[float]) -> Fraction:
    """The metric in exact rational arithmetic."""
    ys = [Fraction(value) for value in y]
    residuals = [a - Fraction(b) for a, b in zip(ys, predictions, strict=True)]
    n = len(ys)
    if name == "mae":
        return sum(map(abs, residuals)) / n
    if name == "mape":
        return sum(abs(r / a) for r, a in zip(residuals, ys, strict=True)) / n
    square = sum(r * r for r in residuals)
    if name == "mse":
        return square / n
    mean = sum(ys) / n
    return 1 - square / sum((a - mean) ** 2 for a in ys)


@settings(max_examples=400, deadline=None)
@given(columns(finite), st.sampled_from(["mse", "mae", "mape", "r2"]))
@example(([1e16, 1.0, 1e16], [1e16, 1.0, 1.0]), "r2")
@example(([0.1, 0.1, 0.1, math.nextafter(0.1, 1)], [0.1] * 4), "r2")
def test_agrees_with_exact_arithmetic_over_the_whole_range_of_floats(data, name):
    score = measure(name, *data)
    if score.code in ("constant_target", "too_few_rows", "zero_target"):
        return
    # One rounding of each residual is part of the definition of computing with floats.
    truth = exact(name, *data)
    largest, smallest = Fraction(np.finfo(float).max), Fraction(5e-324)
    if score.code == "overflow":
        assert abs(truth) > largest * Fraction(0.99)
    elif score.code == "underflow":
        assert abs(truth) < smallest
    else:
        assert score.status == "scored", score.reason
        scale = max(abs(truth), 1 if name == "r2" else 0)
        assert abs(Fraction(score.value) - truth) <= scale * Fraction(1e-12) + smallest


@settings(max_examples=200, deadline=None)
@given(columns(finite), st.integers(-200, 200))
def test_correlations_do_not_depend_on_scale(data, exponent):
    y, predictions = data
    # Numbers well inside the range keep all their bits under a power of two.
    y = [value if 1e-100 < abs(value) < 1e100 else 0.0 for value in y]
    scaled = [math.ldexp(value, exponent) for value in y]
    for name in ("pearson_r", "spearman_r"):
        assert measure(name, scaled, predictions).value == measure(name, y, predictions).value


@pytest.mark.parametrize("name", PREDICTION_METRICS)
def test_every_metric_is_documented_with_a_first_line(name):
    assert METRICS[name].summary.strip()


def test_nrmse_and_max_error():
    y, p = np.array([1.0, 2.0, 4.0, 9.0]), np.array([1.5, 2.0, 3.0, 7.0])
    scores = score_predictions(y, p, names=["nrmse", "max_error", "rmse"])
    assert scores["max_error"].value == 2.0
    assert scores["nrmse"].value == pytest.approx(scores["rmse"].value / np.std(y), rel=1e-14)
    mean = score_predictions(y, np.full(4, y.mean()), names=["nrmse"])["nrmse"]
    assert mean.value == pytest.approx(1.0, rel=1e-15)
    for scale in (1e-200, 1e200):
        again = score_predictions(scale * y, scale * p, names=["nrmse"])["nrmse"]
        assert again.value == pytest.approx(scores["nrmse"].value, rel=1e-12)


def test_nrmse_of_a_constant_target_has_no_value():
    for y, code in (([2.0, 2.0], "constant_target"), ([2.0], "too_few_rows")):
        score = score_predictions(y, np.zeros(len(y)), names=["nrmse"])["nrmse"]
        assert score.code == code

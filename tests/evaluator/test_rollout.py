"""Differential equations integrated, and measured trajectories compared with them."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from srh.context import AgentContext, SplitOptions
from srh.engine import parse
from srh.errors import (
    DataError,
    ExpressionError,
    MissingVariableError,
    UnboundParameterError,
)
from srh.evaluator import DefaultEvaluator, Missing, assess_formula, scores_from_metrics, utils

TIMES = np.linspace(0.0, 20.0, 300)


def logistic(times: np.ndarray = TIMES, start: float = 0.5) -> np.ndarray:
    return 10.0 / (1.0 + (10.0 / start - 1.0) * np.exp(-0.9 * times))


def growth(**more: np.ndarray) -> AgentContext:
    x = logistic()
    data = {"t": TIMES, "x": x, "dx_dt": 0.9 * x * (1 - x / 10), **more}
    return AgentContext(data, "dx_dt", evaluator=DefaultEvaluator)


def test_logistic_growth_is_fitted_right_and_rolled_out():
    fitted = DefaultEvaluator.fit_candidate(parse("param('r')*x*(1 - x/param('K'))"), growth())
    assert fitted.parameter_values() == pytest.approx({"r": 0.9, "K": 10.0})
    assert utils.calc_trajectory_rollout_RMSE(fitted, growth()) < 1e-5


def test_the_error_is_that_of_all_rows_but_the_first():
    context = growth()
    rmse = utils.calc_trajectory_rollout_RMSE(parse("0*x"), context, time="t", state="x")
    assert rmse == pytest.approx(np.sqrt(np.mean((context.data["x"][1:] - 0.5) ** 2)))


def test_integration_agrees_with_a_function_of_numpy():
    f = parse("param('a', value=1.5)*sin(t)*x - x**2/(1 + x)")
    course = utils.integrate_ODE(f, 0.7, TIMES, rtol=1e-9)

    def system(t, x):
        return 1.5 * np.sin(t) * x - x**2 / (1 + x)

    reference = solve_ivp(system, (0, 20), [0.7], t_eval=TIMES, rtol=1e-10, atol=1e-12)
    assert course.reason is None
    assert course.states["x"] == pytest.approx(reference.y[0], rel=1e-6)


def test_several_states_by_name_and_in_order():
    rates = {"x": parse("v"), "v": parse("-4*x")}
    by_name = utils.integrate_ODE(rates, {"v": 0.0, "x": 1.0}, TIMES, state=("x", "v"))
    in_order = utils.integrate_ODE(list(rates.values()), [1.0, 0.0], TIMES, state=("x", "v"))
    assert by_name.states["x"] == pytest.approx(np.cos(2 * TIMES), abs=1e-3)
    assert by_name.states["v"] == pytest.approx(-2 * np.sin(2 * TIMES), abs=1e-3)
    assert np.array_equal(by_name.states["x"], in_order.states["x"])


def test_rollout_of_several_states():
    x, v = np.cos(2 * TIMES), -2 * np.sin(2 * TIMES)
    context = AgentContext({"t": TIMES, "x": x, "v": v, "dv_dt": -4 * x}, "dv_dt")
    good = {"x": parse("v"), "v": parse("-4*x")}
    rmse = utils.calc_trajectory_rollout_RMSE(good, context, state=("x", "v"))
    assert rmse < 1e-3
    bad = {"x": parse("v"), "v": parse("-5*x")}
    assert utils.calc_trajectory_rollout_RMSE(bad, context, state=("x", "v")) > 0.5
    with pytest.raises(ExpressionError, match="give one for each"):
        utils.calc_trajectory_rollout_RMSE(parse("-4*x"), context, state=("x", "v"))


def test_the_work_is_bounded():
    course = utils.integrate_ODE(parse("sin(1e6*t)"), 1.0, TIMES, max_evaluations=500)
    assert course.evaluations == 501
    assert course.reason == ("too_many_evaluations", course.reason[1])
    assert np.isnan(course.states["x"][1:]).all()


def two_runs() -> AgentContext:
    times = np.tile(np.linspace(0, 5, 40), 2)
    x = np.concatenate([logistic(times[:40], 0.5), logistic(times[40:], 3.0)])
    data = {"t": times, "x": x, "dx_dt": 0.9 * x * (1 - x / 10), "run": np.repeat(["a", "b"], 40)}
    return AgentContext(data, "dx_dt")


def test_several_trajectories():
    f = parse("0.9*x*(1 - x/10)")
    assert utils.calc_trajectory_rollout_RMSE(f, two_runs(), trajectory="run") < 1e-5
    without = utils.calc_trajectory_rollout_RMSE(f, two_runs())
    assert math.isnan(without)
    assert without.code == "unsorted_times"
    assert "in row 40; several trajectories are told apart" in without.message


def test_a_grouped_parameter_has_one_value_for_a_trajectory():
    f = parse("grouped_param(run, name='r', value={'a': 0.9, 'b': 0.9})*x*(1 - x/10)")
    assert utils.calc_trajectory_rollout_RMSE(f, two_runs(), trajectory="run") < 1e-5
    unseen = parse("grouped_param(run, name='r', value={'a': 0.9})*x*(1 - x/10)")
    value = utils.calc_trajectory_rollout_RMSE(unseen, two_runs(), trajectory="run")
    assert (value.code, "run = 'b'" in value.message) == ("no_group_value", True)


def test_a_trajectory_among_several_that_diverges_is_named():
    value = utils.calc_trajectory_rollout_RMSE(parse("(x - 1)**2*x"), two_runs(), trajectory="run")
    assert value.code == "diverged"
    assert "begins in row 40" in value.message


def test_values_per_node_are_states_too():
    rate, start = np.array([0.1, 0.5, 1.0]), np.array([1.0, 2.0, 3.0])
    x = start * np.exp(-rate * TIMES[:, None])
    data = {"t": TIMES, "x": x, "k": rate, "dx_dt": -rate * x}
    context = AgentContext(data, "dx_dt", num_nodes=3)
    assert utils.calc_trajectory_rollout_RMSE(parse("-k*x"), context) < 1e-4
    assert utils.calc_trajectory_rollout_RMSE(parse("-x"), context) > 0.1


def test_other_columns_are_interpolated_in_time():
    force = np.cos(TIMES)
    data = {"t": TIMES, "x": np.sin(TIMES), "dx_dt": force, "u": force, "scale": np.array(1.0)}
    context = AgentContext(data, "dx_dt")
    assert utils.calc_trajectory_rollout_RMSE(parse("scale*u"), context) < 1e-2


def test_stiff_systems():
    van_der_pol = [parse("v"), parse("1000*(1 - x**2)*v - x")]
    course = utils.integrate_ODE(van_der_pol, [2.0, 0.0], [0.0, 1000.0, 2000.0], state=("x", "v"))
    assert course.reason is None
    # Reference: Hairer & Wanner's RADAU at a relative tolerance of 1e-10 (through SciPy).
    assert course.states["x"][2] == pytest.approx(1.706167732, rel=1e-3)
    robertson = {
        "a": parse("-0.04*a + 1e4*b*c"),
        "b": parse("0.04*a - 1e4*b*c - 3e7*b**2"),
        "c": parse("3e7*b**2"),
    }
    course = utils.integrate_ODE(
        robertson, {"a": 1, "b": 0, "c": 0}, [0.0, 40.0], state=("a", "b", "c"), atol=1e-10
    )
    # Hairer & Wanner, Solving Ordinary Differential Equations II, 2nd ed. (1996), p. 157.
    assert course.states["a"][1] == pytest.approx(0.7158, abs=1e-4)
    assert course.states["b"][1] == pytest.approx(9.185e-6, abs=1e-8)


@pytest.mark.parametrize(
    ("formula", "code"),
    [
        ("x**2", "diverged"),
        ("exp(x)", "diverged"),
        ("sqrt(x - 11)", "undefined_rate"),
        ("1/(x - 0.5)", "undefined_rate"),
        ("sin(1e6*t)", "too_many_evaluations"),
        ("1e300*x", "diverged"),
    ],
)
def test_divergence_is_a_missing_value_with_its_reason(formula, code):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        value = utils.calc_trajectory_rollout_RMSE(parse(formula), growth())
        declared = utils.calc_trajectory_rollout_RMSE(parse(formula), growth(), penalty=1e6)
    assert math.isnan(value)
    assert value.code == code
    assert value.message
    assert declared == 1e6


@pytest.mark.parametrize(
    ("times", "code"),
    [
        ([0.0, 1.0, 1.0, 2.0], "duplicate_times"),
        ([0.0, 2.0, 1.0, 3.0], "unsorted_times"),
        ([0.0, 1.0, math.nan, 3.0], "undefined_time"),
        ([0.0], "too_few_rows"),
    ],
)
def test_degenerate_times_have_a_reason(times, code):
    n = len(times)
    data = {"t": np.array(times), "x": np.ones(n), "dx_dt": np.zeros(n)}
    value = utils.calc_trajectory_rollout_RMSE(parse("0*x"), AgentContext(data, "dx_dt"), penalty=9)
    assert isinstance(value, Missing)
    assert value.code == code


def test_a_state_that_was_not_measured_has_a_reason():
    x = np.array([1.0, math.nan, 1.0])
    data = {"t": np.arange(3.0), "x": x, "dx_dt": np.zeros(3)}
    value = utils.calc_trajectory_rollout_RMSE(parse("0*x"), AgentContext(data, "dx_dt"))
    assert value.code == "undefined_state"
    assert "row 1" in value.message


@pytest.mark.parametrize(
    ("formula", "options", "error", "message"),
    [
        ("x*y", {}, MissingVariableError, "'y', which is neither a state nor the time"),
        ("param('a')*x", {}, UnboundParameterError, "no value for 'a'"),
        ("grouped_param(half, name='g')*x", {}, ExpressionError, "changes along a trajectory"),
        ("x", {"state": "X"}, DataError, "no column 'X'"),
        ("x", {"time": "run"}, DataError, "must hold numbers"),
        ("x", {"trajectory": "runs"}, DataError, "did you mean 'run'"),
    ],
)
def test_misuse_is_an_error(formula, options, error, message):
    context = growth(run=np.array(["a"] * 300), half=np.array(["a", "b"] * 150))
    with pytest.raises(error, match=message):
        utils.calc_trajectory_rollout_RMSE(parse(formula), context, **options)


@pytest.mark.parametrize("times", [[], [1.0, 1.0], [1.0, 0.0], [0.0, math.nan], [[0.0, 1.0]]])
def test_times_of_an_integration_increase(times):
    with pytest.raises(DataError, match="increasing"):
        utils.integrate_ODE(parse("x"), 1.0, times)


def test_one_time_is_the_initial_state():
    assert utils.integrate_ODE(parse("x"), 2.0, [5.0]).states["x"].tolist() == [2.0]
    with pytest.raises(DataError, match="initial value"):
        utils.integrate_ODE(parse("x"), math.inf, [5.0])


class TrajectoryRolloutEvaluator(DefaultEvaluator):
    """What a new user writes: one more metric for candidates."""

    @classmethod
    def evaluate_candidate(cls, f, context):
        metrics = super().evaluate_candidate(f, context)
        metrics["rollout_rmse"] = utils.calc_trajectory_rollout_RMSE(
            f, context, time="t", state="x"
        )
        return metrics


def test_a_custom_evaluator_ranks_by_its_own_metric():
    context = growth()
    context.evaluator = TrajectoryRolloutEvaluator
    context.args = SplitOptions(method="chronological", time="t")
    good = assess_formula("param('r')*x*(1 - x/param('K'))", context, rank_by="rollout_rmse")
    assert good.eligible
    assert good.validation["rollout_rmse"] < 1e-4
    bad = assess_formula("1e9*x**2", context, rank_by="rollout_rmse")
    assert not bad.eligible
    assert "'rollout_rmse' has no value on the train rows: diverged after" in bad.reasons[0]
    scores = scores_from_metrics(bad.train)
    assert (scores["rollout_rmse"].status, scores["rollout_rmse"].code) == (
        "non_evaluable",
        "diverged",
    )
    general = assess_formula("x + t", context, y="x*2", rank_by="rollout_rmse")
    assert "rollout_rmse" not in general.train


def test_a_missing_value_keeps_its_reason_through_pickles():
    copy = pickle.loads(pickle.dumps(Missing("diverged", "at 3")))  # noqa: S301
    assert math.isnan(copy)
    assert (copy.code, copy.message) == ("diverged", "at 3")

"""The default policy on real data, formulas and fits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from srh.context import AgentContext, SplitOptions
from srh.engine import Symbol, parse
from srh.errors import DataError, FitError, MetricError, MissingVariableError, UnboundParameterError
from srh.evaluator import DefaultEvaluator, check_metrics, fit_equation, score_equation
from srh.evaluator.utils import (
    calc_AIC,
    calc_BIC,
    calc_complexity,
    calc_MAE,
    calc_MAPE,
    calc_MSE,
    calc_pearson_r,
    calc_R2,
    calc_RMSE,
    calc_spearman_r,
)
from srh.metrics import DEFAULT_METRICS


def line_context(n: int = 40, **options) -> AgentContext:
    rng = np.random.default_rng(5)
    x = np.linspace(1.0, 5.0, n)
    data = {
        "x": x,
        "y": 2.0 * x + 1.0 + 0.01 * rng.normal(size=n),
        "site": np.array(["a", "b"] * (n // 2), dtype=object),
        "id": np.array([f"row{i}" for i in range(n)], dtype=object),
    }
    return AgentContext(data, "y", evaluator=DefaultEvaluator, args=SplitOptions(**options))


LINE = "param('a')*x + param('b')"


def test_split_returns_two_views_of_all_rows():
    context = line_context(validation_fraction=0.2)
    parts = DefaultEvaluator.split(context)
    assert set(parts) == {"train", "validation"}
    rows = [*parts["train"].rows, *parts["validation"].rows]
    assert sorted(rows) == list(range(40))
    assert parts["validation"].n_samples == 8
    assert np.array_equal(parts["train"].data["x"], context.data["x"][parts["train"].rows])


def test_split_methods():
    ood = DefaultEvaluator.split(line_context(method="ood", ood_variable="x"))
    assert ood["train"].data["x"].max() < ood["validation"].data["x"].min()
    context = line_context(method="chronological", time="x").take(np.arange(40)[::-1])
    late = DefaultEvaluator.split(context)
    assert np.all(np.diff(late["train"].data["x"]) > 0)
    assert late["train"].data["x"].max() < late["validation"].data["x"].min()
    ordered = DefaultEvaluator.split(line_context(method="chronological"))
    assert ordered["validation"].rows.tolist() == list(range(30, 40))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "ood"}, "ood_variable"),
        ({"method": "ood", "ood_variable": "z"}, "'z'"),
        ({"method": "ood", "ood_variable": "site"}, "numbers"),
        ({"method": "chronological", "time": "sites"}, "did you mean 'site'"),
    ],
)
def test_split_refuses_what_it_cannot_order(options, message):
    with pytest.raises(DataError, match=message):
        DefaultEvaluator.split(line_context(**options))


def test_context_splits_through_its_evaluator():
    context = line_context()
    assert context.train_split.n_samples + context.validation_split.n_samples == 40


def test_fit_binds_every_parameter():
    fitted = DefaultEvaluator.fit_candidate(parse(LINE), line_context())
    values = fitted.parameter_values()
    assert values["a"] == pytest.approx(2.0, abs=0.01)
    assert values["b"] == pytest.approx(1.0, abs=0.03)


def test_fit_equation_keeps_what_the_fit_found_out():
    context = line_context()
    result = fit_equation(parse(LINE), Symbol("y"), context)
    assert result.success
    assert result.expression == DefaultEvaluator.fit_candidate(parse(LINE), context)
    assert 0 < result.standard_errors["a"] < 0.01


def test_the_seed_of_the_context_is_the_seed_of_the_fit():
    formula = parse("param('a')*sin(param('b')*x) + param('c')")
    starts = set()
    for seed in (0, 7):
        context = line_context(seed=seed)
        result = fit_equation(formula, Symbol("y"), context)
        direct = formula.fit(Symbol("y"), context, seed=seed)
        assert (result.expression, result.loss) == (direct.expression, direct.loss)
        starts.add(result.n_evaluations)
    assert len(starts) == 2, "both seeds search alike, so this test could not fail"


def test_fit_of_a_general_equality():
    context = line_context()
    fitted = DefaultEvaluator.fit(parse("param('k')*x"), parse("3*x"), context)
    assert fitted.parameter_values()["k"] == pytest.approx(3.0)


def test_fit_of_a_formula_without_parameters_leaves_it():
    formula = parse("2*x + 1")
    assert DefaultEvaluator.fit_candidate(formula, line_context()) == formula


def test_redundant_parameters_that_converge_are_no_failure():
    formula = parse("param('a')*x + param('b')*x + param('c')")
    context = line_context()
    fitted = DefaultEvaluator.fit_candidate(formula, context)
    metrics = DefaultEvaluator.evaluate_candidate(fitted, context)
    assert metrics["rmse"] == pytest.approx(0.01, rel=0.3)


def test_a_formula_undefined_on_every_row_cannot_be_fitted():
    with pytest.raises(FitError) as caught:
        DefaultEvaluator.fit_candidate(parse("param('a')*log(-x)"), line_context())
    assert str(caught.value).strip()


def test_a_label_per_row_would_memorise_the_target():
    with pytest.raises(FitError, match="'id' has another label in every row"):
        DefaultEvaluator.fit_candidate(parse("grouped_param(id, name='g')"), line_context())


def test_grouped_parameters_are_counted_with_their_table():
    context = line_context()
    formula = parse("param('a')*x + grouped_param(site, name='g')")
    fitted = DefaultEvaluator.fit_candidate(formula, context)
    metrics = DefaultEvaluator.evaluate_candidate(fitted, context)
    assert fitted.count_parameters() == 3
    # Nodes: +, *, a, x, g; the table of g holds two constants.
    assert metrics["complexity"] == 5 + 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", 1),
        ("3.5", 1),
        ("x + x", 3),
        ("sin(x)", 2),
        ("-x", 2),
        ("max(x, y)", 3),
        ("param('a')*x + param('a')", 5),
        ("grouped_param(s, name='g')", 1),
        ("grouped_param(s, name='g', value={'a': 1.0, 'b': 2.0})", 3),
        ("grouped_param(s, name='g', value={'a': 1.0, 'b': 2.0}, default=0.5)", 4),
    ],
)
def test_complexity(text, expected):
    assert calc_complexity(parse(text)) == expected


def test_a_table_that_appears_twice_is_counted_once():
    grouped = "grouped_param(s, name='g', value={'a': 1.0, 'b': 2.0})"
    assert calc_complexity(parse(f"{grouped}*x + {grouped}")) == 5 + 2


def test_evaluate_returns_the_ten_metrics_as_plain_numbers():
    context = line_context()
    fitted = DefaultEvaluator.fit_candidate(parse(LINE), context)
    metrics = DefaultEvaluator.evaluate_candidate(fitted, context)
    assert tuple(metrics) == DEFAULT_METRICS
    assert {name: type(value) for name, value in metrics.items()} == dict.fromkeys(
        DEFAULT_METRICS, float
    ) | {"complexity": int}
    assert check_metrics(metrics) == metrics
    assert metrics == DefaultEvaluator.evaluate(fitted, Symbol("y"), context)


def test_evaluate_agrees_with_the_utilities():
    context = line_context()
    fitted = DefaultEvaluator.fit_candidate(parse(LINE), context)
    y, predictions = context.data["y"], fitted.evaluate(context)
    assert DefaultEvaluator.evaluate_candidate(fitted, context) == {
        "mse": calc_MSE(y, predictions),
        "rmse": calc_RMSE(y, predictions),
        "mae": calc_MAE(y, predictions),
        "mape": calc_MAPE(y, predictions),
        "r2": calc_R2(y, predictions),
        "aic": calc_AIC(y, predictions, 2),
        "bic": calc_BIC(y, predictions, 2),
        "pearson_r": calc_pearson_r(y, predictions),
        "spearman_r": calc_spearman_r(y, predictions),
        "complexity": 5,
    }


def test_undefined_metrics_are_nan_and_have_a_reason():
    context = AgentContext({"x": np.arange(3.0), "y": np.full(3, 2.0)}, "y")
    metrics = DefaultEvaluator.evaluate_candidate(parse("x"), context)
    assert math.isnan(metrics["r2"])
    assert metrics["mae"] == 1.0
    scores = score_equation(parse("x"), Symbol("y"), context)
    assert scores["r2"].code == "constant_target"
    assert scores["mae"].value == 1.0


def test_a_domain_error_on_some_rows_is_a_reason_not_a_smaller_population():
    context = AgentContext({"x": np.array([-1.0, 1.0, 2.0]), "y": np.ones(3)}, "y")
    scores = score_equation(parse("sqrt(x)"), Symbol("y"), context)
    assert scores["mse"].status == "error"
    assert "1 of 3 predictions are not finite (first at row 0)" in scores["mse"].reason
    assert scores["complexity"].value == 2.0
    assert math.isnan(DefaultEvaluator.evaluate_candidate(parse("sqrt(x)"), context)["mse"])


def test_a_constant_formula_predicts_every_row():
    context = AgentContext({"x": np.arange(4.0), "y": np.arange(4.0)}, "y")
    assert DefaultEvaluator.evaluate_candidate(parse("1.5"), context)["mse"] == 1.25


def test_evaluation_needs_bound_parameters_and_known_columns():
    context = line_context()
    with pytest.raises(UnboundParameterError, match="a"):
        DefaultEvaluator.evaluate_candidate(parse(LINE), context)
    with pytest.raises(MissingVariableError, match="z"):
        DefaultEvaluator.evaluate_candidate(parse("z"), context)


def test_unknown_metric_names_are_refused():
    with pytest.raises(MetricError, match="did you mean 'rmse'"):
        score_equation(parse("x"), Symbol("y"), line_context(), ["rsme"])


def test_a_subclass_overrides_one_entry_point_only():
    class Rollout(DefaultEvaluator):
        @classmethod
        def evaluate_candidate(cls, f, context):
            metrics = super().evaluate_candidate(f, context)
            metrics["worst"] = float(np.max(np.abs(f.evaluate(context) - context.data["y"])))
            return metrics

    context = line_context()
    fitted = Rollout.fit_candidate(parse(LINE), context)
    assert Rollout.evaluate_candidate(fitted, context)["worst"] < 0.05
    assert "worst" not in Rollout.evaluate(fitted, Symbol("y"), context)

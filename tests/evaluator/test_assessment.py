"""The whole path of a proposed formula: eligibility, diagnostics, and errors as values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from srh.context import AgentContext, SplitOptions
from srh.engine import Symbol, parse
from srh.errors import DataError, FitError
from srh.evaluator import (
    DefaultEvaluator,
    GraphEvaluator,
    Missing,
    assess_formula,
    diagnose,
    evaluate_formula,
)
from srh.metrics import DEFAULT_METRICS


def line(n: int = 80, **more: np.ndarray) -> AgentContext:
    rng = np.random.default_rng(4)
    x = np.linspace(1.0, 5.0, n)
    data = {"x": x, "y": 2.0 * x + 1.0 + 0.1 * rng.normal(size=n), "z": rng.normal(size=n), **more}
    return AgentContext(data, "y", evaluator=DefaultEvaluator)


LINE = "param('a')*x + param('b')"


def test_a_candidate_is_fitted_measured_and_diagnosed():
    found = assess_formula(LINE, line(), rank_by="rmse")
    assert found.eligible
    assert found.error is None
    assert found.fitted.parameter_values() == pytest.approx({"a": 2.0, "b": 1.0}, abs=0.1)
    assert tuple(found.train) == tuple(found.validation) == DEFAULT_METRICS
    assert found.diagnostics.values == 60
    assert {"train": found.train, "validation": found.validation} == evaluate_formula(
        parse(LINE), Symbol("y"), line(), DefaultEvaluator
    )


def test_the_split_is_asked_for_once():
    class Counting(DefaultEvaluator):
        splits = 0

        @classmethod
        def split(cls, context):
            cls.splits += 1
            return super().split(context)

    context = line()
    context.evaluator = Counting
    for _ in range(3):
        assess_formula(LINE, context)
    assert Counting.splits == 1
    context.evaluator = None
    for _ in range(3):
        assess_formula(LINE, context, evaluator=Counting)
    assert Counting.splits == 2


@pytest.mark.parametrize(
    ("f", "y", "reasons"),
    [
        ("x + y", "y", ["the right side depends on the target 'y'"]),
        ("x", "log(y)", ["the left side is log(y), not the target 'y'"]),
        ("y", "x", ["the left side is x, not", "the right side depends"]),
    ],
)
def test_other_equalities_are_measured_but_never_ranked(f, y, reasons):
    found = assess_formula(parse(f), line(), y=y, rank_by="rmse")
    assert found.error is None
    assert not found.candidate
    assert not found.eligible
    assert found.train["rmse"] >= 0
    assert len(found.reasons) == len(reasons)
    for reason, start in zip(found.reasons, reasons, strict=True):
        assert start in reason


def test_a_copy_of_the_target_is_refused():
    context = line()
    context.data["twin"] = context.data["y"].copy()
    found = assess_formula("twin", context)
    assert not found.eligible
    assert "column 'twin' is a copy of the target 'y' in all 60 training rows" in found.error
    with pytest.raises(DataError, match="copy of the target"):
        evaluate_formula(parse("1*twin"), Symbol("y"), context, DefaultEvaluator)
    assert assess_formula(LINE, context).eligible
    context.data["twin"] = context.data["y"] + 1e-9
    assert assess_formula("twin", context).eligible


def test_a_group_by_a_copy_of_the_target_is_refused():
    context = line()
    context.data["y"] = np.round(context.data["y"])
    context.data["twin"] = context.data["y"].copy()
    assert "is a copy" in assess_formula("grouped_param(twin, name='g')", context).error


@pytest.mark.parametrize(
    ("f", "message"),
    [
        ("x +* 2", "at column"),
        ("xx", "did you mean 'x'"),
        ("log(0*x)", "undefined"),
        ("param('a')*sqrt(-x)", "undefined"),
        ("grouped_param(label, name='g')", "memorise"),
    ],
)
def test_errors_of_a_formula_are_values(f, message):
    context = line(label=np.array([f"r{i}" for i in range(80)]))
    found = assess_formula(f, context)
    assert found.fitted is None or found.error is None
    told = found.error or str(found.train["rmse"].message)
    assert message in told or "not finite" in told
    assert not assess_formula(f, context, rank_by="rmse").eligible


def test_errors_of_an_evaluator_are_values():
    class Raises(DefaultEvaluator):
        @classmethod
        def evaluate_candidate(cls, f, context):
            return 1 / 0

    class Sometimes(DefaultEvaluator):
        @classmethod
        def evaluate_candidate(cls, f, context):
            metrics = super().evaluate_candidate(f, context)
            return metrics if context.n_samples > 30 else {**metrics, "extra": 1.0}

    for evaluator, message in (
        (Raises, "the evaluator failed: ZeroDivisionError"),
        (Sometimes, "'extra' for one of train and validation only"),
    ):
        found = assess_formula(LINE, line(), evaluator=evaluator)
        assert message in found.error
        assert (found.train, found.validation, found.eligible) == ({}, {}, False)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda f: "2*x", "must return an Expression, not str"),
        (lambda f: f, "left parameters without a value: 'a', 'b'"),
        (lambda f: parse("y"), "returned a formula of the target 'y'"),
        (lambda f: parse("3*x"), "returned another formula than it was given"),
        (lambda f: f.bind_parameters({"a": 1.0, "b": 0.0}) + 0, "another formula"),
    ],
)
def test_what_an_evaluator_fits_must_be_the_candidate(returned, message):
    class Cheats(DefaultEvaluator):
        @classmethod
        def fit_candidate(cls, f, context):
            return returned(f)

    assert message in assess_formula(LINE, line(), evaluator=Cheats).error
    with pytest.raises(FitError, match=r"Cheats\.fit_candidate"):
        evaluate_formula(parse(LINE), Symbol("y"), line(), Cheats)


def test_an_evaluator_may_bind_parameters_as_it_likes():
    class Fixed(DefaultEvaluator):
        @classmethod
        def fit_candidate(cls, f, context):
            return f.bind_parameters({"a": 1.0, "b": 0.0})

    found = assess_formula(LINE, line(), evaluator=Fixed)
    assert found.eligible
    assert found.train["mse"] > 1.0


def test_any_metric_can_rank_if_it_has_a_value():
    class Own(DefaultEvaluator):
        @classmethod
        def evaluate_candidate(cls, f, context):
            return {"mine": 1.5, "none": Missing("no_light", "it was dark"), "inf": math.inf}

    assert assess_formula(LINE, line(), evaluator=Own, rank_by="mine").eligible
    dark = assess_formula(LINE, line(), evaluator=Own, rank_by="none")
    assert dark.reasons[0] == "'none' has no value on the train rows: it was dark"
    assert "it is inf" in assess_formula(LINE, line(), evaluator=Own, rank_by="inf").reasons[0]
    unknown = assess_formula(LINE, line(), evaluator=Own, rank_by="rmse")
    assert unknown.reasons == (
        "the evaluator returns no metric 'rmse'; it returns mine, none, inf",
    )


# Diagnostics


def test_diagnostics_are_those_of_a_plain_computation():
    context = line()
    train = context.train_split
    found = diagnose(parse("2*x + z"), Symbol("y"), train)
    residuals = train.data["y"] - 2 * train.data["x"] - train.data["z"]
    assert found.bias == pytest.approx(residuals.mean())
    sizes = np.sort(np.abs(residuals))
    assert found.quantiles == pytest.approx({0.5: sizes[29], 0.9: sizes[53], 1.0: sizes[59]})
    assert [abs(w.observed - w.predicted) for w in found.worst] == pytest.approx(sizes[:-6:-1])
    for sample in found.worst:
        assert context.data["y"][sample.row] == sample.observed
    for name in ("x", "z"):
        expected = np.corrcoef(residuals, train.data[name])[0, 1]
        assert found.correlations[name] == pytest.approx(expected)
    assert set(found.correlations) == {"x", "z"}
    order = np.argsort(train.data["y"])
    assert [band.rows for band in found.bands] == [12] * 5
    for k, band in enumerate(found.bands):
        rows = order[12 * k : 12 * (k + 1)]
        assert (band.low, band.high) == tuple(train.data["y"][rows[[0, -1]]])
        assert band.bias == pytest.approx(residuals[rows].mean())
        assert band.rmse == pytest.approx(np.sqrt(np.mean(residuals[rows] ** 2)))


def test_diagnostics_look_at_training_rows_alone():
    context = line()
    before = assess_formula(LINE, context).diagnostics
    held_out = context.validation_split.rows
    changed = context.data["y"].copy()
    changed[held_out] += 1000.0
    context.data["y"] = changed
    after = assess_formula(LINE, context).diagnostics
    assert after == before
    assert not {sample.row for sample in after.worst} & set(held_out.tolist())


def test_rows_without_a_value_are_counted_and_named():
    context = line()
    found = diagnose(parse("log(x - 2)"), Symbol("y"), context.train_split)
    undefined = context.train_split.data["x"] <= 2
    assert found.undefined == int(undefined.sum())
    assert found.bias is None
    assert (found.quantiles, found.bands, found.correlations) == ({}, (), {})
    assert found.worst[0].row == context.train_split.rows[np.flatnonzero(undefined)[0]]


def test_equal_targets_share_a_band_and_constant_columns_have_no_correlation():
    context = AgentContext(
        {"y": np.array([1.0] * 9 + [2.0]), "x": np.ones(10), "n": np.arange(10)}, "y"
    )
    found = diagnose(parse("x"), Symbol("y"), context)
    assert [band.rows for band in found.bands] == [9, 1]
    assert set(found.correlations) == {"n"}
    assert diagnose(parse("1*y"), Symbol("y"), context).correlations == {}


def test_very_long_tables_are_looked_at_evenly():
    n = 500_001
    x = np.arange(float(n))
    context = AgentContext({"x": x, "y": x}, "y")
    found = diagnose(parse("x + 1"), Symbol("y"), context)
    assert found.values == 166_667
    assert found.bias == pytest.approx(-1.0)
    assert all(sample.row % 3 == 0 for sample in found.worst)


# Degenerate data: a reason each, no crash, no number made up.


def missing(metrics: dict[str, float]) -> dict[str, str]:
    return {name: value.code for name, value in metrics.items() if isinstance(value, Missing)}


def test_a_constant_target():
    context = AgentContext({"x": np.arange(20.0), "y": np.ones(20)}, "y")
    found = assess_formula("param('a')", context)
    assert missing(found.train) == {
        "r2": "constant_target",
        "aic": "zero_residuals",
        "bic": "zero_residuals",
        "pearson_r": "constant_target",
        "spearman_r": "constant_target",
    }
    assert found.train["rmse"] == 0.0
    ranked = assess_formula("param('a')", context, rank_by="r2")
    assert "'r2' has no value on the train rows: every target is 1" in ranked.reasons[0]


def test_one_row():
    context = AgentContext({"x": np.ones(1), "y": np.ones(1)}, "y")
    assert "1 row cannot be split" in assess_formula("x", context).error
    context.args = SplitOptions(method="same")
    found = assess_formula("2*x", context)
    assert found.train["rmse"] == 1.0
    assert missing(found.train)["r2"] == "too_few_rows"
    assert found.diagnostics.values == 1


def test_a_column_of_nothing():
    context = line(hole=np.full(80, np.nan))
    found = assess_formula("param('a')*hole", context)
    assert "undefined" in found.error
    unfitted = assess_formula("hole", context, rank_by="rmse")
    assert not unfitted.eligible
    context.data["y"] = np.full(80, np.nan)
    assert "the target is not finite" in assess_formula(LINE, context).error


def test_a_group_that_only_validation_has():
    labels = np.array(["a", "b"] * 30 + ["new"] * 20)
    context = line(site=labels)
    context.args = SplitOptions(method="chronological")
    found = assess_formula("x*grouped_param(site, name='g')", context)
    assert "'g' has no value for site = 'new'" in found.error
    served = assess_formula("x*grouped_param(site, name='g', default=2)", context)
    assert served.eligible


def test_a_relation_without_edges():
    data = {
        "x": np.random.default_rng(0).normal(size=(12, 3)),
        "A": np.empty((0, 2), int),
    }
    data["y"] = 2 * data["x"]
    context = AgentContext(data, "y", evaluator=GraphEvaluator, relation_names=["A"], num_nodes=3)
    found = assess_formula("param('a')*x", context)
    assert found.eligible
    assert found.validation["rmse"] < 1e-12
    assert found.diagnostics.values == 27


def test_times_out_of_order_and_repeated():
    rng = np.random.default_rng(1)
    times = rng.permutation(np.repeat(np.arange(20.0), 2))
    context = AgentContext(
        {"t": times, "y": times * 2},
        "y",
        evaluator=DefaultEvaluator,
        args=SplitOptions(method="chronological", time="t"),
    )
    found = assess_formula("param('a')*t", context)
    assert found.eligible
    assert context.train_split.data["t"].max() < context.validation_split.data["t"].min()
    context.data["t"] = np.zeros(40)
    assert "none is later than another" in assess_formula("param('a')*y", context, y="t").error

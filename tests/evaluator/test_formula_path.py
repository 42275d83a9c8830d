"""Which entry points a formula passes through, and on which rows."""

from __future__ import annotations

import numpy as np
import pytest

from srh.context import AgentContext, SplitOptions
from srh.engine import Symbol, parse
from srh.errors import FormatError, MetricError
from srh.evaluator import DefaultEvaluator, evaluate_formula, evaluate_on, is_candidate
from srh.metrics import DEFAULT_METRICS


class Recorder(DefaultEvaluator):
    """The default policy, writing down which entry points are called and with how many rows."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def fit(self, f, y, context):
        self.calls.append(("fit", context.n_samples))
        return DefaultEvaluator.fit(f, y, context)

    def evaluate(self, f, y, context):
        self.calls.append(("evaluate", context.n_samples))
        return DefaultEvaluator.evaluate(f, y, context)

    def fit_candidate(self, f, context):
        self.calls.append(("fit_candidate", context.n_samples))
        return DefaultEvaluator.fit_candidate(f, context)

    def evaluate_candidate(self, f, context):
        self.calls.append(("evaluate_candidate", context.n_samples))
        return DefaultEvaluator.evaluate_candidate(f, context)


def context(target: str = "y") -> AgentContext:
    x = np.linspace(1.0, 4.0, 20)
    data = {target: 3.0 * x**2 + np.sin(9.0 * x), "x": x}
    return AgentContext(data, target, args=SplitOptions(validation_fraction=0.25))


@pytest.mark.parametrize(
    ("y", "f", "expected"),
    [
        ("y", "x", True),
        ("y", "param('a')*x", True),
        ("y", "x + y", False),
        ("y", "y", False),
        ("y + 0", "x", False),
        ("log(y)", "x", False),
        ("x", "y", False),
    ],
)
def test_candidates(y, f, expected):
    assert is_candidate(parse(f), parse(y), context()) is expected


def test_a_grouping_by_the_target_depends_on_it():
    assert not is_candidate(parse("grouped_param(y, name='g')"), Symbol("y"), context())


def test_a_target_that_is_no_identifier():
    odd = context("orbital period")
    assert is_candidate(parse("x"), Symbol("orbital period"), odd)
    assert not is_candidate(parse("`orbital period`*x"), parse("`orbital period`"), odd)


def test_a_candidate_takes_the_candidate_path():
    recorder = Recorder()
    result = evaluate_formula(parse("param('a')*x**2"), Symbol("y"), context(), recorder)
    assert recorder.calls == [
        ("fit_candidate", 15),
        ("evaluate_candidate", 15),
        ("evaluate_candidate", 5),
    ]
    assert set(result) == {"train", "validation"}
    assert tuple(result["train"]) == tuple(result["validation"]) == DEFAULT_METRICS


def test_any_other_equality_takes_the_general_path():
    recorder = Recorder()
    evaluate_formula(parse("param('a')*log(x)"), parse("log(y)"), context(), recorder)
    assert recorder.calls == [("fit", 15), ("evaluate", 15), ("evaluate", 5)]


def test_parameters_come_from_the_training_rows_alone():
    whole = context()
    split = DefaultEvaluator.split(whole)
    changed = split["validation"].with_data(
        {**split["validation"].data, "y": -split["validation"].data["y"]}
    )
    formula = parse("param('a')*x**2 + param('b')")
    first = evaluate_on(formula, Symbol("y"), split["train"], split["validation"], DefaultEvaluator)
    second = evaluate_on(formula, Symbol("y"), split["train"], changed, DefaultEvaluator)
    assert first.candidate
    assert first.fitted == second.fitted
    assert first.train == second.train
    assert first.validation["r2"] > 0.9 > second.validation["r2"]


def test_the_same_formula_twice_gives_the_same_bits():
    formula = parse("param('a')*sin(param('b')*x) + param('c')*x**2")
    results = [
        evaluate_formula(formula, Symbol("y"), context(), DefaultEvaluator) for _ in range(2)
    ]
    assert results[0] == results[1]


def test_broken_evaluators_are_refused():
    class BadMetrics(DefaultEvaluator):
        @classmethod
        def evaluate_candidate(cls, f, context):
            return {"mse": "small"}

    class BadSplit(DefaultEvaluator):
        @classmethod
        def split(cls, context):
            return {"train": context}

    with pytest.raises(MetricError, match="metric 'mse': a number is needed"):
        evaluate_formula(parse("x"), Symbol("y"), context(), BadMetrics)
    with pytest.raises(FormatError, match=r"BadSplit\.split"):
        evaluate_formula(parse("x"), Symbol("y"), context(), BadSplit)

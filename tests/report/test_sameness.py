from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from srh.evaluation.protocol import EvaluationResult, Fitted, Fold, Provenance, Usage
from srh.metrics import Aggregate
from srh.report.sameness import judge, metric_scales
from srh.sandbox.limits import Limits

TARGET = np.array([0.0, 2.0])  # standard deviation 1

PROVENANCE = Provenance(
    task="sha256:" + "1" * 64,
    data="sha256:" + "2" * 64,
    trial="sha256:" + "3" * 64,
    evaluator="default@1",
    request="sha256:" + "4" * 64,
    metrics=["rmse"],
    versions={"numpy": "2.0"},
    platform={"processor": "one"},
    seed=0,
    limits=Limits(),
    sandbox="none needed",
)
ELSEWHERE = replace(PROVENANCE, platform={"processor": "another"})


def result(rmse=0.5, formula="2*x + 0.25", provenance=PROVENANCE, **more):
    return EvaluationResult(
        status="ok",
        metrics={"rmse": rmse},
        runtime=0.1,
        roundtrip_ok=True,
        per_fold=[{"rmse": rmse}],
        scores={"rmse": Aggregate(rmse, "scored", None, 1, 1)},
        folds=[Fold(n_train=8, n_validation=4)],
        fitted=Fitted(formula=formula, parameters={"a": 2.0}),
        provenance=provenance,
        **more,
    )


def verdict(then, again, tolerance=1e-9):
    return judge(then, again, tolerance=tolerance, target=TARGET)


def test_times_and_places_do_not_count():
    again = replace(result(provenance=ELSEWHERE), runtime=9.0, usage=Usage(wall_s=3.0, cpu_s=1.0))
    assert verdict(result(), again) == ("identical", ())


@pytest.mark.parametrize("field", ["task", "data", "trial", "evaluator", "request"])
def test_a_changed_digest_is_named(field):
    again = result(provenance=replace(PROVENANCE, **{field: "sha256:" + "f" * 64}))
    found, details = verdict(result(), again)
    assert found == "different"
    assert details[0].startswith(f"{field} digest: stored ")
    assert details[0].endswith("now ffffffffffff")


def test_a_changed_metric_is_named_with_both_values():
    found, details = verdict(result(rmse=0.5), result(rmse=0.5 + 1e-15))
    assert found == "different"
    assert "rmse: stored 0.5, evaluated 0.500000000000001" in details
    assert "fold 0 rmse: stored 0.5, evaluated 0.500000000000001" in details


@pytest.mark.parametrize(
    "again",
    [
        result(formula="2*x + 0.26"),
        replace(result(), fitted=Fitted(formula="2*x + 0.25", parameters={"a": 3.0})),
        replace(result(), scores={"rmse": Aggregate(0.5, "scored", None, 1, 2)}),
        replace(result(), roundtrip_ok=False),
        replace(result(), per_fold=[]),
        replace(result(), metrics={"rmse": None}),
        replace(result(), metrics={"rmse": 0.5, "r2": 1.0}),
        EvaluationResult.failed("memory", "too much", ["rmse"], provenance=PROVENANCE),
    ],
)
def test_everything_else_must_be_the_same_too(again):
    assert verdict(result(), again)[0] == "different"
    assert verdict(again, result())[0] == "different"


def test_a_tolerance_holds_only_where_the_platform_differs():
    near = result(rmse=0.5 * (1 + 1e-12), formula="2.0000000000001*x + 0.25")
    assert verdict(result(), near)[0] == "different"
    found, details = verdict(result(), replace(near, provenance=ELSEWHERE))
    assert found == "equal within tolerance (platform differs)"
    assert details == ("platform.processor: stored one, now another",)
    far = result(rmse=0.5 + 1e-6, provenance=ELSEWHERE)
    assert verdict(result(), far)[0] == "different"
    assert verdict(result(), far, tolerance=1e-5)[0].startswith("equal")


def test_the_tolerance_never_excuses_another_formula():
    again = result(formula="3*x*x + 0.25", provenance=ELSEWHERE)
    assert verdict(result(), again)[0] == "different"


def test_errors_near_zero_are_judged_by_the_scale_of_the_target():
    again = result(rmse=3e-16, provenance=ELSEWHERE)
    assert verdict(result(rmse=1e-16), again)[0].startswith("equal")


def test_scales_of_a_constant_target_are_not_zero():
    assert metric_scales(np.array([3.0, 3.0]))["mse"] == 9.0
    assert metric_scales(np.zeros(2))["rmse"] == 1.0


def test_a_result_that_does_not_say_what_it_rests_on_is_different():
    found, details = verdict(replace(result(), provenance=None), result())
    assert found == "different"
    assert "does not say what it rests on" in details[0]


def test_long_lists_of_differences_are_cut():
    then = replace(result(), per_fold=[{"rmse": 1.0}] * 30)
    again = replace(result(), per_fold=[{"rmse": 2.0}] * 30)
    _, details = verdict(then, again)
    assert details[-1] == "and 22 more"
    assert len(details) == 9


def test_scales_are_finite_for_targets_of_any_size():
    scales = metric_scales(np.array([-1e300, 1e300]))
    assert scales["rmse"] == pytest.approx(1e300)
    assert all(np.isfinite(scale) for scale in scales.values())

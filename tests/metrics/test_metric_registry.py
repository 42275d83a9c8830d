"""What a list of metrics may not contain, and what a task may declare about one."""

from __future__ import annotations

import math

import pytest

from srh.errors import FormatError, MetricError
from srh.formats import decode
from srh.metrics import (
    DEFAULT_METRICS,
    METRICS,
    MetricSpec,
    check_specs,
    direction_of,
    require_known,
)


def test_the_default_metrics_are_the_ten_in_their_order():
    assert DEFAULT_METRICS == (
        "mse",
        "rmse",
        "mae",
        "mape",
        "r2",
        "aic",
        "bic",
        "pearson_r",
        "spearman_r",
        "complexity",
    )
    require_known(DEFAULT_METRICS)


def test_directions_and_bounds():
    maximised = {name for name, info in METRICS.items() if info.direction == "maximize"}
    assert maximised == {"r2", "pearson_r", "spearman_r"}
    assert (METRICS["r2"].lower, METRICS["r2"].upper) == (-math.inf, 1.0)
    assert (METRICS["pearson_r"].lower, METRICS["pearson_r"].upper) == (-1.0, 1.0)
    assert (METRICS["aic"].lower, METRICS["aic"].upper) == (-math.inf, math.inf)
    assert (METRICS["rmse"].lower, METRICS["rmse"].upper) == (0.0, math.inf)


def test_every_unknown_name_is_listed_with_a_suggestion():
    with pytest.raises(MetricError) as caught:
        require_known(["rsme", "R2", "r2", "qqq", "r2", "r2"])
    lines = str(caught.value).splitlines()
    assert lines[0] == "unknown metric 'rsme' (did you mean 'rmse'?)"
    assert lines[1] == "unknown metric 'R2' (did you mean 'r2'?)"
    assert lines[2].startswith("unknown metric 'qqq'; known metrics: mse, rmse")
    assert lines[3] == "metric 'r2' is listed twice; keep one"
    assert len(lines) == 4


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        METRICS["mine"] = METRICS["mse"]


def test_a_spec_needs_a_name_only():
    spec = decode(MetricSpec, {"name": "rmse"}, "task.toml")
    assert (spec.direction, spec.aggregation) == (None, "mean")
    assert direction_of(spec) == "minimize"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, "name: required"),
        ({"name": 3}, "name"),
        ({"name": "r2", "agregation": "mean"}, "did you mean 'aggregation'"),
        ({"name": "r2", "aggregation": "average"}, "aggregation"),
        ({"name": "r2", "direction": "up"}, "direction"),
    ],
)
def test_a_spec_is_read_strictly(raw, message):
    with pytest.raises(FormatError, match=message):
        decode(MetricSpec, raw, "task.toml")


def test_a_declaration_may_not_contradict_the_metric():
    check_specs([MetricSpec(name="r2", direction="maximize"), MetricSpec(name="mse")])
    with pytest.raises(MetricError) as caught:
        check_specs([MetricSpec(name="r2", direction="minimize"), MetricSpec(name="mze")])
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("unknown metric 'mze'")
    assert lines[1].startswith("metric 'r2': its direction is 'maximize', not 'minimize'")


def test_a_metric_from_elsewhere_says_its_direction():
    assert direction_of(MetricSpec(name="rollout_rmse", direction="minimize")) == "minimize"
    with pytest.raises(MetricError, match="needs a direction"):
        direction_of(MetricSpec(name="rollout_rmse"))

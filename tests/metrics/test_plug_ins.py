"""Packages bring evaluators by entry points."""

from __future__ import annotations

import sys

import pytest

from srh.metrics import Example, MetricRegistry, MetricSpec, Surroundings, measure_example
from srh.metrics.catalogue import plug_ins

MODULE = '''
from srh.metrics import EvaluatorInfo, Range, Score


def shorter(example, context, bundle):
    """Share of the reference's length that the output saves."""
    if example.output is None or example.reference is None:
        return Score.non_evaluable(context.metric, "no_output", "nothing to compare")
    return Score.scored(context.metric, 1 - len(example.output) / len(example.reference))


INFO = EvaluatorInfo(
    name="{name}", version=3, profile="{profile}", function=shorter, range=Range(upper=1.0),
    direction="maximize", lens="reference",
)
NOTHING = 42
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Put a package with an entry point on the path, as an installer would."""

    def make(target="INFO", name="shorter", profile="outputs"):
        (tmp_path / "brevity.py").write_text(
            MODULE.replace("{name}", name).replace("{profile}", profile)
        )
        info = tmp_path / "brevity-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: brevity\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[srh.metrics]\nshorter = brevity:{target}\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        plug_ins.cache_clear()

    yield make
    plug_ins.cache_clear()
    sys.modules.pop("brevity", None)


AROUND = Surroundings(profile="outputs", evidence=frozenset({"output", "reference"}))


def test_an_evaluator_of_a_package_is_a_metric_like_any_other(package):
    package()
    registry = MetricRegistry([MetricSpec(name="shorter")], AROUND).require()
    (metric,) = registry.metrics
    assert (metric.spec.evaluator, metric.info.origin) == ("shorter@3", "brevity")
    assert registry.packages == ["brevity"], "its version is recorded with every result"
    (score,) = measure_example(metric, Example("e", None, "ab", "abcd"))
    assert score.value == 0.5


def test_its_version_is_exact_too(package):
    package()
    registry = MetricRegistry([MetricSpec(name="mine", evaluator="shorter@1")], AROUND)
    assert [str(problem) for problem in registry.problems] == [
        "metrics[0].evaluator: there is no 'shorter@1'; shorter has version 3 (exact_version)"
    ]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ({"target": "MISSING"}, "cannot be loaded: module 'brevity' has no attribute 'MISSING'"),
        ({"target": "NOTHING"}, "must be an EvaluatorInfo of the profile 'outputs'"),
        ({"profile": "regression"}, "must be an EvaluatorInfo of the profile 'outputs'"),
        ({"name": "exact_match"}, "the name 'exact_match' is taken"),
    ],
)
def test_a_package_that_is_wrong_is_named(package, made, message):
    package(**made)
    registry = MetricRegistry([MetricSpec(name="shorter")], AROUND)
    (problem,) = registry.problems
    assert str(problem).startswith("metrics[0].evaluator: brevity: entry point 'shorter'")
    assert message in str(problem)
    assert problem.rule == "plug_in"

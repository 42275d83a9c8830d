"""What a task may declare about metrics, and every rule that the registry keeps."""

from __future__ import annotations

import pytest

from srh.errors import FormatError, MetricError
from srh.formats import decode
from srh.metrics import (
    CLASSIFICATION_METRICS,
    DEFAULT_METRICS,
    METRICS,
    Floor,
    MetricRegistry,
    MetricSpec,
    Range,
    Surroundings,
    in_order,
    require_known,
)

OUTPUTS = Surroundings(profile="outputs", evidence=frozenset({"output", "reference"}))


def problems(*specs, around=OUTPUTS):
    return [str(problem) for problem in MetricRegistry(specs, around).problems]


def exact(**fields):
    return MetricSpec(**({"name": "exact_match"} | fields))


def judged(**fields):
    return MetricSpec(**({"name": "judge_score", "range": Range(1.0, 5.0)} | fields))


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
    assert tuple(MetricRegistry(()).require().columns) == DEFAULT_METRICS
    classes = Surroundings(profile="classification")
    assert tuple(MetricRegistry((), classes).require().columns) == CLASSIFICATION_METRICS
    assert CLASSIFICATION_METRICS == (
        "accuracy",
        "balanced_accuracy",
        "f1",
        "log_loss",
        "roc_auc",
    )


def test_the_canonical_ids_of_the_specification_are_there():
    ids = {info.id for info in METRICS.values()}
    assert ids >= {
        "exact_match@1",
        "set_overlap@1",
        "field_presence@1",
        "structural_shape@1",
        "judge_score@1",
        "trajectory_shape@1",
        "numeric_match@1",
        "normalized_match@1",
        "symbolic_equivalence@1",
        "nrmse@1",
        "max_error@1",
    }
    assert "answer_nonempty" not in METRICS


def test_lenses_are_those_of_the_specification():
    lenses = {name: METRICS[name].lens for name in METRICS if METRICS[name].profile == "outputs"}
    assert lenses["exact_match"] == lenses["set_overlap"] == "reference"
    assert lenses["field_presence"] == lenses["structural_shape"] == "non_reference"
    assert lenses["trajectory_shape"] == "non_reference"
    assert lenses["judge_score"] is None


def test_directions_and_ranges():
    regression = {name: info for name, info in METRICS.items() if info.profile == "regression"}
    maximised = {name for name, info in regression.items() if info.direction == "maximize"}
    assert maximised == {"r2", "pearson_r", "spearman_r"}
    assert METRICS["r2"].range == Range(upper=1.0)
    assert METRICS["pearson_r"].range == Range(-1.0, 1.0)
    assert METRICS["aic"].range == Range()
    assert METRICS["rmse"].range == Range(lower=0.0)


def test_a_half_open_range_prints_as_mathematics_writes_it():
    assert str(Range(upper=1.0)) == "(-∞, 1]"
    assert 1.0 in Range(upper=1.0)
    assert -1e300 in Range(upper=1.0)
    assert 1.0000001 not in Range(upper=1.0)
    assert Range(upper=1.0).holds(Range(0.0, 1.0))
    assert not Range(0.0, 1.0).holds(Range(upper=1.0))


def test_every_unknown_name_is_listed_with_a_suggestion():
    with pytest.raises(MetricError) as caught:
        require_known(["rsme", "R2", "r2", "qqq", "r2", "r2"], DEFAULT_METRICS)
    lines = str(caught.value).splitlines()
    assert lines[0] == "unknown metric 'rsme' (did you mean 'rmse'?)"
    assert lines[1] == "unknown metric 'R2' (did you mean 'r2'?)"
    assert lines[2].startswith("unknown metric 'qqq'; known metrics: mse, rmse")
    assert lines[3] == "metric 'r2' is listed twice; keep one"
    assert len(lines) == 4


def test_the_table_cannot_be_changed():
    with pytest.raises(TypeError):
        METRICS["mine"] = METRICS["mse"]


def test_a_spec_needs_a_name_only_and_takes_the_rest_from_its_evaluator():
    spec = decode(MetricSpec, {"name": "rmse"}, "task.toml")
    registry = MetricRegistry([spec]).require()
    complete = registry.columns["rmse"].spec
    assert complete.evaluator == "rmse@1"
    assert (complete.version, complete.lens, complete.granularity) == (1, "reference", "set")
    assert (complete.score_type, complete.direction, complete.how) == (
        "continuous",
        "minimize",
        "mean",
    )
    assert complete.range == Range(lower=0.0)
    assert complete.required_evidence == ["predictions", "reference"]
    assert (complete.authority, complete.data_policy) == ("informational", "local")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ({}, "name: required"),
        ({"name": 3}, "name"),
        ({"name": "r2", "agregation": "mean"}, "did you mean 'aggregation'"),
        ({"name": "r2", "aggregation": "average"}, "aggregation"),
        ({"name": "r2", "direction": "up"}, "direction"),
        ({"name": "r2", "lens": "human"}, "lens: 'human' is not one of"),
        ({"name": "r2", "range": {"lowr": 1}}, "range.lowr: unknown field"),
        ({"name": "r2", "authority": "gate"}, "authority: 'gate' is not one of"),
        ({"name": "r2", "required_evidence": ["judge"]}, r"required_evidence\[0\]"),
        ({"name": "r2", "floor": {"value": 0}}, "floor.name: required"),
    ],
)
def test_a_spec_is_read_strictly(raw, message):
    with pytest.raises(FormatError, match=message):
        decode(MetricSpec, raw, "task.toml")


# Each rule: declarations that break it alone, and the one line that says so.
RULES = [
    (
        [exact(), exact()],
        "metrics[1].name: metric 'exact_match' is listed twice; keep one (unique_name)",
    ),
    (
        [exact(), MetricSpec(name="again", evaluator="exact_match@1", emits=["exact_match"])],
        "metrics[1].emits: the score name 'exact_match' is used twice (unique_emitted)",
    ),
    (
        [exact(floor=Floor(name="exact_match", value=0.0))],
        "metrics[0].emits: the score name 'exact_match' is used twice (unique_emitted)",
    ),
    (
        [MetricSpec(name="two words", evaluator="exact_match")],
        "metrics[0].name: 'two words': use letters, digits, '.', '_' and '-', at most 60 "
        "(name_form)",
    ),
    (
        [MetricSpec(name="exact_mach")],
        "metrics[0].name: unknown metric 'exact_mach' (did you mean 'exact_match'?) "
        "(known_evaluator)",
    ),
    (
        [MetricSpec(name="mine", evaluator="exact_mach@1")],
        "metrics[0].evaluator: unknown evaluator 'exact_mach@1' (did you mean 'exact_match'?) "
        "(known_evaluator)",
    ),
    (
        [MetricSpec(name="mine", evaluator="exact_match@2")],
        "metrics[0].evaluator: there is no 'exact_match@2'; exact_match has version 1 "
        "(exact_version)",
    ),
    (
        [exact(version=2)],
        "metrics[0].version: there is no version 2 of exact_match; it has version 1 "
        "(exact_version)",
    ),
    (
        [exact(lens="non_reference")],
        "metrics[0].lens: is non_reference, but exact_match@1 has reference; leave it out "
        "(evaluator_lens)",
    ),
    (
        [exact(profile="regression")],
        "metrics[0].profile: is regression, but exact_match@1 has outputs; leave it out "
        "(evaluator_profile)",
    ),
    (
        [exact(score_type="continuous")],
        "metrics[0].score_type: is continuous, but exact_match@1 has binary; leave it out "
        "(evaluator_score_type)",
    ),
    (
        [MetricSpec(name="set_overlap", range=Range(0.0, 2.0))],
        "metrics[0].range: is [0, 2], but set_overlap@1 has [0, 1]; leave it out (evaluator_range)",
    ),
    (
        [exact(direction="minimize")],
        "metrics[0].direction: is minimize, but exact_match@1 has maximize; leave it out "
        "(evaluator_direction)",
    ),
    (
        [exact(granularity="set")],
        "metrics[0].granularity: exact_match@1 measures call, step, trajectory, session, not set "
        "(evaluator_granularity)",
    ),
    (
        [exact(emits=["one", "two"])],
        "metrics[0].emits: exact_match@1 returns 1 score, and 2 are named (evaluator_emits)",
    ),
    (
        [judged(data_policy="local", required_evidence=[])],
        "metrics[0].data_policy: is local, but judge_score@1 needs recorded "
        "(evaluator_data_policy)",
    ),
    (
        [judged(score_type="categorical", aggregation="none", required_evidence=[])],
        "metrics[0].score_type: is categorical, but judge_score@1 has continuous; leave it out "
        "(evaluator_score_type)",
    ),
    (
        [MetricSpec(name="set_overlap", aggregation="rate")],
        "metrics[0].aggregation: a rate is that of ones: binary scores have one (rate_of_binary)",
    ),
    (
        [judged(range=Range(5.0, 1.0), required_evidence=[])],
        "metrics[0].range: lower must be below upper in [5, 1] (range_order)",
    ),
    (
        [judged(range=None, required_evidence=[])],
        "metrics[0].range: a judge scores on an explicit scale: give lower and upper (scale)",
    ),
    (
        [exact(threshold=1.5)],
        "metrics[0].threshold: 1.5 lies outside the range [0, 1] (threshold_in_range)",
    ),
    (
        [exact(threshold=0.5, aggregation="none")],
        "metrics[0].threshold: there is no value that it could be compared with "
        "(threshold_of_value)",
    ),
    (
        [exact(authority="gating", approver="A. Author")],
        "metrics[0].threshold: a gating metric needs one (gating_threshold)",
    ),
    (
        [exact(authority="gating", threshold=0.5, approver=" ")],
        "metrics[0].approver: a gating metric needs one: who answers for it? (gating_approver)",
    ),
    (
        [judged(authority="gating", threshold=3.0, approver="A", required_evidence=[])],
        "metrics[0].direction: a gating metric needs one (gating_direction)",
    ),
    (
        [exact(authority="gating", threshold=0.5, approver="A", data_policy="external")],
        "metrics[0].data_policy: external cannot decide a gate; use local or recorded "
        "(gating_data_policy)",
    ),
    (
        [exact(approver="A. Author")],
        "metrics[0].approver: only a gating metric has one (approver_of_gate)",
    ),
    (
        [exact(prerequisites=["set_overlop"]), MetricSpec(name="set_overlap")],
        "metrics[0].prerequisites: there is no metric 'set_overlop' (did you mean 'set_overlap'?) "
        "(known_prerequisite)",
    ),
    (
        [
            exact(prerequisites=["set_overlap"]),
            MetricSpec(name="set_overlap", prerequisites=["exact_match"]),
            MetricSpec(name="structural_shape", prerequisites=["exact_match"]),
        ],
        "metrics[0].prerequisites: they need each other in a circle: exact_match, set_overlap "
        "(no_cycle)",
    ),
    (
        [exact(prerequisites=["exact_match"])],
        "metrics[0].prerequisites: they need each other in a circle: exact_match (no_cycle)",
    ),
    (
        [judged()],
        "metrics[0].required_evidence: this task offers no judge_evidence (evidence_available)",
    ),
    (
        [MetricSpec(name="trajectory_shape")],
        "metrics[0].required_evidence: this task offers no members (evidence_available)",
    ),
    (
        [exact(coverage=0.0)],
        "metrics[0].coverage: must lie above 0 and be at most 1, not 0 (coverage)",
    ),
    (
        [MetricSpec(name="set_overlap", floor=Floor(name="floored", value=-1.0))],
        "metrics[0].floor.value: -1 lies outside the range [0, 1] (floor_in_range)",
    ),
    (
        [exact(floor=Floor(name="floored", value=0.5))],
        "metrics[0].floor.value: binary scores are 0 or 1 (floor_in_range)",
    ),
    (
        [exact(aggregation="none", floor=Floor(name="floored", value=0.0))],
        "metrics[0].floor: needs one score per example and an aggregation (floor)",
    ),
    (
        [exact(parameters={"case": True})],
        "metrics[0].parameters.case: unknown field (parameters)",
    ),
    (
        [MetricSpec(name="normalized_match", parameters={"cas": True})],
        "metrics[0].parameters.cas: unknown field (did you mean 'case'?) (parameters)",
    ),
    (
        [MetricSpec(name="field_presence", parameters={"required_fields": []})],
        "metrics[0].parameters.required_fields: required_fields must be a list of at least one "
        "name (parameters)",
    ),
    (
        [MetricSpec(name="field_presence")],
        "metrics[0].parameters.required_fields: required field is missing (parameters)",
    ),
    (
        [MetricSpec(name="numeric_match", parameters={"absolute": -1.0})],
        "metrics[0].parameters.absolute: must be a finite number, 0 or more (parameters)",
    ),
    (
        [MetricSpec(name="set_overlap", parameters={"items": "words"})],
        'metrics[0].parameters.items: must be "tokens" or "list" (parameters)',
    ),
    (
        [MetricSpec(name="symbolic_equivalence", parameters={"variables": []})],
        "metrics[0].parameters.variables: must name at least one column (parameters)",
    ),
]


@pytest.mark.parametrize(("specs", "line"), RULES)
def test_each_rule_has_its_line(specs, line):
    assert problems(*specs) == [line]


def test_a_list_without_mistakes_has_no_problems():
    assert (
        problems(
            exact(threshold=0.5, authority="gating", approver="A", coverage=0.9),
            MetricSpec(
                name="words",
                evaluator="set_overlap@1",
                floor=Floor(name="words_or_none", value=0.0),
            ),
            judged(required_evidence=[], aggregation="median", prerequisites=["words"]),
        )
        == []
    )


HOST = "def measure(example, context, bundle):\n    return None\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "evaluators").mkdir()
    (tmp_path / "evaluators" / "mine.py").write_text(HOST)
    (tmp_path / "broken.py").write_text("def measure(:\n")
    (tmp_path / "outside").symlink_to("/etc")
    (tmp_path / "link.py").symlink_to(tmp_path / "evaluators" / "mine.py")
    return tmp_path


def host(ref, **fields):
    given = {"name": "mine", "evaluator": ref, "score_type": "binary"}
    return MetricSpec(**(given | fields))


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        (host("evaluators/mine.py"), "must be path/to/file.py:function (host_path)"),
        (host("evaluators/mine.txt:measure"), "must be path/to/file.py:function (host_path)"),
        (host("../mine.py:measure"), "the file must stay inside the task's folder, not"),
        (host("/etc/mine.py:measure"), "the file must stay inside the task's folder, not"),
        (host("evaluators/mine.py:not a name"), "cannot be the name of a function (host_path)"),
        (host("evaluators/mine.py:class"), "cannot be the name of a function (host_path)"),
        (host("evaluators/none.py:measure"), "does not exist (known_evaluator)"),
        (
            host("evaluators/mine.py:mesure"),
            "defines no function 'mesure' (functions there: measure) (known_evaluator)",
        ),
        (host("broken.py:measure"), "broken.py is no Python (invalid syntax"),
        (host("link.py:measure"), "a link on the way"),
        (host("outside/mine.py:measure"), "a link on the way"),
        (
            host("evaluators/mine.py:measure", score_type=None),
            "metrics[0].score_type: say what a host evaluator's scores are (score_type)",
        ),
        (
            host("evaluators/mine.py:measure", score_type="categorical"),
            "metrics[0].aggregation: categories have no mean; use none (no_mean_of_categories)",
        ),
        (
            host(
                "evaluators/mine.py:measure",
                score_type="categorical",
                aggregation="none",
                threshold=1.0,
            ),
            "metrics[0].threshold: there is no value that it could be compared with",
        ),
        (
            host("evaluators/mine.py:measure", range=Range(0.0, 2.0)),
            "metrics[0].range: binary scores are 0 or 1, so that [0, 2] cannot be (binary_range)",
        ),
    ],
)
def test_what_is_wrong_with_a_host_evaluator_shows_before_it_runs(folder, spec, line):
    around = Surroundings(profile="outputs", evidence=OUTPUTS.evidence, folder=folder)
    found = problems(spec, around=around)
    assert len(found) == 1, found
    assert line in found[0]


def test_a_host_evaluator_may_emit_several_names(folder):
    around = Surroundings(profile="outputs", evidence=OUTPUTS.evidence, folder=folder)
    spec = host("evaluators/mine.py:measure", emits=["one", "two"])
    registry = MetricRegistry([spec], around).require()
    assert list(registry.columns) == ["one", "two"]
    assert registry.columns["two"].evaluator == "evaluators/mine.py:measure"


def test_host_evaluators_measure_outputs_only(folder):
    found = problems(host("evaluators/mine.py:measure"), around=Surroundings(folder=folder))
    assert found == [
        "metrics[0].evaluator: host evaluators measure outputs, and this task has none (host_path)"
    ]


def test_metrics_of_another_profile_are_refused():
    assert problems(MetricSpec(name="rmse")) == [
        "metrics[0].name: this task measures outputs, and rmse@1 measures regression "
        "(task_profile)",
    ]
    found = problems(MetricSpec(name="same", evaluator="exact_match@1"), around=Surroundings())
    assert found == [
        "metrics[0].evaluator: this task measures regression, and exact_match@1 measures outputs "
        "(task_profile)"
    ]


def test_a_set_of_folds_has_neither_coverage_nor_floor():
    spec = MetricSpec(name="rmse", coverage=0.5, floor=Floor(name="floored", value=9.0))
    assert problems(spec, around=Surroundings()) == [
        "metrics[0].floor: needs one score per example and an aggregation (floor)",
        "metrics[0].coverage: every fold must have a score; leave it out (coverage)",
    ]


def test_a_metric_that_is_asked_for_needs_what_only_formulas_have():
    models = Surroundings(evidence=frozenset({"predictions", "reference"}))
    assert problems(MetricSpec(name="aic"), around=models) == [
        "metrics[0].required_evidence: this task offers no parameter_count (evidence_available)"
    ]
    assert MetricRegistry((), models).problems == [], "the default ones simply have no value"


def test_all_mistakes_come_in_one_list():
    found = problems(
        exact(threshold=2.0),
        exact(),
        MetricSpec(name="set_overlop"),
        MetricSpec(name="words", evaluator="set_overlap@3"),
        judged(range=None),
        MetricSpec(name="structural_shape", prerequisites=["nothing"]),
    )
    assert len(found) == 7, found


def test_prerequisites_come_first():
    registry = MetricRegistry(
        [exact(prerequisites=["set_overlap"]), MetricSpec(name="set_overlap")], OUTPUTS
    )
    assert [metric.spec.name for metric in in_order(registry.metrics)] == [
        "set_overlap",
        "exact_match",
    ]


def test_require_raises_with_one_line_per_mistake():
    with pytest.raises(MetricError) as caught:
        MetricRegistry([exact(threshold=2.0), exact()], OUTPUTS).require()
    assert len(str(caught.value).splitlines()) == 2

"""The built-in evaluators of outputs: edge cases decided, and no false number for any input."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srh.engine.equivalence import Equivalence
from srh.metrics import (
    METRICS,
    EvalUnit,
    EvidenceBundle,
    Example,
    JudgeEvidence,
    Member,
    Metric,
    MetricSpec,
    Range,
    complete,
    context_of,
    measure_example,
    output_digest,
)

NOTHING = EvidenceBundle()
NAN = math.nan


def metric(name, **fields):
    spec = MetricSpec(name=name, **fields)
    return Metric(complete(spec, METRICS[name]), METRICS[name])


def ask(name, example, bundle=NOTHING, **fields):
    """Call a built-in evaluator as it is, without any check of what it returns."""
    one = metric(name, **fields)
    return one.info.function(example, context_of(one.spec), bundle)


def answered(output, reference=None, unit=None):
    return Example("e", None, output, reference, unit or EvalUnit())


def outcome(score):
    return score.value if score.status == "scored" else (score.status, score.code)


NO_OUTPUT = ("non_evaluable", "no_output")
NO_REFERENCE = ("non_evaluable", "no_reference")
BAD_OUTPUT = ("non_evaluable", "bad_output")
BAD_REFERENCE = ("non_evaluable", "bad_reference")
BAD_CONFIGURATION = ("non_evaluable", "bad_configuration")


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        ("a", "a", 1.0),
        ("a", "b", 0.0),
        ("a", "A", 0.0),
        ("é", "e\u0301", 0.0),
        ("", "", 1.0),
        (1, 1.0, 1.0),
        (0.0, -0.0, 1.0),
        (True, 1, 0.0),
        (1, True, 0.0),
        (False, 0, 0.0),
        (True, True, 1.0),
        (False, False, 1.0),
        ("1", 1, 0.0),
        (NAN, NAN, 0.0),
        ([1, 2], [1, 2], 1.0),
        ([1, 2], [2, 1], 0.0),
        ([1], [True], 0.0),
        ([], [], 1.0),
        ([], {}, 0.0),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1.0}, 1.0),
        ({"a": None}, {}, 0.0),
        ({"a": [True]}, {"a": [1]}, 0.0),
        (2**53, 2**53 + 1, 0.0),
        (None, "a", NO_OUTPUT),
        ("a", None, NO_REFERENCE),
        (None, None, NO_REFERENCE),
    ],
)
def test_exact_match(output, reference, expected):
    assert outcome(ask("exact_match", answered(output, reference))) == expected


@pytest.mark.parametrize(
    ("output", "reference", "items", "expected"),
    [
        ("a b", "b a", "tokens", 1.0),
        ("a a b", "a b", "tokens", 1.0),
        ("a b c", "b c d", "tokens", 0.5),
        ("a", "b", "tokens", 0.0),
        ("", "", "tokens", 1.0),
        (" \n", "", "tokens", 1.0),
        ("", "a", "tokens", 0.0),
        ("a\u00a0b", "a b", "tokens", 1.0),
        (["a"], ["a"], "tokens", BAD_REFERENCE),
        (["a"], "a", "tokens", BAD_OUTPUT),
        (1, "1", "tokens", BAD_OUTPUT),
        ([1, 2, 2], [2, 1], "list", 1.0),
        ([1], [True], "list", 0.0),
        ([1], [1.0], "list", 1.0),
        ([[1]], [[True]], "list", 0.0),
        ([{"a": 1}], [{"a": 1.0}], "list", 1.0),
        ([[1, 2]], [[2, 1]], "list", 0.0),
        ([], [], "list", 1.0),
        ([None], [], "list", 0.0),
        ("a b", ["a"], "list", BAD_OUTPUT),
        (["a"], "a", "list", BAD_REFERENCE),
        ("a", "a", "words", BAD_CONFIGURATION),
        (None, "a", "tokens", NO_OUTPUT),
        ("a", None, "tokens", NO_REFERENCE),
    ],
)
def test_set_overlap(output, reference, items, expected):
    score = ask("set_overlap", answered(output, reference), parameters={"items": items})
    assert outcome(score) == expected


@pytest.mark.parametrize(
    ("output", "fields", "expected"),
    [
        ({"a": 1, "b": 2}, ["a", "b"], 1.0),
        ({"a": 1}, ["a", "b"], 0.5),
        ({"a": None}, ["a"], 0.0),
        ({"a": False, "b": 0, "c": ""}, ["a", "b", "c"], 1.0),
        ({}, ["a"], 0.0),
        ([["a", 1]], ["a"], BAD_OUTPUT),
        ("a", ["a"], BAD_OUTPUT),
        (None, ["a"], NO_OUTPUT),
        ({"a": 1}, [], BAD_CONFIGURATION),
        ({"a": 1}, "a", BAD_CONFIGURATION),
        ({"a": 1}, ["a", "a"], BAD_CONFIGURATION),
        ({"a": 1}, [1], BAD_CONFIGURATION),
        (None, [], BAD_CONFIGURATION),
    ],
)
def test_field_presence(output, fields, expected):
    score = ask("field_presence", answered(output), parameters={"required_fields": fields})
    assert outcome(score) == expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ({}, 1.0),
        ({"a": None}, 1.0),
        ([], 0.0),
        ("{}", 0.0),
        (0, 0.0),
        (False, 0.0),
        (NAN, 0.0),
        (None, NO_OUTPUT),
    ],
)
def test_structural_shape(output, expected):
    assert outcome(ask("structural_shape", answered(output))) == expected


def unit(kind, names, outputs):
    members = tuple(
        Member(name, outputs[index] if index < len(outputs) else None)
        for index, name in enumerate(names)
    )
    return EvalUnit(kind, members, len(outputs))


@pytest.mark.parametrize(
    ("kind", "names", "outputs", "expected"),
    [
        ("trajectory", "ab", [1, 2], 1.0),
        ("trajectory", "ab", [1], 0.5),
        ("trajectory", "ab", [None, 0], 0.5),
        ("session", "ab", [], 0.0),
        ("session", "abcd", [False, "", [], {}], 1.0),
        ("step", "a", [NAN], 1.0),
        ("trajectory", "ab", [1, 2, 3], ("error", "too_many_outputs")),
        ("trajectory", "ab", [None, None, None], ("error", "too_many_outputs")),
        ("trajectory", "", [], ("non_evaluable", "no_members")),
        ("trajectory", "", [1], ("non_evaluable", "no_members")),
        ("call", "", [], ("non_evaluable", "no_members")),
    ],
)
def test_trajectory_shape(kind, names, outputs, expected):
    score = ask("trajectory_shape", answered(None, unit=unit(kind, names, outputs)))
    assert outcome(score) == expected


@pytest.mark.parametrize(
    ("output", "reference", "settings", "expected"),
    [
        (1, 1, {}, 1.0),
        (1.0, 1, {}, 1.0),
        ("1", 1, {}, 1.0),
        (" 1e3 ", 1000, {}, 1.0),
        ("1/3", "2/6", {}, 1.0),
        ("1", 1, {"text": False}, 0.0),
        (1, "1", {"text": False}, BAD_REFERENCE),
        (0.1, "1/10", {}, 1.0),
        (1.1, 1, {}, 0.0),
        (1.1, 1, {"absolute": 0.1}, 1.0),
        (1.1000001, 1, {"absolute": 0.1}, 0.0),
        (110, 100, {"relative": 0.1}, 1.0),
        (-110, -100, {"relative": 0.1}, 1.0),
        (111, 100, {"relative": 0.1}, 0.0),
        (1e-9, 0, {"relative": 0.5}, 0.0),
        (2**53 + 1, 2**53, {}, 0.0),
        (1e308, -1e308, {"relative": 1.0}, 0.0),
        (True, 1, {}, 0.0),
        (1, True, {}, BAD_REFERENCE),
        ("one", 1, {}, 0.0),
        ("1_000", 1000, {}, 0.0),
        ("١", 1, {}, 0.0),
        ("1e999999999", 1, {}, 0.0),
        ("1" * 500, 1, {}, 0.0),
        ("nan", 1, {}, 0.0),
        ("1/0", 1, {}, 0.0),
        ([1], 1, {}, 0.0),
        (NAN, 1, {}, 0.0),
        (math.inf, 1, {}, 0.0),
        (1, NAN, {}, BAD_REFERENCE),
        (1, "one", {}, BAD_REFERENCE),
        (1, 1, {"absolute": -1}, BAD_CONFIGURATION),
        (1, 1, {"relative": True}, BAD_CONFIGURATION),
        (1, 1, {"text": 1}, BAD_CONFIGURATION),
        (None, 1, {}, NO_OUTPUT),
        (1, None, {}, NO_REFERENCE),
    ],
)
def test_numeric_match(output, reference, settings, expected):
    score = ask("numeric_match", answered(output, reference), parameters=settings)
    assert outcome(score) == expected


@pytest.mark.parametrize(
    ("output", "reference", "settings", "expected"),
    [
        ("Yes", "yes", {}, 1.0),
        ("Yes", "yes", {"case": True}, 0.0),
        ("STRASSE", "straße", {}, 1.0),
        ("é", "e\u0301", {}, 1.0),
        ("ﬁve", "five", {}, 1.0),
        (" a \n b", "a b", {}, 1.0),
        ("a  b", "a b", {"white_space": True}, 0.0),
        ("ab", "a b", {}, 0.0),
        ("", "", {}, 1.0),
        (1, "1", {}, 1.0),
        (1.0, 1, {}, 1.0),
        (True, "true", {}, 0.0),
        (["a"], "a", {}, 0.0),
        ("a", ["a"], {}, BAD_REFERENCE),
        ("a", True, {}, BAD_REFERENCE),
        (NAN, "nan", {}, 0.0),
        ("a", "a", {"case": "no"}, BAD_CONFIGURATION),
        (None, "a", {}, NO_OUTPUT),
        ("a", None, {}, NO_REFERENCE),
    ],
)
def test_normalized_match(output, reference, settings, expected):
    score = ask("normalized_match", answered(output, reference), parameters=settings)
    assert outcome(score) == expected


SCALE = Range(1.0, 5.0)


def judgement(value=4, status="ok", **fields):
    given = {
        "example": "e",
        "metric": "judge_score",
        "output": output_digest("text"),
        "status": status,
        "value": value,
        "model": "judge-1",
        "rubric": "sha256:r",
        "prompt": "sha256:p",
        "ref": "judge_evidence.jsonl:1",
    }
    return JudgeEvidence(**(given | fields))


BLOCKED = ("blocked", "no_judge_evidence")
UNPARSEABLE = ("error", "unparseable")


@pytest.mark.parametrize(
    ("judgements", "expected"),
    [
        ([judgement(4)], 4.0),
        ([judgement("4.5")], 4.5),
        ([judgement(" 3 ")], 3.0),
        ([judgement(1), judgement(5)], 3.0),
        ([], BLOCKED),
        ([judgement(None, "missing")], BLOCKED),
        ([judgement(None, "timeout")], ("blocked", "judge_timeout")),
        ([judgement(None, "provider_error")], ("blocked", "judge_provider_error")),
        ([judgement(4), judgement(None, "timeout")], ("blocked", "judge_timeout")),
        ([judgement(4), judgement(None, "missing")], ("blocked", "judge_missing")),
        ([judgement(4, "malformed")], UNPARSEABLE),
        ([judgement("four")], UNPARSEABLE),
        ([judgement(True)], UNPARSEABLE),
        ([judgement(None)], UNPARSEABLE),
        ([judgement({"score": 4})], UNPARSEABLE),
        ([judgement("nan")], UNPARSEABLE),
        ([judgement(10**400)], UNPARSEABLE),
        ([judgement("4_0")], UNPARSEABLE),
        ([judgement(0)], ("error", "off_scale")),
        ([judgement(5.1)], ("error", "off_scale")),
    ],
)
def test_judge_score(judgements, expected):
    bundle = EvidenceBundle(tuple(judgements))
    assert outcome(ask("judge_score", answered("text"), bundle, range=SCALE)) == expected


def test_a_judgement_that_is_not_required_leaves_no_score_either():
    score = ask("judge_score", answered("text"), range=SCALE, required_evidence=[])
    assert outcome(score) == ("non_evaluable", "no_judge_evidence")


def test_a_judge_without_a_scale_scores_nothing():
    score = ask("judge_score", answered("text"), EvidenceBundle((judgement(4),)))
    assert outcome(score) == BAD_CONFIGURATION


def test_repeated_judgements_are_kept_apart_with_their_spread():
    ones = (judgement(2), judgement(4, ref="judge_evidence.jsonl:2"), judgement(3, ref="x"))
    score = ask("judge_score", answered("text"), EvidenceBundle(ones), range=SCALE)
    assert (score.value, score.spread) == (3.0, 1.0)
    assert score.evidence == ("judge_evidence.jsonl:1", "judge_evidence.jsonl:2", "x")
    one = ask("judge_score", answered("text"), EvidenceBundle(ones[:1]), range=SCALE)
    assert one.spread is None


def equivalence(output, reference, **settings):
    parameters = {"variables": ["x", "y"]} | settings
    return ask("symbolic_equivalence", answered(output, reference), parameters=parameters)


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        (None, "x", NO_OUTPUT),
        ("x", None, NO_REFERENCE),
        ("x +", "x", BAD_OUTPUT),
        ("z", "x", BAD_OUTPUT),
        (1, "x", BAD_OUTPUT),
        ("x", "x +", BAD_REFERENCE),
        ("x", ["x"], BAD_REFERENCE),
        ("(" * 10_000, "x", BAD_OUTPUT),
    ],
)
def test_symbolic_equivalence_of_what_is_no_formula(output, reference, expected):
    assert outcome(equivalence(output, reference)) == expected


def test_symbolic_equivalence_needs_variables():
    assert outcome(equivalence("x", "x", variables=[])) == BAD_CONFIGURATION


@pytest.mark.parametrize(
    ("output", "reference", "expected"),
    [
        ("x + y", "y + x", 1.0),
        ("(x + y)**2", "x**2 + 2*x*y + y**2", 1.0),
        ("x + y + 1e-7", "x + y", 0.0),
        ("sqrt(x**2)", "x", 0.0),
    ],
)
def test_symbolic_equivalence_says_what_the_engine_says(output, reference, expected):
    assert outcome(equivalence(output, reference)) == expected


def test_what_the_engine_leaves_open_has_no_value(monkeypatch):
    """No pair of formulas is sure to stay undecided."""
    undecided = Equivalence("undecided", None, "as it is")
    monkeypatch.setattr("srh.engine.equivalent", lambda reference, output: undecided)
    assert outcome(equivalence("x", "y")) == ("non_evaluable", "undecided")


# Anything that JSON can hold, and some things that it cannot.
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from([b"bytes", 1j, math.inf, 10**400, "1e400", "\ud800", "x + y", object()])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
UNITS = st.builds(
    EvalUnit,
    st.sampled_from(["call", "step", "trajectory", "session"]),
    st.lists(st.builds(Member, st.text(max_size=2), VALUES), max_size=3).map(tuple),
    st.integers(0, 4),
)
EXAMPLES = st.builds(Example, st.just("e"), VALUES, VALUES, VALUES, UNITS)
BUNDLES = st.lists(
    st.builds(
        judgement,
        VALUES,
        st.sampled_from(["ok", "timeout", "provider_error", "malformed", "missing"]),
    ),
    max_size=3,
).map(lambda ones: EvidenceBundle(tuple(ones)))
PARAMETERS = st.dictionaries(
    st.sampled_from(
        ["items", "required_fields", "case", "white_space", "absolute", "relative", "variables"]
    ),
    VALUES | st.sampled_from(["tokens", "list"]) | st.just(["a", "x"]),
    max_size=3,
)
OUTPUT_METRICS = sorted(name for name, info in METRICS.items() if info.profile == "outputs")


@pytest.mark.parametrize("name", OUTPUT_METRICS)
@settings(max_examples=60, deadline=None)
@given(example=EXAMPLES, bundle=BUNDLES, parameters=PARAMETERS)
def test_no_input_makes_a_false_number_or_a_silence(name, example, bundle, parameters):
    one = metric(name, parameters=parameters, **({"range": SCALE} if name == "judge_score" else {}))
    (score,) = measure_example(one, example, bundle)
    assert (score.example, score.evaluator, score.version) == ("e", name, "1")
    if score.status == "scored":
        assert type(score.value) is float
        assert math.isfinite(score.value)
        assert score.value in one.spec.range
        assert score.reason is None
        if one.spec.score_type == "binary":
            assert score.value in (0.0, 1.0)
    else:
        assert score.value is None
        assert score.code
        assert score.message

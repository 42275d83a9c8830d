"""The formats of examples, outputs and a judge's evidence, and what is said of mistakes in them."""

from __future__ import annotations

import json

import pytest

from srh.errors import DataError, FormatError
from srh.examples import judged, offered_evidence, read_examples, read_judgements, read_outputs
from srh.metrics import output_digest


def jsonl(path, *rows):
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)
    )
    return path


@pytest.fixture
def examples(tmp_path):
    return jsonl(
        tmp_path / "examples.jsonl",
        {"id": "a", "input": {"n": 1}, "reference": 1},
        "",
        {"id": "b", "unit": {"kind": "trajectory", "members": ["one", "two"]}},
    )


def test_examples_and_outputs_are_joined_by_id(examples):
    lines = read_examples(examples)
    content = b'{"id": "b", "output": "x", "members": [7]}\n\n{"id": "a", "output": [1]}\n'
    first, second = read_outputs(content, lines, "outputs.jsonl")
    assert (first.id, first.input, first.output, first.reference) == ("a", {"n": 1}, [1], 1)
    assert first.unit.kind == "call"
    assert [(one.id, one.output) for one in second.unit.members] == [("one", 7), ("two", None)]
    assert second.unit.n_given == 1
    assert second.reference is None


def test_an_example_without_a_line_has_no_output(examples):
    first, second = read_outputs(b"", read_examples(examples), "outputs.jsonl")
    assert first.output is None
    assert second.unit.n_given == 0


@pytest.mark.parametrize(
    ("rows", "problems"),
    [
        (['{"id": "a"'], ["line 1: not valid JSON"]),
        (["[]"], ["line 1: Expected `object`"]),
        ([{"id": "a"}, {"id": "a"}], ["line 2: 'a' is on line 1 already"]),
        ([{"id": ""}], ["line 1: id: must have 1 to 200 characters"]),
        (
            [{"id": "a", "refrence": 1}],
            ["line 1: refrence: unknown field (did you mean 'reference'"],
        ),
        (
            [{"input": 1}, {"id": 2}],
            ["line 1: id: required field is missing", "line 2: id: Expected"],
        ),
        (['{"id": "a", "reference": NaN}'], ["line 1: not valid JSON: NaN is not a finite number"]),
        (['{"id": "a", "id": "b"}'], ["line 1: not valid JSON: duplicate key 'id'"]),
        ([{"id": "a", "unit": {"kind": "steps"}}], ["line 1: unit.kind: 'steps' is not one of"]),
        (
            [{"id": "a", "unit": {"members": ["x"]}}],
            ["line 1: unit.members: a call has none; say what kind of unit it is"],
        ),
        (
            [{"id": "a", "unit": {"kind": "step", "members": ["x", "x"]}}],
            ["line 1: unit.members: one is named twice"],
        ),
        (["[" * 100 + "]" * 100], ["line 1: nested too deeply"]),
    ],
)
def test_mistakes_in_examples_are_listed_with_their_lines(tmp_path, rows, problems):
    with pytest.raises(FormatError) as caught:
        read_examples(jsonl(tmp_path / "examples.jsonl", *rows))
    assert len(caught.value.problems) == len(problems)
    for found, expected in zip(caught.value.problems, problems, strict=True):
        assert found.startswith(expected), found


def test_many_mistakes_are_cut_short(tmp_path):
    with pytest.raises(FormatError) as caught:
        read_examples(jsonl(tmp_path / "examples.jsonl", *({"id": "a"} for _ in range(50))))
    assert len(caught.value.problems) == 21
    assert caught.value.problems[-1] == "and 29 more problems"


def test_a_task_needs_an_example(tmp_path):
    with pytest.raises(DataError, match="holds no example"):
        read_examples(jsonl(tmp_path / "examples.jsonl", ""))
    with pytest.raises(DataError, match="does not exist"):
        read_examples(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'{"id": "c"}', "line 1: the task has no example 'c'"),
        (b'{"id": "a"}\n{"id": "a"}', "line 2: 'a' is on line 1 already"),
        (b'{"id": "a", "answer": 1}', "line 1: answer: unknown field"),
        (b'{"id": "a", "output": Infinity}', "line 1: not valid JSON"),
        (b'{"id": "a", "output": 1e999}', "line 1: not valid JSON"),
        (b"\xff", "line 1: not valid JSON"),
        (b"\0", "line 1: not valid JSON"),
    ],
)
def test_mistakes_in_outputs_are_the_trials(examples, content, problem):
    with pytest.raises(FormatError) as caught:
        read_outputs(content, read_examples(examples), "outputs.jsonl")
    assert caught.value.problems[0].startswith(problem)


def judgement(**fields):
    return {
        "example": "a",
        "metric": "kind",
        "output": output_digest([1]),
        "status": "ok",
        "value": 3,
        "model": "m",
        "rubric": "r",
        "prompt": "p",
    } | fields


def test_a_judgement_is_of_one_output(tmp_path, examples):
    path = jsonl(
        tmp_path / "judge_evidence.jsonl",
        judgement(),
        judgement(value=4),
        judgement(output=output_digest([2])),
        judgement(metric="clear"),
    )
    lines = read_examples(examples)
    recorded = read_judgements(path)
    (one, _) = read_outputs(b'{"id": "a", "output": [1]}', lines, "outputs.jsonl")
    found = judged(recorded, "kind", one)
    assert [(each.value, each.ref) for each in found] == [
        (3, "judge_evidence.jsonl:1"),
        (4, "judge_evidence.jsonl:2"),
    ]
    (other, _) = read_outputs(b'{"id": "a", "output": [3]}', lines, "outputs.jsonl")
    assert judged(recorded, "kind", other) == ()


def test_evidence_that_does_not_follow_the_format_is_refused(tmp_path):
    path = jsonl(tmp_path / "judge_evidence.jsonl", judgement(status="fine"), {"example": "a"})
    with pytest.raises(FormatError) as caught:
        read_judgements(path)
    assert caught.value.problems[0].startswith(
        "line 1: status: 'fine' is not one of 'ok', 'timeout'"
    )
    assert "line 2: metric: required field is missing" in caught.value.problems


def test_what_a_task_offers(tmp_path, examples):
    lines = read_examples(examples)
    assert offered_evidence(lines, tmp_path) == {"output", "reference", "members"}
    assert offered_evidence(lines[1:], tmp_path) == {"output", "members"}
    jsonl(tmp_path / "judge_evidence.jsonl", judgement())
    assert "judge_evidence" in offered_evidence(lines, tmp_path)

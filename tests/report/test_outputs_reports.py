"""Tasks of outputs from the command line: tables, gates, comparisons, and what a mistake says."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from outputs import TASK, make_task, make_trial, write_lines
from srh.cli import app
from srh.metrics import output_digest
from srh.report.gates import gates_markdown
from srh.tasks import load_task

ALL = {f"e{n}": n for n in range(10)}
# Nine tenths right, whether one is wrong or the hardest is left out.
WRONG = ALL | {"e9": -1}
LEFT_OUT = {name: value for name, value in ALL.items() if name != "e9"}
HALF = {name: value if value % 2 else -1 for name, value in ALL.items()}


@pytest.fixture
def srh(project, monkeypatch):
    """Run a command in the project and return its result; nothing may be a traceback."""
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("COLUMNS", "250")

    def run(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        return result

    return run


def ranks(result):
    return {one["trial"]: one["rank"] for one in json.loads(result.stdout)["trials"]}


def test_who_leaves_out_the_hardest_ranks_below_who_answers_all_with_the_same_mean(srh, project):
    make_task(project)
    make_trial(project, "answers_all", WRONG)
    make_trial(project, "leaves_out", LEFT_OUT)
    result = srh("eval", "numbers")
    assert result.exit_code == 0
    assert "10 examples, ranked by right (higher is better)" in result.stdout
    table, _, others = result.stdout.partition("not ranked")
    assert "1  answers_all  0.90000" in table
    assert "leaves_out" not in table
    assert (
        "no right: no_output: 1 of 10 examples have no score (no_output 1); first 'e9': the trial "
        "gave no output"
    ) in " ".join(others.split())
    # Where failures count as the floor the numbers are equal; the one without gaps comes first.
    floored = srh("eval", "numbers", "--rank-by", "right_or_zero", "--json")
    assert ranks(floored) == {"answers_all": 1, "leaves_out": 2}


@pytest.mark.parametrize("coverage", ["0.9", "0.5"])
def test_it_ranks_below_even_where_the_task_accepts_the_gap(srh, project, coverage):
    make_task(project, text=TASK.replace("floor =", f"coverage = {coverage}\nfloor ="))
    make_trial(project, "all_right", ALL)
    make_trial(project, "leaves_out", LEFT_OUT)
    result = srh("eval", "numbers")
    assert result.exit_code == 0
    assert ranks(srh("eval", "numbers", "--json")) == {"all_right": 1, "leaves_out": 2}
    note = "leaves_out: right has a score on 9 of 10 examples (no_output 1)"
    assert note in result.stdout, "the gap is told beside the table"
    assert note.replace("_", r"\_") in srh("eval", "numbers", "--markdown").stdout
    rows = {
        row["trial"]: row
        for row in csv.DictReader(io.StringIO(srh("eval", "numbers", "--csv").stdout))
    }
    assert rows["leaves_out"]["right scored"] == "9"
    assert rows["leaves_out"]["right total"] == "10"


GATING = TASK.replace(
    "floor =",
    'threshold = 0.8\nauthority = "gating"\napprover = "A. Author"\nfloor =',
)


def test_a_gate_has_four_verdicts_apart_from_the_measurements(srh, project):
    make_task(project, text=GATING)
    make_trial(project, "good", WRONG)
    assert srh("eval", "numbers", "--gate").exit_code == 0
    make_trial(project, "poor", HALF)
    assert srh("eval", "numbers", "--gate", "poor").exit_code == 1
    make_trial(project, "gap", LEFT_OUT)
    assert srh("eval", "numbers", "gap", "--gate").exit_code == 1
    assert srh("eval", "numbers", "good", "--gate").exit_code == 0, "only who is named is judged"
    result = srh("eval", "numbers", "--gate")
    assert result.exit_code == 1
    measurements, _, gates = result.stdout.partition("gates: trial")
    assert "fail" not in measurements
    lines = [" ".join(line.split()) for line in gates.splitlines()]
    assert "good right pass 0.9 >= 0.8 (10 of 10 scored); approver: A. Author" in lines
    assert "poor right fail 0.5 is not >= 0.8 (10 of 10 scored); approver: A. Author" in lines
    assert any(line.startswith("gap right blocked no_output: 1 of 10 examples") for line in lines)
    assert "gap right_or_zero informational it decides nothing" in lines
    assert srh("eval", "numbers").exit_code == 0, "without --gate nothing is judged"


def test_gates_in_json_and_markdown_and_not_in_csv(srh, project):
    make_task(project, text=GATING)
    make_trial(project, "poor", HALF)
    result = srh("eval", "numbers", "--gate", "--json")
    assert result.exit_code == 1
    gates = json.loads(result.stdout)["gates"]
    assert gates[0]["gate"] == {
        "name": "right",
        "verdict": "fail",
        "reason": "0.5 is not >= 0.8 (10 of 10 scored)",
        "approver": "A. Author",
    }
    markdown = srh("eval", "numbers", "--gate", "--markdown").stdout
    assert "| poor | right | fail |" in markdown
    refused = srh("eval", "numbers", "--gate", "--csv")
    assert refused.exit_code == 2
    assert "CSV has measurements only" in refused.stderr
    assert gates_markdown([]).count("\n") == 3


def test_a_formula_tasks_metric_can_be_a_gate_too(srh, project):
    path = project.tasks / "line" / "task.toml"
    gate = 'authority = "gating"\napprover = "A"\n'
    path.write_text(
        path.read_text() + f'\n[[metrics]]\nname = "rmse"\nthreshold = 0.1\n{gate}'
        f'\n[[metrics]]\nname = "r2"\nthreshold = 1.0\n{gate}'
    )
    result = srh("eval", "line", "--gate")
    assert result.exit_code == 1
    assert "rmse    pass" in result.stdout
    assert "r2      fail" in result.stdout


def test_comparisons_pair_examples(srh, project):
    make_task(project)
    make_trial(project, "good", ALL)
    make_trial(project, "half", HALF)
    make_trial(project, "gap", LEFT_OUT)
    srh("eval", "numbers")
    result = srh("compare", "numbers/good", "half")
    assert result.exit_code == 0
    assert "half is worse than good on right: the mean difference over 10 examples" in result.stdout
    assert "example by example" in result.stdout
    shown = [line.split() for line in result.stdout.splitlines() if line.startswith("e")]
    assert shown == [[f"e{n}", "1", "0", "-1"] for n in range(0, 10, 2)]
    # Student's interval of five ones and five zeros: no row is shared.
    found = json.loads(srh("compare", "numbers/good", "half", "--json").stdout)
    assert found["others"][0]["chosen"]["low"] == pytest.approx(-0.5 - 2.2621571628 * 0.16666666667)
    gap = srh("compare", "numbers/good", "gap")
    assert "no verdict on right for gap against good: it has no value on 1 of 10 examples" in (
        gap.stdout
    )
    floored = srh("compare", "numbers/good", "gap", "--metric", "right_or_zero")
    assert "gap and good are not distinguishable on right_or_zero" in floored.stdout


def test_a_page_tells_population_and_reasons(srh, project):
    make_task(project)
    make_trial(project, "gap", LEFT_OUT)
    srh("eval", "numbers")
    page = srh("show", "numbers/gap").stdout
    lines = [" ".join(line.split()) for line in page.splitlines()]
    assert "right ↑ – – 9 of 10" in lines
    assert "right_or_zero ↑ 0.90000 0.59585 to 0.98212 (wilson) 9 of 10" in lines
    assert "right: non_evaluable on 1 example (e9): no_output: the trial gave no output" in lines


def test_results_are_sealed_verified_and_kept(srh, project):
    folder = make_task(project)
    make_trial(project, "good", ALL)
    srh("eval", "numbers")
    assert "current result kept" in srh("eval", "numbers").stderr
    assert srh("verify", "numbers/good").stdout.strip() == "numbers/good: identical"
    by_hand = project.trials / "numbers" / "good" / "request.json"
    assert json.loads(by_hand.read_text())["task_dir"] == "../../../tasks/numbers"
    write_lines(folder / "judge_evidence.jsonl", [])
    assert "current result kept" not in srh("eval", "numbers").stderr, "evidence counts"


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        ('{"id": "e0", "output": 1', "outputs.jsonl: line 1: not valid JSON"),
        ('{"id": "f", "output": 1}', "outputs.jsonl: line 1: the task has no example 'f'"),
    ],
)
def test_outputs_that_cannot_be_read_fail_the_trial(srh, project, outputs, reason):
    make_task(project)
    (make_trial(project, "bad", {}) / "outputs.jsonl").write_text(outputs + "\n")
    result = srh("eval", "numbers")
    assert result.exit_code == 0
    assert reason in " ".join(result.stdout.split())
    checked = srh("check", "numbers/bad")
    assert checked.exit_code == 2
    assert reason in checked.stdout


def test_outputs_pay_for_their_memory(srh, project):
    text = TASK + "\n[limits]\nmemory_mb = 32\n"
    make_task(project, text=text)
    big = {"e0": [[n, n + 1.5, str(n)] for n in range(600_000)]}
    make_trial(project, "big", big)
    result = srh("eval", "numbers")
    assert "memory" in result.stdout.partition("not ranked")[2]


SEVEN = """\
title = "Wrong"
accepts = ["outputs"]

[data]
path = "examples.jsonl"

[[metrics]]
name = "exact_match"
threshold = 2.0

[[metrics]]
name = "exact_match"

[[metrics]]
name = "set_overlop"

[[metrics]]
name = "words"
evaluator = "set_overlap@3"

[[metrics]]
name = "judge_score"

[[metrics]]
name = "structural_shape"
prerequisites = ["nothing"]
"""


def test_a_task_with_seven_mistakes_prints_seven_lines_and_runs_nothing(srh, project):
    make_task(project, "numbers", SEVEN)
    make_trial(project, "good", ALL)
    checked = srh("check", "numbers")
    assert checked.exit_code == 2
    problems = [line for line in checked.stdout.splitlines() if "problem: " in line]
    assert len(problems) == 7, problems
    assert all("task.toml: metrics[" in line and line.endswith(")") for line in problems)
    result = srh("eval", "numbers")
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 7
    assert not (project.trials / "numbers" / "good" / "result.json").exists()


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("[holdout]\nfraction = 0.2\n", "holdout: has no meaning for outputs; remove it"),
        ("[partitions]\nn_splits = 3\n", "partitions: has no meaning for outputs; remove it"),
        ("frames = true\n", "frames: has no meaning for outputs; remove it"),
    ],
)
def test_what_has_no_meaning_for_outputs_is_refused(srh, project, more, problem):
    text = more + TASK if more.startswith("frames") else TASK + "\n" + more
    make_task(project, text=text)
    checked = srh("check", "numbers")
    assert checked.exit_code == 2
    assert problem in checked.stdout


def test_outputs_are_not_ranked_together_with_models(srh, project):
    make_task(project, text=TASK.replace('["outputs"]', '["outputs", "model"]'))
    assert "accepts: outputs are not scored together" in srh("check", "numbers").stdout


def test_examples_that_cannot_be_read_are_the_tasks_mistake(srh, project):
    folder = make_task(project)
    (folder / "examples.jsonl").write_text('{"id": 1}\n')
    result = srh("eval", "numbers")
    assert result.exit_code == 2
    assert "examples.jsonl: line 1: id: Expected `str`, got `int`" in result.stderr


def test_a_metric_without_direction_ranks_nothing(srh, project):
    text = TASK.replace(
        'evaluator = "exact_match@1"\nfloor = { name = "right_or_zero", value = 0 }',
        'evaluator = "judge_score@1"\nrange = { lower = 1, upper = 5 }\nrequired_evidence = []',
    )
    make_task(project, text=text)
    assert "ranking.metric: right has no direction" in srh("check", "numbers").stdout


JUDGED = """\
title = "Judged"
accepts = ["outputs"]

[data]
path = "examples.jsonl"

[[metrics]]
name = "helpful"
evaluator = "judge_score@1"
range = { lower = 1, upper = 5 }
direction = "maximize"
"""


def test_a_judges_recorded_scores(srh, project):
    folder = make_task(project, text=JUDGED, count=2)
    given = {"metric": "helpful", "model": "m", "rubric": "r", "prompt": "p", "status": "ok"}
    write_lines(
        folder / "judge_evidence.jsonl",
        [
            given | {"example": "e0", "output": output_digest("a"), "value": 2},
            given | {"example": "e0", "output": output_digest("a"), "value": 4},
            given | {"example": "e1", "output": output_digest("b"), "value": "5"},
        ],
    )
    make_trial(project, "judged", {"e0": "a", "e1": "b"})
    make_trial(project, "other", {"e0": "a", "e1": "not judged"})
    assert "judge's evidence: 3 judgements" in srh("check", "numbers").stdout
    found = json.loads(srh("eval", "numbers", "--json").stdout)
    assert {one["trial"]: one["rank"] for one in found["trials"]} == {"judged": 1, "other": None}
    result = found["trials"][0]["result"]
    assert result["metrics"] == {"helpful": 4.0}
    assert result["scores"]["helpful"]["spread"] == pytest.approx(2**0.5)
    scores = result["per_example"]["helpful"]
    assert scores["spreads"] == {"e0": pytest.approx(2**0.5)}
    assert scores["evidence"]["e0"] == ["judge_evidence.jsonl:1", "judge_evidence.jsonl:2"]
    other = found["trials"][1]["result"]["scores"]["helpful"]
    assert (other["status"], other["reasons"]) == ("blocked", {"no_judge_evidence": 1})
    assert "spread of judgements" in srh("show", "numbers/judged").stdout


def test_metrics_are_listed_with_their_spec(srh, project):
    make_task(project)
    listed = srh("metrics")
    assert listed.exit_code == 0
    assert any(line.startswith("r2 ") and "(-∞, 1]" in line for line in listed.stdout.splitlines())
    own = srh("metrics", "numbers")
    assert own.stdout.splitlines()[1].split()[:2] == ["right", "exact_match@1"]
    (told,) = json.loads(srh("metrics", "numbers", "--json").stdout)
    assert told["origin"] == "srh"
    assert told["spec"]["score_type"] == "binary"
    assert set(told["spec"]) == set(
        type(load_task(project, "numbers").registry.metrics[0].spec).__struct_fields__
    )

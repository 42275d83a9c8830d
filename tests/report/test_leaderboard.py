from __future__ import annotations

import csv
import io
import json

import pytest
from rich.console import Console

from srh.errors import UsageError
from srh.evaluation.batch import Entry
from srh.evaluation.protocol import EvaluationResult
from srh.metrics import Aggregate
from srh.report.board_text import board_csv, board_json, board_markdown, print_board
from srh.report.leaderboard import build_board, read_descriptions
from srh.tasks import load_task
from srh.trials import Trial
from support import add_trial


@pytest.fixture
def task(project):
    return load_task(project, "line")


def trial(task, name):
    return Trial(task.name, name, task.folder / name)


def good(task, name, **values):
    metrics = dict.fromkeys(task.metric_names, 1.0) | values
    result = EvaluationResult(status="ok", metrics=metrics, runtime=0.1, roundtrip_ok=True)
    return Entry(trial(task, name), "evaluated", result)


def failed(task, name, error, outcome="error"):
    result = EvaluationResult.failed(outcome, error, task.metric_names)
    return Entry(trial(task, name), "evaluated", result)


def planted(task, name):
    return Entry(
        trial(task, name), "unverified", good(task, name, rmse=0.0, r2=1.0).result, "planted"
    )


def printed(board, width=100):
    text = io.StringIO()
    print_board(board, Console(file=text, width=width, markup=False, emoji=False, highlight=False))
    return text.getvalue()


def standings(board):
    return [(row.rank, row.trial, row.standing) for row in board.rows]


def test_the_order_is_ranked_unmeasured_failed_unverified(task):
    entries = [
        failed(task, "broken", "no"),
        planted(task, "cheat"),
        good(task, "worse", rmse=2.0),
        good(task, "gap", rmse=None),
        good(task, "best", rmse=0.5),
        Entry(trial(task, "new"), "not evaluated", None),
    ]
    assert standings(build_board(task, entries)) == [
        (1, "best", "ranked"),
        (2, "worse", "ranked"),
        (None, "gap", "unmeasured"),
        (None, "broken", "failed"),
        (None, "cheat", "unverified"),
        (None, "new", "not evaluated"),
    ]


def test_ties_share_a_place_and_the_next_is_skipped(task):
    entries = [
        good(task, name, rmse=value) for name, value in zip("cabd", [1, 1, 0, 2], strict=True)
    ]
    assert [(row.rank, row.trial) for row in build_board(task, entries).rows] == [
        (1, "b"),
        (2, "a"),
        (2, "c"),
        (4, "d"),
    ]


def test_another_metric_ranks_by_its_own_direction(task):
    entries = [good(task, "low", r2=0.1), good(task, "high", r2=0.9)]
    board = build_board(task, entries, rank_by="r2")
    assert [row.trial for row in board.rows] == ["high", "low"]
    assert "cv r2 ↑" in printed(board)
    with pytest.raises(UsageError, match=r"'rsme' is not a metric of task line .*'rmse'"):
        build_board(task, entries, rank_by="rsme")


def test_a_missing_value_is_told_with_its_reason(task):
    entry = good(task, "gap", rmse=None)
    entry.result.scores["rmse"] = Aggregate(None, "non_evaluable", "few: too few rows", 3, 4)
    row = build_board(task, [entry]).rows[0]
    assert row.reason == "no rmse: few: too few rows"


def test_claims_of_an_unverified_result_appear_nowhere(task):
    board = build_board(task, [planted(task, "cheat"), good(task, "honest", rmse=0.25)])
    assert printed(board).count("planted") == 1
    row = json.loads(board_json(board))["trials"][1]
    assert row["trial"] == "cheat"
    assert row["result"] is None
    assert set(row["metrics"].values()) == {None}
    assert [line["rmse"] for line in csv.DictReader(io.StringIO(board_csv(board)))] == ["0.25", ""]


def test_the_table_says_what_its_scores_are(task):
    text = printed(build_board(task, [good(task, "a")]))
    assert "40 rows (36 to develop on, 4 held out), ranked by rmse (lower is better)" in text
    assert "cv = development scores (mean over 4 folds)" in text
    final = printed(build_board(task, [good(task, "a")], look=3))
    assert "holdout = 4 rows" in final
    assert "holdout look 3" in final
    assert "holdout rmse ↓" in final
    assert "cv" not in final


def test_metrics_are_left_out_where_they_do_not_fit_and_named(task):
    board = build_board(task, [good(task, "a")])
    narrow, wide = printed(board, 50), printed(board, 200)
    assert max(map(len, narrow.split("\n\n")[1].splitlines()[:2])) <= 50
    assert "not shown: " in narrow
    assert "complexity" in narrow.split("not shown: ")[1]
    assert "not shown" not in wide
    assert "complexity ↓" in wide


def test_a_long_description_cuts_no_number(task):
    entry = good(task, "a")
    bare = build_board(task, [entry])
    described = build_board(task, [entry], descriptions={entry.trial: "long " * 60})
    cells = [line.split() for line in printed(bare, 200).splitlines()[4:6]]
    for width in (150, 200, 250):
        lines = printed(described, width).splitlines()[4:6]
        assert max(map(len, lines)) <= width
        assert [line.split()[: len(row)] for line, row in zip(lines, cells, strict=True)] == cells
        assert lines[0].split()[-1] == "description"
        assert lines[1].rstrip().endswith("…")


def test_a_long_reason_is_wrapped_not_cut(task):
    reason = " ".join(f"word{number}" for number in range(40))
    text = printed(build_board(task, [failed(task, "broken", reason)]), 60)
    assert "word0" in text
    assert "word39" in text


HOSTILE = "[bold red]x[/] :smile: \x1b[31m\x07\u202e|`<b>"


def test_hostile_text_is_shown_harmless_and_as_it_is(task):
    entries = [good(task, HOSTILE), failed(task, "broken", HOSTILE + "\nsecond [/line]")]
    descriptions = {entries[0].trial: HOSTILE}
    board = build_board(task, entries, descriptions=descriptions)
    text = printed(board, 300)
    for document in (text, board_markdown(board), board_csv(board)):
        assert not set(document) & set("\x1b\x07\u202e")
    assert text.count("[bold red]x[/] :smile: |`<b>") == 3
    assert "second [/line]" in text
    assert r"\[bold red\]x\[/\] :smile: \|\`\<b\>" in board_markdown(board)
    assert json.loads(board_json(board))["trials"][0]["trial"] == HOSTILE


def test_a_spreadsheet_runs_no_cell(task):
    entries = [good(task, "a", aic=-3.5)]
    text = board_csv(build_board(task, entries, descriptions={entries[0].trial: "=1+1"}))
    row = next(csv.DictReader(io.StringIO(text)))
    assert row["description"] == "'=1+1"
    assert row["aic"] == "-3.5"


def test_csv_and_json_keep_every_digit(task):
    value = 0.1 + 0.2
    board = build_board(task, [good(task, "a", rmse=value)])
    assert float(next(csv.DictReader(io.StringIO(board_csv(board))))["rmse"]) == value
    assert json.loads(board_json(board))["trials"][0]["metrics"]["rmse"] == value


def test_descriptions_come_from_trials_that_can_be_read(project, task):
    folder = add_trial(project, "told", "x")
    (folder / "trial.toml").write_text('kind = "formula"\ndescription = "a slope"\n')
    broken = add_trial(project, "broken", "x")
    (broken / "trial.toml").write_text("kind = ")
    trials = [Trial("line", "told", folder), Trial("line", "broken", broken)]
    assert read_descriptions(trials) == {trials[0]: "a slope"}


def test_a_pipe_gets_no_blanks_at_the_ends_of_lines(task):
    board = build_board(task, [good(task, "a"), failed(task, "broken", "no")])
    assert all(line == line.rstrip() for line in printed(board).splitlines())

"""The shipped tasks that are not about numbers: what each of their trials is there to show."""

from __future__ import annotations

import pytest

from srh.report.gates import is_open, judge_board
from srh.report.run import run_task
from srh.scaffold import new_project
from srh.tasks import load_task


@pytest.fixture
def shipped(tmp_path):
    """Evaluate a shipped task in a project of its own: task, and leaderboard."""
    made = new_project(tmp_path / "shipped")

    def evaluate(name):
        task = load_task(made, name)
        return task, run_task(made, task, [], jobs=1).board

    return evaluate


def standings(board):
    return {row.trial: (row.standing, row.rank) for row in board.rows}


def test_arithmetic(shipped):
    task, board = shipped("arithmetic")
    assert standings(board) == {
        "careful": ("ranked", 1),
        "hasty": ("ranked", 2),
        "skips_hard": ("unmeasured", None),
    }
    rows = {row.trial: row.metrics for row in board.rows}
    assert rows["careful"] == {
        "correct": 1.0,
        "correct_or_zero": 1.0,
        "exact_match": 0.85,
        "answer_nonempty": 1.0,
    }
    assert rows["hasty"]["correct"] == 0.75
    assert (rows["skips_hard"]["correct"], rows["skips_hard"]["correct_or_zero"]) == (None, 0.9)
    gates = judge_board(task, board)
    verdicts = {(one.trial, one.gate.name): one.gate.verdict for one in gates}
    assert verdicts["careful", "correct"] == "pass"
    assert verdicts["hasty", "correct"] == "fail"
    assert verdicts["skips_hard", "correct"] == "blocked"
    assert verdicts["careful", "exact_match"] == "informational"
    assert not is_open(gates)


def test_equations_are_read_whoever_decides(shipped):
    _, board = shipped("equations")
    rows = {row.trial: row for row in board.rows}
    assert rows["rewritten"].metrics["same_text"] == pytest.approx(1 / 12)
    reasons = rows["unreadable"].result.scores["recovered"].reasons
    assert reasons["bad_output"] == 2


def test_equations(shipped):
    _, board = shipped("equations")
    rows = {row.trial: row.metrics for row in board.rows}
    assert rows["rewritten"]["recovered"] == 1.0
    assert rows["near_misses"]["recovered"] == pytest.approx(7 / 12)
    assert rows["unreadable"]["recovered"] is None
    assert rows["unreadable"]["recovered_or_zero"] == pytest.approx(10 / 12)


def test_breast_cancer(shipped):
    _, board = shipped("breast_cancer")
    assert standings(board) == {
        "logistic": ("ranked", 1),
        "shallow_tree": ("ranked", 2),
        "majority": ("ranked", 3),
    }
    rows = {row.trial: row.metrics for row in board.rows}
    assert rows["logistic"]["balanced_accuracy"] > 0.95
    assert rows["majority"]["balanced_accuracy"] == 0.5
    assert rows["majority"]["log_loss"] is None

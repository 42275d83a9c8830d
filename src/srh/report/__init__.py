"""What people read: leaderboards, comparisons, verifications, pages on trials, checks."""

from __future__ import annotations

from srh.report.check import Checked, check_names, check_trial
from srh.report.compare import Comparison, Comparisons, compare_trials
from srh.report.leaderboard import Board, Column, Row, build_board, read_descriptions
from srh.report.paired import Paired, compare_folds
from srh.report.sameness import judge
from srh.report.show import Page, make_page
from srh.report.verify import Verification, verify_trial, verify_trials

__all__ = [
    "Board",
    "Checked",
    "Column",
    "Comparison",
    "Comparisons",
    "Page",
    "Paired",
    "Row",
    "Verification",
    "build_board",
    "check_names",
    "check_trial",
    "compare_folds",
    "compare_trials",
    "judge",
    "make_page",
    "read_descriptions",
    "verify_trial",
    "verify_trials",
]

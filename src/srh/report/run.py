"""Evaluate a task's trials and make its leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from srh.errors import UsageError
from srh.evaluation.batch import (
    Entry,
    default_jobs,
    evaluate_holdout,
    evaluate_trials,
    stored_entry,
)
from srh.project import Project
from srh.report.leaderboard import Board, build_board, read_descriptions, require_metric
from srh.report.progress import progress
from srh.report.stored import name_trials, no_trial
from srh.tasks import Task
from srh.text import one_line
from srh.trials import Trial, ignored_folders, list_trials


@dataclass(frozen=True, slots=True)
class Run:
    """What came of evaluating trials.

    Attributes:
        board: The leaderboard.
        any_failed: Whether one of the evaluated trials failed.
        any_harness: Whether srh itself failed on one of them.
        trials: Ids of the evaluated trials.
    """

    board: Board
    any_failed: bool
    any_harness: bool
    trials: tuple[str, ...]


def run_task(
    project: Project,
    task: Task,
    names: Sequence[str],
    *,
    jobs: int | None = None,
    force: bool = False,
    final: bool = False,
    rank_by: str | None = None,
    announce: Callable[[int], None] = lambda _: None,
) -> Run:
    """Evaluate trials of a task, show progress, and return the leaderboard.

    Args:
        project: Where the task is.
        task: The task.
        names: The trials to evaluate; all if empty. Others appear with what is stored for them.
        jobs: How many to evaluate at a time; as the machine carries unless given.
        force: Evaluate those with a current result too.
        final: Score the held-out rows; the leaderboard then has the evaluated trials only.
        rank_by: Metric that orders the leaderboard; the task's own unless given.
        announce: Called with the number of a look at the holdout.

    Raises:
        SrhError: A name or metric is unknown, or the task's data or partitions are wrong.
    """
    require_metric(task, rank_by)
    everyone = list_trials(project, task.name)
    trials = _of_task(project, task, names) if names else everyone
    if not trials:
        raise no_trial(task.name)
    workers = jobs or default_jobs(task)
    look = None
    with progress(len(trials)) as report:
        if final:
            entries, look = evaluate_holdout(task, trials, jobs=workers, report=report)
        else:
            entries = evaluate_trials(task, trials, jobs=workers, force=force, report=report)
    if look is not None:
        announce(look)
    outcomes = {entry.result.outcome for entry in entries if entry.result is not None}
    others = [] if final else [trial for trial in everyone if trial not in trials]
    shown = [*entries, *(stored_entry(task, trial) for trial in others)]
    board = _board(project, task, shown, rank_by, look)
    return Run(
        board,
        any_failed=outcomes != {"ok"} or any(entry.result is None for entry in entries),
        any_harness="harness" in outcomes,
        trials=tuple(trial.id for trial in trials),
    )


def stored_board(project: Project, task: Task, *, rank_by: str | None = None) -> Board:
    """Return a task's leaderboard of what is stored; nothing is evaluated.

    Raises:
        SrhError: The metric is unknown, or the task's data or partitions are wrong.
    """
    require_metric(task, rank_by)
    trials = list_trials(project, task.name)
    if not trials:
        raise no_trial(task.name)
    entries = [stored_entry(task, trial) for trial in trials]
    return _board(project, task, entries, rank_by)


def _of_task(project: Project, task: Task, names: Sequence[str]) -> list[Trial]:
    trials = name_trials(project, names, task.name)
    foreign = next((trial for trial in trials if trial.task != task.name), None)
    if foreign is not None:
        raise UsageError(
            f"trial {one_line(foreign.name)} belongs to task {foreign.task}, not {task.name}"
        )
    return trials


def _board(
    project: Project,
    task: Task,
    entries: Sequence[Entry],
    rank_by: str | None,
    look: int | None = None,
) -> Board:
    return build_board(
        task,
        entries,
        rank_by=rank_by,
        descriptions=read_descriptions([entry.trial for entry in entries]),
        look=look,
        ignored=ignored_folders(project, task.name),
    )

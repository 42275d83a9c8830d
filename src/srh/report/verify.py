"""Verify stored results: evaluate again, and say whether the same came out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from srh.errors import UsageError
from srh.evaluation.batch import (
    evaluate_source,
    make_request,
    read_accepted,
    store,
    stored_record,
)
from srh.evaluation.protocol import EvaluationResult
from srh.evaluation.records import Record
from srh.project import Project
from srh.report.sameness import Verdict, judge
from srh.report.stored import Tasks, name_trials, no_trial
from srh.tasks import Task
from srh.text import one_line
from srh.trials import Trial, list_trials


@dataclass(frozen=True, slots=True)
class Verification:
    """What came of verifying one trial.

    Attributes:
        trial: The trial's name.
        verdict: ``not verified``: there is nothing to compare with, or srh itself failed.
        details: What differs, or why it could not be verified.
        newly_sealed: Whether an unverified result has become verified by this.
    """

    trial: str
    verdict: Verdict | Literal["not verified"]
    details: tuple[str, ...] = ()
    newly_sealed: bool = False


def verify_trials(
    project: Project, names: Sequence[str], task: str | None = None, *, unsafe: bool = False
) -> Iterator[Verification]:
    """Verify trials one after the other (see `verify_trial`).

    Args:
        project: Where they are.
        names: The trials; all of `task` if empty.
        task: The task, or where to look first for `names`.
        unsafe: Run code of trials without a sandbox.

    Raises:
        UsageError: A name is unknown, or nothing is named.
    """
    if not names and task is None:
        raise UsageError("name trials as TASK/ID, or all trials of a task with --task TASK")
    if task is not None:
        project.require_task(task)
    tasks = Tasks(project, unsafe=unsafe)
    trials = name_trials(project, names, task) if names else list_trials(project, task or "")
    if not trials:
        raise no_trial(task or "")
    for trial in trials:
        yield verify_trial(tasks.of(trial), trial)


def verify_trial(task: Task, trial: Trial) -> Verification:
    """Evaluate a trial again and compare with its stored result, whoever stored that.

    After ``identical``, a result that was unverified is stored again under this user's seal. Any
    other stored result stays as it is.

    Raises:
        SrhError: The task's data or partitions are wrong.
    """
    source = read_accepted(task, trial)
    record = stored_record(task, trial, source)
    if record.result is None:
        return Verification(trial.name, "not verified", (_advice(record, trial),))
    if isinstance(source, EvaluationResult):
        return Verification(trial.name, "different", (one_line(source.error or "", 400),))
    request = make_request(task)
    evaluation = evaluate_source(task, request, source)
    again = evaluation.result
    if again.outcome == "harness":
        why = one_line(again.error or "", 400)
        return Verification(trial.name, "not verified", (f"srh itself failed: {why}",))
    verdict, details = judge(
        record.result,
        again,
        tolerance=task.spec.tolerance,
        target=task.dataset.y if task.profile == "regression" else None,
    )
    sealed = verdict == "identical" and record.state == "unverified"
    if sealed:
        entry = store(task, trial, request, evaluation)
        sealed = entry.reason is None
        details += () if sealed else (one_line(entry.reason or "", 400),)
    return Verification(trial.name, verdict, details, sealed)


def _advice(record: Record, trial: Trial) -> str:
    why = "no stored result" if record.state == "absent" else f"its result {record.reason}"
    return f"{why}; `srh eval {trial.task} {one_line(trial.id)}` makes one"

"""Find the trials that people name, and what is stored for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srh.errors import UsageError
from srh.evaluation.batch import read_accepted, stored_record
from srh.evaluation.protocol import EvaluationResult, Provenance
from srh.evaluation.records import Record
from srh.project import Project
from srh.tasks import Task, load_task
from srh.text import one_line
from srh.trials import Trial, TrialSource, find_trial, list_trials


@dataclass(frozen=True, slots=True)
class Evaluated:
    """A trial with its source and its current result.

    Attributes:
        task: Its task.
        trial: The trial.
        source: What was evaluated.
        result: What came of it.
        provenance: What the result rests on.
    """

    task: Task
    trial: Trial
    source: TrialSource
    result: EvaluationResult
    provenance: Provenance


def name_trial(project: Project, text: str, task: str | None = None) -> Trial:
    """Return the trial that a user named, by ``task/id``, by path, or by an id that is unique.

    Args:
        project: Where to look.
        text: What the user wrote.
        task: A task to look in first.

    Raises:
        UsageError: There is no such trial, or several.
    """
    if "/" not in text:
        names = project.task_names()
        found = [
            trial for name in names for trial in list_trials(project, name) if trial.id == text
        ]
        here = [trial for trial in found if trial.task == task]
        if len(found) == 1 or here:
            return (here or found)[0]
        if found:
            listed = ", ".join(one_line(trial.name) for trial in found)
            raise UsageError(f"trial {one_line(text)!r} is in several tasks; name one of {listed}")
    return find_trial(project, text)


def name_trials(project: Project, texts: Sequence[str], task: str | None = None) -> list[Trial]:
    """Return the trials that a user named, each once, in the order of naming."""
    return list(dict.fromkeys(name_trial(project, text, task) for text in texts))


def no_trial(task: str) -> UsageError:
    """Return the error of a task without trials."""
    return UsageError(f"task {task} has no trial yet; `srh new trial {task} ID` makes one")


class Tasks:
    """The tasks of a project, each loaded once."""

    def __init__(self, project: Project, *, unsafe: bool = False) -> None:
        """Remember where to look, and whether code of trials is to run without a sandbox."""
        self._project = project
        self._unsafe = unsafe
        self._loaded: dict[str, Task] = {}

    def of(self, trial: Trial) -> Task:
        """Return a trial's task.

        Raises:
            SrhError: The task is wrong.
        """
        if trial.task not in self._loaded:
            self._loaded[trial.task] = load_task(self._project, trial.task, unsafe=self._unsafe)
        return self._loaded[trial.task]


def require_current(task: Task, trial: Trial) -> Evaluated:
    """Return a trial with its current result.

    Raises:
        UsageError: It has none that may be believed; the message says how to get one.
    """
    source = read_accepted(task, trial)
    record = stored_record(task, trial, source)
    result = record.result
    if (
        record.state != "current"
        or result is None
        or result.provenance is None
        or isinstance(source, EvaluationResult)
    ):
        raise UsageError(
            f"trial {one_line(trial.name)}: {_lack(record)}; "
            f"`srh eval {trial.task} {one_line(trial.id)}` makes a current one"
        )
    return Evaluated(task, trial, source, result, result.provenance)


def _lack(record: Record) -> str:
    if record.state == "absent":
        return "it has no result yet"
    return f"its stored result is unverified ({record.reason})"

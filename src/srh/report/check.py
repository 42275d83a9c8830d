"""Check tasks and trials before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from srh.errors import FormatError, SrhError, UsageError
from srh.evaluation.batch import make_request, read_accepted
from srh.evaluation.protocol import EvaluationResult
from srh.examples import read_outputs
from srh.project import Project
from srh.report.stored import Tasks, name_trial
from srh.task_check import check_task
from srh.tasks import Task, load_task
from srh.text import one_line, plural
from srh.trials import SOURCES, Trial, TrialSource, read_spec


@dataclass(frozen=True, slots=True)
class Checked:
    """What checking one task or trial found.

    Attributes:
        name: ``task`` or ``task/id``.
        facts: What a reader would want confirmed.
        problems: What must be put right; empty if all is well.
    """

    name: str
    facts: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def check_names(project: Project, names: Sequence[str]) -> list[Checked]:
    """Check what a user named: tasks, and trials as ``task/id``, by path or by unique id.

    Args:
        project: Where to look.
        names: Tasks and trials; all tasks if empty.

    Raises:
        UsageError: A name is neither.
    """
    tasks = project.task_names()
    if not names and not tasks:
        raise UsageError(f"no task in {project.tasks}; `srh new task NAME --data FILE` makes one")
    loaded = Tasks(project)
    subjects = [name if name in tasks else _trial(project, name) for name in names or tasks]
    return [
        _check_task(project, subject) if isinstance(subject, str) else check_trial(loaded, subject)
        for subject in dict.fromkeys(subjects)
    ]


def checked_lines(checked: Checked) -> list[str]:
    """Return what checking found as lines to print."""
    verdict = "ok" if not checked.problems else plural(len(checked.problems), "problem")
    lines = [f"{one_line(checked.name)}: {verdict}"]
    lines += [f"  {one_line(fact, 600)}" for fact in checked.facts]
    return lines + [f"  problem: {problem}" for problem in checked.problems]


def check_trial(tasks: Tasks, trial: Trial) -> Checked:
    """Check a trial's files: that a formula can be read over the task's columns, outputs at all."""
    try:
        task = tasks.of(trial)
        check_task(task)
    except SrhError as error:
        return Checked(trial.name, problems=tuple(f"task {line}" for line in _lines(error)))
    try:
        spec = read_spec(trial.folder)
    except SrhError as error:
        return Checked(trial.name, problems=_lines(error))
    source = read_accepted(task, trial)
    if isinstance(source, EvaluationResult):
        return Checked(trial.name, problems=(one_line(source.error or "", 400),))
    facts = [f"{source.kind} trial, digest {source.digest}"]
    if spec is None:
        facts.append("no trial.toml: the kind is known by the source file's name")
    problem = _source_problem(task, source)
    return Checked(trial.name, tuple(facts), () if problem is None else (problem,))


def _source_problem(task: Task, source: TrialSource) -> str | None:
    """Return what is wrong with a source as far as it can be told without running anything."""
    content = next(iter(source.files.values()))
    if source.kind == "formula":
        return formula_problem(task, content)
    if source.kind == "outputs":
        try:
            read_outputs(content, task.examples, SOURCES["outputs"])
        except SrhError as error:
            return one_line(str(error), 600)
    return None


def formula_problem(task: Task, source: bytes) -> str | None:
    """Return what keeps a formula from being read over the task's columns, or None.

    Args:
        task: The task.
        source: Content of ``formula.txt``.
    """
    from srh.evaluation.formula_trial import FormulaContender

    try:
        FormulaContender(source, make_request(task), task.dataset)
    except SrhError as error:
        return one_line(str(error), 600)
    return None


def _trial(project: Project, name: str) -> Trial:
    try:
        return name_trial(project, name)
    except UsageError:
        if "/" in name:
            raise
        project.require_task(name)  # a bare name is more likely meant as a task's
        raise


def _check_task(project: Project, name: str) -> Checked:
    try:
        return Checked(name, tuple(check_task(load_task(project, name))))
    except SrhError as error:
        return Checked(name, problems=_lines(error))


def _lines(error: SrhError) -> tuple[str, ...]:
    if isinstance(error, FormatError):
        return tuple(one_line(f"{error.where}: {problem}", 600) for problem in error.problems)
    return tuple(one_line(line, 600) for line in str(error).splitlines())

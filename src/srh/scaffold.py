"""Make projects, tasks and trials that work at once."""

from __future__ import annotations

import json
import shutil
import stat
from pathlib import Path

import srh
from srh.context import Dataset, DataSpec, load_dataset
from srh.errors import DataError, UsageError
from srh.project import MARKER, TASK_FILE, Project, require_name
from srh.tasks import Task, read_task
from srh.trials import SOURCES, TRIAL_FILE, Trial, TrialSpec, new_trial

_MARKER_TEXT = (
    "# Marks this folder as an srh project: srh looks for tasks/ and trials/ beside it.\n"
)
_README = """# An srh project

- `tasks/` holds tasks: data, and what is measured. `trials/TASK/ID/` holds what is proposed.
- `srh check` checks the tasks, `srh eval TASK` evaluates a task's trials and ranks them.
- `srh new task NAME --data FILE.csv --target COLUMN` adds a task of your own.
- `srh new trial TASK ID --formula "param('a') * x"` adds a trial.
- `srh show TASK/ID` shows everything about a trial, `srh compare TASK/ID ID` compares two,
  `srh verify TASK/ID` evaluates one again and says whether the same came out.
"""
_FOLDS = 5
# How data that the strict defaults refuse can be read, from the least change to the greatest.
_POLICIES: tuple[dict[str, str], ...] = (
    {},
    {"categorical": "drop"},
    {"missing": "drop"},
    {"categorical": "drop", "missing": "drop"},
)


def new_project(folder: Path) -> Project:
    """Make a project with the shipped example tasks and their trials.

    Args:
        folder: A folder that does not exist yet, or is empty.

    Raises:
        UsageError: It cannot be made, or holds something already.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UsageError(f"{folder}: is there already and is no folder; choose another name")
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder}: is not empty; name a folder that is new or empty")
    project = Project(folder.resolve())
    project.tasks.mkdir(parents=True)
    project.trials.mkdir()
    examples = examples_folder()
    if examples is not None:
        _copy_tasks(examples / "tasks", project.tasks)
        _copy_trials(examples / "trials", project.trials)
    (project.root / "README.md").write_text(_README, encoding="utf-8")
    (project.root / MARKER).write_text(_MARKER_TEXT, encoding="utf-8")
    return project


def examples_folder() -> Path | None:
    """Return the folder with the shipped ``tasks/`` and ``trials/``, or None if there is none.

    An installed package carries it; in a source checkout it is the repository's root.
    """
    package = Path(srh.__file__).resolve().parent
    installed, checkout = package / "_examples", package.parents[1]
    if (installed / "tasks").is_dir():
        return installed
    return checkout if (checkout / MARKER).is_file() and (checkout / "tasks").is_dir() else None


def new_task(
    project: Project, name: str, data: Path, target: str | None = None
) -> tuple[Task, str]:
    """Make a task from a data file, which is copied into the task's folder.

    Args:
        project: Where.
        name: The task's name.
        data: CSV, ``.npz`` or ``.joblib`` file, or ``context.data`` folder.
        target: Column to be explained; needed unless the file says which it is.

    Returns:
        The task, and one sentence on what was decided about its data.

    Raises:
        UsageError: The name is taken or cannot be one.
        DataError: The data cannot be used.
    """
    folder = project.tasks / require_name(name, "task")
    if folder.exists() or folder.is_symlink():
        raise UsageError(f"{folder}: is there already; choose another name")
    if not data.exists():
        raise UsageError(f"{data}: no such data file")
    if data.name == TASK_FILE:
        raise UsageError(f"{data}: a data file cannot be called {TASK_FILE}")
    dataset, policies = _load(data, target)
    text = _task_text(name, data.resolve().name, dataset, policies)
    folder.mkdir(parents=True)
    if data.is_dir():
        _copy_files(data, folder / data.resolve().name, None)
    else:
        shutil.copyfile(data, folder / data.name)
    (folder / TASK_FILE).write_text(text, encoding="utf-8")
    return read_task(folder), _decisions(dataset, policies)


def new_formula_trial(
    project: Project,
    task: Task,
    name: str,
    *,
    formula: str | None = None,
    description: str = "",
    author: str = "",
) -> Trial:
    """Make a formula trial.

    Args:
        project: Where.
        task: What it is for.
        name: Its id; where it is taken, ``-2``, ``-3`` … is appended.
        formula: The formula; a straight line in the first feature of numbers unless given.
        description: What is proposed.
        author: Who proposes it.

    Raises:
        UsageError: The name cannot be one, or the formula cannot be read over the task's columns.
    """
    from srh.report.check import formula_problem

    text = (formula if formula is not None else straight_line(task.dataset)).strip() + "\n"
    try:
        source = text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("the formula is not valid text") from error
    problem = formula_problem(task, source)
    if problem is not None:
        raise UsageError(f"no trial is made: {problem}")
    spec = TrialSpec(kind="formula", description=description, author=author)
    return new_trial(project, task, name, spec, text)


def straight_line(dataset: Dataset) -> str:
    """Return a formula to begin with: a straight line in the first feature of numbers."""
    from srh.engine import Symbol

    numeric = [name for name in dataset.features if dataset.columns[name].dtype != object]
    if not numeric:
        return "param('a')"
    return f"param('a') + param('b') * {Symbol(numeric[0])}"


def _load(data: Path, target: str | None) -> tuple[Dataset, dict[str, str]]:
    """Load data under the strictest policies that they allow."""
    refusals: list[str] = []
    for policies in _POLICIES:
        try:
            return load_dataset(data, DataSpec(target=target, **policies)), policies  # type: ignore[arg-type]
        except DataError as error:
            refusals.append(str(error))
    hint = "" if target else "; --target names the column to be explained"
    raise DataError(refusals[0] + hint)


def _decisions(dataset: Dataset, policies: dict[str, str]) -> str:
    """Return in one sentence what a new task says about its data."""
    features = ", ".join(map(repr, dataset.features))
    needed = "".join(f'; the data need {key} = "{value}"' for key, value in policies.items())
    return f"target {dataset.target!r}, features {features}{needed}"


def _task_text(name: str, file: str, dataset: Dataset, policies: dict[str, str]) -> str:
    """Return a ``task.toml`` (JSON strings are TOML strings)."""
    if dataset.n_rows < 2:
        raise DataError(f"{file}: {dataset.n_rows} row cannot be divided into folds")
    policy_lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in policies.items())
    # Two validation rows at least: r2 and correlations mean nothing for one.
    folds = max(2, min(_FOLDS, dataset.n_rows // 2))
    return f"""title = {json.dumps(name)}
description = ""

[data]
path = {json.dumps(file)}
target = {json.dumps(dataset.target)}
{policy_lines}
[partitions]
kind = "kfold"
n_splits = {folds}
seed = 0

[ranking]
metric = "rmse"
"""


def _copy_tasks(source: Path, target: Path) -> None:
    for folder in sorted(source.iterdir()):
        if (folder / TASK_FILE).is_file():
            _copy_files(folder, target / folder.name, None)


def _copy_trials(source: Path, target: Path) -> None:
    """Copy what was proposed, not what came of it."""
    if not source.is_dir():
        return
    wanted = {TRIAL_FILE, *SOURCES.values()}
    for task in sorted(source.iterdir()):
        for trial in sorted(task.iterdir()) if task.is_dir() else ():
            if trial.is_dir():
                _copy_files(trial, target / task.name / trial.name, wanted)


def _copy_files(source: Path, target: Path, wanted: set[str] | None) -> None:
    """Copy a folder's plain files; all that lie in it, folders too, unless some are wanted."""
    target.mkdir(parents=True)
    for file in sorted(source.iterdir()):
        regular = stat.S_ISREG(file.lstat().st_mode)
        if file.name.startswith((".", "__")):
            continue
        if regular and (wanted is None or file.name in wanted):
            shutil.copyfile(file, target / file.name)
        elif wanted is None and file.is_dir() and not file.is_symlink():
            _copy_files(file, target / file.name, None)

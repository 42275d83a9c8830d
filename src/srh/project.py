"""The project root: the folder with ``srh.toml``, ``tasks/`` and ``trials/``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from srh.errors import UsageError
from srh.text import did_you_mean, one_line

MARKER = "srh.toml"
TASK_FILE = "task.toml"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, slots=True)
class Project:
    """A folder with tasks and trials.

    Attributes:
        root: Absolute path of the folder.
    """

    root: Path

    @property
    def tasks(self) -> Path:
        """Folder of the tasks."""
        return self.root / "tasks"

    @property
    def trials(self) -> Path:
        """Folder of the trials, one folder per task in it."""
        return self.root / "trials"

    def task_names(self) -> list[str]:
        """Return the names of all tasks, sorted."""
        if not self.tasks.is_dir():
            return []
        return sorted(
            folder.name for folder in self.tasks.iterdir() if (folder / TASK_FILE).is_file()
        )

    def require_task(self, name: str) -> Path:
        """Return a task's folder.

        Raises:
            UsageError: There is no such task; the message lists those that exist.
        """
        known = self.task_names()
        if name not in known:
            hint = did_you_mean(name, known)
            task, _, trial = name.partition("/")
            if task in known and trial:
                hint = f" (for one trial of {task} write `{task} {one_line(trial)}`)"
            listed = ", ".join(known) or "none yet; `srh new task NAME --data FILE` makes one"
            raise UsageError(
                f"no task {one_line(name)!r} in {self.tasks}{hint}; tasks there: {listed}"
            )
        return self.tasks / name


def find_project(start: Path, root: Path | None = None) -> Project:
    """Return the project that a command works in.

    Args:
        start: Folder to search from, upwards, for ``srh.toml``.
        root: The root as named by the user; no search then.

    Raises:
        UsageError: There is none.
    """
    if root is not None:
        if not (root / "tasks").is_dir():
            raise UsageError(f"{root}: not a project root: it has no tasks/ folder")
        return Project(root.resolve())
    start = start.resolve()
    for folder in (start, *start.parents):
        if (folder / MARKER).is_file():
            return Project(folder)
    raise UsageError(
        f"no {MARKER} in {start} or above it; name the project with --root, "
        "or make one with `srh new project FOLDER`"
    )


def is_name(name: str) -> bool:
    """Tell whether ``name`` can name a task or a trial."""
    return _NAME.fullmatch(name) is not None


def require_name(name: str, what: str) -> str:
    """Return ``name`` if it can name a task or a trial.

    Raises:
        UsageError: It is empty, too long, or has characters that a folder name here must not have.
    """
    if not is_name(name):
        raise UsageError(
            f"{one_line(name)!r} cannot name a {what}: use letters, digits, '.', '_' and '-', "
            "starting with a letter or digit, at most 100"
        )
    return name

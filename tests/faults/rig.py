"""A project of many small trials, runs of the command line on it, and who belongs to a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from srh.evaluation.batch import stored_entry
from srh.project import Project
from srh.tasks import load_task
from srh.trials import list_trials

TASK = """\
title = "A straight line"
accepts = ["formula", "model"]
tolerance = 1e-9

[data]
path = "data.csv"
target = "y"

[partitions]
kind = "kfold"
n_splits = 2

[ranking]
metric = "rmse"

[limits]
wall_s = 30
"""

MODEL = """\
import time
from pathlib import Path

import numpy as np


class Model:
    def fit(self, X, y):
        time.sleep({pause})
        self.line = np.polyfit(X[:, 0], y, {degree})

    def predict(self, X):
        return np.polyval(self.line, X[:, 0])

    def save(self, folder):
        np.save(Path(folder) / "line.npy", self.line)

    @classmethod
    def load(cls, folder):
        model = cls()
        model.line = np.load(Path(folder) / "line.npy")
        return model
"""

FORMULAS = (
    "param('a')*x + param('b')",
    "param('a')*x + param('b') + param('c')*sin(param('w')*x)",
    "param('a') + param('b')*exp(param('k')*x/10)",
    "param('a')*x + param('b')*sqrt(x) + param('c')",
    "log(x - 100)",
    "param('a')*(x +",
)
"""What a trial fails of is a result too: the last two never have a score."""

OWN_TO_A_RUN = ("evaluated_at", "seal", "usage", "runtime")
"""Fields of a result in which two runs differ."""

HELD_S = 2.0
"""How long a process may outlive the run that it belongs to."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended."""

    code: int
    out: str
    err: str

    @property
    def table(self) -> dict[str, Any]:
        """The rows of its leaderboard by trial, having checked that it is strict JSON."""
        rows = strict(self.out)["trials"]
        table = {row["trial"]: row for row in rows}
        assert len(table) == len(rows)
        return table


@dataclass(frozen=True, slots=True)
class Rig:
    """A project with everything that its runs use, all of it in one folder."""

    folder: Path

    @property
    def project(self) -> Project:
        return Project(self.folder / "project")

    @property
    def task(self) -> Path:
        return self.project.tasks / "line"

    @property
    def trials(self) -> Path:
        return self.project.trials / "line"

    @property
    def temporary(self) -> Path:
        return self.folder / "temporary"

    def environment(self, **more: str) -> dict[str, str]:
        return {
            **os.environ,
            "TMPDIR": str(self.temporary),
            "XDG_DATA_HOME": str(self.folder / "xdg"),
            **more,
        }

    def command(self, *arguments: str) -> list[str]:
        root = ("--root", str(self.project.root))
        return [sys.executable, "-m", "srh", "eval", "line", *arguments, "--json", *root]

    def start(self, *arguments: str, **options: Any) -> Running:
        """Start an evaluation of the task."""
        return Running(self.command(*arguments), self.environment(), self.folder, **options)

    def run(self, *arguments: str, **options: Any) -> Ran:
        """Evaluate the task, from start to end."""
        return self.start(*arguments, **options).end()

    def add_formula(self, name: str, formula: str) -> Path:
        folder = self.trials / name
        folder.mkdir(parents=True)
        (folder / "trial.toml").write_text('kind = "formula"\n')
        (folder / "formula.txt").write_text(formula + "\n")
        return folder

    def add_model(self, name: str, *, pause: float = 0.0, degree: int = 1) -> Path:
        folder = self.trials / name
        folder.mkdir(parents=True)
        (folder / "trial.toml").write_text('kind = "model"\n')
        (folder / "model.py").write_text(MODEL.format(pause=pause, degree=degree))
        return folder

    def results(self) -> dict[str, dict[str, Any]]:
        """Return what two runs must agree on of every stored result, each of them whole."""
        found = {}
        for path in sorted(self.trials.glob("*/result.json")):
            body = strict(path.read_text())
            assert body["seal"].startswith("hmac-sha256:")
            found[path.parent.name] = {
                name: value for name, value in body.items() if name not in OWN_TO_A_RUN
            }
        return found

    def require_whole(self) -> None:
        """Demand of every stored result that it is whole, sealed, and read by srh, or absent."""
        self.results()
        task = load_task(self.project, "line")
        for trial in list_trials(self.project, "line"):
            entry = stored_entry(task, trial)
            by_srh_itself = entry.reason == "made while srh itself had failed"
            assert entry.origin != "unverified" or by_srh_itself, entry.reason

    def left_over(self) -> list[str]:
        """Return what runs have left beside their results."""
        drafts = [path.name for path in self.trials.rglob("*.part")]
        return [*drafts, *(path.name for path in self.temporary.iterdir())]

    def remove(self) -> None:
        shutil.rmtree(self.folder)


class Running:
    """A run of the command line under observation."""

    def __init__(
        self, command: list[str], environment: dict[str, str], folder: Path, **options: Any
    ) -> None:
        self._out = folder / f"out-{time.monotonic_ns()}"
        self._err = self._out.with_name(f"{self._out.name}.err")
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=folder,
                **options,
            )
        self._itself = psutil.Process(self.process.pid)
        self._folder = folder
        self._seen: dict[psutil.Process, int] = {}
        self._over = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)
        self._watcher.start()

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def descendants(self) -> dict[psutil.Process, int]:
        """Return the processes that the run has now, each with its distance from it."""
        found: dict[psutil.Process, int] = {}
        try:
            depths = {self.process.pid: 0}
            for child in self._itself.children(recursive=True):
                depth = depths.get(child.ppid(), 0) + 1
                depths[child.pid] = found[child] = depth
        except psutil.NoSuchProcess:
            pass  # one that was just ending
        self._seen.update(found)
        return found

    def survivors(self, patience: float = HELD_S) -> list[str]:
        """Return, by command line, what of the run is not gone in `patience` seconds."""
        deadline = time.monotonic() + patience
        while left := self._left():
            if time.monotonic() >= deadline:
                return sorted(map(describe, left))
            time.sleep(0.02)
        return []

    def _left(self) -> set[psutil.Process]:
        """Return who lives of those that were seen, or else of those that never were."""
        known = {process for process in [*self._seen] if lives(process)}
        return known or {process for process in psutil.process_iter() if self._belongs(process)}

    def end(self, timeout: float = 300) -> Ran:
        """Wait for the run, demand that nothing of it is left, and return how it ended."""
        try:
            self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self._over.set()
            self._watcher.join()
        left = self.survivors()
        assert not left, left
        return Ran(self.process.returncode, self._out.read_text(), self._err.read_text())

    def _watch(self) -> None:
        while not self._over.wait(0.02):
            self.descendants()

    def _belongs(self, process: psutil.Process) -> bool:
        """Tell whether a process that was never seen works in the run's folder all the same."""
        try:
            return Path(process.cwd()).is_relative_to(self._folder) and lives(process)
        except (psutil.Error, OSError):
            return False


def make_rig(folder: Path) -> Rig:
    """Make a project with the task ``line`` and no trials."""
    rig = Rig(folder)
    for path in (rig.task, rig.trials, rig.temporary):
        path.mkdir(parents=True)
    (rig.project.root / "srh.toml").write_text("")
    (rig.task / "task.toml").write_text(TASK)
    rows = [f"{i / 4},{i / 2 + 1 + 0.01 * ((7 * i) % 5 - 2)}" for i in range(24)]
    (rig.task / "data.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    return rig


def fill(rig: Rig, count: int, *, models: int) -> Rig:
    """Add `count` trials, `models` of them models, which lie evenly among the others."""
    code = {index * count // models for index in range(models)} if models else set()
    for index in range(count):
        if index in code:
            rig.add_model(f"t{index:03}", degree=1 + index % 3)
        else:
            formula = FORMULAS[index % len(FORMULAS)]
            rig.add_formula(f"t{index:03}", formula.replace("10", str(10 + index)))
    return rig


def strict(text: str) -> dict[str, Any]:
    """Decode JSON that knows no NaN, no Infinity, and no key twice."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        assert len(dict(pairs)) == len(pairs)
        return dict(pairs)

    body = json.loads(text, parse_constant=refuse, object_pairs_hook=once)
    assert isinstance(body, dict)
    return body


def lives(process: psutil.Process) -> bool:
    """Tell whether a process, not another one of its number, runs and is no zombie."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def describe(process: psutil.Process) -> str:
    try:
        return f"{process.pid}: {' '.join(process.cmdline())}"
    except psutil.Error:
        return f"{process.pid}: gone meanwhile"

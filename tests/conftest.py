"""Fixtures that several rooms share: a private vault, and a small project with one task."""

from __future__ import annotations

from pathlib import Path

import pytest

from srh.project import Project
from support import add_trial

TASK = """\
title = "A straight line"
accepts = ["formula"]
tolerance = 1e-9

[data]
path = "data.csv"
target = "y"

[partitions]
kind = "kfold"
n_splits = 4

[holdout]
rows = [0, 10, 20, 30]

[ranking]
metric = "rmse"

[limits]
wall_s = 30
"""


@pytest.fixture(autouse=True)
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test's sealing key and holdout ledger away from the user's own."""
    folder = tmp_path / "xdg"
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    return folder / "srh"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with the task ``line`` (y = 2 x + 1 with a small wave) and the trial ``right``."""
    root = tmp_path / "project"
    task = root / "tasks" / "line"
    task.mkdir(parents=True)
    (root / "srh.toml").write_text("")
    (task / "task.toml").write_text(TASK)
    rows = [f"{i / 4},{2 * i / 4 + 1 + 0.01 * ((7 * i) % 5 - 2)}" for i in range(40)]
    (task / "data.csv").write_text("\n".join(["x,y", *rows]) + "\n")
    made = Project(root)
    add_trial(made, "right", "param('a')*x + param('b')")
    return made

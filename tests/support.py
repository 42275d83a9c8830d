"""Helpers that several test files share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from srh.project import Project


def add_trial(project: Project, name: str, formula: str, task: str = "line") -> Path:
    """Write a formula trial and return its folder."""
    folder = project.trials / task / name
    folder.mkdir(parents=True)
    (folder / "trial.toml").write_text('kind = "formula"\n')
    (folder / "formula.txt").write_text(formula + "\n", encoding="utf-8")
    return folder


def is_running(pid: int) -> bool:
    """Tell whether a process exists and is no zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def mounts_are_possible() -> bool:
    """Tell whether this machine permits mounts of one's own."""
    code = "import sys; from srh.sandbox.mounts import take_mounts; sys.exit(not take_mounts())"
    return subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""A task of outputs, and trials for it, that several test files share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from srh.project import Project

TASK = """\
title = "Numbers"
accepts = ["outputs"]

[data]
path = "examples.jsonl"

[[metrics]]
name = "right"
evaluator = "exact_match@1"
floor = { name = "right_or_zero", value = 0 }

[ranking]
metric = "right"
"""


def make_task(project: Project, name: str = "numbers", text: str = TASK, count: int = 10) -> Path:
    """Write a task whose examples ask for their own number."""
    folder = project.tasks / name
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text(text)
    rows = [{"id": f"e{n}", "input": n, "reference": n} for n in range(count)]
    write_lines(folder / "examples.jsonl", rows)
    return folder


def make_trial(
    project: Project, name: str, outputs: Mapping[str, Any], task: str = "numbers"
) -> Path:
    """Write a trial that gives these outputs."""
    folder = project.trials / task / name
    folder.mkdir(parents=True)
    (folder / "trial.toml").write_text('kind = "outputs"\n')
    write_lines(
        folder / "outputs.jsonl", [{"id": key, "output": value} for key, value in outputs.items()]
    )
    return folder


def write_lines(path: Path, rows: list[Any]) -> None:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

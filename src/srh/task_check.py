"""Checking a task against its data, before anything runs."""

from __future__ import annotations

from collections import Counter

import numpy as np

from srh.context import Dataset
from srh.examples import JUDGE_FILE, read_judgements
from srh.tasks import Task
from srh.text import one_line, plural

_SHOWN = 10


def check_task(task: Task) -> list[str]:
    """Validate a task against its data.

    Returns:
        One line per fact that a reader would want confirmed (rows, folds, holdout, notes).

    Raises:
        SrhError: Something is wrong; the message says what and where.
    """
    metrics = (
        f"metrics: {', '.join(task.metric_names)}; ranked by {task.ranking_metric} "
        f"({task.direction(task.ranking_metric)})"
    )
    if task.profile == "outputs":
        return [*_example_facts(task), metrics]
    dataset, partitions = task.dataset, task.partitions
    sizes = sorted({len(validation) for _, validation in partitions})
    size = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
    lines = [
        f"data: {dataset.n_rows} rows, target {dataset.target!r}"
        f"{_class_fact(dataset)}, features {', '.join(dataset.features)}",
        f"holdout: {task.holdout.size} rows",
        f"partitions: {len(partitions)} ({task.spec.partitions.kind}), {size} validation rows each",
        metrics,
    ]
    return lines + [f"note: {note}" for note in (*dataset.notes, *_holdout_notes(task))]


def _class_fact(dataset: Dataset) -> str:
    if not dataset.classes:
        return ""
    counts = np.bincount(dataset.y.astype(np.int64))
    listed = ", ".join(
        f"{one_line(str(label), 40)} {count}"
        for label, count in zip(dataset.classes[:_SHOWN], counts, strict=False)
    )
    more = ", …" if len(dataset.classes) > _SHOWN else ""
    return f" of {len(dataset.classes)} classes ({listed}{more})"


def _example_facts(task: Task) -> list[str]:
    examples = task.examples
    referenced = sum(example.reference is not None for example in examples)
    kinds = Counter(example.unit.kind for example in examples)
    units = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items()))
    lines = [f"examples: {len(examples)} ({referenced} with a reference; units: {units})"]
    for path in task.task_files:
        if path == JUDGE_FILE:
            recorded = read_judgements(task.folder / JUDGE_FILE)
            count = sum(map(len, recorded.values()))
            lines.append(f"judge's evidence: {plural(count, 'judgement')}")
        else:
            lines.append(f"host evaluators: {path}, digest {task.task_files[path]}")
    return lines


def _holdout_notes(task: Task) -> list[str]:
    """Return where the holdout asks for less than the folds do: old groups, or the past."""
    spec, dataset, held_out = task.spec.partitions, task.dataset, task.holdout
    if held_out.size == 0:
        return []
    if spec.kind == "group_kfold" and spec.group is not None:
        groups = dataset.column(spec.group)
        shared = set(groups[held_out].tolist()) & set(groups[task.development].tolist())
        if shared:
            return [
                f"{plural(len(shared), 'group')} of {spec.group!r} have rows in the holdout and "
                "outside it, so that the final score says nothing about new groups; "
                "hold out whole groups with `rows`"
            ]
    if spec.kind == "chronological" and spec.time is None and held_out[0] < task.development[-1]:
        return [
            "the holdout is not the last rows, so that the final score says nothing about the "
            "future; use `last`"
        ]
    return []

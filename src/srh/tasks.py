"""The task format: ``tasks/<name>/task.toml`` and the data beside it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from srh.context import (
    Dataset,
    DataSpec,
    HoldoutSpec,
    Partition,
    PartitionSpec,
    development_rows,
    digest_data,
    holdout_problems,
    holdout_rows,
    load_dataset,
    make_partitions,
    partition_problems,
)
from srh.context.manifest import MANIFEST
from srh.digest import digest_bytes, digest_value
from srh.errors import FormatError, SrhError, UsageError
from srh.evaluator import DefaultEvaluator
from srh.files import read_regular
from srh.formats import decode, read_json, read_toml
from srh.metrics import DEFAULT_METRICS, METRICS, Direction, MetricSpec, check_specs
from srh.project import TASK_FILE, Project
from srh.sandbox.limits import Limits
from srh.text import did_you_mean, plural

TrialKind = Literal["formula", "model", "evaluator", "outputs"]
_TASK_LIMIT = 1 << 20
_PARTITIONS_LIMIT = 256 << 20
# What may change without making a result stale: it describes, it does not decide a score.
_DESCRIPTIVE = ("title", "description")


class TaskData(DataSpec, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[data]``: where the data lie, and how their columns are to be read.

    Attributes:
        path: The data file or ``context.data`` folder, relative to the task's folder and inside it.
    """

    path: str

    def spec(self) -> DataSpec:
        """Return the part that a request carries: everything but the path."""
        names = msgspec.structs.fields(DataSpec)
        return DataSpec(**{field.name: getattr(self, field.name) for field in names})


class RankingSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[ranking]``: which metric orders the leaderboard.

    Attributes:
        metric: Name of one of the task's metrics.
        direction: Which end is better, for the reader; it must be the metric's own.
    """

    metric: str
    direction: Direction | None = None


class EvaluatorRef(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """``[evaluator]``: who fits and predicts.

    Attributes:
        kind: The built-in evaluator's name.
    """

    kind: Literal["default"] = "default"


class TaskSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of ``task.toml``.

    Attributes:
        title: One line.
        description: What the task is about.
        data: Where the data lie and how they are read.
        accepts: Kinds of trials.
        requires: Packages that trials need beyond srh's own.
        partitions: How development rows are divided into folds.
        holdout: Rows that nobody sees before ``srh eval --final``.
        metrics: What is measured; the ten default metrics unless given.
        ranking: What orders the leaderboard; the first metric unless given.
        evaluator: Who fits and predicts.
        limits: What one evaluation may use.
        tolerance: Largest difference, relative to the target's scale, between a prediction and
            the same prediction after a round trip.
        rowwise: Whether a prediction may depend on its own row only.
        frames: Whether models get pandas DataFrames with column names and categories (the extra
            ``frames``) instead of arrays.
        seed: Seed of everything random in fitting.
    """

    title: str
    data: TaskData
    description: str = ""
    accepts: list[TrialKind] = msgspec.field(default_factory=lambda: ["formula"])
    requires: list[str] = []
    partitions: PartitionSpec = PartitionSpec()
    holdout: HoldoutSpec | None = None
    metrics: list[MetricSpec] = []
    ranking: RankingSpec | None = None
    evaluator: EvaluatorRef = EvaluatorRef()
    limits: Limits = Limits()
    tolerance: float = 1e-9
    rowwise: bool = True
    frames: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Task:
    """A task as loaded from its folder.

    Attributes:
        name: Name of the folder.
        folder: The folder.
        spec: The content of ``task.toml``.
        sandbox: ``unsafe``: run code of trials without any confinement but the limits.
    """

    name: str
    folder: Path
    spec: TaskSpec
    sandbox: Literal["full", "unsafe"] = "full"

    @property
    def data_path(self) -> Path:
        """The data file, or ``context.data`` folder."""
        return self.folder / self.spec.data.path

    @property
    def metric_names(self) -> list[str]:
        """Names of the metrics, in the task's order."""
        return [metric.name for metric in self.spec.metrics] or list(DEFAULT_METRICS)

    @property
    def ranking_metric(self) -> str:
        """Name of the metric that orders the leaderboard."""
        return self.spec.ranking.metric if self.spec.ranking else self.metric_names[0]

    @cached_property
    def digest(self) -> str:
        """Digest of everything in the task that decides a score, but the data."""
        content = msgspec.to_builtins(self.spec)
        for field in _DESCRIPTIVE:
            del content[field]
        explicit = self.spec.partitions.file
        if explicit is not None:
            content["partitions_digest"] = digest_bytes(self._partitions_content(explicit))
        return digest_value(content)

    @cached_property
    def data_digest(self) -> str:
        """Digest of the data."""
        return digest_data(self.data_path)

    @cached_property
    def dataset(self) -> Dataset:
        """All rows, held-out ones included.

        Raises:
            DataError: The data are not as the task declares them.
        """
        return load_dataset(self.data_path, self.spec.data.spec())

    @cached_property
    def holdout(self) -> npt.NDArray[np.int64]:
        """Held-out rows, sorted; empty where the task holds none out."""
        return holdout_rows(self.spec.holdout, self.dataset.n_rows)

    @property
    def holdout_digest(self) -> str:
        """Identity of the held-out rows, independent of the task's name and place."""
        return digest_value({"data": self.data_digest, "rows": self.holdout.tolist()})

    @cached_property
    def development(self) -> npt.NDArray[np.int64]:
        """Rows that are not held out, sorted."""
        return development_rows(self.spec.holdout, self.dataset.n_rows)

    @cached_property
    def partitions(self) -> list[Partition]:
        """Training and validation rows of each fold, development rows only.

        Raises:
            DataError: The data cannot be divided as declared.
            FormatError: Explicit lists overlap, repeat, or name rows that are not there.
        """
        spec = self.spec.partitions
        explicit = None
        if spec.file is not None:
            where = str(self.folder / spec.file)
            explicit = read_json(self._partitions_content(spec.file), where)
        return make_partitions(
            spec,
            self.dataset,
            self.development,
            evaluator=DefaultEvaluator,
            explicit=explicit,
        )

    @property
    def final_partitions(self) -> list[Partition]:
        """The one partition of the final score: train on development rows, score held-out rows.

        Raises:
            UsageError: The task holds no rows out.
        """
        if self.holdout.size == 0:
            raise UsageError(
                f"{self.folder / TASK_FILE}: no [holdout], so there is no final score; "
                "the cross-validated one is all there is"
            )
        return [(self.development.tolist(), self.holdout.tolist())]

    def direction(self, metric: str) -> Direction:
        """Return which end of a metric is better on this task."""
        return METRICS[metric].direction

    def _partitions_content(self, name: str) -> bytes:
        return read_regular(self.folder / name, _PARTITIONS_LIMIT)


def load_task(project: Project, name: str, *, unsafe: bool = False) -> Task:
    """Load a task and check everything that can be checked without its data.

    Args:
        project: Where it is.
        name: Its name.
        unsafe: Run code of its trials without a sandbox.

    Raises:
        UsageError: There is no such task.
        FormatError: ``task.toml`` is wrong; all mistakes are listed.
    """
    task = read_task(project.require_task(name))
    return dataclasses.replace(task, sandbox="unsafe") if unsafe else task


def read_task(folder: Path) -> Task:
    """Load the task in ``folder`` (see `load_task`)."""
    path = folder / TASK_FILE
    raw = read_toml(read_regular(path, _TASK_LIMIT), str(path))
    task = Task(folder.name, folder, decode(TaskSpec, raw, str(path)))
    problems = _consistency(task)
    if problems:
        raise FormatError(str(path), problems)
    return task


def declared_data(data_path: Path) -> DataSpec:
    """Return how the task beside a data file declares it to be read; the defaults without one.

    Raises:
        SrhError: That task is wrong.
    """
    if (data_path.parent / TASK_FILE).is_file():
        task = read_task(data_path.parent)
        if task.data_path.resolve() == data_path.resolve():
            return task.spec.data.spec()
    return DataSpec()


def check_task(task: Task) -> list[str]:
    """Validate a task against its data.

    Returns:
        One line per fact that a reader would want confirmed (rows, folds, holdout, notes).

    Raises:
        SrhError: Something is wrong; the message says what and where.
    """
    dataset, partitions = task.dataset, task.partitions
    sizes = sorted({len(validation) for _, validation in partitions})
    size = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
    lines = [
        f"data: {dataset.n_rows} rows, target {dataset.target!r}, "
        f"features {', '.join(dataset.features)}",
        f"holdout: {task.holdout.size} rows",
        f"partitions: {len(partitions)} ({task.spec.partitions.kind}), {size} validation rows each",
        f"metrics: {', '.join(task.metric_names)}; ranked by {task.ranking_metric} "
        f"({task.direction(task.ranking_metric)})",
    ]
    return lines + [f"note: {note}" for note in (*dataset.notes, *_holdout_notes(task))]


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


def _consistency(task: Task) -> list[str]:
    """Return what is wrong between fields that are each well-formed."""
    spec, names = task.spec, task.metric_names
    problems = [
        f"{field}: must stay inside the task's folder, not {path!r}"
        for field, path in (
            ("data.path", spec.data.path),
            ("partitions.file", spec.partitions.file),
        )
        if path is not None and not _is_inside(path)
    ]
    if _is_inside(spec.data.path) and not _is_data(task.data_path):
        there = [entry.name for entry in task.folder.iterdir() if entry.name != TASK_FILE]
        hint = did_you_mean(spec.data.path, there)
        what = f"no {MANIFEST} in" if task.data_path.is_dir() else "no file"
        problems.append(f"data.path: {what} {spec.data.path!r} in {task.folder}{hint}")
    problems += [f"partitions.{problem}" for problem in partition_problems(spec.partitions)]
    if spec.holdout is not None:
        problems += [f"holdout.{problem}" for problem in holdout_problems(spec.holdout)]
    try:
        check_specs(spec.metrics)
    except SrhError as error:
        problems += [f"metrics: {line}" for line in str(error).splitlines()]
    if spec.ranking is not None and spec.ranking.metric not in names:
        hint = did_you_mean(spec.ranking.metric, names)
        problems.append(
            f"ranking.metric: {spec.ranking.metric!r} is not a metric here{hint}; "
            f"metrics here: {', '.join(names)}"
        )
    elif spec.ranking is not None and spec.ranking.direction not in (
        None,
        METRICS[spec.ranking.metric].direction,
    ):
        problems.append(
            f"ranking.direction: {spec.ranking.metric} is better at the other end; leave it out"
        )
    if not spec.accepts:
        problems.append("accepts: must name at least one kind of trial")
    if not 0 <= spec.tolerance < 1:
        problems.append(f"tolerance: must be at least 0 and below 1, not {spec.tolerance}")
    if spec.seed < 0:
        problems.append(f"seed: must not be negative, not {spec.seed}")
    packages = [*spec.requires, *(["pandas"] if spec.frames else [])]
    return problems + _missing_packages(packages)


def _is_data(path: Path) -> bool:
    return path.is_file() or (path / MANIFEST).is_file()


def _missing_packages(names: list[str]) -> list[str]:
    from importlib import metadata

    problems = []
    for name in names:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            problems.append(f"requires: package {name!r} is not installed; `pip install {name}`")
    return problems


def _is_inside(path: str) -> bool:
    """Tell whether a relative path stays in its folder, by its text alone."""
    relative = PurePosixPath(path)
    return bool(path) and not relative.is_absolute() and ".." not in relative.parts

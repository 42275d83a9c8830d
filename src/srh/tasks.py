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
from srh.examples import ExampleLine, offered_evidence, read_examples, task_files
from srh.files import read_regular
from srh.formats import decode, read_json, read_toml
from srh.metrics import Direction, Evidence, MetricRegistry, MetricSpec, Profile, Surroundings
from srh.project import TASK_FILE, Project
from srh.sandbox.limits import Limits
from srh.text import did_you_mean

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
        metrics: What is measured; the default metrics of what the task predicts unless given.
            Outputs have no default.
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
    def profile(self) -> Profile:
        """What is measured here."""
        if "outputs" in self.spec.accepts:
            return "outputs"
        return "classification" if self.spec.data.target_kind == "category" else "regression"

    @cached_property
    def registry(self) -> MetricRegistry:
        """The metrics, checked.

        Raises:
            SrhError: The task is one of outputs, and its examples cannot be read.
        """
        around = Surroundings(profile=self.profile, evidence=self._evidence(), folder=self.folder)
        return MetricRegistry(self.spec.metrics, around)

    def _evidence(self) -> frozenset[Evidence]:
        if self.profile == "outputs":
            return offered_evidence(self.examples, self.folder)
        offered: set[Evidence] = {"predictions", "reference"}
        if self.profile == "classification":
            offered.add("probabilities")
        if "formula" in self.spec.accepts:
            offered |= {"parameter_count", "complexity"}
        return frozenset(offered)

    @cached_property
    def examples(self) -> list[ExampleLine]:
        """The examples of a task of outputs; none where predictions are scored.

        Raises:
            SrhError: They cannot be read.
        """
        return read_examples(self.data_path) if self.profile == "outputs" else []

    @cached_property
    def task_files(self) -> dict[str, str]:
        """Digest of each file that measuring outputs takes beside the examples, by its path."""
        return task_files(self.spec.metrics, self.folder) if self.profile == "outputs" else {}

    @property
    def metric_names(self) -> list[str]:
        """Names of the numbers that are measured, in the task's order."""
        return list(self.registry.columns)

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
        if self.task_files:
            content["task_files"] = self.task_files
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
        if self.spec.holdout is None:
            return np.empty(0, dtype=np.int64)
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
        if self.profile == "outputs":
            return []
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

    def direction(self, metric: str) -> Direction | None:
        """Return which end of a metric is better on this task; None: it has no better end."""
        return self.registry.direction(metric)

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


def _consistency(task: Task) -> list[str]:
    """Return what is wrong between fields that are each well-formed."""
    spec = task.spec
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
    problems += _profile_problems(spec, task.profile)
    try:
        problems += [str(problem) for problem in task.registry.problems]
    except SrhError as error:
        problems += [] if problems else str(error).splitlines()
    else:
        problems += _ranking_problems(task)
    if not spec.accepts:
        problems.append("accepts: must name at least one kind of trial")
    if not 0 <= spec.tolerance < 1:
        problems.append(f"tolerance: must be at least 0 and below 1, not {spec.tolerance}")
    if spec.seed < 0:
        problems.append(f"seed: must not be negative, not {spec.seed}")
    packages = [*spec.requires, *(["pandas"] if spec.frames else [])]
    return problems + _missing_packages(packages)


def _profile_problems(spec: TaskSpec, profile: Profile) -> list[str]:
    """Return what has no meaning for what the task measures."""
    if profile == "outputs":
        given = {
            "accepts": spec.accepts != ["outputs"],
            "partitions": spec.partitions != PartitionSpec(),
            "holdout": spec.holdout is not None,
            "evaluator": spec.evaluator != EvaluatorRef(),
            "data": spec.data != TaskData(path=spec.data.path),
            "frames": spec.frames,
        }
        problems = [
            f"{name}: outputs are scored example by example; only data.path has a meaning"
            if name == "data"
            else f"{name}: outputs are not scored together with anything else; remove the others"
            if name == "accepts"
            else f"{name}: has no meaning for outputs; remove it"
            for name, wrong in given.items()
            if wrong
        ]
        return problems + ([] if spec.metrics else ["metrics: outputs need at least one metric"])
    if profile == "classification" and "formula" in spec.accepts:
        return ["accepts: a formula gives numbers, and the target is of categories"]
    return []


def _ranking_problems(task: Task) -> list[str]:
    spec, columns = task.spec.ranking, task.registry.columns
    if not columns:
        return []
    if spec is not None and spec.metric not in columns:
        hint = did_you_mean(spec.metric, columns)
        return [
            f"ranking.metric: {spec.metric!r} is not a metric here{hint}; "
            f"metrics here: {', '.join(columns)}"
        ]
    name = task.ranking_metric
    declared = columns[name].spec
    if declared.direction is None or declared.how == "none":
        lacking = "direction" if declared.direction is None else "aggregation"
        return [f"ranking.metric: {name} has no {lacking}, and cannot order anything"]
    if spec is not None and spec.direction not in (None, declared.direction):
        return [f"ranking.direction: {name} is better at the other end; leave it out"]
    return []


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

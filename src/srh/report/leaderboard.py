"""The leaderboard: which trials have earned a place, and why the others have none."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from srh.errors import SrhError, UsageError
from srh.evaluation.batch import Entry, Origin
from srh.evaluation.protocol import EvaluationResult, Outcome, is_unconfined
from srh.metrics import Aggregation, Direction, MetricSpec
from srh.tasks import Task
from srh.text import did_you_mean, one_line
from srh.trials import Trial, read_spec

Standing = Literal["ranked", "unmeasured", "failed", "unverified", "not evaluated"]
_ORDER: tuple[Standing, ...] = ("ranked", "unmeasured", "failed", "unverified", "not evaluated")


@dataclass(frozen=True, slots=True)
class Column:
    """One metric of a leaderboard.

    Attributes:
        name: Name of the metric.
        direction: Which end is better; None: neither.
        aggregation: How folds or examples became one number.
        floor: What an example counts for that the trial has not answered; None: it counts not.
    """

    name: str
    direction: Direction | None
    aggregation: Aggregation
    floor: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One trial of a leaderboard.

    Attributes:
        trial: Its id, as untrusted as the trial.
        standing: ``ranked``; ``unmeasured``: evaluated, but without a value of the ranking metric;
            ``failed``; ``unverified``: a stored result that may not be believed; or
            ``not evaluated``.
        rank: Place from 1; equal values share a place, and the next place is skipped. None unless
            ranked.
        metrics: Value by name; all None where nothing may be believed.
        outcome: What happened; None where nothing may be believed.
        reason: Why it is not ranked.
        description: What is proposed, as its author says.
        origin: Where the result comes from.
        result: The whole result, if it may be believed.
        unconfined: Whether the trial's code ran without a sandbox.
    """

    trial: str
    standing: Standing
    rank: int | None
    metrics: Mapping[str, float | None]
    outcome: Outcome | None
    reason: str | None
    description: str
    origin: Origin
    result: EvaluationResult | None
    unconfined: bool = False


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard.

    Attributes:
        task: Name of the task.
        title: Its title.
        columns: The metrics, the ranking one first.
        rows: The trials, in the order of reading.
        n_development: Rows that folds are made of.
        n_holdout: Rows that are held out.
        n_folds: Folds behind each score; none where outputs are scored.
        look: Number of this look at the holdout; None: the scores are cross-validated.
        ignored: Folders among the trials whose names, made harmless here, no trial can have.
        n_examples: Examples behind each score, where outputs are scored.
    """

    task: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    n_development: int
    n_holdout: int
    n_folds: int
    look: int | None = None
    ignored: tuple[str, ...] = ()
    n_examples: int = 0

    @property
    def ranking(self) -> Column:
        """The metric that orders the rows."""
        return self.columns[0]

    @property
    def kind(self) -> Literal["cv", "holdout", "examples"]:
        """What the scores are."""
        if self.n_examples:
            return "examples"
        return "cv" if self.look is None else "holdout"


def build_board(
    task: Task,
    entries: Sequence[Entry],
    *,
    rank_by: str | None = None,
    descriptions: Mapping[Trial, str] | None = None,
    look: int | None = None,
    ignored: Sequence[str] = (),
) -> Board:
    """Order a task's entries into a leaderboard.

    Args:
        task: The task.
        entries: Its trials with their results.
        rank_by: Metric that orders it; the task's own unless given.
        descriptions: What the trials propose (see `read_descriptions`).
        look: Number of the look at the holdout that the entries come from.
        ignored: Folders whose names no trial can have.

    Raises:
        UsageError: `rank_by` is not a metric of the task.
    """
    columns = _columns(task, require_metric(task, rank_by))
    texts = descriptions or {}
    rows = [_row(entry, columns, texts.get(entry.trial, "")) for entry in entries]
    outputs = task.profile == "outputs"
    return Board(
        task=task.name,
        title=task.spec.title,
        columns=columns,
        rows=tuple(_ranked(rows, columns[0])),
        n_development=0 if outputs else int(task.development.size),
        n_holdout=int(task.holdout.size),
        n_folds=len(task.partitions) if look is None else 1,
        look=look,
        ignored=tuple(ignored),
        n_examples=len(task.examples),
    )


def require_metric(task: Task, name: str | None) -> str:
    """Return ``name``, or the task's ranking metric where it is None.

    Raises:
        UsageError: It is not a metric of the task.
    """
    if name is None:
        return task.ranking_metric
    if name not in task.metric_names:
        hint = did_you_mean(name, task.metric_names)
        raise UsageError(
            f"{one_line(name)!r} is not a metric of task {task.name}{hint}; "
            f"its metrics: {', '.join(task.metric_names)}"
        )
    return name


def read_descriptions(trials: Sequence[Trial]) -> dict[Trial, str]:
    """Return what each trial says that it proposes; nothing for a trial that cannot be read."""
    found = {}
    for trial in trials:
        try:
            spec = read_spec(trial.folder)
        except SrhError:
            continue
        if spec is not None:
            found[trial] = spec.description
    return found


def _columns(task: Task, ranking: str) -> tuple[Column, ...]:
    names = [ranking, *(name for name in task.metric_names if name != ranking)]
    return tuple(_column(task.registry.columns[name].spec, name) for name in names)


def _column(spec: MetricSpec, name: str) -> Column:
    floor = spec.floor.value if spec.floor is not None and spec.floor.name == name else None
    return Column(name, spec.direction, spec.how, floor)


def _row(entry: Entry, columns: Sequence[Column], description: str) -> Row:
    result = entry.trusted
    metrics = {} if result is None else result.metrics
    standing = _standing(entry, columns[0].name)
    return Row(
        trial=entry.trial.id,
        standing=standing,
        rank=None,
        metrics={column.name: metrics.get(column.name) for column in columns},
        outcome=None if result is None else result.outcome,
        reason=_reason(entry, standing, columns[0].name),
        description=description,
        origin=entry.origin,
        result=result,
        unconfined=result is not None and is_unconfined(result),
    )


def _standing(entry: Entry, ranking: str) -> Standing:
    if entry.trusted is None:
        return "unverified" if entry.origin == "unverified" else "not evaluated"
    if entry.trusted.status != "ok":
        return "failed"
    return "unmeasured" if entry.trusted.metrics.get(ranking) is None else "ranked"


def _reason(entry: Entry, standing: Standing, ranking: str) -> str | None:
    result = entry.trusted
    if standing == "ranked":
        return None
    if result is None:
        return entry.reason or "no result yet"
    if standing == "failed":
        return result.error or entry.reason
    score = result.scores.get(ranking)
    return f"no {ranking}: {score.reason if score and score.reason else 'not measured'}"


def _ranked(rows: Sequence[Row], ranking: Column) -> list[Row]:
    """Return the rows in order, with their places.

    Of equal values the one that stands for more of the examples comes first.
    """
    sign = 1.0 if ranking.direction == "minimize" else -1.0

    def merit(row: Row) -> tuple[float, float]:
        value = row.metrics[ranking.name] if row.standing == "ranked" else None
        return sign * (value or 0.0), -_coverage(row, ranking.name)

    ordered = sorted(rows, key=lambda row: (_ORDER.index(row.standing), *merit(row), row.trial))
    places: dict[tuple[float, float], int] = {}
    for place, row in enumerate(ordered, start=1):
        if row.standing == "ranked":
            rank = places.setdefault(merit(row), place)
            ordered[place - 1] = dataclasses.replace(row, rank=rank)
    return ordered


def _coverage(row: Row, name: str) -> float:
    """Return the share of folds or examples that have a value."""
    score = None if row.result is None else row.result.scores.get(name)
    return score.n_scored / score.n_total if score is not None and score.n_total else 0.0

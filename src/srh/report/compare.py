"""Compare trials: whether one is really better, and what differs between them."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from srh.errors import UsageError
from srh.evaluation.protocol import Provenance
from srh.evaluation.records import differing
from srh.metrics.column import CANDIDATE_FAILURES, code_of
from srh.project import Project
from srh.report.leaderboard import require_metric
from srh.report.paired import Paired, compare_examples, compare_folds
from srh.report.stored import Evaluated, Tasks, name_trial, require_current
from srh.text import harmless, one_line
from srh.trials import Trial, TrialSource

# What two results must share to be comparable at all.
_COMMON_GROUND = ("task", "data", "evaluator", "metrics", "request")
_SOURCE_CHARS = 50_000


@dataclass(frozen=True, slots=True)
class Comparison:
    """One trial against the baseline.

    Attributes:
        trial: The trial's name.
        chosen: The verdict on the metric that decides.
        metrics: All metrics that both have, the deciding one first.
        failure: How the trial failed, if it did.
        incomparable: What the two do not share although they must; empty unless forced.
        source: Unified diff of the two sources, harmless; empty where they are the same.
        provenance: What else differs: ``(field, the baseline's, the trial's)``.
    """

    trial: str
    chosen: Paired
    metrics: tuple[Paired, ...]
    failure: str | None
    incomparable: tuple[str, ...]
    source: str
    provenance: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Comparisons:
    """Trials against one baseline.

    Attributes:
        baseline: The baseline's name.
        metric: The metric that decides.
        failure: How the baseline failed, if it did.
        n_folds: Folds of the baseline; none where outputs are scored.
        others: The other trials.
    """

    baseline: str
    metric: str
    failure: str | None
    n_folds: int
    others: tuple[Comparison, ...]


def compare_trials(
    project: Project, names: Sequence[str], *, metric: str | None = None, force: bool = False
) -> Comparisons:
    """Compare trials by their current results.

    Args:
        project: Where they are.
        names: The baseline, then the others.
        metric: The metric that decides; the task's ranking metric unless given.
        force: Compare what rests on different tasks, data or requests all the same.

    Raises:
        UsageError: Fewer than two trials, one without a current result, an unknown metric, or
            results that are not comparable.
    """
    first, *rest = _named(project, names)
    tasks = Tasks(project)
    baseline, *others = [require_current(tasks.of(trial), trial) for trial in (first, *rest)]
    chosen = require_metric(baseline.task, metric)
    gaps = [common_ground_lacking(baseline.provenance, other.provenance) for other in others]
    if not force:
        _refuse_incomparable(baseline, others, gaps)
    for other in others:
        require_metric(other.task, chosen)
    return Comparisons(
        baseline=baseline.trial.name,
        metric=chosen,
        failure=_failure(baseline),
        n_folds=len(baseline.result.per_fold),
        others=tuple(
            _compare(baseline, other, chosen, gap) for other, gap in zip(others, gaps, strict=True)
        ),
    )


def common_ground_lacking(one: Provenance, two: Provenance) -> tuple[str, ...]:
    """Return what two results must share but do not."""
    return tuple(name for name in _COMMON_GROUND if getattr(one, name) != getattr(two, name))


def provenance_differences(one: Provenance, two: Provenance) -> tuple[tuple[str, str, str], ...]:
    """Return ``(field, first, second)`` for everything that two results rest on differently."""
    flat_one, flat_two = _flat(one), _flat(two)
    return tuple(
        (name, flat_one.get(name, "none"), flat_two.get(name, "none"))
        for name in dict.fromkeys([*flat_one, *flat_two])
        if flat_one.get(name) != flat_two.get(name)
    )


def source_difference(one: TrialSource, two: TrialSource, names: tuple[str, str]) -> str:
    """Return a unified diff of two sources, harmless to print; empty where they are the same.

    Args:
        one: The first source.
        two: The second source.
        names: What to call them.
    """
    if one.digest == two.digest:
        return ""
    first, second = map(one_line, names)
    lines = difflib.unified_diff(_lines(one), _lines(two), first, second, lineterm="")
    return "\n".join(lines)


def _named(project: Project, names: Sequence[str]) -> list[Trial]:
    if len(names) < 2:
        raise UsageError("name at least two trials: the baseline, then what to compare with it")
    first = name_trial(project, names[0])
    trials = [first, *(name_trial(project, name, first.task) for name in names[1:])]
    twice = next((trial for trial in trials if trials.count(trial) > 1), None)
    if twice is not None:
        raise UsageError(f"trial {one_line(twice.name)} is named twice; a trial equals itself")
    return trials


def _refuse_incomparable(
    baseline: Evaluated, others: Sequence[Evaluated], gaps: Sequence[tuple[str, ...]]
) -> None:
    problems = []
    for other, gap in zip(others, gaps, strict=True):
        if gap:
            problems.append(
                f"{one_line(baseline.trial.name)} and {one_line(other.trial.name)} are not "
                f"comparable: they differ in {', '.join(map(differing, gap))}"
            )
    if problems:
        raise UsageError("\n".join([*problems, "--force compares them all the same"]))


def _compare(
    baseline: Evaluated, other: Evaluated, chosen: str, gap: tuple[str, ...]
) -> Comparison:
    shared = [name for name in baseline.task.metric_names if name in other.task.metric_names]
    order = [chosen, *(name for name in shared if name != chosen)]
    metrics = tuple(_paired(baseline, other, name) for name in order)
    return Comparison(
        trial=other.trial.name,
        chosen=metrics[0],
        metrics=metrics,
        failure=_failure(other),
        incomparable=gap,
        source=source_difference(
            baseline.source, other.source, (baseline.trial.name, other.trial.name)
        ),
        provenance=tuple(
            difference
            for difference in provenance_differences(baseline.provenance, other.provenance)
            if difference[0] != "trial"  # the source's difference is shown as a whole
        ),
    )


def _paired(baseline: Evaluated, other: Evaluated, metric: str) -> Paired:
    if baseline.task.profile == "outputs":
        return compare_examples(
            metric,
            baseline.task.direction(metric),
            _by_example(baseline, metric),
            _by_example(other, metric),
            baseline.result.example_ids,
        )
    return compare_folds(
        metric,
        baseline.task.direction(metric),
        [fold.get(metric) for fold in baseline.result.per_fold],
        [fold.get(metric) for fold in other.result.per_fold],
        [(fold.n_train, fold.n_validation) for fold in baseline.result.folds],
    )


def _by_example(evaluated: Evaluated, column: str) -> list[float | None]:
    """Return the value of each example; a floored number has the floor where the trial failed."""
    per_example = evaluated.result.per_example
    if column in per_example:
        return per_example[column].values
    spec = evaluated.task.registry.columns[column].spec
    scores = per_example.get(spec.emitted[0])
    if scores is None or spec.floor is None:
        return []
    own = {
        name
        for lack in scores.missing
        if code_of(lack.reason) in CANDIDATE_FAILURES
        for name in lack.examples
    }
    return [
        spec.floor.value if value is None and name in own else value
        for name, value in zip(evaluated.result.example_ids, scores.values, strict=True)
    ]


def _failure(evaluated: Evaluated) -> str | None:
    result = evaluated.result
    if result.status == "ok":
        return None
    return one_line(f"{result.outcome}: {result.error or 'no reason given'}", 400)


def _flat(provenance: Provenance) -> dict[str, str]:
    """Return provenance as text by field; of nested fields each has its own."""
    flat: dict[str, str] = {}
    for name, value in msgspec.to_builtins(provenance).items():
        if isinstance(value, dict):
            flat |= {f"{name}.{key}": one_line(str(item)) for key, item in value.items()}
        else:
            text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            flat[name] = one_line(text)
    return flat


def _lines(source: TrialSource) -> list[str]:
    text = "\n".join(harmless(content, _SOURCE_CHARS) for content in source.files.values())
    return text.splitlines()

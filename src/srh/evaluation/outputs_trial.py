"""Scoring outputs: a trial that has answered a task's examples already.

Nothing of the trial is run: its file is data. Metrics are measured one after the other, those that
others need first; an example on which such a prerequisite has no value is ``blocked`` for the
others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from srh.errors import FormatError
from srh.evaluation.host_metrics import Given, HostMetric
from srh.evaluation.protocol import EvaluationResult, ExampleScores, Missing, Request
from srh.evaluation.scorer import TrialFailedError
from srh.examples import (
    JUDGE_FILE,
    Judgements,
    judged,
    read_examples,
    read_judgements,
    read_outputs,
)
from srh.metrics import (
    EvidenceBundle,
    Example,
    Metric,
    MetricRegistry,
    Score,
    ScoreColumn,
    everywhere,
    evidence_lacking,
    in_order,
    measurer,
    summarize,
)
from srh.metrics.contract import NOTHING
from srh.sandbox.limits import limit_memory
from srh.sandbox.nursery import Asking
from srh.text import harmless


def score_outputs(
    content: bytes,
    request: Request,
    registry: MetricRegistry,
    data: Path,
    *,
    folder: Path,
    nursery: Asking | None,
) -> EvaluationResult:
    """Score a trial's outputs.

    Args:
        content: The trial's file.
        request: What is asked.
        registry: The metrics.
        data: The task's examples.
        folder: The task's other files, as staged.
        nursery: Who forks contestants; None: no metric needs any.

    Raises:
        TrialFailedError: The trial's file does not follow its format.
        SrhError: The task's files do not.
    """
    started = time.perf_counter()
    lines = read_examples(data)
    recorded = read_judgements(folder / JUDGE_FILE) if JUDGE_FILE in request.task_files else {}
    limit_memory(request.limits)  # the task's files are not the trial's to pay for
    try:
        examples = read_outputs(content, lines, "outputs.jsonl")
    except FormatError as error:
        raise TrialFailedError("error", harmless(str(error))) from error
    scoring = _Scoring(request, examples, recorded, data, folder, nursery)
    hosts = sum(metric.host is not None for metric in registry.metrics)
    for metric in in_order(registry.metrics):
        scoring.measure(metric, hosts)
    ids = [example.id for example in examples]
    specs = [metric.spec for metric in registry.metrics]
    scores = summarize(scoring.columns, specs, ids)
    return EvaluationResult(
        status="ok",
        metrics={name: found.value for name, found in scores.items()},
        runtime=time.perf_counter() - started,
        roundtrip_ok=True,  # outputs are what they are
        scores=scores,
        example_ids=ids,
        per_example={
            name: _told(scoring.columns[name], ids, metric.evaluator, scoring.versions[name])
            for metric in registry.metrics
            for name in metric.spec.emitted
        },
    )


class _Scoring:
    """The columns of scores, as they come to be."""

    def __init__(
        self,
        request: Request,
        examples: Sequence[Example],
        recorded: Judgements,
        data: Path,
        folder: Path,
        nursery: Asking | None,
    ) -> None:
        self.columns: dict[str, ScoreColumn] = {}
        self.versions: dict[str, str] = {}
        self._main: dict[str, str] = {}
        self._request = request
        self._examples = examples
        self._recorded = recorded
        self._data = data
        self._folder = folder
        self._nursery = nursery

    def measure(self, metric: Metric, n_hosts: int) -> None:
        """Measure one metric, whose prerequisites are measured already."""
        spec = metric.spec
        columns = {name: ScoreColumn(name) for name in spec.emitted}
        self.columns |= columns
        self._main[spec.name] = spec.emitted[0]
        for scores in self._scores(metric, n_hosts):
            for score in scores:
                columns[score.name].add(score)

    def _scores(self, metric: Metric, n_hosts: int) -> Iterator[list[Score]]:
        """Yield the scores of every example, in order."""
        if metric.info is not None:
            version = str(metric.info.version)
            self.versions |= dict.fromkeys(metric.spec.emitted, version)
            measure = measurer(metric)
            if not self._recorded and not metric.spec.prerequisites:
                for example in self._examples:
                    yield measure(example, NOTHING)
                return
            for position, example in enumerate(self._examples):
                lack = self._lacking(metric, position)
                yield lack or measure(example, self._bundle(metric, example))
            return
        assert self._nursery is not None  # noqa: S101 - whoever asks for a host brings one
        host = HostMetric(metric, self._request, self._folder, self._nursery, self._data, n_hosts)
        self.versions |= dict.fromkeys(metric.spec.emitted, host.version)
        try:
            yield from self._host_scores(metric, host)
        finally:
            host.close()

    def _host_scores(self, metric: Metric, host: HostMetric) -> Iterator[list[Score]]:
        lacks: list[list[Score] | None] = []
        given: list[Given] = []
        for position, example in enumerate(self._examples):
            bundle = self._bundle(metric, example)
            lack = self._lacking(metric, position) or evidence_lacking(metric.spec, bundle)
            lacks.append(lack)
            if lack is None:
                given.append((example, bundle))
        measured = host.measure(given)
        for lack in lacks:
            yield next(measured) if lack is None else lack

    def _bundle(self, metric: Metric, example: Example) -> EvidenceBundle:
        if not self._recorded:
            return NOTHING
        return EvidenceBundle(judged(self._recorded, metric.spec.name, example))

    def _lacking(self, metric: Metric, position: int) -> list[Score] | None:
        """Return the scores of an example on which a prerequisite has no value, or None."""
        for name in metric.spec.prerequisites:
            if self.columns[self._main[name]].values[position] is None:
                message = f"{name} has no value for it"
                lack = Score.blocked(metric.spec.name, "prerequisite", message)
                return everywhere(metric.spec, lack)
        return None


def _told(column: ScoreColumn, ids: Sequence[str], evaluator: str, version: str) -> ExampleScores:
    """Return a column as a result carries it."""
    missing: dict[tuple[str, str], Missing] = {}
    for position, (status, reason) in column.missing.items():
        new = Missing(status=status, reason=reason, examples=[])
        missing.setdefault((status, reason), new).examples.append(ids[position])
    return ExampleScores(
        evaluator=evaluator,
        version=version,
        values=column.values,
        missing=list(missing.values()),
        spreads={ids[position]: spread for position, spread in column.spreads.items()},
        evidence={ids[position]: list(refs) for position, refs in column.evidence.items()},
    )

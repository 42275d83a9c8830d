"""The metrics that are known, or a task's, as a table and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from srh.formats import pretty_json
from srh.metrics import METRICS, Metric, MetricSpec, complete
from srh.metrics.catalogue import plug_ins
from srh.report.cells import GAP, MISSING, plain_table, print_table
from srh.tasks import Task
from srh.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

_TITLES = ("metric", "evaluator", "lens", "about", "type", "range", "better", "by")
_SUMMARY_WIDTH = 24


def known_metrics() -> list[Metric]:
    """Return every evaluator that is built in, or that a package brings, as a metric of its name.

    Raises:
        MetricError: A package brings one that cannot be used.
    """
    infos = [*METRICS.values(), *plug_ins().values()]
    return [Metric(complete(MetricSpec(name=info.name), info), info) for info in infos]


def task_metrics(task: Task) -> list[Metric]:
    """Return a task's metrics."""
    return list(task.registry.metrics)


def metrics_json(metrics: Sequence[Metric]) -> str:
    """Return metrics with everything that they declare as strict JSON."""
    return pretty_json([_told(metric) for metric in metrics]).decode()


def print_metrics(metrics: Sequence[Metric], console: Console) -> None:
    """Print metrics as a table that fits the console's width."""
    from rich.cells import cell_len
    from rich.text import Text

    rows = [tuple(map(one_line, _cells(metric))) for metric in metrics]
    widths = [max(map(cell_len, cells)) for cells in zip(_TITLES, *rows, strict=True)]
    room = console.width - sum(widths) - GAP * len(widths)
    table = plain_table(_TITLES[0])
    for title in _TITLES[1:]:
        table.add_column(title, no_wrap=True)
    if room >= _SUMMARY_WIDTH:
        table.add_column("", overflow="ellipsis", no_wrap=True, max_width=room)
    for cells, metric in zip(rows, metrics, strict=True):
        summary = "" if metric.info is None else metric.info.summary
        table.add_row(*map(Text, cells), *([Text(one_line(summary))] * (room >= _SUMMARY_WIDTH)))
    print_table(table, console)


def _cells(metric: Metric) -> tuple[str, ...]:
    spec = metric.spec
    return (
        spec.name,
        str(metric.host or spec.evaluator),
        spec.lens or MISSING,
        str(spec.granularity),
        spec.score_type or MISSING,
        str(spec.range),
        {"minimize": "lower", "maximize": "higher", None: MISSING}[spec.direction],
        "task" if metric.info is None else metric.info.origin,
    )


def _told(metric: Metric) -> dict[str, Any]:
    fields = {name: getattr(metric.spec, name) for name in MetricSpec.__struct_fields__}
    return {
        "spec": msgspec.to_builtins(fields),
        "origin": "task" if metric.info is None else metric.info.origin,
        "summary": "" if metric.info is None else metric.info.summary,
    }

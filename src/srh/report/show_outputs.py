"""The part of a trial's page that is about outputs: numbers, their population, what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from srh.evaluation.protocol import EvaluationResult
from srh.metrics import Aggregate
from srh.report.cells import MISSING, number, plain_table, titled
from srh.tasks import Task
from srh.text import one_line, plural

if TYPE_CHECKING:
    from rich.table import Table

_SHOWN = 100  # numbers and reasons; a planted result may claim any number
_EXAMPLES = 5


def population_table(task: Task, result: EvaluationResult) -> Table:
    """Return each number with its interval and with how many examples it stands for."""
    from rich.text import Text

    judged = any(score.spread is not None for score in result.scores.values())
    more = ("spread of judgements",) if judged else ()
    table = plain_table("metric", "value", "95 % interval", "scored", *more)
    for name, score in islice(result.scores.items(), _SHOWN):
        known = name in task.metric_names
        title = titled(name, task.direction(name)) if known else one_line(name, 40)
        cells = [
            title,
            number(score.value),
            _interval(score),
            f"{score.n_scored} of {score.n_total}",
            *([number(score.spread)] if judged else []),
        ]
        table.add_row(*map(Text, cells))
    return table


def lacking_lines(result: EvaluationResult) -> Iterator[str]:
    """Yield every reason for which examples have no score, with the first of them."""
    for name, scores in islice(result.per_example.items(), _SHOWN):
        for lack in scores.missing[:_SHOWN]:
            shown = ", ".join(one_line(one, 40) for one in lack.examples[:_EXAMPLES])
            more = ", …" if len(lack.examples) > _EXAMPLES else ""
            count = plural(len(lack.examples), "example")
            yield (
                f"{one_line(name, 40)}: {lack.status} on {count} ({shown}{more}): "
                f"{one_line(lack.reason, 400)}"
            )


def _interval(score: Aggregate) -> str:
    if score.interval is None:
        return MISSING
    kind = score.interval.kind.replace("student_t", "t")
    return f"{number(score.interval.low)} to {number(score.interval.high)} ({kind})"

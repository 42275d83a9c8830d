"""Everything about one trial, on one page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from srh.errors import SrhError
from srh.evaluation.batch import read_accepted, stored_record
from srh.evaluation.protocol import EvaluationResult, Fitted
from srh.evaluation.records import Record
from srh.formats import pretty_json
from srh.report.cells import GAP, MISSING, arrow, number, plain_table, print_table
from srh.tasks import Task
from srh.text import harmless, one_line
from srh.trials import Trial, TrialSource, TrialSpec, read_spec

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_SOURCE_CHARS = 4000
_FORMULA_CHARS = 4000
_SHOWN = 100  # of each list on a page: a planted result may claim any number; --json has all
# Widest metric title and widest value, with the gap to the next column.
_TITLE_WIDTH, _VALUE_WIDTH = 16, 13


@dataclass(frozen=True, slots=True)
class Page:
    """Everything about one trial.

    Attributes:
        task: Its task.
        trial: The trial.
        spec: Its ``trial.toml``; None where it has none, or it cannot be read.
        source: What would be evaluated; None where it cannot be.
        problem: Why it cannot be evaluated.
        record: Its stored result, and whether that may be believed.
    """

    task: Task
    trial: Trial
    spec: TrialSpec | None
    source: TrialSource | None
    problem: str | None
    record: Record


def make_page(task: Task, trial: Trial) -> Page:
    """Collect everything about a trial; nothing is evaluated.

    Raises:
        SrhError: The task's data or partitions are wrong.
    """
    try:
        spec = read_spec(trial.folder)
    except SrhError:
        spec = None  # reading the source fails for the same reason, and says it
    source = read_accepted(task, trial)
    record = stored_record(task, trial, source)
    if isinstance(source, EvaluationResult):
        return Page(task, trial, spec, None, source.error, record)
    return Page(task, trial, spec, source, None, record)


def page_json(page: Page) -> str:
    """Return a page as strict JSON.

    What an unverified result says stands under ``claimed_result``, so that no program takes it for
    a result.
    """
    record = page.record
    current = record.state == "current"
    source: Any = None
    if page.source is not None:
        files = {name: harmless(text, 1 << 22) for name, text in page.source.files.items()}
        source = {"digest": page.source.digest, "kind": page.source.kind, "files": files}
    content = {
        "task": page.task.name,
        "trial": page.trial.id,
        "spec": page.spec,
        "source": source,
        "problem": page.problem,
        "state": record.state,
        "reason": record.reason,
        "evaluated_at": record.evaluated_at,
        "result": record.result if current else None,
        "claimed_result": None if current else record.result,
    }
    return pretty_json(content).decode()


def print_page(page: Page, console: Console) -> None:
    """Print a page."""
    for line in _head_lines(page):
        console.print(line, soft_wrap=True)
    result = page.record.result
    if result is None:
        return
    console.print()
    if page.record.state != "current":
        console.print("what the unverified result CLAIMS; believe none of it:", style="bold red")
    console.print(f"outcome: {result.outcome}{_reported(result)}")
    if result.error:
        console.print(f"error: {harmless(result.error)}", soft_wrap=True)
    scores = [result.metrics, *result.per_fold]
    has_scores = any(value is not None for values in scores for value in values.values())
    for table in _metrics_tables(page.task, result, console.width) if has_scores else ():
        console.print()
        print_table(table, console)
    for line in _reason_lines(result):
        console.print(line, soft_wrap=True)
    if result.fitted is not None:
        console.print()
        console.print(f"fitted: {harmless(result.fitted.formula, _FORMULA_CHARS)}", soft_wrap=True)
        if result.fitted.message:
            console.print(f"fit: {one_line(result.fitted.message, 400)}", soft_wrap=True)
        if result.fitted.parameters:
            print_table(_parameters_table(result.fitted), console)
    console.print()
    for line in _foot_lines(result):
        console.print(line, soft_wrap=True)


def _head_lines(page: Page) -> list[str]:
    lines = [f"{one_line(page.trial.name)} ({one_line(page.task.spec.title)})"]
    if page.spec is not None:
        described = {
            "kind": page.spec.kind,
            "description": page.spec.description,
            "author": page.spec.author,
            "parents": ", ".join(page.spec.parents),
        }
        lines += [f"{name}: {one_line(text, 400)}" for name, text in described.items() if text]
    if page.problem is not None:
        lines.append(f"cannot be evaluated: {one_line(page.problem, 400)}")
    if page.source is not None:
        for name, content in page.source.files.items():
            lines += ["", f"{name}:"]
            lines += [f"  {line}" for line in harmless(content, _SOURCE_CHARS).splitlines()]
    return [*lines, "", f"result: {_state(page)}"]


def _state(page: Page) -> str:
    record = page.record
    if record.state == "absent":
        advice = f"`srh eval {page.task.name} {one_line(page.trial.id)}` makes one"
        return f"not evaluated; {advice}"
    stamp = f" of {record.evaluated_at}" if record.evaluated_at else ""
    if record.state == "current":
        return f"current{stamp}, sealed by you"
    return f"unverified{stamp}: {record.reason}"


def _reported(result: EvaluationResult) -> str:
    return " (as reported by the trial itself)" if result.reported else ""


def _metrics_tables(task: Task, result: EvaluationResult, width: int) -> Iterator[Table]:
    """Yield the metrics as rows and folds as columns, in as many tables as the width asks for."""
    known_first = [name for name in task.metric_names if name in result.metrics]
    names = list(dict.fromkeys([*known_first, *result.metrics]))[:_SHOWN]
    columns = {"all folds": result.metrics}
    columns |= {f"fold {fold}": values for fold, values in enumerate(result.per_fold[:_SHOWN])}
    per_table = max(1, (width - _TITLE_WIDTH) // _VALUE_WIDTH)
    headers = list(columns)
    for start in range(0, len(headers), per_table):
        chosen = headers[start : start + per_table]
        table = plain_table("metric", *chosen)
        for name in names:
            table.add_row(
                _metric_title(task, name), *(number(columns[one].get(name)) for one in chosen)
            )
        yield table


def _metric_title(task: Task, name: str) -> str:
    if name in task.metric_names:
        return f"{name} {arrow(task.direction(name))}"
    return one_line(name, _TITLE_WIDTH - GAP)


def _reason_lines(result: EvaluationResult) -> list[str]:
    """Return why metrics have no value; the trial's own failure is told already."""
    if result.status != "ok":
        return [
            f"fold {index}: {one_line(fold.error, 400)}"
            for index, fold in enumerate(result.folds[:_SHOWN])
            if fold.error
        ]
    return [
        f"{one_line(name, 40)}: {score.status}, {one_line(score.reason, 400)}"
        for name, score in islice(result.scores.items(), _SHOWN)
        if score.reason
    ]


def _parameters_table(fitted: Fitted) -> Table:
    """Return parameters with their standard errors, a grouped one label by label."""
    from rich.text import Text

    table = plain_table("parameter", "value", "± standard error")
    for name, value in islice(fitted.parameters.items(), _SHOWN):
        error = fitted.standard_errors.get(name)
        if not isinstance(value, dict):
            table.add_row(*map(Text, [one_line(name, 60), _plain(value), _plain(error)]))
            continue
        errors = error if isinstance(error, dict) else {}
        for label, item in islice(value.items(), _SHOWN):
            title = one_line(f"{name}[{label}]", 60)
            table.add_row(*map(Text, [title, _plain(item), _plain(errors.get(label))]))
    return table


def _foot_lines(result: EvaluationResult) -> list[str]:
    lines = []
    if result.usage is not None:
        peak = result.usage.peak_memory_mb
        memory = "" if peak is None else f", peak memory {peak:.0f} MiB"
        if result.usage.memory_group is not None:
            memory += f" (control group {result.usage.memory_group})"
        lines.append(
            f"usage: {result.usage.wall_s:.2f} s elapsed, {result.usage.cpu_s:.2f} s of processor"
            f"{memory}"
        )
    if result.outcome in ("ok", "roundtrip"):  # the others end before it
        lines.append(f"round trip: {'ok' if result.roundtrip_ok else 'not passed'}")
    if result.provenance is not None:
        lines.append("provenance:")
        for name, value in msgspec.to_builtins(result.provenance).items():
            lines.append(f"  {name}: {one_line(_joined(value), 400)}")
    return lines


def _joined(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _plain(value: object) -> str:
    """Return a value of a result that may be anything."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return number(value)
    return MISSING if value is None else one_line(str(value), 40)

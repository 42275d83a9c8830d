"""What a person sees while trials are evaluated, on standard error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from srh.evaluation.batch import Entry
from srh.report.cells import console
from srh.text import one_line


@contextmanager
def progress(total: int) -> Iterator[Callable[[Entry], None]]:
    """Yield a function that takes each entry as it becomes known.

    A terminal gets a bar that disappears at the end, anything else one plain line per trial.

    Args:
        total: Number of entries to come.
    """
    out = console(stderr=True)
    if not out.is_terminal:
        yield lambda entry: out.print(describe_entry(entry), soft_wrap=True)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=out, transient=True) as bar:
        task = bar.add_task("evaluating", total=total)

        def show(entry: Entry) -> None:
            bar.update(task, advance=1, description=one_line(describe_entry(entry), 60))

        yield show


def describe_entry(entry: Entry) -> str:
    """Return one line on what came of a trial."""
    name = one_line(entry.trial.id, 60)
    result = entry.result
    if entry.origin == "kept":
        return f"{name}: current result kept"
    if result is None:
        return f"{name}: {entry.origin}"
    seconds = f" in {result.usage.wall_s:.1f} s" if result.usage else ""
    why = "" if result.status == "ok" else f": {one_line(result.error or '', 120)}"
    return f"{name}: {result.outcome}{seconds}{why}"

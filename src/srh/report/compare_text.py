"""A comparison as plain sentences and tables, as Markdown, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from srh.formats import pretty_json
from srh.report.board_text import markdown_row
from srh.report.cells import (
    MISSING,
    markdown,
    number,
    plain_table,
    print_table,
    signed,
    titled,
)
from srh.report.compare import Comparison, Comparisons
from srh.report.paired import Paired
from srh.text import one_line, plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_MOST_EXAMPLES = 20
_WARNING = "forced: the two differ in {}, so the numbers below may not mean what they seem to"


def sentence(paired: Paired, baseline: str, other: str) -> str:
    """Return the verdict on one metric in one plain sentence.

    Args:
        paired: The comparison.
        baseline: What to call the baseline.
        other: What to call the other trial.
    """
    metric, mean, unit = paired.metric, signed(paired.mean), paired.unit
    folds = plural(len(paired.differences), unit)
    if paired.verdict == "identical":
        return f"{other} and {baseline} are identical on {metric}, on every {unit}"
    if paired.verdict == "no verdict":
        known = "" if paired.mean is None else f" (difference {mean})"
        return f"no verdict on {metric} for {other} against {baseline}: {paired.reason}{known}"
    interval = f"95 % interval {signed(paired.low)} to {signed(paired.high)}"
    if paired.verdict == "not distinguishable":
        why = paired.reason or (
            f"the mean difference over {folds} is {mean}, {interval}, which includes 0"
        )
        return f"{other} and {baseline} are not distinguishable on {metric}: {why}"
    how = (
        f"the difference is {mean} on every {unit}, without spread"
        if paired.low == paired.high
        else f"the mean difference over {folds} is {mean}, {interval}"
    )
    return f"{other} is {paired.verdict} than {baseline} on {metric}: {how}"


def comparison_lines(comparisons: Comparisons) -> list[str]:
    """Return what a reader must know first: warnings, failures, and one verdict per trial."""
    lines = []
    baseline = _label(comparisons, comparisons.baseline)
    if comparisons.failure:
        lines.append(f"{baseline} failed: {comparisons.failure}")
    for other in comparisons.others:
        name = _label(comparisons, other.trial)
        if other.incomparable:
            lines.append(f"{name}: {_WARNING.format(', '.join(other.incomparable))}")
        if other.failure:
            lines.append(f"{name} failed: {other.failure}")
        lines.append(sentence(other.chosen, baseline, name))
    return lines


def print_comparisons(comparisons: Comparisons, console: Console) -> None:
    """Print a comparison: verdicts first, then the numbers, then what differs."""
    for line in comparison_lines(comparisons) + _explanation(comparisons):
        console.print(line, soft_wrap=True)
    baseline = _label(comparisons, comparisons.baseline)
    for other in comparisons.others:
        console.print()
        name = _label(comparisons, other.trial)
        console.print(f"{name} against {baseline}", style="bold", soft_wrap=True)
        if other.chosen.baseline and other.chosen.other:
            print_table(_folds_table(other.chosen), console)
            console.print()
            print_table(_metrics_table(other), console)
        for line in difference_lines(other):
            console.print(line, soft_wrap=True)


def _explanation(comparisons: Comparisons) -> list[str]:
    by_example = any(other.chosen.unit == "example" for other in comparisons.others)
    lines = [
        "",
        "Differences are trial minus baseline, example by example."
        if by_example
        else "Differences are trial minus baseline, fold by fold. Folds share training rows; the "
        "interval allows for that.",
    ]
    if len(comparisons.others) > 1:
        lines.append(
            "Each interval stands alone: of many trials compared with one baseline, about one in "
            "twenty would look different by chance."
        )
    return lines


def _label(comparisons: Comparisons, name: str) -> str:
    """Return a trial's id, or its full name where the trials are of several tasks."""
    names = [comparisons.baseline, *(other.trial for other in comparisons.others)]
    one_task = len({full.partition("/")[0] for full in names}) == 1
    return one_line(name.partition("/")[2] if one_task else name)


def difference_lines(other: Comparison) -> list[str]:
    """Return what differs in source and provenance."""
    lines = ["", "source:" if other.source else "source: the same"]
    lines += [f"  {line}" for line in other.source.splitlines()]
    lines += ["", "provenance:" if other.provenance else "provenance: the same but for the source"]
    lines += [f"  {name}: {one} → {two}" for name, one, two in other.provenance]
    return lines


def comparisons_json(comparisons: Comparisons) -> str:
    """Return everything about a comparison as strict JSON."""
    return pretty_json(comparisons).decode()


def comparisons_markdown(comparisons: Comparisons) -> str:
    """Return a comparison as Markdown: verdicts, one table per trial, source differences."""
    lines = [f"- {markdown(line)}" for line in comparison_lines(comparisons)]
    baseline = markdown(_label(comparisons, comparisons.baseline))
    for other in comparisons.others:
        lines += [
            "",
            f"**{markdown(_label(comparisons, other.trial))} against {baseline}**",
            "",
            markdown_row(["metric", "mean difference", "95 % interval", "verdict"]),
            markdown_row([":--", "--:", ":-:", ":--"]),
        ]
        lines += [markdown_row([markdown(cell) for cell in _cells(one)]) for one in other.metrics]
        if other.source:
            # Indented, not fenced: a source cannot close an indented block.
            lines += ["", *(f"    {line}" for line in other.source.splitlines())]
    return "\n".join(lines) + "\n"


def _cells(paired: Paired) -> list[str]:
    interval = MISSING if paired.low is None else f"{signed(paired.low)} to {signed(paired.high)}"
    reason = f": {paired.reason}" if paired.reason else ""
    title = titled(paired.metric, paired.direction)
    return [title, signed(paired.mean), interval, f"{paired.verdict}{reason}"]


def _metrics_table(other: Comparison) -> Table:
    from rich.text import Text

    table = plain_table("metric", "mean difference", "95 % interval")
    table.add_column("verdict")
    for paired in other.metrics:
        table.add_row(*map(Text, _cells(paired)))
    return table


def _folds_table(paired: Paired) -> Table:
    """Return the values fold by fold, or of the first examples that differ; a dash: no value."""
    from rich.text import Text

    table = plain_table(f"{paired.metric}, {paired.unit}", "baseline", "trial", "difference")
    for at in _shown(paired):
        cells = [
            values[at] if at < len(values) else None
            for values in (paired.baseline, paired.other, paired.differences)
        ]
        label = one_line(paired.labels[at], 40) if paired.labels else str(at)
        row = [label, number(cells[0]), number(cells[1]), signed(cells[2])]
        table.add_row(*map(Text, row))
    return table


def _shown(paired: Paired) -> Sequence[int]:
    """Return which folds or examples to show: all folds, but of examples those that differ."""
    count = max(len(paired.baseline), len(paired.other))
    if paired.unit == "fold":
        return range(count)
    pairs = zip(paired.baseline, paired.other, strict=False)
    return [at for at, (one, two) in enumerate(pairs) if one != two][:_MOST_EXAMPLES]

"""Gates: verdicts on a leaderboard's numbers, apart from the numbers themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from srh.metrics import Gate, judge_gate
from srh.report.board_text import markdown_row
from srh.report.cells import markdown, plain_table, print_table
from srh.report.leaderboard import Board, Row
from srh.tasks import Task
from srh.text import one_line

if TYPE_CHECKING:
    from rich.console import Console


class TrialGate(msgspec.Struct, frozen=True):
    """One verdict on one trial.

    Attributes:
        trial: The trial's id.
        gate: The verdict.
    """

    trial: str
    gate: Gate


def judge_board(task: Task, board: Board, trials: Sequence[str] = ()) -> list[TrialGate]:
    """Return the verdict on every number of a leaderboard.

    Args:
        task: The task.
        board: Its leaderboard.
        trials: Ids of the trials to judge; all if empty.
    """
    return [
        TrialGate(row.trial, gate)
        for row in board.rows
        if not trials or row.trial in trials
        for gate in _gates(task, row)
    ]


def is_open(gates: Sequence[TrialGate]) -> bool:
    """Tell whether no gate fails or is blocked."""
    return all(one.gate.verdict in ("pass", "informational") for one in gates)


def print_gates(gates: Sequence[TrialGate], console: Console) -> None:
    """Print verdicts as a table."""
    from rich.text import Text

    console.print()
    table = plain_table("gates: trial")
    for title in ("metric", "verdict"):
        table.add_column(title, no_wrap=True)
    table.add_column("reason", overflow="fold")
    for one in gates:
        style = "bold red" if one.gate.verdict in ("fail", "blocked") else ""
        table.add_row(
            Text(one_line(one.trial, 32)),
            Text(one.gate.name),
            Text(one.gate.verdict, style),
            Text(_reason(one.gate)),
        )
    print_table(table, console)


def gates_markdown(gates: Sequence[TrialGate]) -> str:
    """Return verdicts as a Markdown table."""
    lines = [markdown_row(["gates: trial", "metric", "verdict", "reason"]), "| :-- " * 4 + "|"]
    for one in gates:
        cells = [one.trial, one.gate.name, one.gate.verdict, _reason(one.gate)]
        lines.append(markdown_row([markdown(cell) for cell in cells]))
    return "\n" + "\n".join(lines) + "\n"


def _gates(task: Task, row: Row) -> Iterator[Gate]:
    scores = {} if row.result is None else row.result.scores
    for metric in task.registry.metrics:
        spec = metric.spec
        for name in spec.columns:
            # A floored number stands beside the metric; the metric itself is what is gated.
            free = msgspec.structs.replace(spec, authority="informational")
            yield judge_gate(spec if name in spec.emitted else free, name, scores.get(name))


def _reason(gate: Gate) -> str:
    approver = f"; approver: {gate.approver}" if gate.approver else ""
    return one_line(f"{gate.reason}{approver}", 400)

"""A leaderboard as a table for the terminal, as Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from srh.formats import pretty_json
from srh.report.cells import (
    GAP,
    MISSING,
    better_end,
    csv_text,
    markdown,
    number,
    plain_table,
    print_table,
    titled,
)
from srh.report.leaderboard import Board, Column, Row
from srh.text import one_line, plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

UNCONFINED = " (no sandbox)"
_TRIAL_WIDTH = 32
_DESCRIPTION_WIDTH = 24


def print_board(board: Board, console: Console) -> None:
    """Print a leaderboard that fits the console's width."""
    for line in heading(board):
        console.print(line, soft_wrap=True)
    console.print()
    ranked = [row for row in board.rows if row.rank is not None]
    others = [row for row in board.rows if row.rank is None]
    if ranked:
        shown, room = _that_fit(board, ranked, console.width)
        print_table(_ranked_table(board, ranked, shown, room), console)
        hidden = [column.name for column in board.columns if column not in shown]
        if hidden:
            console.print(
                f"not shown: {', '.join(hidden)} (a wider terminal, --csv and --json have them)",
                soft_wrap=True,
            )
    else:
        console.print("no trial is ranked")
    for line in population_lines(board):
        console.print(line, soft_wrap=True)
    if others:
        console.print()
        print_table(_other_table(others), console)
    if board.ignored:
        console.print()
        names = ", ".join(repr(name) for name in board.ignored)
        console.print(f"ignored, for no trial can have such a name: {names}", soft_wrap=True)


def heading(board: Board) -> list[str]:
    """Return what a reader must know before the first number."""
    ranking = board.ranking
    if board.kind == "examples":
        return [
            f"{board.task}: {one_line(board.title)}",
            f"{plural(board.n_examples, 'example')}, ranked by {ranking.name} "
            f"({better_end(ranking.direction)})",
            f"scores: {ranking.aggregation} over the examples. Who has no score on more of them "
            "than the metric allows has no value.",
            *_unconfined_line(board),
        ]
    rows = plural(board.n_development + board.n_holdout, "row")
    if board.n_holdout:
        rows += f" ({board.n_development} to develop on, {board.n_holdout} held out)"
    if board.look is None:
        folds = f"{ranking.aggregation} over {plural(board.n_folds, 'fold')}"
        meaning = (
            f"scores: cv = development scores ({folds}). Cross-validation is no secret from "
            "whoever writes trials."
        )
    else:
        meaning = (
            f"scores: holdout = {plural(board.n_holdout, 'row')} that no trial was fitted on "
            f"(holdout look {board.look})."
        )
    lines = [
        f"{board.task}: {one_line(board.title)}",
        f"{rows}, ranked by {ranking.name} ({better_end(ranking.direction)})",
        meaning,
    ]
    return lines + _unconfined_line(board)


def population_lines(board: Board) -> list[str]:
    """Return which values of ranked trials stand for fewer than all examples, and why."""
    lines = []
    for row in board.rows:
        for column in board.columns if row.rank is not None else ():
            score = None if row.result is None else row.result.scores.get(column.name)
            if score is None or board.kind != "examples" or not score.reasons:
                continue
            counts = ", ".join(f"{code} {count}" for code, count in score.reasons.items())
            name = one_line(row.trial, _TRIAL_WIDTH)
            rest = "" if column.floor is None else f"; the others count as {column.floor:g}"
            lines.append(
                f"{name}: {column.name} has a score on {score.n_scored} of {score.n_total} "
                f"examples ({counts}){rest}"
            )
    return lines


def _unconfined_line(board: Board) -> list[str]:
    if not any(row.unconfined for row in board.rows):
        return []
    return [
        "no sandbox: that code ran with all of your rights, and could read the labels; its "
        "score is its author's word"
    ]


def look_message(look: int) -> str:
    """Return what a look at the holdout means."""
    before = plural(look - 1, "earlier look") if look > 1 else "no earlier look"
    return (
        f"holdout look {look}: {before} at these rows is recorded. Whatever you choose because of "
        "this table has seen the holdout; a score is fresh only for what was chosen before."
    )


def board_json(board: Board, **more: Any) -> str:
    """Return everything about a leaderboard, and what else is given by name, as strict JSON."""
    content: dict[str, Any] = {
        "task": board.task,
        "title": board.title,
        "scores": board.kind,
        "holdout_look": board.look,
        "rows": {"development": board.n_development, "holdout": board.n_holdout},
        "folds": board.n_folds,
        "examples": board.n_examples,
        "ranking": board.ranking.name,
        "metrics": [
            {
                "name": column.name,
                "direction": column.direction,
                "aggregation": column.aggregation,
            }
            for column in board.columns
        ],
        "ignored_folders": board.ignored,
        "trials": [{name: getattr(row, name) for name in Row.__slots__} for row in board.rows],
    }
    return pretty_json(content | more).decode()


def board_csv(board: Board) -> str:
    """Return a leaderboard as CSV, every metric with all its digits; no value is an empty cell."""
    names = [column.name for column in board.columns]
    counted = names if board.kind == "examples" else []
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "rank",
            "trial",
            "scores",
            "standing",
            "outcome",
            *names,
            *(f"{name} scored" for name in counted),
            *(f"{name} total" for name in counted),
            "reason",
            "description",
            "no_sandbox",
        ]
    )
    for row in board.rows:
        values = ["" if row.metrics[name] is None else repr(row.metrics[name]) for name in names]
        writer.writerow(
            [
                "" if row.rank is None else row.rank,
                csv_text(row.trial),
                board.kind,
                row.standing,
                row.outcome or "",
                *values,
                *(_count(row, name, "n_scored") for name in counted),
                *(_count(row, name, "n_total") for name in counted),
                csv_text(row.reason or ""),
                csv_text(row.description),
                "yes" if row.unconfined else "",
            ]
        )
    return text.getvalue()


def _count(row: Row, name: str, field: Literal["n_scored", "n_total"]) -> str:
    score = None if row.result is None else row.result.scores.get(name)
    return "" if score is None else str(getattr(score, field))


def board_markdown(board: Board) -> str:
    """Return a leaderboard as a Markdown table with its heading."""
    names = [column.name for column in board.columns]
    lines = [markdown(line) + "  " for line in heading(board)]
    lines += [
        "",
        markdown_row(["#", "trial", *_titles(board, board.columns), "status"]),
        markdown_row(["--:", ":--", *["--:"] * len(names), ":--"]),
    ]
    for row in board.rows:
        mark = UNCONFINED if row.unconfined else ""
        cells = ["" if row.rank is None else str(row.rank), markdown(row.trial + mark)]
        cells += [number(row.metrics[name]) for name in names]
        status = "ok" if row.rank is not None else f"{_status(row)}: {row.reason or ''}"
        lines.append(markdown_row([*cells, markdown(status)]))
    notes = population_lines(board)
    lines += ["", *(f"- {markdown(note)}" for note in notes)] if notes else []
    return "\n".join(lines) + "\n"


def markdown_row(cells: Sequence[str]) -> str:
    """Return one row of a Markdown table; the cells are escaped already."""
    return f"| {' | '.join(cells)} |"


def _titles(board: Board, columns: Sequence[Column]) -> list[str]:
    """Return the columns' titles; the ranking one says what the scores are."""
    titles = []
    for column in columns:
        ranking = column == board.ranking and board.kind != "examples"
        kind = f"{board.kind} " if ranking else ""
        how = "" if column.aggregation == "mean" else f" ({column.aggregation})"
        titles.append(f"{kind}{titled(column.name, column.direction)}{how}")
    return titles


def _status(row: Row) -> str:
    return str(row.outcome) if row.standing == "failed" else row.standing


def _name(row: Row) -> str:
    return one_line(row.trial, _TRIAL_WIDTH) + (UNCONFINED if row.unconfined else "")


def _that_fit(board: Board, rows: Sequence[Row], width: int) -> tuple[list[Column], int]:
    """Return the metrics for which there is room, and the width left for descriptions, or 0."""
    from rich.cells import cell_len

    widest = max(cell_len(name) for name in ("trial", *map(_name, rows)))
    left = width - len(str(len(rows))) - GAP - widest
    shown: list[Column] = []
    for column, title in zip(board.columns, _titles(board, board.columns), strict=True):
        cells = [title, *(number(row.metrics[column.name]) for row in rows)]
        left -= GAP + max(map(cell_len, cells))
        if shown and left < 0:
            return shown, 0
        shown.append(column)
    room = left - GAP
    described = room >= _DESCRIPTION_WIDTH and any(row.description for row in rows)
    return shown, room if described else 0


def _ranked_table(board: Board, rows: Sequence[Row], columns: Sequence[Column], room: int) -> Table:
    from rich.text import Text

    table = plain_table()
    table.add_column("#", justify="right")
    table.add_column("trial", no_wrap=True)
    for title in _titles(board, columns):
        table.add_column(title, justify="right", no_wrap=True)
    if room:
        # Cut here: a table that is too wide would cut the numbers as well.
        table.add_column("description", no_wrap=True, overflow="ellipsis", max_width=room)
    for row in rows:
        cells = [str(row.rank), _name(row)]
        cells += [number(row.metrics[column.name]) for column in columns]
        if room:
            cells.append(one_line(row.description))
        table.add_row(*map(Text, cells))
    return table


def _other_table(rows: Sequence[Row]) -> Table:
    from rich.text import Text

    table = plain_table()
    table.add_column("not ranked", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for row in rows:
        style = "bold red" if row.outcome == "harness" else ""
        table.add_row(
            Text(_name(row)),
            Text(_status(row), style),
            Text(one_line(row.reason or MISSING, 400)),
        )
    return table

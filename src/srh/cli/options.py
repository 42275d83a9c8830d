"""What the commands share: options, and how a line is printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from srh.project import Project

SETTINGS = {"help_option_names": ["-h", "--help"]}

Root = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="The project's folder. Default: where srh.toml is, found upwards."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Csv = Annotated[bool, typer.Option("--csv", help="Print all metrics, with all digits, as CSV.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]
RankBy = Annotated[
    str | None,
    typer.Option(metavar="METRIC", help="Order by this metric. Default: the task's ranking."),
]
Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe-no-sandbox",
        help="Run code of trials with all of your rights. Every table says so.",
    ),
]


def open_project(root: Path | None) -> Project:
    """Return the project that a command works in."""
    from srh.project import find_project

    return find_project(Path.cwd(), root)


def say(line: str) -> None:
    """Print one harmless line, whole: it may hold a name that somebody else chose."""
    from srh.text import harmless

    typer.echo(harmless(line))

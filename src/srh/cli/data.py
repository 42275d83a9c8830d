"""``srh data``: make and check folders of data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from srh.cli.options import SETTINGS, say
from srh.errors import UsageError

data_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings=SETTINGS,
    help="Make and check context.data folders: a manifest and one .npy file per variable.",
)

_Told = list[str] | None


@data_app.command("import")
def import_command(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="CSV or Parquet file.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="The folder to make.")
    ] = Path("context.data"),
    unit: Annotated[
        _Told, typer.Option(metavar="COLUMN=TEXT", help="A column's unit. Can be repeated.")
    ] = None,
    describe: Annotated[
        _Told, typer.Option(metavar="COLUMN=TEXT", help="What a column means. Can be repeated.")
    ] = None,
) -> None:
    """Make a folder from a table; each column becomes a variable.

    Parquet takes the extra `frames`. Missing numbers become NaN. Descriptions that are not given
    are left empty in manifest.json, to be filled in.
    """
    from srh.context import import_table

    rows, columns = import_table(
        table, output, units=_pairs(unit, "--unit"), descriptions=_pairs(describe, "--describe")
    )
    say(f"made {output}: {columns} variables of {rows} rows")
    say(f"next: describe them in {output}/manifest.json; srh data check {output}")


@data_app.command("check")
def check_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A context.data folder.")],
) -> None:
    """Check a folder against the rules of its format.

    All mistakes are listed, each with file and field. Exit code 2 if there are any; what is
    probably not meant is only noted.
    """
    from srh.context import inspect_context_data

    report = inspect_context_data(folder)
    for error in report.errors:
        say(f"error: {error}")
    for warning in report.warnings:
        say(f"note: {warning}")
    if report.errors:
        raise typer.Exit(2)
    say(f"{folder}: ok")


def _pairs(told: _Told, option: str) -> dict[str, str]:
    """Return ``COLUMN=TEXT`` options by column.

    Raises:
        UsageError: One has no ``=``, or a column is named twice.
    """
    pairs: dict[str, str] = {}
    for text in told or []:
        name, mark, value = text.partition("=")
        if not mark or name in pairs:
            raise UsageError(f"{option} {text!r}: write COLUMN=TEXT, each column once")
        pairs[name] = value
    return pairs

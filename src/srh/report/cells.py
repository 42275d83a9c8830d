"""How a value or a stranger's text becomes part of what people read."""

from __future__ import annotations

import math
import re
import sys
from typing import TYPE_CHECKING

from srh.metrics import Direction
from srh.text import one_line

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MISSING = "–"
GAP = 2  # blanks between two columns of a table
_DIGITS = 5
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~&$])")
# A spreadsheet runs a cell that begins so as a formula.
_SPREADSHEET = ("=", "+", "-", "@")


def number(value: float | None) -> str:
    """Return a value with five significant digits, or a dash where there is none."""
    if value is None:
        return MISSING
    if math.isfinite(value) and value == int(value) and abs(value) < 10**_DIGITS:
        return str(int(value))
    # "#" keeps zeros at the end: 0.999999 reads 1.0000, so that nobody takes it for 1.
    return f"{value:#.{_DIGITS}g}".rstrip(".")


def signed(value: float | None) -> str:
    """Return a difference with its sign."""
    text = number(value)
    return text if value is None or value <= 0 else f"+{text}"


def markdown(text: str) -> str:
    """Return ``text`` as one line that Markdown shows as it is, in a table too."""
    return _MARKDOWN.sub(r"\\\1", one_line(text, 400))


def csv_text(text: str) -> str:
    """Return ``text`` as one line that a spreadsheet does not run.

    A text that begins like a spreadsheet's formula gets an apostrophe in front. Numbers are not
    to be passed through here.
    """
    line = one_line(text, 2000)
    return f"'{line}" if line.startswith(_SPREADSHEET) else line


def titled(name: str, direction: Direction | None) -> str:
    """Return a metric's name with an arrow to the better end, if it has one."""
    arrows = {"minimize": " ↓", "maximize": " ↑", None: ""}
    return f"{name}{arrows[direction]}"


def better_end(direction: Direction | None) -> str:
    """Return the better end in words."""
    ends = {"minimize": "lower is better", "maximize": "higher is better", None: "no better end"}
    return ends[direction]


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints text as it is: no markup, no emoji, no guessed colours.

    Args:
        stderr: Print to standard error instead of standard output.
    """
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, markup=False, emoji=False, highlight=False)


def plain_table(*titles: str) -> Table:
    """Return an empty table without lines; its first column is aligned left, the others right."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for index, title in enumerate(titles):
        table.add_column(title, justify="left" if index == 0 else "right", no_wrap=True)
    return table


def print_table(table: Table, console: Console) -> None:
    """Print a table; into a file or pipe without the blanks that fill its last column."""
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        console.print(line.rstrip(), soft_wrap=True)

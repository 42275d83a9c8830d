"""What a scorer and a contestant say to each other, as the scorer sees it.

Arrays go out as memory that nobody can change any more: the contestant maps it for itself alone.
All that comes back is raw float64, and bounded text where something went wrong: nothing that the
trial made is parsed.
"""

from __future__ import annotations

import fcntl
import json
import mmap
import os
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final

import numpy as np

from srh.context import Dataset
from srh.errors import DataError
from srh.evaluation.protocol import Outcome
from srh.evaluation.saved_state import copy_state
from srh.evaluation.scorer import Rows, TrialFailedError, Values
from srh.sandbox.limits import Limits
from srh.sandbox.supervise import Child
from srh.text import harmless

_REPLY_LIMIT: Final = 64 << 10
_REPORTED: Final[tuple[Outcome, ...]] = (
    "error",
    "memory",
    "denied",
    "disk_limit",
    "bad_result",
)


class Talk:
    """The conversation with one contestant.

    Args:
        child: The contestant.
        saved: The folder that it saves in.

    Attributes:
        ready: Whether it has come as far as the trial's own code.
    """

    def __init__(self, child: Child, saved: Path) -> None:
        self._child = child
        self._saved = saved
        self.ready = False

    def set_up(self, setup: dict[str, Any]) -> None:
        """Tell the contestant all that it needs to bind itself."""
        self._command(setup)

    def await_ready(self) -> None:
        """Return when it has bound itself; from here on the trial's code runs."""
        self._expect(b"R")
        self.ready = True

    def fit(self, table: Table, y: Values, rows: Rows) -> None:
        """Have it fit training rows and save the model."""
        self._send_rows("fit", table, rows, _sealed(y, rows))
        self._expect(b"S")

    def load(self) -> None:
        """Have it load the saved model."""
        self._command({"do": "load"})
        self._expect(b"S")

    def predict(self, table: Table, rows: Rows) -> Values:
        """Have it predict rows; shape (n,).

        Raises:
            TrialFailedError: It says that it cannot, or answers something else.
        """
        self._send_rows("predict", table, rows)
        content = self._expect(b"P", 8 * len(rows))
        if len(content) != 8 * len(rows):
            raise TrialFailedError(
                "bad_result", f"{len(content)} bytes came back for {len(rows)} predictions"
            )
        return np.frombuffer(content, dtype=np.float64)

    def paused(self) -> AbstractContextManager[None]:
        """Have it stand still for as long as the block lasts."""
        return self._child.paused()

    def copy_state(self, target: Path, limits: Limits) -> None:
        """Copy what it saved; it must stand still.

        Raises:
            TrialFailedError: It holds anything but regular files and folders, or too much.
        """
        copy_state(self._saved, target, limits)

    def _command(self, fields: dict[str, Any], *descriptors: int) -> None:
        self._child.channel.send(json.dumps(fields).encode(), descriptors)

    def _send_rows(self, do: str, table: Table, rows: Rows, *more: int) -> None:
        given = (_sealed(table.matrix, rows), *more)
        try:
            self._command({"do": do, "rows": len(rows), **table.description}, *given)
        finally:
            for descriptor in given:
                os.close(descriptor)

    def _expect(self, tag: bytes, size: int = 0) -> bytes:
        reply = self._child.channel.receive(1 + max(size, _REPLY_LIMIT))
        if reply[:1] == tag:
            return reply[1:]
        if reply[:1] == b"E":
            kind, _, text = reply[1:].decode("utf-8", "replace").partition("\n")
            outcome: Outcome = next((known for known in _REPORTED if known == kind), "error")
            raise TrialFailedError(outcome, harmless(text), reported=True)
        raise TrialFailedError("bad_result", "the model's process sent something else than asked")


class Table:
    """The features, ready to be sent by rows.

    Args:
        dataset: The data.
        frame: Whether models get DataFrames.

    Attributes:
        matrix: All rows, shape (n, p).
        description: Names, categories and form, as a contestant is told them.
    """

    def __init__(self, dataset: Dataset, *, frame: bool) -> None:
        categories: dict[str, list[str]] = {
            name: list(texts) for name, texts in dataset.categories.items()
        }
        columns = []
        for name in dataset.features:
            column = dataset.columns[name]
            if column.dtype == object:
                if not frame:
                    raise DataError(
                        f"column {name!r} holds text labels, which an array cannot: set "
                        '`frames = true`, or categorical = "codes"'
                    )
                texts, column = np.unique(column.astype(str), return_inverse=True)
                categories[name] = texts.tolist()
            columns.append(column.astype(np.float64))
        self.matrix = np.column_stack(columns) if columns else np.empty((dataset.n_rows, 0))
        self.description: dict[str, Any] = {
            "features": list(dataset.features),
            "categories": categories,
            "frame": frame,
        }


def _sealed(array: Values, rows: Rows) -> int:
    """Return a descriptor of memory that holds some rows of an array, and never changes again."""
    size = 8 * len(rows) * int(np.prod(array.shape[1:]))
    descriptor = _memory()
    if size:
        os.ftruncate(descriptor, size)
        with mmap.mmap(descriptor, size) as memory:
            out = np.frombuffer(memory).reshape(len(rows), *array.shape[1:])
            np.take(array, rows, axis=0, out=out, mode="clip")
            del out  # or the memory stays mapped, and could not be sealed
    if hasattr(fcntl, "F_ADD_SEALS") and hasattr(os, "memfd_create"):
        seals = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
    return descriptor


def _memory() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("rows", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())

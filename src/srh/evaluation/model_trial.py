"""A model as a contender: code of the trial, run by contestants, judged by the scorer.

Theory of operation. For each fold a fresh process, the *contestant*, gets the training rows, fits
and saves the model, and only then is sent the validation rows, in an order that tells nothing. For
the first fold a second fresh process loads what was saved. It predicts the same rows in another
order and other batches, which must agree unless the task lets predictions depend on other rows, and
then in the same order, which must agree too (the round trip). The batches come first, because a
process that has seen all rows together can remember them. All that comes back from either is raw
float64: nothing that the trial made is ever parsed here.

No fold may tell another one anything, and labels of the one are training rows of the other. So
what a process leaves is gone before the next one starts: what it may not read, it can still see
the names and sizes of. When a process starts would tell how long the ones before it took, so it
starts at one of few moments, each a quarter later than the last: that tells fewer than six bits,
and nobody knows for whom. The order of the validation rows is drawn from the labels: a process that
could work it out would know how they lie in the data file, which may be sorted.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import stat
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from srh.context import Dataset
from srh.errors import DataError, HarnessError
from srh.evaluation.environment import FLAGS, clean_environment
from srh.evaluation.outcomes import judge_end
from srh.evaluation.protocol import Fitted, Outcome, Request, Usage
from srh.evaluation.scorer import (
    Answer,
    Rows,
    TrialFailedError,
    Values,
    require_same,
    secret_draw,
    target_scale,
)
from srh.files import FileRefusedError, open_folder, read_regular, remove_tree
from srh.sandbox.channel import ChildGoneError
from srh.sandbox.limits import Limits
from srh.sandbox.supervise import Child, Ended
from srh.text import harmless

_REPLY_LIMIT = 64 << 10
_REPORTED: tuple[Outcome, ...] = ("error", "memory", "denied", "bad_result")
_STATE_FILES = 10_000
_STATE_DEPTH = 32
_FIRST_START_S = 0.01
_START_RATIO = 1.25


class ModelContender:
    """A model trial in the scoring loop.

    Args:
        staged: Folder of the trial's staged source.
        request: What is asked.
        dataset: The loaded data.
        folder: A private folder for scratch.
        withheld: Folders that contestants must not read.
    """

    def __init__(
        self,
        staged: Path,
        request: Request,
        dataset: Dataset,
        folder: Path,
        withheld: Sequence[Path] = (),
    ) -> None:
        self._staged = staged
        self._request = request
        self._table = _Table(dataset, frame=request.frames)
        self._y = dataset.y
        self._folder = folder
        self._started = time.monotonic()
        self._withheld = withheld
        self._order: npt.NDArray[np.int64] | None = None
        self._saved: Path | None = None
        self._ended: list[Ended] = []

    def answer(self, train: Rows, validation: Rows) -> Answer:
        """Fit in a fresh contestant, and have it predict the validation rows."""
        self._forget_state()
        order = secret_draw(self._request.seed, self._y, validation).permutation(len(validation))
        time.sleep(until_start(time.monotonic() - self._started))
        with self._contestant() as talk:
            talk.fit(self._table, self._y, train)
            if self._saved is None:
                # Before it sees a validation row: what it saved cannot know them.
                talk.copy_state(self._folder / "saved", self._request.limits)
                self._saved, self._order = self._folder / "saved", order
            predictions = talk.predict(self._table, validation[order])
        answered = np.empty_like(predictions)
        answered[order] = predictions
        return Answer(predictions=answered)

    def check_roundtrip(self, train: Rows, validation: Rows, predictions: Values) -> None:
        """Load what was saved in a fresh contestant, and compare its predictions."""
        assert self._order is not None  # noqa: S101 - set by the first answer
        order, scale = self._order, target_scale(self._y[train])
        with self._contestant(self._saved) as talk:
            talk.load()
            batches = _batches(order) if self._request.rowwise else []
            others = [talk.predict(self._table, validation[batch]) for batch in batches]
            same = talk.predict(self._table, validation[order])
        require_same(predictions[order], same, scale=scale, tolerance=self._request.tolerance)
        if not batches:
            return
        require_same(
            predictions[np.concatenate(batches)],
            np.concatenate(others),
            scale=scale,
            tolerance=self._request.tolerance,
            what="in another order and other batches: a prediction depends on other rows",
        )

    def conclude(self, train: Rows) -> Fitted | None:
        """Return nothing: a fitted model is code and state, not a formula."""
        del train
        return None

    def usage(self) -> Usage:
        """Return what the contestants took, together; the peak is the largest one's."""
        peaks = [ended.peak_bytes for ended in self._ended if ended.peak_bytes is not None]
        return Usage(
            wall_s=sum(ended.wall_s for ended in self._ended),
            cpu_s=sum(ended.cpu_s for ended in self._ended),
            peak_memory_mb=max(peaks) / 2**20 if peaks else None,
        )

    @contextmanager
    def _contestant(self, saved: Path | None = None) -> Iterator[_Talk]:
        """Run one contestant, and turn the way it ends into a failure if it is one.

        Args:
            saved: What another contestant has saved, to be loaded; None: this one saves.
        """
        scratch = Path(tempfile.mkdtemp(prefix="scratch-", dir=self._folder))
        (scratch / "saved").mkdir(mode=0o700)
        limits = self._request.limits
        talk, gone = None, None
        child = Child(
            [sys.executable, *FLAGS, "-m", "srh.contestant.model"],
            cwd=scratch,
            env=_environment(limits, scratch),
            limits=limits,
            channel=True,
            folder=scratch,
        )
        try:
            with child:
                talk = _Talk(child, scratch / "saved")
                try:
                    talk.set_up(self._set_up(scratch, saved or scratch / "saved"))
                    yield talk
                    child.sample()
                except ChildGoneError as error:
                    gone = error
        finally:
            # Without an end it could not be waited for: a graver error is on its way.
            self._ended += [child.ended] if hasattr(child, "ended") else []
            _remove(scratch)
        if gone is not None:
            raise _failed(child.ended, limits, ready=talk.ready) from gone

    def _forget_state(self) -> None:
        state = self._folder / "saved"
        if state.exists():
            _remove(state)

    def _set_up(self, scratch: Path, saved: Path) -> dict[str, Any]:
        return {
            "parent": os.getpid(),
            "staged": str(self._staged),
            "scratch": str(scratch),
            "saved": str(saved),
            "limits": dataclasses.asdict(self._request.limits),
            "withheld": [str(path) for path in self._withheld],
            "unsafe": self._request.sandbox == "unsafe",
            "frame": self._request.frames,
            "seed": self._request.seed,
        }


class _Talk:
    """The conversation with one contestant.

    Attributes:
        ready: Whether it has come as far as the trial's own code.
    """

    def __init__(self, child: Child, saved: Path) -> None:
        self._child = child
        self._saved = saved
        self.ready = False

    def set_up(self, setup: dict[str, Any]) -> None:
        """Have the contestant bind itself, and import the trial's code."""
        self._command(**setup)
        self._expect(b"R")
        self.ready = True

    def fit(self, table: _Table, y: Values, rows: Rows) -> None:
        """Have it fit training rows and save the model."""
        self._send_table("fit", table, rows)
        self._child.channel.send(np.ascontiguousarray(y[rows]).data)
        self._expect(b"S")

    def load(self) -> None:
        """Have it load the saved model."""
        self._command(do="load")
        self._expect(b"S")

    def predict(self, table: _Table, rows: Rows) -> Values:
        """Have it predict rows; shape (n,).

        Raises:
            TrialFailedError: It says that it cannot, or answers something else.
        """
        self._send_table("predict", table, rows)
        content = self._expect(b"P", 8 * len(rows))
        if len(content) != 8 * len(rows):
            raise TrialFailedError(
                "bad_result", f"{len(content)} bytes came back for {len(rows)} predictions"
            )
        return np.frombuffer(content, dtype=np.float64)

    def copy_state(self, target: Path, limits: Limits) -> None:
        """Copy what it saved, while it stands still.

        Raises:
            TrialFailedError: It holds anything but regular files and folders, or too much.
        """
        with self._child.paused():
            copy_state(self._saved, target, limits)

    def _command(self, **fields: Any) -> None:
        self._child.channel.send(json.dumps(fields).encode())

    def _send_table(self, do: str, table: _Table, rows: Rows) -> None:
        self._command(
            do=do,
            rows=[len(rows)],
            features=table.features,
            categories=table.categories,
            frame=table.frame,
        )
        self._child.channel.send(table.matrix(rows).data)

    def _expect(self, tag: bytes, size: int = 0) -> bytes:
        reply = self._child.channel.receive(1 + max(size, _REPLY_LIMIT))
        if reply[:1] == tag:
            return reply[1:]
        if reply[:1] == b"E":
            kind, _, text = reply[1:].decode("utf-8", "replace").partition("\n")
            outcome: Outcome = next((known for known in _REPORTED if known == kind), "error")
            raise TrialFailedError(outcome, harmless(text), reported=True)
        raise TrialFailedError("bad_result", "the model's process sent something else than asked")


class _Table:
    """The features, ready to be sent by rows."""

    def __init__(self, dataset: Dataset, *, frame: bool) -> None:
        self.features = list(dataset.features)
        self.frame = frame
        self.categories: dict[str, list[str]] = {
            name: list(texts) for name, texts in dataset.categories.items()
        }
        columns = []
        for name in self.features:
            column = dataset.columns[name]
            if column.dtype == object:
                if not frame:
                    raise DataError(
                        f"column {name!r} holds text labels, which an array cannot: set "
                        '`frames = true`, or categorical = "codes"'
                    )
                texts, column = np.unique(column.astype(str), return_inverse=True)
                self.categories[name] = texts.tolist()
            columns.append(column.astype(np.float64))
        self._matrix = np.column_stack(columns) if columns else np.empty((dataset.n_rows, 0))

    def matrix(self, rows: Rows) -> Values:
        """Return the features of some rows, shape (n, p), C-contiguous."""
        return np.ascontiguousarray(self._matrix[rows])


def copy_state(source: Path, target: Path, limits: Limits) -> None:
    """Copy a folder that untrusted code has made, following nothing.

    Raises:
        TrialFailedError: It is missing, or holds anything but regular files and folders, or more
            than the limits allow.
    """
    budget = _Budget(int(limits.disk_mb * 2**20))
    try:
        with open_folder(source) as folder:
            _copy_folder(folder, target, budget, depth=0)
    except (FileRefusedError, OSError) as error:
        raise TrialFailedError(
            "bad_result", f"what the model saved cannot be read: {harmless(str(error), 300)}"
        ) from error


@dataclasses.dataclass
class _Budget:
    room: int
    files: int = _STATE_FILES


def _copy_folder(folder: int, target: Path, budget: _Budget, depth: int) -> None:
    if depth > _STATE_DEPTH:
        raise FileRefusedError(f"folders are nested more than {_STATE_DEPTH} deep")
    target.mkdir(mode=0o700)
    for name in os.listdir(folder):
        budget.files -= 1
        if budget.files < 0:
            raise FileRefusedError(f"more than {_STATE_FILES} files")
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            inner = os.open(name, flags, dir_fd=folder)
            try:
                _copy_folder(inner, target / name, budget, depth + 1)
            finally:
                os.close(inner)
            continue
        content = read_regular(name, budget.room, folder=folder)
        budget.room -= len(content)
        (target / name).write_bytes(content)


def until_start(elapsed: float) -> float:
    """Return how long to wait, in seconds, for the next moment at which a process may start."""
    if elapsed < _FIRST_START_S:
        return 0.0
    steps = math.ceil(math.log(elapsed / _FIRST_START_S, _START_RATIO))
    return max(0.0, _FIRST_START_S * _START_RATIO**steps - elapsed)


def _batches(order: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """Return the rows backwards, in three batches of unequal size."""
    backwards = order[::-1]
    return [batch for batch in np.split(backwards, [1, 1 + len(order) // 3]) if len(batch)]


def _remove(folder: Path) -> None:
    try:
        remove_tree(folder)
    except OSError as error:
        raise HarnessError(f"what a model has written cannot be removed: {error}") from error


def _environment(limits: Limits, scratch: Path) -> dict[str, str]:
    return clean_environment(limits.threads) | {
        "HOME": str(scratch),
        "TMPDIR": str(scratch),
        # Semaphores are denied; joblib then warns, or fails, unless it is told not to try.
        "JOBLIB_MULTIPROCESSING": "0",
    }


def _failed(ended: Ended, limits: Limits, *, ready: bool) -> Exception:
    """Return the failure that a contestant's end amounts to."""
    if ended.killed:
        return TrialFailedError("bad_result", "the model's process broke off the conversation")
    outcome, error = judge_end(ended, limits) or ("harness", "it ended without an answer")
    if outcome != "harness":
        return TrialFailedError(outcome, error)
    if not ready:
        return HarnessError(f"a contestant could not be set up: {error}")
    return TrialFailedError("error", f"the model ended its process (exit code {ended.returncode})")

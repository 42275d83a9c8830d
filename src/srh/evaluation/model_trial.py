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
import math
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from srh.context import Dataset
from srh.environment import clean_environment
from srh.errors import HarnessError
from srh.evaluation.conversation import Table, Talk
from srh.evaluation.outcomes import judge_end
from srh.evaluation.protocol import Fitted, Request, Usage
from srh.evaluation.scorer import (
    Answer,
    Rows,
    TrialFailedError,
    Values,
    require_same,
    secret_draw,
    target_scale,
)
from srh.files import remove_tree
from srh.sandbox.channel import ChildGoneError
from srh.sandbox.limits import Limits
from srh.sandbox.nursery import Asking, Order
from srh.sandbox.supervise import Child, Ended
from srh.trials import TrialSource

_FIRST_START_S = 0.01
_START_RATIO = 1.25


class ModelContender:
    """A model trial in the scoring loop.

    Args:
        source: The trial's source.
        request: What is asked.
        dataset: The loaded data.
        folder: A private folder for scratch.
        nursery: Who forks contestants.
        withheld: Folders that contestants must not read.
    """

    def __init__(
        self,
        source: TrialSource,
        request: Request,
        dataset: Dataset,
        folder: Path,
        nursery: Asking,
        withheld: Sequence[Path] = (),
    ) -> None:
        self._source = source
        self._request = request
        self._table = Table(dataset, frame=request.frames)
        self._y = dataset.y
        self._folder = folder
        self._started = time.monotonic()
        self._nursery = nursery
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
        peak = max((ended.peak_bytes for ended in self._ended), default=None)
        return Usage(
            wall_s=sum(ended.wall_s for ended in self._ended),
            cpu_s=sum(ended.cpu_s for ended in self._ended),
            peak_memory_mb=None if peak is None else peak / 2**20,
        )

    @contextmanager
    def _contestant(self, saved: Path | None = None) -> Iterator[Talk]:
        """Run one contestant, and turn the way it ends into a failure if it is one.

        Args:
            saved: What another contestant has saved, to be loaded; None: this one saves.
        """
        place = Path(tempfile.mkdtemp(prefix="contestant-", dir=self._folder))
        limits, confined = self._request.limits, self._request.sandbox == "full"
        order = Order(
            entry="srh.contestant.model:main",
            cwd=place,
            environment=clean_environment(),
            channel=True,
            scratch=place,
            disk_mb=limits.disk_mb,
            mounted=confined,
            apart=confined and limits.threads > 1,
        )
        talk, failure = None, None
        try:
            child = Child(self._nursery, order, limits)
            try:
                with child:
                    own = self._furnish(place)
                    talk = Talk(child, own)
                    try:
                        talk.set_up(self._set_up(place, saved or own))
                        yield talk
                    except (ChildGoneError, TrialFailedError) as error:
                        failure = error
                        child.look()  # what it complains of may be a limit that it has met
            finally:
                # Without an end it could not be waited for: a graver error is on its way.
                self._ended += [child.ended] if hasattr(child, "ended") else []
        finally:
            _remove(place)
        if isinstance(failure, TrialFailedError) and child.ended.stopped is None:
            raise failure
        if failure is not None:
            ready = talk is not None and talk.ready
            raise _failed(child.ended, limits, ready=ready) from failure

    def _forget_state(self) -> None:
        state = self._folder / "saved"
        if state.exists():
            _remove(state)

    def _furnish(self, place: Path) -> Path:
        """Lay out what a contestant finds, and return the folder that it saves in.

        It gets a copy of the source of its own: that it was read, and when, shows.
        """
        self._source.stage(place / "trial")
        saved = place / "scratch" / "saved"
        saved.mkdir(mode=0o700, parents=True)
        return saved

    def _set_up(self, place: Path, saved: Path) -> dict[str, Any]:
        return {
            "staged": str(place / "trial"),
            "scratch": str(place / "scratch"),
            "saved": str(saved),
            "limits": dataclasses.asdict(self._request.limits),
            "withheld": [str(path) for path in self._withheld],
            "unsafe": self._request.sandbox == "unsafe",
            "frame": self._request.frames,
            "seed": self._request.seed,
        }


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

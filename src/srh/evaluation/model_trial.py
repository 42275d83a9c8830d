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

import math
import time

import numpy as np
import numpy.typing as npt

from srh.context import Dataset
from srh.evaluation.contestants import Contestant, Contestants
from srh.evaluation.conversation import Table, Talk
from srh.evaluation.protocol import Fitted, Request
from srh.evaluation.scorer import (
    Answer,
    Rows,
    TrialFailedError,
    Values,
    require_same,
    secret_draw,
    target_scale,
)

_FIRST_START_S = 0.01
_START_RATIO = 1.25


class ModelContender:
    """A model trial in the scoring loop.

    The contestants of the first fold are started at once: they bind themselves while the data are
    read.

    Args:
        request: What is asked.
        contestants: Where contestants come from.
    """

    def __init__(self, request: Request, contestants: Contestants) -> None:
        self._request = request
        self._contestants = contestants
        self._started = time.monotonic()
        self._first: Contestant | None = contestants.start()
        self._loading = contestants.start(loads=True)
        self._order: npt.NDArray[np.int64] | None = None
        self._probabilities: Values | None = None

    def take(self, dataset: Dataset) -> None:
        """Take the data that it will send to its contestants, by rows.

        Raises:
            DataError: They hold what an array cannot.
        """
        self._table = Table(dataset, frame=self._request.frames)
        self._y = dataset.y

    def answer(self, train: Rows, validation: Rows) -> Answer:
        """Fit in a fresh contestant, and have it predict the validation rows."""
        order = secret_draw(self._request.seed, self._y, validation).permutation(len(validation))
        contestant, self._first = self._first, None
        first = contestant is not None
        if contestant is None:
            contestant = self._start_another()
        with contestant.talking() as talk:
            talk.fit(self._table, self._y, train)
            if first:
                # Before it sees a validation row: what it saved cannot know them.
                talk.copy_state(self._contestants.saved, self._request.limits)
                self._order = order
            predictions = talk.predict(self._table, validation[order])
            probabilities = self._predict_proba(talk, train, validation[order])
        if first:
            self._probabilities = probabilities
        return Answer(
            predictions=_back(predictions, order),
            probabilities=None if probabilities is None else _back(probabilities, order),
        )

    def check_roundtrip(self, train: Rows, validation: Rows, predictions: Values) -> None:
        """Load what was saved in a fresh contestant, and compare its predictions."""
        assert self._order is not None  # noqa: S101 - set by the first answer
        order, scale = self._order, target_scale(self._y[train])
        with self._loading.talking() as talk:
            talk.load()
            batches = _batches(order) if self._request.rowwise else []
            others = [talk.predict(self._table, validation[batch]) for batch in batches]
            same = talk.predict(self._table, validation[order])
            again = self._predict_proba(talk, train, validation[order])
        require_same(predictions[order], same, scale=scale, tolerance=self._request.tolerance)
        self._require_same_probabilities(again)
        if not batches:
            return
        require_same(
            predictions[np.concatenate(batches)],
            np.concatenate(others),
            scale=scale,
            tolerance=self._request.tolerance,
            what="in another order and other batches: a prediction depends on other rows",
        )

    def _predict_proba(self, talk: Talk, train: Rows, rows: Rows) -> Values | None:
        if not self._table.classes:
            return None
        seen = np.unique(self._y[train]).astype(np.int64).tolist()
        return talk.predict_proba(self._table, rows, seen)

    def _require_same_probabilities(self, again: Values | None) -> None:
        if self._probabilities is None or again is None:
            if (self._probabilities is None) != (again is None):
                raise TrialFailedError(
                    "roundtrip", "predict_proba is there before or after being saved, not both"
                )
            return
        require_same(
            self._probabilities,
            again,
            scale=1.0,
            tolerance=self._request.tolerance,
            what="in probability after being saved and loaded",
        )

    def _start_another(self) -> Contestant:
        """Start a contestant of a later fold, when nothing is left that could tell it anything."""
        self._loading.dismiss()  # where the first fold failed, it has not been needed
        self._contestants.await_ends()
        self._contestants.forget_state()
        time.sleep(until_start(time.monotonic() - self._started))
        return self._contestants.start()

    def conclude(self, train: Rows) -> Fitted | None:
        """Return nothing: a fitted model is code and state, not a formula."""
        del train
        return None


def _back(answered: Values, order: npt.NDArray[np.int64]) -> Values:
    """Return what was answered in an order as if it had been in none."""
    back = np.empty_like(answered)
    back[order] = answered
    return back


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

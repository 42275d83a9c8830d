"""A model as a contender: code of the trial, run by contestants, judged by the scorer.

Theory of operation. For each fold a fresh process, the *contestant*, gets the training rows, fits
and saves the model, and only then is sent the validation rows, in an order that tells nothing. For
the first fold a second fresh process loads what was saved. It predicts the same rows in another
order and other batches, which must agree unless the task lets predictions depend on other rows, and
then in the same order, which must agree too (the round trip). The batches come first, because a
process that has seen all rows together can remember them; and all of it comes before the first
process, which stands still meanwhile, is sent a validation row: it could find a way to tell what
the others are like. All that comes back from either is raw float64: nothing that the trial made is
ever parsed here.

No fold may tell another one anything, and labels of the one are training rows of the other. So
what a process leaves is gone before the next one starts: what it may not read, it can still see
the names and sizes of. When a process starts would tell how long the ones before it took, so folds
start in step, and a step is one of few lengths, each a quarter longer than the last: that tells
fewer than six bits, and nobody knows for whom. The order of the validation rows is drawn from the
labels: a process that could work it out would know how they lie in the data file, which may be
sorted.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from srh.context import Dataset
from srh.evaluation.contestants import Contestant, Contestants
from srh.evaluation.conversation import Table
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

_SHORTEST_STEP_S: Final = 0.01
_STEP_RATIO: Final = 1.25


Order: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What was predicted by a contestant that loaded the model.

    Attributes:
        order: The rows in the order in which both contestants get them.
        same: Its predictions in that order.
        batches: The rows in another order, in batches.
        others: Its predictions for each batch.
    """

    order: Order
    same: Values
    batches: list[Order]
    others: list[Values]


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
        self._loaded: _Loaded | TrialFailedError | None = None
        self._folds = 0
        self._pace = 0.0

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
        self._folds += 1
        with contestant.talking() as talk:
            talk.fit(self._table, self._y, train)
            if first:
                with talk.paused():
                    talk.copy_state(self._contestants.saved, self._request.limits)
                    self._loaded = self._predict_loaded(validation, order)
            predictions = talk.predict(self._table, validation[order])
        answered = np.empty_like(predictions)
        answered[order] = predictions
        return Answer(predictions=answered)

    def check_roundtrip(self, train: Rows, validation: Rows, predictions: Values) -> None:
        """Compare with what a fresh contestant has predicted that loaded what was saved."""
        del validation
        loaded = self._loaded
        assert loaded is not None  # noqa: S101 - set by the first answer
        if isinstance(loaded, TrialFailedError):
            raise loaded
        scale, tolerance = target_scale(self._y[train]), self._request.tolerance
        require_same(predictions[loaded.order], loaded.same, scale=scale, tolerance=tolerance)
        if loaded.batches:
            require_same(
                predictions[np.concatenate(loaded.batches)],
                np.concatenate(loaded.others),
                scale=scale,
                tolerance=tolerance,
                what="in another order and other batches: a prediction depends on other rows",
            )

    def _predict_loaded(self, validation: Rows, order: Order) -> _Loaded | TrialFailedError:
        """Have the second contestant load and predict; its failure counts after the first one's."""
        batches = _batches(order) if self._request.rowwise else []
        try:
            with self._loading.talking() as talk:
                talk.load()
                others = [talk.predict(self._table, validation[batch]) for batch in batches]
                same = talk.predict(self._table, validation[order])
        except TrialFailedError as failure:
            return failure
        finally:
            self._contestants.await_ends()
        return _Loaded(order, same, batches, others)

    def _start_another(self) -> Contestant:
        """Start a contestant of a later fold, when nothing is left that could tell it anything."""
        self._loading.dismiss()  # where the first fold failed, it has not been needed
        self._contestants.await_ends()
        self._contestants.forget_state()
        elapsed = time.monotonic() - self._started
        self._pace = max(self._pace, elapsed / self._folds)
        time.sleep(max(0.0, self._folds * step(self._pace) - elapsed))
        return self._contestants.start()

    def conclude(self, train: Rows) -> Fitted | None:
        """Return nothing: a fitted model is code and state, not a formula."""
        del train
        return None


def step(pace: float) -> float:
    """Return the time between two folds, in seconds, if each of them takes as long as `pace`."""
    steps = math.ceil(math.log(max(pace / _SHORTEST_STEP_S, 1.0), _STEP_RATIO))
    return _SHORTEST_STEP_S * _STEP_RATIO**steps


def _batches(order: Order) -> list[Order]:
    """Return the rows backwards, in three batches of unequal size."""
    backwards = order[::-1]
    return [batch for batch in np.split(backwards, [1, 1 + len(order) // 3]) if len(batch)]

"""The scoring loop: it knows the labels, so it never runs untrusted code.

Theory of operation. A *contender* stands for the trial: for each fold it gets the training rows
and answers with predictions for the validation rows, whose labels it is not given. Everything that
makes a score out of a prediction happens here: its shape and finiteness are checked, the built-in
metrics are computed, the folds combined. A contender that fails in one fold is still asked for the
others, so that its author sees the whole picture, but the trial has failed: a mean over the folds
that happened to work would flatter it.

The first fold comes first, because it is put through the round trip too, and the others in an order
that is drawn from the labels: a contender that leaves word in one fold for another (see
``model_trial``) cannot know for which.

Rows that no fold names (a holdout, say) are never looked at.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from srh.context import Dataset, check_partitions
from srh.errors import SrhError
from srh.evaluation.fold_metrics import measure_fold
from srh.evaluation.measuring import registry_of
from srh.evaluation.protocol import EvaluationResult, Fitted, Fold, Outcome, Request
from srh.metrics import MetricRegistry, Score, aggregate

_SHOWN_ROWS = 3
_SUM_SLACK = 1e-6

Rows = npt.NDArray[np.int64]
Values = npt.NDArray[np.float64]


class TrialFailedError(SrhError):
    """The trial cannot be scored in this fold, and it is the trial's doing.

    Attributes:
        outcome: What kind of failure it is.
        reported: Whether the kind rests on the word of untrusted code.
    """

    def __init__(self, outcome: Outcome, message: str, *, reported: bool = False) -> None:
        self.outcome: Outcome = outcome
        self.reported = reported
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Answer:
    """A contender's answer for one fold.

    Attributes:
        predictions: One value per validation row, as the contender gave them.
        n_parameters: Number of fitted parameters, where that is known.
        complexity: Size of what predicted, where that is known.
        probabilities: Probability of each class, shape (n, k), where the target is of categories
            and the contender gives any.
    """

    predictions: object
    n_parameters: int | None = None
    complexity: int | None = None
    probabilities: Values | None = None


class Contender(Protocol):
    """A trial, as the scoring loop sees it."""

    def answer(self, train: Rows, validation: Rows) -> Answer:
        """Fit on the training rows and predict the validation rows.

        Raises:
            TrialFailedError: The trial fails in this fold.
        """

    def check_roundtrip(self, train: Rows, validation: Rows, predictions: Values) -> None:
        """Save what was fitted, load it elsewhere, and compare its predictions.

        Raises:
            TrialFailedError: They differ by more than the tolerance.
        """

    def conclude(self, train: Rows) -> Fitted | None:
        """Return what the trial became, fitted on all training rows."""


def score(
    request: Request,
    dataset: Dataset,
    contender: Contender,
    registry: MetricRegistry | None = None,
) -> EvaluationResult:
    """Score a trial over all partitions.

    Args:
        request: What is asked.
        dataset: The loaded data.
        contender: The trial.
        registry: The request's metrics, if they are known already.

    Raises:
        SrhError: The request does not fit the data: the asker's mistake, not the trial's.
    """
    check_partitions(request.partitions, dataset.n_rows)
    registry = registry or registry_of(request, "model")
    started = time.perf_counter()
    measured: dict[int, dict[str, Score] | TrialFailedError] = {}
    for index in _order(request, dataset):
        try:
            measured[index] = _score_fold(request, dataset, contender, index, registry)
        except TrialFailedError as failure:
            measured[index] = failure
    folds: list[Fold] = []
    scores: list[dict[str, Score]] = []
    failures: list[TrialFailedError] = []
    for index, (train, validation) in enumerate(request.partitions):
        found, error = measured[index], None
        if isinstance(found, TrialFailedError):
            error = str(found)
            failures.append(found)
            found = {name: Score.error(name, found.outcome, error) for name in request.metrics}
        folds.append(Fold(n_train=len(train), n_validation=len(validation), error=error))
        scores.append(found)
    fitted = None if failures else contender.conclude(_all_training_rows(request, dataset.n_rows))
    return _combine(
        request, registry, folds, scores, failures, fitted, time.perf_counter() - started
    )


def secret_draw(seed: int, y: Values, rows: Rows | None = None) -> np.random.Generator:
    """Return random numbers that only who has all labels can work out.

    Args:
        seed: The request's seed.
        y: All labels, shape (n,).
        rows: The rows that they are drawn for, if any; shape (k,).
    """
    secret = hashlib.sha256(y.tobytes())
    secret.update(b"" if rows is None else rows.tobytes())
    return np.random.default_rng([int.from_bytes(secret.digest(), "little"), seed])


def _order(request: Request, dataset: Dataset) -> list[int]:
    others = secret_draw(request.seed, dataset.y).permutation(len(request.partitions) - 1) + 1
    return [0, *map(int, others)]


def _score_fold(
    request: Request,
    dataset: Dataset,
    contender: Contender,
    index: int,
    registry: MetricRegistry,
) -> dict[str, Score]:
    """Measure one fold; the first one is also put through the round trip."""
    train, validation = (np.asarray(rows, dtype=np.int64) for rows in request.partitions[index])
    answer = contender.answer(train, validation)
    predictions = checked_predictions(answer.predictions, validation)
    if dataset.classes:
        _check_codes(predictions, len(dataset.classes))
        _check_probabilities(answer.probabilities, (len(validation), len(dataset.classes)))
    if index == 0:
        contender.check_roundtrip(train, validation, predictions)
    return measure_fold(
        registry,
        dataset,
        validation,
        predictions,
        n_parameters=answer.n_parameters,
        complexity=answer.complexity,
        probabilities=answer.probabilities,
    )


def checked_predictions(predictions: object, rows: Rows) -> Values:
    """Return predictions as a float64 vector with one finite value per row, or refuse them.

    Args:
        predictions: What the contender gave.
        rows: The rows that were asked for, shape (n,).

    Raises:
        TrialFailedError: Wrong type, wrong shape (nothing is broadcast), or not finite.
    """
    if not isinstance(predictions, np.ndarray) or predictions.dtype != np.float64:
        kind = getattr(predictions, "dtype", type(predictions).__name__)
        raise TrialFailedError("bad_result", f"predictions must be float64 numbers, not {kind}")
    if predictions.shape != rows.shape:
        raise TrialFailedError(
            "bad_result",
            f"predictions have shape {predictions.shape}, but {rows.size} rows were asked for: "
            f"shape {rows.shape} is needed",
        )
    bad = np.flatnonzero(~np.isfinite(predictions))
    if bad.size:
        shown = ", ".join(f"row {rows[i]}: {predictions[i]}" for i in bad[:_SHOWN_ROWS])
        more = ", …" if bad.size > _SHOWN_ROWS else ""
        raise TrialFailedError(
            "bad_result",
            f"prediction is not a finite number in {bad.size} of {rows.size} validation rows "
            f"({shown}{more})",
        )
    return predictions


def _check_codes(predictions: Values, n_classes: int) -> None:
    """Refuse predicted classes unless each is the code of one."""
    codes = np.arange(n_classes, dtype=np.float64)
    if not np.isin(predictions, codes).all():
        raise TrialFailedError("bad_result", "a predicted class is none of the known ones")


def _check_probabilities(probabilities: Values | None, shape: tuple[int, int]) -> None:
    """Refuse probabilities unless each row is a distribution over the classes."""
    if probabilities is None:
        return
    flaw = None
    if probabilities.shape != shape:
        flaw = f"have shape {probabilities.shape}, not {shape}"
    elif not (np.isfinite(probabilities).all() and probabilities.min(initial=0.0) >= 0):
        flaw = "must be finite numbers, 0 or more"
    else:
        sums = probabilities.sum(axis=1)
        worst = float(np.max(np.abs(sums - 1), initial=0.0))
        flaw = f"of a row sum up to 1, not {1 + worst:g} or so" if worst > _SUM_SLACK else None
    if flaw is not None:
        raise TrialFailedError("bad_result", f"the probabilities {flaw}")


def require_same(
    first: Values,
    second: Values,
    *,
    scale: float,
    tolerance: float,
    what: str = "after being saved and loaded",
) -> None:
    """Refuse a round trip that changes predictions.

    Args:
        first: Predictions before, shape (n,).
        second: Predictions after, shape (n,), in the same order.
        scale: The target's scale, in its own units.
        tolerance: Largest accepted difference, relative to `scale`.
        what: What has been done between the two.

    Raises:
        TrialFailedError: They differ by more, or one of them is not finite.
    """
    worst = float(np.max(np.abs(first - second), initial=0.0))
    if not worst <= tolerance * scale:
        raise TrialFailedError(
            "roundtrip",
            f"predictions change by up to {worst:.3g} {what} "
            f"(accepted: {tolerance:g} of the target's scale {scale:.3g})",
        )


def target_scale(y: Values) -> float:
    """Return the target's scale: its standard deviation, or its size where it is constant."""
    size = float(np.max(np.abs(y), initial=0.0)) or 1.0
    # Of numbers near one, so that the squares neither overflow nor vanish: against an infinite
    # scale any two predictions would count as the same.
    return float(np.std(y / size)) * size or size


def _all_training_rows(request: Request, n_rows: int) -> Rows:
    trained = np.zeros(n_rows, dtype=bool)
    for train, _ in request.partitions:
        trained[train] = True
    return np.flatnonzero(trained)


def _combine(
    request: Request,
    registry: MetricRegistry,
    folds: list[Fold],
    scores: list[dict[str, Score]],
    failures: list[TrialFailedError],
    fitted: Fitted | None,
    runtime: float,
) -> EvaluationResult:
    combined = {
        name: aggregate(
            [measured[name] for measured in scores],
            request.aggregation.get(name) or registry.columns[name].spec.how,
        )
        for name in request.metrics
    }
    return EvaluationResult(
        status="failed" if failures else "ok",
        metrics={name: value.value for name, value in combined.items()},
        runtime=runtime,
        roundtrip_ok=folds[0].error is None,
        error=_describe(folds) if failures else None,
        per_fold=[{name: item.value for name, item in one.items()} for one in scores],
        outcome=failures[0].outcome if failures else "ok",
        reported=bool(failures) and failures[0].reported,
        scores=combined,
        folds=folds,
        fitted=fitted,
    )


def _describe(folds: list[Fold]) -> str:
    """Return the first failure, with the number of folds that failed."""
    failed = [index for index, fold in enumerate(folds) if fold.error is not None]
    first = folds[failed[0]].error
    if len(folds) == 1 or all(fold.error == first for fold in folds):
        return str(first)
    return f"fold {failed[0]} ({len(failed)} of {len(folds)} folds fail): {first}"

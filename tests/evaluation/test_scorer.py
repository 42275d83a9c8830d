from __future__ import annotations

import numpy as np
import pytest

from srh.context import DataSpec, load_dataset
from srh.errors import SrhError
from srh.evaluation.protocol import Fitted, Request
from srh.evaluation.scorer import (
    Answer,
    TrialFailedError,
    require_same,
    score,
    target_scale,
)


class Contender:
    """Answers what it was told to, per fold; an exception is raised."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.concluded = None

    def answer(self, train, validation):
        given = self.answers.pop(0)
        if isinstance(given, Exception):
            raise given
        return given if isinstance(given, Answer) else Answer(given)

    def check_roundtrip(self, train, validation, predictions):
        pass

    def conclude(self, train):
        self.concluded = train.tolist()
        return Fitted(formula="x")


@pytest.fixture
def dataset(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("x,y\n" + "\n".join(f"{i},{i * i}" for i in range(8)) + "\n")
    return load_dataset(path, DataSpec(target="y"))


def request(partitions, metrics=("rmse", "r2")):
    return Request(
        trial_dir=".",
        dataset_path="d.csv",
        metrics=list(metrics),
        partitions=partitions,
        tolerance=1e-9,
    )


FOLDS = [([4, 5, 6, 7], [0, 1, 2]), ([0, 1, 2, 7], [4, 5, 6])]


def test_perfect_predictions_score_perfectly(dataset):
    contender = Contender(np.array([0.0, 1, 4]), np.array([16.0, 25, 36]))
    result = score(request(FOLDS), dataset, contender)
    assert (result.status, result.outcome, result.error) == ("ok", "ok", None)
    assert result.metrics == {"rmse": 0.0, "r2": 1.0}
    assert result.roundtrip_ok
    assert contender.concluded == [0, 1, 2, 4, 5, 6, 7], "never a row that no fold trains on"


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (np.zeros(2), r"shape \(2,\), but 3 rows were asked for"),
        (np.zeros((3, 1)), r"shape \(3, 1\)"),
        (np.float64(1.0), "must be float64 numbers, not float64"),
        (np.array(1.0), r"shape \(\)"),
        (np.zeros(3, dtype=complex), "not complex128"),
        (np.zeros(3, dtype=object), "not object"),
        (np.zeros(3, dtype=np.float32), "not float32"),
        (np.zeros(3, dtype=int), "not int64"),
        (np.ones(3, dtype=bool), "not bool"),
        ([0.0, 1.0, 2.0], "not list"),
        (None, "not NoneType"),
        (
            np.array([0.0, np.nan, np.inf]),
            r"not a finite number in 2 of 3 .*row 1: nan, row 2: inf",
        ),
    ],
)
def test_malformed_predictions_are_the_trials_failure(dataset, predictions, message):
    if isinstance(predictions, np.float64):
        message = r"must be float64 numbers|shape \(\)"
    result = score(request(FOLDS[:1]), dataset, Contender(predictions))
    assert result.status == "failed"
    assert result.outcome == "bad_result"
    assert result.metrics == {"rmse": None, "r2": None}
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(result.error)


def test_one_failed_fold_fails_the_trial_and_the_others_are_still_shown(dataset):
    contender = Contender(TrialFailedError("error", "boom"), np.array([16.0, 25, 37]))
    result = score(request(FOLDS), dataset, contender)
    assert result.status == "failed"
    assert result.error == "fold 0 (1 of 2 folds fail): boom"
    assert result.metrics == {"rmse": None, "r2": None}
    assert result.per_fold[0] == {"rmse": None, "r2": None}
    assert result.per_fold[1]["rmse"] == pytest.approx(3**-0.5)
    assert (result.scores["rmse"].n_scored, result.scores["rmse"].n_total) == (1, 2)
    assert [fold.error for fold in result.folds] == ["boom", None]
    assert contender.concluded is None


def test_a_metric_without_meaning_in_one_fold_has_no_value_and_a_reason(dataset):
    folds = [([4, 5, 6, 7], [0, 1, 2]), ([0, 1, 2, 7], [4])]
    contender = Contender(np.array([0.0, 1, 4]), np.array([16.0]))
    result = score(request(folds), dataset, contender)
    assert result.status == "ok"
    assert result.metrics == {"rmse": 0.0, "r2": None}
    assert result.scores["r2"].status == "non_evaluable"
    assert "fold 1" in result.scores["r2"].reason


def test_formula_metrics_need_a_formula(dataset):
    asked = request(FOLDS[:1], ["aic", "complexity"])
    result = score(asked, dataset, Contender(np.array([0.0, 1, 5])))
    assert result.metrics == {"aic": None, "complexity": None}
    known = Answer(np.array([0.0, 1, 5]), n_parameters=1, complexity=3)
    assert score(asked, dataset, Contender(known)).metrics["complexity"] == 3


@pytest.mark.parametrize(
    "partitions",
    [
        [([0, 1], [1, 2])],
        [([0, 1], [8])],
        [([0, 1], [-1])],
        [([], [1])],
        [([0], [])],
        [([0, 0], [1])],
        [([True, 0], [2])],
        [],
    ],
)
def test_partitions_that_do_not_fit_the_data_are_the_askers_mistake(dataset, partitions):
    with pytest.raises(SrhError):
        score(request(partitions), dataset, Contender())


def test_roundtrip_compares_relative_to_the_targets_scale():
    first, second = np.array([1.0, 2.0]), np.array([1.0, 2.001])
    require_same(first, second, scale=100.0, tolerance=1e-4)
    with pytest.raises(TrialFailedError, match=r"change by up to 0\.001") as caught:
        require_same(first, second, scale=1.0, tolerance=1e-4)
    assert caught.value.outcome == "roundtrip"
    with pytest.raises(TrialFailedError):
        require_same(first, np.array([1.0, np.nan]), scale=1.0, tolerance=1.0)


def test_the_targets_scale_is_finite_for_numbers_of_any_size():
    for size in (1.0, 1e300, 1.7e308, 1e-300):
        assert target_scale(np.array([-size, size])) == pytest.approx(size)
        assert target_scale(np.array([size, size])) == size
    assert target_scale(np.zeros(3)) == 1.0
    # Against an infinite scale, these would count as the same.
    scale = target_scale(np.array([-1.7e308, 1.7e308, 1.7e308]))
    with pytest.raises(TrialFailedError, match="change by up to"):
        require_same(np.array([1e308]), np.array([1.1e308]), scale=scale, tolerance=1e-9)


class Recorder(Contender):
    """Predicts nothing but zeros, and keeps the order in which folds were asked for."""

    def __init__(self):
        super().__init__()
        self.asked = []

    def answer(self, train, validation):
        self.asked.append(int(validation[0]))
        return Answer(np.zeros(len(validation)))


def test_folds_are_asked_for_in_an_order_that_only_the_labels_tell(tmp_path):
    partitions = [([row for row in range(40) if row != fold], [fold]) for fold in range(40)]
    orders = []
    for last in (1, 1, 2):
        path = tmp_path / "d.csv"
        path.write_text("x,y\n" + "\n".join(f"{i},{i * i}" for i in range(39)) + f"\n39,{last}\n")
        recorder = Recorder()
        result = score(
            request(partitions, ["mae"]), load_dataset(path, DataSpec(target="y")), recorder
        )
        assert [one["mae"] for one in result.per_fold[:39]] == [i * i for i in range(39)]
        orders.append(recorder.asked)
    assert orders[0] == orders[1]
    assert orders[0] != orders[2], "one label makes another order"
    assert [order[0] for order in orders] == [0, 0, 0], "the round trip comes first"
    assert sorted(orders[0]) == list(range(40))
    assert orders[0] != sorted(orders[0])

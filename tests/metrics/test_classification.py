"""Classification metrics: scikit-learn's numbers, and reasons where it would make one up."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as known

from srh.metrics import CLASSIFICATION_METRICS, METRICS, ClassificationData, score_classes

EVALUATORS = {name: METRICS[name] for name in CLASSIFICATION_METRICS}


def data(y, predictions, n_classes, probabilities=None):
    return ClassificationData(
        np.asarray(y),
        np.asarray(predictions),
        n_classes,
        None if probabilities is None else np.asarray(probabilities, dtype=float),
    )


def measured(*arguments):
    scores = score_classes(data(*arguments), EVALUATORS)
    return {
        name: score.value if score.code is None else score.code for name, score in scores.items()
    }


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_numbers_are_scikit_learns(n_classes):
    generator = np.random.default_rng(n_classes)
    y = np.arange(60) % n_classes
    probabilities = generator.dirichlet(np.ones(n_classes), size=60)
    predictions = probabilities.argmax(axis=1)
    scored = probabilities[:, 1] if n_classes == 2 else probabilities
    assert measured(y, predictions, n_classes, probabilities) == pytest.approx(
        {
            "accuracy": known.accuracy_score(y, predictions),
            "balanced_accuracy": known.balanced_accuracy_score(y, predictions),
            "f1": known.f1_score(y, predictions, average="macro"),
            "log_loss": known.log_loss(y, probabilities),
            "roc_auc": known.roc_auc_score(y, scored, multi_class="ovr"),
        }
    )


def test_without_probabilities_two_metrics_have_no_value():
    assert measured([0, 1, 1], [0, 1, 0], 2) == {
        "accuracy": pytest.approx(2 / 3),
        "balanced_accuracy": 0.75,
        "f1": pytest.approx(2 / 3),
        "log_loss": "no_probabilities",
        "roc_auc": "no_probabilities",
    }


def test_a_class_that_was_held_impossible_has_no_finite_loss():
    found = measured([0, 1], [0, 0], 2, [[1, 0], [1, 0]])
    assert found["log_loss"] == "impossible_class"
    assert found["roc_auc"] == 0.5


def test_a_class_that_does_not_occur_leaves_nothing_to_compare():
    found = measured([1, 1], [1, 1], 2, [[0.2, 0.8], [0.5, 0.5]])
    assert found["roc_auc"] == "too_few_classes"
    assert found["balanced_accuracy"] == 1.0


def test_no_rows():
    assert set(measured([], [], 2).values()) == {"no_rows"}

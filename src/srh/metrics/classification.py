"""The metrics of classification models, as scikit-learn computes them.

Each is a function of `ClassificationData`, which is not empty; what has no meaning for the data
raises `UndefinedMetricError`, where scikit-learn would warn or put something else in its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srh.metrics.numeric import FloatArray, UndefinedMetricError

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class ClassificationData:
    """What the classification metrics look at.

    Attributes:
        y: Class of each row, as its number among the classes; shape (n,).
        predictions: Predicted class of each row; shape (n,).
        n_classes: Number of classes that the task knows, k.
        probabilities: Probability of each class for each row, shape (n, k); None where the model
            gives none.
    """

    y: Codes
    predictions: Codes
    n_classes: int
    probabilities: FloatArray | None = None


def accuracy(data: ClassificationData) -> float:
    """Share of the rows whose class is predicted."""
    from sklearn.metrics import accuracy_score

    return float(accuracy_score(data.y, data.predictions))


def balanced_accuracy(data: ClassificationData) -> float:
    """Mean over the classes that occur of the share of their rows that is found.

    Source: K. H. Brodersen et al., ICPR (2010) 3121-3124.
    """
    from sklearn.metrics import recall_score

    occurring = np.unique(data.y)
    return float(recall_score(data.y, data.predictions, labels=occurring, average="macro"))


def f1(data: ClassificationData) -> float:
    """Harmonic mean of precision and recall, averaged over the classes.

    The average is the plain one ("macro"), over the classes that occur in the target or among the
    predictions; one that is never predicted right has 2 TP / (2 TP + FP + FN) = 0.

    Source: C. J. van Rijsbergen, Information Retrieval, 2nd ed. (1979), ch. 7.
    """
    from sklearn.metrics import f1_score

    return float(f1_score(data.y, data.predictions, average="macro", zero_division=0))


def log_loss(data: ClassificationData) -> float:
    """Mean of -ln of the probability given to the right class.

    A probability of zero (below 2e-16) for what is the case has no finite loss:
    ``impossible_class``. Cutting it off, as is often done, makes the mean a measure of where.
    """
    probabilities = _probabilities(data)
    given = probabilities[np.arange(data.y.size), data.y]
    # scikit-learn would cut off what is smaller.
    impossible = np.flatnonzero(given <= np.finfo(np.float64).eps)
    if impossible.size:
        raise UndefinedMetricError(
            "impossible_class",
            f"{impossible.size} of {data.y.size} rows have a class that was given probability 0 "
            f"(first at row {impossible[0]})",
        )
    from sklearn.metrics import log_loss as loss

    return float(loss(data.y, probabilities, labels=np.arange(data.n_classes)))


def roc_auc(data: ClassificationData) -> float:
    """Chance that of two rows of different classes, the right one is given the larger probability.

    Of more than two classes, the mean over each against all others. Every class must occur, or
    there is nothing to compare (``too_few_classes``).

    Source: J. A. Hanley, B. J. McNeil, Radiology 143 (1982) 29-36.
    """
    probabilities = _probabilities(data)
    occurring = np.unique(data.y).size
    if occurring < data.n_classes or occurring < 2:
        raise UndefinedMetricError(
            "too_few_classes", f"{occurring} of {data.n_classes} classes occur among the rows"
        )
    from sklearn.metrics import roc_auc_score

    if data.n_classes == 2:
        return float(roc_auc_score(data.y, probabilities[:, 1]))
    return float(roc_auc_score(data.y, probabilities, multi_class="ovr"))


def _probabilities(data: ClassificationData) -> FloatArray:
    if data.probabilities is None:
        raise UndefinedMetricError("no_probabilities", "the model has no predict_proba")
    # The rows' sums are 1 within a tolerance; scikit-learn wants them to be 1 to the last digits.
    shares: FloatArray = data.probabilities / data.probabilities.sum(axis=1, keepdims=True)
    return shares

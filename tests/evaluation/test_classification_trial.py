"""Models of classes: labels go out, labels and probabilities come back, the judge encodes them."""

from __future__ import annotations

import numpy as np
import pytest

from srh.context import DataSpec, PartitionSpec, load_dataset, make_partitions
from srh.errors import DataError
from srh.evaluation import evaluate_trial
from srh.metrics import CLASSIFICATION_METRICS, MetricSpec

CATEGORY = DataSpec(target="kind", target_kind="category")
FOLDS = [
    ([row for row in range(40) if row % 2], list(range(0, 40, 2))),
    (list(range(0, 40, 2)), [row for row in range(40) if row % 2]),
]

MODEL = """
import json

import numpy as np


class Model:
    def fit(self, X, y):
        assert y.dtype.kind == "KIND" and y.shape == (len(X),), y.dtype
        self.labels = sorted(set(y.tolist()))
        self.means = [float(X[y == label].mean()) for label in self.labels]

    def distances(self, X):
        return np.abs(X - np.array(self.means))

    def predict(self, X):
        labels = [self.labels[i] for i in self.distances(X).argmin(axis=1)]
        return RETURNED

PROBA
    def save(self, folder):
        (folder / "model.json").write_text(json.dumps([self.labels, self.means]))

    @classmethod
    def load(cls, folder):
        model = cls()
        model.labels, model.means = json.loads((folder / "model.json").read_text())
        return model
"""
PROBA = """
    def predict_proba(self, X):
        closeness = np.exp(-self.distances(X))
        return closeness / closeness.sum(axis=1, keepdims=True)
"""


def write_data(folder, labels, name="data.csv"):
    path = folder / name
    kinds = [(n // 2) % len(labels) for n in range(40)]  # every kind in each fold
    rows = [f"{kind + n / 1000},{labels[kind]}" for n, kind in enumerate(kinds)]
    path.write_text("x,kind\n" + "\n".join(rows) + "\n")
    return path


def model(returned="labels", kind="U", proba=PROBA):
    return MODEL.replace("KIND", kind).replace("RETURNED", returned).replace("PROBA", proba)


def evaluate(tmp_path, source, labels=("left", "right", "up"), **options):
    trial = tmp_path / "trial"
    trial.mkdir()
    (trial / "model.py").write_text(source)
    return evaluate_trial(
        trial,
        write_data(tmp_path, labels),
        list(CLASSIFICATION_METRICS),
        FOLDS,
        1e-9,
        30.0,
        data=CATEGORY,
        **options,
    )


@pytest.mark.parametrize(
    ("returned", "labels", "kind"),
    [
        ("labels", ("left", "right", "up"), "U"),
        ("np.array(labels)", ("left", "right"), "U"),
        ("np.array(labels, dtype=object)", ("left", "right"), "U"),
        ("labels", (1, 2, 3), "f"),
        ("np.array(labels, dtype=int)", (0, 1), "f"),
        ("np.array(labels, dtype=np.float32)", (0.5, 1), "f"),
    ],
)
def test_labels_of_either_kind_come_back(tmp_path, returned, labels, kind):
    result = evaluate(tmp_path, model(returned, kind), labels)
    assert (result.status, result.error) == ("ok", None)
    assert result.metrics["accuracy"] == result.metrics["roc_auc"] == 1.0
    assert 0 < result.metrics["log_loss"] < 1


def test_without_probabilities_two_metrics_have_no_value(tmp_path):
    result = evaluate(tmp_path, model(proba=""))
    assert result.status == "ok"
    assert result.metrics["f1"] == 1.0
    assert result.metrics["log_loss"] is None
    assert result.scores["roc_auc"].reason.startswith("no_probabilities: ")


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("['down'] * len(X)", "predict returned 'down', an unknown label (known: 'left', 'right'"),
        ("[0] * len(X)", "predict returned '0', an unknown label"),
        ("[True] * len(X)", "predict returned 'True', an unknown label"),
        ("[None] * len(X)", "predict returned 'None', an unknown label"),
        ("[['left']] * len(X)", "predict returned shape (20, 1); (20,) is needed"),
        ("labels[1:]", "predict returned shape (19,); (20,) is needed"),
        ("[float('nan')] * len(X)", "predict returned 'nan', an unknown label"),
    ],
)
def test_anything_but_a_known_label_per_row_is_the_trials_failure(tmp_path, returned, reason):
    result = evaluate(tmp_path, model(returned))
    assert (result.status, result.outcome) == ("failed", "bad_result")
    assert reason in result.error
    assert set(result.metrics.values()) == {None}


def test_true_is_not_one(tmp_path):
    result = evaluate(tmp_path, model("[True] * len(X)", "f"), (0, 1))
    assert "predict returned 'True', an unknown label (known: 0.0, 1.0)" in result.error


def proba(body):
    return f"\n    def predict_proba(self, X):\n        {body}\n"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("return np.full((len(X), 3), 1 / 2)", "the probabilities of a row sum up to 1, not 1.5"),
        ("return np.tile([2.0, -1.0, 0.0], (len(X), 1))", "must be finite numbers, 0 or more"),
        ("return np.full((len(X), 3), np.nan)", "must be finite numbers, 0 or more"),
        ("return np.full((len(X), 2), 1 / 2)", "predict_proba gave 40 numbers for 20 rows and 3"),
        ("return np.full(len(X), 1.0)", "predict_proba returned shape (20,); (20, classes)"),
        ("return [['a', 'b', 'c']] * len(X)", "not real numbers"),
        ("raise ValueError('no')", "ValueError: no"),
    ],
)
def test_probabilities_must_be_some(tmp_path, body, reason):
    result = evaluate(tmp_path, model(proba=proba(body)))
    assert result.status == "failed"
    assert reason in result.error


def test_probabilities_go_through_the_round_trip_too(tmp_path):
    forgets = proba(
        "base = np.eye(3)[self.distances(X).argmin(axis=1)]; "
        "return base if hasattr(self, 'fitted') else np.full((len(X), 3), 1 / 3)"
    )
    source = model(proba=forgets).replace("self.means =", "self.fitted = 1; self.means =", 1)
    result = evaluate(tmp_path, source)
    assert result.outcome == "roundtrip"
    assert "in probability after being saved and loaded" in result.error


def test_a_class_that_no_training_row_has_gets_probability_zero(tmp_path):
    trial = tmp_path / "trial"
    trial.mkdir()
    (trial / "model.py").write_text(model())
    data = write_data(tmp_path, ("left", "right", "up"))
    kinds = load_dataset(data, CATEGORY).y
    train = [row for row in range(40) if kinds[row] != 1]
    result = evaluate_trial(
        trial,
        data,
        ["accuracy", "log_loss"],
        [(train, [row for row in range(40) if row not in train])],
        1e-9,
        30.0,
        data=CATEGORY,
    )
    assert result.status == "ok"
    assert result.metrics == {"accuracy": 0.0, "log_loss": None}
    assert result.scores["log_loss"].reason.startswith("impossible_class: ")


def test_formulas_do_not_predict_classes(tmp_path):
    trial = tmp_path / "trial"
    trial.mkdir()
    (trial / "formula.txt").write_text("param('a') * x")
    data = write_data(tmp_path, ("left", "right"))
    result = evaluate_trial(trial, data, ["accuracy"], FOLDS, 1e-9, 30.0, data=CATEGORY)
    assert (result.outcome, result.error) == (
        "error",
        "the target is of categories; a formula gives numbers",
    )


def test_metrics_may_have_names_of_their_own_and_need_each_other(tmp_path):
    specs = [
        MetricSpec(name="worst", evaluator="accuracy@1", aggregation="min"),
        MetricSpec(name="loss", evaluator="log_loss@1"),
        MetricSpec(name="auc", evaluator="roc_auc@1", prerequisites=["loss"]),
    ]
    trial = tmp_path / "trial"
    trial.mkdir()
    (trial / "model.py").write_text(model(proba=""))
    data = write_data(tmp_path, ("left", "right"))
    names = [spec.name for spec in specs]
    result = evaluate_trial(trial, data, names, FOLDS, 1e-9, 30.0, data=CATEGORY, specs=specs)
    assert result.metrics == {"worst": 1.0, "loss": None, "auc": None}
    assert result.scores["auc"].status == "blocked"
    assert result.scores["auc"].reason == "prerequisite: folds 0, 1: loss has no value"


def test_a_target_of_categories_is_encoded_and_stratified(tmp_path):
    dataset = load_dataset(write_data(tmp_path, ("b", "a", "c")), CATEGORY)
    assert dataset.classes == ("a", "b", "c")
    assert dataset.y[:8:2].tolist() == [1.0, 0.0, 2.0, 1.0]
    spec = PartitionSpec(kind="stratified", n_splits=4)
    for _, validation in make_partitions(spec, dataset, np.arange(40)):
        counts = np.bincount(dataset.y[validation].astype(int))
        assert set(counts.tolist()) <= {3, 4}
    numbers = load_dataset(write_data(tmp_path, (7, -1), "numbers.csv"), CATEGORY)
    assert numbers.classes == (-1.0, 7.0)
    with pytest.raises(DataError, match="class 'c' has 12 rows, which 20 folds cannot share"):
        make_partitions(PartitionSpec(kind="stratified", n_splits=20), dataset, np.arange(40))


def test_a_target_of_one_class_is_refused(tmp_path):
    with pytest.raises(DataError, match="the target has 1 classes; 2 to 1000"):
        load_dataset(write_data(tmp_path, ("a",)), CATEGORY)
    quantity = DataSpec(target="kind")
    with pytest.raises(DataError, match='unless target_kind = "category"'):
        load_dataset(write_data(tmp_path, ("a", "b")), quantity)

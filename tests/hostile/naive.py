"""A scorer as many harnesses have it: one process that holds the labels and runs the model.

Usage: ``python naive.py DATA FOLDS OPTIONS``; the model is found through PYTHONPATH. It is the
control of attacks that live in such a process: here they succeed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from model import Model


class Dataset:
    def __init__(self, path):
        self.stream = Path(path).open("rb")  # noqa: SIM115 - stays open, as files do
        stored = np.load(self.stream)
        self.X, self.y = stored["X"], stored["y"]


def r2(y, predictions):
    return 1 - np.mean((y - predictions) ** 2) / np.mean((y - np.mean(y)) ** 2)


def r2_of_package(y, predictions):
    from srh.metrics import score_predictions

    return score_predictions(y, predictions, names=["r2"])["r2"].value


dataset = Dataset(sys.argv[1])
folds = eval(sys.argv[2])  # noqa: S307 - our own test's list
options = sys.argv[3:]
measure = r2_of_package if "package" in options else r2
scores = []
for number, (train, validation) in enumerate(folds):
    if "in_sample" in options:
        validation = train  # noqa: PLW2901
    X, y = dataset.X, dataset.y
    model = Model()
    model.fit(X[train], y[train])
    folder = Path("state") / str(number)
    folder.mkdir(parents=True)
    model.save(folder)
    predictions = model.predict(X[validation])
    if "roundtrip" in options:
        again = Model.load(folder).predict(X[validation])
        if not np.allclose(predictions, again):
            sys.exit("the round trip failed")
    if "pipelined" in options:
        y_validation = np.frombuffer(os.read(0, 8 * len(validation)))
    else:
        y_validation = y[validation]
    scores.append(float(measure(y_validation, predictions)))

import json  # noqa: E402 - late, as programs do

result = {"status": "ok", "r2": float(np.mean(scores))}
with Path("out.json").open("w") as stream:
    json.dump(result, stream)
print(json.dumps(result))  # noqa: T201

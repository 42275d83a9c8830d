from __future__ import annotations

import numpy as np


class Model:
    """Predicts the mean of the training rows."""

    def fit(self, X, y):
        self.mean = float(y.mean())

    def predict(self, X):
        return np.full(len(X), self.mean)

    def save(self, folder):
        (folder / "mean.txt").write_text(repr(self.mean))

    @classmethod
    def load(cls, folder):
        model = cls()
        model.mean = float((folder / "mean.txt").read_text())
        return model

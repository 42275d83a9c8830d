from __future__ import annotations

import numpy as np


class Model:
    """A straight line in logarithms, fitted by least squares."""

    def fit(self, X, y):
        self.slope, self.intercept = np.polyfit(np.log(X[:, 0]), np.log(y), 1)

    def predict(self, X):
        return np.exp(self.intercept + self.slope * np.log(X[:, 0]))

    def save(self, folder):
        np.save(folder / "line.npy", [self.slope, self.intercept])

    @classmethod
    def load(cls, folder):
        model = cls()
        model.slope, model.intercept = np.load(folder / "line.npy")
        return model

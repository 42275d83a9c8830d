from __future__ import annotations

import numpy as np


class Model:
    """Always answers the label that is most frequent among the training rows."""

    def fit(self, X, y):
        labels, counts = np.unique(y, return_counts=True)
        self.label = str(labels[np.argmax(counts)])

    def predict(self, X):
        return np.full(len(X), self.label)

    def save(self, folder):
        (folder / "label.txt").write_text(self.label)

    @classmethod
    def load(cls, folder):
        model = cls()
        model.label = (folder / "label.txt").read_text()
        return model

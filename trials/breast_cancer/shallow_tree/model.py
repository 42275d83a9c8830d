from __future__ import annotations

import joblib
from sklearn.tree import DecisionTreeClassifier


class Model:
    """A decision tree of three levels."""

    def fit(self, X, y):
        self.estimator = DecisionTreeClassifier(max_depth=3, random_state=0)
        self.estimator.fit(X, y)

    def predict(self, X):
        return self.estimator.predict(X)

    def predict_proba(self, X):
        return self.estimator.predict_proba(X)

    def save(self, folder):
        joblib.dump(self.estimator, folder / "model.joblib")

    @classmethod
    def load(cls, folder):
        model = cls()
        model.estimator = joblib.load(folder / "model.joblib")
        return model

from __future__ import annotations

import joblib
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


class Model:
    """Logistic regression on standardized columns."""

    def fit(self, X, y):
        self.estimator = make_pipeline(StandardScaler(), LogisticRegression())
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

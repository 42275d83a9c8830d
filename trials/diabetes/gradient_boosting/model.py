from __future__ import annotations

import joblib
from sklearn.ensemble import HistGradientBoostingRegressor


class Model:
    """Gradient boosting with shallow trees and a small step."""

    def fit(self, X, y):
        self.estimator = HistGradientBoostingRegressor(
            max_depth=3, learning_rate=0.05, max_iter=150, random_state=0
        )
        self.estimator.fit(X, y)

    def predict(self, X):
        return self.estimator.predict(X)

    def save(self, folder):
        joblib.dump(self.estimator, folder / "model.joblib")

    @classmethod
    def load(cls, folder):
        model = cls()
        model.estimator = joblib.load(folder / "model.joblib")
        return model

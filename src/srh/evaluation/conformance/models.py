"""The models that checks of the whole chain evaluate: an honest one, with a change each."""

from __future__ import annotations

import textwrap
from typing import Final

_FRAME: Final = """\
import os
import numpy as np
{before}

class Model:
    def fit(self, X, y):
        self.mean = float(y.mean())
{fit}
    def predict(self, X):
{predict}
        return {returned}

    def save(self, folder):
        np.save(folder / "mean.npy", self.mean)
{save}
    @classmethod
    def load(cls, folder):
        model = cls()
        model.mean = float(np.load(folder / "mean.npy"))
{load}
        return model
"""

MEAN: Final = "np.full(len(X), self.mean)"
"""What the honest model returns: the mean of the training rows."""

FORGED: Final = '{"status": "ok", "outcome": "ok", "r2": 1.0, "metrics": {"r2": 1.0}}'
"""A result that nobody earned."""


def model(
    *,
    before: str = "",
    fit: str = "",
    predict: str = "",
    returned: str = MEAN,
    save: str = "",
    load: str = "",
) -> str:
    """Return the source of a model that predicts the mean, and does something besides.

    Args:
        before: What is done when it is imported.
        fit: What its ``fit`` does besides.
        predict: What its ``predict`` does before it returns.
        returned: What its ``predict`` returns.
        save: What its ``save`` does besides.
        load: What its ``load`` does besides.
    """
    inner = {
        name: textwrap.indent(textwrap.dedent(text).strip("\n"), " " * 8)
        for name, text in (("fit", fit), ("predict", predict), ("save", save), ("load", load))
    }
    outer = textwrap.dedent(before).strip("\n")
    return _FRAME.format(before=outer, returned=returned, **inner)


_FITTED: Final = """\
import joblib
{imports}

class Model:
    def fit(self, X, y):
        self.model = {estimator}.fit(X, y)

    def predict(self, X):
        return self.model.predict(X)

    def save(self, folder):
        joblib.dump(self.model, folder / "model.joblib")

    @classmethod
    def load(cls, folder):
        found = cls()
        found.model = joblib.load(folder / "model.joblib")
        return found
"""


def estimator_model(imports: str, estimator: str) -> str:
    """Return the source of a model around a scikit-learn estimator."""
    return _FITTED.format(imports=imports, estimator=estimator)

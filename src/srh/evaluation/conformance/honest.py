"""Models that do nothing wrong run: the usual libraries, files of their own, allowed threads."""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from functools import partial
from typing import Final

from srh.evaluation.conformance.models import estimator_model, model
from srh.evaluation.conformance.outcomes import faults
from srh.evaluation.conformance.stage import ROOMY, check, evaluate_source, found
from srh.sandbox.probe import CheckResult

_GROUP: Final = "honest models"

_NUMERIC: Final = model(
    before="from scipy import linalg, optimize, special",
    fit="""
        import tempfile
        with tempfile.TemporaryFile() as file:
            np.save(file, X)
            file.seek(0)
            assert np.array_equal(np.load(file), X)
        np.linalg.svd(X)
        np.fft.fft(y)
        linalg.cho_factor(X.T @ X)
        special.gamma(3.5)
        slope = optimize.least_squares(lambda w: np.tanh(X @ w) - y, np.zeros(3)).x
        assert slope.shape == (3,)
        np.random.default_rng(0).normal(size=10)
    """,
)
_LINEAR: Final = estimator_model(
    """
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
""",
    "make_pipeline(StandardScaler(), RidgeCV())",
)
_BOOSTING: Final = estimator_model(
    "from sklearn.ensemble import HistGradientBoostingRegressor",
    "HistGradientBoostingRegressor(max_iter=10)",
)
_FRAMES: Final = model(
    fit="assert type(X).__name__ == 'DataFrame' and list(X.columns) == ['x0', 'x1', 'x2'], X",
)


def _runs(source: str, *, threads: int = 1, frames: bool = False) -> CheckResult:
    if frames and importlib.util.find_spec("pandas") is None:
        return CheckResult("absent", "pandas is not installed")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else threads
    limits = dataclasses.replace(ROOMY, threads=threads)
    result = evaluate_source(source, limits=limits, frames=frames)
    wrong = faults(result, "ok")
    seconds = 0.0 if result.usage is None else result.usage.wall_s
    on = f"{threads} threads on {cores} cores" if threads > 1 else "one thread"
    return found(_GROUP, wrong, f"ok with {on}, {seconds:.1f} s")


CHECKS: Final = (
    check("NumPy, SciPy and temporary files work", _GROUP, partial(_runs, _NUMERIC)),
    check("A scikit-learn pipeline works", _GROUP, partial(_runs, _LINEAR)),
    check("Gradient boosting works with two threads", _GROUP, partial(_runs, _BOOSTING, threads=2)),
    check("A model that gets pandas frames works", _GROUP, partial(_runs, _FRAMES, frames=True)),
)
"""What has to be possible."""

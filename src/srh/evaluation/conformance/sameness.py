"""Numbers can be reproduced, to the last bit: again, and by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from typing import Any, Final

import msgspec

from srh.environment import FLAGS
from srh.evaluation.conformance.models import estimator_model, model
from srh.evaluation.conformance.outcomes import faults
from srh.evaluation.conformance.stage import (
    METRICS,
    PATIENCE_S,
    ROOMY,
    TOLERANCE,
    Stage,
    check,
    found,
    make_folds,
    stage,
)
from srh.evaluation.protocol import Request
from srh.sandbox.probe import Check, CheckResult

_GROUP: Final = "same numbers"
_FOLDS: Final = 2
_COMPARED: Final = ("outcome", "metrics", "per_fold", "scores", "folds", "fitted", "roundtrip_ok")

_LEAST_SQUARES: Final = model(
    fit="self.mean = np.linalg.lstsq(np.c_[X, np.ones(len(X))], y, rcond=None)[0]",
    returned="np.c_[X, np.ones(len(X))] @ self.mean",
    load="model.mean = np.load(folder / 'mean.npy')",
).replace('float(np.load(folder / "mean.npy"))', "None")
_BOOSTING: Final = estimator_model(
    "from sklearn.ensemble import HistGradientBoostingRegressor",
    "HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=5, random_state=0)",
)
_FORMULA: Final = "param('a')*sin(param('b')*x0) + param('c')*x1"


def _reproduce(source: str, file: str, folds: int) -> CheckResult:
    """Evaluate a trial twice through `evaluate_trial`, and with the child's own command."""
    with stage() as place:
        trial = place.lay_out(source, file=file)
        first, again = (place.evaluate(trial, folds=folds) for _ in range(2))
        by_hand = _run_child(place, folds)
    wrong = faults(first, "ok")
    wrong += differences(msgspec.to_builtins(first), msgspec.to_builtins(again), "again")
    wrong += differences(msgspec.to_builtins(first), by_hand, "by hand")
    return found(_GROUP, wrong, f"three times the rmse {first.metrics['rmse']!r}")


def _boosting_by_hand() -> CheckResult:
    with stage() as place:
        first = place.evaluate(place.lay_out(_BOOSTING))
        by_hand = _run_child(place, 1)
    wrong = faults(first, "ok") + differences(msgspec.to_builtins(first), by_hand, "by hand")
    return found(_GROUP, wrong, f"twice the rmse {first.metrics['rmse']!r}")


def _run_child(place: Stage, folds: int) -> dict[str, Any]:
    request = Request(
        trial_dir="trial",
        dataset_path="data/noise.npz",
        metrics=list(METRICS),
        partitions=make_folds(folds),
        tolerance=TOLERANCE,
        limits=ROOMY,
    )
    (place.folder / "in.json").write_bytes(request.encode())
    ended = subprocess.run(  # noqa: S603 - the command is ours
        [sys.executable, *FLAGS, "-m", "srh.evaluation", "in.json", "out.json"],
        cwd=place.folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    if ended.returncode != 0:
        raise OSError(ended.stderr.decode("utf-8", "replace")[-300:])
    result: dict[str, Any] = json.loads((place.folder / "out.json").read_bytes())
    return result


def differences(one: dict[str, Any], other: dict[str, Any], how: str) -> list[str]:
    """Return in which numbers two results differ, in words.

    Args:
        one: A result, as plain values.
        other: Another.
        how: How the other came about.
    """
    return [
        f"{name} is {_short(one[name])}, and {how} {_short(other[name])}"
        for name in _COMPARED
        # As text with all digits, since 0.0 and -0.0 are equal but not the same bits.
        if json.dumps(one[name], sort_keys=True) != json.dumps(other[name], sort_keys=True)
    ]


def _short(value: object) -> str:
    return json.dumps(value)[:120]


def _check(what: str, source: str, file: str = "model.py") -> Check:
    name = f"{what} gets the same numbers again, and by hand"
    return check(name, _GROUP, partial(_reproduce, source, file, _FOLDS))


CHECKS: Final = (
    _check("A formula", _FORMULA, "formula.txt"),
    _check("A model", _LEAST_SQUARES),
    check("Gradient boosting gets the same numbers by hand", _GROUP, _boosting_by_hand),
)
"""Each compares every number of two or three evaluations, bit for bit."""

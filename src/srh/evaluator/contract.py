"""What an evaluator may return, checked: the rest of the program relies on it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from srh.errors import MetricError
from srh.evaluator.missing import Missing
from srh.metrics import Score
from srh.text import one_line


def check_metrics(result: Any) -> dict[str, float | int]:
    """Return an evaluator's metrics as plain Python numbers.

    NumPy's scalar numbers are accepted and converted. NaN stands for a metric that is undefined
    for the data; everything that is not a number is refused.

    Raises:
        MetricError: ``result`` is no mapping from names to numbers. One line per mistake.
    """
    if not isinstance(result, Mapping):
        raise MetricError(f"an evaluator returns a dict of metrics, got {_kind(result)}")
    problems = []
    metrics: dict[str, float | int] = {}
    for name, value in result.items():
        if not isinstance(name, str) or not name.strip():
            problems.append(f"a metric's name is a text that is not empty, got {name!r}")
        elif isinstance(value, bool | np.bool_) or not isinstance(
            value, int | float | np.integer | np.floating
        ):
            problems.append(f"metric {one_line(name)!r}: a number is needed, got {_kind(value)}")
        elif isinstance(value, Missing):
            metrics[str(name)] = value
        else:
            whole = isinstance(value, int | np.integer)
            metrics[str(name)] = int(value) if whole else float(value)
    if problems:
        raise MetricError("\n".join(problems))
    return metrics


def scores_from_metrics(metrics: Mapping[str, float | int]) -> dict[str, Score]:
    """Return an evaluator's metrics as scores.

    `Missing` is ``non_evaluable`` for its reason, any other NaN for none that is known
    (``undefined``). An infinity, or an integer beyond float64, is an ``error`` (``not_finite``).
    """
    return {name: _score(name, value) for name, value in metrics.items()}


def _score(name: str, value: float | int) -> Score:
    if isinstance(value, Missing):
        return Score.non_evaluable(name, value.code, value.message)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        return Score.non_evaluable(name, "undefined", "the evaluator found no value for this data")
    if math.isinf(number):
        return Score.error(name, "not_finite", "the evaluator returned a number that is not finite")
    return Score.scored(name, number)


def _kind(value: Any) -> str:
    return f"{type(value).__name__} {one_line(repr(value), 60)}"

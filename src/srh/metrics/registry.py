"""The table of known metrics, and what a list of metrics may not contain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from srh.errors import MetricError
from srh.metrics import regression
from srh.metrics.regression import RegressionData
from srh.metrics.spec import Direction, MetricSpec
from srh.text import did_you_mean, one_line


@dataclass(frozen=True)
class MetricInfo:
    """What is known of a metric before anything is measured.

    Attributes:
        name: Its name in task files and results.
        direction: Whether less or more of it is better.
        lower: Least possible value; minus infinity, never reached, if there is no bound.
        upper: Greatest possible value; plus infinity, never reached, if there is no bound.
        subject: Whether it measures predictions, or the formula that made them.
        function: Measures `RegressionData`; its docstring has formula, source and the cases in
            which it has no value.
    """

    name: str
    direction: Direction
    lower: float
    upper: float
    subject: Literal["predictions", "formula"]
    function: Callable[[RegressionData], float]

    @property
    def summary(self) -> str:
        """The first line of the function's docstring."""
        return (self.function.__doc__ or "").partition("\n")[0]


_ROWS = (
    MetricInfo("mse", "minimize", 0.0, math.inf, "predictions", regression.mse),
    MetricInfo("rmse", "minimize", 0.0, math.inf, "predictions", regression.rmse),
    MetricInfo("mae", "minimize", 0.0, math.inf, "predictions", regression.mae),
    MetricInfo("mape", "minimize", 0.0, math.inf, "predictions", regression.mape),
    MetricInfo("r2", "maximize", -math.inf, 1.0, "predictions", regression.r2),
    MetricInfo("aic", "minimize", -math.inf, math.inf, "predictions", regression.aic),
    MetricInfo("bic", "minimize", -math.inf, math.inf, "predictions", regression.bic),
    MetricInfo("pearson_r", "maximize", -1.0, 1.0, "predictions", regression.pearson_r),
    MetricInfo("spearman_r", "maximize", -1.0, 1.0, "predictions", regression.spearman_r),
    MetricInfo("complexity", "minimize", 0.0, math.inf, "formula", regression.complexity),
)

METRICS: Mapping[str, MetricInfo] = MappingProxyType({row.name: row for row in _ROWS})
DEFAULT_METRICS: tuple[str, ...] = tuple(METRICS)


def require_known(names: Sequence[str]) -> None:
    """Refuse a list of metric names unless each is known and stands in it once.

    Raises:
        MetricError: With one line for every name that is unknown or repeated.
    """
    _refuse(_name_problems(names))


def check_specs(specs: Sequence[MetricSpec]) -> None:
    """Refuse metric declarations that are unknown, repeated, or contradict the metric.

    Raises:
        MetricError: With one line for every mistake.
    """
    problems = _name_problems([spec.name for spec in specs])
    for spec in specs:
        info = METRICS.get(spec.name)
        if info and spec.direction not in (None, info.direction):
            problems.append(
                f"metric {spec.name!r}: its direction is {info.direction!r}, "
                f"not {spec.direction!r}; leave direction out"
            )
    _refuse(problems)


def direction_of(spec: MetricSpec) -> Direction:
    """Return whether less or more of a declared metric is better.

    Raises:
        MetricError: The metric is unknown and its declaration does not say.
    """
    if spec.direction is not None:
        return spec.direction
    if spec.name not in METRICS:
        raise MetricError(f"metric {spec.name!r}: unknown here, so it needs a direction")
    return METRICS[spec.name].direction


def _name_problems(names: Iterable[str]) -> list[str]:
    problems = []
    seen: set[str] = set()
    for name in names:
        if name in seen:
            problems.append(f"metric {one_line(name)!r} is listed twice; keep one")
        elif name not in METRICS:
            known = ", ".join(METRICS)
            hint = did_you_mean(name, METRICS) or f"; known metrics: {known}"
            problems.append(f"unknown metric {one_line(name)!r}{hint}")
        seen.add(name)
    return list(dict.fromkeys(problems))


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise MetricError("\n".join(problems))

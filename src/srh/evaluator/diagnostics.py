"""Where a fitted formula is wrong: its residuals on training rows.

Validation rows are left out on purpose: whoever proposes formulas reads this and would otherwise
fit them by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from srh.context import AgentContext
from srh.engine import Expression
from srh.evaluator.default_evaluator import left_shape, left_side, right_side
from srh.evaluator.shapes import spread

_BANDS = 5
_WORST = 5
_MOST_ROWS = 200_000
_MOST_COLUMNS = 64

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Band:
    """Rows with a left side between two values.

    Attributes:
        low: Smallest left side.
        high: Largest left side.
        rows: Number of rows.
        bias: Mean residual.
        rmse: Root mean square of the residuals.
    """

    low: float
    high: float
    rows: int
    bias: float
    rmse: float


@dataclass(frozen=True)
class Sample:
    """One value that the formula misses.

    Attributes:
        row: Row of the root context.
        position: Which of the row's values it is, where a row has several; else 0.
        observed: Left side.
        predicted: The formula's value; NaN or infinite where it has none.
    """

    row: int
    position: int
    observed: float
    predicted: float


@dataclass(frozen=True)
class Diagnostics:
    """Residuals (left side minus formula) of training rows.

    Attributes:
        values: How many values were looked at: all, or evenly spaced ones of a very long table.
        undefined: How many of them the formula has no finite value for. If there are any, the rest
            is left empty, as it would tell of the others only; `worst` lists the first of them.
        bias: Mean residual.
        quantiles: Absolute residual by quantile: 0.5, 0.9, 1.
        bands: The rows in up to five bands of equal size by their left side.
        worst: The largest residuals, largest first.
        correlations: Pearson's correlation of the residual with each column of one number per
            value; columns and residuals that do not vary have none.
    """

    values: int
    undefined: int = 0
    bias: float | None = None
    quantiles: Mapping[float, float] = field(default_factory=dict)
    bands: tuple[Band, ...] = ()
    worst: tuple[Sample, ...] = ()
    correlations: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class _Side:
    """What is the same for every formula: worked out once per training view.

    Attributes:
        chosen: Values that are looked at.
        width: How many values a row has.
        observed: Their left sides.
        order: Sorted by left side.
        edges: First of each band in that order, and the end.
        names: Columns that vary.
        columns: Each of them minus its mean, of length one; shape (columns, values).
    """

    chosen: slice
    width: int
    observed: Vector
    order: NDArray[np.intp]
    edges: NDArray[np.intp]
    names: tuple[str, ...]
    columns: NDArray[np.float64]


def diagnose(f: Expression, y: Expression, context: AgentContext) -> Diagnostics:
    """Look at the residuals of a fitted formula.

    Args:
        f: Formula whose parameters are bound.
        y: Left side.
        context: Training context.

    Raises:
        FormulaError: A side cannot be evaluated.
    """
    side = context.once(("diagnostics", y), lambda whole: _prepare(y, whole))
    predicted = spread(right_side(f, context), left_shape(y, context)).ravel()[side.chosen]
    undefined = np.flatnonzero(~np.isfinite(predicted))
    if undefined.size:
        worst = [_sample(context, side, predicted, i) for i in undefined[:_WORST]]
        return Diagnostics(len(predicted), int(undefined.size), worst=tuple(worst))
    with np.errstate(all="ignore"):  # residuals may be beyond float64: the numbers then are not
        residuals = side.observed - predicted
        sizes = np.abs(residuals)
        count = min(_WORST, len(sizes))
        middle, high = (len(sizes) - 1) // 2, int(0.9 * (len(sizes) - 1))
        last = len(sizes) - count
        order = np.argpartition(sizes, sorted({middle, high, last}))
        largest = order[last:]
        largest = largest[np.argsort(-sizes[largest], kind="stable")]
        return Diagnostics(
            values=len(sizes),
            bias=float(residuals.mean()),
            quantiles={
                0.5: float(sizes[order[middle]]),
                0.9: float(sizes[order[high]]),
                1.0: float(sizes[largest[0]]),
            },
            bands=_bands(side, residuals),
            worst=tuple(_sample(context, side, predicted, i) for i in largest),
            correlations=_correlations(side, residuals),
        )


def _prepare(y: Expression, context: AgentContext) -> _Side:
    everything, shape = left_side(y, context).values, left_shape(y, context)
    chosen = slice(0, None, -(-everything.size // _MOST_ROWS))
    observed = everything[chosen]
    order = np.argsort(observed, kind="stable")
    ordered = observed[order]
    wanted = np.linspace(0, observed.size, min(_BANDS, observed.size) + 1).astype(np.intp)
    inner = wanted[1:-1]
    # Equal left sides share a band: a border moves to the nearer end of theirs.
    before = np.searchsorted(ordered, ordered[inner], "left")
    after = np.searchsorted(ordered, ordered[inner], "right")
    borders = np.where(inner - before <= after - inner, before, after)
    edges = np.unique([0, *borders, observed.size])
    names, columns = [], []
    for name in _comparable(context, shape):
        column = np.asarray(context.data[name], np.float64).ravel()[chosen]
        deviations = column - column.mean()
        length = float(np.sqrt(np.dot(deviations, deviations)))
        if np.isfinite(length) and length > 1e-12 * float(np.abs(column).max()):
            names.append(name)
            columns.append(deviations / length)
    stacked = np.array(columns) if columns else np.empty((0, observed.size))
    width = int(np.prod(shape[1:], dtype=np.intp))
    return _Side(chosen, width, observed, order, edges, tuple(names), stacked)


def _comparable(context: AgentContext, shape: tuple[int, ...]) -> list[str]:
    """Return columns of one number for each value of the left side, but not the target."""
    return [
        name
        for name in context.data
        if name != context.target
        and name not in context.relation_names
        and context.data.shape(name) == shape
        and context.data[name].dtype.kind in "iuf"
    ][:_MOST_COLUMNS]


def _bands(side: _Side, residuals: Vector) -> tuple[Band, ...]:
    ordered, starts = residuals[side.order], side.edges[:-1]
    counts = np.diff(side.edges)
    biases = np.add.reduceat(ordered, starts) / counts
    squares = np.add.reduceat(np.square(ordered), starts) / counts
    return tuple(
        Band(
            low=float(side.observed[side.order[start]]),
            high=float(side.observed[side.order[start + count - 1]]),
            rows=int(count),
            bias=float(bias),
            rmse=float(np.sqrt(square)),
        )
        for start, count, bias, square in zip(starts, counts, biases, squares, strict=True)
    )


def _correlations(side: _Side, residuals: Vector) -> dict[str, float]:
    deviations = residuals - residuals.mean()
    length = float(np.sqrt(np.dot(deviations, deviations)))
    noise = 1e-14 * float(np.abs(side.observed).max()) * np.sqrt(len(residuals))
    if not side.names or not np.isfinite(length) or length <= noise:
        return {}  # residuals of rounding errors correlate with nothing
    values = side.columns @ (deviations / length)
    return {name: float(value) for name, value in zip(side.names, values, strict=True)}


def _sample(context: AgentContext, side: _Side, predicted: Vector, index: int) -> Sample:
    row, position = divmod(int(index) * side.chosen.step, side.width)
    return Sample(
        row=int(context.rows[row]),
        position=position,
        observed=float(side.observed[index]),
        predicted=float(predicted[index]),
    )

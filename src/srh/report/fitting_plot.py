"""The picture of a fit: data with the curve, and what is left of them (the extra ``plot``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.engine import GroupedParameter, Parameter, Symbol
from srh.errors import UsageError
from srh.report.cells import number
from srh.report.fitting import FittedTable
from srh.text import one_line

_SUFFIXES = (".png", ".svg", ".pdf")
_CURVE_POINTS = 600
_DATA, _FIT, _GREY = "#4477aa", "#cc3311", "#888888"


def check_plot(path: Path) -> None:
    """Refuse early what could not be drawn in the end.

    Raises:
        UsageError: Matplotlib is not installed, the suffix is unknown, or there is no such folder.
    """
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--plot {path}: the name must end in one of {', '.join(_SUFFIXES)}")
    if not path.parent.is_dir():
        raise UsageError(f"--plot {path}: there is no folder {path.parent}")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise UsageError("--plot needs Matplotlib: pip install 'srh[plot]'") from error


def draw_fit(fitted: FittedTable, path: Path) -> None:
    """Draw data, fit and residuals.

    Over the formula's column if it has a single one; otherwise over the predictions.

    Args:
        fitted: A fit that succeeded.
        path: Where to write; the suffix says in which format.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 5.6), layout="constrained")
    top, below = figure.subplots(2, 1, sharex=True, height_ratios=(2.6, 1))
    target = fitted.dataset.columns[fitted.dataset.target]
    predictions = fitted.predictions
    size = float(np.clip(900 / len(target), 3, 26))
    dots: dict[str, Any] = {"s": size, "color": _DATA, "alpha": 0.65, "linewidths": 0}
    column = _only_column(fitted)
    if column is None:
        along, label = predictions, f"{fitted.dataset.target}, predicted"
        ends = [float(min(along.min(), target.min())), float(max(along.max(), target.max()))]
        top.plot(ends, ends, color=_FIT, linewidth=1.6, label="predicted = observed", zorder=3)
        top.set_ylabel(_plain(f"{fitted.dataset.target}, observed"))
    else:
        along, label = fitted.dataset.columns[column], column
        grid = np.linspace(along.min(), along.max(), _CURVE_POINTS)
        curve = fitted.result.evaluate({column: grid})
        top.plot(grid, curve, color=_FIT, linewidth=1.8, label="fit", zorder=3)
        top.set_ylabel(_plain(fitted.dataset.target))
    top.scatter(along, target, label="data", **dots)
    top.legend(frameon=False)
    top.set_title(_title(fitted), fontsize=10, loc="left")
    below.axhline(0, color=_GREY, linewidth=1)
    below.scatter(along, target - predictions, **dots)
    _centre(below, target - predictions)
    below.set_ylabel("residual")
    below.set_xlabel(_plain(label))
    for axes in (top, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
    figure.align_ylabels()
    figure.savefig(path, dpi=160)


def _only_column(fitted: FittedTable) -> str | None:
    names = fitted.formula.variables
    alone = len(names) == 1 and fitted.dataset.columns[names[0]].dtype != object
    grouped = any(isinstance(value, dict) for value in fitted.result.parameters.values())
    return names[0] if alone and not grouped else None


def _title(fitted: FittedTable) -> str:
    plain = fitted.formula.rebuild(
        lambda node: Symbol(node.name) if isinstance(node, Parameter | GroupedParameter) else node
    )
    formula = one_line(f"{fitted.dataset.target} = {plain.to_str('.4g')}", 90)
    values = [
        f"{name} = {number(value)}"
        for name, value in fitted.result.parameters.items()
        if not isinstance(value, dict)
    ]
    score = fitted.scores.get("r2")
    if score is not None and score.value is not None:
        values.append(f"R² = {number(score.value)}")
    return _plain(f"{formula}\n{one_line(',  '.join(values), 110)}")


def _plain(text: str) -> str:
    """Keep a name with a dollar sign from being read as mathematics."""
    return text.replace("$", r"\$")


def _centre(axes: Any, residuals: NDArray[np.float64]) -> None:
    reach = float(np.abs(residuals).max()) * 1.15
    if reach > 0:
        axes.set_ylim(-reach, reach)

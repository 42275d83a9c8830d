"""One formula fitted to one table: what `srh fit` does before anything is printed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.context import AgentContext, Dataset, DataSpec
from srh.context.data import column_name, no_such_column
from srh.context.loaders import apply_policies, read_table
from srh.engine import Expression, FitResult, Symbol, parse
from srh.errors import SrhError, UsageError
from srh.evaluator.default_evaluator import score_equation
from srh.metrics import Score
from srh.text import did_you_mean


@dataclass(frozen=True, slots=True)
class FitOptions:
    """What a person may choose.

    Attributes:
        seed: Of the fit's starts.
        budget: Most evaluations of the formula; None for the engine's default.
        weights: Column with the weight of each row's squared residual.
        bounds: ``NAME=LOW:HIGH`` each; either side may be empty.
        drop_missing: Leave out rows that miss a value that is needed, instead of refusing them.
    """

    seed: int = 0
    budget: int | None = None
    weights: str | None = None
    bounds: Sequence[str] = ()
    drop_missing: bool = False


@dataclass(frozen=True, slots=True)
class FittedTable:
    """What came of it.

    Attributes:
        dataset: The rows that were fitted.
        formula: The formula as it was read.
        result: The fit.
        scores: The default metrics on the fitted rows, each row counted alike; empty if the fit
            failed.
        latex: For reading: constants with six digits.
        sympy: SymPy source, or None.
        no_sympy: Why there is none.
    """

    dataset: Dataset
    formula: Expression
    result: FitResult
    scores: dict[str, Score]
    latex: str
    sympy: str | None
    no_sympy: str

    @property
    def predictions(self) -> NDArray[np.float64]:
        """The fitted formula's value in each row."""
        return self.result.evaluate(self.dataset.columns)


def fit_table(
    path: Path, formula: str, target: str | None, options: FitOptions | None = None
) -> FittedTable:
    """Read a table, fit a formula, measure it.

    Args:
        path: CSV, ``.npz`` or ``.joblib`` file.
        formula: Its text.
        target: Column to be explained; the format may fix it.
        options: See there.

    Raises:
        DataError: The file cannot be read, or lacks a column, or a cell that is needed.
        FormulaError: The formula cannot be read or used on these data.
        UsageError: An option is written wrongly, or the formula uses the target.
    """
    options = options or FitOptions()
    dataset, parsed = _read(path, formula, target, options)
    columns = dataset.columns
    chosen: dict[str, Any] = {"seed": options.seed, "bounds": read_bounds(options.bounds) or None}
    if options.budget is not None:
        chosen["budget"] = options.budget
    if options.weights is not None:
        chosen["weights"] = columns[column_name(options.weights)]
    result = parsed.fit(columns[dataset.target], columns, **chosen)
    scores = {}
    if result.success:
        context = AgentContext.from_dataset(dataset)
        scores = score_equation(result.expression, Symbol(dataset.target), context)
    source, why = _sympy_source(result.expression)
    return FittedTable(dataset, parsed, result, scores, _latex(result.expression), source, why)


def read_bounds(texts: Sequence[str]) -> dict[str, tuple[float | None, float | None]]:
    """Read ``a=0:10``, ``b=0:`` and ``c=:1``.

    Raises:
        UsageError: One is written otherwise, or names a parameter twice.
    """
    bounds: dict[str, tuple[float | None, float | None]] = {}
    for text in texts:
        name, equals, limits = text.rpartition("=")
        low, colon, high = limits.partition(":")
        name = name.strip()
        if not (name and equals and colon):
            raise UsageError(f"--bounds {text}: write NAME=LOW:HIGH, such as a=0:10, a=0: or a=:10")
        if name in bounds:
            raise UsageError(f"--bounds {text}: {name!r} has bounds already")
        bounds[name] = _limit(low, text), _limit(high, text)
    return bounds


def _limit(side: str, text: str) -> float | None:
    try:
        return float(side) if side.strip() else None
    except ValueError:
        raise UsageError(f"--bounds {text}: {side!r} is not a number") from None


def _read(
    path: Path, formula: str, target: str | None, options: FitOptions
) -> tuple[Dataset, Expression]:
    """Return the rows and the formula; only columns that are used have to be in order."""
    table = read_table(path, target)
    known = list(table.columns)
    wanted = table.target or (None if target is None else column_name(target))
    if wanted is None:
        raise UsageError(f"--target COLUMN is needed: one of {', '.join(known[:12])}")
    if wanted not in known:
        raise UsageError(f"--target {target}: {no_such_column(wanted, known, table.where)}")
    parsed = parse(formula, variables=known, target=wanted)
    if wanted in parsed.variables:
        raise UsageError(f"the formula uses the target {wanted!r}, which it is to explain")
    used = list(parsed.variables)
    if options.weights is not None:
        weights = column_name(options.weights)
        if weights not in known:
            hint = did_you_mean(weights, known)
            raise UsageError(f"--weights {options.weights}: the data have no such column{hint}")
        if weights == wanted:
            raise UsageError(f"--weights {options.weights}: that is the target")
        used += [weights] if weights not in used else []
    if not used:  # a constant: any column that is in order stands beside the target
        used = [n for n in known if n != wanted and not _has_gaps(table.columns[n])][:1]
    spec = DataSpec(
        target=target,
        features=used or None,
        missing="drop" if options.drop_missing else "error",
        categorical="labels" if used else "drop",
    )
    return apply_policies(table, spec), parsed


def _has_gaps(column: NDArray[Any]) -> bool:
    return column.dtype == object or bool(np.isnan(column).any())


def _latex(expression: Expression) -> str:
    """Return LaTeX with six digits of each fitted constant."""
    rounded: dict[str, Any] = {}
    for name, value in expression.parameter_values().items():
        if isinstance(value, dict):
            rounded[name] = {label: float(f"{item:.6g}") for label, item in value.items()}
        elif value is not None:
            rounded[name] = float(f"{value:.6g}")
    return expression.bind_parameters(rounded).to_latex()


def _sympy_source(expression: Expression) -> tuple[str | None, str]:
    from srh.engine import to_sympy_source

    try:
        return to_sympy_source(expression), ""
    except SrhError as error:
        return None, str(error)

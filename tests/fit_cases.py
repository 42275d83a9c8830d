"""What fitting is tested and timed on: forms of science with drawn data, and NIST's problems."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import numpy as np

from srh.engine.expression import Expression
from srh.engine.fit import FitResult, fit
from srh.engine.parameters import Parameter
from srh.engine.parser import parse

_FOLDER = Path(__file__).parent / "engine"
FORMS: dict[str, dict[str, Any]] = tomllib.loads((_FOLDER / "forms.toml").read_text())
NIST: dict[str, dict[str, Any]] = tomllib.loads((_FOLDER / "nist.toml").read_text())
EXACT = 1e-10
"""Unexplained share of the target's variance below which a noise-free form counts as found."""


class Case:
    """One form with drawn data."""

    def __init__(self, name: str, seed: int, rows: int, scale: float = 1.0) -> None:
        form = FORMS[name]
        self.truth: dict[str, float] = form["truth"]
        ranges = {key: value for key, value in form.items() if key not in ("formula", "truth")}
        self.rng = np.random.default_rng([seed, rows])
        columns = {key: self._draw(value, rows) for key, value in ranges.items()}
        self.formula = with_parameters(form["formula"], self.truth, columns)
        self.target = self.formula.bind_parameters(self.truth).evaluate(columns)
        self.columns = {key: scale * column for key, column in columns.items()}

    def _draw(self, span: list[Any], rows: int) -> np.ndarray:
        low, high = span[:2]
        if span[2:] == ["log"]:
            return np.exp(self.rng.uniform(math.log(low), math.log(high), rows))
        return self.rng.uniform(low, high, rows)

    def found_by(self, result: FitResult) -> bool:
        """Say whether a fit of these noise-free data is as good as the truth."""
        variation = float(np.sum((self.target - self.target.mean()) ** 2))
        return result.success and result.loss < EXACT * variation


class Problem:
    """One of NIST's problems."""

    def __init__(self, name: str) -> None:
        self.name, problem = name, NIST[name]
        self.values: dict[str, float] = problem["values"]
        self.deviations: dict[str, float] = problem["deviations"]
        self.rss: float = problem["rss"]
        self.columns = {
            key: np.array(problem[key], np.float64) for key in ("x", "x1", "x2") if key in problem
        }
        target = np.array(problem["y"], np.float64)
        self.target = np.log(target) if name == "Nelson" else target
        self.formula = with_parameters(problem["formula"], self.values, self.columns)

    def fit(self, seed: int = 0) -> FitResult:
        """Fit without NIST's starts."""
        return fit(self.formula, self.target, self.columns, seed=seed)

    def solved_by(self, result: FitResult) -> bool:
        """Say whether a fit has the certified residual sum of squares to 1e-8.

        The sum of Lanczos1 is rounding noise: there the parameters decide, to six digits, in
        either order of the terms.
        """
        if self.name != "Lanczos1":
            return result.success and abs(result.loss / self.rss - 1.0) <= 1e-8
        found, wanted = (sorted(values.values()) for values in (result.parameters, self.values))
        return result.success and np.allclose(found, wanted, rtol=1e-6, atol=0.0)


def with_parameters(text: str, names: Any, columns: Any) -> Expression:
    """Parse a formula in which parameters are written bare."""
    tree = parse(text, variables=[*names, *columns])
    return tree.replace({name: Parameter(name) for name in names})

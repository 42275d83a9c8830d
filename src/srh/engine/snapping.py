"""Fitted constants made readable: 1.4999987 may be 3/2, and 6.28314 may be 2 pi.

Each constant is tried as the simplest number near it; all others are fitted again, and the number
stays if the loss has not risen, over all replacements together, by more than the tolerance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from srh.engine.expression import Expression, Number
from srh.engine.fit import fit
from srh.engine.leaves import agreed
from srh.engine.parameters import Parameter
from srh.engine.parser import parse
from srh.engine.result import FitResult
from srh.errors import ExpressionError, FitError

_DENOMINATORS = (3, 4, 5, 6, 8, 10, 12)
_FEW_DENOMINATORS = (2, 3, 4, 6)
_SCALES = (
    ("pi", math.pi),
    ("e", math.e),
    *((f"sqrt({n})", math.sqrt(n)) for n in (2, 3, 5, 6, 7, 10)),
    ("1/pi", 1 / math.pi),
    ("pi**2", math.pi**2),
)
_LARGEST_TOP = 50
_LARGEST_INTEGER = 1e15
_NEAR = 0.02
_ERRORS = 4.0  # standard errors within which a constant is near
_EXACT = 1e-24  # of the target's sum of squares: a loss below it is rounding
_PREFIX = "snapped constant "


@dataclass(frozen=True, slots=True)
class SnapResult:
    """What came of snapping.

    Attributes:
        expression: The formula with exact constants in the place of those that were snapped, and
            the others fitted again.
        snapped: Text of the exact constant, by parameter name; a constant that was a plain number
            goes by its text.
        loss_before: Sum of squared residuals with all constants fitted.
        loss: The same with the exact constants.
    """

    expression: Expression
    snapped: dict[str, str]
    loss_before: float
    loss: float


def snap_constants(
    expression: Expression,
    target: ArrayLike | Expression,
    data: Any,
    *,
    tolerance: float | None = None,
    **options: Any,
) -> SnapResult:
    """Replace constants by near integers, fractions, and multiples of pi, e and square roots.

    Args:
        expression: The formula. Its parameters are fitted first, beginning at the values that they
            have; numbers that are written as floats are constants, too, and fitted as well.
            Grouped parameters are fitted and never replaced.
        target: As for ``fit``.
        data: As for ``fit``.
        tolerance: How far the loss may rise in all, as a part of the loss with all constants
            fitted (0.01: by one per cent). By default 4/(n - p) for n rows and p constants, four
            times the residuals' variance: what chance makes of constants that are exact. A loss
            that is rounding error may stay so.
        options: As for ``fit``: ``seed``, ``weights``, ``relations`` and so on.

    Raises:
        ExpressionError: The tolerance is negative.
        FitError: The first fit does not succeed.
    """
    if tolerance is not None and not 0 <= tolerance < math.inf:
        raise ExpressionError(f"tolerance must be a number from 0, not {tolerance}")
    free, texts = _all_free(agreed(expression))
    if not _constants(free):
        result = fit(free, target, data, **options)
        return SnapResult(expression, {}, result.loss, result.loss)
    first = fit(free, target, data, **options)
    if not first.success:
        raise FitError(f"there is nothing to snap: {first.message}")
    size, rows = _size(target, data, options)
    if tolerance is None:
        tolerance = 4 / max(rows - free.count_parameters(), 1)
    most = first.loss * (1 + tolerance) + _EXACT * size
    best = first
    snapped: dict[str, str] = {}
    for name in sorted(_constants(free), key=lambda name: _strangeness(first, name)):
        tried = set()
        for exact, text in _near(best.parameters[name], best.standard_errors.get(name)):
            if exact in tried:
                continue
            tried.add(exact)
            trial = _try(best, name, parse(text), target, data, options)
            if trial.success and trial.loss <= most:
                best = trial
                snapped[texts.get(name, name)] = text
                break
    return SnapResult(_as_before(best.expression), snapped, first.loss, best.loss)


def _constants(expression: Expression) -> list[str]:
    return [node.name for node in expression.parameters if isinstance(node, Parameter)]


def _all_free(expression: Expression) -> tuple[Expression, dict[str, str]]:
    """Return the formula with parameters for its floats, and these floats' texts."""
    texts: dict[str, str] = {}

    def visit(node: Expression) -> Expression:
        if not isinstance(node, Number) or not isinstance(node.value, float):
            return node
        if node.value in {math.pi, math.e}:
            return node
        name = f"{_PREFIX}{len(texts)}"
        texts[name] = str(node)
        return Parameter(name, node.value)

    return expression.rebuild(visit), texts


def _as_before(expression: Expression) -> Expression:
    """Return the formula with what were plain numbers as numbers again."""
    return expression.rebuild(
        lambda node: (
            Number(node.value or 0.0)
            if isinstance(node, Parameter) and node.name.startswith(_PREFIX)
            else node
        )
    )


def _try(
    best: FitResult,
    name: str,
    exact: Expression,
    target: ArrayLike | Expression,
    data: Any,
    options: dict[str, Any],
) -> FitResult:
    """Fit the other parameters with one of them replaced."""
    formula = best.expression.rebuild(
        lambda node: exact if isinstance(node, Parameter) and node.name == name else node
    )
    bounds = {key: value for key, value in (options.get("bounds") or {}).items() if key != name}
    return fit(formula, target, data, **{**options, "bounds": bounds or None})


def _size(target: ArrayLike | Expression, data: Any, options: dict[str, Any]) -> tuple[float, int]:
    """Return the weighted sum of squares of the target, and the number of rows that count."""
    known = {key: options[key] for key in ("relations", "num_nodes", "time") if key in options}
    values = target.evaluate(data, **known) if isinstance(target, Expression) else target
    weights = options.get("weights")
    values = np.asarray(values, dtype=np.float64)
    weight = np.ones(values.shape) if weights is None else np.asarray(weights, dtype=np.float64)
    return float(np.sum(weight * values**2)), int(np.count_nonzero(weight))


def _strangeness(result: FitResult, name: str) -> float:
    """Return how far a constant is from the nearest exact number; the nearest are tried first."""
    value = result.parameters[name]
    near = _near(value, result.standard_errors.get(name))
    return min((abs(exact - value) for exact, _ in near), default=math.inf) / (abs(value) or 1.0)


def _near(value: float, error: float | None) -> Iterator[tuple[float, str]]:
    """Yield exact numbers near a value, the simplest first, each with its text."""
    reach = max(_NEAR * abs(value), _ERRORS * (error or 0.0))
    for exact, text in _candidates(value):
        if abs(exact - value) <= reach:
            yield exact, text


def _candidates(value: float) -> Iterator[tuple[float, str]]:
    if abs(value) < _LARGEST_INTEGER:
        yield round(value), str(round(value))
    yield from _multiple(value, 2, "", 1.0)
    for text, scale in _SCALES:
        yield from _multiple(value, 1, text, scale)
    for bottom in _DENOMINATORS:
        yield from _multiple(value, bottom, "", 1.0)
    for text, scale in _SCALES:
        for bottom in _FEW_DENOMINATORS:
            yield from _multiple(value, bottom, text, scale)


def _multiple(value: float, bottom: int, text: str, scale: float) -> Iterator[tuple[float, str]]:
    """Yield the multiple of ``scale/bottom`` that is nearest, if it is a small one and not zero."""
    top = value * bottom / scale
    if not 0.5 < abs(top) <= _LARGEST_TOP:
        return
    factor = Fraction(round(top), bottom)
    sign, above = "-" if factor < 0 else "", abs(factor.numerator)
    if text.startswith("1/") or not text:
        below = "*".join(part for part in (str(factor.denominator), text[2:]) if part)
        shown = f"{sign}{above}/({below})" if text else f"{sign}{above}/{below}"
    else:
        below = f"/{factor.denominator}" if factor.denominator > 1 else ""
        shown = f"{sign}{'' if above == 1 else f'{above}*'}{text}{below}"
    yield float(factor) * scale, shown

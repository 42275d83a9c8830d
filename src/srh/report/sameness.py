"""Is a result the same as one that was made again?

Identical means everything that is not a time or a place: outcome, error, every metric and its
reasons, every fold, the fitted formula, its parameters and standard errors, bit for bit.

Elsewhere (other versions, another processor) the last bits may differ without anybody's fault. Only
where provenance says so, values count as equal if they differ by no more than the tolerance: the
task's own, but at least 1e-9, relative to the value's size or, where that is larger, to the
metric's natural scale (the target's standard deviation for rmse and mae, its square for mse, 1 for
what has no unit). Formulas must then have the same shape, whatever the digits of their constants:
constants that the data hardly determine may differ by more than what they predict.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import numpy as np

from srh.evaluation.protocol import EvaluationResult, Provenance
from srh.evaluation.records import differences, differing
from srh.evaluation.scorer import target_scale
from srh.report.compare import provenance_differences
from srh.text import one_line

Verdict = Literal["identical", "equal within tolerance (platform differs)", "different"]
_LEAST_TOLERANCE = 1e-9
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?")
_SHOWN = 8
# Times and places, which no evaluation repeats.
_PASSING = ("runtime", "usage", "provenance")


def judge(
    then: EvaluationResult,
    again: EvaluationResult,
    *,
    tolerance: float,
    target: Any,
) -> tuple[Verdict, tuple[str, ...]]:
    """Compare a stored result with one that was made again.

    Args:
        then: The stored result.
        again: The new one.
        tolerance: The task's tolerance.
        target: The task's target, shape (n,): it gives errors their scale. None: nothing does.

    Returns:
        The verdict, and what differs, one line each.
    """
    changed = _changed_digests(then.provenance, again.provenance)
    values = _differing_values(then, again, {})
    if not changed and not values:
        return "identical", ()
    if not changed and _platform_differs(then.provenance, again.provenance):
        scales = {} if target is None else metric_scales(np.asarray(target, dtype=np.float64))
        allowed = max(tolerance, _LEAST_TOLERANCE)
        bounds = {name: allowed * scale for name, scale in scales.items()}
        values = _differing_values(then, again, bounds, relative=allowed)
        if not values:
            return "equal within tolerance (platform differs)", _platform_lines(then, again)
    details = [*changed, *values]
    more = [f"and {len(details) - _SHOWN} more"] if len(details) > _SHOWN else []
    return "different", (*details[:_SHOWN], *more)


def metric_scales(target: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, float]:
    """Return the natural scale of each metric that has one.

    Args:
        target: The target, shape (n,).
    """
    spread = target_scale(target)
    spread_squared = min(spread * spread, sys.float_info.max)
    unitless = dict.fromkeys(("mape", "r2", "pearson_r", "spearman_r", "nrmse"), 1.0)
    errors = dict.fromkeys(("rmse", "mae", "max_error"), spread)
    return {**errors, "mse": spread_squared, **unitless}


def _changed_digests(then: Provenance | None, now: Provenance | None) -> list[str]:
    """Return the digests that differ, with both values shortened."""
    if then is None:
        return ["the stored result does not say what it rests on"]
    lines = []
    for name in differences(then, now):
        if name != "versions":
            one, two = (_short(getattr(side, name)) for side in (then, now))
            lines.append(f"{differing(name)}: stored {one}, now {two}")
    return lines


def _platform_differs(then: Provenance | None, now: Provenance | None) -> bool:
    if then is None or now is None:
        return False
    return (then.versions, then.platform) != (now.versions, now.platform)


def _platform_lines(then: EvaluationResult, again: EvaluationResult) -> tuple[str, ...]:
    if then.provenance is None or again.provenance is None:
        return ()
    found = provenance_differences(then.provenance, again.provenance)
    return tuple(f"{name}: stored {one}, now {two}" for name, one, two in found)


def _differing_values(
    then: EvaluationResult,
    again: EvaluationResult,
    bounds: Mapping[str, float],
    relative: float | None = None,
) -> list[str]:
    """Return where two results differ: exactly, or by more than a tolerance if one is given."""
    lines = [
        f"{name}: stored {one_line(str(one))}, evaluated {one_line(str(two))}"
        for name, one, two in (
            ("outcome", then.outcome, again.outcome),
            ("error", _text(then.error, relative), _text(again.error, relative)),
        )
        if one != two
    ]
    lines += _differing_metrics("", then.metrics, again.metrics, bounds, relative)
    if len(then.per_fold) != len(again.per_fold):
        lines.append(f"folds: stored {len(then.per_fold)}, evaluated {len(again.per_fold)}")
    for fold, (one_fold, two_fold) in enumerate(zip(then.per_fold, again.per_fold, strict=False)):
        lines += _differing_metrics(f"fold {fold} ", one_fold, two_fold, bounds, relative)
    lines += _differing_formulas(then, again, relative)
    if not lines and relative is None:
        lines += _differing_rest(then, again)
    return lines


def _differing_metrics(
    prefix: str,
    then: Mapping[str, float | None],
    again: Mapping[str, float | None],
    bounds: Mapping[str, float],
    relative: float | None,
) -> list[str]:
    lines = []
    for name in dict.fromkeys([*then, *again]):
        one, two = then.get(name), again.get(name)
        if one == two:
            continue
        if relative is not None and one is not None and two is not None:
            bound = max(relative * max(abs(one), abs(two)), bounds.get(name, 0.0))
            if abs(one - two) <= bound:
                continue
        lines.append(f"{prefix}{one_line(name)}: stored {_value(one)}, evaluated {_value(two)}")
    return lines


def _differing_formulas(
    then: EvaluationResult, again: EvaluationResult, relative: float | None
) -> list[str]:
    formulas = [
        [] if side.fitted is None else [side.fitted.formula, *side.fitted.per_fold]
        for side in (then, again)
    ]
    one, two = ([_text(formula, relative) for formula in side] for side in formulas)
    if one == two:
        return []
    shown = [one_line(side[0], 120) if side else "none" for side in formulas]
    if shown[0] == shown[1]:
        return ["fitted formula: differs in a fold"]
    return [f"fitted formula: stored {shown[0]}, evaluated {shown[1]}"]


def _differing_rest(then: EvaluationResult, again: EvaluationResult) -> list[str]:
    """Return the other fields that an evaluation repeats exactly."""
    one, two = (msgspec.to_builtins(side, str_keys=True) for side in (then, again))
    return [f"{name}: differs" for name in one if name not in _PASSING and one[name] != two[name]]


def _text(text: str | None, relative: float | None) -> str | None:
    """Return a text, its numbers masked where their last digits do not count."""
    return text if relative is None or text is None else _NUMBER.sub("#", text)


def _value(value: float | None) -> str:
    return "none" if value is None else repr(value)


def _short(digest: object) -> str:
    return one_line(str(digest), 100).removeprefix("sha256:")[:12]

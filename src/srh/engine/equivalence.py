"""Whether two formulas mean the same: by a counterexample, by proof, or by agreement at points.

In this order, each step cheaper or stronger than the next:

1. The same tree, after closed parts are computed.
2. Fresh points on the data's domain, then beyond it. One point where the values clearly differ, or
   where only one formula has a value, decides: no.
3. SymPy, in a process with a time limit: a difference that it rewrites to zero decides: yes. It
   computes with real symbols, but as if every root and logarithm existed; that they exist at the
   same places is what step 2 has looked at.
4. Agreement at all points decides yes, too, by numbers. Where there are too few points, the answer
   is that there is none.

Parts with indices, reductions and delays are unknown numbers to all of this, equal if they are
written alike; where they are not, only the data that are given can tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from srh.engine.columns import as_numbers, columns_of
from srh.engine.expression import Expression, Symbol
from srh.engine.folding import fold_constants
from srh.engine.indexed import is_structured
from srh.engine.leaves import Leaves, agreed, unbound, with_values
from srh.engine.names import normalise_columns
from srh.engine.parameters import GroupedParameter, Parameter
from srh.engine.parser import parse
from srh.engine.program import evaluate
from srh.engine.sampling import POINTS, Comparison, Points, compare, compute, generic_points
from srh.engine.symbolic import DEFAULT_SECONDS, ask_sympy
from srh.errors import ExpressionError, SrhError

Verdict = Literal["yes", "no", "undecided"]

_DUST = 1e-17  # what rounding of constants leaves is larger than this part of a value
_STRUCTURED_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Equivalence:
    """Whether two formulas are equal.

    Attributes:
        verdict: ``yes``, ``no`` or ``undecided``, for all real values of columns and parameters.
        decided_by: ``symbolic`` or ``numeric``; None if undecided.
        why: In a sentence.
        on_data: The same question for the data's domain alone, answered at points: formulas may
            agree there and differ beyond. None without data.
        example: Where they differ, if such a point is known: value by column or parameter.
    """

    verdict: Verdict
    decided_by: Literal["symbolic", "numeric"] | None
    why: str
    on_data: Verdict | None = None
    example: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


def equivalent(
    a: Expression,
    b: Expression,
    data: Any = None,
    *,
    parameters: Literal["names", "values"] = "names",
    tolerance: float = 1e-12,
    seconds: float = DEFAULT_SECONDS,
    seed: int = 0,
) -> Equivalence:
    """Say whether two formulas have the same value everywhere, and are defined at the same places.

    Args:
        a: A formula.
        b: Another.
        data: Mapping from column name to array, or an object with one as ``data``. Its domain is
            looked at first, and judged on its own as well.
        parameters: ``names``: a parameter is an unknown real number, the same on both sides if it
            has the same name, whatever its value. ``values``: bound parameters are their values.
        tolerance: Relative difference up to which values are equal, besides rounding. Raise it to
            compare fitted constants with true ones.
        seconds: Time for SymPy.
        seed: Of the points.

    Returns:
        The verdict, and who decided. ``sqrt(x**2)`` and ``x`` differ (at x = -1), even if all data
        are positive; ``log(x*y)`` and ``log(x) + log(y)`` differ where only one has a value.
        In both cases ``on_data`` may be ``yes``. Single points where a value is missing on one
        side alone, as of ``x/x`` at 0, do not count.

    Raises:
        ExpressionError: Appearances of one parameter contradict each other, or a column of the
            data is text.
    """
    sides = tuple(_prepared(side, parameters) for side in (a, b))
    if sides[0] == sides[1]:
        same = "the formulas are the same"
        return Equivalence("yes", "symbolic", same, None if data is None else "yes")
    leaves = Leaves(by_name=parameters == "names")
    hidden = [leaves.hide(side) for side in sides]
    if any(is_structured(part) and part.operands for part in leaves.parts.values()):
        return _structured(sides, hidden, data, tolerance, seconds, seed)
    parts = leaves.parts
    on_data = None
    known = []
    if data is not None:
        points = _data_points(parts, data, seed)
        found = _compare_at(hidden, points, tolerance)
        on_data = _verdict(found)
        known.append(found)
        if on_data == "no":
            return _refuted(found, points, parts, "on the data's domain", on_data)
        known.append(_compare_at(hidden, _wider(points, seed), tolerance))
        if _verdict(known[-1]) == "no":
            where = "beyond the data's domain, where they agree,"
            return _refuted(known[-1], _wider(points, seed), parts, where, on_data)
    points = generic_points(list(parts), seed)
    known.append(_compare_at(hidden, points, tolerance))
    if _verdict(known[-1]) == "no":
        where = "beyond the data's domain, where they agree," if on_data == "yes" else ""
        return _refuted(known[-1], points, parts, where, on_data)
    return _without_counterexample(hidden, known, points, on_data, seconds)


def _prepared(side: Expression, parameters: str) -> Expression:
    if not isinstance(side, Expression):
        raise ExpressionError(f"only expressions are compared, not {type(side).__name__}")
    if parameters not in {"names", "values"}:
        raise ExpressionError(f"parameters are taken as 'names' or 'values', not {parameters!r}")
    if parameters == "names":
        return fold_constants(unbound(side))
    return fold_constants(with_values(agreed(side)))


def _compare_at(hidden: list[Expression], points: Points, tolerance: float) -> Comparison:
    a, b = (compute(side, points) for side in hidden)
    return compare(a, b, tolerance)


def _verdict(found: Comparison) -> Verdict:
    if len(found.differing) or len(found.one_sided):
        return "no"
    return "yes" if found.agree else "undecided"


def _refuted(
    found: Comparison,
    points: Points,
    parts: Mapping[str, Expression],
    where: str,
    on_data: Verdict | None,
) -> Equivalence:
    differ = len(found.differing) > 0
    index = int((found.differing if differ else found.one_sided)[0])
    example = {_title(part): float(points[name][index]) for name, part in parts.items()}
    at = ", ".join(f"{name} = {value:.4g}" for name, value in list(example.items())[:6])
    what = "they differ" if differ else "only one of them has a value"
    place = f" {where}" if where else ""
    why = f"{what}{place} at {at}" if at else f"{what}{place}"
    return Equivalence("no", "numeric", why, on_data, MappingProxyType(example))


def _title(part: Expression) -> str:
    return part.name if isinstance(part, Symbol | Parameter | GroupedParameter) else str(part)


def _without_counterexample(
    hidden: list[Expression],
    known: list[Comparison],
    points: Points,
    on_data: Verdict | None,
    seconds: float,
) -> Equivalence:
    """Decide between proof, agreement and neither."""
    answer = ask_sympy("difference", *map(str, hidden), seconds=seconds)
    agreed_at = sum(found.equal for found in known)
    if answer.complete and answer.texts == ("0",):
        why = "SymPy rewrites their difference to zero"
        if agreed_at:
            return Equivalence("yes", "symbolic", why, on_data)
        why += ", but no point was found where both have a value"
        return Equivalence("undecided", None, why, on_data)
    if answer.complete and _hidden_difference(answer.texts[0], hidden, points):
        why = "they differ by less than can be seen at any point that was tried"
        return Equivalence("undecided", None, why, on_data)
    reason = answer.why or "SymPy finds no proof"
    if any(found.agree for found in known):
        largest = max(found.largest for found in known)
        why = f"equal to {largest:.1g} at {agreed_at} points; {reason}"
        return Equivalence("yes", "numeric", why, on_data)
    seen = f"{agreed_at} of {len(known) * POINTS} points can be compared"
    return Equivalence("undecided", None, f"only {seen}; {reason}", on_data)


def _hidden_difference(text: str, hidden: list[Expression], points: Points) -> bool:
    """Say whether a difference is a real one, but far below what rounding leaves."""
    try:
        gap = compute(parse(text), points)
    except (SrhError, KeyError):
        return False
    size = np.abs(compute(hidden[0], points).exact)
    with np.errstate(all="ignore"):
        ratio = np.abs(gap.exact) / size
    ratio = ratio[gap.usable & np.isfinite(ratio)]
    return bool(len(ratio) and 0 < ratio.max() < _DUST)


def _data_points(parts: Mapping[str, Expression], data: Any, seed: int) -> Points:
    """Return rows of the data and points between two rows; parameters take any values."""
    rng = np.random.default_rng(seed)
    columns = columns_of(data)
    spelling = normalise_columns(columns)
    points = generic_points(list(parts), seed)
    numeric = {
        name: as_numbers(columns[spelling[part.name]], part.name).reshape(-1)
        for name, part in parts.items()
        if isinstance(part, Symbol) and part.name in spelling
    }
    rows = {len(column) for column in numeric.values()} - {1}
    if len(rows) > 1:
        raise ExpressionError("the columns of the data have different lengths")
    count = rows.pop() if rows else 1
    if count == 0:
        raise ExpressionError("the data have no rows")
    first, second = rng.integers(0, count, (2, POINTS))
    share = np.where(rng.random(POINTS) < 0.25, 0.0, rng.random(POINTS))
    for name, column in numeric.items():
        full = np.broadcast_to(column, (count,))
        points[name] = full[first] + share * (full[second] - full[first])
    return points


def _wider(points: Points, seed: int) -> Points:
    """Return points up to twice the range beyond it, and with other signs."""
    rng = np.random.default_rng(seed + 1)
    found = {}
    for name, values in points.items():
        low, high = np.nanmin(values), np.nanmax(values)
        width = max(high - low, abs(low), abs(high))
        found[name] = rng.uniform(low - 2 * width, high + 2 * width, POINTS)
        found[name][::2] = values[::2] * rng.choice([-1.0, 1.0], len(values[::2]))
    return found


def _structured(
    sides: tuple[Expression, ...],
    hidden: list[Expression],
    data: Any,
    tolerance: float,
    seconds: float,
    seed: int,
) -> Equivalence:
    """Compare formulas whose structured parts are opaque: proof, or the data that are given."""
    on_data: Verdict | None = None
    largest = 0.0
    if data is not None:
        on_data, largest = _on_structured_data(sides, data, tolerance, seed)
        if on_data == "no":
            why = f"they differ on the data, by {largest:.2g} of their size"
            return Equivalence("no", "numeric", why, on_data)
    points = generic_points(sorted({name for side in hidden for name in side.variables}), seed)
    found = _compare_at(hidden, points, tolerance)
    if found.agree:
        return _without_counterexample(hidden, [found], points, on_data, seconds)
    if on_data == "yes":
        why = f"equal to {largest:.1g} on the data with other values of parameters and columns"
        return Equivalence("yes", "numeric", why, on_data)
    why = "their structured parts are written differently"
    hint = "" if data is not None else "; give data to compare them on"
    return Equivalence("undecided", None, why + hint, on_data)


def _on_structured_data(
    sides: tuple[Expression, ...], data: Any, tolerance: float, seed: int
) -> tuple[Verdict, float]:
    """Evaluate both sides on the data with made-up parameters and shaken columns."""
    rng = np.random.default_rng(seed)
    columns = dict(columns_of(data))
    largest, seen = 0.0, 0
    for attempt in range(_STRUCTURED_ROUNDS):
        shaken = {
            name: _shaken(np.asarray(column), rng) if attempt else column
            for name, column in columns.items()
        }
        chosen = {
            leaf.name: float(rng.uniform(0.3, 2))
            for side in sides
            for leaf in side.parameters
            if isinstance(leaf, Parameter) and leaf.value is None
        }
        a, b = (
            evaluate(side.bind_parameters({k: v for k, v in chosen.items() if k in names}), shaken)
            for side in sides
            for names in [[leaf.name for leaf in side.parameters]]
        )
        if a.shape != b.shape or (np.isnan(a) != np.isnan(b)).any():
            return "no", float("nan")
        scale = float(np.nanmax(np.abs(a), initial=0.0))
        gap = float(np.nanmax(np.abs(a - b), initial=0.0)) / (scale or 1.0)
        seen += int(np.isfinite(a).sum())
        largest = max(largest, gap)
    if largest > max(tolerance, 1e-9):
        return "no", largest
    return ("yes" if seen else "undecided"), largest


def _shaken(column: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    if column.dtype.kind != "f":  # relations, labels and counts stay
        return column
    return column * rng.uniform(0.8, 1.2, column.shape)

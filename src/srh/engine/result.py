"""What a fit returns, and how its end is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from srh.engine.expression import Expression
from srh.engine.parameters import GroupedParameter
from srh.engine.program import evaluate
from srh.engine.uncertainty import Uncertainty, blocked_uncertainty, uncertainty

if TYPE_CHECKING:
    from srh.engine.objective import Objective
    from srh.engine.search import Found

Array: TypeAlias = NDArray[np.float64]
ByParameter: TypeAlias = dict[str, Any]

# Slots up to which the covariance of grouped parameters is computed as one matrix.
_LARGEST_DENSE = 64


@dataclass(frozen=True, slots=True)
class FitResult:
    """The outcome of a fit.

    Attributes:
        expression: The formula with the fitted values bound.
        parameters: Fitted value by name; for a grouped parameter a table by label.
        standard_errors: As ``parameters``; None where the data do not determine it.
        covariance: ``(p, p)`` in the order of the parameters (a grouped one takes one place per
            label of the data, in the order of its table in ``standard_errors``); None where it is
            not defined, and with more than 64 parameters in groups.
        loss: Sum of squared weighted residuals; NaN if a prediction is undefined.
        success: Whether every row has a prediction and the parameters are at a minimum.
        message: What happened, in one sentence or two.
        n_starts: Starts that were judged.
        n_iter: Steps of all descents.
        n_evaluations: Evaluations of the formula with one parameter vector.
    """

    expression: Expression
    parameters: ByParameter
    standard_errors: ByParameter
    covariance: Array | None
    loss: float
    success: bool
    message: str
    n_starts: int
    n_iter: int
    n_evaluations: int

    def evaluate(self, data: Any, **options: Any) -> Array:
        """Compute the fitted formula on data, see ``srh.engine.program.evaluate``."""
        return evaluate(self.expression, data, **options)

    predict = evaluate


def conclude(
    expression: Expression,
    objective: Objective,
    found: Found,
    lower: Array,
    upper: Array,
    used: NDArray[np.intp],
) -> FitResult:
    """Judge the end of a fit and bind the fitted values.

    Args:
        expression: The formula.
        objective: On all used rows.
        found: Where the search ended.
        lower: Bounds of all slots.
        upper: As ``lower``.
        used: Position of each used row in the data.

    Returns:
        The result.
    """
    theta = found.point.theta
    diverged = not np.isfinite(theta).all()
    theta = np.where(np.isfinite(theta), theta, 0.0)
    predicted = objective.program.evaluate(
        objective.table, objective.arguments(theta, slice(0, objective.table.n_rows))
    )
    weights = 1.0 if objective.weights is None else objective.weights
    with np.errstate(all="ignore"):
        loss = float(np.sum(weights * (objective.target - predicted) ** 2))
    undefined = used[~np.isfinite(predicted)]
    held = np.zeros(objective.size, np.bool_)
    held[:] = (theta <= lower) | (theta >= upper)
    known = _uncertainty(objective, found, loss, held)
    fitted = _by_leaf(expression, objective, theta)
    failure = _failure(objective, found, known, undefined, diverged)
    return FitResult(
        expression=expression.bind_parameters(fitted),
        parameters=fitted,
        standard_errors=_errors_by_leaf(objective, known.standard_errors),
        covariance=known.covariance,
        loss=loss if np.isfinite(loss) else float("nan"),
        success=not failure,
        message=failure or _remarks(objective, found, known, held),
        n_starts=found.n_starts,
        n_iter=found.n_iter,
        n_evaluations=found.n_evaluations,
    )


def some_rows(rows: NDArray[np.intp]) -> str:
    """Say how many rows, and which are the first."""
    listed = ", ".join(str(row) for row in rows[:5].tolist())
    more = ", …" if len(rows) > 5 else ""
    return f"{len(rows)} row{'s' if len(rows) > 1 else ''} ({listed}{more}, counted from 0)"


def _failure(
    objective: Objective,
    found: Found,
    known: Uncertainty,
    undefined: NDArray[np.intp],
    diverged: bool,
) -> str:
    """Return why the fit failed, or an empty text."""
    rows, size = objective.table.n_rows, objective.size
    if len(undefined):
        everywhere = len(undefined) == rows > 1
        where = f"all {rows} rows" if everywhere else some_rows(undefined)
        return f"the formula is undefined (NaN or infinite) in {where}"
    if diverged:
        return "the fit diverged: a parameter grew beyond all bounds"
    if size > rows:
        return f"{size} parameters cannot be determined from {rows} row{'s' if rows > 1 else ''}"
    if not found.converged:
        return "no minimum was reached within the budget of evaluations; raise the budget"
    if size and known.idle.all() and not found.exact:
        return "the fit is degenerate: where it ended no parameter changes any prediction"
    return ""


def _remarks(
    objective: Objective, found: Found, known: Uncertainty, held: NDArray[np.bool_]
) -> str:
    """Return the message of a fit that worked."""
    if not objective.size:
        return "the formula has no parameters; nothing was fitted"
    parts = ["the fit is exact to rounding" if found.exact else "the fit converged"]
    if found.budget_spent:
        parts.append(
            "the budget of evaluations ended before the minimum was found often enough to be "
            "sure of it; a better one may exist"
        )
    lost = _names(objective, known.unidentifiable)
    if lost:
        verb = "is" if len(lost) == 1 else "are"
        parts.append(
            f"{', '.join(lost)} {verb} not determined by the data: other values give the same "
            "predictions"
        )
    at_bound = _names(objective, held)
    if at_bound:
        parts.append(f"{', '.join(at_bound)} stand{'s' if len(at_bound) == 1 else ''} at a bound")
    return "; ".join(parts)


def _names(objective: Objective, mask: NDArray[np.bool_]) -> list[str]:
    """Return the parameters with a marked slot; of grouped ones with the first such labels."""
    names = []
    for leaf in objective.leaves:
        marked = np.flatnonzero(mask[leaf.slots])
        if not len(marked):
            continue
        if leaf.label is None:
            names.append(leaf.name)
            continue
        labels = objective.table.groups[leaf.label][0]
        listed = ", ".join(repr(labels[index]) for index in marked[:3].tolist())
        names.append(f"{leaf.name} of {listed}{', …' if len(marked) > 3 else ''}")
    return names


def _uncertainty(
    objective: Objective, found: Found, loss: float, held: NDArray[np.bool_]
) -> Uncertainty:
    size = objective.size
    if not size or not np.isfinite(loss):
        nothing = np.zeros(size, np.bool_)
        return Uncertainty(None, np.full(size, np.nan), nothing, nothing)
    # The objective's rows carry a common scale besides the weights; the loss is in plain units.
    plain = 1.0 / objective.scale
    labels = {leaf.label for leaf in objective.leaves if leaf.label}
    if size > _LARGEST_DENSE and len(labels) == 1:
        return _blocked(objective, found, loss, plain, held)
    return uncertainty(objective.full_jacobian(found.point) * plain, loss, held)


def _blocked(
    objective: Objective, found: Found, loss: float, plain: float, held: NDArray[np.bool_]
) -> Uncertainty:
    """Compute standard errors group by group, where all groups are of one label column."""
    leaves = objective.leaves
    shared = [k for k, leaf in enumerate(leaves) if leaf.label is None]
    grouped = [k for k, leaf in enumerate(leaves) if leaf.label is not None]
    codes, groups = next(
        (objective.table.groups[leaf.label][1], leaf.size) for leaf in leaves if leaf.label
    )
    moving = [~held[leaves[k].slots][codes] for k in grouped]
    parts = blocked_uncertainty(
        objective.compressed_jacobian(found.point, shared)
        * plain
        * np.array([not held[leaves[k].start] for k in shared])[:, None],
        objective.compressed_jacobian(found.point, grouped) * plain * np.array(moving),
        codes,
        groups,
        loss,
    )
    errors = np.empty(objective.size)
    lost, idle = np.empty((2, objective.size), np.bool_)
    slots = [
        [s for k in members for s in range(objective.size)[leaves[k].slots]]
        for members in (shared, grouped)
    ]
    for part, places in zip(parts, slots, strict=True):
        errors[places], lost[places] = part.standard_errors, part.unidentifiable
        idle[places] = part.idle
    lost[held] = False
    return Uncertainty(None, errors, lost, idle)


def _by_leaf(expression: Expression, objective: Objective, theta: Array) -> ByParameter:
    fitted: ByParameter = {}
    for parameter, leaf in zip(expression.parameters, objective.leaves, strict=True):
        values = theta[leaf.slots].tolist()
        if isinstance(parameter, GroupedParameter):
            labels = objective.table.groups[parameter.label][0]
            seen = np.bincount(objective.table.groups[parameter.label][1], minlength=len(labels))
            table = dict(parameter.values)
            table.update(
                (label, value)
                for label, value, count in zip(labels, values, seen, strict=True)
                if count
            )
            fitted[leaf.name] = table
        else:
            fitted[leaf.name] = values[0]
    return fitted


def _errors_by_leaf(objective: Objective, errors: Array) -> ByParameter:
    found: ByParameter = {}
    for leaf in objective.leaves:
        values: Sequence[float | None] = [
            None if np.isnan(value) else value for value in errors[leaf.slots].tolist()
        ]
        if leaf.label is None:
            found[leaf.name] = values[0]
        else:
            labels = objective.table.groups[leaf.label][0]
            found[leaf.name] = dict(zip(labels, values, strict=True))
    return found

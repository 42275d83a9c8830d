"""Fitting a formula's parameters to data by separable least squares.

Theory of operation. ``fit`` minimises the weighted sum of squared residuals in these steps:

1. Data become a table, the formula a flat program (``columns.py``, ``program.py``).
2. Parameters in which the formula is jointly affine are recognised from its structure
   (``structure.py``). They are solved exactly inside every evaluation (``leastsquares.py``,
   ``objective.py``). Without other parameters the fit is done: no start, no iteration.
3. The others are searched from data-driven starts (``starts.py``, ``search.py``), each followed
   downhill by Levenberg–Marquardt on exact Jacobians of the projected problem (``levenberg.py``).
4. Linear parameters with bounds are solved as if they had none. Only if a bound is broken are they
   searched like the others, from where they were, inside their bounds.
5. The result is judged: undefined rows, too few rows and parameters that the data cannot
   determine are said in the message (``uncertainty.py``).

The budget is counted in evaluations of the formula. All randomness comes from the seed, sums run in
a fixed order, and time is never looked at: the same call gives the same bits.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srh.engine.columns import Table, as_numbers, read_table
from srh.engine.expression import Expression
from srh.engine.indexed import is_structured
from srh.engine.layout import Leaf
from srh.engine.objective import Objective
from srh.engine.parameters import GroupedParameter, Parameter, no_such_bound
from srh.engine.program import Program, compile_program, evaluate
from srh.engine.result import FitResult, conclude, some_rows
from srh.engine.search import Found, Search, exact_cost
from srh.engine.structure import linear_parameters
from srh.errors import ExpressionError, FitError

Array = NDArray[np.float64]
Bounds = Mapping[str, tuple[float | None, float | None]]
Given = tuple[dict[int, float], Array]

DEFAULT_BUDGET = 20_000
"""Evaluations of a formula, on however many rows, that one fit may use."""


def fit(  # noqa: PLR0913
    expression: Expression,
    target: ArrayLike | Expression,
    data: Any,
    *,
    seed: int = 0,
    budget: int = DEFAULT_BUDGET,
    weights: ArrayLike | None = None,
    bounds: Bounds | None = None,
    relations: Mapping[str, Any] | None = None,
    num_nodes: int | None = None,
    time: ArrayLike | str | None = None,
) -> FitResult:
    """Fit the parameters of a formula to a target.

    Args:
        expression: The formula. Values that its parameters have are one of the starts.
        target: One number per row, or an expression that is evaluated on the data.
        data: Mapping from column name to array, or an object with one as ``data``; see ``evaluate``
            for it and for ``relations``, ``num_nodes`` and ``time``.
        seed: Of the starts; the same seed gives the same result to the last bit.
        budget: Most evaluations of the formula. The default lets a hopeless fit on 1,000 rows
            take some seconds.
        weights: Non-negative weight of each row's squared residual; rows of weight 0 are left out.
        bounds: By parameter name ``(lowest, highest)``, None where there is none.
        relations: Integer tables by name, target first.
        num_nodes: Number of nodes, where no column tells it.
        time: For delays, the times of the data's first axis or the name of their column.

    Returns:
        The result. A fit that did not work is a result with ``success`` False.

    Raises:
        FitError: There are no rows, or the target is not finite in some.
        ExpressionError: Data, weights or bounds cannot be used, or a group label is unique in
            every row.
        MissingVariableError: The data lack a column.
    """
    structure: dict[str, Any] = {"relations": relations, "num_nodes": num_nodes, "time": time}
    values = (
        evaluate(target, data, **structure)
        if isinstance(target, Expression)
        else as_numbers(target, "target")
    )
    if is_structured(expression):
        from srh.engine.structured_data import read_source
        from srh.engine.structured_fit import read_problem

        problem = read_problem(expression, read_source(data, **structure), values.shape)
        result = _fit(
            problem.expression,
            problem.program,
            problem.table,
            values,
            weights,
            problem.bounds(bounds),
            budget,
            seed,
        )
        return problem.in_own_terms(result)
    table = read_table(expression, data)
    program = compile_program(expression)
    return _fit(expression, program, table, values, weights, bounds, budget, seed)


def _fit(
    expression: Expression,
    program: Program,
    table: Table,
    target: Array,
    weights: ArrayLike | None,
    bounds: Bounds | None,
    budget: int,
    seed: int,
) -> FitResult:
    observed = _read_target(target, table)
    weight = _read_weights(weights, table)
    used = np.arange(table.n_rows) if weight is None else np.flatnonzero(weight > 0)
    _check_rows(observed, used)
    rows = table if len(used) == table.n_rows else table.rows(used)
    leaves = _layout(expression, rows)
    limits = _read_bounds(bounds, leaves)
    some = None if weight is None else weight[used]
    linear = linear_parameters(program)
    objective = Objective(program, rows, observed[used], some, leaves, linear)
    with np.errstate(all="ignore"):
        found = _minimise(objective, _given_values(expression, objective), limits, budget, seed)
        broken = (found.point.theta < limits[0]) | (found.point.theta > limits[1])
        if broken.any():
            linear = linear_parameters(program, excluded=_bounded(leaves, limits))
            objective = Objective(program, rows, observed[used], some, leaves, linear)
            given = _values_inside(found.point.theta, leaves, limits)
            before, rest = found, max(budget - found.n_evaluations, budget // 2)
            found = _minimise(objective, given, limits, rest, seed)
            found.n_starts += before.n_starts
            found.n_iter += before.n_iter
            found.n_evaluations += before.n_evaluations
        return conclude(expression, objective, found, *limits, used)


def _read_target(values: Array, table: Table) -> Array:
    if values.size != table.n_rows:
        raise ExpressionError(
            f"the target has {values.size} values, the data {table.n_rows} rows"
            + (f" {table.shape}" if len(table.shape) > 1 else "")
        )
    return np.ascontiguousarray(values).reshape(-1)


def _read_weights(weights: ArrayLike | None, table: Table) -> Array | None:
    if weights is None:
        return None
    values = as_numbers(weights, "weights").reshape(-1)
    if values.size != table.n_rows:
        raise ExpressionError(f"there are {values.size} weights for {table.n_rows} rows")
    if not (np.isfinite(values) & (values >= 0)).all():
        raise ExpressionError("weights must be finite and not negative")
    return values


def _check_rows(observed: Array, used: NDArray[np.intp]) -> None:
    if not len(used):
        raise FitError("there are no rows to fit")
    bad = used[~np.isfinite(observed[used])]
    if len(bad):
        raise FitError(
            f"the target is not finite in {some_rows(bad)}; drop these rows or give them weight 0"
        )


def _layout(expression: Expression, table: Table) -> list[Leaf]:
    """Give each parameter its slots: a grouped one takes one per label of the data."""
    leaves: list[Leaf] = []
    start = 0
    for parameter in expression.parameters:
        size, label = 1, None
        if isinstance(parameter, GroupedParameter):
            label = parameter.label
            size = len(table.groups[label][0])
            if size == table.n_rows and size > 1:
                raise ExpressionError(
                    f"grouped parameter {parameter.name!r}: every row has a {label!r} of its own, "
                    "so its values would just repeat the target; group by a column with repeats"
                )
        leaves.append(Leaf(parameter.name, start, size, label))
        start += size
    return leaves


def _read_bounds(bounds: Bounds | None, leaves: list[Leaf]) -> tuple[Array, Array]:
    size = sum(leaf.size for leaf in leaves)
    lower, upper = np.full(size, -np.inf), np.full(size, np.inf)
    by_name = {leaf.name: leaf for leaf in leaves}
    for name, (lowest, highest) in (bounds or {}).items():
        if name not in by_name:
            raise ExpressionError(no_such_bound(name, by_name))
        low = -np.inf if lowest is None else float(lowest)
        high = np.inf if highest is None else float(highest)
        if not low <= high:
            raise ExpressionError(f"bounds of {name!r}: {lowest} is not below {highest}")
        lower[by_name[name].slots], upper[by_name[name].slots] = low, high
    return lower, upper


def _bounded(leaves: list[Leaf], limits: tuple[Array, Array]) -> int:
    """Return the bit mask of the parameters that have bounds."""
    finite = np.isfinite(limits[0]) | np.isfinite(limits[1])
    return sum(1 << k for k, leaf in enumerate(leaves) if finite[leaf.slots].any())


def _values_inside(theta: Array, leaves: list[Leaf], limits: tuple[Array, Array]) -> Given:
    """Return the values of a fit, moved inside the bounds, as initial ones."""
    inside = np.clip(theta, *limits)
    given = {
        k: float(np.median(inside[leaf.slots]))
        for k, leaf in enumerate(leaves)
        if np.isfinite(inside[leaf.slots]).all()
    }
    return given, inside


# Slots times rows of a Jacobian that is still held in memory (1.6 GB).
_LARGEST_JACOBIAN = 200_000_000


def _minimise(
    objective: Objective, given: Given, limits: tuple[Array, Array], budget: int, seed: int
) -> Found:
    slots = len(objective.free_slots)
    if objective.arrow is None and slots * objective.table.n_rows > _LARGEST_JACOBIAN:
        raise MemoryError(
            f"{len(objective.free_slots)} nonlinear parameters on {objective.table.n_rows} rows"
        )
    if objective.nonlinear:
        return Search(objective, *given, *limits, budget, seed).run()
    point = objective.point(np.zeros(objective.size))
    exact = point.undefined == 0 and point.cost <= exact_cost(objective)
    return Found(point, True, exact, False, 0, 0, objective.evaluations)


def _given_values(expression: Expression, objective: Objective) -> Given:
    """Return initial values by parameter, and by slot where labels have their own."""
    given: dict[int, float] = {}
    initial = np.full(objective.size, np.nan)
    for k, (parameter, leaf) in enumerate(
        zip(expression.parameters, objective.leaves, strict=True)
    ):
        if isinstance(parameter, Parameter):
            if parameter.value is not None:
                given[k] = parameter.value
            continue
        labels = objective.table.groups[parameter.label][0]
        own = [parameter.values.get(label, parameter.default) for label in labels]
        initial[leaf.slots] = [np.nan if value is None else value for value in own]
        if parameter.values:
            given[k] = float(np.median(list(parameter.values.values())))
    return given, initial

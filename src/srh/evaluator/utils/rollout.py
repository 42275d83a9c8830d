"""How far a formula of rates leads away from measured trajectories."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.context import AgentContext
from srh.engine import Expression, GroupedParameter
from srh.errors import DataError, ExpressionError
from srh.evaluator.missing import Missing
from srh.evaluator.utils.integration import MAX_EVALUATIONS, integrate_ODE
from srh.evaluator.utils.rates import Surroundings, as_rates
from srh.text import did_you_mean

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


class _NoValueError(Exception):
    """Control flow: the metric has no value, for this reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.value = Missing(code, message)


def calc_trajectory_rollout_RMSE(  # noqa: N802
    f: Expression | Mapping[str, Expression] | Sequence[Expression],
    context: AgentContext,
    time: str = "t",
    state: str | Sequence[str] = "x",
    *,
    trajectory: str | None = None,
    penalty: float | None = None,
    rtol: float = 1e-8,
    max_evaluations: int = MAX_EVALUATIONS,
) -> float:
    """Integrate ``d state / d time = f`` from the first row on; compare with all later rows.

    Args:
        f: The fitted rate of the one state; or one rate per state, by name or in their order, such
            as ``{"x": parse("v"), "v": f}``. A grouped parameter has the value of the one group to
            which all rows of a trajectory belong.
        context: Data with the time, the states (one number per sample, or one per node) and what
            else the rates name: columns are interpolated linearly in time.
        time: Column of times.
        state: Column of the state, or several.
        trajectory: Column that tells several trajectories apart; without it all rows are one.
        penalty: What to return if a trajectory diverges, instead of no value.
        rtol: Relative tolerance of the integration; absolute is a thousandth of it, times the
            largest measured value of a state.
        max_evaluations: Most evaluations of the rates for one trajectory.

    Returns:
        Root mean square of all differences but those of the first rows, which are given; over all
        states together, so that they should be of one unit. `Missing`, with the reason, if a
        trajectory diverges, times are not increasing, or there is nothing to compare.

    Raises:
        DataError: There is no such column, or it holds no numbers.
        FormulaError: A rate cannot be evaluated, or there is not one for each state.
    """
    names = [state] if isinstance(state, str) else list(state)
    rates = as_rates(f, names)
    times = _numbers(context, time)
    states = {name: _numbers(context, name) for name in names}
    if times.ndim != 1:
        raise DataError(f"the time {time!r} has shape {times.shape}; one per sample is needed")
    total, count = 0.0, 0
    try:
        for rows in _trajectories(context, trajectory):
            _check_times(time, times[rows], rows, trajectory)
            observed = {name: values[rows] for name, values in states.items()}
            _check_states(observed, rows)
            own = {name: _ungrouped(rate, context, rows) for name, rate in rates.items()}
            course = integrate_ODE(
                own,
                {name: values[0] for name, values in observed.items()},
                times[rows],
                state=names,
                time=time,
                around=_surroundings(context, rows, times, {time, *names}, own),
                rtol=rtol,
                atol={name: _scale(values) * 1e-3 * rtol for name, values in states.items()},
                max_evaluations=max_evaluations,
            )
            if course.reason is not None:
                return _diverged(course.reason, rows, trajectory, penalty)
            for name, values in observed.items():
                with np.errstate(over="ignore"):
                    total += float(np.sum(np.square(course.states[name][1:] - values[1:])))
                count += values[1:].size
    except _NoValueError as none:
        return none.value
    if not math.isfinite(total):
        return Missing("overflow", "the squared differences are too large for a float")
    return math.sqrt(total / count)


def _diverged(
    reason: tuple[str, str], rows: Rows, trajectory: str | None, penalty: float | None
) -> float:
    if penalty is not None:
        return float(penalty)
    code, message = reason
    which = "" if trajectory is None else f"the trajectory that begins in row {rows[0]} "
    return Missing(code, which + message)


def _numbers(context: AgentContext, name: str) -> Array:
    if name not in context.data:
        raise DataError(f"the data have no column {name!r}{did_you_mean(name, context.data)}")
    values = context.data[name]
    if values.dtype.kind not in "iuf" or name not in context.aligned():
        raise DataError(f"column {name!r} must hold numbers, one row per sample")
    return np.asarray(values, np.float64)


def _labels(context: AgentContext, name: str) -> NDArray[Any]:
    if name not in context.data:
        raise DataError(f"the data have no column {name!r}{did_you_mean(name, context.data)}")
    if context.data.shape(name) != (context.n_samples,):
        raise DataError(f"column {name!r} must hold one label per sample")
    return context.data[name]


def _trajectories(context: AgentContext, name: str | None) -> list[Rows]:
    if name is None:
        return [np.arange(context.n_samples)]
    by_label: dict[object, list[int]] = {}
    for row, label in enumerate(_labels(context, name).tolist()):
        by_label.setdefault(label, []).append(row)
    return [np.array(rows) for rows in by_label.values()]


def _check_times(name: str, times: Array, rows: Rows, trajectory: str | None) -> None:
    if len(times) < 2:
        raise _NoValueError(
            "too_few_rows", f"a trajectory of {len(times)} row has nothing to compare with"
        )
    bad = np.flatnonzero(~np.isfinite(times))
    if bad.size:
        raise _NoValueError("undefined_time", f"{name!r} is {times[bad[0]]} in row {rows[bad[0]]}")
    steps = np.diff(times)
    if (steps > 0).all():
        return
    first = int(np.flatnonzero(steps <= 0)[0]) + 1
    advice = "" if trajectory else "; several trajectories are told apart by a column `trajectory`"
    if steps[first - 1] == 0:
        raise _NoValueError(
            "duplicate_times",
            f"rows {rows[first - 1]} and {rows[first]} are both at {name} = {times[first]:.6g}"
            + advice,
        )
    raise _NoValueError(
        "unsorted_times",
        f"{name!r} goes back from {times[first - 1]:.6g} to {times[first]:.6g} in row "
        f"{rows[first]}{advice}",
    )


def _check_states(observed: Mapping[str, Array], rows: Rows) -> None:
    for name, values in observed.items():
        bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
        if bad.size:
            raise _NoValueError("undefined_state", f"{name!r} is not finite in row {rows[bad[0]]}")


def _ungrouped(rate: Expression, context: AgentContext, rows: Rows) -> Expression:
    """Return a rate with each grouped parameter replaced by its value for these rows."""
    values: dict[Expression | str, Expression | float] = {}
    for node in rate.iter_preorder():
        if not isinstance(node, GroupedParameter):
            continue
        labels = _labels(context, node.label)[rows].tolist()
        value = node.values.get(labels[0], node.default)
        if any(label != labels[0] for label in labels):
            raise ExpressionError(
                f"grouped parameter {node.name!r}: {node.label!r} changes along a trajectory; a "
                "rate has one value at every time"
            )
        if value is None:
            raise _NoValueError(
                "no_group_value", f"{node.name!r} has no value for {node.label} = {labels[0]!r}"
            )
        values[node] = value
    return rate.replace(values) if values else rate


def _surroundings(
    context: AgentContext,
    rows: Rows,
    times: Array,
    known: set[str],
    rates: Mapping[str, Expression],
) -> Surroundings:
    aligned = context.aligned()
    named = {name for rate in rates.values() for name in rate.variables} - known
    # Formulas name relations without counting them among their variables.
    named |= {*context.relation_names}
    wanted = [name for name in context.data if name in named]
    return Surroundings(
        courses={
            name: (times[rows], np.asarray(context.data[name], np.float64)[rows])
            for name in wanted
            if name in aligned
        },
        shared={name: context.data[name] for name in wanted if name not in aligned},
        relation_names=tuple(name for name in context.relation_names if name in wanted),
        structures={name: of for name, of in context.structures.items() if name in wanted},
        num_nodes=context.num_nodes,
    )


def _scale(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(np.max(np.abs(finite), initial=0.0)) or 1.0

"""Integrating ordinary differential equations whose right-hand sides are formulas.

An explicit method (DOP853) goes first, as most systems are not stiff and it is the quickest there.
One that takes too many evaluations is given to LSODA, which turns to implicit steps where the
system is stiff. Proposed formulas are mostly wrong, so that divergence is an ordinary end here, and
told by a reason; the work is bounded by a count of evaluations, never by the clock.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srh.engine import Expression
from srh.errors import DataError
from srh.evaluator.utils.rates import States, Surroundings, as_rates, make_system
from srh.text import one_line

Array = NDArray[np.float64]
System = Callable[[float, Array], Array]

MAX_EVALUATIONS = 20_000
"""Evaluations of the right-hand side that one trajectory may take."""

# What DOP853 may use of them, before the system counts as stiff.
_EXPLICIT_SHARE = 0.25
# The code of LSODA keeps its state outside the call in some versions of SciPy.
_LSODA = threading.Lock()


@dataclass(frozen=True)
class Trajectory:
    """States over time.

    Attributes:
        times: ``(n,)``.
        states: By name ``(n,)``, or ``(n, nodes)``; NaN from where the integration ended.
        evaluations: How often the right-hand side was evaluated.
        reason: Why it did not come to the end, as ``(code, message)``; None if it did.
    """

    times: Array
    states: Mapping[str, Array]
    evaluations: int
    reason: tuple[str, str] | None = None


def integrate_ODE(  # noqa: N802, PLR0913
    f: Expression | Mapping[str, Expression] | Sequence[Expression],
    initial: ArrayLike | Mapping[str, ArrayLike],
    times: ArrayLike,
    *,
    state: str | Sequence[str] = "x",
    time: str = "t",
    around: Surroundings | None = None,
    rtol: float = 1e-8,
    atol: float | Mapping[str, float] | None = None,
    max_evaluations: int = MAX_EVALUATIONS,
) -> Trajectory:
    """Integrate ``d state / d time = f``.

    Args:
        f: The rate of the one state; or one rate per state, by name or in their order. Every
            parameter is bound.
        initial: Value of the state at ``times[0]``; or one per state, by name or in their order. A
            vector is one state with a value per node.
        times: When to tell the state: finite and increasing, shape (n,) with n >= 1.
        state: Name of the state, or of several.
        time: Name of the time in formulas.
        around: Other columns that formulas name.
        rtol: Relative tolerance of a step.
        atol: Absolute tolerance, one or by state; unless given, a thousandth of ``rtol`` times the
            size of the initial state (or 1, where that is zero).
        max_evaluations: Most evaluations of the right-hand side.

    Returns:
        The trajectory; if it diverges, as far as it came, with the reason.

    Raises:
        DataError: ``times`` are not increasing, or the initial state is not finite.
        FormulaError: A formula cannot be evaluated, or there is not one for each state.
    """
    names = [state] if isinstance(state, str) else list(state)
    rates = as_rates(f, names)
    start = _initial(initial, names)
    when = np.asarray(times, np.float64)
    if when.ndim != 1 or not when.size or not np.isfinite(when).all() or (np.diff(when) <= 0).any():
        raise DataError("times must be finite and increasing numbers, shape (n,) with n >= 1")
    states = States.of(start)
    system = make_system(rates, states, time, around or Surroundings())
    vector = np.concatenate([value.reshape(-1) for value in start.values()])
    tolerances = np.concatenate(
        [np.full(value.size, _tolerance(atol, name, value, rtol)) for name, value in start.items()]
    )
    run = _Run(system, vector, when, rtol, tolerances, max_evaluations)
    with np.errstate(all="ignore"):
        found, reason = run.integrate()
    told = {name: found[:, place] for name, place in states.places.items()}
    return Trajectory(when, told, run.evaluations, reason)


class _StoppedError(Exception):
    """Control flow: the right-hand side ends the integration."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.reason = code, message


class _Run:
    """One integration, with what it has used."""

    def __init__(
        self,
        system: System,
        vector: Array,
        times: Array,
        rtol: float,
        atol: Array,
        limit: int,
    ) -> None:
        self.evaluations = 0
        self._system, self._vector, self._times = system, vector, times
        self._rtol, self._atol, self._limit = rtol, atol, limit
        self._allowed = limit

    def integrate(self) -> tuple[Array, tuple[str, str] | None]:
        """Return the states ``(n, size)``, and why they end early if they do."""
        if len(self._times) == 1:
            return self._vector[None, :], None
        self._allowed = int(self._limit * _EXPLICIT_SHARE)
        found, reason = self._solve("DOP853")
        if reason is not None and reason[0] in ("too_many_evaluations", "undefined_rate"):
            self._allowed = self._limit
            with _LSODA:
                found, reason = self._solve("LSODA")
        return found, reason

    def _solve(self, method: str) -> tuple[Array, tuple[str, str] | None]:
        from scipy.integrate import solve_ivp

        whole = np.full((len(self._times), len(self._vector)), np.nan)
        whole[0] = self._vector
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = solve_ivp(
                    self._rate,
                    (self._times[0], self._times[-1]),
                    self._vector,
                    method=method,
                    t_eval=self._times,
                    rtol=self._rtol,
                    atol=self._atol,
                )
        except _StoppedError as stopped:
            return whole, stopped.reason
        reached = np.reshape(result.y, (len(self._vector), -1)).T  # a bare list if it is empty
        whole[1 : len(reached)] = reached[1:]
        if result.success and np.isfinite(whole).all():
            return whole, None
        last = self._times[max(len(reached) - 1, 0)]
        return whole, ("diverged", f"diverged after {last:.6g}: {one_line(result.message)}")

    def _rate(self, t: float, vector: Array) -> Array:
        self.evaluations += 1
        if self.evaluations > self._allowed:
            raise _StoppedError(
                "too_many_evaluations",
                f"took more than {self._allowed} evaluations up to {t:.6g}",
            )
        derivative = self._system(t, vector)
        if not math.isfinite(np.add.reduce(derivative)):  # NaN and infinities stay in a sum
            raise _StoppedError(
                "undefined_rate", f"the right-hand side is not a finite number at {t:.6g}"
            )
        return derivative


def _initial(
    initial: ArrayLike | Mapping[str, ArrayLike], names: Sequence[str]
) -> dict[str, Array]:
    if isinstance(initial, Mapping):
        given = [initial[name] for name in names if name in initial]
    elif len(names) == 1:
        given = [initial]
    else:
        given = list(np.asarray(initial, np.float64))
    if len(given) != len(names):
        raise DataError(f"give an initial value for each of the states {', '.join(names)}")
    start = {name: np.asarray(value, np.float64) for name, value in zip(names, given, strict=True)}
    for name, value in start.items():
        if value.ndim > 1 or not np.isfinite(value).all():
            raise DataError(f"the initial value of {name!r} must be a finite number or a vector")
    return start


def _tolerance(
    atol: float | Mapping[str, float] | None, name: str, value: Array, rtol: float
) -> float:
    if isinstance(atol, Mapping):
        return float(atol[name])
    if atol is not None:
        return float(atol)
    return 1e-3 * rtol * (float(np.max(np.abs(value), initial=0.0)) or 1.0)

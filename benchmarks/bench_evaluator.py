"""What the evaluation path of one formula takes, in one process, and what each part of it does.

The path: both views, the fit of a three-parameter formula on the training rows, ten metrics on both
parts, diagnostics. Integration is compared with `solve_ivp` on a plain NumPy function of the same
tolerance. Everything is measured turn by turn in one run; numbers of one thread.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as in the processes that score trials

import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from srh.context import AgentContext
from srh.engine import Expression, Symbol, parse
from srh.evaluator import (
    DefaultEvaluator,
    assess_formula,
    diagnose,
    fit_equation,
    score_equation,
    utils,
)

ROUNDS = 9
# Formulas per second that the whole path is meant to reach.
WANTED = {1_000: 400, 100_000: 40}
FORMULAS = {
    "linear: a x**1.5 + b z + c": "param('a')*x**1.5 + param('b')*z + param('c')",
    "exponential: a exp(b x) + c": "param('a')*exp(param('b')*x) + param('c')",
}


def data(n: int, formula: str) -> AgentContext:
    rng = np.random.default_rng(0)
    x, z = rng.uniform(1, 5, n), rng.uniform(1, 5, n)
    y = 2 * np.exp(-0.7 * x) + 1 if "exp" in formula else 2 * x**1.5 + 0.3 * z + 1
    columns = {"x": x, "z": z, "y": y + 0.01 * rng.normal(size=n)}
    return AgentContext(columns, "y", evaluator=DefaultEvaluator)


def parts(n: int, text: str) -> dict[str, Callable[[], object]]:
    """Return the work of each part, by name."""
    context, f, y = data(n, text), parse(text), Symbol("y")
    train = context.train_split
    fitted = fit_equation(f, y, train).expression

    class Known(DefaultEvaluator):
        @classmethod
        def fit(cls, *_: object) -> Expression:
            return fitted

    return {
        "the whole path": lambda: assess_formula(f, context),
        "  without the fit": lambda: assess_formula(f, context, evaluator=Known),
        "  fit": lambda: fit_equation(f, y, train),
        "  metrics, training rows": lambda: score_equation(fitted, y, train),
        "  diagnostics": lambda: diagnose(fitted, y, train),
        "  formula alone, training rows": lambda: fitted.evaluate(train),
        "  a new split": lambda: DefaultEvaluator.split(context)["train"].data["x"],
    }


def medians(works: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Return seconds per call: the median over rounds in which the works take turns."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(ROUNDS):
        for name, work in works.items():
            started = time.perf_counter()
            for _ in range(repeats):
                work()
            times[name].append((time.perf_counter() - started) / repeats)
    return {name: statistics.median(found) for name, found in times.items()}


def show_path(n: int, title: str, text: str) -> None:
    times = medians(parts(n, text), max(1, 20_000 // n))
    print(f"\n{f'{n:,} rows, {title}':50} {'ms':>8} {'per s':>8}")
    for name, seconds in times.items():
        wanted = f"  (wanted: {WANTED[n]})" if name == "the whole path" else ""
        print(f"{name:50} {1000 * seconds:8.3f} {1 / seconds:8.0f}{wanted}")


def show_integration() -> None:
    f = parse("param('r', value=0.9)*x*(1 - x/param('K', value=10))")
    times = np.linspace(0, 20, 1000)
    rate, capacity = 0.9, 10.0

    def system(_t: float, x: np.ndarray) -> np.ndarray:
        return rate * x * (1 - x / capacity)

    tolerance = {"rtol": 1e-8, "atol": 5e-12}
    works: dict[str, Callable[[], object]] = {
        f"solve_ivp, {method}": lambda method=method: solve_ivp(
            system, (0, 20), [0.5], method=method, t_eval=times, **tolerance
        )
        for method in ("DOP853", "RK45")
    }
    works["integrate_ODE"] = lambda: utils.integrate_ODE(f, 0.5, times, **tolerance)
    found = medians(works, 5)
    reference = found["solve_ivp, DOP853"]
    print(f"\n{'logistic growth at 1,000 times':50} {'ms':>8} {'ratio':>8}")
    for name, seconds in found.items():
        print(f"{name:50} {1000 * seconds:8.2f} {seconds / reference:8.2f}")


def main() -> None:
    for n in WANTED:
        for title, text in FORMULAS.items():
            show_path(n, title, text)
    show_integration()


if __name__ == "__main__":
    main()

"""How surely and how fast constants are found: one table, ratios of processor times of one run.

The reference is one `scipy.optimize.minimize(method="BFGS")` with numeric gradients, started at
1.0, on the same compiled formula. It loses many of the forms; its time counts all the same.
Arguments: number of data seeds of the forms (default 5) and of seeds for NIST's problems (10).
"""

from __future__ import annotations

import statistics
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from srh.engine.columns import read_table
from srh.engine.fit import FitResult, fit
from srh.engine.program import compile_program

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from fit_cases import EXACT, FORMS, NIST, Case, Problem

ROWS = 1000
NOISE = 0.01
# Both sides are timed so often, turn by turn; the shortest counts.
REPEATS = 3


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    what: str
    value: str
    wanted: str


def timed(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def with_noise(case: Case) -> np.ndarray:
    return case.target + NOISE * case.target.std() * case.rng.normal(size=len(case.target))


def reference(case: Case, target: np.ndarray) -> np.ndarray:
    """Minimise as an ordinary harness does; return its parameters."""
    program, table = compile_program(case.formula), read_table(case.formula, case.columns)

    def mean_square(theta: np.ndarray) -> float:
        residual = target - program.evaluate(table, theta)
        return float(residual @ residual) / len(residual)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(minimize(mean_square, np.ones(len(program.parameters)), method="BFGS").x)


def ratio(case: Case, target: np.ndarray, seed: int) -> float:
    """Return our time divided by the reference's."""
    own, other = [], []
    for _ in range(REPEATS):
        own.append(timed(lambda: fit(case.formula, target, case.columns, seed=seed)))
        other.append(timed(lambda: reference(case, target)))
    return min(own) / min(other)


def found_by_reference(case: Case) -> bool:
    program, table = compile_program(case.formula), read_table(case.formula, case.columns)
    residual = case.target - program.evaluate(table, reference(case, case.target))
    variation = float(np.sum((case.target - case.target.mean()) ** 2))
    return bool(residual @ residual < EXACT * variation)


def recovery(seeds: int, rows: int, scale: float) -> Line:
    found = 0
    for name in FORMS:
        for seed in range(seeds):
            case = Case(name, seed, rows, scale)
            found += case.found_by(fit(case.formula, case.target, case.columns, seed=seed))
    runs = len(FORMS) * seeds
    what = f"{len(FORMS)} forms found, {rows} rows, x times {scale:g}"
    return Line(what, f"{found}/{runs} = {found / runs:.1%}", ">= 98 %")


def speed(seeds: int) -> list[Line]:
    exact, noisy = [], []
    for name in FORMS:
        for seed in range(seeds):
            case = Case(name, seed, ROWS)
            exact.append(ratio(case, case.target, seed))
            noisy.append(ratio(case, with_noise(case), seed))
    solved = sum(found_by_reference(Case(name, 0, ROWS)) for name in FORMS)
    return [
        Line(
            "time / time of BFGS, exact data (median)", f"{statistics.median(exact):.2f}", "<= 0.5"
        ),
        Line("time / time of BFGS, 1 % noise (median)", f"{statistics.median(noisy):.2f}", "<= 5"),
        Line("forms that BFGS finds, for comparison", f"{solved}/{len(FORMS)}", ""),
    ]


def same(result: FitResult, case: Case) -> tuple[int, int]:
    """Count parameters with a standard error, and those within two of them from the truth."""
    errors = {key: e for key, e in result.standard_errors.items() if e is not None}
    inside = sum(
        abs(abs(result.parameters[key]) - abs(case.truth[key])) <= 2 * error
        for key, error in errors.items()
    )
    return inside, len(errors)


def coverage(seeds: int) -> list[Line]:
    inside = total = minima = 0
    for name in FORMS:
        for seed in range(seeds):
            case = Case(name, seed, ROWS)
            target = with_noise(case)
            free = fit(case.formula, target, case.columns, seed=seed)
            minima += free.loss <= float(np.sum((target - case.target) ** 2))
            # Of equivalent solutions (swapped terms) the truth's own can be compared with it.
            start = case.formula.bind_parameters(case.truth)
            hit, counted = same(fit(start, target, case.columns, seed=seed), case)
            inside, total = inside + hit, total + counted
    runs = len(FORMS) * seeds
    return [
        Line("1 % noise: at least as good as the truth", f"{minima}/{runs}", ""),
        Line("truth within two standard errors", f"{inside / total:.1%} of {total}", ">= 90 %"),
    ]


def certified(seeds: int) -> list[Line]:
    problems = [Problem(name) for name in NIST]
    solved, seconds = [], []
    for seed in range(seeds):
        results: list[FitResult] = []
        seconds.append(timed(lambda s=seed, r=results: r.extend(p.fit(s) for p in problems)))
        solved.append(sum(p.solved_by(r) for p, r in zip(problems, results, strict=True)))
    return [
        Line("NIST's 27 problems solved, default seed", f"{solved[0]}", "27"),
        Line(f"the same, least of {seeds} seeds", f"{min(solved)}", ">= 26"),
        Line(
            "processor seconds for all 27 (median of seeds)",
            f"{statistics.median(seconds):.1f}",
            "<= 5",
        ),
    ]


def main() -> None:
    given = [int(text) for text in sys.argv[1:]]
    seeds, nist_seeds = (given + [5, 10][len(given) :])[:2]
    settings = [(ROWS, 1.0), (ROWS, 1e3), (ROWS, 1e-3), (30, 1.0)]
    print(f"{'what':52} {'measured':>20}   wanted")
    for make in (
        lambda: certified(nist_seeds),
        lambda: [recovery(seeds, rows, scale) for rows, scale in settings],
        lambda: speed(seeds),
        lambda: coverage(seeds),
    ):
        for line in make():
            print(f"{line.what:52} {line.value:>20}   {line.wanted}", flush=True)


if __name__ == "__main__":
    main()

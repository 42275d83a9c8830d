"""Graph formulas against hand-written SciPy: ``python benchmarks/bench_graph.py``.

Kuramoto's oscillators on 1,000 nodes with 20,000 edges: each of 200 evaluations has new phases, as
in an integration. Both sides are timed in turns, in one process; what is printed is the median of
the ratios. The hand-written version gathers, takes sines and multiplies by a sparse matrix that it
made before the clock starts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

from srh.engine import parse

NODES, EDGES, TIMES, ROUNDS = 1_000, 20_000, 200, 15


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main() -> None:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, NODES, (EDGES, 2))
    omega = rng.normal(size=NODES)
    phases = rng.uniform(-np.pi, np.pi, (TIMES, NODES))
    target, source = edges.T.copy()
    incidence = sparse.csr_array((np.ones(EDGES), (target, np.arange(EDGES))), shape=(NODES, EDGES))
    coupling = 0.3
    formula = parse(f"omega + {coupling}*sum[j](A[i, j], sin(x[j] - x[i]))")

    def ours(x: np.ndarray) -> np.ndarray:
        return formula.evaluate({"x": x, "omega": omega, "A": edges})

    def by_hand(x: np.ndarray) -> np.ndarray:
        return omega + coupling * (incidence @ np.sin(x[source] - x[target]))

    def rounds(run: Callable[[np.ndarray], np.ndarray]) -> float:
        return seconds(lambda: [run(x) for x in phases])

    assert all(np.allclose(ours(x), by_hand(x)) for x in phases)
    ratios = [rounds(ours) / rounds(by_hand) for _ in range(ROUNDS)]
    print(f"Kuramoto, {NODES} nodes, {EDGES} edges, {TIMES} evaluations")
    low, high = min(ratios), max(ratios)
    print(
        f"  time / hand-written SciPy: {statistics.median(ratios):.2f} "
        f"({low:.2f} to {high:.2f}; 1.3 wanted)"
    )
    truth = formula.evaluate({"x": phases[0], "omega": omega, "A": edges})
    fit = parse("omega + param('K')*sum[j](A[i, j], sin(x[j] - x[i]))").fit(
        truth, {"x": phases[0], "omega": omega, "A": edges}
    )
    count, value = fit.n_evaluations, fit.parameters["K"]
    print(f"  fit of the coupling: {count} evaluations (4 wanted), K = {value}")
    batch = {"x": phases, "omega": omega, "A": edges}
    whole = [seconds(lambda: formula.evaluate(batch)) / rounds(by_hand) for _ in range(5)]
    print(f"  all {TIMES} at once / hand-written: {statistics.median(whole):.2f}")


if __name__ == "__main__":
    main()

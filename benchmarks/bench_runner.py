"""What one trial costs beside the imports that it cannot do without.

Every figure is a ratio against a reference command measured in the same run, turn by turn, because
machines differ and are noisy. Run it with `make bench`.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from srh.evaluation.batch import evaluate_source, make_request
from srh.project import find_project
from srh.tasks import load_task
from srh.trials import read_source

ROUNDS = 9
REFERENCE = "import numpy, scipy.optimize"


def command(*arguments: str) -> Callable[[], None]:
    def run() -> None:
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    return run


def seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    root = Path(__file__).parent.parent
    task = load_task(find_project(root), "kepler")
    source = read_source(root / "trials" / "kepler" / "right_law")
    request = make_request(task)
    works = {
        f"reference: {REFERENCE}": command("-c", REFERENCE),
        "import numpy": command("-c", "import numpy"),
        "import srh.engine": command("-c", "import srh.engine"),
        "srh --help": command("-m", "srh", "--help"),
        "one formula trial, cold, as its parent sees it": lambda: _evaluate(task, request, source),
    }
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            times[name].append(seconds(work))
    reference = times[f"reference: {REFERENCE}"]
    print(f"{'median of ' + str(ROUNDS) + ' rounds':48} {'seconds':>8} {'ratio':>6}")
    for name, measured in times.items():
        ratio = statistics.median(a / b for a, b in zip(measured, reference, strict=True))
        print(f"{name:48} {statistics.median(measured):8.3f} {ratio:6.2f}")


def _evaluate(task, request, source) -> None:
    result = evaluate_source(task, request, source).result
    if result.status != "ok":
        raise SystemExit(f"the trial failed: {result.error}")


if __name__ == "__main__":
    main()

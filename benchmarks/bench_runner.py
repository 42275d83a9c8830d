"""What a trial costs, as ratios against reference commands measured in the same run, turn by turn.

Machines differ and are noisy: only the ratios mean anything. Run it with `make bench`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil

from srh.environment import clean_environment
from srh.evaluation import evaluate_trial
from srh.evaluation.nurseries import nursery
from srh.sandbox.limits import Limits
from srh.sandbox.nursery import Order
from srh.sandbox.supervise import supervise

ROUNDS = 15
COLD_ROUNDS = 5
GROWTH_TRIALS = 1000
FOLD = [(list(range(800)), list(range(800, 1000)))]

MODEL = """
import joblib
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge


class Model:
    def fit(self, X, y):
        self.model = {model}.fit(X, y)

    def predict(self, X):
        return self.model.predict(X)

    def save(self, folder):
        joblib.dump(self.model, folder / "model.joblib")

    @classmethod
    def load(cls, folder):
        model = cls()
        model.model = joblib.load(folder / "model.joblib")
        return model
"""
MODELS = {
    "ridge": "Ridge()",
    "gradient boosting": "HistGradientBoostingRegressor(max_iter=30)",
    "forest": "RandomForestRegressor(n_estimators=20, random_state=0)",
}
FORKS = """
import os, statistics, time
times = []
for _ in range(41):
    started = time.perf_counter()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    times.append(time.perf_counter() - started)
print(statistics.median(times))
"""
OWN_WORK = """
import time
from pathlib import Path
import numpy as np

stored, place = np.load(data), Path(place)
X, y = stored["X"], stored["y"]
train, rows = np.arange(800), np.arange(800, 1000)
started = time.perf_counter()
"""
FITTING = """
model = Model()
model.fit(X[train], y[train])
model.save(place)
model.predict(X[rows])
print(time.perf_counter() - started)
"""
LOADING = """
model = Model.load(place)
for batch in (rows, rows[:1], rows[1:67], rows[67:]):
    model.predict(X[batch])
print(time.perf_counter() - started)
"""
BUSY = MODEL.format(model="Ridge()").replace(
    "    def predict",
    "        while __import__('time').process_time() < 1.0: pass\n\n    def predict",
    1,
)


class Bench:
    """A folder with data and trials, and the works that are measured."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        generator = np.random.default_rng(0)
        self.X = generator.normal(size=(1000, 8))
        self.y = self.X @ generator.normal(size=8) + 0.1 * generator.normal(size=1000)
        np.savez(folder / "data.npz", X=self.X, y=self.y)
        for name, model in MODELS.items():
            self.add(name, "model", MODEL.format(model=model))
        self.add("busy", "model", BUSY)
        linear = " + ".join(f"param('a{column}')*x{column}" for column in range(8))
        self.add("formula", "formula", linear)

    def add(self, name: str, kind: str, source: str) -> None:
        trial = self.folder / name
        trial.mkdir()
        (trial / "trial.toml").write_text(f'kind = "{kind}"\n')
        (trial / {"model": "model.py", "formula": "formula.txt"}[kind]).write_text(source)
        request = {
            "trial_dir": name,
            "dataset_path": "data.npz",
            "metrics": ["r2"],
            "partitions": FOLD,
            "tolerance": 1e-9,
        }
        (self.folder / f"{name}.json").write_text(json.dumps(request))

    def warm(self, name: str) -> Callable[[], None]:
        def run() -> None:
            data = self.folder / "data.npz"
            result = evaluate_trial(self.folder / name, data, ["r2"], FOLD, 1e-9, 60.0)
            if result.status != "ok":
                raise SystemExit(f"{name}: {result.error}")

        return run

    def cold(self, name: str) -> Callable[[], None]:
        names = (f"{name}.json", f"{name}.out")
        return self.command("-m", "srh.evaluation", *names)

    def command(self, *arguments: str) -> Callable[[], None]:
        def run() -> None:
            subprocess.run(
                [sys.executable, *arguments], check=True, capture_output=True, cwd=self.folder
            )

        return run

    def own_work(self, name: str) -> Callable[[], float]:
        """Return what takes the time of the trial's own work, in two fresh processes as needed."""

        def run() -> float:
            with tempfile.TemporaryDirectory() as place:
                return sum(
                    float(self.forked(MODEL.format(model=MODELS[name]) + OWN_WORK + part, place))
                    for part in (FITTING, LOADING)
                )

        return run

    def forked(self, code: str, place: str) -> bytes:
        """Return what code prints in a process of the template that nothing confines."""
        order = Order(
            entry="builtins:exec",
            arguments=(code, {"data": str(self.folder / "data.npz"), "place": place}),
            cwd=self.folder,
            environment=clean_environment(),
        )
        ended = supervise(nursery("code"), order, Limits())
        if ended.returncode != 0:
            raise SystemExit(ended.stderr.decode())
        return ended.stdout

    def bare_fork(self, kind: str) -> float:
        """Return the seconds of fork and wait, median, in a process like the template."""
        order = Order(
            entry="builtins:exec",
            arguments=(FORKS,),
            cwd=self.folder,
            environment=clean_environment(),
        )
        return float(supervise(nursery(kind), order, Limits()).stdout)


def medians(works: dict[str, Callable[[], float | None]], rounds: int) -> dict[str, float]:
    """Run works in turns and return the median seconds of each, as it says or as it takes."""
    for work in works.values():
        work()
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            started = time.perf_counter()
            said = work()
            times[name].append(time.perf_counter() - started if said is None else said)
    return {name: statistics.median(measured) for name, measured in times.items()}


def show(title: str, times: dict[str, float], reference: str) -> None:
    print(f"\n{title:58} {'ms':>8} {'ratio':>7}")
    for name, seconds in times.items():
        print(f"{name:58} {1000 * seconds:8.1f} {seconds / times[reference]:7.2f}")


def throughput(work: Callable[[], None], jobs: int, trials: int) -> float:
    started = time.perf_counter()
    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda _: work(), range(trials)))
    return trials / (time.perf_counter() - started)


def show_throughput(title: str, work: Callable[[], None], trials: int) -> None:
    one, two = (throughput(work, jobs, trials) for jobs in (1, 2))
    print(f"{title:58} {one:8.2f} {two:7.2f}  x{two / one:.2f}")


def conclude(cold: dict[str, float], warm: dict[str, float]) -> None:
    print()
    for model in MODELS:
        beside = warm[f"{model} trial, warm"] - warm[f"{model}, its own work in fresh processes"]
        print(f"{f'{model}: beside its own work':58} {1000 * beside:8.1f}")
    ratio = cold["ridge trial, cold"] / warm["ridge trial, warm"]
    print(f"{'ridge trial: cold / warm':58} {ratio:8.1f}")


def growth(work: Callable[[], None], trials: int) -> None:
    """Show what the parent and its template hold before and after many trials."""

    def held() -> dict[str, int]:
        own = psutil.Process()
        family = [own, *own.children(recursive=True)]
        return {
            "processes": len(family),
            "zombies": sum(one.status() == psutil.STATUS_ZOMBIE for one in family),
            "descriptors": sum(one.num_fds() for one in family),
            "memory (MiB)": sum(one.memory_info().rss for one in family) >> 20,
            "temporary files": len(os.listdir(tempfile.gettempdir())),
        }

    for _ in range(20):
        work()
    before = held()
    for _ in range(trials):
        work()
    after = held()
    print(f"\n{f'growth over {trials} trials':58} {'before':>8} {'after':>7}")
    for name, value in before.items():
        print(f"{name:58} {value:8} {after[name]:7}")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        bench = Bench(Path(name))
        small, large = "import numpy, scipy.optimize", "import sklearn.ensemble, scipy.optimize"
        cold = {
            small: bench.command("-c", small),
            large: bench.command("-c", large),
            "import numpy": bench.command("-c", "import numpy"),
            "import srh.engine": bench.command("-c", "import srh.engine"),
            "srh --help": bench.command("-m", "srh", "--help"),
            "formula trial, cold": bench.cold("formula"),
            "ridge trial, cold": bench.cold("ridge"),
        }
        cold_times = medians(cold, COLD_ROUNDS)
        show("cold", cold_times, small)
        warm = {
            "formula trial, warm": bench.warm("formula"),
        }
        warm |= {f"{model} trial, warm": bench.warm(model) for model in MODELS}
        warm |= {
            f"{model}, its own work in fresh processes": bench.own_work(model) for model in MODELS
        }
        bare = {
            "bare fork and wait, template of models": bench.bare_fork("code"),
            "bare fork and wait, template of formulas": bench.bare_fork("formula"),
        }
        warm_times = bare | medians(warm, ROUNDS)
        show("warm", warm_times, "bare fork and wait, template of models")
        conclude(cold_times, warm_times)
        show_throughput("busy models, trials per second, 1 and 2 jobs", bench.warm("busy"), 8)
        show_throughput("formulas, trials per second, 1 and 2 jobs", bench.warm("formula"), 80)
        growth(bench.warm("ridge"), GROWTH_TRIALS)


if __name__ == "__main__":
    main()

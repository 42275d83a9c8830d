from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap

import numpy as np
import psutil
import pytest

from srh.environment import clean_environment
from srh.evaluation import evaluate_trial, runner
from srh.evaluation.nurseries import close_all, nursery
from srh.sandbox.limits import Limits
from srh.sandbox.nursery import Nursery, Order
from srh.sandbox.supervise import supervise

FOLDS = [(list(range(30)), list(range(30, 40))), (list(range(10, 40)), list(range(10)))]
MODEL = """
import numpy as np


class Model:
    def fit(self, X, y):
        self.weights = np.linalg.lstsq(X, y, rcond=None)[0]

    def predict(self, X):
        return X @ self.weights

    def save(self, folder):
        np.save(folder / "weights.npy", self.weights)

    @classmethod
    def load(cls, folder):
        model = cls()
        model.weights = np.load(folder / "weights.npy")
        return model
"""


@pytest.fixture
def place(tmp_path):
    generator = np.random.default_rng(3)
    X = generator.normal(size=(40, 2))
    np.savez(tmp_path / "data.npz", X=X, y=X @ [2.0, -1.0] + 0.1 * generator.normal(size=40))
    trial = tmp_path / "model"
    trial.mkdir()
    (trial / "trial.toml").write_text('kind = "model"\n')
    (trial / "model.py").write_text(MODEL)
    formula = tmp_path / "formula"
    formula.mkdir()
    (formula / "trial.toml").write_text('kind = "formula"\n')
    (formula / "formula.txt").write_text("param('a')*x0 + param('b')*x1\n")
    return tmp_path


def evaluate(place, kind):
    return evaluate_trial(place / kind, place / "data.npz", ["r2", "rmse"], FOLDS, 1e-9, 30.0)


@pytest.mark.parametrize("kind", ["model", "formula"])
def test_by_hand_cold_and_warm_are_the_same_bits(place, kind):
    warm = [evaluate(place, kind) for _ in range(2)]
    request = {
        "trial_dir": kind,
        "dataset_path": "data.npz",
        "metrics": ["r2", "rmse"],
        "partitions": FOLDS,
        "tolerance": 1e-9,
    }
    (place / "in.json").write_text(json.dumps(request))
    subprocess.run(
        [sys.executable, "-m", "srh.evaluation", "in.json", "out.json"], cwd=place, check=True
    )
    cold = json.loads((place / "out.json").read_text())
    assert cold["status"] == "ok"
    assert cold["metrics"] == warm[0].metrics == warm[1].metrics
    assert cold["per_fold"] == warm[0].per_fold == warm[1].per_fold


@pytest.mark.parametrize("kind", ["model", "formula"])
def test_a_template_that_was_killed_is_replaced(place, kind):
    before = evaluate(place, kind)
    old = nursery("code" if kind == "model" else "formula")
    psutil.Process(old._process.pid).kill()
    after = evaluate(place, kind)
    assert (after.status, after.metrics) == ("ok", before.metrics)
    assert not old.alive


def test_templates_that_keep_dying_are_our_own_failure(place, monkeypatch):
    used = []

    def kill_it(nursery, order, limits):
        used.append(nursery)
        psutil.Process(nursery._process.pid).kill()
        return supervise(nursery, order, limits)

    monkeypatch.setattr(runner, "supervise", kill_it)
    result = evaluate(place, "formula")
    assert result.outcome == "harness"
    assert len(set(map(id, used))) == 2
    assert all(not one.alive for one in used)


def test_a_process_that_was_forked_does_not_use_its_parents(place):
    evaluate(place, "formula")
    pid = os.fork()
    if pid == 0:
        try:
            ok = evaluate(place, "formula").status == "ok"
            close_all()
            os._exit(0 if ok else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert evaluate(place, "formula").status == "ok"


def test_formulas_are_judged_without_what_only_models_need():
    names = ("sklearn", "sympy", "pandas", "scipy.stats", "joblib", "typer", "rich")
    code = f"import sys; print([name for name in {names!r} if name in sys.modules])"
    order = Order(
        entry="builtins:exec", arguments=(code,), cwd="/", environment=clean_environment()
    )
    assert supervise(nursery("formula"), order, Limits()).stdout == b"[]\n"


def test_siblings_draw_different_numbers(tmp_path):
    code = "import random, numpy; print(random.random(), numpy.random.random())"
    order = Order(
        entry="builtins:exec", arguments=(code,), cwd=tmp_path, environment=clean_environment()
    )
    drawn = [supervise(nursery("code"), order, Limits()).stdout.split() for _ in range(2)]
    assert drawn[0][0] != drawn[1][0]
    assert drawn[0][1] != drawn[1][1]


SCORER = """
    import os, socket
    from pathlib import Path
    from srh.sandbox.limits import Limits
    from srh.sandbox.lockdown import lock_scorer

    def attempt(act):
        try:
            act()
        except OSError as error:
            return os.strerror(error.errno)
        return "done"

    if {locked}:
        lock_scorer([Path("given")], [Path("results")], Limits(), keep=(0, 1, 2))
    print(*(attempt(act) for act in (
        lambda: open("given/data").read(),
        lambda: open("results/new", "w").write("x"),
        lambda: open("given/data", "a").write("x"),
        lambda: open("secret").read(),
        lambda: open("elsewhere", "w").write("x"),
        lambda: socket.socket(),
        lambda: os.fork() or os._exit(0),
        lambda: os.kill(os.getppid(), 0),
    )), sep=", ")
"""


@pytest.mark.parametrize("locked", [True, False])
def test_a_scorer_gives_up_what_judging_does_not_take(tmp_path, locked):
    for name in ("given", "results"):
        (tmp_path / name).mkdir()
    (tmp_path / "given" / "data").write_text("x")
    (tmp_path / "secret").write_text("x")
    order = Order(
        entry="builtins:exec",
        arguments=(textwrap.dedent(SCORER).format(locked=locked), {}),
        cwd=tmp_path,
        environment=clean_environment(),
    )
    ended = supervise(nursery("formula"), order, Limits())
    assert ended.returncode == 0, ended.stderr.decode()
    free = "done, done, done, done, done, done, done, done"
    bound = (
        "done, done, Permission denied, Permission denied, Permission denied, "
        "Address family not supported by protocol, No child processes, No such process"
    )
    assert ended.stdout.decode().strip() == (bound if locked else free)


def test_nothing_that_a_template_holds_is_open_in_what_it_forks(tmp_path):
    code = "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"
    made = Nursery(["gc:collect"], clean_environment(), scratch=True)
    order = Order(
        entry="builtins:exec", arguments=(code,), cwd=tmp_path, environment=clean_environment()
    )
    seen = supervise(made, order, Limits()).stdout
    made.close()
    # 3 is the listing's own; 100 and more are the prepared grants, which locking down uses up.
    assert seen in (b"[0, 1, 2, 3]\n", b"[0, 1, 2, 3, 100]\n")

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pytest

from srh.context import DataSpec
from srh.errors import DataError, MetricError, SrhError
from srh.evaluation import evaluate_trial
from srh.evaluation.batch import make_request
from srh.evaluation.records import portable_request
from srh.sandbox.limits import Limits
from srh.tasks import load_task
from srh.trials import Trial
from support import add_trial, is_running

FOLDS = [(list(range(20, 40)), list(range(20))), (list(range(20)), list(range(20, 40)))]
METRICS = ["rmse", "r2", "complexity"]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files that nobody else uses."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return folder


def evaluate(project, trial="right", **options):
    arguments = {"metrics": METRICS, "partitions": FOLDS, "tolerance": 1e-9, "timeout": 30.0}
    return evaluate_trial(
        project.trials / "line" / trial,
        project.tasks / "line" / "data.csv",
        **{**arguments, **options},
    )


def test_a_formula_trial_is_scored_and_fitted(project):
    result = evaluate(project)
    assert (result.status, result.outcome, result.error) == ("ok", "ok", None)
    assert result.metrics["rmse"] < 0.02
    assert result.metrics["r2"] > 0.999
    assert result.roundtrip_ok
    assert [set(fold) for fold in result.per_fold] == [set(METRICS)] * 2
    assert result.fitted.parameters["a"] == pytest.approx(2, abs=0.01)
    assert result.fitted.parameters["b"] == pytest.approx(1, abs=0.01)
    assert 0 < result.fitted.standard_errors["a"] < 0.01
    assert len(result.fitted.per_fold) == 2
    assert result.usage.wall_s > 0
    assert result.usage.peak_memory_mb > 1
    assert result.provenance.versions["numpy"] == np.__version__
    assert result.provenance.sandbox == "none needed"


def test_nothing_is_left_in_the_trial_folder_or_the_temporary_one(project, temporary):
    evaluate(project)
    names = sorted(entry.name for entry in (project.trials / "line" / "right").iterdir())
    assert names == ["formula.txt", "trial.toml"]
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("formula", "outcome", "message"),
    [
        ("x +", "error", "formula.txt: "),
        ("z + 1", "error", "z"),
        ("y", "error", "y"),
        ("y + 0*x", "error", "y"),
        ("log(x - 5)", "error", "the fit on the training rows failed: the formula is undefined"),
        ("sqrt(x - 4.9)", "bad_result", "not a finite number in 20 of 20 validation rows"),
        ("__import__('os').system('true')", "error", "formula.txt: "),
        ("param('a')*(x[i] - mean[k](x[k]))", "error", "each row of this task stands alone"),
        ("param('a')*delay(x, 1)", "error", "each row of this task stands alone"),
    ],
)
def test_a_bad_formula_is_a_failed_trial_with_its_reason(project, formula, outcome, message):
    add_trial(project, "bad", formula)
    result = evaluate(project, "bad")
    assert (result.status, result.outcome) == ("failed", outcome)
    assert message in result.error
    assert result.metrics == dict.fromkeys(METRICS)
    assert all(score.status == "error" for score in result.scores.values())


def test_text_of_a_formula_cannot_reach_the_terminal_through_an_error(project):
    add_trial(project, "poison", "x + \x1b[31m\u202eevil")
    error = evaluate(project, "poison").error
    assert "\x1b" not in error
    assert "\u202e" not in error


def test_a_formula_that_is_not_text_fails(project):
    folder = add_trial(project, "binary", "x")
    (folder / "formula.txt").write_bytes(b"\xff\xfe")
    result = evaluate(project, "binary")
    assert (result.outcome, result.error) == ("error", "formula.txt: not UTF-8 text")


def test_an_unknown_metric_is_refused_before_any_child_starts(project):
    started = time.monotonic()
    with pytest.raises(MetricError, match="unknown metric 'rmsee'"):
        evaluate(project, metrics=["rmsee"])
    assert time.monotonic() - started < 0.1


def test_data_that_are_not_there_are_the_askers_mistake(project):
    with pytest.raises(DataError, match="cannot be read"):
        evaluate_trial(project.trials / "line" / "right", "nowhere.csv", ["r2"], FOLDS, 0.1, 5.0)


def test_rows_out_of_range_are_a_loud_harness_outcome(project):
    result = evaluate(project, partitions=[([0, 1, 2], [99])])
    assert result.outcome == "harness"
    assert "99" in result.error


@pytest.mark.parametrize("suffix", ["npz", "joblib"])
def test_arrays_need_no_data_section(project, tmp_path, suffix):
    x = np.linspace(0, 5, 30)
    path = tmp_path / f"data.{suffix}"
    if suffix == "npz":
        np.savez(path, X=x[:, None], y=3 * x)
    else:
        import joblib

        joblib.dump((x[:, None], 3 * x), path)
    trial = add_trial(project, "arrays", "param('k')*x0")
    folds = [(list(range(20)), list(range(20, 30)))]
    result = evaluate_trial(trial, path, ["rmse"], folds, 1e-9, 30.0)
    assert result.status == "ok", result.error
    assert result.metrics["rmse"] < 1e-12


def test_a_csv_without_task_needs_its_target_named(project, tmp_path):
    path = tmp_path / "lonely.csv"
    path.write_text("x,y\n" + "\n".join(f"{i},{2 * i}" for i in range(40)) + "\n")
    trial = project.trials / "line" / "right"
    result = evaluate_trial(trial, path, ["rmse"], FOLDS, 1e-9, 30.0)
    assert result.outcome == "harness"
    assert "target" in result.error
    named = evaluate_trial(trial, path, ["rmse"], FOLDS, 1e-9, 30.0, data=DataSpec(target="y"))
    assert named.status == "ok"


HARD = " + ".join(
    f"param('a{i}')*sin(param('b{i}')*x + param('c{i}')*exp(param('d{i}')*x))" for i in range(12)
)


def large_data(project, rows):
    path = project.tasks / "line" / "large.npz"
    generator = np.random.default_rng(0)
    np.savez(path, X=generator.uniform(0, 10, (rows, 1)), y=generator.normal(size=rows))
    return path


def test_wall_clock_ends_the_fit_of_a_hard_formula(project):
    trial = add_trial(project, "hard", HARD.replace("*x", "*x0"))
    data = large_data(project, 200_000)
    folds = [(list(range(190_000)), list(range(190_000, 200_000)))]
    started = time.monotonic()
    result = evaluate_trial(trial, data, ["rmse"], folds, 1e-9, 2.0)
    assert time.monotonic() - started < 4
    assert (result.outcome, result.error) == ("wall_timeout", "evaluation timed out")
    assert result.provenance is not None


def test_processor_time_ends_it_too(project):
    trial = add_trial(project, "hard", HARD.replace("*x", "*x0"))
    data = large_data(project, 200_000)
    folds = [(list(range(190_000)), list(range(190_000, 200_000)))]
    result = evaluate_trial(trial, data, ["rmse"], folds, 1e-9, 60.0, limits=Limits(cpu_s=2))
    assert result.outcome == "cpu_timeout"
    assert "processor time limit of 2 s" in result.error
    assert result.usage.cpu_s < 3.5


def test_memory_beyond_the_limit_is_a_memory_outcome(project, tmp_path):
    # 2 x 12,500 nonlinear parameters on 100,000 rows: their Jacobian would take 20 GB.
    rows = 100_000
    labels = np.random.default_rng(0).integers(0, 12_500, (rows, 2))
    x = np.column_stack([np.linspace(0, 10, rows), labels])
    np.savez(tmp_path / "groups.npz", X=x, y=np.sin(x[:, 0]))
    formula = "exp(grouped_param(x1, name='k')*x0) + exp(grouped_param(x2, name='m')*x0)"
    trial = add_trial(project, "groups", formula)
    folds = [(list(range(90_000)), list(range(90_000, 100_000)))]
    started = time.monotonic()
    result = evaluate_trial(trial, tmp_path / "groups.npz", ["rmse"], folds, 1e-9, 60.0)
    assert time.monotonic() - started < 20
    assert (result.outcome, result.status) == ("memory", "failed")
    assert result.error.startswith("memory limit of 2048 MiB exceeded")
    assert result.usage.peak_memory_mb < 2600
    assert evaluate(project).status == "ok", "the next trial is not disturbed"


def test_data_are_not_counted_against_a_trial(project):
    data = large_data(project, 4_000_000)  # 64 MB
    trial = add_trial(project, "small", "param('a')*x0")
    folds = [(list(range(1000)), list(range(1000, 2000)))]
    limits = Limits(memory_mb=140)
    result = evaluate_trial(trial, data, ["rmse"], folds, 1e-9, 60.0, limits=limits)
    assert result.status == "ok", result.error


def by_hand(folder, request, environment=None):
    return subprocess.run(
        [sys.executable, "-m", "srh.evaluation", request, "out.json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_child_by_hand_gives_the_same_numbers_in_any_environment(project, tmp_path):
    task = load_task(project, "line")
    trial = Trial("line", "right", project.trials / "line" / "right")
    request = make_request(task)
    (trial.folder / "request.json").write_bytes(
        portable_request(request, trial, task.data_path).encode()
    )
    parent = evaluate_trial(
        trial.folder,
        task.data_path,
        request.metrics,
        request.partitions,
        request.tolerance,
        30.0,
        data=request.data,
        limits=request.limits,
    )
    (tmp_path / "evil").mkdir()
    (tmp_path / "evil" / "numpy.py").write_text("raise SystemExit('shadowed')")
    environments = [
        None,
        {"OMP_NUM_THREADS": "2", "PYTHONHASHSEED": "7", "LANG": "C", "HOME": "/nonexistent"},
        {"PYTHONPATH": str(tmp_path / "evil"), "PYTHONSTARTUP": "/nowhere"},
    ]
    for environment in environments:
        ended = by_hand(trial.folder, "request.json", environment)
        assert (ended.returncode, ended.stderr) == (0, "")
        result = json.loads((trial.folder / "out.json").read_text())
        assert result["metrics"] == parent.metrics
        assert result["per_fold"] == parent.per_fold
        assert result["fitted"]["formula"] == parent.fitted.formula
        assert result["provenance"]["request"] == parent.provenance.request


def test_the_childs_own_folder_shadows_no_module(project):
    folder = project.trials / "line" / "right"
    (folder / "numpy.py").write_text("raise SystemExit('shadowed')")
    (folder / "in.json").write_text(json.dumps(seed_request(project)))
    assert by_hand(folder, "in.json").returncode == 0


def seed_request(project):
    return {
        "trial_dir": str(project.trials / "line" / "right"),
        "dataset_path": str(project.tasks / "line" / "data.csv"),
        "metrics": METRICS,
        "partitions": FOLDS,
        "tolerance": 1e-9,
    }


def test_a_request_with_the_five_keys_works_by_hand(project, tmp_path):
    (tmp_path / "in.json").write_text(json.dumps(seed_request(project)))
    assert by_hand(tmp_path, "in.json").returncode == 0
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["metrics"] == evaluate(project).metrics
    assert result["usage"]["wall_s"] > 0


def test_how_the_data_were_read_is_part_of_what_the_numbers_rest_on(project):
    before = evaluate(project).provenance.request
    task = project.tasks / "line" / "task.toml"
    task.write_text(task.read_text().replace("[data]", '[data]\nmissing = "drop"'))
    assert evaluate(project).provenance.request != before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"metrics": ["rsme"]}, "unknown metric 'rsme' (did you mean 'rmse'?)"),
        ({"metric": []}, "metric: unknown field (did you mean 'metrics'?)"),
        ({"dataset_path": "nowhere.csv"}, "the data file cannot be read"),
        ({"trial_dir": "nowhere"}, "does not exist"),
        ({"partitions": [[[0], [0]]]}, "partition"),
    ],
)
def test_a_wrong_request_by_hand_is_one_clear_message(project, tmp_path, change, message):
    (tmp_path / "in.json").write_text(json.dumps({**seed_request(project), **change}))
    ended = by_hand(tmp_path, "in.json")
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (tmp_path / "out.json").exists()


def test_usage_by_hand(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "srh.evaluation"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.startswith("usage: python -m srh.evaluation in.json out.json")


def test_killing_the_parent_leaves_nothing_behind(project, temporary):
    trial = add_trial(project, "hard", HARD.replace("*x", "*x0"))
    data = large_data(project, 200_000)
    code = f"""
import srh.evaluation as e
e.evaluate_trial({str(trial)!r}, {str(data)!r}, ["rmse"],
                 [(list(range(190_000)), list(range(190_000, 200_000)))], 1e-9, 60.0)
"""
    parent = subprocess.Popen([sys.executable, "-c", code])
    try:
        children = wait_for_children(parent.pid)
    finally:
        parent.kill()
        parent.wait()
    deadline = time.monotonic() + 2
    while any(map(is_running, children)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_running, children))
    (abandoned,) = temporary.iterdir()
    assert evaluate(project).status == "ok"
    assert not abandoned.exists()


def wait_for_children(pid):
    """Wait until the process has a child that has imported NumPy, and return its children."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        found = [int(child) for child in children.read_text().split()]
        for child in found:
            maps = Path(f"/proc/{child}/maps")
            if maps.exists() and "multiarray" in maps.read_text():
                return found
        time.sleep(0.05)
    raise AssertionError("no child appeared")


def test_a_scorer_that_dies_twice_is_the_trials_failure(project, monkeypatch):
    from srh.evaluation import runner
    from srh.sandbox.supervise import supervise

    attempts = []

    def kill_it(nursery, order, limits):
        attempts.append(order)
        suicide = dataclasses.replace(
            order, entry="builtins:exec", arguments=("import os; os.kill(os.getpid(), 11)",)
        )
        return supervise(nursery, suicide, limits)

    monkeypatch.setattr(runner, "supervise", kill_it)
    result = evaluate(project)
    assert len(attempts) == 2
    assert result.outcome == "signal"
    assert signal.Signals.SIGSEGV.name in result.error


def test_every_error_is_of_the_one_tree(project):
    with pytest.raises(SrhError):
        evaluate(project, "nowhere")


def test_a_formula_trial_loads_nothing_heavy(project, tmp_path):
    (tmp_path / "in.json").write_text(json.dumps(seed_request(project)))
    code = (
        "import sys; from srh.evaluation import __main__ as child;"
        "child.ensure_clean = lambda module, threads: None;"
        "assert child.main(['in.json', 'out.json']) == 0;"
        "print([m for m in ('sklearn', 'sympy', 'pandas', 'scipy.stats', 'joblib', 'typer', 'rich')"
        " if m in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ended.stdout == "[]\n"

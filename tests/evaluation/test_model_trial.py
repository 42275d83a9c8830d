from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from srh.context import DataSpec, digest_data
from srh.evaluation import evaluate_trial
from srh.evaluation.model_trial import step
from srh.evaluation.protocol import Request
from srh.evaluation.runner import run_request
from srh.sandbox.limits import Limits
from srh.trials import read_source

FOLD = [([row for row in range(60) if row % 3], list(range(0, 60, 3)))]
THREE_FOLDS = [
    ([row for row in range(60) if row % 3 != fold], list(range(fold, 60, 3))) for fold in range(3)
]

MEAN = """
import numpy as np


class Model:
    def fit(self, X, y):
        self.mean = float(y.mean())

    def predict(self, X):
        return np.full(len(X), self.mean)

    def save(self, folder):
        np.save(folder / "mean.npy", self.mean)

    @classmethod
    def load(cls, folder):
        model = cls()
        model.mean = float(np.load(folder / "mean.npy"))
        return model
"""


@pytest.fixture
def noise(tmp_path, monkeypatch):
    """A file of noise: 60 rows, three features, a target that depends on none of them."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    generator = np.random.default_rng(5)
    path = tmp_path / "data.npz"
    np.savez(path, X=generator.normal(size=(60, 3)), y=generator.normal(size=60))
    return path


def write_trial(noise, source, **files):
    folder = noise.parent / "trial"
    folder.mkdir(exist_ok=True)
    (folder / "model.py").write_text(textwrap.dedent(source), encoding="utf-8")
    for name, content in files.items():
        (folder / f"{name}.py").write_text(textwrap.dedent(content))
    return folder


def evaluate(noise, source, *, partitions=FOLD, limits=None, timeout=30.0, files=None, **options):
    folder = write_trial(noise, source, **(files or {}))
    limits = limits or Limits(cpu_s=10, memory_mb=500)
    return evaluate_trial(
        folder, noise, ["r2", "rmse"], partitions, 1e-9, timeout, limits=limits, **options
    )


def changed(before, after):
    assert before in MEAN
    return MEAN.replace(before, after)


def test_the_mean_of_noise_is_ok(noise):
    result = evaluate(noise, MEAN, partitions=THREE_FOLDS)
    assert (result.status, result.outcome, result.error) == ("ok", "ok", None)
    assert result.roundtrip_ok
    assert -0.3 < result.metrics["r2"] < 0.01
    assert result.scores["r2"].n_scored == 3
    assert result.usage.peak_memory_mb > 1
    assert list((noise.parent / "temporary").iterdir()) == []
    assert sorted(path.name for path in (noise.parent / "trial").iterdir()) == ["model.py"]


def test_the_same_numbers_again(noise):
    ridge = changed("np.full(len(X), self.mean)", "self.mean + 0.01 * X.sum(axis=1)")
    first, second = (evaluate(noise, ridge, partitions=THREE_FOLDS) for _ in range(2))
    assert first.metrics == second.metrics
    assert first.per_fold == second.per_fold


def test_arrays_arrive_plain_and_private(noise):
    source = changed(
        "self.mean = float(y.mean())",
        """self.mean = float(y.mean())
        for array in (X, y):
            assert type(array) is np.ndarray
            assert array.dtype == np.float64
            assert array.flags.c_contiguous and array.flags.aligned and array.flags.writeable
        assert X.shape == (40, 3) and y.shape == (40,)
        X[:] = y[:] = 0""",
    )
    assert evaluate(noise, source).error is None


def test_a_helper_is_imported(noise):
    source = changed("import numpy as np", "import numpy as np\nfrom helpers import centre")
    source = source.replace("float(y.mean())", "centre(y)")
    helpers = """
        def centre(y):
            return float(y.sum() / len(y)) + 100
    """
    result = evaluate(noise, source, files={"helpers": helpers})
    assert result.status == "ok", result.error
    assert result.metrics["rmse"] > 90


def test_an_edit_within_the_second_and_of_the_same_size_counts(noise):
    folder = write_trial(noise, MEAN)
    stamp = (folder / "model.py").stat()
    first = evaluate(noise, MEAN)
    edited = changed("y.mean()", "y.max( )")
    assert len(edited) == len(MEAN)
    (folder / "model.py").write_text(edited)
    os.utime(folder / "model.py", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    second = evaluate_trial(
        folder, noise, ["r2"], FOLD, 1e-9, 30.0, limits=Limits(cpu_s=10, memory_mb=500)
    )
    assert second.status == "ok", second.error
    assert second.metrics["r2"] < first.metrics["r2"] - 0.5
    assert second.provenance.trial != first.provenance.trial


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("np.full((len(X), 1), 0.5)", "predict returned shape (20, 1); (20,) is needed"),
        ("np.zeros(len(X) - 1)", "predict returned shape (19,); (20,) is needed"),
        ("0.5", "predict returned shape (); (20,) is needed"),
        ("np.full(len(X), None)", "predict returned object values; real numbers are needed"),
        ("None", "predict returned object values"),
        ("['0.5'] * len(X)", "predict returned <U3 values"),
        ("np.full(len(X), 1j)", "predict returned complex128 values"),
        ("np.full(len(X), True)", "predict returned bool values"),
        ("np.zeros(len(X), dtype='datetime64[s]')", "predict returned datetime64[s] values"),
        ("np.full(len(X), np.nan)", "not a finite number in 20 of 20 validation rows"),
        ("np.where(np.arange(len(X)) == 0, np.inf, 0)", "not a finite number in 1 of 20"),
        ("np.ma.masked_less(X[:, 0], 0)", "predict returned masked values"),
    ],
)
def test_malformed_predictions_are_refused_with_their_reason(noise, returned, reason):
    result = evaluate(noise, changed("np.full(len(X), self.mean)", returned))
    assert (result.status, result.outcome) == ("failed", "bad_result"), result.error
    assert reason in result.error
    assert result.metrics == {"r2": None, "rmse": None}


@pytest.mark.parametrize(
    ("returned", "shape"),
    [
        ("[self.mean] * len(X)", "a list"),
        ("np.zeros(len(X), dtype=np.int32)", "integers"),
        ("np.zeros(2 * len(X), dtype=np.float32)[::2]", "every other of smaller floats"),
    ],
)
def test_other_forms_of_real_numbers_are_taken(noise, returned, shape):
    result = evaluate(noise, changed("np.full(len(X), self.mean)", returned))
    assert result.status == "ok", (shape, result.error)


@pytest.mark.parametrize(
    ("source", "outcome", "reason"),
    [
        ("class Other: pass", "bad_result", "model.py defines no class Model"),
        ("Model = 3", "bad_result", "model.py defines no class Model"),
        (MEAN.replace("def save", "def store"), "bad_result", "class Model has no method save"),
        ("import nowhere_to_be_found", "error", "nowhere_to_be_found"),
        ("def broken(:", "error", "SyntaxError"),
        (MEAN.replace("np.save(", "print("), "error", "FileNotFoundError"),
    ],
)
def test_what_is_wrong_with_the_code_is_said(noise, source, outcome, reason):
    result = evaluate(noise, source)
    assert (result.outcome, result.reported) == (outcome, True)
    assert reason in result.error


def test_an_error_names_the_line_of_the_model(noise):
    result = evaluate(noise, changed("self.mean = float(y.mean())", "raise KeyError('petal')"))
    assert (result.outcome, result.error) == (
        "error",
        "KeyError: 'petal' (model.py, line 7, in fit)",
    )


def test_state_that_is_forgotten_fails_the_round_trip(noise):
    result = evaluate(noise, changed("float(np.load(", "1 + float(np.load("))
    assert result.outcome == "roundtrip"
    assert "after being saved and loaded" in result.error
    assert not result.roundtrip_ok


BY_BATCH = changed("np.full(len(X), self.mean)", "X[:, 0] - X[:, 0].mean()")


def test_predictions_that_depend_on_other_rows_are_refused(noise):
    result = evaluate(noise, BY_BATCH)
    assert result.outcome == "roundtrip"
    assert "depends on other rows" in result.error


def test_predictions_may_depend_on_other_rows_where_the_task_lets_them(noise):
    assert evaluate(noise, BY_BATCH, rowwise=False).outcome == "ok"


def test_the_order_of_rows_cannot_be_worked_out_from_what_a_contestant_is_told(noise):
    """Rows with other labels, all else equal, come in another order."""
    source = changed("return np.full(len(X), self.mean)", "raise ValueError(X[:, 0].tolist())")
    first = evaluate(noise, source).error
    assert evaluate(noise, source).error == first
    with np.load(noise) as stored:
        np.savez(noise, X=stored["X"], y=stored["y"] + np.arange(60) % 3 // 2)
    assert evaluate(noise, source).error != first


def test_no_frame_of_a_contestant_holds_the_path_of_the_data(noise):
    source = changed(
        "self.mean = float(y.mean())",
        """import sys
        frame, texts = sys._getframe(), []
        while frame is not None:
            texts += [repr(value) for value in frame.f_locals.values()]
            frame = frame.f_back
        found = [text for text in texts if PLACE in text and "contestants-" not in text]
        raise ValueError(found)""",
    )
    place = str(noise.parent)
    result = evaluate(noise, source.replace("PLACE", repr(place)))
    assert result.error.startswith("ValueError: [] ")


POISON = "\\x1b[31mred\\x1b]0;title\\x07 \\u202eevil\\u2066 \\x00 \\x08 \\udcff"


def test_what_a_model_says_reaches_nobody_unharmed(noise):
    source = changed(
        "self.mean = float(y.mean())",
        f"""import sys
        for stream in (sys.stdout, sys.stderr):
            stream.buffer.write("{POISON}".encode("utf-8", "surrogatepass"))
            stream.flush()
        raise ValueError("{POISON}" * 500)""",
    )
    folder = write_trial(noise, source)
    request = Request(
        trial_dir=".",
        dataset_path=str(noise),
        metrics=["r2"],
        partitions=FOLD,
        tolerance=1e-9,
        data=DataSpec(),
    )
    evaluation = run_request(request, read_source(folder), data=digest_data(noise))
    for text in (evaluation.result.error, evaluation.stdout, evaluation.stderr):
        assert not set(text) & set("\x1b\x07\x00\x08\u202e\u2066\udcff")
        assert len(text) < 3000
    assert "red" in evaluation.result.error


def test_killing_the_parent_leaves_nobody_behind(noise):
    folder = write_trial(
        noise, changed("self.mean = float(y.mean())", "import time; time.sleep(60)")
    )
    code = (
        "from srh.evaluation import evaluate_trial\n"
        f"evaluate_trial({str(folder)!r}, {str(noise)!r}, ['r2'], {FOLD!r}, 1e-9, 60.0)"
    )
    parent = subprocess.Popen([sys.executable, "-c", code])
    try:
        family = wait_for_a_contestant(parent.pid)
    finally:
        parent.kill()
        parent.wait()
    _, alive = psutil.wait_procs(family, timeout=2)
    assert [process for process in alive if process.status() != psutil.STATUS_ZOMBIE] == []
    assert evaluate(noise, MEAN).status == "ok"
    assert list((noise.parent / "temporary").iterdir()) == []


def wait_for_a_contestant(pid):
    """Wait until a contestant sleeps in its fit, and return the parent's descendants."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        family = psutil.Process(pid).children(recursive=True)
        for process in family:
            if Path(process.cwd()).name == "scratch":
                time.sleep(1)  # into the trial's own code
                return psutil.Process(pid).children(recursive=True)
        time.sleep(0.05)
    raise AssertionError("no contestant appeared")


SKLEARN = """
import joblib
import numpy as np
{imports}


class Model:
    def fit(self, X, y):
        self.model = {model}.fit(X, y)

    def predict(self, X):
        return self.model.predict(X)

    def save(self, folder):
        joblib.dump(self.model, folder / "model.joblib")

    @classmethod
    def load(cls, folder):
        found = cls()
        found.model = joblib.load(folder / "model.joblib")
        return found
"""
SCIPY = """
import numpy as np
from scipy import linalg, optimize


class Model:
    def fit(self, X, y):
        start = linalg.lstsq(X, y)[0]
        self.weights = optimize.least_squares(lambda w: np.tanh(X @ w) - y, start).x

    def predict(self, X):
        return np.tanh(X @ self.weights)

    def save(self, folder):
        np.save(folder / "weights.npy", self.weights)

    @classmethod
    def load(cls, folder):
        model = cls()
        model.weights = np.load(folder / "weights.npy")
        return model
"""


def sklearn_model(imports, model):
    return SKLEARN.format(imports=imports, model=model)


LIBRARIES = {
    "scipy": SCIPY,
    "ridge": sklearn_model("from sklearn.linear_model import Ridge", "Ridge()"),
    "boosting": sklearn_model(
        "from sklearn.ensemble import HistGradientBoostingRegressor",
        "HistGradientBoostingRegressor(max_iter=20)",
    ),
    "forest": sklearn_model(
        "from sklearn.ensemble import RandomForestRegressor",
        "RandomForestRegressor(20, n_jobs=2, random_state=0)",
    ),
    "vectors": sklearn_model("from sklearn.svm import SVR", "SVR()"),
    "pipeline": sklearn_model(
        "from sklearn.linear_model import RidgeCV\n"
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import StandardScaler",
        "make_pipeline(StandardScaler(), RidgeCV())",
    ),
}
EVERYDAY = (("scipy", 2), ("ridge", 1), ("boosting", 2))


@pytest.mark.parametrize(
    ("library", "threads"),
    [
        pytest.param(name, threads, marks=[] if (name, threads) in EVERYDAY else [pytest.mark.slow])
        for name in LIBRARIES
        for threads in (1, 2)
    ],
)
def test_the_usual_libraries_work_under_the_lock(noise, library, threads):
    limits = Limits(cpu_s=20, memory_mb=500, threads=threads)
    if (library, threads) == ("forest", 1):
        source = LIBRARIES[library].replace("n_jobs=2", "n_jobs=1")
    else:
        source = LIBRARIES[library]
    result = evaluate(noise, source, limits=limits)
    assert result.status == "ok", result.error
    assert result.metrics["r2"] < 0.3


BY_GROUP = """
import json


class Model:
    def fit(self, X, y):
        if list(X.columns) != ["x", "site"] or str(X["site"].dtype) != "category":
            raise TypeError(f"{X.dtypes}")
        self.level = {
            site: float((y - 2 * X["x"])[X["site"] == site].mean())
            for site in X["site"].cat.categories
        }

    def predict(self, X):
        return 2 * X["x"] + X["site"].map(self.level).astype(float)

    def save(self, folder):
        (folder / "level.json").write_text(json.dumps(self.level))

    @classmethod
    def load(cls, folder):
        model = cls()
        model.level = json.loads((folder / "level.json").read_text())
        return model
"""


def test_a_task_may_deliver_frames_with_names_and_categories(tmp_path):
    rows = [f"{i},{'uvw'[i // 20]},{2 * i + i // 20}" for i in range(60)]
    data = tmp_path / "sites.csv"
    data.write_text("\n".join(["x,site,y", *rows]) + "\n")
    spec = DataSpec(target="y", categorical="labels")
    framed = evaluate(data, BY_GROUP, data=spec, frames=True)
    assert (framed.status, framed.error) == ("ok", None)
    assert framed.metrics["rmse"] < 1e-12
    plain = evaluate(data, BY_GROUP, data=spec)
    assert plain.outcome == "harness"
    assert "column 'site' holds text labels" in plain.error


def test_folds_start_in_steps_of_few_lengths():
    paces = np.concatenate([np.geomspace(0.001, 600, 5000), np.linspace(0.01, 600, 5000)])
    steps = np.array([step(pace) for pace in paces])
    assert len(np.unique(np.round(steps, 6))) < 64
    assert np.all((steps >= paces) & (steps <= np.maximum(0.01, 1.25 * paces) + 1e-9))


def test_many_folds_take_time_in_proportion(noise):
    pairs = [[row, row + 1] for row in range(0, 60, 2)]
    folds = [([row for row in range(60) if row not in pair], pair) for pair in pairs]
    result = evaluate(noise, MEAN, partitions=folds)
    assert result.outcome == "ok", result.error


def test_a_source_does_not_count_as_written(noise):
    notes = "x" * (3 << 20)
    limits = Limits(cpu_s=10, memory_mb=500, disk_mb=1)
    result = evaluate(noise, MEAN, limits=limits, files={"helpers.py": f'TEXT = "{notes}"'})
    assert result.outcome == "ok", result.error


def test_errors_of_what_was_saved_are_the_same_in_every_run(noise):
    source = changed(
        'np.save(folder / "mean.npy", self.mean)',
        'folder.rmdir(); folder.write_text("x")',
    )
    errors = {evaluate(noise, source).error for _ in range(2)}
    assert len(errors) == 1
    assert "what the model saved cannot be read" in errors.pop()

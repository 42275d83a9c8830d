"""Every folder of ``attacks/`` against labels of pure noise, and its control, where it succeeds.

``expected.toml`` of an attack says how its evaluation ends (`outcome`, `reason`) and under
``[control]`` where the same code reaches its aim, so that the attack is known to be one:

- ``unsafe``: evaluated with the limits only;
- ``limits``: evaluated with other limits;
- ``naive``: scored by ``naive.py``, a single process that holds the labels; `read` says how the
  score is taken from it (its file, its standard output, its exit code), or that it ``hangs``.

What an attack asks of its surroundings: ``unread`` puts back the dates at which files of NumPy were
last read, so that reading them leaves a trace; ``in_memory`` lays temporary files into a file
system in memory; ``evaluations`` says how many there are, of which the last counts; ``needs`` names
what holds it off and is not to be had everywhere. One that wins so far says why in ``open``: its
test fails until it is closed.
"""

from __future__ import annotations

import json
import os
import py_compile
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy as np
import pytest

from srh.evaluation import evaluate_trial
from srh.evaluation.nurseries import close_all
from srh.files import remove_tree
from srh.sandbox.limits import Limits
from srh.vault import seal
from support import mounts_are_possible

HERE = Path(__file__).parent
ROWS = 60
LIMITS = {"cpu_s": 3, "memory_mb": 300, "disk_mb": 8, "output_kb": 64}
WALL_S = 20.0
BOUND = 0.3
"""No attack may score above it: a target of noise has nothing that can be learned."""

EXPECTED = {
    folder.name: tomllib.loads((folder / "expected.toml").read_text())
    for folder in sorted((HERE / "attacks").iterdir())
    if folder.is_dir() and not folder.name.startswith(".")
}


def every_attack(*, control=False):
    attacks = []
    for name, expected in EXPECTED.items():
        marks = [pytest.mark.slow] if expected.get("slow") else []
        if "open" in expected and not control:
            marks.append(pytest.mark.xfail(reason=expected["open"], strict=True))
        attacks.append(pytest.param(name, marks=marks))
    return attacks


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    """Where attacks take place; for its `temporary` the template of contestants is prepared."""
    close_all()
    ground = tmp_path_factory.mktemp("ground").resolve()
    (ground / "temporary").mkdir()
    yield ground
    close_all()


@pytest.fixture
def place(request, ground, monkeypatch):
    """A project folder, a key worth stealing, and a folder for temporary files beside it."""
    for name in ("project/tasks/noise", "project/trials/noise"):
        (ground / name).mkdir(parents=True)
    name = request.node.callspec.params["name"]
    temporary = ground / "temporary"
    if EXPECTED[name].get("in_memory"):
        temporary = Path(tempfile.mkdtemp(prefix="srh-hostile-", dir="/dev/shm"))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("XDG_DATA_HOME", str(ground / "xdg"))
    seal({})
    yield ground
    for shared in ("/tmp", "/var/tmp", "/dev/shm"):  # noqa: S108
        for left in Path(shared).glob("srh-hostile-*"):
            remove(left)
    # pytest keeps folders for three more runs, and cannot remove what some attacks leave in them.
    for left in (*ground.iterdir(), *(ground / "temporary").iterdir()):
        if left.name != "temporary":
            remove(left)


def remove(path):
    if path.is_dir() and not path.is_symlink():
        remove_tree(path)
    else:
        path.unlink()


def test_there_are_attacks_enough():
    assert len(EXPECTED) >= 80


@pytest.mark.parametrize("name", every_attack())
def test_no_attack_earns_a_score(place, name):
    expected = EXPECTED[name]
    if expected.get("needs") == "mounts" and not mounts_are_possible():
        pytest.skip("this machine does not permit mounts of one's own")
    result = evaluate(place, name, limits=expected.get("limits", {}))
    r2 = result.metrics["r2"]
    assert r2 is None or r2 < BOUND, f"the attack won: {r2}"
    accepted = expected["outcome"]
    accepted = accepted if isinstance(accepted, list) else [accepted]
    assert result.outcome in accepted, (result.outcome, result.error)
    reasons = expected.get("reason", "")
    reasons = reasons if isinstance(reasons, list) else [reasons]
    assert any(reason in (result.error or "") for reason in reasons), result.error
    assert (result.status == "ok") == (r2 is not None)
    assert list(Path(tempfile.gettempdir()).iterdir()) == []
    if "longest_s" in expected:
        assert result.usage.wall_s < expected["longest_s"]


@pytest.mark.parametrize("name", every_attack(control=True))
def test_its_control_succeeds(place, name):
    expected = EXPECTED[name]
    control = expected["control"]
    if control.get("needs") == "root" and os.geteuid() != 0:
        pytest.skip("this control looks into other processes, which some machines allow only root")
    if control.get("needs") == "dates of reading" and not notes_reading(place):
        pytest.skip("the file systems here do not note when a file is read")
    if control["kind"] == "naive":
        r2, reason = score_naively(place, name, control)
    else:
        limits = expected.get("limits", {}) | control.get("limits", {})
        unsafe = control["kind"] == "unsafe"
        result = evaluate(place, name, limits=limits, sandbox="unsafe" if unsafe else "full")
        r2, reason = result.metrics["r2"], result.error or ""
        assert result.outcome == control["outcome"], (result.outcome, reason)
    assert control.get("reason", "") in reason
    if "min_r2" in control:
        assert r2 is not None
        assert r2 >= control["min_r2"]


def notes_reading(place):
    quiet = os.ST_NOATIME | os.ST_RDONLY
    return not any(os.statvfs(path).f_flag & quiet for path in (place, np.__file__))


def evaluate(place, name, *, limits, sandbox="full"):
    limits = {**LIMITS, "wall_s": WALL_S, **limits}
    wall_s = limits.pop("wall_s")
    trial, data, folds = lay_out(place, name), make_data(place, name), make_folds(name)
    options = {"limits": Limits(**limits), "sandbox": sandbox}
    for _ in range(EXPECTED[name].get("evaluations", 1)):
        result = evaluate_trial(trial, data, ["r2"], folds, 1e-9, wall_s, **options)
    return result


def lay_out(place, name):
    """Lay the attack out as a trial, with everything that it plants."""
    if EXPECTED[name].get("unread"):
        for path in Path(np.__file__).parent.rglob("*.pyi"):
            os.utime(path, (1e9, path.stat().st_mtime))
    trial = place / "project" / "trials" / "noise" / name
    shutil.copytree(HERE / "attacks" / name, trial)
    (trial / "expected.toml").unlink()
    if not (trial / "helpers.py").exists():
        shutil.copy(HERE / "helpers.py", trial / "helpers.py")
    for source in trial.glob("*.planted"):
        tag = f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        py_compile.compile(
            str(source),
            cfile=str(trial / "__pycache__" / tag),
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    return trial


def make_data(place, name):
    generator = np.random.default_rng(20)
    X, y = generator.normal(size=(ROWS, 3)), generator.normal(size=ROWS)
    if EXPECTED[name].get("data") == "sorted":
        y.sort()
    path = place / "project" / "tasks" / "noise" / "labels.npz"
    np.savez(path, X=X, y=y)
    return path


def make_folds(name):
    rows, folds = range(ROWS), EXPECTED[name].get("folds", 1)
    of = max(folds, 3)
    return [
        ([row for row in rows if row % of != fold], [row for row in rows if row % of == fold])
        for fold in range(folds)
    ]


def score_naively(place, name, control):
    """Return the r2 that is read from the naive scorer, or None, and what it complains of."""
    folder = Path(os.environ["TMPDIR"] if EXPECTED[name].get("in_memory") else place) / "naive"
    folder.mkdir()
    trial, data, folds = lay_out(place, name), make_data(place, name), make_folds(name)
    options = control.get("options", [])
    given = b""
    if "pipelined" in options:
        with np.load(data) as stored:
            given = stored["y"][folds[0][1]].tobytes()
    command = [sys.executable, "-P", str(HERE / "naive.py"), str(data), repr(folds), *options]
    surroundings: dict = {
        "cwd": folder,
        "env": {**os.environ, "PYTHONPATH": str(trial), "PYTHONDONTWRITEBYTECODE": "1"},
    }
    for _ in range(EXPECTED[name].get("evaluations", 1) - 1):
        subprocess.run(command, **surroundings, check=True, capture_output=True, timeout=30)
        remove_tree(folder / "state")
    process = subprocess.Popen(
        command,
        **surroundings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    hangs = control.get("read") == "hangs"
    try:
        stdout, stderr = process.communicate(given, timeout=control.get("patience_s", 30))
    except subprocess.TimeoutExpired:
        assert hangs, "the control hangs"
        return None, ""
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    assert not hangs, "the control was to hang"
    if "returncode" in control:
        assert process.returncode == control["returncode"], stderr.decode()
        return None, stderr.decode()
    assert process.returncode == 0, stderr.decode()
    if control.get("read") == "stdout":
        return json.loads(stdout.splitlines()[-1])["r2"], ""
    return json.loads((folder / "out.json").read_text())["r2"], ""

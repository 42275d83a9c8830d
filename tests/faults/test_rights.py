"""Folders that may not be written, or are no longer what they were; too few of everything."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from faults.rig import Ran, Rig, make_rig

STRANGER = 61_234
"""A user whom nothing else runs as, so that the kernel's count of its processes is ours."""

RIGHT = "param('a')*x + param('b')"


@pytest.fixture(scope="module")
def shared():
    """A folder that every user may enter, unlike those that pytest makes."""
    folder = Path(tempfile.mkdtemp(prefix="srh-faults-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def python(shared):
    """An interpreter with these packages that a user without privileges can start."""
    if os.geteuid() != 0:
        return sys.executable
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = Path(os.__file__).parent / "site-packages"
    candidates = [sys.executable, f"/usr/local/bin/{version}", f"/usr/bin/{version}"]
    for number, candidate in enumerate(candidates):
        if not works(candidate, "pass"):
            continue
        if works(candidate, "import srh.cli"):
            return candidate
        made = shared / f"python{number}"
        subprocess.run([candidate, "-m", "venv", "--without-pip", made], check=True)
        (site,) = made.glob("lib/python*/site-packages")
        paths = [path for path in sys.path if path.endswith("site-packages")]
        source = Path(__file__).resolve().parents[2] / "src"
        (site / "ours.pth").write_text("\n".join([*paths, str(source)]) + "\n")
        if works(str(made / "bin" / "python"), "import srh.cli, numpy, scipy, psutil"):
            return str(made / "bin" / "python")
    return pytest.skip("no interpreter with these packages can be started by another user")


def works(python: str, code: str) -> bool:
    try:
        return (
            subprocess.run(
                [python, "-c", code], capture_output=True, cwd="/", check=False, **as_stranger()
            ).returncode
            == 0
        )
    except OSError:
        return False


def as_stranger():
    """Return the options that start a process as a user whom permissions bind."""
    if os.geteuid() != 0:
        return {}
    return {"user": STRANGER, "group": STRANGER, "extra_groups": []}


@pytest.fixture
def bound(shared):
    """A project that belongs to a user whom permissions bind."""
    rig = make_rig(Path(tempfile.mkdtemp(dir=shared)))
    (rig.folder / "xdg").mkdir()
    rig.add_formula("a", RIGHT)
    rig.add_formula("b", RIGHT)
    return rig


def run_bound(rig: Rig, python: str, *arguments: str, setup=None, **environment: str) -> Ran:
    """Evaluate as a user whom permissions bind, and who owns everything that is not yet closed."""
    if os.geteuid() == 0:
        for path in [rig.folder, *rig.folder.rglob("*")]:
            os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
    ended = subprocess.run(
        [python, *rig.command(*arguments)[1:]],
        env={**rig.environment(), "HOME": str(rig.folder), **environment},
        cwd=rig.folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=setup,
        **as_stranger(),
    )
    assert "Traceback" not in ended.stderr
    return Ran(ended.returncode, ended.stdout, ended.stderr)


def outcomes(ran: Ran) -> dict[str, str]:
    return {name: row["outcome"] for name, row in ran.table.items()}


def test_a_trial_folder_that_may_not_be_written_fails_loudly_and_alone(bound, python):
    (bound.trials / "a").chmod(0o555)
    ran = run_bound(bound, python)
    assert ran.code == 2
    assert outcomes(ran) == {"a": "harness", "b": "ok"}
    assert "the result cannot be stored (Permission denied)" in ran.table["a"]["reason"]
    assert sorted(path.name for path in (bound.trials / "a").iterdir()) == [
        "formula.txt",
        "trial.toml",
    ]
    (bound.trials / "a").chmod(0o755)
    again = run_bound(bound, python)
    assert (again.code, outcomes(again)) == (0, {"a": "ok", "b": "ok"})
    assert bound.left_over() == []


@pytest.mark.slow
def test_a_task_folder_need_not_be_writable(bound, python):
    (bound.task / "data.csv").chmod(0o444)
    (bound.task / "task.toml").chmod(0o444)
    bound.task.chmod(0o555)
    ran = run_bound(bound, python)
    assert (ran.code, outcomes(ran)) == (0, {"a": "ok", "b": "ok"})


@pytest.mark.slow
def test_a_folder_for_temporary_files_that_is_missing_or_closed_is_not_used(bound, python):
    bound.temporary.chmod(0o555)
    ran = run_bound(bound, python)
    assert (ran.code, outcomes(ran)) == (0, {"a": "ok", "b": "ok"})
    assert list(bound.temporary.iterdir()) == []
    missing = run_bound(bound, python, "--force", TMPDIR=str(bound.folder / "nowhere"))
    assert (missing.code, outcomes(missing)) == (0, {"a": "ok", "b": "ok"})


def test_a_home_that_may_not_be_written_is_one_sentence(bound, python):
    (bound.folder / "xdg").chmod(0o555)
    ran = run_bound(bound, python)
    assert ran.code == 2
    assert "set XDG_DATA_HOME to a folder that you may write" in ran.err + ran.out
    assert not list(bound.trials.glob("*/result.json"))


@pytest.mark.slow
def test_without_processes_every_trial_is_reported(bound, python):
    if not sys.platform.startswith("linux"):
        pytest.skip("the count of a user's processes is Linux's")

    def no_more():
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))

    # OpenBLAS, denied its threads, would end the process.
    ran = run_bound(bound, python, "--jobs", "1", setup=no_more, OPENBLAS_NUM_THREADS="1")
    assert ran.code == 2
    assert outcomes(ran) == {"a": "harness", "b": "harness"}
    assert bound.left_over() == []
    again = run_bound(bound, python)
    assert (again.code, outcomes(again)) == (0, {"a": "ok", "b": "ok"})


@pytest.mark.slow
@pytest.mark.parametrize("most", [6, 10, 16])
def test_without_descriptors_nothing_is_lost_or_torn(rig, most):
    rig.add_formula("a", RIGHT)

    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    ran = rig.run("--jobs", "1", preexec_fn=few)
    assert "Traceback" not in ran.err
    if ran.out:
        outcome = ran.table["a"]["outcome"]
        assert (ran.code, outcome) in [(0, "ok"), (2, "harness")]
    else:
        assert ran.code == 2
        assert "Too many open files" in ran.err
    rig.require_whole()
    again = rig.run("--jobs", "1")
    assert (again.code, outcomes(again)) == (0, {"a": "ok"})
    assert rig.left_over() == []


@pytest.mark.slow
@pytest.mark.parametrize("meanwhile", ["deleted", "replaced by a link", "replaced by a file"])
def test_a_trial_folder_that_is_gone_when_its_result_is_stored(rig, meanwhile):
    folder = rig.add_model("a", pause=2.0)
    outside = rig.folder / "outside"
    rig.add_formula("b", RIGHT)
    shutil.copytree(folder, outside)
    running = rig.start("--jobs", "1")
    while running.runs and not list(rig.temporary.rglob("model.py")):
        time.sleep(0.01)
    folder.rename(rig.folder / "aside")
    if meanwhile.endswith("link"):
        folder.symlink_to(outside, target_is_directory=True)
    elif meanwhile.endswith("file"):
        folder.write_text("no folder")
    ran = running.end()
    assert ran.code == 2
    assert outcomes(ran) == {"a": "harness", "b": "ok"}
    assert "cannot be stored" in ran.table["a"]["reason"]
    assert sorted(path.name for path in outside.iterdir()) == ["model.py", "trial.toml"]
    assert rig.left_over() == []

"""What people meet who have only the folder, `make` and some Python: real runs in a copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PARTS = (
    "Makefile LICENSE README.md pyproject.toml requirements.lock srh.toml scripts src tasks trials"
)
TARGETS = [
    "setup",
    "eval",
    "compare",
    "verify",
    "check",
    "test",
    "test-all",
    "bench",
    "doctor",
    "lock",
    "clean",
]

Make = Callable[..., subprocess.CompletedProcess[str]]

pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")

SETTING_UP = "setting up .venv (once, a minute or two; log: .venv/setup.log) ..."


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of the project, without results, in a folder whose name has a space."""
    folder = tmp_path / "a copy"
    folder.mkdir()
    unwanted = shutil.ignore_patterns("__pycache__", "result.json", "request.json", "history")
    for name in PARTS.split():
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=unwanted)
        else:
            shutil.copy2(source, folder / name)
    return folder


@pytest.fixture
def make(project: Path, tmp_path: Path) -> Make:
    """Return a function that runs make in the copy, knowing nothing of the make around it."""

    def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **environment}
        return subprocess.run(
            ["make", *arguments],
            cwd=project,
            env=clean,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    return run


def doctored_python(path: Path, change: str) -> str:
    """Write an interpreter that is this one but for `change`, which runs before the code of -c."""
    doctor = f"import sys; sys._base_executable = {str(path)!r}; {change}; exec(sys.argv[1])"
    real = Path(sys._base_executable)  # type: ignore[attr-defined]
    path.write_text(f'#!/bin/sh\n[ "$1" = -c ] && exec \'{real}\' -c "{doctor}" "$2"\nexit 97\n')
    path.chmod(0o755)
    return str(path)


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """Return the one sentence of a refused run, having checked that it is no more than that."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make: ***")]
    sentences = [
        line
        for line in lines
        if line != "setting up .venv (once, a minute or two; log: .venv/setup.log) ..."
    ]
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert len(sentences) == 1, done.stderr
    assert sentences[0].startswith("error: ")
    return sentences[0]


def test_make_alone_lists_every_target_with_one_line(make: Make) -> None:
    done = make()
    listed = [line.split(maxsplit=1) for line in done.stdout.splitlines() if line.startswith("  ")]
    assert done.returncode == 0
    assert [name for name, _ in listed] == TARGETS
    assert all(len(text) > 10 for _, text in listed)


def test_eval_without_a_task_names_the_tasks(make: Make, project: Path) -> None:
    sentence = refusal(make("eval"))
    assert "make eval TASK=" in sentence
    assert "hubble, kepler" in sentence
    assert not (project / ".venv").exists()


@pytest.mark.parametrize("target", ["eval", "compare", "verify"])
def test_unknown_task_is_refused_before_any_set_up(target: str, make: Make, project: Path) -> None:
    sentence = refusal(make(target, "TASK=keppler"))
    assert "'keppler'" in sentence
    assert "hubble, kepler" in sentence
    assert not (project / ".venv").exists()


def test_a_task_that_is_shell_code_is_only_an_unknown_task(make: Make, project: Path) -> None:
    assert "there is no task" in refusal(make("eval", "TASK=$$(touch planted); touch planted"))
    assert "there is no task" in refusal(make("eval", "TASK=../src"))
    assert not (project / "planted").exists()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["eval", "TRIAL=wright_law"], "'wright_law'"),
        (["verify", "TRIAL=wright_law"], "'wright_law'"),
        (["compare", "A=right_law", "B=wright_law"], "'wright_law'"),
        (["compare", "A=right_law"], "A=... B=..."),
        (["compare"], "A=... B=..."),
    ],
)
def test_wrong_trials_are_refused_with_those_that_exist(
    arguments: list[str], expected: str, make: Make
) -> None:
    sentence = refusal(make(*arguments, "TASK=kepler"))
    assert expected in sentence
    assert "right_law" in sentence.replace("wright_law", "")


def test_too_old_python_is_named_with_its_version(make: Make, tmp_path: Path) -> None:
    old = doctored_python(tmp_path / "old", "sys.version_info = (3, 9, 18, 'final', 0)")
    sentence = refusal(make("eval", "TASK=kepler", f"PYTHON={old}"))
    assert "is Python 3.9.18, srh needs 3.11 or newer" in sentence
    assert "make PYTHON=python3" in sentence


def test_python_that_is_not_there(make: Make) -> None:
    sentence = refusal(make("setup", "PYTHON=python3.99"))
    assert "Python was not found: there is no 'python3.99'" in sentence
    assert "make PYTHON=python3" in sentence


def test_command_that_is_no_python(make: Make) -> None:
    assert "'true' does not answer as Python does" in refusal(make("setup", "PYTHON=true"))


def test_debian_without_python3_venv(make: Make, tmp_path: Path) -> None:
    bare = doctored_python(tmp_path / "bare", "sys.modules['ensurepip'] = None")
    assert "apt-get install python3-venv" in refusal(make("setup", f"PYTHON={bare}"))


def test_folder_that_cannot_be_written_to(make: Make, project: Path) -> None:
    (project / ".venv").mkdir()
    project.chmod(0o555)
    try:
        if os.access(project, os.W_OK):
            pytest.skip("this user may write everywhere")
        sentence = refusal(make("setup", f"PYTHON={sys.executable}"))
    finally:
        project.chmod(0o755)
    assert "cannot be removed" in sentence


def test_no_registry_is_one_sentence_and_leaves_a_log(make: Make, project: Path) -> None:
    nowhere = "http://127.0.0.1:9/simple"
    done = make(
        "eval",
        "TASK=kepler",
        f"PYTHON={sys.executable}",
        PIP_CONFIG_FILE=os.devnull,
        PIP_INDEX_URL=nowhere,
        PIP_RETRIES="0",
    )
    sentence = refusal(done)
    assert "no package registry that has them could be reached" in sentence
    assert "(log: .venv/setup.log)" in sentence
    assert "hatchling" in (project / ".venv/setup.log").read_text()
    assert not (project / ".venv/setup-runtime").exists()


@pytest.mark.slow
def test_eval_sets_itself_up_once_and_again_when_the_needs_change(
    make: Make, project: Path
) -> None:
    pip = {
        name: value
        for name, value in os.environ.items()
        if name.startswith("PIP_") or name.lower().endswith("_proxy")
    }
    # Settings of a user that must not lead the packages elsewhere.
    pip |= {"PIP_USER": "1", "PIP_TARGET": str(project / "elsewhere"), "PIP_NO_DEPS": "1"}
    arguments = ("eval", "TASK=kepler", f"PYTHON={sys.executable}")

    first = make(*arguments, **pip)
    assert first.returncode == 0, first.stderr
    assert first.stderr.startswith(
        "setting up .venv (once, a minute or two; log: .venv/setup.log) ...\n"
    )
    assert "right_law" in first.stdout
    assert not (project / "elsewhere").exists()

    again = make(*arguments, **pip)
    assert again.returncode == 0
    assert "setting up" not in again.stderr

    with (project / "requirements.lock").open("a") as lock:
        lock.write("# changed\n")
    assert "setting up" in make(*arguments, **pip).stderr

    kept = project / ".venv/kept"
    kept.touch()
    (project / ".venv/setup-unfinished").touch()
    rebuilt = make(*arguments, **pip)
    assert rebuilt.returncode == 0
    assert "setting up" in rebuilt.stderr
    assert not kept.exists()


def test_lock_holds_names_and_versions_alone() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    names = {pin.partition("==")[0].lower().replace("_", "-") for pin in pins}
    assert all(pin.count("==") == 1 and not set(pin) & set("@/ ;") for pin in pins), pins
    needed = textwrap.dedent(
        """numpy scipy sympy scikit-learn joblib psutil msgspec typer rich
        hypothesis import-linter mypy pytest ruff pandas matplotlib openai"""
    ).split()
    assert names >= set(needed)

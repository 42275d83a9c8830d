"""Where checks of the whole chain take place: noise as data, and a trial in a temporary folder."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from srh.context import Partition
from srh.errors import SrhError
from srh.evaluation.conformance.models import model
from srh.evaluation.protocol import EvaluationResult
from srh.evaluation.runner import evaluate_trial
from srh.files import remove_tree
from srh.sandbox.limits import Limits
from srh.sandbox.probe import Check, CheckResult

ROWS: Final = 60
METRICS: Final = ("r2", "rmse", "mae")
ROOMY: Final = Limits(cpu_s=30, memory_mb=600, disk_mb=32, output_kb=256)
"""Limits within which every honest model of the checks fits."""

PATIENCE_S: Final = 60.0
TOLERANCE: Final = 1e-9
_NAIVE: Final = Path(__file__).with_name("naive.py")


@dataclass(frozen=True, slots=True)
class Stage:
    """A folder with data of noise, from which nothing can be learned.

    Attributes:
        folder: The folder.
    """

    folder: Path

    @property
    def data(self) -> Path:
        """The data: ``X`` of shape (60, 3) and ``y``, both noise."""
        return self.folder / "data" / "noise.npz"

    def lay_out(self, source: str, name: str = "trial", file: str = "model.py") -> Path:
        """Make a trial of a source, and return its folder."""
        trial = self.folder / name
        trial.mkdir()
        (trial / file).write_text(source, encoding="utf-8")
        return trial

    def evaluate(
        self,
        trial: Path,
        *,
        folds: int = 1,
        timeout: float = PATIENCE_S,
        path: Path | None = None,
        **options: Any,
    ) -> EvaluationResult:
        """Evaluate a trial within roomy limits, unless `options` say otherwise.

        Args:
            trial: The trial's folder.
            folds: How many folds.
            timeout: Wall-clock limit in seconds.
            path: The data file; None: the stage's own.
            options: Further arguments of `evaluate_trial`.
        """
        options.setdefault("limits", ROOMY)
        return evaluate_trial(
            trial,
            path or self.data,
            list(METRICS),
            make_folds(folds),
            TOLERANCE,
            timeout,
            **options,
        )


@contextmanager
def stage() -> Iterator[Stage]:
    """Make a stage, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="srh-check-")).resolve()
    try:
        place = Stage(folder)
        place.data.parent.mkdir()
        generator = np.random.default_rng(5)
        np.savez(place.data, X=generator.normal(size=(ROWS, 3)), y=generator.normal(size=ROWS))
        yield place
    finally:
        remove_tree(folder)


def make_folds(count: int) -> list[Partition]:
    """Return the first folds of three."""
    rows = range(ROWS)
    return [
        ([row for row in rows if row % 3 != fold], [row for row in rows if row % 3 == fold])
        for fold in range(count)
    ]


def evaluate_source(source: str, **options: Any) -> EvaluationResult:
    """Evaluate a model on a stage of its own; `options` as in `Stage.evaluate`."""
    with stage() as place:
        return place.evaluate(place.lay_out(source), **options)


def honest() -> EvaluationResult:
    """Return what the honest model gets: the measure for the others."""
    with _honest_lock:
        return _honest()


def score_naively(source: str) -> str:
    """Return the result of a harness that runs a model in the process that scores it.

    It is the control of forgeries: what it says, on its standard output and in its result file
    (a line each, empty where there is none), and its exit code as the third line.
    """
    with stage() as place:
        trial = place.lay_out(source)
        ended = subprocess.run(  # noqa: S603 - the model is ours
            [sys.executable, "-s", "-P", str(_NAIVE), str(trial), str(place.data)],
            cwd=place.folder,
            env={"PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"} | _kept(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
            check=False,
        )
        out = place.folder / "out.json"
        written = out.read_text(encoding="utf-8") if out.exists() else ""
    said = ended.stdout.decode("utf-8", "replace").strip().splitlines()
    return f"{said[-1] if said else ''}\n{written.strip()}\n{ended.returncode}"


def check(name: str, group: str, run: Callable[[], CheckResult]) -> Check:
    """Return a check that fails if trying it out fails, as with a fault of srh itself."""

    def guarded() -> CheckResult:
        try:
            return run()
        except (SrhError, OSError, subprocess.SubprocessError) as error:
            seen = f"it could not be tried: {type(error).__name__}: {error}"
            return CheckResult("failed", seen, MEANINGS[group])

    return Check(name, group, guarded)


def found(group: str, faults: Sequence[str], detail: str) -> CheckResult:
    """Return how a check came out.

    Args:
        group: The check's group.
        faults: What is not as it should be.
        detail: What was seen, if all is well.
    """
    if faults:
        return CheckResult("failed", "; ".join(faults), MEANINGS[group])
    return CheckResult("ok", detail)


MEANINGS: Final = {
    "outcomes": "what a result says of a failure cannot be relied on",
    "limits": "a trial could use up the machine",
    "forgeries": "a trial could get a score that it did not earn",
    "clean-up": "trials could go on running, or fill the disk, after their evaluation has ended",
    "same numbers": "a score could not be reproduced",
    "honest models": "trials that do nothing wrong would fail",
}
"""What follows where a check of a group fails."""


def _kept() -> dict[str, str]:
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


_honest_lock = threading.Lock()


@functools.cache
def _honest() -> EvaluationResult:
    return evaluate_source(model())

"""The parent's side of one evaluation: stage, ask, supervise, read back.

The parent never imports a trial's code and believes only what it sees for itself: how the child
ended, how long it took, and a result file that it decodes strictly. What is evaluated is a private
copy of the trial's source, digested as copied, so that nobody can exchange it meanwhile.
"""

from __future__ import annotations

import dataclasses
import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import msgspec

from srh.context import DataSpec, Partition, digest_data
from srh.environment import clean_environment
from srh.errors import FormatError, SrhError
from srh.evaluation import nurseries
from srh.evaluation.child import NO_PROCESSES
from srh.evaluation.measuring import registry_of, stage_task, takes_code
from srh.evaluation.outcomes import judge_end
from srh.evaluation.protocol import EvaluationResult, Request, Usage, read_result
from srh.evaluation.provenance import describe
from srh.examples import task_files
from srh.files import FileRefusedError, read_regular, remove_tree
from srh.formats import read_json
from srh.metrics import Aggregation, MetricSpec
from srh.sandbox.ended import Ended
from srh.sandbox.limits import Limits
from srh.sandbox.nursery import NurseryError, Order, RefusedError
from srh.sandbox.probe import require_sandbox
from srh.sandbox.supervise import supervise
from srh.tasks import EvaluatorRef, declared_data
from srh.text import harmless
from srh.trials import TrialSource, read_source, refuse_own_pickle

_RESULT_LIMIT = 64 << 20
_ERROR_CHARS = 2000
_RUN_PREFIX = "srh-run-"
_LOCK = "lock"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One evaluation with everything that came of it.

    Attributes:
        result: The result.
        stdout: The child's standard output, bounded and harmless.
        stderr: The child's standard error, likewise.
    """

    result: EvaluationResult
    stdout: str
    stderr: str


def evaluate_trial(  # noqa: PLR0913 - its first six arguments are the protocol's
    trial_dir: str | Path,
    dataset_path: str | Path,
    metrics: list[str],
    partitions: list[Partition],
    tolerance: float,
    timeout: float,
    *,
    data: DataSpec | None = None,
    aggregation: Mapping[str, Aggregation] | None = None,
    specs: Sequence[MetricSpec] = (),
    evaluator: EvaluatorRef | None = None,
    limits: Limits | None = None,
    rowwise: bool = True,
    frames: bool = False,
    sandbox: Literal["full", "unsafe"] = "full",
    seed: int = 0,
) -> EvaluationResult:
    """Evaluate the trial in ``trial_dir`` in a child process and return its result.

    Args:
        trial_dir: Folder of the trial.
        dataset_path: CSV, ``.npz`` or ``.joblib`` file, or ``context.data`` folder.
        metrics: Names of the metrics.
        partitions: (training rows, validation rows) of each fold, indices into the loaded data.
        tolerance: Largest accepted round-trip difference, relative to the target's scale.
        timeout: Wall-clock limit in seconds.
        data: How the data file is read; None: as the task beside it declares, if there is one.
        aggregation: How a metric's folds become one number; the mean unless named here.
        specs: Declarations of the metrics; the built-in ones of the names in `metrics` if empty.
            Host evaluators are looked for beside the data.
        evaluator: Who fits and predicts.
        limits: What the evaluation may use; its `wall_s` is replaced by `timeout`.
        rowwise: Whether a prediction may depend on its own row only.
        frames: Whether models get pandas DataFrames instead of arrays.
        sandbox: Confinement of a model's code; ``unsafe`` is none but the limits.
        seed: Seed of everything random in fitting.

    Returns:
        The result, a failed trial's included. Nothing is written into the trial's folder.

    Raises:
        SrhError: The trial's folder cannot be read, a metric is unknown, or the request or the task
            beside the data is wrong.
    """
    refuse_own_pickle(Path(trial_dir), Path(dataset_path))
    source = read_source(Path(trial_dir))
    task_dir = Path(dataset_path).resolve().parent
    limits = dataclasses.replace(limits or Limits(), wall_s=timeout)
    request = Request(
        trial_dir=".",
        dataset_path=str(Path(dataset_path).resolve()),
        metrics=list(metrics),
        partitions=[(list(map(int, train)), list(map(int, rows))) for train, rows in partitions],
        tolerance=tolerance,
        data=data if source.kind == "outputs" else data or declared_data(Path(dataset_path)),
        aggregation=dict(aggregation or {}),
        specs=list(specs),
        task_dir=str(task_dir) if source.kind == "outputs" else None,
        task_files=task_files(specs, task_dir) if source.kind == "outputs" else {},
        evaluator=evaluator or EvaluatorRef(),
        limits=limits,
        rowwise=rowwise,
        frames=frames,
        sandbox=sandbox,
        seed=seed,
    )
    return run_request(request, source, data=digest_data(Path(dataset_path))).result


def run_request(
    request: Request, source: TrialSource, *, data: str, task: str | None = None
) -> Evaluation:
    """Evaluate a trial's source in a child process.

    What dies of a signal is tried once more: if it dies again, that is the trial's doing.

    Args:
        request: What is asked; its `dataset_path` absolute, its `trial_dir` is replaced.
        source: The trial's source.
        data: Digest of the data file as the parent knows it.
        task: Digest of the task, where there is one.

    Raises:
        SrhError: A metric is unknown: refused before the child starts.
        SandboxUnavailableError: The trial is code, and this machine cannot confine it.
    """
    task_dir = None if request.task_dir is None else Path(request.task_dir)
    registry_of(request, source.kind, task_dir)
    if takes_code(request, source.kind) and request.sandbox == "full":
        require_sandbox()
    provenance = describe(request, source, data=data, task=task)
    with nurseries.evaluation(), _run_folder() as folder:
        source.stage(folder / "trial")
        stage_task(request, task_dir, folder)
        staged = msgspec.structs.replace(request, trial_dir="trial")
        (folder / "in.json").write_bytes(staged.encode())
        ended, result = _attempt(request, source, data, folder)
        if result.outcome == "signal":
            ended, result = _attempt(request, source, data, folder)
    cap = int(request.limits.output_kb * 1024)
    return Evaluation(
        result=dataclasses.replace(result, provenance=provenance),
        stdout="" if ended is None else harmless(ended.stdout, cap),
        stderr="" if ended is None else harmless(ended.stderr, cap),
    )


def _attempt(
    request: Request, source: TrialSource, data: str, folder: Path
) -> tuple[Ended | None, EvaluationResult]:
    """Have a scorer evaluate the request; a nursery that fails is replaced once."""
    kind: Literal["formula", "code"] = "code" if takes_code(request, source.kind) else "formula"
    order = Order(
        entry="srh.evaluation.child:run",
        arguments=("in.json", "out.json", data),
        cwd=folder,
        environment=clean_environment() | {"TMPDIR": str(folder)},
        nursery=kind == "code",
    )
    complaint = ""
    for _ in range(2):
        (folder / "out.json").unlink(missing_ok=True)
        running = None
        try:
            running = nurseries.nursery(kind)
            ended = supervise(running, order, request.limits)
        except NurseryError as error:
            complaint = str(error)
            broken = not isinstance(error, RefusedError)
        else:
            if ended.returncode != NO_PROCESSES:
                return ended, _interpret(ended, request, folder / "out.json")
            complaint = harmless(ended.stderr, _ERROR_CHARS).strip()
            broken = not running.alive
        if running is not None and broken:  # others go on using one that is well
            nurseries.discard(running)
    return None, EvaluationResult.failed("harness", complaint, request.metrics)


def _interpret(ended: Ended, request: Request, path: Path) -> EvaluationResult:
    """Turn what the parent saw into a result."""
    failure = judge_end(ended, request.limits)
    if failure is not None:
        outcome, error = failure
        return EvaluationResult.failed(outcome, error, request.metrics, usage=_usage(ended, None))
    try:
        result = _read_result(path)
    except SrhError as error:
        message = f"the scorer left no valid result: {harmless(str(error), _ERROR_CHARS)}"
        return EvaluationResult.failed(
            "harness", message, request.metrics, usage=_usage(ended, None)
        )
    return dataclasses.replace(result, usage=_usage(ended, result.usage))


def _read_result(path: Path) -> EvaluationResult:
    content = read_regular(path, _RESULT_LIMIT)
    if path.lstat().st_uid != os.geteuid():
        raise FileRefusedError(f"{path.name}: belongs to somebody else")
    result = read_result(read_json(content, path.name), path.name)
    if (result.status == "ok") != (result.outcome == "ok"):
        raise FormatError(path.name, ["status: contradicts outcome"])
    return result


def _usage(ended: Ended, reported: Usage | None) -> Usage:
    """Return the elapsed time as the parent measured it, and what the trial took.

    A model's contestants are no children of the scorer: what they took it was told by the template,
    which asked the kernel.
    """
    peak, cpu_s = ended.peak_bytes / 2**20, ended.cpu_s
    if reported is not None:
        cpu_s = max(cpu_s, reported.cpu_s)
        peak = peak if reported.peak_memory_mb is None else reported.peak_memory_mb
    return Usage(
        wall_s=ended.wall_s,
        cpu_s=cpu_s,
        peak_memory_mb=peak,
        memory_group=None if reported is None else reported.memory_group,
    )


@contextmanager
def _run_folder() -> Iterator[Path]:
    """Make a private folder for one run, and remove it afterwards."""
    _remove_abandoned()
    folder, lock = _locked_folder()
    try:
        with lock:
            yield folder.resolve()
    finally:
        # What is left, because somebody was still writing in it, goes with the next run.
        with suppress(OSError):
            remove_tree(folder)


def _locked_folder() -> tuple[Path, IO[bytes]]:
    """Make a folder with a lock that we hold for as long as we live.

    Whoever can take the lock may remove the folder. Somebody may take it before us, so that it is
    gone when we have it; then we make another.
    """
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_RUN_PREFIX))
        with suppress(FileNotFoundError):
            lock = (folder / _LOCK).open("wb")
            fcntl.flock(lock, fcntl.LOCK_EX)
            if os.fstat(lock.fileno()).st_nlink:
                return folder, lock
            lock.close()


def _remove_abandoned() -> None:
    """Remove the folders of our runs whose parent was killed before it could."""
    place = tempfile.gettempdir()
    for name in os.listdir(place):
        if name.startswith(_RUN_PREFIX):
            folder = Path(place, name)
            with suppress(OSError):  # in use, or gone meanwhile
                if folder.lstat().st_uid == os.geteuid():
                    _remove_if_abandoned(folder)


def _remove_if_abandoned(folder: Path) -> None:
    try:
        lock = (folder / _LOCK).open("rb")
    except FileNotFoundError:
        folder.rmdir()  # its maker has not come as far as the lock, and will make another
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove_tree(folder)

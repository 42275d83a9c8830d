"""The scorer's process: read request, trial and data, score, and state what it rests on.

A template forks it (see ``srh.sandbox.template``) and calls `run`.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from pathlib import Path

import msgspec

from srh.context import digest_data, load_dataset
from srh.errors import HarnessError, SrhError
from srh.evaluation.contestants import Contestants
from srh.evaluation.formula_trial import FormulaContender
from srh.evaluation.measuring import registry_of, staged_task, takes_code
from srh.evaluation.model_trial import ModelContender
from srh.evaluation.outputs_trial import score_outputs
from srh.evaluation.protocol import EvaluationResult, Request, Usage, read_request
from srh.evaluation.scorer import TrialFailedError, score
from srh.files import read_regular
from srh.formats import pretty_json
from srh.metrics import MetricRegistry
from srh.project import TASK_FILE
from srh.sandbox.forked import GIVEN
from srh.sandbox.limits import limit_memory, memory_status
from srh.sandbox.lockdown import lock_scorer
from srh.sandbox.nursery import Asking, NurseryError
from srh.tasks import declared_data
from srh.text import one_line
from srh.threads import use_threads
from srh.trials import TrialSource, read_source, refuse_own_pickle

REQUEST_LIMIT = 512 << 20
NO_PROCESSES = 3
"""Exit code if the template failed: another one may do better."""

_SCORERS_DISK_MB = 2.0**20


def run(request_name: str, result_name: str, data: str) -> int:
    """Evaluate one request in this process, which gives up what that does not take.

    Args:
        request_name: File of the request; its folder is where relative paths count from.
        result_name: File of the result to write; its folder is the only one that is written.
        data: Digest of the data file as the asker knows it.

    Returns:
        The exit code. 0: there is a result, a failed trial's included; otherwise standard error
        says why there is none.
    """
    try:
        _evaluate(Path(request_name).resolve(), Path(result_name).resolve(), data)
    except NurseryError as error:
        sys.stderr.write(f"{error}\n")
        return NO_PROCESSES
    except SrhError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _evaluate(request_path: Path, result_path: Path, data: str) -> None:
    request = read_request(read_regular(request_path, REQUEST_LIMIT), request_path.name)
    source = read_source(request_path.parent / request.trial_dir)
    _bind(request, source, request_path.parent, result_path.parent)
    result = evaluate_request(request, source, request_path.parent, data)
    try:
        result_path.write_bytes(pretty_json(result))  # nobody reads it before this process ends
    except OSError as error:
        raise HarnessError(f"{result_path}: cannot be written ({error.strerror})") from error


def _bind(request: Request, source: TrialSource, folder: Path, results: Path) -> None:
    """Give up what judging does not take."""
    data = (folder / request.dataset_path).resolve()
    beside = data.parent / TASK_FILE
    limits = request.limits
    code = takes_code(request, source.kind)
    if code:
        # Its contestants have the trial's limits; it waits for them, and copies what they save.
        limits = dataclasses.replace(limits, cpu_s=limits.wall_s, disk_mb=_SCORERS_DISK_MB)
    read = [folder, data, *([beside] if beside.exists() else [])]
    keep = (0, 1, 2, *((GIVEN,) if code else ()))
    lock_scorer(read, [results], limits, keep=keep)
    use_threads(limits.threads)


def evaluate_request(
    request: Request, source: TrialSource, folder: Path, data: str
) -> EvaluationResult:
    """Evaluate a request in this process, within its memory limit.

    Args:
        request: What is asked.
        source: The trial's source.
        folder: Folder from which relative paths count.
        data: Digest that the data file has to have.

    Raises:
        SrhError: The request or the data cannot be used; a trial that fails is a result instead.
    """
    started, held = time.monotonic(), memory_status("VmRSS")
    data_path = folder / request.dataset_path
    refuse_own_pickle(folder / request.trial_dir, data_path)
    if source.kind != "outputs":
        # What the numbers rest on includes how the data were read, whoever said it.
        spec = request.data or declared_data(data_path)
        request = msgspec.structs.replace(request, data=spec)
    registry = registry_of(request, source.kind, staged_task(folder))
    if digest_data(data_path) != data:
        raise HarnessError(
            f"{data_path}: the data changed while the trial was evaluated; run it again"
        )
    try:
        result = _score(request, source, data_path, registry, staged_task(folder))
    except TrialFailedError as failure:
        result = EvaluationResult.failed(
            failure.outcome, str(failure), request.metrics, reported=failure.reported
        )
    except MemoryError as error:
        message = f"memory limit of {request.limits.memory_mb:g} MiB exceeded"
        detail = one_line(str(error))
        result = EvaluationResult.failed(
            "memory", f"{message}: {detail}" if detail else message, request.metrics
        )
    usage = result.usage or _usage(started, held)
    return dataclasses.replace(result, usage=usage)


def _score(
    request: Request, source: TrialSource, data_path: Path, registry: MetricRegistry, task: Path
) -> EvaluationResult:
    if source.kind == "formula":
        return _score_formula(request, source, data_path, registry)
    if source.kind == "model":
        return _score_model(request, source, data_path, registry)
    if source.kind == "outputs":
        (content,) = source.files.values()
        nursery = Asking.inherited(GIVEN) if takes_code(request, source.kind) else None
        return score_outputs(content, request, registry, data_path, folder=task, nursery=nursery)
    raise TrialFailedError("error", f"{source.kind} trials cannot be evaluated by this version")


def _score_formula(
    request: Request, source: TrialSource, data_path: Path, registry: MetricRegistry
) -> EvaluationResult:
    dataset = load_dataset(data_path, request.data)
    limit_memory(request.limits)  # the data are the task's: the trial need not pay for them
    (content,) = source.files.values()
    return score(request, dataset, FormulaContender(content, request, dataset), registry)


def _score_model(
    request: Request, source: TrialSource, data_path: Path, registry: MetricRegistry
) -> EvaluationResult:
    contestants = Contestants(source, request, Asking.inherited(GIVEN), data_path)
    try:
        contender = ModelContender(request, contestants)
        dataset = load_dataset(data_path, request.data)
        contender.take(dataset)
        result = score(request, dataset, contender, registry)
        usage = contestants.usage()
        times = os.times()
        own = times.user + times.system
        return dataclasses.replace(
            result, usage=dataclasses.replace(usage, cpu_s=own + usage.cpu_s)
        )
    finally:
        contestants.close()


def _usage(started: float, held: int | None) -> Usage:
    times = os.times()
    peak = memory_status("VmHWM")
    return Usage(
        wall_s=time.monotonic() - started,
        cpu_s=times.user + times.system,
        peak_memory_mb=None if peak is None or held is None else max(0, peak - held) / 2**20,
    )

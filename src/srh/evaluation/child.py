"""What the child does with a request: read trial and data, score, and state what it rests on."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import numpy as np

from srh.context import DataSpec, load_dataset
from srh.evaluation.formula_trial import FormulaContender
from srh.evaluation.protocol import EvaluationResult, Request, Usage
from srh.evaluation.provenance import describe, digest_data
from srh.evaluation.scorer import TrialFailedError, score
from srh.metrics import require_known
from srh.sandbox.limits import limit_memory, memory_status
from srh.tasks import task_beside
from srh.trials import TrialSource, read_source


def evaluate_request(request: Request, folder: Path) -> EvaluationResult:
    """Evaluate a request in this process, within its memory limit.

    Args:
        request: What is asked.
        folder: Folder from which relative paths count.

    Raises:
        SrhError: The request, the data or the trial's folder cannot be used; a trial that fails
            is a result instead.
    """
    require_known(request.metrics)
    data_path = folder / request.dataset_path
    source = read_source(folder / request.trial_dir)
    provenance = describe(request, data=digest_data(data_path), trial=source.digest)
    _warm_up()
    limit_memory(request.limits)
    try:
        result = _score(request, source, data_path)
    except TrialFailedError as failure:
        result = EvaluationResult.failed(failure.outcome, str(failure), request.metrics)
    except MemoryError:
        limit = f"{request.limits.memory_mb:g} MiB"
        result = EvaluationResult.failed(
            "memory", f"memory limit of {limit} exceeded", request.metrics
        )
    return dataclasses.replace(result, usage=_usage(), provenance=provenance)


def _score(request: Request, source: TrialSource, data_path: Path) -> EvaluationResult:
    if source.kind != "formula":
        raise TrialFailedError("error", f"{source.kind} trials cannot be evaluated by this version")
    dataset = load_dataset(data_path, request.data or _declared(data_path))
    (content,) = source.files.values()
    return score(request, dataset, FormulaContender(content, request, dataset))


def _warm_up() -> None:
    """Have the linear algebra library allocate its buffers, which it does at its first use.

    They belong to the interpreter, not to the trial; and OpenBLAS, denied them, ends the process.
    """
    np.linalg.qr(np.ones((64, 64)) @ np.eye(64))


def _declared(data_path: Path) -> DataSpec:
    """Return how the task beside a data file, if there is one, declares it to be read."""
    task = task_beside(data_path)
    return task.spec.data.spec() if task else DataSpec()


def _usage() -> Usage:
    times = os.times()
    peak = memory_status("VmHWM")
    return Usage(
        wall_s=0.0,  # the parent measures it
        cpu_s=times.user + times.system,
        peak_memory_mb=None if peak is None else peak / 2**20,
    )

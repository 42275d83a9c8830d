"""What the child does with a request: read trial and data, score, and state what it rests on."""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from pathlib import Path

import msgspec
import numpy as np

from srh.context import Dataset, load_dataset
from srh.evaluation.formula_trial import FormulaContender
from srh.evaluation.protocol import EvaluationResult, Request, Usage
from srh.evaluation.provenance import describe, digest_data
from srh.evaluation.scorer import TrialFailedError, score
from srh.files import remove_tree
from srh.metrics import require_known
from srh.sandbox.limits import limit_memory, memory_status
from srh.tasks import declared_data
from srh.text import one_line
from srh.trials import CODE_KINDS, TrialSource, read_source, refuse_own_pickle


def evaluate_request(request: Request, folder: Path) -> EvaluationResult:
    """Evaluate a request in this process, within its memory limit.

    Args:
        request: What is asked.
        folder: Folder from which relative paths count.

    Raises:
        SrhError: The request, the data or the trial's folder cannot be used; a trial that fails
            is a result instead.
    """
    started = time.monotonic()
    require_known(request.metrics)
    data_path = folder / request.dataset_path
    refuse_own_pickle(folder / request.trial_dir, data_path)
    spec = request.data or declared_data(data_path)
    # What the numbers rest on includes how the data were read, whoever said it.
    request = msgspec.structs.replace(request, data=spec)
    source = read_source(folder / request.trial_dir)
    provenance = describe(request, source, data=digest_data(data_path))
    dataset = load_dataset(data_path, spec)  # the task's, so the trial need not pay for them
    _warm_up()
    limit_memory(request.limits, final=source.kind not in CODE_KINDS)
    try:
        result = _score(request, source, dataset, data_path)
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
    usage = result.usage or _usage(started)
    return dataclasses.replace(result, usage=usage, provenance=provenance)


def _score(
    request: Request, source: TrialSource, dataset: Dataset, data_path: Path
) -> EvaluationResult:
    if source.kind == "formula":
        (content,) = source.files.values()
        return score(request, dataset, FormulaContender(content, request, dataset))
    if source.kind == "model":
        return _score_model(request, source, dataset, data_path)
    raise TrialFailedError("error", f"{source.kind} trials cannot be evaluated by this version")


def _score_model(
    request: Request, source: TrialSource, dataset: Dataset, data_path: Path
) -> EvaluationResult:
    from srh.evaluation.model_trial import ModelContender

    folder = Path(tempfile.mkdtemp(prefix="contestants-")).resolve()
    try:
        source.stage(folder / "trial")
        data = data_path.resolve()
        # What lies beside the data is not for contestants, unless it is where they live.
        withheld = data if folder.is_relative_to(data.parent) else data.parent
        contender = ModelContender(folder / "trial", request, dataset, folder, (withheld,))
        result = score(request, dataset, contender)
        return dataclasses.replace(result, usage=contender.usage())
    finally:
        remove_tree(folder)


def _warm_up() -> None:
    """Have the linear algebra library allocate its buffers, which it does at its first use.

    They belong to the interpreter, not to the trial; and OpenBLAS, denied them, ends the process.
    """
    np.linalg.qr(np.ones((64, 64)) @ np.eye(64))


def _usage(started: float) -> Usage:
    times = os.times()
    peak = memory_status("VmHWM")
    return Usage(
        wall_s=time.monotonic() - started,
        cpu_s=times.user + times.system,
        peak_memory_mb=None if peak is None else peak / 2**20,
    )

"""Evaluate the trials of a task: each one or its current result, several at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import psutil

from srh.errors import FormatError, HarnessError, SandboxUnavailableError
from srh.evaluation.nurseries import interrupt
from srh.evaluation.protocol import EvaluationResult, Request, is_unconfined
from srh.evaluation.provenance import describe
from srh.evaluation.records import (
    Record,
    load_record,
    portable_request,
    store_record,
)
from srh.evaluation.runner import Evaluation, run_request
from srh.files import FileRefusedError
from srh.tasks import Task
from srh.text import one_line
from srh.trials import Trial, TrialSource, read_source
from srh.vault import record_holdout_look

_MOST_WORKERS = 64  # each is a thread here, with descriptors for its process
Origin = Literal["evaluated", "kept", "unverified", "not evaluated"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One trial of a task with its result.

    Attributes:
        trial: The trial.
        origin: ``evaluated`` just now, ``kept`` because its stored result is current,
            ``unverified``: a stored result that may not be believed, or ``not evaluated``.
        result: The result; of an unverified entry, what the stored result claims.
        reason: Why it is unverified, or could not be evaluated or stored.
    """

    trial: Trial
    origin: Origin
    result: EvaluationResult | None
    reason: str | None = None

    @property
    def trusted(self) -> EvaluationResult | None:
        """The result, unless it may not be believed."""
        return self.result if self.origin in ("evaluated", "kept") else None


def evaluate_trials(
    task: Task,
    trials: Sequence[Trial],
    *,
    jobs: int = 1,
    force: bool = False,
    report: Callable[[Entry], None] = lambda _: None,
) -> list[Entry]:
    """Evaluate trials whose stored result is not current, and store what comes of them.

    Args:
        task: The task.
        trials: Its trials.
        jobs: How many to evaluate at a time.
        force: Evaluate those with a current result too.
        report: Called with each entry as it becomes known, in the order of completion.

    Returns:
        One entry per trial, in the order of `trials`.

    Raises:
        SrhError: The task's data or partitions are wrong.
    """
    make_request(task)  # whatever is wrong with the task shows before anything runs
    return _in_order(trials, lambda trial: evaluate_one(task, trial, force=force), jobs, report)


def evaluate_one(task: Task, trial: Trial, *, force: bool = False) -> Entry:
    """Return a trial's current result, or evaluate it and store what comes of it."""
    source = read_accepted(task, trial)
    if isinstance(source, EvaluationResult):
        return Entry(trial, "evaluated", source)
    if not force:
        record = stored_record(task, trial, source)
        if record.state == "current" and _is_confined_enough(task, record):
            return Entry(trial, "kept", record.result)
    request = make_request(task)
    try:
        evaluation = evaluate_source(task, request, source)
    except SandboxUnavailableError as error:  # this one is refused, the others are not
        return Entry(trial, "not evaluated", None, str(error))
    except OSError as error:  # no room, descriptors or processes now; for others there may be
        return _failed_by_machine(task, trial, error)
    return store(task, trial, request, evaluation)


def _failed_by_machine(task: Task, trial: Trial, error: OSError) -> Entry:
    """Return the entry of a trial that could not be evaluated: it is not lost from the table."""
    message = f"the evaluation could not be carried out: {one_line(str(error))}"
    failed = EvaluationResult.failed("harness", message, task.metric_names)
    return Entry(trial, "evaluated", failed, message)


def _is_confined_enough(task: Task, record: Record) -> bool:
    """Tell whether a current result will do: one without a sandbox only if that was asked for."""
    return task.sandbox == "unsafe" or record.result is None or not is_unconfined(record.result)


def evaluate_source(task: Task, request: Request, source: TrialSource) -> Evaluation:
    """Evaluate a trial's source on a task; nothing is stored."""
    return run_request(request, source, data=task.data_digest, task=task.digest)


def store(task: Task, trial: Trial, request: Request, evaluation: Evaluation) -> Entry:
    """Store an evaluation in the trial's folder and return its entry.

    If it cannot be stored, that is our own failure, and takes the result's place: it must not pass
    unnoticed.
    """
    try:
        store_record(trial, evaluation, portable_request(request, trial, task.data_path))
    except HarnessError as error:
        failed = EvaluationResult.failed("harness", str(error), request.metrics)
        return Entry(trial, "evaluated", failed, str(error))
    return Entry(trial, "evaluated", evaluation.result)


def stored_entry(task: Task, trial: Trial) -> Entry:
    """Return what is stored for a trial, evaluating nothing."""
    record = stored_record(task, trial, read_accepted(task, trial))
    origin: dict[str, Origin] = {
        "absent": "not evaluated",
        "current": "kept",
        "unverified": "unverified",
    }
    return Entry(trial, origin[record.state], record.result, record.reason)


def stored_record(task: Task, trial: Trial, source: TrialSource | EvaluationResult) -> Record:
    """Return a trial's stored result, judged against what it would rest on now.

    Args:
        task: The task.
        trial: The trial.
        source: What `read_accepted` says of the trial.
    """
    if isinstance(source, EvaluationResult):
        return load_record(trial, None)
    request = make_request(task)
    now = describe(request, source, data=task.data_digest, task=task.digest)
    return load_record(trial, now)


def evaluate_holdout(
    task: Task,
    trials: Sequence[Trial],
    *,
    jobs: int = 1,
    report: Callable[[Entry], None] = lambda _: None,
) -> tuple[list[Entry], int]:
    """Score trials on the held-out rows; the look is counted before anything is scored.

    Nothing of it is written into a trial's folder, where whoever writes trials could read it.

    Returns:
        The entries in the order of `trials`, and the number of this look.

    Raises:
        SrhError: The task holds no rows out, or the look cannot be recorded.
    """
    request = make_request(task, final=True)
    sources = [read_accepted(task, trial) for trial in trials]
    look = record_holdout_look(
        task.holdout_digest,
        {
            "task": task.name,
            "looked_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "trials": {
                trial.id: None if isinstance(source, EvaluationResult) else source.digest
                for trial, source in zip(trials, sources, strict=True)
            },
        },
    )
    by_trial = dict(zip(trials, sources, strict=True))

    def final_entry(trial: Trial) -> Entry:
        source = by_trial[trial]
        if isinstance(source, EvaluationResult):
            return Entry(trial, "evaluated", source)
        try:
            return Entry(trial, "evaluated", evaluate_source(task, request, source).result)
        except SandboxUnavailableError as error:
            return Entry(trial, "not evaluated", None, str(error))
        except OSError as error:
            return _failed_by_machine(task, trial, error)

    return _in_order(trials, final_entry, jobs, report), look


def make_request(task: Task, *, final: bool = False) -> Request:
    """Return the request that evaluates any trial of a task.

    Args:
        task: The task.
        final: Score the held-out rows instead of the development rows.

    Raises:
        SrhError: The task's data or partitions are wrong, or it holds no rows out.
    """
    return Request(
        trial_dir=".",
        dataset_path=str(task.data_path.resolve()),
        metrics=task.metric_names,
        partitions=task.final_partitions if final else task.partitions,
        tolerance=task.spec.tolerance,
        data=task.spec.data.spec(),
        specs=[metric.spec for metric in task.registry.metrics] if task.spec.metrics else [],
        task_dir=str(task.folder.resolve()) if task.profile == "outputs" else None,
        task_files=task.task_files,
        evaluator=task.spec.evaluator,
        limits=task.spec.limits,
        rowwise=task.spec.rowwise,
        requires=[*task.spec.requires, *task.registry.packages],
        frames=task.spec.frames,
        sandbox=task.sandbox,
        seed=task.spec.seed,
    )


def read_accepted(task: Task, trial: Trial) -> TrialSource | EvaluationResult:
    """Return a trial's source, or the failed result of a trial that cannot even be read."""
    try:
        source = read_source(trial.folder)
    except (FileRefusedError, FormatError) as error:
        return EvaluationResult.failed("error", one_line(str(error)), task.metric_names)
    if source.kind not in task.spec.accepts:
        accepted = ", ".join(task.spec.accepts)
        message = f"task {task.name} accepts {accepted} trials, not {source.kind}"
        return EvaluationResult.failed("error", message, task.metric_names)
    return source


def default_jobs(task: Task) -> int:
    """Return how many evaluations this machine carries at a time: by cores and by free memory."""
    cores = len(psutil.Process().cpu_affinity()) if hasattr(psutil.Process, "cpu_affinity") else 1
    by_cores: int = cores // task.spec.limits.threads
    free_mb = psutil.virtual_memory().available / 2**20
    by_memory: int = math.floor(free_mb / task.spec.limits.memory_mb)
    return max(1, min(by_cores, by_memory))


def _in_order(
    trials: Sequence[Trial],
    work: Callable[[Trial], Entry],
    jobs: int,
    report: Callable[[Entry], None],
) -> list[Entry]:
    """Do ``work`` for every trial, ``jobs`` at a time, and return the entries in order."""
    found: dict[Trial, Entry] = {}
    for entry in _completed(trials, work, jobs):
        report(entry)
        found[entry.trial] = entry
    return [found[trial] for trial in trials]


def _completed(
    trials: Sequence[Trial], work: Callable[[Trial], Entry], jobs: int
) -> Iterator[Entry]:
    """Yield entries as they become known. Threads suffice: they only supervise processes."""
    if jobs == 1 or len(trials) < 2:
        yield from map(work, trials)
        return
    import joblib

    workers = min(jobs, len(trials), _MOST_WORKERS)
    pool = joblib.Parallel(n_jobs=workers, prefer="threads", return_as="generator_unordered")
    try:
        yield from pool(joblib.delayed(work)(trial) for trial in trials)
    except BaseException:
        interrupt()  # the threads would go on, and leave their folders when this process ends
        raise

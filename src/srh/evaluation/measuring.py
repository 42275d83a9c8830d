"""What a request asks to be measured: by whom, with which files, and whether code has to run."""

from __future__ import annotations

from pathlib import Path

from srh.digest import digest_bytes
from srh.errors import DataError, MetricError
from srh.evaluation.protocol import Request
from srh.examples import host_refs, read_task_file
from srh.metrics import MetricRegistry, MetricSpec, Profile, Surroundings
from srh.tasks import TrialKind
from srh.text import one_line
from srh.trials import CODE_KINDS

_TASK = "task"


def registry_of(request: Request, kind: TrialKind, folder: Path | None = None) -> MetricRegistry:
    """Return the registry of a request's metrics.

    Args:
        request: What is asked.
        kind: Kind of the trial.
        folder: Where the task's files lie, for host evaluators.

    Raises:
        MetricError: Something is wrong with them; one line for every mistake.
    """
    if len(set(request.metrics)) < len(request.metrics) or not request.metrics:
        wrong = next((one for one in request.metrics if request.metrics.count(one) > 1), None)
        text = "no metric is asked for" if wrong is None else f"{one_line(wrong)!r} is listed twice"
        raise MetricError(f"metrics: {text}")
    specs = request.specs or [MetricSpec(name=name) for name in request.metrics]
    around = Surroundings(profile=profile_of(request, kind), folder=folder)
    registry = MetricRegistry(specs, around).require()
    if set(registry.columns) != set(request.metrics):
        listed = ", ".join(map(one_line, registry.columns))
        raise MetricError(f"metrics: must be the names that come of `specs`: {listed}")
    return registry


def profile_of(request: Request, kind: TrialKind) -> Profile:
    """Return what a request has measured."""
    if kind == "outputs":
        return "outputs"
    category = request.data is not None and request.data.target_kind == "category"
    return "classification" if category else "regression"


def takes_code(request: Request, kind: TrialKind) -> bool:
    """Tell whether evaluating a request runs code that is not srh's own."""
    return kind in CODE_KINDS or bool(host_refs(request.specs))


def stage_task(request: Request, source: Path | None, folder: Path) -> None:
    """Copy what measuring takes of a task into a run's folder.

    Raises:
        DataError: A file cannot be read, or is not what the request says.
    """
    target = staged_task(folder)
    target.mkdir(mode=0o700)
    for path, digest in request.task_files.items():
        copy = target / path
        if source is None or target.resolve() not in copy.resolve().parents:
            raise DataError(f"{path}: must stay inside the task's folder")
        content = read_task_file(source / path)
        if digest_bytes(content) != digest:
            raise DataError(f"{path}: not the file that the request means; ask again")
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        copy.write_bytes(content)


def staged_task(folder: Path) -> Path:
    """Return where a run's folder holds what measuring takes of the task."""
    return folder / _TASK

"""What parent and child say to each other: the request and the result.

A request with just ``trial_dir, dataset_path, metrics, partitions, tolerance`` is complete; the
other fields have defaults. Relative paths count from the folder of the request's own file.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec

from srh.context import DataSpec, Partition
from srh.digest import digest_value
from srh.formats import decode, pretty_json, read_json
from srh.metrics import Aggregate, Aggregation, MetricSpec, Status
from srh.sandbox.limits import Limits
from srh.tasks import EvaluatorRef

Outcome = Literal[
    "ok",
    "error",
    "signal",
    "cpu_timeout",
    "wall_timeout",
    "memory",
    "output_limit",
    "disk_limit",
    "denied",
    "roundtrip",
    "bad_result",
    "harness",
]
Estimate: TypeAlias = float | dict[str, float | None] | None
"""A parameter's value or standard error; that of a grouped parameter by label, as text."""
SandboxLevel = Literal["none needed", "full", "unsafe"]


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One evaluation, as asked of the child.

    Attributes:
        trial_dir: Folder of the trial.
        dataset_path: The data file.
        metrics: Names of the numbers that are asked for; each metric's own, unless `specs` says
            otherwise.
        partitions: (training rows, validation rows) of each fold, indices into the loaded data;
            none where outputs are scored.
        tolerance: Largest accepted round-trip difference, relative to the target's scale.
        data: How the data file is read; None: as the task beside it declares, if there is one.
        aggregation: How a metric's folds become one number; the mean unless named here.
        specs: Declarations of the metrics; the built-in ones of the names in `metrics` if empty.
        task_dir: Folder of the task, where host evaluators and a judge's evidence lie.
        task_files: Digest of each file of that folder that measuring takes, by its path in it.
        evaluator: Who fits and predicts.
        limits: What the evaluation may use.
        rowwise: Whether a prediction may depend on its own row only.
        requires: Packages beyond srh's own whose versions the numbers may depend on.
        frames: Whether models get pandas DataFrames instead of arrays.
        sandbox: Confinement of untrusted code; ``unsafe`` is none but the limits.
        seed: Seed of everything random in fitting.
    """

    trial_dir: str
    dataset_path: str
    metrics: list[str]
    partitions: list[Partition]
    tolerance: float
    data: DataSpec | None = None
    aggregation: dict[str, Aggregation] = {}
    specs: list[MetricSpec] = []
    task_dir: str | None = None
    task_files: dict[str, str] = {}
    evaluator: EvaluatorRef = EvaluatorRef()
    limits: Limits = Limits()
    rowwise: bool = True
    requires: list[str] = []
    frames: bool = False
    sandbox: Literal["full", "unsafe"] = "full"
    seed: int = 0

    @property
    def digest(self) -> str:
        """Identity of what is asked, wherever trial and data lie (they have their own digests)."""
        content = msgspec.to_builtins(self)
        # The sandbox decides who may be believed, not what is asked; provenance has it.
        for name in ("trial_dir", "dataset_path", "task_dir", "sandbox"):
            del content[name]
        return digest_value(content)

    def encode(self) -> bytes:
        """Return the request as strict JSON, each fold on one line."""
        content = msgspec.to_builtins(self)
        folds = content.pop("partitions")
        # One fold a line: people read this file too.
        lines = ",\n    ".join(msgspec.json.encode(fold).decode() for fold in folds)
        head = pretty_json(content).decode().rstrip().removesuffix("}").rstrip()
        return f'{head},\n  "partitions": [\n    {lines}\n  ]\n}}\n'.encode("ascii")


def read_request(content: bytes, where: str) -> Request:
    """Decode a request.

    Raises:
        FormatError: It is not one; all mistakes are listed.
    """
    return decode(Request, read_json(content, where), where)


@dataclass(frozen=True, kw_only=True)
class Fitted:
    """What a formula became.

    Attributes:
        formula: The formula with its constants at 17 digits, fitted on all training rows.
        parameters: Value by name; a grouped parameter holds its table.
        standard_errors: Standard error by name; None where it is not determined.
        message: What the fit has to say.
        per_fold: The formula as fitted in each fold.
    """

    formula: str
    parameters: dict[str, Estimate] = field(default_factory=dict)
    standard_errors: dict[str, Estimate] = field(default_factory=dict)
    message: str = ""
    per_fold: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Fold:
    """Size and fate of one fold.

    Attributes:
        n_train: Training rows.
        n_validation: Validation rows.
        error: Why the fold failed, or None.
    """

    n_train: int
    n_validation: int
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What an evaluation took.

    Attributes:
        wall_s: Elapsed time in seconds. The parent counts the child's whole life; a child that was
            started by hand, from its request on.
        cpu_s: Processor time in seconds.
        peak_memory_mb: Largest resident size in MiB beyond what a process of the template has; None
            where it was not seen.
        memory_group: Version of the control groups that bounded the memory of contestants as a
            whole, ``v1`` or ``v2``; None where there were none: each was bound to its limit all the
            same.
    """

    wall_s: float
    cpu_s: float
    peak_memory_mb: float | None = None
    memory_group: Literal["v1", "v2"] | None = None


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """What the numbers rest on.

    Attributes:
        task: Digest of the task; None for an evaluation without one.
        data: Digest of the data file.
        trial: Digest of the trial's source as staged.
        evaluator: Identity of the evaluator.
        request: Digest of the request, paths aside.
        metrics: Names of the metrics.
        task_files: Digest of each file of the task that measuring took beside the data.
        versions: Version by package, and of Python.
        platform: Operating system, processor, BLAS, and settings that choose its kernels.
        seed: Seed of everything random in fitting.
        limits: Limits in force.
        sandbox: Confinement of untrusted code.
    """

    task: str | None = None
    data: str
    trial: str
    evaluator: str
    request: str
    metrics: list[str]
    task_files: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str]
    platform: dict[str, str]
    seed: int
    limits: Limits
    sandbox: SandboxLevel


@dataclass(frozen=True, kw_only=True)
class Missing:
    """Examples that lack a score for one reason.

    Attributes:
        status: Status of their scores.
        reason: ``code: message``.
        examples: Their ids.
    """

    status: Status
    reason: str
    examples: list[str]


@dataclass(frozen=True, kw_only=True)
class ExampleScores:
    """The scores of one name, example by example.

    Attributes:
        evaluator: Who measured.
        version: The evaluator's version, or the digest of a host's file.
        values: One per example, in the order of `EvaluationResult.example_ids`.
        missing: Why some have none, by reason, in the order of the first example.
        spreads: Spread of repeated judgements by example, where there were several.
        evidence: References to recorded evidence by example.
    """

    evaluator: str
    version: str
    values: list[float | None]
    missing: list[Missing] = field(default_factory=list)
    spreads: dict[str, float] = field(default_factory=dict)
    evidence: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class EvaluationResult:
    """Outcome of evaluating one trial.

    Attributes:
        status: ``ok`` or ``failed``.
        metrics: Value by name; None where there is none (see `scores` for why).
        runtime: Seconds that all folds took, pauses between them included; None where it was not
            measured.
        roundtrip_ok: Whether what was fitted predicts the same after being saved and loaded.
        error: Why the trial failed, or None.
        per_fold: Value by metric name, for each fold.
        outcome: What happened, as one of the outcomes.
        reported: Whether the kind of a failure rests on the word of untrusted code.
        scores: The metrics with status, reason and population.
        folds: Size and fate of each fold.
        example_ids: Ids of the examples, where outputs were scored.
        per_example: Scores by name, where outputs were scored.
        fitted: What a formula became.
        usage: What the evaluation took.
        provenance: What the numbers rest on.
    """

    status: Literal["ok", "failed"]
    metrics: dict[str, float | None]
    runtime: float | None
    roundtrip_ok: bool
    error: str | None = None
    per_fold: list[dict[str, float | None]] = field(default_factory=list)
    outcome: Outcome = "ok"
    reported: bool = False
    scores: dict[str, Aggregate] = field(default_factory=dict)
    folds: list[Fold] = field(default_factory=list)
    example_ids: list[str] = field(default_factory=list)
    per_example: dict[str, ExampleScores] = field(default_factory=dict)
    fitted: Fitted | None = None
    usage: Usage | None = None
    provenance: Provenance | None = None

    @classmethod
    def failed(
        cls, outcome: Outcome, error: str, metrics: list[str], **more: Any
    ) -> EvaluationResult:
        """Return the result of a trial that has no score at all."""
        return cls(
            status="failed",
            metrics=dict.fromkeys(metrics),
            runtime=None,
            roundtrip_ok=False,
            error=error,
            outcome=outcome,
            scores={
                name: Aggregate(None, "error", f"{outcome}: {error}", 0, 0) for name in metrics
            },
            **more,
        )


def is_unconfined(result: EvaluationResult) -> bool:
    """Tell whether a result comes of code that ran without a sandbox."""
    return result.provenance is not None and result.provenance.sandbox == "unsafe"


def read_result(raw: Any, where: str) -> EvaluationResult:
    """Convert decoded JSON into a result.

    Raises:
        FormatError: It is not one, or contradicts itself; all mistakes are listed.
    """
    return decode(EvaluationResult, raw, where)

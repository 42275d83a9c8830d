"""What an evaluation's numbers rest on: digests, versions, and the machine."""

from __future__ import annotations

import functools
import os
import platform
from importlib import metadata
from pathlib import Path

import numpy as np

from srh import __version__
from srh.environment import MACHINE_VARIABLES
from srh.evaluation.measuring import takes_code
from srh.evaluation.protocol import Provenance, Request
from srh.trials import TrialSource

_PACKAGES = ("numpy", "scipy", "scikit-learn", "sympy", "joblib")


def describe(
    request: Request, source: TrialSource, *, data: str, task: str | None = None
) -> Provenance:
    """Return what an evaluation's numbers rest on.

    Args:
        request: What is asked.
        source: The trial's source.
        data: Digest of the data.
        task: Digest of the task, where there is one.
    """
    return Provenance(
        task=task,
        data=data,
        trial=source.digest,
        evaluator=f"{request.evaluator.kind}@1",
        request=request.digest,
        metrics=request.metrics,
        task_files=request.task_files,
        versions=versions(tuple(request.requires)),
        platform=describe_platform(),
        seed=request.seed,
        limits=request.limits,
        sandbox=request.sandbox if takes_code(request, source.kind) else "none needed",
    )


@functools.cache
def versions(more: tuple[str, ...]) -> dict[str, str]:
    """Return the versions that numbers may depend on: of srh, Python, our packages and more."""
    found = {"srh": __version__, "python": platform.python_version()}
    for package in (*_PACKAGES, *more):
        try:
            found[package] = metadata.version(package) or "unknown"
        except metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


@functools.cache
def describe_platform() -> dict[str, str]:
    """Return what else the last bits of a number may depend on."""
    description = {
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "blas": _blas(),
    }
    return description | {
        name: os.environ[name] for name in MACHINE_VARIABLES if name in os.environ
    }


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"


def _blas() -> str:
    config = np.show_config(mode="dicts")
    blas = config.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()

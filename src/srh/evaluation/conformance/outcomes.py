"""Every outcome can be reached, and is told apart from the others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Final

import numpy as np

from srh.context import DataSpec
from srh.evaluation.conformance.models import model
from srh.evaluation.conformance.stage import ROOMY, check, evaluate_source, found, honest, stage
from srh.evaluation.protocol import EvaluationResult, Outcome
from srh.sandbox.probe import Check, CheckResult

_GROUP: Final = "outcomes"


def faults(result: EvaluationResult, outcome: Outcome, reason: str = "") -> list[str]:
    """Return what of a result is not as it should be, in words.

    Args:
        result: The result.
        outcome: What its outcome should be.
        reason: What its error should contain.
    """
    status = "ok" if outcome == "ok" else "failed"
    wrong = []
    if (result.status, result.outcome) != (status, outcome):
        error = f" ({result.error})" if result.error else ""
        wrong.append(f"the outcome is {result.outcome}{error}, not {outcome}")
    elif reason not in (result.error or ""):
        wrong.append(f"the error is {result.error!r}, without {reason!r}")
    measured = [name for name, value in result.metrics.items() if value is not None]
    if status == "failed" and measured:
        wrong.append(f"a failed trial has a value of {', '.join(measured)}")
    return wrong


def _expect(
    name: str, outcome: Outcome, reason: str, source: str, *, timeout: float = 60, **limits: float
) -> Check:
    """Return a check that a model's evaluation ends with an outcome, within changed limits."""

    def run() -> CheckResult:
        bounds = dataclasses.replace(ROOMY, **limits)  # type: ignore[arg-type]
        result = evaluate_source(source, timeout=timeout, limits=bounds)
        return found(_GROUP, faults(result, outcome, reason), f"{outcome}: {result.error}")

    return check(name, _GROUP, run)


def _honest_is_ok() -> CheckResult:
    result = honest()
    wrong = faults(result, "ok")
    r2 = result.metrics["r2"]
    if r2 is None or not -1 < r2 < 0.05:
        wrong.append(f"the mean of noise has an r2 of {r2}")
    if not result.roundtrip_ok:
        wrong.append("it has no round trip")
    return found(_GROUP, wrong, f"ok, r2 {r2:.4f}" if r2 is not None else "ok")


def _formula(source: str, outcome: Outcome, reason: str) -> Callable[[], CheckResult]:
    def run() -> CheckResult:
        with stage() as place:
            result = place.evaluate(place.lay_out(source, file="formula.txt"))
        return found(_GROUP, faults(result, outcome, reason), f"{outcome}: {result.error}")

    return run


def _own_fault() -> CheckResult:
    """Ask for what cannot be given: text where a model gets an array."""
    spec = DataSpec(target="y", categorical="labels")
    with stage() as place:
        table = place.folder / "data" / "sites.csv"
        rows = [f"{'uv'[row % 2]},{value}" for row, value in enumerate(np.linspace(0, 1, 60))]
        table.write_text("\n".join(["site,y", *rows]) + "\n", encoding="utf-8")
        result = place.evaluate(place.lay_out(model()), path=table, data=spec)
    return found(_GROUP, faults(result, "harness", "text labels"), f"harness: {result.error}")


CHECKS: Final = (
    check("The mean of noise is ok, and earns nothing", _GROUP, _honest_is_ok),
    check("A formula is ok", _GROUP, _formula("param('a')*x0 + param('b')", "ok", "")),
    check(
        "A formula that does not parse is an error",
        _GROUP,
        _formula("param('a')*(x0", "error", "bracket"),
    ),
    _expect(
        "An error of a model's code is an error, and names its line",
        "error",
        "KeyError: 'petal' (model.py, line ",
        model(fit="raise KeyError('petal')"),
    ),
    _expect(
        "A model that ends its process is an error",
        "error",
        "ended its process (exit code 3)",
        model(fit="os._exit(3)"),
    ),
    _expect(
        "A crash in native code is a signal",
        "signal",
        "SIGSEGV",
        model(fit="import ctypes; ctypes.string_at(0)"),
    ),
    _expect(
        "Too much processor time is cpu_timeout",
        "cpu_timeout",
        "processor time limit of 1 s",
        model(fit="while True: pass"),
        cpu_s=1,
    ),
    _expect(
        "Too much elapsed time is wall_timeout",
        "wall_timeout",
        "evaluation timed out",
        model(fit="import time; time.sleep(600)"),
        timeout=2.5,
    ),
    _expect(
        "Too much memory is memory",
        "memory",
        "",
        model(fit="held = [bytearray(b'x' * 2**20) for _ in range(400)]"),
        memory_mb=100,
    ),
    _expect(
        "Too much output is output_limit",
        "output_limit",
        "16 KiB",
        model(fit="print('x' * 100_000, flush=True); import time; time.sleep(20)"),
        output_kb=16,
    ),
    _expect(
        "A file that is too large is disk_limit",
        "disk_limit",
        "2 MiB",
        model(fit="open('big', 'wb').write(bytes(8 << 20))"),
        disk_mb=2,
    ),
    _expect(
        "What the sandbox forbids is denied",
        "denied",
        "PermissionError",
        model(fit="open('/etc/passwd').read()"),
    ),
    _expect(
        "Forgetting what was fitted is roundtrip",
        "roundtrip",
        "after being saved and loaded",
        model(load="model.mean += 1"),
    ),
    _expect(
        "Predictions that depend on other rows are roundtrip",
        "roundtrip",
        "depends on other rows",
        model(returned="X[:, 0] - X[:, 0].mean()"),
    ),
    _expect(
        "Predictions of a wrong shape are bad_result",
        "bad_result",
        "shape (20, 1); (20,) is needed",
        model(returned="np.zeros((len(X), 1))"),
    ),
    _expect(
        "Predictions that are not finite are bad_result",
        "bad_result",
        "not a finite number in 1 of 20",
        model(returned="np.where(X[:, 0] == X[:, 0].max(), np.nan, self.mean)"),
    ),
    _expect(
        "Saving folders that nest too deep is bad_result",
        "bad_result",
        "nested more than 32 deep",
        model(save="(folder / '/'.join('d' * 40)).mkdir(parents=True)"),
    ),
    check("A fault that is not the trial's is harness", _GROUP, _own_fault),
)
"""One check at least for each outcome."""

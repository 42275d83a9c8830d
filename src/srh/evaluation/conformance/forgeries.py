"""Each forgery fails: a score is earned or missing.

The control of each is a harness that runs the model in the process that scores it (``naive.py``):
there the very same code gets what it is after.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, Literal

from srh.evaluation.conformance.models import FORGED, model
from srh.evaluation.conformance.outcomes import faults
from srh.evaluation.conformance.stage import check, evaluate_source, found, honest, score_naively
from srh.evaluation.protocol import Outcome
from srh.sandbox.probe import Check, CheckResult

_GROUP: Final = "forgeries"
_CONTROL_R2: Final = 0.9
_Place = Literal["output", "file", "exit code"]

_LEAVE_FILES: Final = f"""
    for folder in (".", "..", "../..", "../../.."):
        for name in ("out.json", "result.json"):
            try:
                with open(f"{{folder}}/{{name}}", "w") as file:
                    file.write({FORGED!r})
            except OSError:
                pass
"""
_WRITE_EVERYWHERE: Final = f"""
    for descriptor in range(1, 256):
        try:
            os.write(descriptor, {FORGED.encode() + bytes([10])!r})
        except OSError:
            pass
    os._exit(0)
"""
_PATCH_MEAN: Final = """
    means = iter([0.0])
    np.mean = lambda *_, **__: next(means, 1.0)
"""
_LIAR: Final = """
class Liar(np.ndarray):
    def __rsub__(self, other):
        return np.zeros(len(self))
    __array_priority__ = 1e9
    __array_ufunc__ = None
"""
_READ_FRAMES: Final = """
    import sys
    frame, stolen = sys._getframe(), None
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if isinstance(value, np.ndarray) and (value.shape, value.dtype) == ((60,), float):
                stolen = value[::3]
        frame = frame.f_back
"""


@dataclass(frozen=True, slots=True)
class _Forgery:
    """A model that is after a score that it does not earn.

    Attributes:
        name: What is to hold.
        source: The model.
        outcomes: How its evaluation may end; of ``ok``, the numbers are the honest model's.
        reads: Where the control takes its score from.
    """

    name: str
    source: str
    outcomes: tuple[Outcome, ...]
    reads: _Place = "file"


def _try(forgery: _Forgery) -> CheckResult:
    if not _deceives(forgery):
        seen = "not even a harness that runs it with the labels is deceived"
        return CheckResult("absent", seen)
    result = evaluate_source(forgery.source)
    expected = result.outcome if result.outcome in forgery.outcomes else forgery.outcomes[0]
    wrong = faults(result, expected)
    if result.outcome == "ok" and result.metrics != honest().metrics:
        wrong.append(f"its numbers are {result.metrics}, not the honest model's")
    seen = "the honest model's numbers" if result.outcome == "ok" else str(result.error)
    return found(_GROUP, wrong, f"{result.outcome}: {seen}; the control is deceived")


def _deceives(forgery: _Forgery) -> bool:
    said, written, code = score_naively(forgery.source).split("\n")
    if forgery.reads == "exit code":
        return code == "0" and not written
    try:
        r2 = json.loads(said if forgery.reads == "output" else written)["r2"]
    except (ValueError, KeyError, TypeError):
        return False
    return isinstance(r2, float) and r2 > _CONTROL_R2


def _check(forgery: _Forgery) -> Check:
    return check(forgery.name, _GROUP, lambda: _try(forgery))


_FORGERIES: Final = (
    _Forgery(
        "Result files that a model writes are no result",
        model(fit=_LEAVE_FILES + "    os._exit(0)\n"),
        ("error",),
    ),
    _Forgery(
        "Result files that a model writes at its exit are no result",
        model(before=f"import atexit\ndef leave():\n{_LEAVE_FILES}\natexit.register(leave)"),
        ("ok",),
    ),
    _Forgery(
        "A result on standard output is no result",
        model(fit=f"print({FORGED!r}, flush=True)\nos._exit(0)"),
        ("error",),
        reads="output",
    ),
    _Forgery(
        "A result on every descriptor is no result",
        model(fit=_WRITE_EVERYWHERE),
        ("error", "bad_result"),
        reads="output",
    ),
    _Forgery(
        "Exit code 0 is no result",
        model(predict="os._exit(0)"),
        ("error",),
        reads="exit code",
    ),
    _Forgery("A patched numpy.mean changes no score", model(predict=_PATCH_MEAN), ("ok",)),
    _Forgery(
        "Predictions that subtract themselves change no score",
        model(before=_LIAR, returned="np.full(len(X), self.mean).view(Liar)"),
        ("ok",),
    ),
    _Forgery(
        "No labels lie in the frames of a model's callers",
        model(
            predict=_READ_FRAMES,
            returned="np.full(len(X), self.mean) if stolen is None else stolen",
        ),
        ("ok",),
    ),
)
CHECKS: Final = tuple(map(_check, _FORGERIES))
"""One check for each way to a score that was not earned, but for what is planted in a folder."""

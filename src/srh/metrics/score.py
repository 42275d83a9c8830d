"""A measurement: a value with a meaning, or a reason why there is none."""

from __future__ import annotations

import math
import re
from typing import Literal, SupportsFloat, get_args

import msgspec
import numpy as np

from srh.errors import MetricError
from srh.text import one_line

Status = Literal["scored", "non_evaluable", "blocked", "error"]

_STATUSES = frozenset(get_args(Status))
_CODE = re.compile(r"[a-z][a-z0-9_]*")
MESSAGE_CHARS = 400


class Score(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """What one metric says about one piece of data.

    Attributes:
        name: Name of the score; a metric's own, unless it declares several.
        value: A finite number if, and only if, ``status`` is ``"scored"``.
        status: ``"scored"``; ``"non_evaluable"``: the metric has no meaning for this data;
            ``"blocked"``: evidence that it needs was not available; ``"error"``: what was measured,
            or who measured it, broke its contract.
        reason: ``"code: message"`` if there is no value, else None. The code is a lower-case
            identifier that programs may rely on; the message is for people.
        evaluator: Who measured: a built-in's or plug-in's id without its version, or
            ``path.py:function``.
        version: The evaluator's version; of a host evaluator the digest of its file.
        example: Id of the example; None where the score is about a set of rows.
        evidence: References to what the score rests on beyond output and reference.
        spread: Standard deviation of repeated judgements, where there were several.

    Raises:
        MetricError: The fields contradict each other.
    """

    name: str
    value: float | None
    status: Status
    reason: str | None = None
    evaluator: str | None = None
    version: str | None = None
    example: str | None = None
    evidence: tuple[str, ...] = ()
    spread: float | None = None

    def __post_init__(self) -> None:
        if self.status not in _STATUSES:
            raise MetricError(f"{self.name}: unknown status {self.status!r}")
        if self.status == "scored":
            if type(self.value) is not float or not math.isfinite(self.value):
                raise MetricError(
                    f"{self.name}: a score must be a finite float, got {self.value!r}; "
                    "what cannot be measured has another status and a reason"
                )
            if self.reason is not None:
                raise MetricError(f"{self.name}: a score that has a value takes no reason")
            return
        if self.value is not None:
            raise MetricError(f"{self.name}: status {self.status!r} takes no value")
        code, separator, message = (self.reason or "").partition(": ")
        if not (_CODE.fullmatch(code) and separator and message.strip()):
            raise MetricError(
                f"{self.name}: status {self.status!r} needs a reason 'code: message', "
                f"got {self.reason!r}"
            )

    @classmethod
    def scored(cls, name: str, value: SupportsFloat) -> Score:
        """Return a score with a value.

        Raises:
            MetricError: ``value`` is a boolean, or no finite number.
        """
        if isinstance(value, bool | np.bool_):
            raise MetricError(f"{name}: a boolean is no score, got {value!r}")
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise MetricError(f"{name}: a score must be a finite float, got {value!r}") from error
        return cls(name, number, "scored")

    @classmethod
    def non_evaluable(cls, name: str, code: str, message: str) -> Score:
        """Return the score of a metric that has no meaning for the data."""
        return cls.missing(name, "non_evaluable", code, message)

    @classmethod
    def blocked(cls, name: str, code: str, message: str) -> Score:
        """Return the score of a metric whose evidence was not available."""
        return cls.missing(name, "blocked", code, message)

    @classmethod
    def error(cls, name: str, code: str, message: str) -> Score:
        """Return the score of a metric that met, or committed, a breach of contract."""
        return cls.missing(name, "error", code, message)

    @classmethod
    def missing(cls, name: str, status: Status, code: str, message: str) -> Score:
        """Return a score without value, its reason made harmless for a terminal line."""
        return cls(name, None, status, f"{code}: {one_line(message, MESSAGE_CHARS)}")

    @property
    def code(self) -> str | None:
        """The reason's code, or None for a score that has a value."""
        return None if self.reason is None else self.reason.partition(": ")[0]

    @property
    def message(self) -> str | None:
        """The reason in words, or None for a score that has a value."""
        return None if self.reason is None else self.reason.partition(": ")[2]


class ScoreBatch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an evaluator with several score names says about one example.

    Attributes:
        scores: At most one score per declared name.
    """

    scores: tuple[Score, ...]

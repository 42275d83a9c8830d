"""Whether an output is the number that the reference is, within a tolerance."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import msgspec

from srh.metrics.builtin import bad_configuration, lacking
from srh.metrics.evidence import EvaluatorContext, EvidenceBundle, Example
from srh.metrics.score import Score
from srh.metrics.spec import MetricSpec

_LONGEST = 400  # characters of a text that may be a number
_LARGEST_EXPONENT = 400


class ToleranceParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `numeric_match`.

    Attributes:
        absolute: Largest difference that counts as none.
        relative: The same, as a share of the reference's size. The larger of both holds.
        text: Whether a text that is a number ("42", "-1.5e3", "1/3") counts as that number.
    """

    absolute: float = 0.0
    relative: float = 0.0
    text: bool = True


def numeric_match(example: Example, context: EvaluatorContext, bundle: EvidenceBundle) -> Score:
    """1 if output and reference differ by at most the tolerance, else 0.

    Compared exactly, as fractions: |output - reference| <= max(absolute, relative |reference|). An
    output that is no number (``true`` is none) is no match; such a reference is ``bad_reference``.
    """
    del bundle
    lack = lacking(example, context)
    if lack is not None:
        return lack
    problem = next(iter(_problems(context.parameters).values()), None)
    if problem is not None:
        return bad_configuration(context, problem)
    settings = context.parameters
    as_text = settings.get("text", True)
    reference = to_number(example.reference, text=as_text)
    if reference is None:
        return Score.non_evaluable(context.metric, "bad_reference", "the reference is no number")
    output = to_number(example.output, text=as_text)
    if output is None:
        return Score.scored(context.metric, 0.0)
    absolute, relative = (Fraction(settings.get(name, 0)) for name in ("absolute", "relative"))
    allowed = max(absolute, relative * abs(reference))
    return Score.scored(context.metric, float(abs(output - reference) <= allowed))


def to_number(value: Any, *, text: bool) -> Fraction | None:
    """Return a JSON value as an exact number, or None if it is none.

    Args:
        value: The value. The decimal digits of a float count, not its binary value: 0.1 is 1/10.
        text: Whether a text that is a number counts.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return Fraction(repr(value)) if math.isfinite(value) else None
    if isinstance(value, int):
        return Fraction(value)
    if not (text and isinstance(value, str)) or not value.isascii() or "_" in value:
        return None
    return _parse(value.strip())


def _parse(text: str) -> Fraction | None:
    # A huge exponent is a short text, but a number of as many digits.
    exponent = text.lower().partition("e")[2].lstrip("+-")
    if len(text) > _LONGEST or (exponent.isdigit() and int(exponent) > _LARGEST_EXPONENT):
        return None
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def check_tolerances(spec: MetricSpec) -> dict[str, str]:
    """Return what is wrong with the settings of `numeric_match`."""
    return {f"parameters.{name}": text for name, text in _problems(spec.parameters).items()}


def _problems(settings: dict[str, Any]) -> dict[str, str]:
    problems = {}
    for name in ("absolute", "relative"):
        value = settings.get(name, 0.0)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if not number or not (math.isfinite(value) and value >= 0):
            problems[name] = "must be a finite number, 0 or more"
    if not isinstance(settings.get("text", True), bool):
        problems["text"] = "must be true or false"
    return problems

"""The built-in evaluators of outputs: reference, shape and trajectory.

Each takes one example and returns one score. JSON values are compared as JSON has them: ``true`` is
not 1, but 1 and 1.0 are one number; objects are equal whatever the order of their keys, lists only
in order. null is no output, and no reference: an answer of null cannot be told from none.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from srh.metrics.evidence import EvaluatorContext, EvidenceBundle, Example
from srh.metrics.score import Score
from srh.metrics.spec import MetricSpec

NO_OUTPUT: Final = "no_output"
NO_REFERENCE: Final = "no_reference"


class SetParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `set_overlap`.

    Attributes:
        items: ``tokens``: texts are sets of words, and nothing else can be measured; ``list``:
            lists are sets of their items, and nothing else can be measured.
    """

    items: str = "tokens"


class FieldParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `field_presence`.

    Attributes:
        required_fields: Names of the fields that an output should have.
    """

    required_fields: list[str]


class NormalParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `normalized_match`.

    Attributes:
        case: Whether upper and lower case differ.
        white_space: Whether the amount of white space between words counts.
    """

    case: bool = False
    white_space: bool = False


def exact_match(example: Example, context: EvaluatorContext, bundle: EvidenceBundle) -> Score:
    """1 if the output equals the reference, as JSON values, else 0."""
    del bundle
    lack = lacking(example, context)
    if lack is not None:
        return lack
    return Score.scored(context.metric, float(same_json(example.output, example.reference)))


def normalized_match(example: Example, context: EvaluatorContext, bundle: EvidenceBundle) -> Score:
    """1 if output and reference are the same text but for Unicode form, case and white space.

    Texts are compared in the form NFKC, case folded. A number counts as its JSON text; an output
    that is neither text nor number is no match, such a reference is ``bad_reference``.
    """
    del bundle
    lack = lacking(example, context)
    if lack is not None:
        return lack
    keeps = tuple(context.parameters.get(name, False) for name in ("case", "white_space"))
    if not all(isinstance(keep, bool) for keep in keeps):
        return bad_configuration(context, "case and white_space are true or false")
    reference = _normal(example.reference, *keeps)
    if reference is None:
        return Score.non_evaluable(
            context.metric, "bad_reference", "the reference is neither text nor a number"
        )
    return Score.scored(context.metric, float(_normal(example.output, *keeps) == reference))


def set_overlap(example: Example, context: EvaluatorContext, bundle: EvidenceBundle) -> Score:
    """Jaccard's index of the two sets of words: what both have, as a share of what either has.

    Words are separated by white space; how often one occurs does not count. Two empty sets are
    alike: 1. Without ``items = "list"`` only texts are sets; with it, only lists are.

    Source: P. Jaccard, Bulletin de la Société Vaudoise des Sciences Naturelles 37 (1901) 547-579.
    """
    del bundle
    lack = lacking(example, context)
    if lack is not None:
        return lack
    kind = context.parameters.get("items", "tokens")
    if kind not in ("tokens", "list"):
        return bad_configuration(context, 'items is "tokens" or "list"')
    left, right = (_as_set(value, kind) for value in (example.output, example.reference))
    wanted = "a text" if kind == "tokens" else "a list"
    if right is None:
        message = f"the reference is {_json_name(example.reference)}, not {wanted}"
        return Score.non_evaluable(context.metric, "bad_reference", message)
    if left is None:
        message = f"the output is {_json_name(example.output)}, not {wanted}"
        return Score.non_evaluable(context.metric, "bad_output", message)
    either = left | right
    return Score.scored(context.metric, len(left & right) / len(either) if either else 1.0)


def field_presence(example: Example, context: EvaluatorContext, bundle: EvidenceBundle) -> Score:
    """Share of the required fields that the output has with a value other than null."""
    del bundle
    wanted = context.parameters.get("required_fields")
    problem = field_problem(wanted)
    if problem is not None:
        return bad_configuration(context, problem)
    lack = lacking(example, context, reference=False)
    if lack is not None:
        return lack
    if not isinstance(example.output, Mapping):
        message = f"the output is {_json_name(example.output)}, which has no fields"
        return Score.non_evaluable(context.metric, "bad_output", message)
    assert wanted is not None  # noqa: S101 - a missing list is a problem
    present = sum(example.output.get(name) is not None for name in wanted)
    return Score.scored(context.metric, present / len(wanted))


def structural_shape(example: Example, context: EvaluatorContext, bundle: EvidenceBundle) -> Score:
    """1 if the output is an object with fields, else 0."""
    del bundle
    lack = lacking(example, context, reference=False)
    if lack is not None:
        return lack
    return Score.scored(context.metric, float(isinstance(example.output, Mapping)))


def trajectory_shape(example: Example, context: EvaluatorContext, bundle: EvidenceBundle) -> Score:
    """Share of a unit's members that have an output other than null.

    A call has no members, and neither has a unit that declares none. More outputs than members are
    a breach of contract by the trial: nobody knows which belongs to which.
    """
    del bundle
    unit = example.unit
    if unit.kind == "call" or not unit.members:
        why = "a call has no members" if unit.kind == "call" else f"the {unit.kind} has no members"
        return Score.non_evaluable(context.metric, "no_members", why)
    if unit.n_given > len(unit.members):
        message = f"{unit.n_given} outputs for {len(unit.members)} members"
        return Score.error(context.metric, "too_many_outputs", message)
    present = sum(member.output is not None for member in unit.members)
    return Score.scored(context.metric, present / len(unit.members))


def lacking(example: Example, context: EvaluatorContext, *, reference: bool = True) -> Score | None:
    """Return the score of an example without output or reference, or None if it has them."""
    if reference and example.reference is None:
        return Score.non_evaluable(context.metric, NO_REFERENCE, "the example has no reference")
    if example.output is None:
        return Score.non_evaluable(context.metric, NO_OUTPUT, "the trial gave no output")
    return None


def bad_configuration(context: EvaluatorContext, problem: str) -> Score:
    """Return the score of a metric whose settings cannot be used."""
    return Score.non_evaluable(context.metric, "bad_configuration", problem)


def field_problem(wanted: object) -> str | None:
    """Return what is wrong with a list of required fields, or None."""
    if not isinstance(wanted, list) or not wanted:
        return "required_fields must be a list of at least one name"
    if not all(isinstance(name, str) for name in wanted):
        return "required_fields must be names"
    return "required_fields names a field twice" if len(set(wanted)) < len(wanted) else None


def check_fields(spec: MetricSpec) -> dict[str, str]:
    """Return what is wrong with the settings of `field_presence`."""
    problem = field_problem(spec.parameters.get("required_fields"))
    return {} if problem is None else {"parameters.required_fields": problem}


def check_items(spec: MetricSpec) -> dict[str, str]:
    """Return what is wrong with the settings of `set_overlap`."""
    if spec.parameters.get("items", "tokens") in ("tokens", "list"):
        return {}
    return {"parameters.items": 'must be "tokens" or "list"'}


def same_json(left: Any, right: Any) -> bool:
    """Tell whether two JSON values are the same; ``true`` is not 1, and 1 is 1.0."""
    pairs = [(left, right)]
    while pairs:  # not recursive: a value may be nested deeply
        one, two = pairs.pop()
        if isinstance(one, bool) or isinstance(two, bool):
            same = one is two
        elif isinstance(one, Mapping) and isinstance(two, Mapping):
            same = one.keys() == two.keys()
            pairs += [(one[key], two[key]) for key in one] if same else []
        elif isinstance(one, list | tuple) and isinstance(two, list | tuple):
            same = len(one) == len(two)
            pairs += zip(one, two, strict=True) if same else ()
        else:
            # NaN is no JSON, and equals nothing, itself included.
            same = bool(one == two)
        if not same:
            return False
    return True


def _as_set(value: Any, kind: str) -> set[Any] | None:
    if kind == "tokens":
        return set(value.split()) if isinstance(value, str) else None
    return {_hashable(item) for item in value} if isinstance(value, list | tuple) else None


def _hashable(value: Any) -> Any:
    """Return what equals exactly the hashable forms of the same JSON values."""
    if isinstance(value, Mapping):
        return ("object", frozenset((key, _hashable(item)) for key, item in value.items()))
    if isinstance(value, list | tuple):
        return ("list", tuple(map(_hashable, value)))
    return (isinstance(value, bool), value)


def _normal(value: Any, case: bool, white_space: bool) -> str | None:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        value = int(value) if value.is_integer() else value  # 1.0 is 1
    text = value if isinstance(value, str) else repr(value)
    text = unicodedata.normalize("NFKC", text)
    if not case:
        # Folding may undo the form, so that it is made once more.
        text = unicodedata.normalize("NFKC", text.casefold())
    return text if white_space else " ".join(text.split())


def _json_name(value: Any) -> str:
    """Return what JSON calls a value's type."""
    if isinstance(value, bool):
        return "a boolean"
    names = ((str, "a text"), (int | float, "a number"), (Mapping, "an object"))
    return next((name for kind, name in names if isinstance(value, kind)), "a list")

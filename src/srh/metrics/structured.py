"""Whether an output is the same formula as the reference."""

from __future__ import annotations

import msgspec

import srh.engine
from srh.errors import FormulaError
from srh.metrics.builtin import bad_configuration, lacking
from srh.metrics.evidence import EvaluatorContext, EvidenceBundle, Example
from srh.metrics.score import Score
from srh.metrics.spec import MetricSpec


class EquivalenceParameters(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Settings of `symbolic_equivalence`.

    Attributes:
        variables: Names of the columns that formulas may use.
    """

    variables: list[str]


def symbolic_equivalence(
    example: Example, context: EvaluatorContext, bundle: EvidenceBundle
) -> Score:
    """1 if output and reference are the same function of the variables, 0 if they are not.

    Both are texts in the engine's grammar. Where judging may start no process for SymPy, equality
    is decided at a thousand points, to more digits than float64 has. What cannot be read
    (``bad_output``, ``bad_reference``) and what the engine leaves open (``undecided``) has no
    value.
    """
    del bundle
    variables = context.parameters.get("variables")
    problem = _variables_problem(variables)
    if variables is None or problem is not None:
        return bad_configuration(context, str(problem))
    lack = lacking(example, context)
    if lack is not None:
        return lack
    formulas = []
    for value, what in ((example.reference, "reference"), (example.output, "output")):
        try:
            if not isinstance(value, str):
                raise FormulaError("it is no text")
            formulas.append(srh.engine.parse(value, variables=variables))
        except FormulaError as error:
            message = f"the {what} is no formula: {error}"
            return Score.non_evaluable(context.metric, f"bad_{what}", message)
    found = srh.engine.equivalent(*formulas)
    if found.verdict == "undecided":
        message = f"the engine cannot tell whether they are the same: {found.why}"
        return Score.non_evaluable(context.metric, "undecided", message)
    return Score.scored(context.metric, float(found.verdict == "yes"))


def check_variables(spec: MetricSpec) -> dict[str, str]:
    """Return what is wrong with the settings of `symbolic_equivalence`."""
    problem = _variables_problem(spec.parameters.get("variables"))
    return {} if problem is None else {"parameters.variables": problem}


def _variables_problem(variables: object) -> str | None:
    if not isinstance(variables, list) or not all(isinstance(name, str) for name in variables):
        return "must be a list of names of columns"
    return None if variables else "must name at least one column"

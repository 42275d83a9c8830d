"""Which formulas may be ranked, and which evaluators are believed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from srh.context import AgentContext
from srh.engine import Expression, GroupedParameter, Symbol


def why_no_candidate(f: Expression, y: Expression, context: AgentContext) -> tuple[str, ...]:
    """Return why the equality ``y = f`` is no candidate, one sentence each."""
    reasons = []
    if y != Symbol(context.target):
        reasons.append(f"the left side is {y}, not the target {context.target!r}")
    if Symbol(context.target).name in f.variables:
        reasons.append(f"the right side depends on the target {context.target!r}")
    return tuple(reasons)


def target_copies(context: AgentContext) -> tuple[str, ...]:
    """Return the names of the columns that hold the target's own numbers in every sample."""
    return context.once("target copies", _find_copies)


def _find_copies(context: AgentContext) -> tuple[str, ...]:
    target = context.data[context.target]
    return tuple(
        name
        for name in context.data
        if name != context.target
        and context.data.shape(name) == target.shape
        and target.size > 1
        and _equal(context.data[name], target)
    )


def _equal(column: np.ndarray, target: np.ndarray) -> bool:
    if column.dtype.kind not in "biuf" or column.flat[0] != target.flat[0]:
        return False
    # A constant target equals other constants by chance.
    return bool(np.array_equal(column, target)) and bool((target != target.flat[0]).any())


def fitted_problems(f: Expression, fitted: object, target: str) -> list[str]:
    """Return what keeps a fit from being the candidate with its parameters bound.

    Args:
        f: The candidate.
        fitted: What an evaluator returned.
        target: Name of the target.
    """
    if not isinstance(fitted, Expression):
        return [f"must return an Expression, not {type(fitted).__name__}"]
    problems = []
    unbound = [name for name, value in fitted.parameter_values().items() if value in (None, {})]
    if unbound:
        problems.append(f"left parameters without a value: {', '.join(map(repr, unbound))}")
    if Symbol(target).name in fitted.variables:
        problems.append(f"returned a formula of the target {target!r}")
    elif _unbound(f) != _unbound(fitted):
        problems.append("returned another formula than it was given")
    return problems


def _unbound(f: Expression) -> Expression:
    return f.bind_parameters(
        {node.name: {} if isinstance(node, GroupedParameter) else None for node in f.parameters}
    )


def unequal_names(train: Mapping[str, float], validation: Mapping[str, float]) -> str | None:
    """Return what is wrong where the two parts do not have the same metrics."""
    odd = sorted(train.keys() ^ validation.keys())
    if not odd:
        return None
    return (
        f"the evaluator returned {', '.join(map(repr, odd))} for one of train and validation only; "
        "both need the same metrics"
    )

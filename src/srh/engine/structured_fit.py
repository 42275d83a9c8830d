"""Reading a structured formula's data for a fit, and its result in the formula's own terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from srh.engine.binding import bind
from srh.engine.expression import Expression
from srh.engine.groups import Members, collapse_groups, expand_groups
from srh.engine.parameters import GroupedParameter, no_such_bound
from srh.engine.result import FitResult
from srh.engine.structured_data import Source, StructuredTable, read_labels
from srh.engine.structured_program import StructuredProgram, structured_program
from srh.errors import ExpressionError


@dataclass(frozen=True, slots=True)
class StructuredProblem:
    """A structured formula ready to be fitted.

    Attributes:
        formula: As it was given.
        expression: With every group's parameter by itself.
        members: Which those are.
        program: Of ``expression``.
        table: Its data.
    """

    formula: Expression
    expression: Expression
    members: Members
    program: StructuredProgram
    table: StructuredTable

    def bounds(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return bounds of grouped parameters as those of each group's.

        Raises:
            ExpressionError: A name is no parameter of the formula.
        """
        found: dict[str, Any] = {}
        known = [leaf.name for leaf in self.formula.parameters]
        for name, pair in (given or {}).items():
            if name not in known:
                raise ExpressionError(no_such_bound(name, known))
            single = self.members.get(name)
            found.update({name: pair} if single is None else dict.fromkeys(single.values(), pair))
        return found

    def in_own_terms(self, result: FitResult) -> FitResult:
        """Return a result of ``expression`` as one of ``formula``."""
        fitted = collapse_groups(result.parameters, self.formula, self.members)
        # A label that the fit did not see keeps the value it had.
        for leaf in self.formula.parameters:
            if isinstance(leaf, GroupedParameter):
                fitted[leaf.name] = {**leaf.values, **fitted[leaf.name]}
        return replace(
            result,
            expression=self.formula.bind_parameters(fitted),
            parameters=fitted,
            standard_errors=collapse_groups(result.standard_errors, self.formula, self.members),
        )


def read_problem(
    formula: Expression, source: Source, target_shape: tuple[int, ...] | None
) -> StructuredProblem:
    """Read what a fit needs.

    Args:
        formula: A structured formula.
        source: Its data.
        target_shape: What the formula is to be fitted to; it may have samples where the formula
            has none.

    Raises:
        ExpressionError: The data do not fit, or a grouped parameter has a label of its own
            everywhere.
    """
    labels = read_labels(formula.parameters, source)
    for leaf in formula.parameters:
        if isinstance(leaf, GroupedParameter):
            names, codes = labels[leaf.label]
            if len(names) == codes.size > 1:
                raise ExpressionError(
                    f"grouped parameter {leaf.name!r}: every entry has a {leaf.label!r} of its "
                    "own, so its values would just repeat the target; group by a column with "
                    "repeats"
                )
    expression, members = expand_groups(
        formula, {name: found for name, (found, _) in labels.items()}
    )
    program = structured_program(expression)
    table = bind(program.code, source, labels)
    return StructuredProblem(
        formula, expression, members, program, _for_target(table, target_shape)
    )


def _for_target(table: StructuredTable, shape: tuple[int, ...] | None) -> StructuredTable:
    """Repeat a formula that is the same in all samples for each sample of the target."""
    own = table.shape
    if shape is None or shape == own or len(shape) < len(own):
        return table
    tail = own[len(table.leading) :]
    leading = shape[: len(shape) - len(tail)]
    same = all(length == 1 for length in table.leading)
    if shape[len(leading) :] != tail or not same:
        return table
    size = int(np.prod(shape, dtype=np.intp))
    return replace(table, leading=leading, shape=shape, n_rows=size)

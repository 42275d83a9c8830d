"""Grouped parameters of structured formulas, as one parameter per label.

In a structured formula a row may depend on the parameters of many groups: each neighbour has its
own. A grouped parameter is therefore taken apart into single ones and a choice between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from srh.engine.expression import Expression, Label
from srh.engine.indexed import Indexed
from srh.engine.names import MAX_NAME
from srh.engine.parameters import AnyParameter, GroupedParameter, Parameter, no_value
from srh.errors import ExpressionError
from srh.text import one_line

_set = object.__setattr__


class Choice(Expression):
    """The parameter of each row's own group; made from a grouped parameter, has no text form.

    Attributes:
        label: Name of the column with the group labels.
        labels: The labels, one per operand.
        names: Names of the indices of the label column, if it has any.
    """

    __slots__ = ("label", "labels", "names")
    label: str
    labels: tuple[Label, ...]
    names: tuple[str, ...]

    def __init__(
        self,
        label: str,
        labels: tuple[Label, ...],
        names: tuple[str, ...],
        *members: Expression,
    ) -> None:
        _set(self, "label", label)
        _set(self, "labels", labels)
        _set(self, "names", names)
        self._seal((label, labels, names), members)

    @property
    def column(self) -> str:
        """Name of the column with the group labels."""
        return self.label


Members = Mapping[str, Mapping[Label, str]]
"""Name of the single parameter by grouped parameter and label."""


def expand_groups(
    expression: Expression, labels: Mapping[str, tuple[Label, ...]]
) -> tuple[Expression, Members]:
    """Take grouped parameters apart.

    Args:
        expression: Any expression.
        labels: The distinct labels of each label column.

    Returns:
        The expression with choices, and the names of the new parameters.
    """
    grouped = [leaf for leaf in expression.parameters if isinstance(leaf, GroupedParameter)]
    if not grouped:
        return expression, {}
    taken = {leaf.name for leaf in expression.parameters}
    members: dict[str, dict[Label, str]] = {}
    values: dict[str, list[Parameter]] = {}
    for leaf in grouped:
        found = labels[leaf.label]
        names = {label: _new_name(leaf.name, label, taken) for label in found}
        members[leaf.name] = names
        values[leaf.name] = [
            Parameter(names[label], leaf.values.get(label, leaf.default)) for label in found
        ]

    def choice(node: GroupedParameter, names: tuple[str, ...]) -> Expression:
        return Choice(node.label, labels[node.label], names, *values[node.name])

    table: dict[Expression, Expression] = {}
    for node in expression.iter_preorder():
        if isinstance(node, GroupedParameter):
            table[node] = choice(node, ())
        elif isinstance(node, Indexed) and isinstance(node.base, GroupedParameter):
            table[node] = choice(node.base, node.names)
    return expression.exchange(table), members


def _new_name(name: str, label: Label, taken: set[str]) -> str:
    base = one_line(f"{name} of {label!r}", MAX_NAME - 12)
    found, number = base, 1
    while found in taken:
        number += 1
        found = f"{base} ({number})"
    taken.add(found)
    return found


def collapse_groups(values: Mapping[str, Any], expression: Expression, members: Members) -> Any:
    """Return what is known by single parameter as it is known by the parameters of the formula.

    Args:
        values: By name, the single parameters among them.
        expression: The formula before it was taken apart.
        members: From ``expand_groups``.
    """
    return {
        leaf.name: {label: values[name] for label, name in members[leaf.name].items()}
        if leaf.name in members
        else values[leaf.name]
        for leaf in expression.parameters
    }


def choose(codes: Any, members: Any) -> Any:
    """Return each row's own member."""
    return np.asarray(members, np.float64)[codes]


def require_values(leaves: Iterable[AnyParameter], labels: Mapping[str, tuple[Label, ...]]) -> None:
    """Refuse labels for which a grouped parameter has no value.

    Raises:
        ExpressionError: Naming the first one.
    """
    for leaf in leaves:
        if isinstance(leaf, GroupedParameter) and leaf.default is None:
            for label in labels[leaf.label]:
                if label not in leaf.values:
                    raise ExpressionError(no_value(leaf, label))

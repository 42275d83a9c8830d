"""What the parameters of an expression are, and giving them values."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from srh.engine.expression import Expression, GroupedParameter, Parameter
from srh.engine.names import normalise_name
from srh.errors import ExpressionError
from srh.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

    from srh.engine.scalars import Label

AnyParameter: TypeAlias = Parameter | GroupedParameter


def distinct_parameters(expression: Expression) -> tuple[AnyParameter, ...]:
    """Return the parameters, each name once, in order of first appearance.

    Where only one appearance of a name states a value, that value holds for all.

    Raises:
        ExpressionError: Two appearances of one name contradict each other.
    """
    found: dict[str, AnyParameter] = {}
    for node in expression.iter_preorder():
        if isinstance(node, Parameter | GroupedParameter):
            earlier = found.get(node.name)
            found[node.name] = node if earlier is None else _merge(earlier, node)
    return tuple(found.values())


def parameter_values(expression: Expression) -> dict[str, float | dict[Label, float] | None]:
    """Return the values by name: ``None`` where unbound, a table for a grouped parameter.

    Raises:
        ExpressionError: Two appearances of one name contradict each other.
    """
    return {
        node.name: dict(node.values) if isinstance(node, GroupedParameter) else node.value
        for node in distinct_parameters(expression)
    }


def count_parameters(expression: Expression) -> int:
    """Return how many constants are fitted: a grouped parameter counts its table, at least 1.

    Raises:
        ExpressionError: Two appearances of one name contradict each other.
    """
    return sum(
        max(1, len(node.values)) if isinstance(node, GroupedParameter) else 1
        for node in distinct_parameters(expression)
    )


def bind_parameters(
    expression: Expression, mapping: Mapping[str, float | Mapping[Label, float] | None]
) -> Expression:
    """Return the expression with values given to parameters; the others keep theirs.

    Args:
        expression: Any expression.
        mapping: Value by parameter name (``None`` unbinds); for a grouped parameter a mapping
            from label to value, which replaces its table.

    Raises:
        ExpressionError: No parameter has that name, or a value is not a finite number.
    """
    values = {normalise_name(name): value for name, value in mapping.items()}
    known = [node.name for node in distinct_parameters(expression)]
    for name in values:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ExpressionError(f"the expression has no parameter {name!r}{hint}")

    def visit(node: Expression) -> Expression:
        if isinstance(node, Parameter | GroupedParameter) and node.name in values:
            return node.bind(values[node.name])
        return node

    return expression.rebuild(visit)


def _merge(a: AnyParameter, b: AnyParameter) -> AnyParameter:
    """Return the one parameter that two appearances of its name describe."""
    if a == b:
        return a
    if isinstance(a, Parameter) and isinstance(b, Parameter):
        return Parameter(a.name, _agree(a.name, a.value, b.value))
    if isinstance(a, GroupedParameter) and isinstance(b, GroupedParameter) and a.label == b.label:
        table = dict(a.values)
        for label, value in b.values.items():
            if _agree(f"{a.name}[{label!r}]", table.get(label), value) is not None:
                table[label] = value
        default = _agree(f"{a.name} (default)", a.default, b.default)
        return GroupedParameter(a.label, a.name, table, default)
    raise ExpressionError(
        f"the name {a.name!r} is used for two different parameters; rename one of them"
    )


def _agree(name: str, a: float | None, b: float | None) -> float | None:
    if a is not None and b is not None and a != b:
        raise ExpressionError(
            f"parameter {name} has two initial values, {a!r} and {b!r}; state one of them"
        )
    return b if a is None else a

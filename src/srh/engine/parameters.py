"""Parameters: the constants that a fit determines, one by one or by group, and their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeAlias

from srh.engine.expression import Expression, ParameterValue, Symbol
from srh.engine.names import normalise_name
from srh.engine.scalars import Label, finite, plain_label
from srh.errors import ExpressionError, UnboundParameterError
from srh.text import did_you_mean

_set = object.__setattr__


class Parameter(Expression):
    """A constant to be fitted, with its value once it has one.

    Raises:
        ExpressionError: The name is unusable, or the value is not a finite number.
    """

    __slots__ = ("name", "value")
    __match_args__ = ("name", "value")
    name: str
    value: float | None

    def __init__(self, name: str, value: float | None = None) -> None:
        name = normalise_name(name)
        value = None if value is None else finite(value, f"the value of parameter {name!r}")
        _set(self, "name", name)
        _set(self, "value", value)
        self._seal((name, repr(value)), ())

    @property
    def _fields(self) -> tuple[Any, ...]:
        return (self.name, self.value)

    def bind(self, value: ParameterValue) -> Parameter:
        """Return the parameter with another value.

        Raises:
            ExpressionError: The value is a table, or not a finite number.
        """
        if isinstance(value, Mapping):
            raise ExpressionError(f"parameter {self.name!r} has one value, not a table of groups")
        return Parameter(self.name, value)


class GroupedParameter(Expression):
    """A constant per group of rows; the column ``label`` says which group a row belongs to.

    Args:
        label: Name of the column with the group labels (texts or numbers, matched by equality).
        name: The parameter's name.
        values: Value by label; may be empty before a fit.
        default: Value of rows whose label has none; without it such a row is an error.

    Raises:
        ExpressionError: A name, label or value is unusable.
    """

    __slots__ = ("default", "label", "name", "values")
    __match_args__ = ("label", "name", "values", "default")
    label: str
    name: str
    values: Mapping[Label, float]
    default: float | None

    def __init__(
        self,
        label: str,
        name: str,
        values: Mapping[Label, float] | None = None,
        default: float | None = None,
    ) -> None:
        label, name = normalise_name(label), normalise_name(name)
        where = f"grouped parameter {name!r}"
        table: dict[Label, float] = {}
        for key, value in (values or {}).items():
            plain = plain_label(key)
            if plain in table:
                raise ExpressionError(f"{where} has the label {plain!r} twice")
            table[plain] = finite(value, f"the value of {where} for {plain!r}")
        if default is not None:
            default = finite(default, f"the default of {where}")
        _set(self, "label", label)
        _set(self, "name", name)
        _set(self, "values", MappingProxyType(table))
        _set(self, "default", default)
        pairs = frozenset((key, repr(value)) for key, value in table.items())
        self._seal((label, name, pairs, repr(default)), ())

    @property
    def column(self) -> str:
        """Name of the column with the group labels."""
        return self.label

    @property
    def _fields(self) -> tuple[Any, ...]:
        return (self.label, self.name, dict(self.values), self.default)

    def bind(self, value: ParameterValue) -> GroupedParameter:
        """Return the parameter with another table.

        Raises:
            ExpressionError: The value is not a mapping from labels to finite numbers.
        """
        if not isinstance(value, Mapping):
            raise ExpressionError(
                f"grouped parameter {self.name!r} needs a mapping from label to value"
            )
        return GroupedParameter(self.label, self.name, value, self.default)


AnyParameter: TypeAlias = Parameter | GroupedParameter


def param(name: str, value: float | None = None) -> Parameter:
    """Return a parameter, written as in a formula's text: ``param('a', value=1.5)``."""
    return Parameter(name, value)


def grouped_param(
    label: str | Symbol,
    name: str,
    value: Mapping[Label, float] | None = None,
    default: float | None = None,
) -> GroupedParameter:
    """Return a grouped parameter, written as in a formula's text.

    Args:
        label: Column that holds the group labels.
        name: The parameter's name.
        value: Initial or bound value by label.
        default: Value for labels that have none.
    """
    column = label.name if isinstance(label, Symbol) else label
    return GroupedParameter(column, name, value, default)


@lru_cache(maxsize=128)
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


def bind_parameters(expression: Expression, mapping: Mapping[str, ParameterValue]) -> Expression:
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


def require_bound(leaves: Iterable[AnyParameter]) -> None:
    """Refuse to evaluate with parameters that have no value.

    Raises:
        UnboundParameterError: Naming them.
    """
    unbound = [leaf.name for leaf in leaves if isinstance(leaf, Parameter) and leaf.value is None]
    if unbound:
        raise UnboundParameterError(
            f"no value for parameter(s) {', '.join(map(repr, unbound))}; fit the expression or "
            "bind them with bind_parameters"
        )


def no_value(leaf: GroupedParameter, label: Label) -> str:
    """Say that a grouped parameter has no value for a label."""
    return (
        f"grouped parameter {leaf.name!r} has no value for {leaf.label} = {label!r} "
        "and no default; state default=… or a value for this label"
    )


def no_such_bound(name: str, known: Iterable[str]) -> str:
    """Say that bounds were given for what is no parameter."""
    hint = did_you_mean(name, known)
    return f"bounds for {name!r}, which is no parameter of the formula{hint}"


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

"""Nodes for structured data: columns with indices, reductions over relations, delays.

A *relation* is an integer table in target-first order: ``(E, 2)`` rows ``(target, source)``, or
``(H, 3)`` rows ``(target, source1, source2)``. Written with indices, as in ``A[i, j]``, it binds
them to its columns: ``sum[j](A[i, j], x[i]*x[j])`` adds up, for every node i, the rows of ``A``
whose target is i. An index that is eliminated is known inside its reduction only; the others are
free and stay. Without a relation an index runs over all nodes: ``sum[k](x[k])``.

``aggr(A, targ(x)*sour(x))`` is the same sum written without indices: ``targ`` and ``sour`` take
what is known per node to the rows of the relation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Self, TypeAlias

from srh.engine.expression import Expression, Symbol, as_expression
from srh.engine.names import NAME_PATTERN, REDUCERS, normalise_name
from srh.engine.parameters import GroupedParameter
from srh.errors import ExpressionError
from srh.text import did_you_mean

Role: TypeAlias = Literal["targ", "sour"]

MAX_INDICES = 8
"""Most indices that a relation, a column or a reduction can have."""

_set = object.__setattr__
_INDEX = re.compile(NAME_PATTERN)


@dataclass(frozen=True, slots=True)
class Index:
    """A name that stands for a node, as the i in ``x[i]``.

    Raises:
        ExpressionError: The name is no identifier.
    """

    name: str

    def __post_init__(self) -> None:
        name = normalise_name(self.name)
        if not _INDEX.fullmatch(name):
            raise ExpressionError(f"an index is a name such as i, not {name!r}")
        _set(self, "name", name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Incidence:
    """A relation with an index for each of its columns, as in ``A[i, j]``.

    Args:
        relation: Name of the relation.
        indices: One per column, target first; texts are taken as indices.

    Raises:
        ExpressionError: Fewer than two indices, or one of them twice.
    """

    relation: str
    indices: tuple[Index, ...]

    def __init__(self, relation: str, indices: Iterable[Index | str]) -> None:
        names = _indices(indices, f"relation {relation!r}")
        if len(names) < 2:
            raise ExpressionError(
                f"relation {relation!r} takes one index per column, target first: "
                f"{relation}[i, j], or {relation}[i, j, k] for a hypergraph"
            )
        _set(self, "relation", normalise_name(relation))
        _set(self, "indices", names)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the indices."""
        return tuple(index.name for index in self.indices)


class RelationField(Expression):
    """A column with one value per row of a named relation.

    Inside a reduction over the relation ``w[i, j]`` says the same; this form is for where the
    data have several relations and the text would not tell which one is meant.
    """

    __slots__ = ("name", "relation")
    __match_args__ = ("name", "relation")
    name: str
    relation: str

    def __init__(self, name: str, relation: str) -> None:
        _set(self, "name", normalise_name(name))
        _set(self, "relation", normalise_name(relation))
        self._seal((self.name, self.relation))

    @property
    def column(self) -> str:
        """The name."""
        return self.name


class Indexed(Expression):
    """A column at an index (``x[i]``, per node), or at those of a relation's row (``w[i, j]``).

    Args:
        base: The column; a grouped parameter's index belongs to its label column.
        indices: At least one; texts are taken as indices.

    Raises:
        ExpressionError: Something else is indexed, or an index occurs twice.
    """

    __slots__ = ("indices",)
    __match_args__ = ("base", "indices")
    indices: tuple[Index, ...]

    def __init__(self, base: Expression, indices: Iterable[Index | str]) -> None:
        if not isinstance(base, Symbol | RelationField | GroupedParameter):
            raise ExpressionError(
                f"only a column can have indices, not {type(base).__name__}: "
                "write x[i]*y[i] for (x*y)[i]"
            )
        _set(self, "indices", _indices(indices, f"{base.column!r}"))
        self._seal(self.names, (base,))

    @classmethod
    def _build(cls, fields: tuple[Any, ...], operands: tuple[Any, ...]) -> Self:
        return cls(operands[0], fields)

    @property
    def base(self) -> Expression:
        """What is indexed."""
        return self._operands[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the indices."""
        return tuple(index.name for index in self.indices)


class Reduction(Expression):
    """A sum, mean, product, maximum or minimum over indices.

    Args:
        op: One of ``sum mean prod max min``.
        over: The indices to eliminate; texts are taken as indices.
        body: What is reduced.
        incidence: The relation whose rows are reduced; without one the indices run over all nodes.

    Raises:
        ExpressionError: No such reduction, no index, or one that the relation does not have.
    """

    __slots__ = ("incidence", "op", "over")
    __match_args__ = ("op", "over", "body", "incidence")
    op: str
    over: tuple[Index, ...]
    incidence: Incidence | None

    def __init__(
        self,
        op: str,
        over: Iterable[Index | str],
        body: Expression,
        incidence: Incidence | None = None,
    ) -> None:
        if op not in REDUCERS:
            raise ExpressionError(f"unknown reduction {op!r}; there are {', '.join(REDUCERS)}")
        over = _indices(over, op)
        for index in over:
            if incidence is not None and index not in incidence.indices:
                bound = ", ".join(incidence.names)
                raise ExpressionError(
                    f"{op}[{index}] eliminates an index that {incidence.relation}[{bound}] does "
                    f"not bind{did_you_mean(index.name, incidence.names)}"
                )
        _set(self, "op", op)
        _set(self, "over", over)
        _set(self, "incidence", incidence)
        self._seal((op, tuple(index.name for index in over), incidence), (_operand(body),))

    @classmethod
    def _build(cls, fields: tuple[Any, ...], operands: tuple[Any, ...]) -> Self:
        op, over, incidence = fields
        return cls(op, over, operands[0], incidence)

    @property
    def body(self) -> Expression:
        """What is reduced."""
        return self._operands[0]


class Gather(Expression):
    """An expression on every row of a relation: ``gather(A[i, j], x[i] - x[j])``, one value each.

    Raises:
        ExpressionError: The body is no expression.
    """

    __slots__ = ("incidence",)
    __match_args__ = ("incidence", "body")
    incidence: Incidence

    def __init__(self, incidence: Incidence, body: Expression) -> None:
        if not isinstance(incidence, Incidence):
            raise ExpressionError("gather needs a relation with indices: gather(A[i, j], ...)")
        _set(self, "incidence", incidence)
        self._seal((incidence,), (_operand(body),))

    @property
    def body(self) -> Expression:
        """What is computed per row."""
        return self._operands[0]


class Aggregate(Expression):
    """The sum over a relation's rows at each target, without indices: ``aggr(A, targ(x)*sour(x))``.

    Raises:
        ExpressionError: The body is no expression.
    """

    __slots__ = ("relation",)
    __match_args__ = ("relation", "body")
    relation: str

    def __init__(self, relation: str, body: Expression) -> None:
        _set(self, "relation", normalise_name(relation))
        self._seal((self.relation,), (_operand(body),))

    @property
    def body(self) -> Expression:
        """What is added up."""
        return self._operands[0]


class RelationLift(Expression):
    """A value per node taken to the rows of a relation: ``targ(x)``, ``sour(x)``, ``sour(x, 2)``.

    Args:
        role: ``targ`` for the row's target, ``sour`` for a source.
        operand: What is known per node.
        position: Which source, from 1; needed where rows have several.

    Raises:
        ExpressionError: Another role, or a position that cannot be.
    """

    __slots__ = ("position", "role")
    __match_args__ = ("role", "operand", "position")
    role: Role
    position: int | None

    def __init__(self, role: Role, operand: Expression, position: int | None = None) -> None:
        if role not in ("targ", "sour"):
            raise ExpressionError(f"a value is lifted by targ or sour, not {role!r}")
        if position is not None:
            whole = isinstance(position, int) and not isinstance(position, bool)
            if role == "targ" or not whole or not 1 <= position < MAX_INDICES:
                raise ExpressionError(
                    f"{role} cannot have the position {position!r}; write sour(x, 1), sour(x, 2)"
                )
        _set(self, "role", role)
        _set(self, "position", position)
        self._seal((role, position), (_operand(operand),))

    @classmethod
    def _build(cls, fields: tuple[Any, ...], operands: tuple[Any, ...]) -> Self:
        return cls(fields[0], operands[0], fields[1])

    @property
    def operand(self) -> Expression:
        """What is known per node."""
        return self._operands[0]


class Delay(Expression):
    """What an expression was ``lag`` ago: ``delay(x, 0.5)``, interpolated along the first axis."""

    __slots__ = ()
    __match_args__ = ("operand", "lag")

    def __init__(self, operand: Expression, lag: Expression) -> None:
        self._seal((), (_operand(operand), _operand(lag)))

    @property
    def operand(self) -> Expression:
        """What is delayed."""
        return self._operands[0]

    @property
    def lag(self) -> Expression:
        """By how much."""
        return self._operands[1]


STRUCTURED = (Indexed, RelationField, Reduction, Gather, Aggregate, RelationLift, Delay)
"""Nodes whose rows are not independent of each other."""


@lru_cache(maxsize=256)
def is_structured(expression: Expression) -> bool:
    """Say whether the rows of a formula depend on each other."""
    return any(isinstance(node, STRUCTURED) for node in expression.iter_preorder())


def delay(operand: Expression | float, lag: Expression | float) -> Delay:
    """Return ``delay(operand, lag)``, written as in a formula's text."""
    return Delay(as_expression(operand), as_expression(lag))


def relations_of(expression: Expression) -> tuple[str, ...]:
    """Return the names of the relations used, in order of first appearance."""
    names: dict[str, None] = {}
    for node in expression.iter_preorder():
        if isinstance(node, Reduction | Gather) and node.incidence is not None:
            names.setdefault(node.incidence.relation)
        elif isinstance(node, Aggregate | RelationField):
            names.setdefault(node.relation)
    return tuple(names)


def _indices(indices: Iterable[Index | str], what: str) -> tuple[Index, ...]:
    given = (indices,) if isinstance(indices, Index | str) else tuple(indices)
    found = tuple(index if isinstance(index, Index) else Index(index) for index in given)
    if not 1 <= len(found) <= MAX_INDICES:
        raise ExpressionError(f"{what} takes 1 to {MAX_INDICES} indices, not {len(found)}")
    if len(set(found)) < len(found):
        listed = ", ".join(map(str, found))
        raise ExpressionError(f"{what} has an index twice: [{listed}]")
    return found


def _operand(operand: Expression) -> Expression:
    if not isinstance(operand, Expression):
        raise ExpressionError(f"an operand must be an expression, not {type(operand).__name__}")
    return operand

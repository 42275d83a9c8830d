"""What the parts of a structured formula are known for: nodes, pairs of nodes, rows of a relation.

A *space* says what the last axis of a value runs over. A root space runs over the nodes of its
indices (all pairs for two, a single entry for none). A joined space has, for every row of its
parent, the rows of a relation that agree with it in the indices that both have. A reduction goes
from a joined space to its parent, so every kind of reduction is one operation.

``needs`` finds out from the inside which indices a subexpression depends on. A reduction whose
body needs nothing but the relation's own indices is computed once per node, whatever it is nested
in; only otherwise is it joined to the rows of the reduction around it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from srh.engine.expression import Expression
from srh.engine.groups import Choice
from srh.engine.indexed import (
    Aggregate,
    Gather,
    Incidence,
    Indexed,
    Reduction,
    RelationField,
    RelationLift,
)
from srh.errors import ExpressionError

NODE = ""
"""Index of the nodes where a text names none: inside ``targ`` and ``sour``, and for ``aggr``."""


@dataclass(frozen=True, slots=True)
class Space:
    """What the last axis of a value runs over.

    Attributes:
        indices: Those that it binds itself.
        parent: What it is joined to; None for a root space.
        relation: Whose rows are joined; None for all nodes.
        shared: Its own indices that are the parent's, too.
    """

    indices: tuple[str, ...] = ()
    parent: Space | None = None
    relation: str | None = None
    shared: tuple[str, ...] = ()

    @property
    def known(self) -> frozenset[str]:
        """All indices that can be used here."""
        outer = frozenset() if self.parent is None else self.parent.known
        return outer | frozenset(self.indices)

    @property
    def is_rows(self) -> bool:
        """Whether it runs over the rows of one relation in their own order."""
        return self.relation is not None and self.parent == EVERYTHING


EVERYTHING = Space()
"""The space of what is the same for all nodes."""


@dataclass(frozen=True, slots=True)
class Need:
    """Something that must be bound around a subexpression.

    Attributes:
        indices: An index of a node, or those of a relation's row; none for a row of any indices.
        relation: The relation, if it is known.
        lifted: Whether it is a place for ``targ`` and ``sour``, which only ``aggr`` gives.
        column: The column with these indices, for messages.
    """

    indices: tuple[str, ...]
    relation: str | None = None
    lifted: bool = False
    column: str = field(default="", compare=False)

    @property
    def of_row(self) -> bool:
        """Whether it is a relation's row, not a node."""
        return len(self.indices) != 1


Needs: TypeAlias = frozenset[Need]
NeedsByNode: TypeAlias = Mapping[int, Needs]


def find_needs(expression: Expression) -> NeedsByNode:
    """Return what each subexpression needs to be bound around it, by ``id`` of the node.

    Raises:
        ExpressionError: Something can be bound nowhere.
    """
    found: dict[int, Needs] = {}
    for node in expression.iter_postorder():
        below = frozenset[Need]().union(*(found[id(operand)] for operand in node.operands))
        found[id(node)] = _needs(node, below)
    return found


def _needs(node: Expression, below: Needs) -> Needs:  # noqa: PLR0911
    if isinstance(node, Indexed):
        base = node.base
        relation = base.relation if isinstance(base, RelationField) else None
        if relation is not None and len(node.indices) == 1:
            raise ExpressionError(
                f"{node} has one index, but a row of {relation!r} has several: "
                f"write {node.base}[i, j]"
            )
        return frozenset({Need(node.names, relation, column=str(base.column))})
    if isinstance(node, Choice) and node.names:
        return frozenset({Need(node.names)})
    if isinstance(node, RelationField):
        return frozenset({Need((), node.relation)})
    if isinstance(node, Reduction):
        own = reduced_indices(node)
        kept = frozenset(Need((name,)) for name in own if name not in eliminated(node))
        return kept | outer_needs(node, below)
    if isinstance(node, Gather):
        _refuse_outer(node, outer_needs(node, below))
        return frozenset({Need(node.incidence.names, node.incidence.relation)})
    if isinstance(node, Aggregate):
        _refuse_indices(node, below, "lifted")
        return frozenset({Need((NODE,))})
    if isinstance(node, RelationLift):
        _refuse_indices(node, below, "per node")
        return frozenset({Need((), lifted=True)})
    return below


def reduced_indices(node: Reduction) -> tuple[str, ...]:
    """Return the indices that a reduction binds."""
    if node.incidence is not None:
        return node.incidence.names
    return tuple(index.name for index in node.over)


def eliminated(node: Reduction) -> frozenset[str]:
    """Return the indices that are known inside a reduction only."""
    return frozenset(index.name for index in node.over)


def outer_needs(node: Reduction | Gather, below: Needs) -> Needs:
    """Return what the body needs besides what the node itself binds.

    Raises:
        ExpressionError: A relation's row that depends on an eliminated index.
    """
    own = reduced_indices(node) if isinstance(node, Reduction) else node.incidence.names
    relation = None if node.incidence is None else node.incidence.relation
    outer = set()
    for need in below:
        if not need.of_row:
            if need.indices == (NODE,):
                raise ExpressionError(
                    "aggr inside a reduction or gather leaves open which node is meant; write it "
                    "with an index: sum[k](A[j, k], …)"
                )
            if need.indices[0] not in own:
                outer.add(need)
            continue
        mine = need.relation in (None, relation) and need.indices in ((), own)
        if relation is not None and not need.lifted and mine:
            continue
        local = eliminated(node) if isinstance(node, Reduction) else frozenset(own)
        if local & frozenset(need.indices) or need.lifted or not need.indices:
            raise ExpressionError(_unbound(need, node.incidence))
        outer.add(need)
    return frozenset(outer)


def _unbound(need: Need, around: Incidence | None = None) -> str:
    """Say how to bind what nothing around it binds."""
    if need.lifted:
        return (
            "targ and sour can only stand inside aggr: aggr(A, targ(x)*sour(x)); "
            "with indices write x[i] and x[j]"
        )
    listed = ", ".join(need.indices or ("i", "j"))
    last = (need.indices or ("j",))[-1]
    what = f"{need.column}[{listed}]" if need.column else f"a value per row of {need.relation!r}"
    relation = need.relation or ("A" if need.column != "A" else "B")
    if need.column and need.relation:
        what += f" of relation {need.relation!r}"
    bound = itself = ""
    if around is not None:
        bound = f" (around it stands {around.relation}[{', '.join(around.names)}])"
    if need.column and need.relation is None:
        itself = (
            f"; if {need.column!r} is the relation itself, it is the first argument: "
            f"sum[{last}]({need.column}[{listed}], …)"
        )
    return (
        f"{what} needs its relation around it, with the same indices in the same order{bound}: "
        f"sum[{last}]({relation}[{listed}], …) or gather({relation}[{listed}], …){itself}"
    )


def _refuse_outer(node: Gather, outer: Needs) -> None:
    if outer:
        named = ", ".join(sorted({name for need in outer for name in need.indices}))
        bound = ", ".join(node.incidence.names)
        raise ExpressionError(
            f"gather({node.incidence.relation}[{bound}], …) uses the index {named}, which the "
            "relation does not bind; each row gets one value"
        )


def _refuse_indices(node: Expression, below: Needs, allowed: str) -> None:
    for need in below:
        if need.lifted and allowed == "lifted":
            continue
        if need.indices == (NODE,) and allowed == "per node":
            continue
        if isinstance(node, Aggregate):
            field = not need.indices and not need.lifted and need.relation == node.relation
            if field:
                continue
            raise ExpressionError(
                "inside aggr there are no indices: values per node are written targ(x) or "
                "sour(x); with indices write sum[j](A[i, j], x[j]) instead of aggr"
            )
        raise ExpressionError(
            "targ and sour take a value per node without indices: write targ(x), not targ(x[i])"
        )


def outermost(expression: Expression, needs: NeedsByNode) -> Space:
    """Return the space of the whole formula: over its free indices, in order of appearance.

    Raises:
        ExpressionError: Rows of a relation stand beside nodes or rows of another, or something is
            bound nowhere.
    """
    wanted = needs[id(expression)]
    rows = {need.relation for need in wanted if need.of_row}
    gathered = {need.relation for need in wanted if need.of_row and need.relation is not None}
    free = [name for name in _names(expression) if Need((name,)) in wanted]
    if Need((NODE,)) in wanted and not free:
        free = [NODE]
    if not rows:
        if len(free) > 1 and Need((NODE,)) in wanted:
            raise ExpressionError(
                f"aggr beside the indices {', '.join(free)} could be taken for either; write it "
                "with an index: sum[j](A[i, j], …)"
            )
        return Space(tuple(free))
    for need in wanted:
        if need.lifted or (need.of_row and not _stands_alone(expression, need)):
            raise ExpressionError(_unbound(need))
    if free or len(gathered) > 1:
        others = f"values per node ({', '.join(free)})" if free else "rows of another relation"
        listed = ", ".join(map(repr, sorted(gathered)))
        raise ExpressionError(
            f"one value per row of {listed} cannot be combined with {others}; reduce the rows "
            "with sum[j](A[i, j], …), or move all of it into one gather"
        )
    relation = gathered.pop()
    width = max((len(need.indices) for need in wanted if need.of_row), default=0)
    return Space(tuple(f"{place}" for place in range(max(width, 2))), EVERYTHING, relation)


def _stands_alone(expression: Expression, need: Need) -> bool:
    """Say whether rows are wanted by a gather or a bare field, not by a column with indices."""
    if need.relation is None:
        return False
    if not need.indices:
        return True
    stack = [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, Indexed | Choice) and node.names == need.indices:
            return False
        if not isinstance(node, Reduction | Gather | Aggregate):
            stack.extend(node.operands)
    return True


def _names(expression: Expression) -> list[str]:
    """Return all index names in order of first appearance."""
    names: dict[str, None] = {}
    for node in expression.iter_preorder():
        if isinstance(node, Indexed | Choice):
            names.update(dict.fromkeys(node.names))
        elif isinstance(node, Reduction | Gather) and node.incidence is not None:
            names.update(dict.fromkeys(node.incidence.names))
    return list(names)

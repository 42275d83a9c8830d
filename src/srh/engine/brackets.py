"""Reading what structured formulas add to the grammar: index lists, reductions and their calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from srh.engine.calls import Source, read_arguments
from srh.engine.complaints import wrong_count
from srh.engine.expression import Binary, Expression, Function, Number, Symbol
from srh.engine.indexed import (
    Aggregate,
    Delay,
    Gather,
    Incidence,
    Index,
    Indexed,
    Reduction,
    RelationField,
    RelationLift,
)
from srh.engine.names import STRUCTURE_CALLS
from srh.engine.operators import OPERATORS
from srh.engine.tokens import Token, shown
from srh.errors import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Sequence

_FORMS = {
    "delay": "delay(x, 0.5)",
    "gather": "gather(A[i, j], x[i] - x[j])",
    "aggr": "aggr(A, targ(x)*sour(x))",
    "targ": "targ(x)",
    "sour": "sour(x), or sour(x, 2) for the second source of a hypergraph",
}


def read_indices(source: Source) -> tuple[Index, ...]:
    """Read ``[i, j]``.

    Raises:
        ParseError: Something else stands in the brackets.
    """
    source.advance()
    indices = []
    while True:
        token = source.advance()
        if token.kind != "name":
            raise source.error(_no_index(token), token)
        try:
            indices.append(Index(token.text))
        except ExpressionError as error:
            raise source.error(str(error), token) from None
        if source.token.kind == "]":
            source.advance()
            return tuple(indices)
        if source.token.kind != ",":
            raise source.error(_no_index(source.token))
        source.advance()


def _no_index(token: Token) -> str:
    if token.kind == ":":
        return "there are no slices; an index is a name such as i"
    if token.kind in {"+", "-", "*", "/"}:
        return "an index is a plain name such as i; there is no arithmetic with indices"
    return f"an index must be a name such as i, not {shown(token.text)}"


def read_relation_field(source: Source) -> RelationField:
    """Read the arguments of ``RelationField(w, relation=A)`` and the closing bracket.

    Raises:
        ParseError: They are written wrongly.
        ExpressionError: A name is unusable.
    """
    given = read_arguments(source, "RelationField", {"name": _name, "relation": _relation})
    if len(given) < 2:
        raise source.error(
            "RelationField needs a column and a relation: RelationField(w, relation=A)",
            source.before,
        )
    return RelationField(given["name"], given["relation"])


def _name(source: Source, token: Token, what: str) -> str:
    if token.kind not in {"name", "quoted"}:
        raise source.error(f"{what} must be a column, not {shown(token.text)}", token)
    return source.column(token).name


def _relation(source: Source, token: Token, what: str) -> str:
    if token.kind not in {"name", "quoted"}:
        raise source.error(f"{what} must be a relation, not {shown(token.text)}", token)
    return source.relation(token)


def call_node(head: str, over: tuple[Index, ...], args: Sequence[Expression]) -> Expression:
    """Make the node that a call stands for.

    Args:
        head: Name of the call or reduction.
        over: Indices that a reduction eliminates; none for a call.
        args: What stands between its brackets.

    Raises:
        ExpressionError: The arguments do not fit; the message shows what to write.
    """
    if not over and head not in STRUCTURE_CALLS:
        if len(args) != OPERATORS[head].arity:
            raise ExpressionError(wrong_count(head, len(args)))
        return Function(head, args)
    return _structured_node(head, over, args)


def _structured_node(head: str, over: tuple[Index, ...], args: Sequence[Expression]) -> Expression:
    if over:
        return _reduction(head, over, args)
    if head == "gather" and len(args) == 2:
        return Gather(_incidence(args[0], "gather"), args[1])
    if head == "aggr" and len(args) in (1, 2):
        return _aggregate(args)
    if head == "delay" and len(args) == 2:
        return Delay(args[0], args[1])
    if head == "targ" and len(args) == 1:
        return RelationLift("targ", args[0])
    if head == "sour" and len(args) in (1, 2):
        return RelationLift("sour", args[0], _position(args[1]) if len(args) == 2 else None)
    raise ExpressionError(f"write {head} as {_FORMS[head]}")


def _reduction(op: str, over: tuple[Index, ...], args: Sequence[Expression]) -> Reduction:
    if len(args) > 2:
        raise ExpressionError(
            f"{op} takes a relation and what to reduce: {op}[j](A[i, j], x[j]); for a second "
            "relation nest another reduction"
        )
    if len(args) == 1:
        return Reduction(op, over, args[0])
    return Reduction(op, over, args[1], _incidence(args[0], op))


def _incidence(node: Expression, call: str) -> Incidence:
    if isinstance(node, Indexed) and isinstance(node.base, Symbol):
        return Incidence(node.base.name, node.indices)
    raise ExpressionError(f"{call}: the first argument must be a relation such as A[i, j]")


def _aggregate(args: Sequence[Expression]) -> Aggregate:
    if len(args) == 2:
        relation, body = args
    else:
        relation, body = _first_factor(args[0])
    if not isinstance(relation, Symbol):
        raise ExpressionError(f"aggr begins with the name of a relation: {_FORMS['aggr']}")
    return Aggregate(relation.name, body)


def _first_factor(product: Expression) -> tuple[Expression, Expression]:
    """Split ``A*x*y/z`` into ``A`` and ``x*y/z``."""
    right: list[tuple[str, Expression]] = []
    node = product
    while isinstance(node, Binary) and node.op in {"*", "/"}:
        right.append((node.op, node.right))
        node = node.left
    if not right:
        return node, Number(1)
    op, body = right.pop()
    if op == "/":
        body = Number(1) / body
    for op, factor in reversed(right):
        body = Binary(op, body, factor)
    return node, body


def _position(node: Expression) -> int:
    if isinstance(node, Number) and isinstance(node.value, int):
        return node.value
    raise ExpressionError("the second argument of sour says which source: sour(x, 1), sour(x, 2)")

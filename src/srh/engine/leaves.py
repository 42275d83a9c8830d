"""What an expression is made of besides arithmetic, put under plain names and back again.

SymPy, and whoever samples an expression at made-up points, is to see columns, parameters and
structured parts alike as unknown numbers. Plain names (``v0000``) mean nothing to SymPy, differ
for a column and a parameter of one name, and sort in order of first appearance.
"""

from __future__ import annotations

from srh.engine.expression import Binary, Expression, Function, Number, Symbol, Unary
from srh.engine.parameters import GroupedParameter, Parameter

_ARITHMETIC = (Number, Unary, Binary, Function)


class Leaves:
    """A table of the parts that are not arithmetic; several expressions may share it.

    Args:
        by_name: Parameters of one name are one leaf, whatever values they have.
    """

    def __init__(self, *, by_name: bool) -> None:
        self._by_name = by_name
        self._name_of: dict[Expression, str] = {}

    @property
    def parts(self) -> dict[str, Expression]:
        """Each part by its plain name, in order of first appearance."""
        return {name: part for part, name in self._name_of.items()}

    def hide(self, expression: Expression) -> Expression:
        """Return the expression with plain symbols in the place of its parts."""
        table: dict[Expression, Expression] = {}
        stack = [expression]
        while stack:
            node = stack.pop()
            if isinstance(node, _ARITHMETIC):
                stack.extend(reversed(node.operands))
            elif node not in table:
                table[node] = Symbol(self._name(node))
        return expression.exchange(table)

    def show(self, hidden: Expression) -> Expression:
        """Return the expression with the parts back in their places."""
        parts = {Symbol(name): part for name, part in self.parts.items()}
        return hidden.exchange(parts)  # type: ignore[arg-type]

    def _name(self, node: Expression) -> str:
        key = unbound(node) if self._by_name else node
        return self._name_of.setdefault(key, f"v{len(self._name_of):04d}")


def unbound(expression: Expression) -> Expression:
    """Return the expression without the values of its parameters."""

    def visit(node: Expression) -> Expression:
        if isinstance(node, Parameter) and node.value is not None:
            return Parameter(node.name)
        if isinstance(node, GroupedParameter) and (node.values or node.default is not None):
            return GroupedParameter(node.label, node.name)
        return node

    return expression.rebuild(visit)


def agreed(expression: Expression) -> Expression:
    """Return the expression with one value for all appearances of a parameter.

    Raises:
        ExpressionError: Two appearances of one name contradict each other.
    """
    known = {node.name: node for node in expression.parameters}

    def visit(node: Expression) -> Expression:
        return known[node.name] if isinstance(node, Parameter | GroupedParameter) else node

    return expression.rebuild(visit)


def with_values(expression: Expression) -> Expression:
    """Return the expression with numbers in the place of bound parameters."""
    return expression.rebuild(
        lambda node: (
            Number(node.value) if isinstance(node, Parameter) and node.value is not None else node
        )
    )

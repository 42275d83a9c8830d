"""The structure that all nodes share: operands, walks, equality, hash, pickling.

Every walk is a loop with its own stack, so a tree may be as deep as it has nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeVar, cast

from srh.errors import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from srh.engine.expression import Expression

MAX_NODES = 10_000
"""Largest tree, in nodes. A subtree that is used twice counts twice."""


class Tree:
    """An immutable node with operands of its own kind.

    A subclass sets its own slots through ``object.__setattr__`` and ends its ``__init__`` with
    ``_seal``. ``_build(fields, operands)`` makes the node anew from ``_fields`` and operands.
    """

    __slots__ = ("__weakref__", "_hash", "_key", "_operands", "_size")
    _key: tuple[Any, ...]
    _operands: tuple[Expression, ...]
    _hash: int
    _size: int

    def _seal(self, key: tuple[Any, ...], operands: tuple[Expression, ...] = ()) -> None:
        """Store what equality compares: the node's own content and its operands."""
        size = 1
        for operand in operands:
            size += operand._size
        if size > MAX_NODES:
            raise ExpressionError(f"an expression has at most {MAX_NODES} nodes, this has {size}")
        _set_key(self, key)
        _set_operands(self, operands)
        _set_size(self, size)
        # Operands know their hash already: no recursion, however deep the tree is.
        _set_hash(self, hash((type(self), key, *[operand._hash for operand in operands])))

    @classmethod
    def _build(cls, fields: tuple[Any, ...], operands: tuple[Any, ...]) -> Self:
        return cls(*fields, *operands)

    @property
    def _fields(self) -> tuple[Any, ...]:
        return self._key

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The nodes directly below this one, left to right."""
        return self._operands

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"expressions are immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"expressions are immutable: cannot delete {name!r}")

    def __len__(self) -> int:
        """Return the number of nodes."""
        return self._size

    def __bool__(self) -> bool:
        return True

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        pairs: list[tuple[Tree, Tree]] = [(self, other)]
        while pairs:
            a, b = pairs.pop()
            if a is b:
                continue
            if a._hash != b._hash or type(a) is not type(b) or a._key != b._key:
                return False
            if len(a._operands) != len(b._operands):
                return False
            pairs.extend(zip(a._operands, b._operands, strict=True))
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        # Flat, because pickle would recurse into a nested form.
        steps = [(type(n), n._fields, len(n._operands)) for n in self.iter_postorder()]
        return _from_postfix, (steps,)

    def copy(self) -> Self:
        """Return the expression itself: nobody can change it."""
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def iter_preorder(self) -> Iterator[Expression]:
        """Yield every node, each before its operands, left to right."""
        stack = [cast("Expression", self)]
        while stack:
            node = stack.pop()
            yield node
            stack.extend(reversed(node._operands))

    def iter_postorder(self) -> Iterator[Expression]:
        """Yield every node, each after its operands, left to right."""
        stack = [cast("Expression", self)]
        backwards: list[Expression] = []
        while stack:
            node = stack.pop()
            backwards.append(node)
            stack.extend(node._operands)
        return reversed(backwards)

    def rebuild(self, visit: Callable[[Expression], Expression]) -> Expression:
        """Return the tree made anew from below.

        Args:
            visit: Called with every node after its operands were exchanged; returns the node that
                takes its place.
        """
        done: list[Expression] = []
        for node in self.iter_postorder():
            done.append(visit(node._with_operands(_take(done, len(node._operands)))))
        return done[0]

    def exchange(self, table: dict[Expression, Expression]) -> Expression:
        """Return the tree with every subtree that is a key of ``table`` exchanged, from above.

        What was put in is not searched again.
        """
        stack: list[tuple[Expression, bool]] = [(cast("Expression", self), False)]
        done: list[Expression] = []
        while stack:
            node, below_done = stack.pop()
            if below_done:
                done.append(node._with_operands(_take(done, len(node._operands))))
            elif node in table:
                done.append(table[node])
            else:
                stack.append((node, True))
                stack.extend((operand, False) for operand in reversed(node._operands))
        return done[0]

    def _with_operands(self, operands: tuple[Expression, ...]) -> Expression:
        if all(new is old for new, old in zip(operands, self._operands, strict=True)):
            return cast("Expression", self)
        return cast("Expression", self._build(self._fields, operands))


# The slots' own setters: half the time of object.__setattr__, and nodes are made by the million.
_set_key, _set_operands, _set_size, _set_hash = (
    Tree.__dict__[slot].__set__ for slot in ("_key", "_operands", "_size", "_hash")
)

_Node = TypeVar("_Node")


def _take(stack: list[_Node], count: int) -> tuple[_Node, ...]:
    """Remove the last ``count`` entries and return them in order."""
    if not count:
        return ()
    taken = tuple(stack[-count:])
    del stack[-count:]
    return taken


def _from_postfix(steps: Iterable[tuple[type[Tree], tuple[Any, ...], int]]) -> Tree:
    """Rebuild a pickled expression."""
    done: list[Tree] = []
    for kind, fields, count in steps:
        done.append(kind._build(fields, _take(done, count)))
    return done[0]

"""Structured formulas as flat programs.

The nodes are those of ``program.py``, with a space for each (``scopes.py``) and four kinds of
operation more: a ``Move`` takes values to another space, a ``Fold`` reduces a joined space to its
parent, a ``Lag`` looks into the past, a ``Pick`` takes each row's own member of several values.

What can be computed in a smaller space is computed there: in a sum over 20,000 edges ``sin(x[j])``
costs the sines of the nodes. Operands meet in the space of their surroundings only if they
come from different ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from srh.engine.expression import Binary, Expression, Function, Number, Symbol, Unary
from srh.engine.groups import Choice
from srh.engine.indexed import (
    Aggregate,
    Delay,
    Gather,
    Indexed,
    Reduction,
    RelationField,
    RelationLift,
)
from srh.engine.kernels import Kernel
from srh.engine.parameters import Parameter
from srh.engine.program import Compiler, Node
from srh.engine.relations import rows_of
from srh.engine.scopes import (
    EVERYTHING,
    NODE,
    NeedsByNode,
    Space,
    eliminated,
    find_needs,
    outer_needs,
    outermost,
    reduced_indices,
)
from srh.engine.structured_code import Code, ColumnRead, Fold, Lag, Move, Pick
from srh.errors import ExpressionError


@lru_cache(maxsize=64)
def compile_structured(expression: Expression) -> Code:
    """Compile a structured formula whose grouped parameters were taken apart.

    Raises:
        ExpressionError: An index is bound nowhere, or parts do not fit together.
    """
    needs = find_needs(expression)
    return _StructuredCompiler(expression, needs).run(outermost(expression, needs))


class _StructuredCompiler:
    """Walks a formula with the space around each part; a stack, so that depth costs nothing."""

    def __init__(self, expression: Expression, needs: NeedsByNode) -> None:
        self._expression, self._needs = expression, needs
        self._compiler = Compiler(expression)
        self._spaces: dict[int, Space] = {}
        self._columns: dict[int, ColumnRead] = {}
        self._relations: dict[str, int | None] = {}
        self._sources: dict[str, None] = {}
        self._reach: dict[str, int] = {}
        self._delayed = False

    def run(self, top: Space) -> Code:
        """Compile the formula for the space of its result."""
        stack: list[tuple[Expression, Space, bool]] = [(self._expression, top, False)]
        done: list[int] = []
        with np.errstate(all="ignore"):
            while stack:
                node, scope, ready = stack.pop()
                below = () if isinstance(node, Indexed) else node.operands
                if below and not ready:
                    inner = self._inside(node, scope)
                    stack.append((node, scope, True))
                    stack.extend((operand, inner, False) for operand in reversed(below))
                    continue
                args = tuple(done[len(done) - len(below) :])
                del done[len(done) - len(below) :]
                done.append(self._emit(node, scope, args))
        self._note_relation(top)
        root = self._moved(done[0], top)
        return self._finish(root, top)

    def _finish(self, root: int, top: Space) -> Code:
        nodes = self._compiler.nodes
        used = {root}
        for position in range(root, -1, -1):
            if position in used:
                used.update(nodes[position].args)
        new = {old: index for index, old in enumerate(sorted(used))}
        kept = tuple(_renumbered(nodes[old], new) for old in sorted(used))
        columns = tuple(
            ColumnRead(new[old], read.name, read.space, read.reading, read.text, read.labels)
            for old, read in self._columns.items()
            if old in used
        )
        return Code(
            kept,
            tuple(self._compiler.slots),
            tuple(dict.fromkeys([top, *self._found(node.kernel for node in kept)])),
            top,
            columns,
            self._relations,
            tuple(self._sources),
            self._reach,
            self._delayed,
        )

    @staticmethod
    def _found(kernels: Iterable[Kernel | None]) -> Iterator[Space]:
        for kernel in kernels:
            if isinstance(kernel, Move):
                yield from (kernel.source, kernel.space)
            elif isinstance(kernel, Fold):
                yield kernel.space

    def _inside(self, node: Expression, scope: Space) -> Space:
        """Return the space in which a node's operands stand."""
        if isinstance(node, Reduction):
            return self._reduced_space(node, scope)
        if isinstance(node, Gather):
            return Space(node.incidence.names, EVERYTHING, node.incidence.relation)
        if isinstance(node, Aggregate):
            most = _most_sources(node)
            self._reach[node.relation] = max(most, self._reach.get(node.relation, 1))
            places = (NODE, *(str(place) for place in range(1, most + 1)))
            return Space(places, Space((NODE,)), node.relation, (NODE,))
        return Space((NODE,)) if isinstance(node, RelationLift) else scope

    def _reduced_space(self, node: Reduction, scope: Space) -> Space:
        own, local = reduced_indices(node), eliminated(node)
        kept = tuple(name for name in own if name not in local)
        outer = outer_needs(node, self._needs[id(node.body)])
        around = kept + tuple(need.indices[0] for need in outer if not need.of_row)
        parent = scope
        # What depends on no row around it is the same for all of them.
        if not outer or (len(around) == 1 and not any(need.of_row for need in outer)):
            parent = Space(around)
        shared = tuple(name for name in kept if name in parent.known)
        relation = None if node.incidence is None else node.incidence.relation
        return Space(own, parent, relation, shared)

    def _emit(self, node: Expression, scope: Space, args: tuple[int, ...]) -> int:  # noqa: PLR0911
        compiler = self._compiler
        if isinstance(node, Number):
            return compiler.constant(float(node.value))
        if isinstance(node, Parameter):
            return compiler.parameter(node.name, by_rows=False)
        if isinstance(node, Unary | Binary | Function):
            return self._elementwise(node.operator.name, args, scope)
        if isinstance(node, Symbol | RelationField):
            return self._bare(node, scope)
        if isinstance(node, Indexed):
            return self._indexed(node, scope)
        if isinstance(node, Choice):
            return self._choice(node, scope, args)
        if isinstance(node, Reduction | Aggregate):
            space = self._inside(node, scope)
            self._note_relation(space)
            op = node.op if isinstance(node, Reduction) else "sum"
            kernel = Fold(f"{op} of rows", np.positive, (), None, op, space)
            assert space.parent is not None  # noqa: S101 - a reduction's space is joined
            return self._operation(kernel, (self._moved(args[0], space),), space.parent)
        if isinstance(node, Gather):
            space = self._inside(node, scope)
            self._note_relation(space)
            return self._field(self._moved(args[0], space), space, scope, node.incidence.names)
        if isinstance(node, RelationLift):
            return self._lift(node, scope, args[0])
        if isinstance(node, Delay):
            return self._delay(node, scope, args)
        raise ExpressionError(f"{type(node).__name__} cannot be evaluated")

    def _elementwise(self, name: str, args: tuple[int, ...], scope: Space) -> int:
        args, space = self._together(args, scope)
        position = self._compiler.operation(name, args)
        self._spaces.setdefault(position, space)
        return position

    def _together(self, args: tuple[int, ...], scope: Space) -> tuple[tuple[int, ...], Space]:
        """Bring operands to one space: that of all of them, or the one around them."""
        spaces = {self._space(arg) for arg in args} - {EVERYTHING}
        if len(spaces) < 2:
            return args, spaces.pop() if spaces else EVERYTHING
        return tuple(self._moved(arg, scope) for arg in args), scope

    def _space(self, position: int) -> Space:
        return self._spaces.get(position, EVERYTHING)

    def _operation(self, kernel: Kernel, args: tuple[int, ...], space: Space) -> int:
        nodes = self._compiler.nodes
        mask = 0
        for arg in args:
            mask |= nodes[arg].mask
        node = Node("operation", args, kernel, mask=mask, by_rows=True)
        position = self._compiler.add((kernel, *args), node)
        self._spaces.setdefault(position, space)
        return position

    def _moved(self, position: int, space: Space, at: tuple[str, ...] | None = None) -> int:
        """Take values to a space; what is the same everywhere broadcasts as it is."""
        source = self._space(position)
        if source in (space, EVERYTHING):
            return position
        if at is None:
            at = source.indices if source.parent is None else ()
            if at == (NODE,) and NODE not in space.known and space.parent is None:
                at = space.indices
        return self._operation(
            Move("take", np.positive, (), None, source, space, at), (position,), space
        )

    def _field(self, position: int, source: Space, scope: Space, at: tuple[str, ...]) -> int:
        """Take values per row of a relation to a space in which the row is known."""
        if scope == source or (scope.is_rows and source.is_rows):
            self._spaces.setdefault(position, scope)
            return position
        kernel = Move("take", np.positive, (), None, source, scope, at)
        return self._operation(kernel, (position,), scope)

    def _read(self, key: tuple[object, ...], read: ColumnRead) -> int:
        position = self._compiler.add(
            ("column", *key, read.space, read.labels), Node("column", name=read.name, by_rows=True)
        )
        self._spaces.setdefault(position, read.space)
        self._columns.setdefault(
            position,
            ColumnRead(position, read.name, read.space, read.reading, read.text, read.labels),
        )
        return position

    def _bare(
        self,
        node: Symbol | RelationField | Choice,
        scope: Space,
        labels: tuple[object, ...] | None = None,
    ) -> int:
        name = node.label if isinstance(node, Choice) else node.name
        if isinstance(node, RelationField):
            self._relations.setdefault(node.relation, None)
            source = rows_of(node.relation)
            position = self._read((name,), ColumnRead(-1, name, source, "field", str(node)))
            return self._field(position, source, scope, ())
        return self._read((name,), ColumnRead(-1, name, scope, "bare", name, labels))

    def _indexed(self, node: Indexed, scope: Space) -> int:
        base = node.base
        name = str(base.column)
        relation = base.relation if isinstance(base, RelationField) else None
        return self._at(name, node.names, scope, relation, str(node), None)

    def _at(
        self,
        name: str,
        at: tuple[str, ...],
        scope: Space,
        relation: str | None,
        text: str,
        labels: tuple[object, ...] | None,
    ) -> int:
        """Read a column at an index of a node, or at those of a relation's row."""
        if len(at) == 1:
            return self._read((name,), ColumnRead(-1, name, Space(at), "node", text, labels))
        here: Space | None = scope
        while here is not None and (here.relation is None or here.indices != at):
            here = here.parent
        if here is None or here.relation is None or relation not in (None, here.relation):
            raise ExpressionError(f"{text}: no relation around it binds {', '.join(at)}")
        source = rows_of(here.relation)
        read = ColumnRead(-1, name, source, "field", text, labels)
        return self._field(self._read((name,), read), source, scope, at)

    def _choice(self, node: Choice, scope: Space, args: tuple[int, ...]) -> int:
        if node.names:
            text = f"{node.label}[{', '.join(node.names)}]"
            codes = self._at(node.label, node.names, scope, None, text, node.labels)
        else:
            codes = self._bare(node, scope, node.labels)
        return self._operation(Pick("pick", np.positive, ()), (*args, codes), self._space(codes))

    def _lift(self, node: RelationLift, scope: Space, arg: int) -> int:
        if node.role == "sour" and node.position is None and scope.relation is not None:
            self._sources.setdefault(scope.relation)
        source = self._space(arg)
        if source == EVERYTHING:
            return arg
        at = NODE if node.role == "targ" else str(node.position or 1)
        return self._moved(arg, scope, (at,))

    def _delay(self, node: Delay, scope: Space, args: tuple[int, ...]) -> int:
        self._delayed = True
        args, space = self._together(args, scope)
        return self._operation(
            Lag("delay", np.positive, (), None, node.operand, space), args, space
        )

    def _note_relation(self, space: Space) -> None:
        """Remember a relation, and how many columns the formula says that it has."""
        if space.relation is None:
            return
        known = self._relations.setdefault(space.relation, None)
        # Inside aggr and beside bare fields the indices are ours, not the formula's.
        if NODE in space.indices or space.indices[0] == "0":
            return
        width = len(space.indices)
        if known not in (None, width):
            raise ExpressionError(
                f"relation {space.relation!r} is written with {known} indices and with {width}"
            )
        self._relations[space.relation] = width


def _renumbered(node: Node, new: dict[int, int]) -> Node:
    args = tuple(new[arg] for arg in node.args)
    return Node(node.kind, args, node.kernel, node.value, node.name, node.mask, node.by_rows)


def _most_sources(node: Aggregate) -> int:
    """Return the highest position that ``sour`` has inside an aggregate, at least 1."""
    most = 1
    stack: Sequence[Expression] = [node.body]
    while stack:
        *stack, below = stack
        if isinstance(below, RelationLift):
            most = max(most, below.position or 1)
        elif not isinstance(below, Aggregate):
            stack = [*stack, *below.operands]
    return most

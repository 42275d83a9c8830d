"""Expressions as flat programs: evaluated in cache-sized blocks, differentiated exactly.

Theory of operation. A tree is compiled once into a list of nodes in topological order, in which
equal subexpressions share one node and subexpressions of constants are already numbers. Each node
knows which parameters it depends on (a bit mask) and whether it differs by row.

* ``Program.evaluate`` runs the list over blocks of ``BLOCK_ROWS`` rows, so that every intermediate
  result stays in the cache. Registers are reused as soon as their value has been consumed; nothing
  of full length exists but the columns and the result. All buffers belong to the call: a program
  may be used by several threads at once.
* ``Program.evaluate_batch`` runs it for many parameter vectors on few rows, by broadcasting
  ``(B, 1)`` parameters against ``(1, m)`` columns.
* ``Program.value_and_jacobian`` sweeps back over it, see ``srh.engine.frame``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from srh.engine.columns import Table, read_table
from srh.engine.expression import Binary, Expression, Function, Number, Symbol, Unary
from srh.engine.frame import Frame
from srh.engine.indexed import is_structured
from srh.engine.kernels import KERNELS, POWERS, Kernel
from srh.engine.parameters import GroupedParameter, Parameter, no_value, require_bound
from srh.engine.plan import Plan, make_plan
from srh.errors import ExpressionError

if TYPE_CHECKING:
    from srh.engine.structured_data import DelayResolver

Array = NDArray[np.float64]
Kind = Literal["constant", "column", "parameter", "operation"]

BLOCK_ROWS = 8192
"""Rows evaluated together: 64 KiB per register, so that a handful stay in a core's cache."""


@dataclass(frozen=True, slots=True)
class Node:
    """One entry of a flat program.

    Attributes:
        kind: What it is.
        args: Positions of its operands, all smaller than its own.
        kernel: For an operation.
        value: For a constant.
        name: For a column or a parameter.
        mask: Bit ``k`` is set if it depends on the program's ``k``-th parameter.
        by_rows: Whether it may differ from row to row.
    """

    kind: Kind
    args: tuple[int, ...] = ()
    kernel: Kernel | None = None
    value: float = 0.0
    name: str = ""
    mask: int = 0
    by_rows: bool = False


class Compiler:
    """Collects nodes, giving equal ones the same position."""

    def __init__(self, expression: Expression) -> None:
        self.nodes: list[Node] = []
        self.slots = {leaf.name: index for index, leaf in enumerate(expression.parameters)}
        self._known: dict[tuple[Any, ...], int] = {}

    def add(self, key: tuple[Any, ...], node: Node) -> int:
        """Return the position of the node known by ``key``, which is ``node`` if it is new."""
        position = self._known.get(key)
        if position is None:
            position = self._known[key] = len(self.nodes)
            self.nodes.append(node)
        return position

    def constant(self, value: float) -> int:
        """Return the position of a number."""
        # The sign of zero matters (1/-0), and repr tells it; NaN equals itself as text.
        return self.add(("constant", repr(value)), Node("constant", value=value))

    def parameter(self, name: str, *, by_rows: bool) -> int:
        """Return the position of a parameter."""
        node = Node("parameter", name=name, mask=1 << self.slots[name], by_rows=by_rows)
        return self.add(("parameter", name), node)

    def column(self, name: str) -> int:
        """Return the position of a column."""
        return self.add(("column", name), Node("column", name=name, by_rows=True))

    def operation(self, name: str, args: tuple[int, ...]) -> int:
        """Return the position of an operator's value on earlier nodes, computed if it can be."""
        operands = [self.nodes[arg] for arg in args]
        kernel = KERNELS[name]
        if name == "**" and operands[1].kind == "constant":
            exponent = operands[1].value
            if exponent == 1.0:
                return args[0]
            if exponent == 0.0:
                return self.constant(1.0)
            if exponent in POWERS:
                kernel, args, operands = POWERS[exponent], args[:1], operands[:1]
        if all(operand.kind == "constant" for operand in operands):
            return self.constant(float(kernel.numpy(*(operand.value for operand in operands))))
        mask = 0
        for operand in operands:
            mask |= operand.mask
        key_args = tuple(sorted(args)) if name in "+*" else args
        by_rows = any(operand.by_rows for operand in operands)
        node = Node("operation", args, kernel, mask=mask, by_rows=by_rows)
        return self.add((kernel.name, *key_args), node)


@lru_cache(maxsize=64)
def compile_program(expression: Expression) -> Program:
    """Compile an expression into a flat program.

    Args:
        expression: Any expression built of numbers, columns, parameters and table operators.

    Returns:
        The program; its parameters stand in the order of ``expression.parameters``.

    Raises:
        ExpressionError: A node of the expression has no elementwise meaning.
    """
    compiler = Compiler(expression)
    stack: list[int] = []
    with np.errstate(all="ignore"):
        for node in expression.iter_postorder():
            if isinstance(node, Number):
                stack.append(compiler.constant(float(node.value)))
            elif isinstance(node, GroupedParameter):
                stack.append(compiler.parameter(node.name, by_rows=True))
            elif isinstance(node, Parameter):
                stack.append(compiler.parameter(node.name, by_rows=False))
            elif isinstance(node, Symbol):
                stack.append(compiler.column(node.name))
            elif isinstance(node, (Unary, Binary, Function)):
                arity = len(node.operands)
                args = tuple(stack[len(stack) - arity :])
                del stack[len(stack) - arity :]
                stack.append(compiler.operation(node.operator.name, args))
            else:
                raise ExpressionError(f"{type(node).__name__} cannot be evaluated row by row")
    return Program(reachable(compiler.nodes, stack[-1]), tuple(compiler.slots))


def reachable(nodes: Sequence[Node], root: int) -> tuple[Node, ...]:
    """Drop what folding left unused; the root becomes the last node."""
    used = {root}
    for position in range(root, -1, -1):
        if position in used:
            used.update(nodes[position].args)
    new = {old: index for index, old in enumerate(sorted(used))}
    kept = []
    for old in sorted(used):
        node = nodes[old]
        args = tuple(new[arg] for arg in node.args)
        kept.append(
            Node(node.kind, args, node.kernel, node.value, node.name, node.mask, node.by_rows)
        )
    return tuple(kept)


@dataclass(frozen=True)
class Program:
    """A compiled expression; immutable and safe to share between threads.

    Attributes:
        nodes: In topological order; the last one is the result.
        parameters: Names, in the order of the bits in the nodes' masks.
    """

    nodes: tuple[Node, ...]
    parameters: tuple[str, ...]
    _plan: Plan = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_plan", make_plan(self.nodes))

    @property
    def root(self) -> int:
        """Position of the result."""
        return len(self.nodes) - 1

    def evaluate(self, table: Table, parameters: Sequence[Any], *, threads: int = 1) -> Array:
        """Compute the formula's value in every row.

        Args:
            table: Columns of ``n`` rows.
            parameters: One entry per name in ``self.parameters``: a number, or for a grouped
                parameter an array ``(n,)`` with each row's own value.
            threads: Threads that share the blocks; the result does not depend on it.

        Returns:
            Float64 array ``(n,)``; NaN where the formula is not defined.
        """
        result = np.empty(table.n_rows)
        starts = range(0, table.n_rows, BLOCK_ROWS)
        with np.errstate(all="ignore"):
            shared = self._shared_values(parameters)
        if not self.nodes[-1].by_rows:
            result.fill(shared[-1])
        elif threads > 1 and len(starts) > 1:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(threads) as pool:
                parts = [starts[first::threads] for first in range(threads)]
                list(
                    pool.map(lambda part: self._run(part, table, parameters, shared, result), parts)
                )
        else:
            self._run(starts, table, parameters, shared, result)
        return result

    def evaluate_batch(self, table: Table, parameters: Sequence[Any]) -> Array:
        """Compute the formula for ``B`` parameter vectors on few rows.

        Args:
            table: Columns of ``m`` rows.
            parameters: One array per name: ``(B,)``, or ``(B, m)`` for a grouped parameter.

        Returns:
            Float64 array ``(B, m)``.
        """
        columns = [np.asarray(value, np.float64) for value in parameters]
        size = max((len(value) for value in columns), default=1)
        frame = Frame(self, table)
        with np.errstate(all="ignore"):
            values = frame.forward([v[:, None] if v.ndim == 1 else v for v in columns])
        return np.array(np.broadcast_to(values[-1], (size, table.n_rows)))

    def value_and_jacobian(self, table: Table, parameters: Sequence[Any]) -> tuple[Array, Array]:
        """Compute value and exact derivatives in every row.

        Args:
            table: Columns of ``n`` rows.
            parameters: As for ``evaluate``.

        Returns:
            Values ``(n,)`` and derivatives ``(n, p)`` with respect to each *named* parameter; for
            a grouped one the derivative with respect to the row's own value.
        """
        values = np.empty(table.n_rows)
        jacobian = np.zeros((len(self.parameters), table.n_rows))
        wanted = (1 << len(self.parameters)) - 1
        with np.errstate(all="ignore"):
            for start in range(0, table.n_rows, BLOCK_ROWS):
                rows = slice(start, start + BLOCK_ROWS)
                frame = Frame(self, table.rows(rows))
                local = [value[rows] if np.ndim(value) else value for value in parameters]
                known = frame.forward(local)
                values[rows] = known[-1]
                for leaf, slope in frame.reverse(known, wanted).items():
                    jacobian[leaf, rows] = slope
        return values, jacobian.T

    def frame(self, table: Table) -> Frame:
        """Return the program on rows of data, for many parameter values."""
        return Frame(self, table)

    def frames(self, table: Table) -> list[tuple[slice, Frame]]:
        """Return the program on blocks of a table's rows."""
        blocks = [slice(s, s + BLOCK_ROWS) for s in range(0, table.n_rows, BLOCK_ROWS)]
        return [(block, self.frame(table.rows(block))) for block in blocks]

    def by_row(self, table: Table, value: Any) -> Any:  # noqa: ARG002 - for programs with others
        """Return a node's value in each row of the table, or None if it has other rows."""
        return value

    def _shared_values(self, parameters: Sequence[Any]) -> list[Any]:
        """Values of the nodes that are the same in all rows; None for the others."""
        values: list[Any] = [None] * len(self.nodes)
        for position, node in enumerate(self.nodes):
            if node.by_rows:
                continue
            if node.kind == "constant":
                values[position] = node.value
            elif node.kind == "parameter":
                values[position] = float(parameters[self.parameters.index(node.name)])
            elif node.kernel is not None:
                values[position] = float(node.kernel.numpy(*(values[arg] for arg in node.args)))
        return values

    def _run(
        self,
        starts: Iterable[int],
        table: Table,
        parameters: Sequence[Any],
        shared: Sequence[Any],
        result: Array,
    ) -> None:
        plan = self._plan
        columns = [(position, table.values[name]) for position, name in plan.columns]
        columns += [
            (position, np.ascontiguousarray(parameters[self.parameters.index(name)], np.float64))
            for position, name in plan.grouped
        ]
        size = min(BLOCK_ROWS, table.n_rows)
        registers = [np.empty(size) for _ in range(plan.registers)]
        # Arrays without dimensions pass through a ufunc faster than Python numbers.
        values = [None if value is None else np.array(value) for value in shared]
        with np.errstate(all="ignore"):
            for start in starts:
                stop = min(start + BLOCK_ROWS, table.n_rows)
                if stop - start < size:
                    registers = [register[: stop - start] for register in registers]
                for position, column in columns:
                    values[position] = column[start:stop]
                for position, function, first, second, register in plan.steps:
                    out = registers[register]
                    if second is None:
                        values[position] = function(values[first], out)
                    else:
                        values[position] = function(values[first], values[second], out)
                if plan.last is None:
                    result[start:stop] = values[-1]
                else:
                    function, args = plan.last
                    function(*[values[arg] for arg in args], result[start:stop])


def evaluate(
    expression: Expression,
    data: Any,
    *,
    threads: int = 1,
    relations: Mapping[str, Any] | None = None,
    num_nodes: int | None = None,
    time: ArrayLike | str | None = None,
    delay_resolver: DelayResolver | None = None,
) -> Array:
    """Compute an expression on data.

    Args:
        expression: With a value for each of its parameters.
        data: A mapping from column name to array-like, or an object whose ``data`` is one; with
            ``relation_names``, ``structures`` and ``num_nodes`` it says what its arrays are.
        threads: Threads to share long columns; the result does not depend on it.
        relations: Integer tables ``(E, 2)`` or ``(H, 3)`` by name, target first.
        num_nodes: Number of nodes, where no column tells it.
        time: For delays, the times of the data's first axis or the name of their column; without
            it delays count entries of that axis.
        delay_resolver: Answers delays instead of interpolation in the data.

    Returns:
        Float64 array of the data's shape, also for a constant formula; NaN where the formula is
        not defined. Samples come first; the last axis are the nodes of a free index, or the rows
        of a gathered relation.

    Raises:
        MissingVariableError: The data have no column of a name.
        UnboundParameterError: A parameter has no value.
        ExpressionError: A column is text or of another shape, or a group label has neither value
            nor default.
    """
    if is_structured(expression):
        # Only who uses relations or delays pays for importing what they need.
        from srh.engine.structured_program import evaluate_structured

        return evaluate_structured(
            expression,
            data,
            threads=threads,
            relations=relations,
            num_nodes=num_nodes,
            time=time,
            delay_resolver=delay_resolver,
        )
    require_bound(expression.parameters)
    table = read_table(expression, data, num_nodes)
    values = [
        _row_values(leaf, table) if isinstance(leaf, GroupedParameter) else leaf.value
        for leaf in expression.parameters
    ]
    result = compile_program(expression).evaluate(table, values, threads=threads)
    return result.reshape(table.shape)


def _row_values(leaf: GroupedParameter, table: Table) -> Array:
    """Return each row's own value of a grouped parameter."""
    labels, codes = table.groups[leaf.label]
    values = np.empty(len(labels))
    for index, label in enumerate(labels):
        value = leaf.values.get(label, leaf.default)
        if value is None:
            raise ExpressionError(no_value(leaf, label))
        values[index] = value
    return values[codes]

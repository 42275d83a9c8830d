"""A structured formula on bound data: its values, and its exact derivatives.

Rows depend on each other here, so one sweep backwards would not do for all rows. Derivatives run
forwards instead, parameter by parameter, beside the values: a ``Move`` and a sum pass them on as
they are, a product multiplies them with the product of the others, a maximum takes that of the
first row that attains it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srh.engine.delays import Past, interpolate, look_back, slope
from srh.engine.groups import choose
from srh.engine.kernels import Kernel
from srh.engine.relations import Array, Graph, Layout, reduce_rows
from srh.engine.scopes import EVERYTHING
from srh.engine.structured_code import Fold, Lag, Move, Pick
from srh.engine.structured_data import StructuredTable

if TYPE_CHECKING:
    from srh.engine.structured_program import StructuredProgram

_KEPT_STEPS = 64

Step = tuple[int, Callable[..., Any], tuple[int, ...], int]


class StructuredFrame:
    """A structured program on fixed data, evaluated for many parameter values.

    It is used like ``Frame``: values come as a list by node, with one entry more for the result as
    flat rows.

    Args:
        program: The program.
        table: Its data; the rows that the table selects are the rows of the result.
    """

    def __init__(self, program: StructuredProgram, table: StructuredTable) -> None:
        self.program, self.table = program, table
        self._known: list[Any] = [None] * (len(program.nodes) + 1)
        self._leaves: list[tuple[int, int]] = []
        self._pasts: dict[int, tuple[Any, Past]] = {}
        self._steps = steps_of(program, table)
        places = {name: k for k, name in enumerate(program.parameters)}
        for position, node in enumerate(program.nodes):
            if node.kind == "constant":
                self._known[position] = np.float64(node.value)
            elif node.kind == "column":
                self._known[position] = table.columns[position]
            elif node.kind == "parameter":
                self._leaves.append((position, places[node.name]))
        with np.errstate(all="ignore"):
            self._fill_known()

    def _fill_known(self) -> None:
        """Compute what depends on no parameter, and forget what was only needed for that."""
        needed = {self.program.root}
        for position, function, args, mask in self._steps:
            if mask:
                needed.update(args)
            else:
                self._known[position] = function(*[self._known[arg] for arg in args])
        for position in range(self.program.root):
            if position not in needed:
                self._known[position] = None
        self._moving = [step for step in self._steps if step[3]]
        if not self.program.nodes[-1].mask:
            self._known[-1] = self._flat(self._known[self.program.root])

    def forward(self, parameters: Sequence[Any]) -> Any:
        """Compute all nodes; the caller holds ``np.errstate``.

        Args:
            parameters: One number per parameter name, or one array ``(B, 1)``.

        Returns:
            Values by node and the result's rows last; opaque but for that.
        """
        if any(np.ndim(value) == 2 for value in parameters):
            return _Batch(self, [self._known] * _size_of(parameters)).updated(
                parameters, (1 << len(parameters)) - 1
            )
        return self.update(self._known, parameters, (1 << len(parameters)) - 1)

    def update(self, values: Any, parameters: Sequence[Any], mask: int) -> Any:
        """Compute again only what depends on the parameters in ``mask``."""
        if isinstance(values, _Batch):
            return values.updated(parameters, mask)
        values = list(values)
        for position, leaf in self._leaves:
            if mask >> leaf & 1:
                values[position] = np.float64(parameters[leaf])
        for position, function, args, depends in self._moving:
            if depends & mask:
                values[position] = function(*[values[arg] for arg in args])
        if self.program.nodes[-1].mask & mask:
            values[-1] = self._flat(values[self.program.root])
        return values

    def reverse(self, values: Any, wanted: int) -> dict[int, Any]:
        """Differentiate the result with respect to parameters.

        Args:
            values: From ``forward`` or ``update``.
            wanted: Bit mask of parameters.

        Returns:
            Per wanted parameter on which the result depends its derivative in every row.
        """
        if isinstance(values, _Batch):
            return values.reverse(wanted)
        found = {}
        for position, leaf in self._leaves:
            if wanted >> leaf & 1 and self.program.nodes[-1].mask >> leaf & 1:
                found[leaf] = self._flat(self._tangent(values, position, leaf))
        return found

    def _flat(self, value: Any) -> Array:
        table = self.table
        whole = np.broadcast_to(value, (table.n_samples, table.width)).reshape(-1)
        return whole if table.selection is None else whole[table.selection]

    def _tangent(self, values: Any, start: int, leaf: int) -> Any:
        slopes: dict[int, Any] = {start: np.float64(1.0)}
        for position, _, args, depends in self._moving:
            if depends >> leaf & 1:
                slopes[position] = self._step_slope(values, position, args, slopes)
        return slopes[self.program.root]

    def _step_slope(
        self, values: Any, position: int, args: tuple[int, ...], slopes: Mapping[int, Any]
    ) -> Any:
        kernel = self.program.nodes[position].kernel
        graph = self.table.graph
        assert kernel is not None  # noqa: S101 - only operations are steps
        if isinstance(kernel, Move):
            return _mover(graph, kernel)(slopes[args[0]])
        if isinstance(kernel, Fold):
            layout = graph.layout(kernel.space)
            return _fold_slope(
                layout, kernel.op, values[args[0]], values[position], slopes[args[0]]
            )
        if isinstance(kernel, Lag):
            return self._lag_slope(values, args, slopes)
        if isinstance(kernel, Pick):
            codes = values[args[-1]]
            return sum(
                np.where(codes == place, slopes[arg], 0.0)
                for place, arg in enumerate(args[:-1])
                if arg in slopes
            )
        total: Any = None
        operands = [values[arg] for arg in args]
        for index, arg in enumerate(args):
            if arg in slopes:
                part = kernel.partials[index](*operands, value=values[position]) * slopes[arg]
                total = part if total is None else total + part
        return total

    def _lag_slope(self, values: Any, args: tuple[int, ...], slopes: Mapping[int, Any]) -> Any:
        history, lag = args
        total: Any = 0.0
        if history in slopes:
            total = delayed(self.table, slopes[history], values[lag])
        if lag in slopes:
            steep = delayed(self.table, values[history], values[lag], slope)
            total = total + steep * slopes[lag]
        return total


class _Batch:
    """Values for several parameter vectors, each computed alone; the rows last as ``(B, m)``."""

    def __init__(self, frame: StructuredFrame, values: Sequence[Any]) -> None:
        self._frame, self._values = frame, values

    def __getitem__(self, position: int) -> Array:
        return np.stack([values[position] for values in self._values])

    def updated(self, parameters: Sequence[Any], mask: int) -> _Batch:
        size = len(self._values)
        columns = [np.broadcast_to(value, (size, 1))[:, 0] for value in parameters]
        return _Batch(
            self._frame,
            [
                self._frame.update(values, [column[b] for column in columns], mask)
                for b, values in enumerate(self._values)
            ],
        )

    def reverse(self, wanted: int) -> dict[int, Any]:
        each = [self._frame.reverse(values, wanted) for values in self._values]
        return {leaf: np.stack([found[leaf] for found in each]) for leaf in each[0]}


class Probe:
    """A structured program in some rows for as many parameter vectors, to draw starts from.

    Values come as ``(2, size)``: each vector's in two rows. A node in another space than the
    result gives its value in two of its own rows.

    Args:
        program: The program.
        table: Selects ``(2, size)`` rows.
    """

    def __init__(self, program: StructuredProgram, table: StructuredTable) -> None:
        assert table.selection is not None  # noqa: S101 - the caller selects
        self._program, self._rows = program, table.selection
        width = max(table.width, 1)
        self._places = self._rows % width
        self._width = width
        frames: dict[tuple[int, ...], StructuredFrame] = {}
        self._frames = []
        for pair in (self._rows // width).T:
            key = tuple(pair.tolist()) if table.n_samples > 1 else (0,)
            if program.code.delayed:
                key = ()
            if key not in frames:
                chosen = table.samples(np.array(key)) if key else table
                frames[key] = StructuredFrame(program, chosen)
            self._frames.append(frames[key])

    def forward(self, parameters: Sequence[Any]) -> list[Any]:
        """Compute all nodes for one parameter vector per selected column of rows."""
        size = self._rows.shape[1]
        columns = [np.broadcast_to(value, size) for value in parameters]
        found: list[Any] = [np.empty((2, size)) for _ in self._program.nodes]
        for b, frame in enumerate(self._frames):
            values = frame.forward([column[b] for column in columns])
            for position in range(len(found)):
                value = values[position]
                found[position][:, b] = np.nan if value is None else self._two(value, b)
        return [
            value if node.by_rows else value[0]
            for node, value in zip(self._program.nodes, found, strict=True)
        ]

    def _two(self, value: Any, b: int) -> Any:
        if np.ndim(value) < 2:
            return value
        samples, rows = value.shape
        if not value.size:
            return np.nan
        # In another space any two rows will do, the same ones for the same start.
        same = rows == self._width
        places = self._places[:, b] if same else (self._rows[:, b] * 7919 + b) % rows
        if self._program.code.delayed and samples > 1:
            return value[self._rows[:, b] // self._width, places]
        return value[np.arange(2) % samples, places]


def steps_of(program: StructuredProgram, table: StructuredTable) -> list[Step]:
    """Return position, function, operands and mask of each operation on bound data."""
    kept = table.graph.kept
    known = kept.get(id(program))
    if known is not None and known[0] is program:
        found: list[Step] = known[1]
        return found
    steps = [
        (position, _function(node.kernel, table), node.args, node.mask)
        for position, node in enumerate(program.nodes)
        if node.kernel is not None
    ]
    # A delay depends on the table's time, everything else on the graph alone.
    if not program.code.delayed:
        if len(kept) >= _KEPT_STEPS:
            kept.clear()
        kept[id(program)] = program, steps
    return steps


def _function(kernel: Kernel, table: StructuredTable) -> Callable[..., Any]:
    graph = table.graph
    if isinstance(kernel, Move):
        return _mover(graph, kernel)
    if isinstance(kernel, Fold):
        layout = graph.layout(kernel.space)
        return lambda value: reduce_rows(kernel.op, _spread(value, layout.count), layout)
    if isinstance(kernel, Lag):
        return lambda history, lag: _past_values(table, kernel, history, lag)
    if isinstance(kernel, Pick):
        return lambda *values: choose(values[-1], values[:-1])
    return kernel.numpy


def _mover(graph: Graph, kernel: Move) -> Callable[[Any], Any]:
    """Return what takes values to another space; what does not vary stays as it is."""
    if kernel.space.parent == kernel.source and kernel.at == kernel.source.indices:
        # The rows of one parent stand together: repeating is faster than looking up.
        sizes = graph.layout(kernel.space).sizes
        return lambda value: value if _is_constant(value) else value.repeat(sizes, 1)
    index = graph.index(kernel.source, kernel.space, kernel.at)
    if index is None:
        return lambda value: value
    # All indices are valid: "clip" only spares NumPy a second look at them.
    return lambda value: value if _is_constant(value) else value.take(index, 1, None, "clip")


def _size_of(parameters: Sequence[Any]) -> int:
    """Return how many parameter vectors there are."""
    return max(np.size(value) for value in parameters)


def _is_constant(value: Any) -> bool:
    return np.ndim(value) < 2 or value.shape[1] == 1


def _spread(value: Any, rows: int) -> Array:
    """Give a value its full number of rows."""
    if np.ndim(value) < 2:
        return np.full((1, rows), value)
    return value if value.shape[1] == rows else np.broadcast_to(value, (len(value), rows))


def _fold_slope(layout: Layout, op: str, value: Any, result: Any, slopes: Any) -> Any:
    slopes = _spread(slopes, layout.count)
    if op in ("sum", "mean"):
        return reduce_rows(op, slopes, layout)
    value, up = _spread(value, layout.count), layout.parent
    if op == "prod":
        zero = value == 0
        plain = np.where(zero, 1.0, value)
        zeros = reduce_rows("sum", zero.astype(np.float64), layout)[:, up]
        rest = reduce_rows("prod", plain, layout)[:, up]
        others = np.where(zero, (zeros == 1) * rest, (zeros == 0) * rest / plain)
        return reduce_rows("sum", others * slopes, layout)
    place = np.arange(layout.count)
    best = np.where(value == result[:, up], place, layout.count)
    first = reduce_rows("min", best, layout)[:, up] == place
    return reduce_rows("sum", np.where(first, slopes, 0.0), layout)


def _past_values(table: StructuredTable, kernel: Lag, history: Any, lag: Any) -> Array:
    if table.resolver is None:
        return delayed(table, history, lag)
    nodes = {} if kernel.space == EVERYTHING else table.graph.layout(kernel.space).nodes
    rows = table.graph.layout(kernel.space).count
    tail = () if kernel.space == EVERYTHING else (rows,)
    shape = (*table.leading, *tail)
    given = np.broadcast_to(lag, (table.n_samples, rows)).reshape(shape)
    found = np.asarray(table.resolver(kernel.delayed, given, nodes), np.float64)
    # A copy: what the resolver gave is its own, and ours is written over.
    return np.array(np.broadcast_to(found, shape)).reshape(table.n_samples, rows)


def delayed(
    table: StructuredTable,
    history: Any,
    lag: Any,
    how: Callable[[Array, Past], Array] = interpolate,
) -> Array:
    """Return what a history was some time ago, or another function of it and of the past.

    Args:
        table: Knows the time.
        history: ``(samples or 1, rows or 1)`` or a number.
        lag: As ``history``.
        how: Takes the history and the past, ``(T, n)``.
    """
    steps, samples = table.leading[0], table.n_samples
    rows = np.broadcast_shapes(np.shape(history), np.shape(lag), (1, 1))[1]
    shape = (samples, rows)
    time = np.arange(steps, dtype=np.float64) if table.time is None else table.time
    flat = [np.broadcast_to(value, shape).reshape(steps, -1) for value in (history, lag)]
    return how(flat[0], look_back(time, flat[1])).reshape(shape)

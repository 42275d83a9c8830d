"""Structured formulas as NumPy source that a user can paste: a function and its few helpers.

Every value has the rows of its space on its last axis, or 1 where it does not vary; each
operation of the flat program becomes one statement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from srh.engine.expression import Expression, Symbol
from srh.engine.indexed import Indexed
from srh.engine.operators import OPERATORS
from srh.engine.parameters import GroupedParameter
from srh.engine.program import Node
from srh.engine.scopes import EVERYTHING, Space
from srh.engine.structured import compile_structured
from srh.engine.structured_code import Code, ColumnRead, Fold, Lag, Move

_UFUNCS = {
    "sum": ("np.add", "0.0"),
    "mean": ("np.add", "0.0"),
    "prod": ("np.multiply", "1.0"),
    "max": ("np.maximum", "np.nan"),
    "min": ("np.minimum", "np.nan"),
}
_INFIX = {"+": "{0} + {1}", "-": "{0} - {1}", "*": "{0}*{1}", "/": "{0}/{1}", "neg": "-{0}"}
_SPECIAL = {
    "**": "np.power({0}, {1})",
    "square": "{0}**2",
    "cube": "{0}**3",
    "fourth": "{0}**4",
    "reciprocal": "1.0/{0}",
    "inverse_square": "1.0/{0}**2",
}

_JOIN = '''\
def join(parent, columns, shared, num_nodes):
    """Rows of a table that agree with each row of its parent in the shared indices."""
    above = np.zeros(parent["count"], dtype=int)
    below = np.zeros(len(next(iter(columns.values()))), dtype=int)
    for name in shared:
        above = above*num_nodes + parent[name]
        below = below*num_nodes + columns[name]
    order = np.argsort(below, kind="stable")
    first = np.searchsorted(below[order], above, "left")
    sizes = np.searchsorted(below[order], above, "right") - first
    up = np.repeat(np.arange(parent["count"]), sizes)
    start = np.cumsum(sizes) - sizes
    table = order[np.arange(len(up)) - np.repeat(start - first, sizes)]
    own = ("count", "parent", "table", "sizes")
    rows = {name: place[up] for name, place in parent.items() if name not in own}
    rows.update({name: column[table] for name, column in columns.items()})
    return rows | {"count": len(up), "parent": up, "table": table, "sizes": sizes}
'''
_REDUCE = '''\
def reduce(ufunc, values, sizes, of_nothing):
    """Reduce consecutive rows, so many at a time."""
    values = np.asarray(values)
    values = np.broadcast_to(values, values.shape[:-1] + (sizes.sum(),))
    result = np.full(values.shape[:-1] + (len(sizes),), of_nothing)
    if len(values.T):
        start = (np.cumsum(sizes) - sizes)[sizes > 0]
        result[..., sizes > 0] = ufunc.reduceat(values, start, axis=-1)
    return result
'''
_TAKE = '''\
def take(values, rows):
    """Take values to other rows; what does not vary stays as it is."""
    values = np.asarray(values)
    return values if values.ndim == 0 or values.shape[-1] == 1 else values[..., rows]
'''
_PER_SAMPLE = '''\
def per_sample(values, axes):
    """Give values per sample, (...) or (..., 1), an axis of rows."""
    is_column = values.shape[-1:] == (1,) and values.ndim == max(axes)
    return values if is_column else values[..., None]
'''
_DELAY = '''\
def past(values, lag, time):
    """Interpolate along the first axis; NaN outside the history."""
    values, lag = np.broadcast_arrays(values, lag)
    time = np.arange(len(values), dtype=float) if time is None else np.asarray(time, dtype=float)
    result = np.empty(values.shape)
    for place in np.ndindex(values.shape[1:]):
        column = (slice(None), *place)
        wanted = time - lag[column]
        result[column] = np.interp(wanted, time, values[column], left=np.nan, right=np.nan)
    return result
'''


def without_groups(expression: Expression, names: Mapping[str, str]) -> Expression:
    """Put a column in place of each grouped parameter: its values, looked up by label.

    Args:
        expression: Any expression.
        names: Name of the column by grouped parameter.
    """
    table: dict[Expression, Expression] = {}
    for node in expression.iter_preorder():
        if isinstance(node, GroupedParameter):
            table[node] = Symbol(names[node.name])
        elif isinstance(node, Indexed) and isinstance(node.base, GroupedParameter):
            table[node] = Indexed(Symbol(names[node.base.name]), node.indices)
    return expression.exchange(table)


def structured_body(
    expression: Expression, parameters: Mapping[str, str], columns: Mapping[str, str]
) -> tuple[list[str], list[str], list[str]]:
    """Return the source of a structured formula.

    Args:
        expression: Without grouped parameters.
        parameters: Python name by parameter.
        columns: Python name by column and relation.

    Returns:
        Sources of the helpers, keywords of the function, and statements; the last one returns.
    """
    return _Writer(compile_structured(expression), parameters, columns).write()


class _Writer:
    def __init__(
        self, code: Code, parameters: Mapping[str, str], columns: Mapping[str, str]
    ) -> None:
        self._code, self._parameters, self._names = code, parameters, columns
        self._spaces: dict[Space, str] = {}
        self._lines: list[str] = []
        self._helpers: dict[str, None] = {}

    def write(self) -> tuple[list[str], list[str], list[str]]:
        code = self._code
        keywords: list[str] = []
        if code.uses_nodes:
            per_node = [read for read in code.columns if read.reading == "node"]
            keywords.append("num_nodes=None" if per_node else "num_nodes")
            if per_node:
                column = self._names[per_node[0].name]
                self._lines.append(
                    f"num_nodes = np.shape({column})[-1] if num_nodes is None else num_nodes"
                )
        elif code.relations:
            self._lines.append("num_nodes = 1")
        if code.delayed:
            keywords.append("time=None")
        reads = {read.position: read for read in code.columns}
        for position, node in enumerate(code.nodes):
            if node.kind != "constant":
                self._lines.append(f"v{position} = {self._node(position, node, reads)}")
        self._lines.append(f"return {self._result()}")
        return list(self._helpers), keywords, self._lines

    def _result(self) -> str:
        space, root = self._code.space, self._value(len(self._code.nodes) - 1)
        if space == EVERYTHING:
            return f"np.asarray({root})[..., 0]"
        samples = f"np.shape({root})[:-1]"
        if space.parent is not None:
            return f"np.broadcast_to({root}, {samples} + ({self._space(space)}['count'],))"
        width = len(space.indices)
        whole = f"np.broadcast_to({root}, {samples} + (num_nodes**{width},))"
        return whole if width == 1 else f"{whole}.reshape({samples} + (num_nodes,)*{width})"

    def _value(self, position: int) -> str:
        node = self._code.nodes[position]
        if node.kind == "constant":
            return f"np.float64({node.value!r})"
        return f"v{position}"

    def _node(self, position: int, node: Node, reads: Mapping[int, ColumnRead]) -> str:
        if node.kind == "column":
            return self._column(reads[position])
        if node.kind == "parameter":
            return self._parameters[node.name]
        kernel, args = node.kernel, [self._value(arg) for arg in node.args]
        if isinstance(kernel, Move):
            return self._moved(kernel, args[0])
        if isinstance(kernel, Fold):
            self._use(_REDUCE)
            ufunc, nothing = _UFUNCS[kernel.op]
            sizes = f"{self._space(kernel.space)}['sizes']"
            rows = f"reduce({ufunc}, {args[0]}, {sizes}, {nothing})"
            return f"{rows}/{sizes}" if kernel.op == "mean" else rows
        if isinstance(kernel, Lag):
            self._use(_DELAY)
            return f"past({args[0]}, {args[1]}, time)"
        assert kernel is not None  # noqa: S101 - everything else is an operation
        template = _INFIX.get(kernel.name) or _SPECIAL.get(kernel.name)
        return (template or OPERATORS[kernel.name].source).format(*args)

    def _column(self, read: ColumnRead) -> str:
        name = f"np.asarray({self._names[read.name]}, dtype=float)"
        if read.reading != "bare" or (read.space.parent is None and read.space.indices):
            return name
        if read.space == EVERYTHING:
            structured = [r.name for r in self._code.columns if r.reading != "bare"]
            if not structured:
                return f"{name}[..., None]"
            self._use(_PER_SAMPLE)
            axes = ", ".join(f"np.ndim({self._names[n]})" for n in dict.fromkeys(structured))
            return f"per_sample({name}, [{axes}])"
        if read.space.is_rows:
            return name
        self._use(_TAKE)
        space: Space | None = read.space
        while space is not None and space.relation is None:
            space = space.parent
        if space is None:
            return name
        rows = self._path(space, read.space)
        return f"take({name}, {self._space(space)}['table']{rows})"

    def _path(self, source: Space, space: Space) -> str:
        """Return the index from a space's rows to those of a space that it is joined to."""
        steps = []
        while space != source:
            assert space.parent is not None  # noqa: S101 - the compiler has checked
            steps.append(f"[{self._space(space)}['parent']]")
            space = space.parent
        return "".join(reversed(steps))

    def _moved(self, kernel: Move, value: str) -> str:
        source, space = kernel.source, kernel.space
        single = space.parent is None and len(space.indices) == 1
        if single or (source.is_rows and space.is_rows):
            return value
        self._use(_TAKE)
        if source.parent is None and kernel.at:
            key = ""
            for name in kernel.at:
                place = f"{self._space(space)}[{name!r}]"
                key = f"({key})*num_nodes + {place}" if key else place
            return f"take({value}, {key})"
        here = space
        while here != source:
            at_row = here.relation == source.relation and kernel.at in ((), here.indices)
            if source.is_rows and at_row:
                return f"take({value}, {self._space(here)}['table']{self._path(here, space)})"
            assert here.parent is not None  # noqa: S101 - the compiler has checked
            here = here.parent
        return f"take({value}, np.arange({self._space(here)}['count']){self._path(here, space)})"

    def _space(self, space: Space) -> str:
        """Return the variable that holds a space, writing it down first if it is new."""
        if space in self._spaces:
            return self._spaces[space]
        parent = None if space.parent is None else self._space(space.parent)
        name = self._spaces[space] = f"s{len(self._spaces)}"
        if parent is None:
            self._lines.append(f"{name} = {self._root(space.indices)}")
            return name
        self._use(_JOIN)
        if space.relation is None:
            columns = self._grid(space.indices)
        else:
            table = f"np.asarray({self._names[space.relation]})"
            columns = ", ".join(
                f"{index!r}: {table}[:, {place}]" for place, index in enumerate(space.indices)
            )
        self._lines.append(
            f"{name} = join({parent}, {{{columns}}}, {list(space.shared)!r}, num_nodes)"
        )
        return name

    def _root(self, indices: Sequence[str]) -> str:
        count = f"num_nodes**{len(indices)}" if indices else "1"
        grid = self._grid(indices)
        return f"{{'count': {count}{', ' if grid else ''}{grid}}}"

    def _grid(self, indices: Sequence[str]) -> str:
        everyone = f"np.indices((num_nodes,)*{len(indices)})"
        return ", ".join(
            f"{index!r}: {everyone}[{place}].reshape(-1)" for place, index in enumerate(indices)
        )

    def _use(self, helper: str) -> None:
        self._helpers.setdefault(helper)

"""The right-hand side of a system of differential equations, at one point in time.

A formula is compiled once and then computed node by node: an integrator asks thousands of times for
a handful of numbers, and reading a table of data each time would take longer than all the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.engine import Expression, GroupedParameter, Parameter, Program, compile_program
from srh.errors import ExpressionError, MissingVariableError, UnboundParameterError
from srh.text import did_you_mean

Array = NDArray[np.float64]
Rate = Callable[[float, Array], Any]


@dataclass(frozen=True)
class Surroundings:
    """What formulas of rates may name, besides the states and the time.

    Attributes:
        courses: Columns that change in time: times ``(n,)``, increasing, and values ``(n, …)``;
            between two times they are interpolated linearly, beyond the ends they stay.
        shared: Arrays that do not change.
        relation_names: Which of them are relations.
        structures: For arrays with one value per row of a relation, that relation.
        num_nodes: Number of nodes.
    """

    courses: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    shared: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    relation_names: tuple[str, ...] = ()
    structures: Mapping[str, str] = field(default_factory=dict)
    num_nodes: int | None = None


@dataclass(frozen=True)
class States:
    """States laid out in one vector.

    Attributes:
        places: By name where they stand: a position, or a slice for one value per node.
        size: Length of the vector.
    """

    places: Mapping[str, int | slice]
    size: int

    @classmethod
    def of(cls, initial: Mapping[str, Array]) -> States:
        """Lay out states: single numbers, or vectors."""
        places: dict[str, int | slice] = {}
        start = 0
        for name, value in initial.items():
            places[name] = slice(start, start + value.size) if value.ndim else start
            start += value.size
        return cls(places, start)

    def part(self, name: str) -> slice:
        """Return where a state stands, as a slice also for a single number."""
        place = self.places[name]
        return slice(place, place + 1) if isinstance(place, int) else place


def make_system(
    rates: Mapping[str, Expression], states: States, time: str, around: Surroundings
) -> Callable[[float, Array], Array]:
    """Return a function ``(t, state vector) -> derivative of the state vector``.

    Args:
        rates: Derivative of each state with respect to time.
        states: Where the states stand in the vector.
        time: Name of the time.
        around: What else formulas may name.

    Raises:
        MissingVariableError: A formula names what is neither.
        UnboundParameterError: A parameter has no value.
        ExpressionError: A formula has a grouped parameter: no group belongs to a point in time.
    """
    parts = [
        (states.part(name), _make_rate(rate, states, time, around)) for name, rate in rates.items()
    ]

    def system(t: float, vector: Array) -> Array:
        derivative = np.empty(states.size)
        for place, rate in parts:
            derivative[place] = rate(t, vector)
        return derivative

    return system


def _make_rate(f: Expression, states: States, time: str, around: Surroundings) -> Rate:
    known = [*states.places, time, *around.courses, *around.shared]
    for name in f.variables:
        if name not in known:
            raise MissingVariableError(
                f"the rate {f} names {name!r}, which is neither a state nor the time nor a column"
                + did_you_mean(name, known)
            )
    for leaf in f.parameters:
        if isinstance(leaf, GroupedParameter):
            raise ExpressionError(f"the rate {f} has a grouped parameter, {leaf.name!r}")
        if isinstance(leaf, Parameter) and leaf.value is None:
            raise UnboundParameterError(f"the rate {f} has no value for {leaf.name!r}; fit it")
    try:
        program = compile_program(f)
    except ExpressionError:  # it has indices or relations
        return _structured_rate(f, states, time, around)
    return _plain_rate(f, program, states, time, around)


def _plain_rate(
    f: Expression, program: Program, states: States, time: str, around: Surroundings
) -> Rate:
    numbers = {leaf.name: leaf.value for leaf in f.parameters if isinstance(leaf, Parameter)}
    start: list[Any] = [None] * len(program.nodes)
    steps: list[tuple[int, Callable[..., Any], tuple[int, ...]]] = []
    readers: list[tuple[int, Callable[[float, Array], Any]]] = []
    for position, node in enumerate(program.nodes):
        if node.kind == "constant":
            # Arrays pass through a ufunc faster than numbers do.
            start[position] = np.array(node.value)
        elif node.kind == "parameter":
            start[position] = np.array(numbers[node.name])
        elif node.kind == "column":
            readers.append((position, _reader(node.name, states, time, around)))
        elif node.kernel is not None:
            steps.append((position, node.kernel.numpy, node.args))

    def rate(t: float, vector: Array) -> Any:
        values = start.copy()
        for position, read in readers:
            values[position] = read(t, vector)
        for position, function, args in steps:
            if len(args) == 2:
                values[position] = function(values[args[0]], values[args[1]])
            else:
                values[position] = function(values[args[0]])
        return values[-1]

    return rate


class _Point:
    """The data of one point in time, as the engine reads them."""

    def __init__(self, around: Surroundings) -> None:
        self.data: dict[str, Any] = dict(around.shared)
        self.relation_names = around.relation_names
        self.structures = around.structures
        self.num_nodes = around.num_nodes


def _structured_rate(f: Expression, states: States, time: str, around: Surroundings) -> Rate:
    point = _Point(around)
    readers = [
        (name, _reader(name, states, time, around))
        for name in f.variables
        if name not in around.shared
    ]

    def rate(t: float, vector: Array) -> Any:
        for name, read in readers:
            point.data[name] = np.asarray(read(t, vector))
        return f.evaluate(point)

    return rate


def _reader(
    name: str, states: States, time: str, around: Surroundings
) -> Callable[[float, Array], Any]:
    if name in states.places:
        place = states.part(name)
        return lambda _t, vector: vector[place]
    if name == time:
        return lambda t, _vector: t
    if name in around.courses:
        times, values = around.courses[name]
        return lambda t, _vector: _interpolate(t, times, values)
    shared = np.asarray(around.shared[name], np.float64)
    return lambda _t, _vector: shared


def _interpolate(t: float, times: Array, values: Array) -> Any:
    if values.ndim == 1:
        return np.interp(t, times, values)
    after = min(max(int(np.searchsorted(times, t)), 1), len(times) - 1)
    share = (t - times[after - 1]) / (times[after] - times[after - 1])
    share = min(max(share, 0.0), 1.0)
    return values[after - 1] + share * (values[after] - values[after - 1])


def as_rates(
    f: Expression | Mapping[str, Expression] | Sequence[Expression], names: Sequence[str]
) -> dict[str, Expression]:
    """Return the rate of each state.

    Args:
        f: One formula for one state; or one per state, by name or in the order of the names.
        names: The states.

    Raises:
        ExpressionError: There is not one formula for each state.
    """
    if isinstance(f, Expression):
        rates = [f]
    elif isinstance(f, Mapping):
        if set(f) != set(names):
            raise ExpressionError(
                f"the rates are those of {', '.join(f)}, the states {', '.join(names)}; give one "
                "rate for each state"
            )
        rates = [f[name] for name in names]
    else:
        rates = list(f)
    if len(rates) != len(names) or len(set(names)) != len(names):
        raise ExpressionError(
            f"{len(rates)} formula(s) for the states {', '.join(names)}; give one for each, such "
            "as {'x': parse('v'), 'v': f}"
        )
    return dict(zip(names, rates, strict=True))

"""Structured formulas computed by plain loops, one number at a time, and random ones to compare."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st

from srh.engine import (
    Aggregate,
    Binary,
    Expression,
    Function,
    Gather,
    Incidence,
    Indexed,
    Number,
    Parameter,
    Reduction,
    RelationField,
    RelationLift,
    Symbol,
    Unary,
)
from srh.engine.operators import OPERATORS

REDUCE = {
    "sum": lambda values: float(np.sum(values)),
    "mean": lambda values: float(np.mean(values)) if values else np.nan,
    "prod": lambda values: float(np.prod(values)),
    "max": lambda values: float(np.max(values)) if values else np.nan,
    "min": lambda values: float(np.min(values)) if values else np.nan,
}


@dataclass(frozen=True)
class Place:
    """Where a part is evaluated: nodes of indices, and rows of relations around it."""

    sample: int
    nodes: Mapping[str, int] = field(default_factory=dict)
    rows: Sequence[tuple[str, tuple[str, ...], int]] = ()

    def at(
        self, incidence: Incidence, row: int, nodes: Sequence[int], over: Sequence[str] = ()
    ) -> Place:
        rows = [r for r in self.rows if not set(r[1]) & set(over) and r[1] != incidence.names]
        bound = dict(self.nodes) | dict(zip(incidence.names, nodes, strict=True))
        return Place(self.sample, bound, [*rows, (incidence.relation, incidence.names, row)])

    def row(self, relation: str, names: tuple[str, ...]) -> int:
        return next(r for name, idx, r in self.rows if name == relation and names in ((), idx))


class Loops:
    """Evaluates by loops. Columns: g one number, s per sample, x y per node, w v per row."""

    def __init__(self, data: Mapping[str, np.ndarray], n: int, leading: tuple[int, ...]) -> None:
        self.data, self.n, self.leading = data, n, leading
        self.fields = {"w": "A", "v": "T"}

    def run(self, node: Expression, free: Sequence[str] = (), rows: str | None = None):
        """Return the whole result, over free indices or the rows of a relation."""
        shape = (self.n,) * len(free) if rows is None else (len(self.data[rows]),)
        samples = int(np.prod(self.leading, dtype=int))
        result = np.empty((samples, *shape))
        for sample, place in itertools.product(range(samples), np.ndindex(*shape)):
            if rows is None:
                here = Place(sample, dict(zip(free, place, strict=True)))
            else:
                here = Place(sample, {}, [(rows, (), place[0])])
            result[(sample, *place)] = self.value(node, here)
        return result.reshape(self.leading + shape)

    def column(self, name: str, sample: int, last: int) -> float:
        array = self.data[name]
        if array.ndim == 0:
            return float(array)
        full = np.broadcast_to(array, (*self.leading, array.shape[-1])).reshape(-1, array.shape[-1])
        return float(full[sample, last if array.shape[-1] > 1 else 0])

    def value(self, node: Expression, at: Place) -> float:  # noqa: PLR0911
        if isinstance(node, Number | Parameter):
            return float(node.value)
        if isinstance(node, Symbol):
            if node.name in ("g", "s"):
                return self.column(node.name, at.sample, 0)
            if node.name in self.fields:
                return self.column(node.name, at.sample, at.row(self.fields[node.name], ()))
            return self.column(node.name, at.sample, at.nodes[""])
        if isinstance(node, RelationField):
            return self.column(node.name, at.sample, at.row(node.relation, ()))
        if isinstance(node, Indexed):
            name = node.base.column
            if len(node.names) == 1:
                return self.column(name, at.sample, at.nodes[node.names[0]])
            return self.column(name, at.sample, at.row(self.fields[name], node.names))
        if isinstance(node, Reduction):
            return REDUCE[node.op]([self.value(node.body, p) for p in self.places(node, at)])
        if isinstance(node, Gather):
            incidence = node.incidence
            known = [r for r in at.rows if r[0] == incidence.relation]
            row = next(r[2] for r in known if r[1] in ((), incidence.names))
            return self.value(
                node.body, Place(at.sample).at(incidence, row, self.ends(incidence, row))
            )
        if isinstance(node, Aggregate):
            table = self.data[node.relation]
            rows = [r for r in range(len(table)) if table[r, 0] == at.nodes[""]]
            return sum(
                self.value(node.body, Place(at.sample, {}, [(node.relation, (), r)])) for r in rows
            )
        if isinstance(node, RelationLift):
            relation, _, row = at.rows[-1]
            column = 0 if node.role == "targ" else node.position or 1
            return self.value(
                node.operand, Place(at.sample, {"": int(self.data[relation][row, column])})
            )
        operands = [np.float64(self.value(operand, at)) for operand in node.operands]
        assert isinstance(node, Unary | Binary | Function)
        with np.errstate(all="ignore"):
            return float(OPERATORS[node.operator.name].numpy(*operands))

    def ends(self, incidence: Incidence, row: int) -> list[int]:
        return self.data[incidence.relation][row].tolist()

    def places(self, node: Reduction, at: Place):
        over = [index.name for index in node.over]
        if node.incidence is None:
            for nodes in itertools.product(range(self.n), repeat=len(over)):
                rows = [r for r in at.rows if not set(r[1]) & set(over)]
                yield Place(at.sample, dict(at.nodes) | dict(zip(over, nodes, strict=True)), rows)
            return
        for row in range(len(self.data[node.incidence.relation])):
            ends = self.ends(node.incidence, row)
            if all(
                at.nodes[name] == end
                for name, end in zip(node.incidence.names, ends, strict=True)
                if name not in over
            ):
                yield at.at(node.incidence, row, ends, over)


NUMBERS = st.sampled_from([Number(v) for v in (0, 1, 2, -0.5, 1.5)])
COMMON = st.one_of(NUMBERS, st.sampled_from([Symbol("g"), Symbol("s")]))
PARAMETERS = st.sampled_from([Parameter("a", 0.7), Parameter("b", -1.2)])
ARITY = {"A": 2, "T": 3}


@st.composite
def structured(  # noqa: PLR0911
    draw, indices=(), fields=(), depth=3, parameters=False, ops=tuple(REDUCE)
):
    """Draw an expression whose free indices and rows are bound around it."""
    options = ["common"]
    options += ["parameter"] if parameters else []
    options += ["node"] * 2 if indices else []
    options += ["field"] * 2 if fields else []
    if depth:
        options += ["binary", "binary", "function", "reduction", "reduction", "reduction"]
        options += ["gather"] if fields else []
    kind = draw(st.sampled_from(options))

    def below(new=tuple(indices), rows=tuple(fields)):
        return draw(structured(new, rows, depth - 1, parameters, ops))

    if kind == "common":
        return draw(COMMON)
    if kind == "parameter":
        return draw(PARAMETERS)
    if kind == "node":
        return Indexed(Symbol(draw(st.sampled_from(["x", "y"]))), draw(st.sampled_from(indices)))
    if kind == "field":
        relation, names = draw(st.sampled_from(fields))
        column = "w" if relation == "A" else "v"
        base = draw(st.sampled_from([Symbol(column), RelationField(column, relation)]))
        return Indexed(base, names)
    if kind == "binary":
        return Binary(draw(st.sampled_from(["+", "-", "*"])), below(), below())
    if kind == "function":
        return Function(draw(st.sampled_from(["sin", "tanh", "arctan"])), (below(),))
    if kind == "gather":
        relation, names = draw(st.sampled_from(fields))
        return Gather(Incidence(relation, names), below(names, ((relation, names),)))
    return draw(_reductions(below, tuple(indices), tuple(fields), ops))


@st.composite
def _reductions(draw, below, indices, fields, ops):
    relation = draw(st.sampled_from(["A", "A", "T", None]))
    width = ARITY.get(relation, draw(st.sampled_from([1, 1, 2])))
    names = tuple(draw(st.permutations(["i", "j", "k", "l", "m"]))[:width])
    # What is not bound around the reduction must be eliminated; a bound index may be shadowed.
    over = [n for n in names if n not in indices or relation is None or draw(st.booleans())]
    over = over or [names[-1]]
    inner = tuple(dict.fromkeys((*indices, *names)))
    rows = tuple(f for f in fields if not set(f[1]) & set(over))
    incidence = None
    if relation is not None:
        incidence = Incidence(relation, names)
        rows = (*(f for f in rows if f[1] != names), (relation, names))
    return Reduction(draw(st.sampled_from(ops)), over, below(inner, rows), incidence)


@st.composite
def sugared(draw, inside=False, depth=3):
    """Draw an expression of aggr, targ and sour; at the top of bare node columns."""
    leaves = [NUMBERS, st.just(Symbol("g"))]
    leaves += [st.just(Symbol("w"))] if inside else [st.sampled_from([Symbol("x"), Symbol("y")])]
    kinds = ["leaf"]
    if depth:
        kinds += ["binary", "function", *(["targ", "sour"] * 2 if inside else ["aggr", "aggr"])]
    kind = draw(st.sampled_from(kinds))
    if kind == "leaf":
        return draw(st.one_of(leaves))
    if kind == "binary":
        op = draw(st.sampled_from(["+", "-", "*"]))
        return Binary(op, draw(sugared(inside, depth - 1)), draw(sugared(inside, depth - 1)))
    if kind == "function":
        return Function("tanh", (draw(sugared(inside, depth - 1)),))
    if kind == "aggr":
        return Aggregate("A", draw(sugared(True, depth - 1)))
    position = draw(st.sampled_from([None, 1])) if kind == "sour" else None
    return RelationLift(kind, draw(sugared(False, depth - 1)), position)


@st.composite
def worlds(draw):
    """Draw data: relations with isolated nodes and repeated rows, columns with leading axes."""
    n = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges, hyper = draw(st.integers(0, 7)), draw(st.integers(0, 6))
    leading = draw(st.sampled_from([(), (2,), (2, 3), (1,)]))
    used = max(1, draw(st.integers(1, n)))  # the nodes beyond stay isolated

    def column(last, varies):
        lead = leading if varies else ()
        return rng.uniform(-1.5, 1.5, (*lead, last))

    data = {
        "A": rng.integers(0, used, (edges, 2)),
        "T": rng.integers(0, used, (hyper, 3)),
        "x": column(n, draw(st.booleans())),
        "y": column(n, True),
        "w": column(edges, draw(st.booleans())),
        "v": column(hyper, draw(st.booleans())),
        "s": column(1, True),
        "g": np.float64(rng.uniform(-1, 1)),
    }
    return data, n, leading

"""Structured formulas: against loops, printed and read again, as source, and their errors."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from brute_force import Loops, structured, sugared, worlds
from srh.engine import Gather, Incidence, Indexed, Symbol, fold_constants, parse
from srh.engine.scopes import find_needs, outermost

SLOW = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def relevant(data, expression):
    """Return the columns that an expression uses: others must not be needed."""
    names = {*expression.variables, *expression.relations}
    return {name: column for name, column in data.items() if name in names}


def used_leading(data, expression, n):
    """Return the leading axes of the result: of the columns that the formula reads."""
    shapes = [np.shape(data[name])[:-1] for name in expression.variables]
    return np.broadcast_shapes(*shapes)


def free_indices(expression):
    return outermost(expression, find_needs(expression)).indices


def same(ours, theirs):
    return ours.shape == theirs.shape and np.allclose(ours, theirs, 1e-9, 1e-9, equal_nan=True)


@SLOW
@given(worlds(), st.sampled_from([(), ("i",), ("i", "k")]), st.data())
def test_values_equal_plain_loops(world, free, draw):
    data, n, _ = world
    expression = draw.draw(structured(free))
    structured_axes = [data[name].ndim for name in expression.variables if name in "xywv"]
    assume(structured_axes)
    # Beside values without samples a column (S, 1) is what NumPy takes it for.
    assume(free or "s" not in expression.variables or max(structured_axes) == data["s"].ndim)
    leading = used_leading(data, expression, n)
    loops = Loops(data, n, leading)
    free = free_indices(expression)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = expression.evaluate(relevant(data, expression), num_nodes=n)
    assert same(ours, loops.run(expression, free))


@SLOW
@given(worlds(), st.sampled_from([("A", ("i", "j")), ("T", ("k", "i", "j"))]), st.data())
def test_gathered_values_equal_plain_loops(world, bound, draw):
    data, n, _ = world
    relation, names = bound
    body = draw.draw(structured(names, (bound,)))
    expression = Gather(Incidence(relation, names), body)
    loops = Loops(data, n, used_leading(data, expression, n))
    ours = expression.evaluate(relevant(data, expression), num_nodes=n)
    assert same(ours, loops.run(expression, (), relation))


@SLOW
@given(worlds(), st.data())
def test_sums_without_indices_equal_plain_loops(world, draw):
    data, n, _ = world
    expression = Symbol("x") + draw.draw(sugared())
    loops = Loops(data, n, used_leading(data, expression, n))
    ours = expression.evaluate(relevant(data, expression), num_nodes=n)
    expected = loops.run(expression, ("",)) if n else np.empty(0)
    assert np.allclose(ours, np.broadcast_to(expected, ours.shape), 1e-9, 1e-9)


@settings(max_examples=150, deadline=None)
@given(st.one_of(structured(parameters=True), structured(("i", "j"), parameters=True), sugared()))
def test_printed_formulas_parse_back_to_themselves(expression):
    text = str(expression)
    assert parse(text) == expression
    known = {*expression.variables, *expression.relations}
    assert parse(text, known) == expression
    assert pickle.loads(pickle.dumps(expression)) == expression  # noqa: S301
    assert hash(parse(text)) == hash(expression)
    assert len(expression.to_tree().splitlines()) == len(expression)
    assert expression.copy() == expression
    assert expression.to_latex()


@settings(max_examples=60, deadline=None)
@given(worlds(), structured(("i",)))
def test_folded_formulas_have_the_same_values(world, expression):
    data, n, _ = world
    expression = expression + Indexed(Symbol("x"), "i")
    folded = fold_constants(expression)
    a, b = (e.evaluate(relevant(data, e), num_nodes=n) for e in (expression, folded))
    assert np.allclose(*np.broadcast_arrays(a, b), 1e-9, 1e-9, equal_nan=True)


@SLOW
@given(worlds(), st.one_of(structured(("i",)), structured(), structured(("i", "k"))))
def test_source_computes_the_same(world, expression):
    data, n, _ = world
    assume({"x", "y", "w", "v"} & {*expression.variables})
    names = [*expression.variables, *expression.relations]
    scope: dict[str, object] = {}
    exec(expression.to_numpy_source(), scope)  # noqa: S102
    ours = expression.evaluate(relevant(data, expression), num_nodes=n)
    header = expression.to_numpy_source().partition("def formula(")[2].splitlines()[0]
    extra = {"num_nodes": n} if "num_nodes" in header else {}
    theirs = scope["formula"](*(data[name] for name in names), **extra)
    assert np.allclose(*np.broadcast_arrays(ours, theirs), 1e-9, 1e-9, equal_nan=True)

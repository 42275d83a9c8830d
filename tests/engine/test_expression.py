# ruff: noqa: SIM300
from __future__ import annotations

import copy
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from srh.engine import (
    MAX_NODES,
    Binary,
    Function,
    GroupedParameter,
    Number,
    Parameter,
    Symbol,
    Unary,
    Variable,
    bind_parameters,
    count_parameters,
    fold_constants,
    grouped_param,
    normalise_columns,
    normalise_name,
    param,
    parameter_values,
    parse,
)
from srh.errors import ExpressionError

X, Y = Symbol("x"), Symbol("y")


def chain(depth: int):
    node = X
    for _ in range(depth):
        node = Function("sin", (node,))
    return node


def test_python_operators_build_the_tree_that_the_text_means():
    assert 2 * X + 1 == parse("2*x + 1")
    assert (1 - X) / 3 == parse("(1 - x)/3")
    assert -(X**2) == parse("-x**2")
    assert 2**X - X / Y == parse("2**x - x/y")
    assert 1 / X + Fraction(1, 3) * Y == parse("1/x + (1/3)*y")
    assert +X is X
    assert Variable is Symbol


@pytest.mark.parametrize("scalar", [np.float64(2.5), np.float32(2.5)])
def test_numpy_scalars_on_either_side_become_plain_floats(scalar):
    left, right = scalar * X, X * scalar
    assert left == Number(2.5) * X
    assert right == X * 2.5
    assert type(left.left.value) is float


def test_numpy_integers_become_exact_integers():
    assert Number(np.int64(3)) == Number(3)
    assert type(Number(np.int64(3)).value) is int


@pytest.mark.parametrize("other", ["1", None, [1], True, np.ones(2)])
def test_arithmetic_with_other_things_is_refused(other):
    with pytest.raises(TypeError):
        X + other
    with pytest.raises(TypeError):
        other * X


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, 10**400, True, "1", None, 1j, Fraction(10**400, 3)]
)
def test_a_number_is_a_finite_real(value):
    with pytest.raises(ExpressionError):
        Number(value)


def test_numbers_differ_when_their_texts_differ():
    assert Number(2) != Number(2.0)
    assert Number(0.0) != Number(-0.0)
    assert Number(Fraction(4, 2)) == Number(2)
    assert Number(Fraction(1, 3)) != Number(1 / 3)


def test_equal_trees_have_equal_hashes_and_count_as_one_key():
    a, b = parse("a*sin(x) + 1"), parse("a * sin( x )+1")
    assert a == b
    assert hash(a) == hash(b)
    assert len({a, b, parse("a*sin(x) + 2")}) == 2
    assert a != "a*sin(x) + 1"
    assert X != Parameter("x")


def test_nodes_cannot_be_changed():
    for node, name in ((X, "name"), (Number(1), "value"), (X + 1, "op"), (X, "new")):
        with pytest.raises(AttributeError, match="immutable"):
            setattr(node, name, 1)
        with pytest.raises(AttributeError, match="immutable"):
            delattr(node, name)
    table = {"a": 1.0}
    grouped = GroupedParameter("g", "k", table)
    table["b"] = 2.0
    assert dict(grouped.values) == {"a": 1.0}
    with pytest.raises(TypeError):
        grouped.values["a"] = 2.0


def test_wrongly_built_nodes_are_refused():
    for build in (
        lambda: Binary("%", X, Y),
        lambda: Binary("+", X, 1),
        lambda: Unary("+", X),
        lambda: Unary("-", 1),
        lambda: Function("sine", (X,)),
        lambda: Function("neg", (X,)),
        lambda: Function("sin", (X, Y)),
        lambda: Function("min", (X,)),
        lambda: Symbol(""),
        lambda: Symbol("  "),
        lambda: Symbol("a\nb"),
        lambda: Symbol("a\u202eb"),
        lambda: Symbol("a\ud800"),
        lambda: Symbol("a" * 300),
        lambda: Symbol(1),
        lambda: Parameter("a", math.nan),
        lambda: Parameter("a", True),
        lambda: Parameter(""),
        lambda: GroupedParameter("g", "k", {"a": math.inf}),
        lambda: GroupedParameter("g", "k", {None: 1.0}),
        lambda: GroupedParameter("g", "k", {True: 1.0}),
        lambda: GroupedParameter("g", "k", {math.nan: 1.0}),
        lambda: GroupedParameter("g", "k", {"\ud800": 1.0}),
        lambda: GroupedParameter("g", "k", {}, math.nan),
    ):
        with pytest.raises(ExpressionError):
            build()


def test_misspelt_functions_are_named_with_the_nearest():
    with pytest.raises(ExpressionError, match="did you mean 'sqrt'"):
        Function("sqr", (X,))


def test_walks_visit_every_node_in_order():
    e = parse("(x + 1)*sin(y)")
    assert [str(n) for n in e.iter_preorder()] == [
        "(x + 1)*sin(y)", "x + 1", "x", "1", "sin(y)", "y"
    ]  # fmt: skip
    assert [str(n) for n in e.iter_postorder()] == [
        "x", "1", "x + 1", "y", "sin(y)", "(x + 1)*sin(y)"
    ]  # fmt: skip
    assert len(e) == 6
    assert e.operands == (e.left, e.right)
    assert X.operands == ()


def test_variables_are_in_order_of_appearance_and_include_group_columns():
    e = parse("b*x + grouped_param(site, name='k')*b + param('x0')")
    assert e.variables == ("b", "x", "site")


def test_parameters_are_distinct_and_take_the_value_that_is_stated():
    e = param("a") * X + param("b", 2) + param("a", 3.5)
    assert e.parameters == (Parameter("a", 3.5), Parameter("b", 2.0))
    assert parameter_values(e) == {"a": 3.5, "b": 2.0}
    assert e.parameter_values() == parameter_values(e)


def test_grouped_parameters_of_one_name_share_one_table():
    e = grouped_param("g", "k", {"a": 0.0}) + grouped_param(Symbol("g"), "k", {"b": 2.0}, 5)
    assert e.parameter_values() == {"k": {"a": 0.0, "b": 2.0}}
    assert e.parameters[0].default == 5.0
    assert e.count_parameters() == 2


@pytest.mark.parametrize(
    "e",
    [
        param("a", 1) + param("a", 2),
        param("a") + grouped_param("g", "a"),
        grouped_param("g", "a") + grouped_param("h", "a"),
        grouped_param("g", "a", {"x": 1.0}) + grouped_param("g", "a", {"x": 2.0}),
        grouped_param("g", "a", default=1.0) + grouped_param("g", "a", default=2.0),
    ],
)
def test_contradicting_parameters_are_refused(e):
    with pytest.raises(ExpressionError, match="a"):
        e.parameters  # noqa: B018
    with pytest.raises(ValueError, match="a"):
        e.count_parameters()


def test_a_grouped_parameter_counts_its_table_and_at_least_one():
    assert count_parameters(grouped_param("g", "k")) == 1
    assert count_parameters(grouped_param("g", "k", {"a": 1, "b": 2, "c": 3}) * param("c")) == 4
    assert count_parameters(X) == 0


def test_binding_gives_values_and_keeps_the_rest():
    e = param("a") * X + grouped_param("g", "k", default=1.0) + param("b", 2)
    bound = bind_parameters(e, {"a": np.float64(1.5), "k": {"u": 3}})
    assert bound.parameter_values() == {"a": 1.5, "k": {"u": 3.0}, "b": 2.0}
    assert bound.parameters[1].default == 1.0
    assert e.parameter_values()["a"] is None
    assert bound.bind_parameters({"a": None}).parameter_values()["a"] is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"alpah": 1.0}, "did you mean 'alpha'"),
        ({"alpha": math.nan}, "finite"),
        ({"alpha": {"a": 1.0}}, "one value"),
        ({"k": 1.0}, "mapping"),
        ({"k": {"a": math.inf}}, "finite"),
    ],
)
def test_impossible_bindings_say_what_is_wrong(values, message):
    e = param("alpha") * X + grouped_param("g", "k")
    with pytest.raises(ExpressionError, match=message):
        e.bind_parameters(values)


def test_labels_are_plain_values():
    table = GroupedParameter("g", "k", {np.str_("a"): 1, np.int64(2): 2, 3.0: 3, 0.5: 4}).values
    assert list(table) == ["a", 2, 3, 0.5]
    assert [type(label) for label in table] == [str, int, int, float]
    # numpy's 2 and python's 2.0 are one label, in a table as in a column
    assert GroupedParameter("g", "k", {2: 1.0}) == GroupedParameter("g", "k", {2.0: 1.0})


def test_replace_exchanges_subtrees_once():
    e = parse("sin(x) + x*y")
    assert e.replace({"x": Y}) == parse("sin(y) + y*y")
    assert e.replace({parse("sin(x)"): 2}) == parse("2 + x*y")
    assert e.replace({X: Y, Y: X}) == parse("sin(y) + y*x")
    assert e.replace({"z": 1}) is e
    with pytest.raises(ExpressionError):
        e.replace({"x": "y"})
    with pytest.raises(ExpressionError):
        e.replace({1: X})


def test_copies_are_equal():
    e = parse("a*sin(x) + grouped_param(g, name='k', value={'u': 1.0})")
    for twin in (e.copy(), copy.copy(e), copy.deepcopy(e), pickle.loads(pickle.dumps(e))):  # noqa: S301
        assert twin == e
        assert hash(twin) == hash(e)


def test_the_deepest_trees_do_not_recurse():
    deep, twin = chain(MAX_NODES - 1), chain(MAX_NODES - 1)
    assert deep == twin
    assert hash(deep) == hash(twin)
    assert deep != chain(MAX_NODES - 2)
    assert pickle.loads(pickle.dumps(deep)) == deep  # noqa: S301
    assert len(deep.replace({"x": 1})) == MAX_NODES
    assert deep.fold_constants() is deep
    assert len(str(deep)) == 5 * (MAX_NODES - 1) + 1
    del deep, twin


def test_a_tree_has_a_size_limit_that_sharing_cannot_evade():
    node = X
    while 2 * len(node) < MAX_NODES:
        node = node + node
    with pytest.raises(ExpressionError, match=str(MAX_NODES)):
        node + node


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("4/3*x", "4/3*x"),
        ("sqrt(2)*x", "sqrt(2)*x"),
        ("2*3/4 + x", "3/2 + x"),
        ("2*x*3", "2*x*3"),
        ("sqrt(9/4)*x", "3/2*x"),
        ("2*exp(1)", "2*exp(1)"),
        ("1.5*sqrt(4)", "3.0"),
        ("1.5*sqrt(2)", repr(1.5 * math.sqrt(2))),
        ("exp(0) + cos(0) - log(1)", "2"),
        ("max(2, 3) - min(2, 3) + abs(-7) + sign(-2) + inv(4)", "29/4"),
        ("-(2)", "-2"),
        ("2**-3", "1/8"),
        ("2**0.5", repr(2**0.5)),
        ("2**(1/2)", "2**(1/2)"),
        ("1/0 + x", "1/0 + x"),
        ("sqrt(-1)", "sqrt(-1)"),
        ("sin(1/0)", "sin(1/0)"),
        ("9**9**9", "9**387420489"),
        ("0**-1", "0**-1"),
        ("2**2000", "2**2000"),
        ("2**1000", "2**1000"),
        ("-(0)", "-0.0"),
        ("-(0)*arccos(0)", "-0.0"),
        ("param('a', value=2)*(1 + 1)", "param('a', value=2.0)*2"),
    ],
)
def test_folding_keeps_readable_constants_readable(text, folded):
    assert str(fold_constants(parse(text))) == folded


def test_columns_that_become_one_name_are_detected():
    micro, mu = "µ", "μ"
    assert normalise_name(micro) == normalise_name(mu) == mu
    assert Symbol(micro) == Symbol(mu)
    assert normalise_columns([micro, "x"]) == {mu: micro, "x": "x"}
    with pytest.raises(ExpressionError, match="same name"):
        normalise_columns([micro, mu])
    with pytest.raises(ExpressionError, match="same name"):
        normalise_columns(["x", "x"])


@given(st.text(max_size=30))
def test_normalising_a_name_is_idempotent_or_refused(name):
    try:
        normal = normalise_name(name)
    except ExpressionError:
        return
    assert normalise_name(normal) == normal


def test_repr_is_short():
    assert repr(X + 1) == "Binary<x + 1>"
    assert len(repr(chain(1000))) < 200

"""Flat programs: values against a naive recursion, derivatives against finite differences."""

from __future__ import annotations

import threading
import warnings
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from srh.engine.columns import read_table
from srh.engine.expression import Binary, Expression, Function, Number, Symbol, Unary
from srh.engine.operators import OPERATORS
from srh.engine.parameters import GroupedParameter, Parameter, grouped_param, param
from srh.engine.parser import parse
from srh.engine.program import BLOCK_ROWS, compile_program, evaluate
from srh.errors import ExpressionError, MissingVariableError, UnboundParameterError

X, Z = Symbol("x"), Symbol("z")

# Functions that are smooth wherever their arguments lie, so that differences mean something.
SMOOTH = ["sin", "cos", "tanh", "arctan", "sigmoid", "sech"]
NUMBERS = st.sampled_from([Number(v) for v in (0.5, 1, 2, -1.5, 3, Fraction(4, 3))])
LEAVES = st.one_of(
    NUMBERS, st.sampled_from([X, Z]), st.sampled_from([param(name) for name in ("a", "b", "c")])
)


def _grow(children: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    exponents = st.sampled_from([Number(v) for v in (2, 3, 4, -1, -2, 0.5, 1.7, 0, 1)])
    positive = children.map(lambda e: Number(1) + e * e)
    return st.one_of(
        st.builds(Binary, st.sampled_from(["+", "-", "*"]), children, children),
        st.builds(lambda a, b: a / b, children, positive),
        st.builds(lambda a, n: a**n, positive, exponents),
        st.builds(lambda a, b: a ** Function("tanh", (b,)), positive, children),
        st.builds(lambda e: Unary("-", e), children),
        st.builds(lambda name, e: Function(name, (e,)), st.sampled_from(SMOOTH), children),
        st.builds(lambda e: Function("log", (e,)), positive),
        st.builds(lambda a, b: Function("hypot", (a, b)), positive, children),
        st.builds(lambda a, b: Function("arctan2", (a, b)), children, positive),
    )


TREES = st.recursive(LEAVES, _grow, max_leaves=12)


def naive(node: Expression, columns: dict[str, np.ndarray], values: dict[str, float]) -> np.ndarray:
    """Evaluate by plain recursion over the tree, straight from the operator table."""
    if isinstance(node, Number):
        return np.float64(node.value)
    if isinstance(node, Symbol):
        return columns[node.name]
    if isinstance(node, Parameter):
        return np.float64(values[node.name])
    name = {Unary: "neg"}.get(type(node)) or getattr(node, "op", None) or node.name
    return OPERATORS[name].numpy(*(naive(child, columns, values) for child in node.operands))


def _columns(rows: int = 7) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(5)
    return {"x": rng.uniform(-2, 2, rows), "z": rng.uniform(0.2, 3, rows)}


def _bound(tree: Expression, values: dict[str, float]) -> Expression:
    return tree.bind_parameters({leaf.name: values[leaf.name] for leaf in tree.parameters})


VALUES = {"a": 0.7, "b": -1.3, "c": 1.9}


@given(TREES)
@settings(max_examples=250, deadline=None)
def test_evaluation_equals_plain_recursion(tree: Expression) -> None:
    columns = _columns()
    with np.errstate(all="ignore"):
        expected = np.broadcast_to(naive(tree, columns, VALUES), (7,))
    found = evaluate(_bound(tree, VALUES), columns)
    assert found.dtype == np.float64
    # Small powers are multiplications: a few units in the last place, grown by cancellation.
    scale = np.abs(expected) + 1.0
    np.testing.assert_allclose(found / scale, expected / scale, rtol=0, atol=1e-9)


@given(TREES)
@settings(max_examples=250, deadline=None)
def test_jacobian_equals_finite_differences(tree: Expression) -> None:
    names = [leaf.name for leaf in tree.parameters]
    assume(names)
    columns = _columns()
    table = read_table(tree, columns)
    program = compile_program(tree)
    theta = np.array([VALUES[name] for name in names])
    values, jacobian = program.value_and_jacobian(table, theta)
    np.testing.assert_array_equal(values, program.evaluate(table, theta))
    assert jacobian.shape == (table.n_rows, len(names))
    for index in range(len(names)):
        step = np.zeros(len(names))
        step[index] = 1e-3
        samples = [program.evaluate(table, theta + k * step) for k in (-2, -1, 1, 2)]
        # Five-point rule: its error is of fourth order in the step.
        slope = (samples[0] - 8 * samples[1] + 8 * samples[2] - samples[3]) / 12e-3
        size = np.max(np.abs(samples)) + np.max(np.abs(slope)) + 1.0
        assume(np.isfinite(size) and size < 1e6)
        np.testing.assert_allclose(jacobian[:, index], slope, rtol=1e-4, atol=1e-5 * size)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_each_operator_has_its_derivative_in_a_program(name: str) -> None:
    row = OPERATORS[name]
    inputs = [param("a"), param("b")][: row.arity]
    if name == "neg":
        tree: Expression = -inputs[0]
    elif name in "+-**/":
        tree = Binary(name, *inputs)
    else:
        tree = Function(name, inputs)
    program = compile_program(tree)
    table = read_table(X, {"x": np.zeros(1)})
    theta = np.array([0.43, 0.71][: row.arity])
    _, jacobian = program.value_and_jacobian(table, theta)
    for index in range(row.arity):
        step = np.eye(row.arity)[index] * 1e-6
        above, below = program.evaluate(table, theta + step), program.evaluate(table, theta - step)
        np.testing.assert_allclose(jacobian[0, index], (above - below)[0] / 2e-6, rtol=1e-7)


@pytest.mark.parametrize("exponent", [2, 3, 4, -1, -2, 0.5])
def test_powers_by_multiplication_stay_within_two_units(exponent: float) -> None:
    x = np.random.default_rng(0).uniform(1e-3, 1e3, 20_000)
    found = evaluate(X**exponent, {"x": x})
    exact = np.power(x.astype(np.longdouble), np.longdouble(exponent))
    assert np.max(np.abs((found - exact) / exact)) < 2.0 * np.finfo(float).eps


def test_blocks_make_no_difference_and_partial_blocks_are_right() -> None:
    formula = parse("sigmoid(x)*z + (x*z)**2 - tanh(x)/(1 + z**2)")
    columns = _columns(3 * BLOCK_ROWS + 17)
    whole = evaluate(formula, columns)
    ends = [0, 5, BLOCK_ROWS, BLOCK_ROWS + 1, len(whole)]
    for start, stop in pairwise(ends):
        part = {name: column[start:stop] for name, column in columns.items()}
        np.testing.assert_array_equal(evaluate(formula, part), whole[start:stop])
    np.testing.assert_array_equal(evaluate(formula, columns, threads=2), whole)


def test_jacobian_runs_over_blocks() -> None:
    formula = param("a") * Function("sin", (param("b") * X,)) + param("c")
    x = np.linspace(0, 3, BLOCK_ROWS + 100)
    table = read_table(formula, {"x": x})
    _, jacobian = compile_program(formula).value_and_jacobian(table, [2.0, 1.5, 0.3])
    expected = np.stack([np.sin(1.5 * x), 2 * x * np.cos(1.5 * x), np.ones_like(x)], axis=1)
    np.testing.assert_allclose(jacobian, expected, rtol=1e-13, atol=1e-13)


def test_batch_equals_one_by_one() -> None:
    formula = param("a") * Function("exp", (-param("b") * X,)) + 2 * param("a")
    table = read_table(formula, {"x": np.linspace(0, 2, 11)})
    program = compile_program(formula)
    a, b = np.array([1.0, 2.0, -3.0]), np.array([0.1, 0.5, 2.0])
    batch = program.evaluate_batch(table, [a, b])
    assert batch.shape == (3, 11)
    for row, values in zip(batch, zip(a, b, strict=True), strict=True):
        np.testing.assert_allclose(row, program.evaluate(table, values), rtol=1e-15)


def test_equal_subexpressions_are_one_node() -> None:
    shared = parse("sin(x*z) + cos(x*z) + sin(z*x)**2")
    kinds = [node.kernel.name for node in compile_program(shared).nodes if node.kernel]
    assert kinds.count("*") == 1
    assert kinds.count("sin") == 1


def test_constants_are_folded() -> None:
    nodes = compile_program(parse("sqrt(2)*x + 4/3*(1 + 2)")).nodes
    constants = [node.value for node in nodes if node.kind == "constant"]
    assert constants == [pytest.approx(2**0.5), pytest.approx(4.0)]


def test_a_column_used_by_itself_is_returned_as_a_copy() -> None:
    x = np.arange(3.0)
    result = evaluate(X, {"x": x})
    result[0] = 9
    assert x[0] == 0


def test_threads_share_one_program() -> None:
    formula = parse("exp(-x**2)*sin(3*x) + log(1 + x**2)")
    columns = [{"x": np.linspace(-k, k, 30_000)} for k in range(1, 5)]
    expected = [evaluate(formula, column) for column in columns]
    wrong: list[int] = []

    def work(index: int) -> None:
        for _ in range(20):
            if not np.array_equal(evaluate(formula, columns[index]), expected[index]):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_domain_errors_are_nan_in_their_row_without_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = evaluate(parse("log(x) + sqrt(x) + x**0.3"), {"x": np.array([-1.0, 4.0])})
        huge = evaluate(parse("exp(x)"), {"x": np.array([1e6])})
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(np.log(4) + 2 + 4**0.3)
    assert np.isposinf(huge[0])


def test_result_has_the_shape_of_the_data() -> None:
    grid = np.arange(6.0).reshape(2, 3)
    assert evaluate(X + 1, {"x": grid}).shape == (2, 3)
    assert evaluate(X + Z, {"x": grid, "z": 2}).shape == (2, 3)
    constant = evaluate(Number(3), {"x": grid})
    assert constant.shape == (2, 3)
    assert (constant == 3).all()
    assert evaluate(X, {"x": np.empty(0)}).shape == (0,)


def test_integers_and_booleans_become_float64() -> None:
    found = evaluate(X**-2 + Z, {"x": np.array([2, 4]), "z": np.array([True, False])})
    np.testing.assert_array_equal(found, [1.25, 0.0625])


def test_data_may_be_an_object_that_carries_a_mapping() -> None:
    context = SimpleNamespace(data={"x": [1.0, 2.0]})
    np.testing.assert_array_equal(evaluate(2 * X, context), [2.0, 4.0])
    with pytest.raises(ExpressionError, match="mapping from column name"):
        evaluate(X, [1.0, 2.0])


def test_unicode_spellings_of_a_column_meet() -> None:
    # The micro sign and the Greek letter look the same and are the same name.
    assert evaluate(Symbol("\u00b5"), {"\u03bc": [5.0]})[0] == 5.0


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"lenght": [1.0]}, MissingVariableError, "did you mean 'lenght'"),
        ({"length": np.array(["a", "b"])}, ExpressionError, "'length' holds text"),
        ({"length": np.array([1.0, "b"], object)}, ExpressionError, "'length' holds text"),
        ({"length": np.array([1j])}, ExpressionError, "complex"),
        ({"length": np.array(["2020-01-01"], "datetime64[D]")}, ExpressionError, "datetime"),
    ],
)
def test_unusable_columns_are_refused(data: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        evaluate(Symbol("length") * 2, data)


def test_columns_of_different_shapes_are_refused() -> None:
    with pytest.raises(ExpressionError, match=r"different shapes.*x \(2,\).*z \(3,\)"):
        evaluate(X + Z, {"x": np.ones(2), "z": np.ones(3)})


def test_unbound_parameters_are_named() -> None:
    with pytest.raises(UnboundParameterError, match="'a', 'b'"):
        evaluate(param("a") * X + param("b") + param("c", 1.0), {"x": [1.0]})


def test_grouped_parameter_takes_each_rows_own_value() -> None:
    formula = grouped_param("site", "k", {"north": 2.0, "south": 3.0}) * X
    data = {"x": np.array([1.0, 10.0, 100.0]), "site": np.array(["south", "north", "south"])}
    np.testing.assert_array_equal(evaluate(formula, data), [3.0, 20.0, 300.0])
    data["site"] = np.array(["south", "north", "south"], object)
    np.testing.assert_array_equal(evaluate(formula, data), [3.0, 20.0, 300.0])


def test_numeric_labels_match_by_equality_and_may_be_a_column_too() -> None:
    formula = GroupedParameter("g", "k", {1: 5.0, 2.5: 7.0}, None) + Symbol("g")
    np.testing.assert_array_equal(evaluate(formula, {"g": [1.0, 2.5]}), [6.0, 9.5])


def test_unseen_label_takes_the_default_or_is_an_error() -> None:
    data = {"site": np.array(["north", "east"])}
    known = grouped_param("site", "k", {"north": 2.0}, default=0.5)
    np.testing.assert_array_equal(evaluate(known, data), [2.0, 0.5])
    with pytest.raises(ExpressionError, match="'k' has no value for site = 'east'"):
        evaluate(grouped_param("site", "k", {"north": 2.0}), data)


def test_a_chain_of_a_thousand_nodes_evaluates() -> None:
    formula: Expression = X
    for _ in range(999):
        formula = Function("sin", (formula,)) + 1
    assert np.isfinite(evaluate(formula, {"x": [0.3]})).all()

# ruff: noqa: S311
from __future__ import annotations

import ast
import math
import random
from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from srh.engine import (
    Binary,
    Expression,
    Function,
    GroupedParameter,
    Number,
    Parameter,
    Symbol,
    Unary,
    parse,
    render,
)
from srh.engine.names import normalise_name
from srh.engine.operators import BINARY_OPERATORS, FUNCTIONS, OPERATORS
from srh.errors import ExpressionError

finite = st.floats(allow_nan=False, allow_infinity=False)


def _usable(name: str) -> bool:
    try:
        normalise_name(name)
    except ExpressionError:
        return False
    return True


TRICKY_NAMES = ["x", "y", "t1", "_a", "pi", "e", "sin", "lambda", "None", "nan", "param", "np", "μ"]
TRICKY_NAMES += ["a`b", "``", "petal length (cm)", "x.1", " x ", "2x", "x**2", "'", '"', "\\", "x²"]
names = st.sampled_from([*TRICKY_NAMES, "ﬁ", "日本"]) | st.text(min_size=1, max_size=8).filter(
    _usable
)
numbers = st.one_of(
    st.integers(-20, 20),
    st.integers(-(10**308), 10**308),
    finite,
    st.fractions(),
    st.sampled_from([-0.0, 0.0, 1e22, 1e16, 5e-324, -1e-5, 1.7976931348623157e308, math.pi]),
).map(Number)
labels = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6), st.integers(-9, 9), finite
)
parameters = st.builds(Parameter, names, st.none() | finite)
# labels such as 0 and 0.0 are one label, so tables are made of what is left of them
tables = st.dictionaries(labels, finite, max_size=3).filter(
    lambda table: len({float(k) if isinstance(k, int) else k for k in table}) == len(table)
)
grouped = st.builds(GroupedParameter, names, names, tables, st.none() | finite)
plain_leaves = st.one_of(names.map(Symbol), numbers)
unary_functions = sorted(name for name in FUNCTIONS if OPERATORS[name].arity == 1)
binary_functions = sorted(FUNCTIONS - set(unary_functions))


def inner(children: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Unary, st.just("-"), children),
        st.builds(Binary, st.sampled_from(sorted(BINARY_OPERATORS)), children, children),
        st.builds(Function, st.sampled_from(unary_functions), st.tuples(children)),
        st.builds(Function, st.sampled_from(binary_functions), st.tuples(children, children)),
    )


trees = st.recursive(plain_leaves, inner, max_leaves=25)


@settings(max_examples=250, deadline=None)
@given(trees)
def test_printed_trees_parse_back_to_themselves(tree):
    text = str(tree)
    assert parse(text) == tree
    assert parse(text, tree.variables) == tree
    assert parse(f"`the target` = {text}\n", target="the target") == tree


@settings(max_examples=150, deadline=None)
@given(parameters | grouped, trees)
def test_printed_parameters_parse_back_to_themselves(parameter, tree):
    whole = parameter * tree - parameter
    assert parse(str(whole)) == whole
    assert parse(str(whole), whole.variables) == whole


@settings(max_examples=150, deadline=None)
@given(finite)
def test_constants_survive_to_the_last_bit(value):
    for read in (parse(str(Number(value))).value, parse(str(Parameter("a", value))).value):
        assert read.hex() == value.hex()


def random_tree(generator: random.Random, nodes: int, depth_first: bool) -> Expression:
    """Return a tree of exactly ``nodes`` nodes, a deep one if asked for."""
    leaf = [
        Symbol("x"),
        Number(2),
        Number(-3),
        Number(Fraction(4, 3)),
        Number(-0.5),
        Parameter("a"),
    ]
    done = [generator.choice(leaf)]
    while len(done[-1]) < nodes - 1:
        node = done.pop()
        missing = nodes - len(node)
        if generator.random() < 0.3 or missing < 2:
            node = Unary("-", node) if generator.random() < 0.5 else Function("sin", (node,))
        else:
            size = 1 if depth_first else generator.randint(1, missing - 1)
            other = (
                random_tree(generator, size, depth_first) if size > 1 else generator.choice(leaf)
            )
            pair = (node, other) if generator.random() < 0.5 else (other, node)
            op = generator.choice([*sorted(BINARY_OPERATORS), "max"])
            node = Function(op, pair) if op == "max" else Binary(op, *pair)
        done.append(node)
    return done[0]


@pytest.mark.parametrize("depth_first", [True, False])
@pytest.mark.parametrize("seed", range(15))
def test_trees_of_a_thousand_nodes_parse_back_however_deep(seed, depth_first):
    tree = random_tree(random.Random(seed), 1000, depth_first)
    assert len(tree) in {999, 1000}
    assert parse(str(tree)) == tree


def repeated(make, nodes: int) -> Expression:
    tree: Expression = Symbol("x")
    while len(tree) < nodes:
        tree = make(tree)
    return tree


@pytest.mark.parametrize(
    "make",
    [
        lambda t: Function("sin", (t,)),
        lambda t: Unary("-", t),
        lambda t: Number(1) - t,
        lambda t: t - Number(1),
        lambda t: Symbol("x") / t,
        lambda t: Symbol("x") ** t,
        lambda t: t ** Number(-2),
        lambda t: -(Number(-2) ** t),
        lambda t: Function("max", (Number(2), t)),
        lambda t: Function("sin", (-(Number(Fraction(-1, 3)) - t),)),
    ],
)
def test_the_deepest_towers_of_each_kind_parse_back(make):
    tree = repeated(make, 1000)
    assert parse(str(tree)) == tree
    assert tree.to_tree().count("\n") == len(tree) - 1
    assert tree.to_latex()


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        (Number(-2) ** Symbol("x"), "(-2)**x"),
        (Symbol("x") - Number(-3), "x - -3"),
        (Symbol("x") * Number(-3), "x*-3"),
        (-Number(2), "-(2)"),
        (-Number(-2), "--2"),
        (Number(Fraction(4, 3)) * Symbol("r") ** 3, "4/3*r**3"),
        (Symbol("x") * Number(Fraction(4, 3)), "x*(4/3)"),
        (Symbol("x") ** Number(Fraction(1, 2)), "x**(1/2)"),
        (Number(4) / Number(3), "4/(3)"),
        (Number(-0.0), "-0.0"),
        (Number(1e22), "1e+22"),
        (Number(5e-324), "5e-324"),
        (Symbol("lambda") + Symbol("pi"), "`lambda` + `pi`"),
        (Parameter("it's", 2), 'param("it\'s", value=2.0)'),
        (
            GroupedParameter("a b", "k", {"u": 1, 2: 0.1}, 3),
            "grouped_param(`a b`, name='k', value={'u': 1.0, 2: 0.1}, default=3.0)",
        ),
    ],
)
def test_text_looks_like_this(tree, text):
    assert str(tree) == text
    assert tree.to_str() == render(tree) == text
    assert parse(text) == tree


def test_number_format_shortens_floats_only():
    tree = parse("1.23456789*x + 1234567 + param('a', value=0.000123456)*(1/3)")
    assert tree.to_str(".3g") == "1.23*x + 1234567 + param('a', value=0.000123)*(1/3)"
    assert tree.to_str(lambda value: f"<{value:.1f}>").startswith("<1.2>*x")


def test_to_tree_is_one_line_per_node():
    assert parse("-x*sin(2) + `a b`").to_tree().splitlines() == [
        "+", "  *", "    -(...)", "      x", "    sin", "      2", "  `a b`"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("a/b + c", r"\frac{a}{b} + c"),
        ("(a + b)*c**-2", r"\left(a + b\right) \cdot {c}^{-2}"),
        ("(a/b)**2", r"{\left(\frac{a}{b}\right)}^{2}"),
        ("(-2)**x", r"{\left(-2\right)}^{x}"),
        ("x - (y - z)", r"x - \left(y - z\right)"),
        ("-(x + y)", r"-\left(x + y\right)"),
        ("2*pi*e", r"2 \cdot \pi \cdot \mathrm{e}"),
        ("4/3*x", r"\frac{4}{3} \cdot x"),
        ("1e-5*x", r"1 \cdot 10^{-5} \cdot x"),
        ("1e-5**x", r"{\left(1 \cdot 10^{-5}\right)}^{x}"),
        ("sqrt(x) + abs(y)", r"\sqrt{x} + \left|y\right|"),
        ("sin(x)**2", r"{\sin\left(x\right)}^{2}"),
        ("alpha*μ + x_1", r"\alpha \cdot \mu + x_{\mathrm{1}}"),
        ("`petal_length (%)`", r"\mathrm{petal\_length\ (\%)}"),
        ("param('k')*param('a', value=-2)", r"k \cdot \left(-2.0\right)"),
        ("grouped_param(site, name='k')", r"{k}_{\mathrm{site}}"),
    ],
)
def test_latex_looks_like_this(text, latex):
    assert parse(text).to_latex() == latex


@settings(max_examples=100, deadline=None)
@given(trees)
def test_latex_brackets_are_balanced(tree):
    latex = tree.to_latex()
    for special in (r"\\", r"\{", r"\}"):
        latex = latex.replace(special, "")
    assert latex.count("{") == latex.count("}")
    assert latex.count(r"\left") == latex.count(r"\right")


# Compositions that stay inside every function's domain for x, y in (0.5, 1.5).
_safe_leaves = st.sampled_from(
    [Symbol("x"), Symbol("y"), Number(2), Number(Fraction(1, 3)), Number(0.7)]
)


def _safe_inner(children: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    bounded = children.map(lambda c: Function("sigmoid", (c,)))  # within (0, 1)
    return st.one_of(
        st.builds(Binary, st.sampled_from("+-*"), bounded, bounded),
        st.builds(lambda a, b: a / (Number(1) + b), bounded, bounded),
        st.builds(Binary, st.just("**"), bounded, bounded),
        st.builds(Unary, st.just("-"), bounded),
        st.builds(
            lambda name, a: Function(name, (a * Number(0.9) + Number(0.05),)),
            st.sampled_from([name for name in unary_functions if name != "sign"]),
            bounded,
        ),
        st.builds(
            lambda n, a, b: Function(n, (a, b)), st.sampled_from(binary_functions), bounded, bounded
        ),
    )


safe_trees = st.recursive(_safe_leaves, _safe_inner, max_leaves=8)
_generator = np.random.default_rng(5)
DATA = {"x": _generator.uniform(0.5, 1.5, 7), "y": _generator.uniform(0.5, 1.5, 7)}


@settings(max_examples=30, deadline=None)
@given(st.recursive(_safe_leaves, _safe_inner, max_leaves=5))
def test_evaluation_equals_sympy(tree):
    ours = tree.evaluate(DATA)
    symbols = [sympy.Symbol(name, real=True) for name in ("x", "y")]
    function = sympy.lambdify(symbols, tree.to_sympy(), modules=["numpy"])
    theirs = np.broadcast_to(function(DATA["x"], DATA["y"]), (7,))
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(safe_trees)
def test_folding_and_copying_keep_the_value(tree):
    ours = tree.evaluate(DATA)
    folded = tree.fold_constants()
    np.testing.assert_allclose(folded.evaluate(DATA), ours, rtol=1e-12, atol=1e-14)
    assert folded.fold_constants() == folded
    assert len(folded) <= len(tree)
    np.testing.assert_array_equal(tree.copy().evaluate(DATA), ours)
    np.testing.assert_array_equal(parse(str(tree)).evaluate(DATA), ours)


def run_source(tree: Expression, data: dict, **parameters: object):
    space: dict = {}
    exec(tree.to_numpy_source("f"), space)  # noqa: S102  our own source, which is what is tested
    columns = [data[name] for name in tree.variables]
    return space["f"](*columns, **parameters)


@settings(max_examples=100, deadline=None)
@given(safe_trees)
def test_pasted_source_computes_the_same(tree):
    result = np.broadcast_to(run_source(tree, DATA), (7,))
    np.testing.assert_allclose(result, tree.evaluate(DATA), rtol=1e-12, atol=1e-14)


@settings(max_examples=100, deadline=None)
@given(trees)
def test_source_of_any_tree_runs(tree):
    data = {name: np.array([-1.5, 0.0, 2.0]) for name in tree.variables}
    result = np.asarray(run_source(tree, data), dtype=float)
    expected = tree.evaluate(data or {"unused": np.zeros(3)})
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(np.broadcast_to(result, (3,)), expected, rtol=1e-9)


@pytest.mark.parametrize("text", ["9**9**9", "1/0", "(-2)**(1/2)", "0**-1", "inv(0)", "sqrt(-1)"])
def test_source_of_constants_never_leaves_float64(text):
    tree = parse(text)
    expected = tree.evaluate({"x": np.zeros(1)})[0]
    np.testing.assert_equal(float(run_source(tree, {})), expected)


def test_source_takes_parameters_and_groups():
    tree = parse(
        "param('a', value=2)*x**param('b') "
        "+ grouped_param(`my site`, name='k', value={'u': 1.0, 3: 5.0}, default=7.0)"
    )
    source = tree.to_numpy_source()
    assert "def formula(x, my_site, b, a=2.0, k={'u': 1.0, 3: 5.0}):" in source
    assert "my_site is 'my site'" in source
    space: dict = {}
    exec(source, space)  # noqa: S102
    sites = np.array(["u", "v", "u"])
    result = space["formula"](np.array([1, 2, 3]), sites, b=2)
    np.testing.assert_allclose(result, [3.0, 15.0, 19.0])
    result = space["formula"](np.ones(2), [3, 4], b=-1, a=-1)
    np.testing.assert_allclose(result, [4.0, 6.0])


def test_source_renames_what_python_does_not_allow():
    assert run_source(Symbol("\U00010107") * 2, {"\U00010107": 1.5}) == 3.0
    tree = parse("`lambda` + `2x` + `a b` + `a_b` + `np` + `formula` + `'\"\\`*param('a b')")
    source = tree.to_numpy_source()
    ast.parse(source)
    arguments = ast.parse(source).body[1].args.args
    assert len({argument.arg for argument in arguments}) == 8
    for bad in ("", "a b", "def", "1x"):
        with pytest.raises(ExpressionError, match="function"):
            tree.to_numpy_source(bad)


@pytest.mark.parametrize("depth_first", [True, False])
def test_source_of_deep_trees_compiles(depth_first):
    tree = random_tree(random.Random(3), 1000, depth_first).replace({Parameter("a"): 2})
    x = np.array([0.3, 0.7])
    result = np.asarray(run_source(tree, {"x": x}))
    np.testing.assert_allclose(np.broadcast_to(result, (2,)), tree.evaluate({"x": x}), rtol=1e-9)
    tower = repeated(lambda t: Function("sin", (t,)), 1000)
    np.testing.assert_allclose(run_source(tower, {"x": x}), tower.evaluate({"x": x}))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("4/3*pi*x**3", lambda x: sympy.Rational(4, 3) * sympy.pi * x**3),
        ("e**x", sympy.exp),
        ("0.1*x", lambda x: sympy.Float(0.1) * x),
        ("log10(x)", lambda x: sympy.log(x, 10)),
        ("param('a', value=2)*x", lambda x: 2.0 * x),
        ("param('a')*x", lambda x: sympy.Symbol("a", real=True) * x),
        ("9**9**9", lambda x: sympy.oo),
        ("(9**99)**(99**9)", lambda x: sympy.oo),
        ("9**-(9**9)", lambda x: sympy.Integer(0)),
        ("2**10", lambda x: sympy.Integer(1024)),
    ],
)
def test_sympy_gets_exact_constants_and_no_monsters(text, same):
    assert parse(text).to_sympy() == same(sympy.Symbol("x", real=True))


def test_sympy_shows_a_grouped_parameter_as_a_function_of_its_column():
    assert str(parse("grouped_param(site, name='k')*x").to_sympy()) == "x*k(site)"


def test_sympy_takes_long_sums_and_moderate_depth():
    long = sum((Symbol("x") ** k for k in range(2, 150)), Symbol("x"))
    assert len(long.to_sympy().args) == 149
    tower = repeated(lambda t: Function("sin", (Number(1) - t,)), 150)
    assert tower.to_sympy().count_ops() >= 100


def test_too_deep_for_sympy_is_an_error_of_ours():
    tower = repeated(lambda t: Function("sin", (t,)), 1_000)
    with pytest.raises(ExpressionError, match="too deep for SymPy"):
        tower.to_sympy()

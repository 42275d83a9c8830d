from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srh.engine import (
    Binary,
    Function,
    Number,
    Symbol,
    parse,
    simplify,
    snap_constants,
    to_sympy_source,
)
from srh.engine.symbolic import ask_sympy, worker_pid
from srh.errors import ExpressionError, FitError


@pytest.mark.parametrize(
    ("text", "simpler"),
    [
        ("x + x", "2*x"),
        ("2*3*x", "6*x"),
        ("(x**2 - 1)/(x - 1)", "x + 1"),
        ("sin(x)**2 + cos(x)**2", "1"),
        ("log(exp(x))", "x"),
        ("2*(x + y) - 2*x", "2*y"),
        ("`E`*I/`E`", "I"),
        ("beta*gamma/gamma", "beta"),
        ("log10(x)*log(10)", "log(x)"),
        ("param('a', value=2)*x/x*y", "param('a', value=2.0)*y"),
        ("sum[j](A[i, j], x[j])*2/2 + y[i] - y[i]", "sum[j](A[i, j], x[j])"),
    ],
)
def test_shorter_forms(text, simpler):
    assert str(simplify(parse(text))) == simpler


@pytest.mark.parametrize(
    "text",
    ["sqrt(x)**2", "exp(log(x))", "x", "1 - cos(x)", "x**x**x**x", "exp(exp(exp(x)))", "sin(x*y)"],
)
def test_what_has_no_shorter_form_of_the_same_value_stays(text):
    assert simplify(parse(text)) == parse(text)


def test_closed_formulas_never_leave_the_process():
    code = (
        "import sys\n"
        "from srh.engine import parse, simplify\n"
        "assert str(simplify(parse('2*3 + 4'))) == '10'\n"
        "assert str(simplify(parse('x'))) == 'x'\n"
        "from srh.engine.symbolic import worker_pid\n"
        "assert worker_pid() is None\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "text",
    [
        "(x + 1)**500",
        "9**9**9*x",
        " + ".join(f"x**{k}*sin(y*{k})" for k in range(1, 120)),
        "exp(" * 120 + "x" + ")" * 120,
    ],
)
def test_large_and_steep_formulas_end_in_time(text):
    started = time.monotonic()
    found = simplify(parse(text), seconds=1.0)
    assert time.monotonic() - started < 10
    assert len(found) <= len(parse(text))


trees = st.recursive(
    st.one_of(st.sampled_from("xy").map(Symbol), st.integers(-3, 3).map(Number)),
    lambda inner: st.one_of(
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.builds(Binary, st.just("**"), inner, st.integers(-2, 3).map(Number)),
        st.builds(
            Function, st.sampled_from(["sin", "exp", "log", "sqrt", "abs"]), st.tuples(inner)
        ),
    ),
    max_leaves=5,
)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(trees)
def test_values_never_change(tree):
    rng = np.random.default_rng(7)
    data = {"x": rng.normal(0, 2, 200), "y": rng.normal(0, 2, 200)}
    before, after = tree.evaluate(data), simplify(tree, seconds=1.0).evaluate(data)
    assert (np.isfinite(before) <= np.isfinite(after)).all()
    usable = np.isfinite(before) & (np.abs(before) < 1e6)
    before, after = before[usable], after[usable]
    assert (np.abs(after - before) <= 1e-7 * np.maximum(np.abs(before), 1e-3)).all()


X = np.linspace(0.5, 5, 80)


@pytest.mark.parametrize(
    ("text", "values", "snapped"),
    [
        ("param('a')*x**param('b')", 2 * X**1.5, {"a": "2", "b": "3/2"}),
        (
            "param('a')*sin(param('b')*x) + param('c')",
            np.pi * np.sin(2 * np.pi * X) + 1 / 3,
            {"a": "pi", "b": "2*pi", "c": "1/3"},
        ),
        (
            "param('a')*exp(param('k')*x)",
            np.sqrt(2) * np.exp(-X / 4) + 0.001 * np.random.default_rng(0).normal(size=80),
            {"a": "sqrt(2)", "k": "-1/4"},
        ),
        ("param('a')*x + param('b')", np.e / 2 * X - 7, {"a": "e/2", "b": "-7"}),
        ("param('a')*x", 1.2345 * X, {}),
        ("param('G')*x", 6.674e-11 * X, {}),
        ("3.0001*x**1.99999", 3 * X**2, {"3.0001": "3", "1.99999": "2"}),
    ],
)
def test_snapping(text, values, snapped):
    found = snap_constants(parse(text), values, {"x": X})
    assert found.snapped == snapped
    rows = found.expression.evaluate({"x": X})
    assert np.sum((rows - values) ** 2) == pytest.approx(found.loss, abs=1e-20)
    assert found.loss <= found.loss_before * 1.2 + 1e-22 * np.sum(values**2)


def test_snapping_keeps_to_its_tolerance():
    noise = 0.02 * np.random.default_rng(1).normal(size=80)
    formula, values = parse("param('a')*x + param('b')"), 2.003 * X + 1.234 + noise
    strict = snap_constants(formula, values, {"x": X}, tolerance=0)
    assert strict.snapped == {}
    assert strict.loss == strict.loss_before
    loose = snap_constants(formula, values, {"x": X}, tolerance=0.5)
    assert loose.snapped["a"] == "2"
    assert strict.loss < loose.loss <= 1.5 * loose.loss_before
    # What is left was fitted again.
    best = np.mean(values - 2 * X)
    if "b" not in loose.snapped:
        assert loose.expression.parameter_values()["b"] == pytest.approx(best)


def test_snapping_refuses_what_cannot_be_fitted():
    with pytest.raises(FitError, match="nothing to snap"):
        snap_constants(parse("param('a')*log(-x)"), X, {"x": X})
    with pytest.raises(ExpressionError, match="tolerance"):
        snap_constants(parse("param('a')*x"), X, {"x": X}, tolerance=-1)


def test_sympy_source_builds_the_same_expression():
    text = (
        "param('a', value=0.30000000000000004)*exp(-`E`*x) + 3/4*`lambda`*pi + e**x"
        " + grouped_param(`S`, name='x') + `Symbol`*`petal length (cm)`**2 + 1/(7*`N`)"
    )
    formula = parse(text)
    scope: dict[str, object] = {}
    exec(to_sympy_source(formula), scope)  # noqa: S102
    built = scope["formula"]
    assert sorted(map(str, built.free_symbols)) == [
        "E", "N", "Symbol", "lambda", "petal length (cm)", "x", "x_2",
    ]  # fmt: skip
    values = {str(s): 0.1 * k + 0.3 for k, s in enumerate(sorted(built.free_symbols, key=str))}
    data = {name: [value] for name, value in values.items() if name != "x_2"} | {"S": [1]}
    mine = formula.bind_parameters({"x": {1: values["x_2"]}}).evaluate(data)[0]
    theirs = float(built.subs({s: values[str(s)] for s in built.free_symbols}))
    assert theirs == pytest.approx(mine, rel=1e-14)


def test_sympy_source_refuses_structures():
    with pytest.raises(ExpressionError, match="no SymPy source"):
        to_sympy_source(parse("sum[j](A[i, j], x[j])"))


def test_a_question_that_fails_does_not_end_the_process():
    ask_sympy("simplify", "x")
    before = worker_pid()
    deep = "exp(" * 150 + "x" + ")" * 150
    assert "too deep" in ask_sympy("simplify", deep).why
    assert worker_pid() == before

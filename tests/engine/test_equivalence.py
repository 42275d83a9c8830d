from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from srh.engine import Binary, Function, Number, Symbol, Unary, equivalent, from_sympy, parse
from srh.engine.operators import FUNCTIONS, OPERATORS
from srh.engine.symbolic import ask_sympy, close_worker, worker_pid
from srh.errors import ExpressionError
from support import is_running

POSITIVE = {"x": np.linspace(1, 5, 40), "y": np.linspace(3, 2, 40)}


@pytest.mark.parametrize(
    ("a", "b", "decided"),
    [
        ("sin(x)**2 + cos(x)**2", "1", "symbolic"),
        ("(x + 1)**2", "x**2 + 2*x + 1", "symbolic"),
        ("sigmoid(x)", "(1 + tanh(x/2))/2", "symbolic"),
        ("abs(x)", "sqrt(x**2)", "symbolic"),
        ("log(x)/log(10)", "log10(x)", "symbolic"),
        ("hypot(x, y)**2", "x**2 + y**2", "symbolic"),
        ("x/x", "1", "symbolic"),
        ("2*3*x", "6*x", "symbolic"),
        ("0.1*x + 0.2*x", "0.3*x", "numeric"),
        ("param('a')*x", "x*param('a', value=2)", "symbolic"),
        ("`E`*I + `S`*`N`", "`S`*`N` + I*`E`", "symbolic"),
        ("beta**2 - gamma**2", "(beta + gamma)*(beta - gamma)", "symbolic"),
        ("`lambda`*zeta/`lambda`", "zeta", "symbolic"),
    ],
)
def test_equal_formulas(a, b, decided):
    found = equivalent(parse(a), parse(b))
    assert (found.verdict, found.decided_by) == ("yes", decided), found.why
    assert found.on_data is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("x", "x + 1e-10*y"),
        ("sin(x)", "x"),
        ("param('x')*y", "x*y"),
        ("param('a')*x", "param('b')*x"),
        ("`E`", "e*1"),
        ("x**2", "abs(x)**2.0000001"),
        ("sqrt(x)**2", "x"),
        ("exp(log(x))", "x"),
    ],
)
def test_different_formulas_come_with_a_point(a, b):
    a, b = parse(a), parse(b)
    found = equivalent(a, b)
    assert (found.verdict, found.decided_by) == ("no", "numeric")
    names = [f"{leaf}" for leaf in found.example]
    assert names
    if not a.parameters:
        values = [side.evaluate({k: [v] for k, v in found.example.items()})[0] for side in (a, b)]
        assert values[0] != values[1]


@pytest.mark.parametrize(("a", "b"), [("sqrt(x**2)", "x"), ("log(x*y)", "log(x) + log(y)")])
def test_partial_domains_are_told_apart_from_the_data(a, b):
    found = equivalent(parse(a), parse(b), POSITIVE)
    assert (found.verdict, found.on_data) == ("no", "yes")
    assert "beyond the data's domain" in found.why
    assert min(found.example.values()) < 0


def test_data_decide_first():
    found = equivalent(parse("abs(x)"), parse("-x"), POSITIVE)
    assert (found.verdict, found.on_data) == ("no", "no")
    assert 1 <= found.example["x"] <= 5


def test_parameters_as_values():
    a, b = parse("param('a', value=2)*x"), parse("2*x")
    assert equivalent(a, b).verdict == "no"
    assert equivalent(a, b, parameters="values").verdict == "yes"
    near = parse("param('a', value=2.0000001)*x")
    assert equivalent(near, b, parameters="values").verdict == "no"
    assert equivalent(near, b, parameters="values", tolerance=1e-6).verdict == "yes"


def test_what_nobody_can_see_is_undecided():
    assert equivalent(parse("x + 1e-34*y"), parse("x")).verdict == "undecided"
    assert equivalent(parse("sqrt(-1 - x**2)"), parse("sqrt(-2 - x**2)")).verdict == "undecided"
    assert equivalent(parse("9**9**9*x"), parse("2*9**9**9*x")).verdict == "undecided"


def test_structured_parts():
    edges = np.random.default_rng(0).integers(0, 9, (30, 2))
    data = {"A": edges, "x": np.linspace(0.3, 2, 9)}
    message = parse("sum[j](A[i, j], x[j]*2)")
    assert equivalent(message + parse("x[i]"), parse("x[i]") + message).verdict == "yes"
    renamed = parse("2*sum[k](A[i, k], x[k])")
    assert equivalent(message, renamed).verdict == "undecided"
    assert equivalent(message, renamed, data).verdict == "yes"
    other = parse("2*sum[k](A[k, i], x[k])")
    assert equivalent(message, other, data).verdict == "no"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("exp(exp(exp(exp(x*y))))", "exp(exp(exp(exp(y*x))))"),
        ("(x + 1)**2000", "(x + 1)**1999*(x + 1)"),
        (
            " + ".join(f"sin({k}*x)" for k in range(1, 240)),
            " + ".join(f"sin({k}*x)" for k in range(239, 0, -1)),
        ),
        ("(" * 150 + "x" + " + 1)*y" * 150, "y*(" * 150 + "1 + x" + ")" * 149 + " + 1)"),
    ],
)
def test_large_and_steep_formulas_end_in_time(a, b):
    started = time.monotonic()
    equivalent(parse(a), parse(b), seconds=1.0)
    assert time.monotonic() - started < 20


def test_bad_arguments():
    with pytest.raises(ExpressionError, match="only expressions"):
        equivalent("x", parse("x"))
    with pytest.raises(ExpressionError, match="'names' or 'values'"):
        equivalent(parse("x"), parse("y"), parameters="none")
    with pytest.raises(ExpressionError, match="no rows"):
        equivalent(parse("x"), parse("2*x"), {"x": np.empty(0)})


HARD = " * ".join(f"(x{k} + x{k + 1}**2 + sin(x{k}))**9" for k in range(5))


def test_the_process_is_kept_and_replaced_when_it_hangs():
    ask_sympy("difference", "x", "x")
    kept = worker_pid()
    started = time.monotonic()
    assert ask_sympy("difference", "2*x", "x + x").texts == ("0",)
    assert time.monotonic() - started < 0.5
    assert worker_pid() == kept
    answer = ask_sympy("simplify", HARD, seconds=0.3)
    assert not answer.complete
    assert "too long" in answer.why
    assert not os.path.exists(f"/proc/{kept}"), "neither running nor a zombie"  # noqa: PTH110
    assert ask_sympy("difference", "2*x", "x + x").texts == ("0",)


def test_a_process_that_was_killed_is_replaced():
    ask_sympy("difference", "x", "x")
    os.kill(worker_pid(), 9)
    time.sleep(0.2)
    assert ask_sympy("difference", "2*x", "x + x").texts == ("0",)


def test_it_ends_with_its_owner_even_while_it_works():
    code = (
        "import threading, time\n"
        "from srh.engine.symbolic import ask_sympy, worker_pid\n"
        "ask_sympy('difference', 'x', 'x')\n"
        "print(worker_pid(), flush=True)\n"
        f"ask_sympy('simplify', '{HARD}', seconds=100)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as owner:
        worker = int(owner.stdout.readline())
        time.sleep(0.3)
        assert is_running(worker)
        owner.kill()
    deadline = time.monotonic() + 10
    while is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(worker)


def test_threads_and_forks_share_without_mixing():
    found = {}

    def ask(number):
        found[number] = ask_sympy("difference", f"{number}*x", "0").texts

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(2, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: (f"{number}*x",) for number in range(2, 10)}
    code = (
        "import os\n"
        "from srh.engine.symbolic import ask_sympy, worker_pid\n"
        "ask_sympy('difference', 'x', 'x')\n"
        "mine = worker_pid()\n"
        "child = os.fork()\n"
        "assert ask_sympy('difference', 'x', '2*x').texts == ('-x',)\n"
        "assert (worker_pid() == mine) == (child != 0)\n"
        "if child: assert os.waitpid(child, 0)[1] == 0\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_nothing_here_imports_sympy():
    code = (
        "import sys, srh.engine\n"
        "assert 'subprocess' not in sys.modules or 'srh.engine.symbolic' not in sys.modules\n"
        "from srh.engine import equivalent, parse, simplify\n"
        "equivalent(parse('x + y'), parse('y + x')); simplify(parse('x + x'))\n"
        "assert 'sympy' not in sys.modules and 'scipy' not in sys.modules\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_closing_leaves_nothing():
    ask_sympy("difference", "x", "x")
    pid = worker_pid()
    close_worker()
    assert worker_pid() is None
    assert not os.path.exists(f"/proc/{pid}")  # noqa: PTH110


leaves = st.one_of(
    st.sampled_from(["x", "y", "E", "lambda", "a b"]).map(Symbol),
    st.integers(2, 5).map(Number),
)
unary = sorted(name for name in FUNCTIONS if OPERATORS[name].arity == 1)
binary = sorted(name for name in FUNCTIONS if OPERATORS[name].arity == 2)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.builds(Unary, st.just("-"), inner),
        st.builds(Binary, st.sampled_from(["+", "-", "*", "/"]), inner, inner),
        st.builds(Binary, st.just("**"), leaves, st.integers(-3, 3).map(Number)),
        st.builds(Function, st.sampled_from(unary), st.tuples(inner)),
        st.builds(Function, st.sampled_from(binary), st.tuples(inner, inner)),
    ),
    max_leaves=4,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(trees)
def test_sympy_and_back_keeps_the_value(tree):
    point = {name: [0.37 + 0.21 * k] for k, name in enumerate(["x", "y", "E", "lambda", "a b"])}
    try:
        back = from_sympy(tree.to_sympy())
    except ExpressionError:
        return  # infinite, imaginary: what has no counterpart
    before, after = tree.evaluate(point)[0], back.evaluate(point)[0]
    assert parse(str(back)) == back
    if np.isfinite(before) and 1e-3 < abs(before) < 1e3:
        assert after == pytest.approx(before, rel=1e-6)


@pytest.mark.parametrize(
    "text",
    ["a - b/c", "x**2/3 + 1", "-x/(y + 1)", "exp(-x/2)", "sqrt(x)/y", "y*log10(x)", "2*x - 3*y"],
)
def test_back_from_sympy_reads_as_one_would_write(text):
    assert str(from_sympy(parse(text).to_sympy())) == text


@pytest.mark.parametrize(
    "form",
    [
        sympy.I,
        sympy.oo,
        sympy.nan,
        sympy.gamma(sympy.Symbol("x")),
        sympy.Heaviside(sympy.Symbol("x")),
    ],
)
def test_what_has_no_counterpart_is_refused(form):
    with pytest.raises(ExpressionError, match="no counterpart"):
        from_sympy(form)

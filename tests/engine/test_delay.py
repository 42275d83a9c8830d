"""Delays: against NumPy's interpolation, outside the history, answered by somebody else, fitted."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from srh.engine import Symbol, delay, parse
from srh.engine.binding import bind
from srh.engine.structured_data import read_source
from srh.engine.structured_program import structured_program
from srh.errors import ExpressionError, MissingVariableError

TIME = np.linspace(0, 10, 201)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.floats(0.01, 3), min_size=0, max_size=12),
    st.floats(-3, 20),
    st.integers(0, 2**32 - 1),
)
def test_delays_equal_numpys_interpolation(gaps, lag, seed):
    time = np.cumsum([0.5, *gaps])
    values = np.random.default_rng(seed).normal(size=len(time))
    ours = parse("delay(x, d)").evaluate({"x": values, "d": lag}, time=time)
    theirs = np.interp(time - lag, time, values, left=np.nan, right=np.nan)
    assert np.allclose(ours, theirs, 1e-9, 1e-12, equal_nan=True)


def test_entries_that_are_hit_are_exact_even_beside_nan():
    x = np.array([1.0, np.nan, 3.0, 0.1, 0.7])
    ours = parse("delay(x, 1)").evaluate({"x": x})
    assert np.array_equal(ours, [np.nan, 1.0, np.nan, 3.0, 0.1], equal_nan=True)
    assert np.array_equal(parse("delay(x, 0)").evaluate({"x": x}), x, equal_nan=True)


def test_without_times_a_delay_counts_entries():
    x = np.arange(5.0) ** 2
    assert np.array_equal(
        parse("x - delay(x, 2)").evaluate({"x": x}), [np.nan, np.nan, 4, 8, 12], equal_nan=True
    )


def test_the_time_may_be_a_column_and_the_lag_a_formula():
    x = np.sin(TIME)
    data = {"x": x, "t": TIME, "a": 0.25}
    ours = parse("delay(x**2, a + a)").evaluate(data, time="t")
    assert np.allclose(ours, np.interp(TIME - 0.5, TIME, x**2, left=np.nan), equal_nan=True)
    varying = parse("delay(x, t/2)").evaluate(data, time="t")
    assert np.allclose(varying, np.interp(TIME / 2, TIME, x))


def test_delays_within_messages():
    rng = np.random.default_rng(0)
    edges, x = rng.integers(0, 4, (9, 2)), rng.normal(size=(201, 4))
    tau = rng.uniform(0, 1, 9)
    formula = parse("sum[j](A[i, j], delay(x[j], tau[i, j]) - x[i])")
    ours = formula.evaluate({"A": edges, "x": x, "tau": tau}, time=TIME)
    expected = np.zeros((201, 4))
    for (i, j), lag in zip(edges, tau, strict=True):
        expected[:, i] += np.interp(TIME - lag, TIME, x[:, j], left=np.nan) - x[:, i]
    assert np.allclose(ours, expected, equal_nan=True)


def test_a_resolver_answers_instead_of_the_data():
    asked = []

    def resolver(delayed, lag, nodes):
        asked.append((str(delayed), np.shape(lag), {k: v.tolist() for k, v in nodes.items()}))
        return 10.0 * np.asarray(lag)

    now = {"x": np.float64(1.0), "d": 0.5}
    assert parse("x + delay(x, d)").evaluate(now, delay_resolver=resolver) == 6.0
    assert asked == [("x", (), {})]
    asked.clear()
    state = {"x": np.array([1.0, 2.0]), "A": np.array([[0, 1], [1, 0], [1, 1]])}
    ours = parse("sum[j](A[i, j], delay(x[j], 0.1)*x[i])").evaluate(state, delay_resolver=resolver)
    assert ours.tolist() == [1.0, 4.0]
    assert asked[0][0] == "x[j]"
    assert asked[0][2] in ({"j": [0, 1]}, {"i": [0, 1, 1], "j": [1, 0, 1]})


@pytest.mark.parametrize(
    ("text", "data", "options", "message"),
    [
        ("delay(x, 1)", {"x": 2.0}, {}, "needs a history"),
        ("delay(x[i], 1)", {"x": [1.0, 2.0]}, {}, "needs a history"),
        ("delay(x, 1)", {"x": [1.0, 2.0]}, {"time": [0.0, 1.0, 2.0]}, "time has 3 entries"),
        ("delay(x, 1)", {"x": [1.0, 2.0]}, {"time": [1.0, 0.0]}, "increasing"),
        ("delay(x, 1)", {"x": [1.0, 2.0]}, {"time": [[0.0, 1.0]]}, "increasing"),
    ],
)
def test_what_is_refused(text, data, options, message):
    with pytest.raises(ExpressionError, match=message):
        parse(text).evaluate(data, **options)
    with pytest.raises(MissingVariableError, match="'tt'"):
        parse("delay(x, 1)").evaluate({"x": [1.0, 2.0]}, time="tt")


def test_derivatives_by_lag_and_by_what_is_delayed():
    data = {"x": np.sin(TIME)}
    formula = parse("delay(param('a', value=2)*x**2, param('d', value=0.33))")
    program = structured_program(formula)
    table = bind(program.code, read_source(data, time=TIME), {})
    _, jacobian = program.value_and_jacobian(table, [2.0, 0.33])
    for k, step in enumerate(np.eye(2) * 1e-6):
        up, down = (program.evaluate(table, np.array([2.0, 0.33]) + s * step) for s in (1, -1))
        assert np.allclose(jacobian[:, k], (up - down) / 2e-6, atol=1e-6, equal_nan=True)


def test_a_lag_is_fitted_where_the_history_reaches():
    x = np.sin(2 * TIME) + 0.3 * TIME
    target = 1.5 * np.interp(TIME - 0.7, TIME, x)
    formula = parse("param('a')*delay(x, param('tau'))")
    result = formula.fit(target, {"x": x}, time=TIME, weights=(TIME > 2).astype(float))
    assert result.success, result.message
    assert result.parameters == pytest.approx({"a": 1.5, "tau": 0.7}, rel=1e-6)


def test_delays_are_made_of_expressions_and_numbers():
    assert delay(Symbol("x"), 0.5) == parse("delay(x, 0.5)")
    assert str(delay(Symbol("x"), 0.5) * 2) == "delay(x, 0.5)*2"

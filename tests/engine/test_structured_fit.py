"""Structured formulas fitted: exact derivatives, parameters in messages and in groups."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from brute_force import structured, worlds
from srh.engine import Number, Parameter, grouped_param, parse
from srh.engine.binding import bind
from srh.engine.structured_data import read_source
from srh.engine.structured_program import structured_program
from srh.errors import ExpressionError, FitError, MissingVariableError


def network(n=60, edges=300, seed=0, samples=()):
    rng = np.random.default_rng(seed)
    return {
        "A": rng.integers(0, n, (edges, 2)),
        "T": rng.integers(0, n, (edges, 3)),
        "x": rng.uniform(-3, 3, (*samples, n)),
        "w": rng.uniform(0.5, 2, edges),
        "omega": rng.normal(size=n),
        "kind": np.array(["red", "green", "blue"])[rng.integers(0, 3, n)],
    }


def jacobian_of(expression, data, n, values):
    program = structured_program(expression)
    table = bind(program.code, read_source(data, None, n), {})
    return program, table, program.value_and_jacobian(table, values)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(worlds(), st.sampled_from([(), ("i",)]), st.data())
def test_derivatives_equal_finite_differences(world, free, draw):
    data, n, _ = world
    # The extremes have kinks; they are tested where there are none.
    expression = draw.draw(structured(free, parameters=True, ops=("sum", "mean", "prod")))
    around = parse(
        "x[i] - y[i]*param('a', value=0.7)" if free else "sum[k](param('b', value=-1.2)*x[k])"
    )
    expression = draw.draw(st.sampled_from([expression + around, expression * around]))
    names = [leaf.name for leaf in expression.parameters]
    values = np.array([leaf.value for leaf in expression.parameters])
    used = {name: data[name] for name in (*expression.variables, *expression.relations)}
    program, table, (value, jacobian) = jacobian_of(expression, used, n, values)
    assert np.array_equal(value, program.evaluate(table, values), equal_nan=True)
    for k in range(len(names)):
        step = 1e-5 * np.eye(len(names))[k]
        above, below = (program.evaluate(table, values + s * step) for s in (1, -1))
        with np.errstate(all="ignore"):  # products of products may overflow
            slope = (above - below) / 2e-5
            scale = 1.0 + np.abs(slope) + np.abs(value)
            off = np.abs(jacobian[:, k] - slope) / scale
        assert np.all((off <= 1e-4) | ~np.isfinite(scale))


@pytest.mark.parametrize("op", ["max", "min", "prod", "mean", "sum"])
def test_derivatives_of_reductions(op):
    data = network()
    expression = parse(
        f"{op}[j](A[i, j], param('a', value=1.3)*x[j] + param('b', value=0.4)*x[i]**2)"
    )
    _, table, (_, jacobian) = jacobian_of(expression, data, 60, [1.3, 0.4])
    program = structured_program(expression)
    up, down = np.array([program.evaluate(table, [1.3 + s, 0.4]) for s in (1e-7, -1e-7)])
    slope = (up - down) / 2e-7
    filled = np.bincount(data["A"][:, 0], minlength=60) > 0
    assert np.allclose(jacobian[filled, 0], slope[filled], rtol=1e-5, atol=1e-5)


def test_the_product_of_others_survives_zeros():
    data = {"A": np.array([[0, 0], [0, 1], [1, 1], [1, 2], [1, 2]]), "x": np.array([2.0, 0.0, 0.0])}
    expression = parse("prod[j](A[i, j], param('a', value=1)*x[j] + param('b', value=0))")
    _, _, (value, jacobian) = jacobian_of(expression, data, 3, [1.0, 0.0])
    assert value.tolist() == [0.0, 0.0, 1.0]
    assert jacobian.tolist() == [[0.0, 2.0], [0.0, 0.0], [0.0, 0.0]]


FITS = {
    "coupling": ("omega + {K}*sum[j](A[i, j], sin(x[j] - x[i]))", {"K": 0.7}),
    "coupling inside": ("omega + sum[j](A[i, j], {K}*w[i, j]*sin(x[j] - x[i]))", {"K": -2.5}),
    "two linear": ("{a}*x[i] + {b}*mean[j](A[i, j], x[j] - x[i])", {"a": -0.5, "b": 3.0}),
    "phase lag": ("{K}*sum[j](A[i, j], sin(x[j] - x[i] - {p}))", {"K": 2.0, "p": 0.4}),
    "steepness": ("{K}*sum[j](A[i, j], tanh({b}*(x[j] - x[i])))", {"K": 2.0, "b": 0.35}),
    "frequency": ("{K}*sum[j](A[i, j], sin({b}*(x[j] - x[i])))", {"K": 1.0, "b": 1.7}),
    "exponent": ("{a}*sum[j](A[i, j], abs(x[j])**{p})", {"a": 0.5, "p": 1.3}),
    "decay": ("sum[j](A[i, j], {a}*exp(-{k}*(x[j] - x[i])**2))", {"a": 1.5, "k": 0.8}),
    "wave outside": ("{a}*sin({b}*x[i]) + {c}*sum[j](A[i, j], x[j])", {"a": 2, "b": 3.1, "c": 0.1}),
    "hypergraph": ("{a}*sum[j, k](T[i, j, k], tanh({b}*x[j]*x[k]))", {"a": 1.5, "b": 0.4}),
    "gathered": ("{a}*gather(A[i, j], exp(-{k}*x[i]) + x[j])", {"a": 0.5, "k": 0.6}),
    "sugar": ("{a}*aggr(A, targ(x)*sour(x)*w) + {b}*x", {"a": 0.25, "b": -1.0}),
    "nested": ("sum[j](A[i, j], tanh({b}*sum[k](A[j, k], x[k])))", {"b": 0.2}),
    "mean field": ("{a}*x[i] + {b}*tanh({c}*mean[k](x[k]))*x[i]**2", {"a": 1.0}),
}


def texts(name):
    form, truth = FITS[name]
    holes = {key: f"param('{key}')" for key in "abcKkp"}
    known = {key: f"{value!r}" for key, value in truth.items()}
    return form.format(**holes), form.format(**(dict.fromkeys("abc", "1.0") | known)), truth


def ahead(parameters):
    """Return the amplitude and phase of a wave so that the former is positive: the same wave."""
    turned = np.pi if parameters["K"] < 0 else 0.0
    phase = (parameters["p"] + turned + np.pi) % (2 * np.pi) - np.pi
    return {"K": abs(parameters["K"]), "p": phase}


@pytest.mark.parametrize("samples", [(), (3,)])
@pytest.mark.parametrize("name", [name for name in FITS if name != "mean field"])
def test_fits_find_the_constants(name, samples):
    formula, truth_text, truth = texts(name)
    data = network(samples=samples)
    if "mean[j]" in formula:  # a mean of nothing is undefined
        data["A"] = np.concatenate([data["A"], np.stack([np.arange(60), np.arange(60)[::-1]], 1)])
        data["w"] = np.ones(len(data["A"]))
    target = parse(truth_text).evaluate(data)
    result = parse(formula).fit(target, data)
    assert result.success, result.message
    found = ahead(result.parameters) if name == "phase lag" else result.parameters
    for key, value in truth.items():
        assert found[key] == pytest.approx(value, rel=1e-6)
    assert np.allclose(result.evaluate(data), target, 1e-9, 1e-9)
    again = parse(formula).fit(target, data)
    assert again.parameters == result.parameters


def test_the_coupling_of_oscillators_takes_few_evaluations():
    data = network(1000, 20_000)
    formula = parse("omega + param('K')*sum[j](A[i, j], sin(x[j] - x[i]))")
    target = formula.bind_parameters({"K": 0.3}).evaluate(data)
    result = formula.fit(target, data)
    assert result.success
    assert result.n_evaluations <= 4
    assert result.parameters["K"] == pytest.approx(0.3, rel=1e-12)


@pytest.mark.parametrize(
    ("group", "form"),
    [
        ("grouped_param(kind, name='k')[j]", "sum[j](A[i, j], {}*sin(x[j] - x[i]))"),
        ("grouped_param(kind, name='k')[j]", "sum[j](A[i, j], tanh({}*(x[j] - x[i])))"),
        ("grouped_param(kind, name='k')", "{}*x[i] + 0.5*sum[j](A[i, j], x[j])"),
        ("targ(grouped_param(kind, name='k'))", "aggr(A, {}*sour(x))"),
    ],
)
def test_grouped_parameters_are_fitted_together(group, form):
    data = network()
    formula = parse(form.format(group))
    table = {"red": 1.0, "green": -0.6, "blue": 2.0}
    target = formula.bind_parameters({"k": table}).evaluate(data)
    result = formula.fit(target, data)
    assert result.success, result.message
    assert result.parameters["k"] == pytest.approx(table, rel=1e-6)
    assert set(result.standard_errors["k"]) == set(table)
    assert str(result.expression).count("grouped_param") == 1
    assert np.allclose(result.evaluate(data), target)


@pytest.mark.slow
def test_standard_errors_hold_the_truth():
    data = network(400, 2000, seed=3)
    formula = parse("omega + param('K')*sum[j](A[i, j], sin(x[j] - x[i] - param('p')))")
    clean = formula.bind_parameters({"K": 0.5, "p": 0.3}).evaluate(data)
    off = []
    for seed in range(20):
        noise = np.random.default_rng(seed).normal(0, 0.2, clean.shape)
        result = formula.fit(clean + noise, data)
        found = ahead(result.parameters)
        for name, truth in (("K", 0.5), ("p", 0.3)):
            off.append((found[name] - truth) / result.standard_errors[name])
    assert 0.7 < np.std(off) < 1.4


def test_weights_bounds_and_targets_of_more_samples():
    data = network(edges=120)
    formula = parse("param('a')*mean[j](A[i, j], x[j]) + param('b')")
    target = formula.bind_parameters({"a": 2.0, "b": 1.0}).evaluate(data)
    isolated = np.isnan(target)
    assert isolated.any()
    with pytest.raises(FitError, match="not finite"):
        formula.fit(target, data)
    weights = np.where(isolated, 0.0, 1.0)
    target = np.where(isolated, 0.0, target)
    result = formula.fit(target, data, weights=weights)
    assert result.parameters == pytest.approx({"a": 2.0, "b": 1.0})
    assert not formula.fit(target, data).success  # the formula itself is undefined there
    bounded = formula.fit(target, data, weights=weights, bounds={"a": (None, 1.5)})
    assert bounded.parameters["a"] == pytest.approx(1.5)
    repeated = formula.fit(np.stack([target, target + 1]), data, weights=np.stack([weights] * 2))
    assert repeated.parameters == pytest.approx({"a": 2.0, "b": 1.5})


def test_bounds_of_a_grouped_parameter_hold_for_every_group():
    data = network()
    formula = parse("sum[j](A[i, j], grouped_param(kind, name='k')[j]*x[j])")
    table = {"red": 1.0, "green": -0.6, "blue": 2.0}
    target = formula.bind_parameters({"k": table}).evaluate(data)
    fitted = formula.fit(target, data, bounds={"k": (0, 1.5)}).parameters["k"]
    assert min(fitted.values()) >= 0
    assert max(fitted.values()) <= 1.5
    with pytest.raises(ExpressionError, match=r"bounds for 'knd'"):
        formula.fit(target, data, bounds={"knd": (0, 1)})


def test_a_target_may_be_a_formula_and_must_fit():
    data = network()
    formula = parse("param('a')*sum[j](A[i, j], x[j])")
    result = formula.fit(parse("2*sum[j](A[i, j], x[j])"), data)
    assert result.parameters["a"] == pytest.approx(2)
    with pytest.raises(ExpressionError, match="the target has 59 values, the data 60 rows"):
        formula.fit(np.zeros(59), data)
    with pytest.raises(MissingVariableError, match="relation 'B'"):
        parse("param('a')*sum[j](B[i, j], x[j])").fit(np.zeros(60), data)


def test_a_label_of_its_own_everywhere_is_refused():
    data = network() | {"own": np.arange(60)}
    formula = parse("sum[j](A[i, j], grouped_param(own, name='k')[j]*x[j])")
    with pytest.raises(ExpressionError, match="of its own"):
        formula.fit(np.zeros(60), data)


def test_names_of_single_groups_never_meet_other_parameters():
    data = network()
    formula = (
        grouped_param("kind", "k") * parse("x[i]")
        + Parameter("k of 'red'")
        + Number(0) * parse("x[i]")
    )
    table = {"red": 1.0, "green": -0.6, "blue": 2.0}
    target = formula.bind_parameters({"k": table, "k of 'red'": 0.5}).evaluate(data)
    result = formula.fit(target, data)
    assert result.parameters["k"] == pytest.approx(table)
    assert result.parameters["k of 'red'"] == pytest.approx(0.5)

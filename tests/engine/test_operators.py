from __future__ import annotations

import inspect

import numpy as np
import pytest
import sympy

from srh.engine import OPERATORS, Function, Symbol, parse
from srh.engine.operators import ALIASES, BINARY_OPERATORS, FUNCTIONS

# Where an operator is smooth and defined, per argument.
DOMAINS = {
    "arcsin": [(-0.9, 0.9)],
    "arccos": [(-0.9, 0.9)],
    "log": [(0.1, 5.0)],
    "log10": [(0.1, 5.0)],
    "sqrt": [(0.1, 5.0)],
    "**": [(0.1, 4.0), (-3.0, 3.0)],
    "/": [(-3.0, 3.0), (0.5, 4.0)],
    "tan": [(-1.4, 1.4)],
    "sec": [(-1.4, 1.4)],
    "csc": [(0.2, 2.9)],
    "cot": [(0.2, 2.9)],
    "inv": [(0.2, 4.0)],
    "abs": [(0.1, 4.0)],
    "sign": [(0.1, 4.0)],
    "min": [(-3.0, -1.0), (0.0, 2.0)],
    "max": [(-3.0, -1.0), (0.0, 2.0)],
}


def sample(name: str, seed: int = 1) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    arity = OPERATORS[name].arity
    domains = DOMAINS.get(name, [(-2.5, 2.5)] * arity)
    return [generator.uniform(low, high, 200) for low, high in domains]


def test_the_table_has_every_operator_of_the_language():
    words = (
        "sin cos tan sinh cosh tanh arcsin arccos arctan exp log log10 sqrt abs sigmoid sign "
        "sec sech csc cot inv min max arctan2 hypot"
    )
    assert set(words.split()) == FUNCTIONS
    assert {"+", "-", "*", "/", "**"} == BINARY_OPERATORS
    assert set(OPERATORS) == FUNCTIONS | BINARY_OPERATORS | {"neg"}
    assert set(ALIASES.values()) <= FUNCTIONS
    assert not set(ALIASES) & FUNCTIONS
    assert all(name == row.name for name, row in OPERATORS.items())


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_out_is_filled_and_returned_and_arguments_stay(name):
    row = OPERATORS[name]
    arrays = sample(name)
    before = [array.copy() for array in arrays]
    out = np.full(200, 7.0)
    result = row.numpy(*arrays, out=out)
    assert result is out
    np.testing.assert_array_equal(out, row.numpy(*arrays))
    positional = np.full(200, 7.0)
    assert row.numpy(*arrays, positional) is positional
    np.testing.assert_array_equal(out, positional)
    for array, same in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, same)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_out_may_be_the_first_argument(name):
    row = OPERATORS[name]
    arrays = sample(name)
    expected = row.numpy(*arrays)
    row.numpy(*arrays, out=arrays[0])
    np.testing.assert_array_equal(arrays[0], expected)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_partials_equal_central_differences(name):
    row = OPERATORS[name]
    arrays = sample(name)
    assert len(row.partials) == row.arity
    for index, partial in enumerate(row.partials):
        step = 1e-6
        sides = []
        for sign in (1, -1):
            moved = [array.copy() for array in arrays]
            moved[index] += sign * step
            sides.append(row.numpy(*moved))
        numeric = (sides[0] - sides[1]) / (2 * step)
        exact = np.broadcast_to(partial(*arrays, value=row.numpy(*arrays)), numeric.shape)
        np.testing.assert_allclose(exact, numeric, rtol=2e-6, atol=2e-7)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_sympy_means_the_same_function(name):
    row = OPERATORS[name]
    symbols = [sympy.Symbol(f"x{index}", real=True) for index in range(row.arity)]
    how = row.sympy
    form = getattr(sympy, how)(*symbols) if isinstance(how, str) else how(sympy, *symbols)
    arrays = [array[:20] for array in sample(name)]
    theirs = [
        float(form.subs(dict(zip(symbols, row_values, strict=True))))
        for row_values in zip(*arrays, strict=True)
    ]
    np.testing.assert_allclose(row.numpy(*arrays), theirs, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_numpy_source_means_the_same_function(name):
    row = OPERATORS[name]
    arrays = sample(name)
    source = row.source.format(*"ab"[: row.arity])
    names = dict(zip("ab", arrays, strict=False))
    result = eval(f"2.0**{source}", {"np": np}, names)  # noqa: S307  our own table
    np.testing.assert_allclose(result, 2.0 ** row.numpy(*arrays), rtol=1e-13)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_latex_shows_every_argument_once(name):
    row = OPERATORS[name]
    symbols = [Symbol(letter) for letter in "QW"[: row.arity]]
    latex = Function(name, symbols).to_latex()
    assert latex.count("{") == latex.count("}")
    assert r"\left" not in latex or latex.count(r"\left") == latex.count(r"\right")
    for letter in "QW"[: row.arity]:
        assert latex.count(letter) == 1


def test_sigmoid_is_accurate_far_out_on_both_sides():
    with np.errstate(all="ignore"):
        value = OPERATORS["sigmoid"].numpy(np.array([-1000.0, -700.0, -40.0, 0.0, 40.0, 1000.0]))
    np.testing.assert_allclose(value, [0.0, np.exp(-700.0), np.exp(-40.0), 0.5, 1.0, 1.0])


def slopes(name, *arrays, value):
    return [partial(*arrays, value=value) for partial in OPERATORS[name].partials]


def test_power_has_the_partials_of_its_limits_at_zero():
    with np.errstate(all="ignore"):
        base, exponent = np.array([0.0, 0.0, -2.0]), np.array([2.0, 0.0, 3.0])
        value = np.power(base, exponent)
        by_base, by_exponent = slopes("**", base, exponent, value=value)
    np.testing.assert_array_equal(by_base, [0.0, 0.0, 12.0])
    assert by_exponent[0] == 0.0
    assert np.isnan(by_exponent[2])


def test_hypot_and_arctan2_partials_survive_extremes():
    big = np.array([1e200])
    with np.errstate(all="ignore"):
        value = OPERATORS["arctan2"].numpy(big, big)
        partials = slopes("arctan2", big, big, value=value)
        origin = slopes("hypot", np.zeros(1), np.zeros(1), value=np.zeros(1))
    np.testing.assert_allclose(partials[0], 0.5e-200)
    np.testing.assert_allclose(partials[1], -0.5e-200)
    assert origin[0][0] == origin[1][0] == 0.0


def test_domain_errors_are_nan_and_poles_infinite():
    with np.errstate(all="ignore"):
        for text in ("log(x)", "sqrt(x)", "arcsin(x - 5)", "x**0.5"):
            assert np.isnan(parse(text).evaluate({"x": np.array([-1.0])})).all()
        assert np.isinf(OPERATORS["inv"].numpy(np.zeros(1))).all()


def test_rows_are_frozen_and_callable_with_keywords_only_for_value():
    row = OPERATORS["sin"]
    with pytest.raises(AttributeError):
        row.arity = 2
    with pytest.raises(TypeError):
        OPERATORS["new"] = row
    for entry in OPERATORS.values():
        for partial in entry.partials:
            kind = inspect.signature(partial).parameters["value"].kind
            assert kind is inspect.Parameter.KEYWORD_ONLY

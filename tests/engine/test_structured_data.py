"""What structured formulas are evaluated on: shapes, contexts, relations, and clear refusals."""

from __future__ import annotations

import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from srh.engine import (
    Aggregate,
    Gather,
    Incidence,
    Index,
    Indexed,
    Number,
    Reduction,
    RelationField,
    RelationLift,
    Symbol,
    parse,
)
from srh.errors import ExpressionError, MissingVariableError, UnboundParameterError

RNG = np.random.default_rng(0)
EDGES = np.array([[0, 1], [0, 2], [2, 0], [2, 0], [2, 1], [0, 0]])  # nodes 1 and 3 receive nothing
HYPER = np.array([[0, 1, 2], [3, 0, 0], [0, 2, 1], [1, 1, 1], [1, 3, 2]])
X = np.array([1.0, 2.0, 3.0, 4.0])
DATA = {
    "A": EDGES,
    "S": EDGES[:4],
    "T": HYPER,
    "x": X,
    "w": np.arange(6.0),
    "g": 2.0,
    "xt": RNG.normal(size=(3, 4)),
    "lab": np.array(list("abab")),
    "u": np.ones(4),
    "t": np.arange(3.0),
}


def test_what_reductions_of_nothing_are():
    for op, nothing in [("sum", 0), ("prod", 1), ("mean", np.nan), ("max", np.nan)]:
        values = parse(f"{op}[j](A[i, j], x[j])").evaluate(DATA)
        assert np.array_equal(values[[1, 3]], [nothing, nothing], equal_nan=True)
    assert parse("sum[j](A[i, j], x[j])").evaluate(DATA).tolist() == [6, 0, 4, 0]


def test_free_indices_stay_in_order_of_appearance():
    pairs = parse("sum[j](T[i, j, k], x[j])").evaluate(DATA)
    expected = np.zeros((4, 4))
    for i, j, k in HYPER:
        expected[i, k] += X[j]
    assert np.array_equal(pairs, expected)
    assert np.array_equal(parse("sum[j](T[k, j, i], x[j])").evaluate(DATA), expected)
    by_source = parse("sum[i](A[i, j], x[i])").evaluate(DATA)
    assert by_source.tolist() == [7, 4, 1, 0]
    assert parse("sum[i, j](A[i, j], x[i]*x[j])").evaluate(DATA) == 18


def test_num_nodes_keeps_isolated_nodes():
    degree = parse("sum[j](A[i, j], 1)")
    assert degree.evaluate({"A": EDGES}, num_nodes=6).tolist() == [3, 0, 3, 0, 0, 0]
    assert degree.evaluate({}, relations={"A": EDGES}, num_nodes=3).tolist() == [3, 0, 3]


def test_empty_relations_and_graphs():
    none = {"A": np.empty((0, 2), int), "x": X}
    assert parse("sum[j](A[i, j], x[j])").evaluate(none).tolist() == [0, 0, 0, 0]
    assert parse("gather(A[i, j], x[j])").evaluate(none).shape == (0,)
    empty = {"A": np.empty((0, 2), int), "x": np.empty(0)}
    assert parse("max[j](A[i, j], x[j])").evaluate(empty).shape == (0,)
    assert parse("sum[k](x[k])").evaluate(empty) == 0


def test_relations_given_by_name_win_and_may_change_in_place():
    formula = parse("sum[j](A[i, j], x[j])")
    data = {"A": EDGES.copy(), "x": X}
    assert formula.evaluate(data, relations={"A": EDGES[:1]}).tolist() == [2, 0, 0, 0]
    before = formula.evaluate(data)
    data["A"][0] = [3, 3]
    after = formula.evaluate(data)
    assert before.tolist() == [6, 0, 4, 0]
    assert after.tolist() == [4, 0, 4, 4]


def test_results_never_share_memory_with_the_data():
    for text in ("x[i]", "gather(A[i, j], w[i, j])", "x[i] + 0*sum[k](x[k])", "xt[i]"):
        data = {name: np.array(value) for name, value in DATA.items()}
        result = parse(text).evaluate(data)
        result += 1
        assert all(np.array_equal(data[name], DATA[name]) for name in DATA)


def context(**changes):
    return SimpleNamespace(
        **{
            "data": DATA,
            "relation_names": ["A", "S", "T"],
            "structures": {"w": "A"},
            "num_nodes": 4,
        }
        | changes
    )


def test_a_context_says_what_its_arrays_are():
    formula = parse("param('k', value=2)*sum[j](A[i, j], w*x[j]) + param('c', value=1)")
    values = formula.evaluate(context())
    assert np.array_equal(values, formula.evaluate(DATA, num_nodes=4))
    assert formula.fit(values, context()).parameters == pytest.approx({"k": 2, "c": 1})
    assert parse("2*x").evaluate(context()).tolist() == [2, 4, 6, 8]
    only_nodes = context(data={"x": X, "A": EDGES, "w": np.ones(6)})
    assert parse("3").evaluate(only_nodes).tolist() == [3, 3, 3, 3]
    assert parse("sum[j](A[i, j], 1)").evaluate(context()).tolist() == [3, 0, 3, 0]
    # u could be values per node or per row; what the context says decides.
    said = context(structures={"u": "S"})
    assert parse("sum[j](S[i, j], u*x[j])").evaluate(said).tolist() == [5, 0, 2, 0]


@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        ("sum[j](x[i, j], x[j])", {}, "'x' is a column, not one of the relations"),
        ("sum[j](A[i, j], A*x[j])", {}, "'A' is a relation, not a column"),
        ("sum[j](S[i, j], w[i, j])", {}, "one value per row of 'A'"),
        ("sum[j](A[i, j], w[j])", {}, r"w\[j\] needs one value per node.*w\[i, j\]"),
        ("sum[j](A[i, j], x[j])", {"num_nodes": 2.5}, "num_nodes must be a whole number"),
    ],
)
def test_what_a_context_rules_out(text, changes, message):
    with pytest.raises((ExpressionError, MissingVariableError), match=message):
        parse(text).evaluate(context(**changes))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sum[j](B[i, j], x[j])", "no relation 'B'.*'A', 'S', 'T'.*relations="),
        ("sum[j](x[i, j], x[j])", r"'x' must be a table \(E, 2\).*\(4,\)"),
        ("sum[j](T[i, j], x[j])", r"3 columns.*2 indices.*T\[i, j, k\]"),
        ("sum[j](A[i, j, k], x[j])", r"2 columns.*3 indices.*A\[i, j\]"),
        ("sum[j](A[i, j], 1)", "number of nodes is not known.*num_nodes"),
        ("sum[j](A[i, j], x)", r"write x\[j\]"),
        ("aggr(A, x)", r"targ\(x\) or sour\(x\)"),
        ("sum[j](A[i, j], w[i])", "as many as relation 'A' has rows"),
        ("sum[j](A[i, j], x[j]*x[i, j])", r"x\[i, j\] needs one value per row.*write|x\[i\]"),
        ("sum[j](A[i, j], w[j, i]*x[j])", r"w\[j, i\] needs its relation.*A\[i, j\]"),
        ("w[i, j] + x[i]", r"w\[i, j\] needs its relation around it.*gather\(A\[i, j\], …\)"),
        ("sum[j](A[i, j]*x[j])", r"first argument: sum\[j\]\(A\[i, j\], …\)"),
        ("sum[j](S[i, j], u*x[j])", "x.j. has 4 values, as many as relation 'S' has rows"),
        ("aggr(T, sour(x))", r"2 sources.*sour\(x, 1\)"),
        ("aggr(A, sour(x, 2))", "does not exist in relation 'A'"),
        ("targ(x)", "only stand inside aggr"),
        ("aggr(A, x[i])", "inside aggr there are no indices"),
        ("aggr(A, targ(x[i]))", r"write targ\(x\)"),
        ("sum[j](A[i, j], aggr(A, sour(x)))", "which node is meant"),
        ("aggr(A, sour(x)) + x[i]*x[j]", "could be taken for either"),
        ("gather(A[i, j], x[i]) + x[i]", r"per node \(i\)"),
        ("gather(A[i, j], x[i]) + gather(S[i, j], x[i])", "another relation"),
        ("gather(A[i, j], x[k])", "index k"),
        ("x[i] + t", r"'t' of shape \(3,\).*\(\.\.\., 1\)"),
        ("RelationField(w, relation=A)[i, j]", r"gather\(A\[i, j\], …\)"),
        ("RelationField(w, relation=A)[i]", "one index"),
        ("sum[j](A[i, j], RelationField(w, relation=S)[i, j])", "relation 'S'"),
        ("sum[j](A[i, j], A[i, k]*x[j])", "needs its relation"),
        ("sum[j](A[i, j], x[j]) + sum[j, k](A[i, j, k], 1)", "2 indices and with 3"),
        ("lab[i]", "holds text"),
        ("nope[i]", "no column 'nope'"),
        ("param('k')*x[i]", "no value for parameter"),
        ("grouped_param(lab, name='k', value={'a': 1})[i]*x[i]", "no value for lab = 'b'"),
        ("x[i]*x[j]*x[k]*x[l]*x[m]*x[n]*x[o]*x[p]*x[q]*x[r]*x[s]*x[a]*x[b]", "limit is 20000000"),
    ],
)
def test_errors_name_what_is_missing_and_what_to_write(text, message):
    kinds = (ExpressionError, MissingVariableError, UnboundParameterError)
    with pytest.raises(kinds, match=message):
        parse(text).evaluate(DATA)


def test_a_column_that_could_be_two_things_is_refused():
    formula = parse("sum[j](S[i, j], u*x[j])")
    with pytest.raises(ExpressionError, match=r"per node or per row of 'S'.*u\[i, j\]"):
        formula.evaluate(DATA, num_nodes=4)
    assert parse("aggr(S, u*sour(x))").evaluate(DATA, num_nodes=4).tolist() == [5, 0, 2, 0]


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        (EDGES.astype(float), {}, "float64.*astype"),
        (EDGES - 1, {}, "endpoint -1 in row 0"),
        (EDGES, {"num_nodes": 2}, "endpoint 2 in row 1.*2 nodes"),
        (EDGES[:, :1], {}, r"shape \(6, 1\)"),
        ([], {}, r"shape \(0,\)"),
    ],
)
def test_bad_tables_are_refused(table, options, message):
    with pytest.raises(ExpressionError, match=message):
        parse("sum[j](A[i, j], x[j])").evaluate({"A": table, "x": X[: options.get("num_nodes", 4)]})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Indexed(Symbol("x") * 2, "i"), "only a column"),
        (lambda: Indexed(Symbol("x"), ()), "1 to 8"),
        (lambda: Indexed(Symbol("x"), ("i", "i")), "twice"),
        (lambda: Incidence("A", "i"), "one index per column"),
        (lambda: Index("2"), "a name such as i"),
        (lambda: Reduction("median", "i", Number(1)), "unknown reduction"),
        (lambda: Reduction("sum", "k", Number(1), Incidence("A", ("i", "j"))), "does not bind"),
        (lambda: Gather("A", Number(1)), "gather needs a relation"),
        (lambda: RelationLift("from", Number(1)), "targ or sour"),
        (lambda: RelationLift("targ", Number(1), 2), "position"),
        (lambda: Aggregate("A", 1), "must be an expression"),
    ],
)
def test_nodes_check_what_they_are_made_of(make, message):
    with pytest.raises(ExpressionError, match=message):
        make()


def test_nodes_know_their_columns_relations_and_parts():
    e = parse("sum[j](A[i, j], w[i, j]*x[j]) + aggr(S, sour(y)) - RelationField(v, relation=R)")
    assert e.variables == ("w", "x", "y", "v")
    assert e.relations == ("A", "S", "R")
    assert e.replace({"x": Symbol("z")}) == parse(str(e).replace("x[j]", "z[j]"))
    body = parse("x[j]")
    assert Reduction("sum", "j", body, Incidence("A", ("i", "j"))) == parse("sum[j](A[i, j], x[j])")
    assert parse("aggr(A*targ(x)*w/2)") == parse("aggr(A, targ(x)*w/2)")
    assert parse("aggr(A)") == Aggregate("A", Number(1))
    assert len({parse("x[i]"), parse("x[j]"), parse("x[i]")}) == 2
    assert RelationField("w", "A") == parse("RelationField(w, relation=A)")
    assert parse("sum[j](A[i, j], x[j])", ["x"], relations=["A"]).relations == ("A",)


def test_other_forms():
    e = parse("2*sum[j](A[i, j], w[i, j]*sin(x[j] - x[i])) + mean[k](x[k])")
    assert e.to_latex() == (
        r"2 \cdot \left(\sum_{j:\,(i, j) \in A} {w}_{i, j} \cdot "
        r"\sin\left({x}_{j} - {x}_{i}\right)\right) + \operatorname*{mean}_{k} {x}_{k}"
    )
    import sympy

    form = e.to_sympy()
    assert form.has(sympy.IndexedBase("x", real=True)[sympy.Symbol("j", integer=True)])
    assert parse("2*sum[j](A[i,j], x[j])/2").to_sympy() == parse("sum[j](A[i,j], x[j])").to_sympy()
    assert parse("sum[j](A[i,j], x[j])").to_sympy() != parse("sum[j](B[i,j], x[j])").to_sympy()
    for text in ("delay(x, 2)", "gather(A[i, j], x[i])", "aggr(A, targ(x)*sour(y, 2))"):
        assert parse(text).to_latex()
        assert parse(text).to_sympy() == parse(text).to_sympy()


def test_source_looks_up_groups_and_asks_for_what_it_needs():
    e = parse(
        "sum[j](A[i, j], grouped_param(lab, name='k', value={'a': 1, 'b': 2})[j]*x[j])"
        " + param('c', value=0.5)*sum[j](A[i, j], 1)"
    )
    scope: dict[str, object] = {}
    source = e.to_numpy_source("coupling")
    exec(source, scope)  # noqa: S102
    theirs = scope["coupling"](DATA["lab"], DATA["x"], EDGES)
    assert np.allclose(theirs, e.evaluate(DATA))
    scope = {}
    exec(parse("delay(x, 1)").to_numpy_source(), scope)  # noqa: S102
    ours = parse("delay(x, 1)").evaluate({"x": X})
    assert np.array_equal(scope["formula"](X), ours, equal_nan=True)


def test_many_samples_threads_and_single_ones_agree():
    rng = np.random.default_rng(1)
    edges, x = rng.integers(0, 300, (5000, 2)), rng.normal(size=(40, 300))
    formula = parse("sum[j](A[i, j], tanh(x[j] - x[i])) + x[i]*mean[k](x[k])")
    data = {"A": edges, "x": x}
    whole = formula.evaluate(data)
    assert np.array_equal(whole, formula.evaluate(data, threads=2))
    assert np.array_equal(whole[7], formula.evaluate({"A": edges, "x": x[7]}))
    results: list[np.ndarray] = []
    workers = [
        threading.Thread(target=lambda: results.append(formula.evaluate(data))) for _ in "abcd"
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(results) == 4
    assert all(np.array_equal(whole, result) for result in results)


def test_deep_and_wide_formulas():
    wide = deep = Indexed(Symbol("x"), "i0")
    for level in range(300):
        wide = Reduction("mean", "j", Indexed(Symbol("x"), "j") * 0.5) + wide
        deep = Reduction("mean", f"i{level}", deep + Indexed(Symbol("x"), f"i{level}"))
        deep = deep + Indexed(Symbol("x"), f"i{level + 1}")
    for formula in (wide, deep):
        assert parse(str(formula)) == formula
        assert formula.evaluate(DATA).shape == (4,)
    assert wide.evaluate(DATA) == pytest.approx(X + 300 * 1.25)


def test_scalar_formulas_import_none_of_it():
    code = (
        "import sys, srh.engine as e; e.parse('2*x').evaluate({'x': [1.0]});"
        "assert not [m for m in sys.modules if 'structured' in m or 'scipy' in m or 'sympy' in m]"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)

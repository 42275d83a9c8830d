"""Splits and measures of values per node and per edge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from srh.context import AgentContext, SplitOptions
from srh.engine import Symbol, parse
from srh.errors import DataError, MetricError
from srh.evaluator import GraphEvaluator, assess_formula, diagnose, utils
from srh.metrics import DEFAULT_METRICS

N_TIMES, N_NODES = 8, 3


def network(target: str = "rate", n_times: int = N_TIMES, **options: Any) -> AgentContext:
    rng = np.random.default_rng(2)
    theta = rng.normal(size=(n_times, N_NODES))
    omega = np.array([0.5, 1.0, 2.0])
    data = {
        "t": np.arange(float(n_times)),
        "theta": theta,
        "omega": omega,
        "rate": 3.0 * theta + omega,
        "flow": rng.normal(size=(n_times, 4)),
        "load": rng.normal(size=4),
        "total": theta.sum(axis=1),
        "A": np.array([[0, 1], [1, 0], [1, 2], [2, 0]]),
    }
    told: dict[str, Any] = {
        "num_nodes": N_NODES,
        "relation_names": ["A"],
        "structures": {"flow": "A", "load": "A"},
        "evaluator": GraphEvaluator,
    }
    return AgentContext(data, target, **{**told, **options})


def test_samples_are_divided_and_tables_are_not():
    context = network()
    train, validation = context.train_split, context.validation_split
    assert train.data["theta"].shape == (6, N_NODES)
    assert validation.data["flow"].shape == (2, 4)
    assert sorted([*train.rows, *validation.rows]) == list(range(N_TIMES))
    for view in (train, validation):
        assert view.data["A"] is context.data["A"]
        assert view.data["omega"] is context.data["omega"]
        assert view.data["load"] is context.data["load"]
        assert view.num_nodes == N_NODES
        assert view.structures == {"flow": "A", "load": "A"}


@pytest.mark.parametrize(
    "args", [SplitOptions(method="chronological", time="t"), SplitOptions(method="chronological")]
)
def test_the_past_trains(args):
    parts = GraphEvaluator.split(network(args=args))
    assert parts["train"].data["t"].tolist() == [0, 1, 2, 3, 4, 5]
    assert parts["validation"].data["theta"].shape == (2, N_NODES)


def test_a_formula_of_node_values_is_fitted_and_measured_over_all_of_them():
    context = network()
    fitted = GraphEvaluator.fit_candidate(parse("param('a')*theta + omega"), context.train_split)
    assert fitted.parameter_values()["a"] == pytest.approx(3.0)
    metrics = GraphEvaluator.evaluate_candidate(fitted, context.validation_split)
    assert tuple(metrics) == DEFAULT_METRICS
    assert metrics["rmse"] < 1e-12
    off = GraphEvaluator.evaluate_candidate(parse("3*theta + omega + 1"), context.validation_split)
    assert off["mae"] == pytest.approx(1.0)
    wrong = GraphEvaluator.evaluate(parse("0*theta"), Symbol("rate"), context.validation_split)
    values = context.validation_split.data["rate"]
    assert wrong["mse"] == pytest.approx(np.mean(values**2))


def test_what_is_the_same_in_all_samples_counts_for_each():
    context = network()
    part = context.validation_split
    metrics = GraphEvaluator.evaluate_candidate(parse("omega"), part)
    assert metrics["mse"] == pytest.approx(np.mean((part.data["rate"] - part.data["omega"]) ** 2))


@pytest.mark.parametrize(
    ("f", "column", "axis"),
    [("param('a')*omega", "omega", 0), ("param('a')*total", "total", 1)],
)
def test_parameters_of_what_is_the_same_along_an_axis(f, column, axis):
    part = network().train_split
    fitted = GraphEvaluator.fit_candidate(parse(f), part)
    feature, means = part.data[column], part.data["rate"].mean(axis)
    best = (feature @ means) / (feature @ feature)
    assert fitted.parameter_values()["a"] == pytest.approx(best)
    metrics = GraphEvaluator.evaluate_candidate(fitted, part)
    predicted = best * np.expand_dims(feature, axis)
    assert metrics["mse"] == pytest.approx(np.mean((part.data["rate"] - predicted) ** 2))
    assert diagnose(fitted, Symbol("rate"), part).values == part.data["rate"].size


def test_sides_that_do_not_fit_are_refused():
    with pytest.raises(MetricError, match=r"values of shape \(8, 3\), where \(8,\) is needed"):
        GraphEvaluator.evaluate(parse("theta"), Symbol("total"), network("total"))
    axes = {"rate": ["t", "node"], "omega": ["node"], "t": ["t"], "total": ["t"]}
    square = network(n_times=N_NODES, axes=axes, args=SplitOptions(method="same"))
    with pytest.raises(MetricError, match="for samples or for nodes"):
        GraphEvaluator.evaluate(parse("total"), Symbol("rate"), square)


def test_coupled_oscillators_are_found_and_rolled_out():
    rng = np.random.default_rng(0)
    edges = np.array([(i, j) for i in range(6) for j in range(6) if i != j and rng.random() < 0.5])
    omega, times = rng.normal(1, 0.3, 6), np.linspace(0, 6, 80)

    def system(_t, phase):
        pull = np.sin(phase[edges[:, 1]] - phase[edges[:, 0]])
        return omega + 0.6 * np.bincount(edges[:, 0], pull, 6)

    phases = solve_ivp(
        system, (0, 6), rng.uniform(0, 6, 6), t_eval=times, rtol=1e-10, atol=1e-10
    ).y.T
    data = {
        "t": times,
        "phase": phases,
        "omega": omega,
        "A": edges,
        "rate": np.array([system(0, phase) for phase in phases]),
    }
    context = AgentContext(
        data, "rate", evaluator=GraphEvaluator, num_nodes=6, relation_names=["A"]
    )
    found = assess_formula("omega + param('K')*aggr(A, sin(sour(phase) - targ(phase)))", context)
    assert found.eligible, found.error
    assert found.fitted.parameter_values()["K"] == pytest.approx(0.6)
    assert found.validation["rmse"] < 1e-12
    rollout = utils.calc_trajectory_rollout_RMSE(found.fitted, context, state="phase")
    assert rollout < 1e-5
    alone = utils.calc_trajectory_rollout_RMSE(parse("omega"), context, state="phase")
    assert alone > 0.1


def test_a_group_for_each_node_is_no_label_for_each_row():
    data = {**network().data, "node": np.array(["a", "b", "c"])}
    data["node"] = np.broadcast_to(data["node"], (N_TIMES, N_NODES)).copy()
    context = AgentContext(data, "rate", evaluator=GraphEvaluator, num_nodes=N_NODES)
    formula = parse("3*theta + grouped_param(node, name='g')")
    fitted = GraphEvaluator.fit_candidate(formula, context)
    assert fitted.parameter_values()["g"] == pytest.approx({"a": 0.5, "b": 1.0, "c": 2.0})


def test_diagnostics_name_row_and_position():
    context = network(args=SplitOptions(method="chronological"))
    context.data["rate"] = context.data["rate"].copy()
    context.data["rate"][4, 1] += 50.0
    found = assess_formula("3*theta + omega", context)
    assert found.error is None
    worst = found.diagnostics.worst[0]
    assert (worst.row, worst.position) == (4, 1)
    assert found.diagnostics.values == 6 * N_NODES


def test_one_graph_without_samples_cannot_be_split():
    for target in ("omega", "load"):
        with pytest.raises(DataError, match="no samples"):
            GraphEvaluator.split(network(target))
        asked = network(target, args=SplitOptions(method="same"))
        views = GraphEvaluator.split(asked)
        assert views["validation"].n_samples == len(asked.data[target])


def test_as_many_samples_as_nodes():
    axes = {
        "t": ["t"],
        "total": ["t"],
        "theta": ["t", "node"],
        "rate": ["t", "node"],
        "flow": ["t", "edge"],
        "omega": ["node"],
    }
    context = network("total", n_times=N_NODES, axes=axes)
    assert context.train_split.data["theta"].shape == (2, N_NODES)
    assert context.train_split.data["omega"].shape == (N_NODES,)


def test_a_relation_takes_the_number_of_nodes():
    with pytest.raises(DataError, match="no num_nodes"):
        GraphEvaluator.split(network(num_nodes=None))

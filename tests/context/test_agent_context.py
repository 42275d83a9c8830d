from __future__ import annotations

from collections.abc import Mapping
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from srh.context import AgentContext, Dataset, SplitOptions
from srh.errors import DataError, FormatError


class CountingEvaluator:
    """Leaves the last sample for validation, and counts how often it is asked."""

    def __init__(self) -> None:
        self.calls = 0

    def split(self, context: AgentContext) -> Mapping[str, AgentContext]:
        self.calls += 1
        last = context.n_samples - 1
        return {"train": context.take(np.arange(last)), "validation": context.take([last])}


def context(**options: Any) -> AgentContext:
    data = {
        "x": np.array([1.0, 2.0, 3.0, 4.0]),
        "field": np.arange(12.0).reshape(4, 3),
        "label": np.array(["a", "b", "a", None], dtype=object),
        "edges": np.array([[0, 1], [1, 2], [2, 0]]),
        "unit": np.float64(9.81),
        "y": np.array([10.0, 20.0, 30.0, 40.0]),
    }
    return AgentContext(data, "y", **options)


def test_take_selects_aligned_arrays_and_leaves_shared_ones() -> None:
    root = context(num_nodes=3, variables={"x": "position"})
    view = root.take([3, 1])
    assert view.data["x"].tolist() == [4.0, 2.0]
    assert view.data["field"].tolist() == [[9.0, 10.0, 11.0], [3.0, 4.0, 5.0]]
    assert view.data["label"].tolist() == [None, "b"]
    assert view.data["edges"] is root.data["edges"]
    assert view.data["unit"] == 9.81
    assert view.n_samples == 2
    assert view.num_nodes == 3
    assert view.variables == {"x": "position"}
    assert root.n_samples == 4


def test_rows_count_in_the_root_through_nested_views() -> None:
    root = context(rows=[10, 20, 30, 40])
    assert root.take([3, 1, 0]).take([2, 0]).rows.tolist() == [10, 40]
    assert context().take([3, 1]).rows.tolist() == [3, 1]
    with pytest.raises(DataError, match=r"rows has shape \(2,\) for 4 samples"):
        context(rows=[1, 2])


@pytest.mark.parametrize("rows", [[4], [-1], [True, False, True, False], [0.5], [[0]]])
def test_take_refuses_what_are_no_rows(rows: Any) -> None:
    with pytest.raises(DataError):
        context().take(rows)


def test_split_is_asked_once_for_both_views() -> None:
    evaluator = CountingEvaluator()
    root = context(evaluator=evaluator)
    train, validation = root.train_split, root.validation_split
    assert root.train_split is train
    assert evaluator.calls == 1
    assert train.rows.tolist() == [0, 1, 2]
    assert validation.rows.tolist() == [3]
    assert train.evaluator is evaluator


def set_data(root: AgentContext) -> None:
    root.data = {"y": np.arange(3.0)}


def set_entry(root: AgentContext) -> None:
    root.data["x"] = np.zeros(4)  # type: ignore[index]


def add_entry(root: AgentContext) -> None:
    root.data["z"] = np.zeros(4)  # type: ignore[index]


def set_target(root: AgentContext) -> None:
    root.target = "x"


def set_evaluator(root: AgentContext) -> None:
    root.evaluator = root.evaluator


def set_args(root: AgentContext) -> None:
    root.args = SplitOptions(seed=1)


@pytest.mark.parametrize(
    "change",
    [
        set_data,
        set_entry,
        add_entry,
        set_target,
        set_evaluator,
        set_args,
        AgentContext.invalidate_split,
    ],
)
def test_views_are_forgotten_when_what_they_rest_on_changes(change: Any) -> None:
    evaluator = CountingEvaluator()
    root = context(evaluator=evaluator)
    before = root.train_split
    change(root)
    assert root.train_split is not before
    assert evaluator.calls == 2
    assert root.train_split.n_samples == root.n_samples - 1


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 1},
        {"method": "chronological"},
        {"validation_fraction": 0.5},
        {"method": "ood", "ood_variable": "x"},
        {"time": "x"},
    ],
    ids="-".join,
)
def test_every_split_argument_invalidates(change: Any) -> None:
    evaluator = CountingEvaluator()
    root = context(evaluator=evaluator)
    before = root.train_split
    root.args = replace(root.args, **change)
    assert root.train_split is not before
    assert evaluator.calls == 2
    with pytest.raises(FrozenInstanceError):
        root.args.seed = 5  # type: ignore[misc]


def test_what_no_split_rests_on_keeps_the_views(tmp_path: Path) -> None:
    root = context(evaluator=CountingEvaluator())
    before = root.train_split
    root.workspace = tmp_path
    root.variables = {"x": "a length"}
    assert root.train_split is before


def test_what_is_worked_out_once_is_forgotten_with_the_views() -> None:
    root = context()
    calls: list[int] = []

    def count(whole: AgentContext) -> int:
        calls.append(whole.n_samples)
        return len(calls)

    assert root.once("a", count) == root.once("a", count) == 1
    assert root.once("b", count) == 2
    for change in (set_entry, set_target, set_args, AgentContext.invalidate_split):
        change(root)
        known = len(calls)
        assert root.once("a", count) == known + 1


def test_an_attribute_that_is_none_is_refused() -> None:
    with pytest.raises(AttributeError, match="did you mean 'evaluator'"):
        context().evaluatr = None  # type: ignore[attr-defined]


def test_views_copy_nothing_before_a_column_is_used() -> None:
    root = context()
    view = root.take([3, 1])
    assert view.data.shape("field") == (2, 3)
    nested = view.take([1])
    assert nested.data["field"].tolist() == [[3.0, 4.0, 5.0]]
    following = root.take([1, 2, 3])
    assert np.shares_memory(following.data["x"], root.data["x"])
    assert view.data["x"] is view.data["x"]
    with pytest.raises(ValueError, match="read-only"):
        view.data["x"][0] = 1.0
    view.data["x"] = np.array([7.0, 8.0])
    assert view.data["x"].tolist() == [7.0, 8.0]
    assert root.data["x"].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_view_keeps_what_it_was_taken_from() -> None:
    root = context()
    view = root.take([3, 1])
    root.data["x"] = np.zeros(4)
    assert view.data["x"].tolist() == [4.0, 2.0]
    del root.data["field"]
    assert view.data["field"].shape == (2, 3)
    assert "field" not in root.data


def network(n_times: int, **options: Any) -> AgentContext:
    data = {
        "theta": np.zeros((n_times, 3)),
        "rate": np.zeros((n_times, 3)),
        "omega": np.zeros(3),
        "w": np.zeros(4),
        "A": np.array([[0, 1], [1, 0], [1, 2], [2, 0]]),
    }
    told: dict[str, Any] = {"num_nodes": 3, "relation_names": ["A"], "structures": {"w": "A"}}
    return AgentContext(data, "rate", **{**told, **options})


@pytest.mark.parametrize("n_times", [2, 4, 5])
def test_relations_and_what_follows_them_have_no_samples(n_times: int) -> None:
    root = network(n_times)
    assert root.aligned() == {"theta", "rate"}
    view = root.take([1])
    assert view.data["A"] is root.data["A"]
    assert view.data["w"] is root.data["w"]
    assert view.structures == {"w": "A"}
    assert view.relation_names == ("A",)
    assert view.num_nodes == 3


def test_as_many_samples_as_nodes_take_names_of_axes() -> None:
    with pytest.raises(DataError, match="as many samples as nodes: name the axes of 'omega'"):
        network(3).take([0])
    axes = {"omega": ["node"], "rate": ["t", "node"], "theta": ["t", "node"]}
    assert network(3, axes=axes).take([0]).data["omega"].shape == (3,)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relation_names": ["B"]}, "relation_names names 'B', which is no array"),
        ({"structures": {"w": "theta"}}, "'w' follows 'theta', which is no relation"),
        ({"structures": {"v": "A"}}, "structures names 'v'"),
        ({"axes": {"omega": ["t", "node"]}}, "'omega' has 1 axes, and 2 names"),
        ({"axes": {"omeg": ["node"]}}, "did you mean 'omega'"),
    ],
)
def test_what_is_said_of_arrays_is_checked(options: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        network(5, **options)


def overlapping(context: AgentContext) -> Any:
    return {"train": context.take([0, 1]), "validation": context.take([1, 2])}


def whole_twice(context: AgentContext) -> Any:
    return {"train": context, "validation": context}


def whole_and_part(context: AgentContext) -> Any:
    return {"train": context.take([0, 1]), "validation": context}


@pytest.mark.parametrize("split", [overlapping, whole_twice, whole_and_part])
def test_rows_in_both_views_are_refused_unless_asked_for(split: Any) -> None:
    class Careless:
        def split(self, context: AgentContext) -> Any:
            return split(context)

    with pytest.raises(FormatError, match="in training and in validation"):
        _ = context(evaluator=Careless()).train_split
    asked = context(evaluator=Careless(), args=SplitOptions(method="same"))
    assert asked.validation_split.n_samples > 0


def test_views_must_have_the_same_variables_and_target() -> None:
    class OtherTarget:
        def split(self, context: AgentContext) -> Any:
            validation = context.take([3])
            validation.target = "x"
            return {"train": context.take([0]), "validation": validation}

    class OtherVariables:
        def split(self, context: AgentContext) -> Any:
            more = {**context.take([3]).data, "z": np.zeros(1)}
            return {"train": context.take([0]), "validation": context.take([3]).with_data(more)}

    with pytest.raises(FormatError, match="the targets differ: 'y' and 'x'"):
        _ = context(evaluator=OtherTarget()).train_split
    with pytest.raises(FormatError, match="'z': in one of train and validation only"):
        _ = context(evaluator=OtherVariables()).train_split


def test_data_of_another_length_make_a_new_root() -> None:
    root = context(rows=[10, 20, 30, 40])
    root.data = {"y": [1.0, 2.0]}
    assert root.rows.tolist() == [0, 1]
    assert root.data["y"].dtype == np.float64


def test_with_data_keeps_samples_and_settings() -> None:
    root = context(evaluator=CountingEvaluator(), args=SplitOptions(seed=4)).take([2, 3])
    other = root.with_data({**root.data, "x2": root.data["x"] ** 2})
    assert other.rows.tolist() == [2, 3]
    assert other.data["x2"].tolist() == [9.0, 16.0]
    assert "x2" not in root.data
    assert other.args.seed == 4
    assert other.evaluator is root.evaluator
    with pytest.raises(DataError, match="for 3 samples"):
        root.with_data({"y": np.zeros(3)})
    with pytest.raises(DataError, match="no column 'y'"):
        root.with_data({"x": np.zeros(2)})


def test_target_must_be_there_and_have_samples() -> None:
    with pytest.raises(DataError, match="did you mean 'mass'"):
        AgentContext({"mass": np.zeros(2)}, "mas").n_samples  # noqa: B018
    with pytest.raises(DataError, match="single number"):
        AgentContext({"y": 1.0}, "y").n_samples  # noqa: B018


def test_without_evaluator_there_is_no_split() -> None:
    with pytest.raises(DataError, match=r"set context\.evaluator"):
        _ = context().train_split


@pytest.mark.parametrize(
    ("result", "parts"),
    [
        (None, ["NoneType"]),
        ({"train": context()}, ["['train']"]),
        ({"train": context(), "validation": context(), "test": context()}, ["'test'"]),
        ({"train": context(), "validation": {"x": 1}}, ["validation: must be an AgentContext"]),
        ({"train": context().take([]), "validation": context()}, ["train: has no samples"]),
    ],
)
def test_split_must_return_two_views(result: Any, parts: list[str]) -> None:
    class Careless:
        @classmethod
        def split(cls, context: AgentContext) -> Any:
            return result

    for evaluator in (Careless, Careless()):
        with pytest.raises(FormatError) as caught:
            _ = context(evaluator=evaluator).validation_split
        for part in ["Careless.split", *parts]:
            assert part in str(caught.value)


def test_from_dataset_shares_arrays_and_hides_extra_columns() -> None:
    data = Dataset(
        {"x": np.zeros(3), "y": np.ones(3)}, "y", ("x",), np.arange(3), extra={"g": np.arange(3)}
    )
    root = AgentContext.from_dataset(data)
    assert set(root.data) == {"x", "y"}
    assert root.data["x"] is data.columns["x"]
    assert root.rows.tolist() == [0, 1, 2]


@pytest.mark.parametrize("fraction", [0, 0.0, 1.0, -0.1, float("nan")])
def test_a_validation_fraction_must_leave_both_sides(fraction: float) -> None:
    with pytest.raises(DataError, match=r'validation_fraction.*method="same"'):
        SplitOptions(validation_fraction=fraction)


def test_other_options_are_checked() -> None:
    with pytest.raises(DataError, match="'rnd' is unknown; use one of 'random'"):
        SplitOptions(method="rnd")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="seed is -1"):
        SplitOptions(seed=-1)

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from srh.context import Dataset, DataSpec, load_dataset
from srh.errors import DataError, FormatError
from srh.formats import decode

MIXED = "planet,mass,group,period\nMars,1,b,10\nVenus,,a,20\n,3,b,30\nEarth,4,NA,40\n"


def load(folder: Path, text: str, **spec: object) -> Dataset:
    path = folder / "data.csv"
    path.write_text(text)
    return load_dataset(path, DataSpec(**{"target": "period", **spec}))  # type: ignore[arg-type]


def test_spec_is_made_of_json_types_and_strict() -> None:
    spec = decode(DataSpec, {"target": "y", "units": {"y": "m"}, "missing": "drop"}, "task.toml")
    assert msgspec.json.decode(msgspec.json.encode(spec), type=DataSpec) == spec
    with pytest.raises(FormatError) as caught:
        decode(DataSpec, {"targte": "y", "missing": "ignore"}, "task.toml")
    assert len(caught.value.problems) == 2
    assert "did you mean 'target'?" in str(caught.value)


def test_columns_features_and_matrix(tmp_path: Path) -> None:
    data = load(tmp_path, "a,period,b\n1,10,2\n3,20,4\n")
    assert data.features == ("a", "b")
    assert data.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert data.X.dtype == np.float64
    assert data.X.flags.c_contiguous
    assert data.X.flags.writeable
    assert data.y.tolist() == [10.0, 20.0]
    assert data.source_rows.tolist() == [0, 1]
    assert data.n_rows == 2
    assert data.notes == ()


def test_features_keep_the_declared_order_and_others_are_apart(tmp_path: Path) -> None:
    data = load(tmp_path, "a,period,b,c\n1,10,2,x\n3,20,4,y\n", features=["b", "a"])
    assert data.features == ("b", "a")
    assert set(data.columns) == {"period", "b", "a"}
    assert data.extra["c"].tolist() == ["x", "y"]
    assert data.column("c").tolist() == ["x", "y"]
    assert data.column("a").tolist() == [1.0, 3.0]
    with pytest.raises(DataError, match="no column 'd'"):
        data.column("d")


def test_names_in_the_spec_are_normalised_as_headers_are(tmp_path: Path) -> None:
    data = load(tmp_path, "\u00b5,period\n1,2\n", features=["\u03bc"], units={"\u00b5": "m"})
    assert data.features == ("\u03bc",)
    assert data.units == {"\u03bc": "m"}


def test_columns_cannot_be_overwritten(tmp_path: Path) -> None:
    data = load(tmp_path, "a,period\n1,10\n3,20\n")
    with pytest.raises(ValueError, match="read-only"):
        data.y[0] = 1.0


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ({"features": ["mas"]}, ["features", "no column 'mas'", "did you mean 'mass'?"]),
        ({"features": ["mass", "mass"]}, ["'mass' is listed twice"]),
        ({"features": ["period", "mass"]}, ["'period' is the target"]),
        ({"features": []}, ["no feature is left"]),
        ({"units": {"mas": "kg"}}, ["units", "did you mean 'mass'?"]),
        ({}, ["column 'planet', row 1 (line 2)", "'Mars'", "2 more", "`features`", '"labels"']),
        ({"features": ["planet"]}, ["'Mars'", "Remove it from `features`"]),
        ({"features": ["planet"], "categorical": "drop"}, ["'Mars'", "Remove it"]),
        ({"features": ["mass"]}, ["column 'mass', row 2 (line 3)", "missing", '"drop" or "keep"']),
        (
            {"features": ["mass", "group"], "categorical": "labels"},
            ["column 'mass', row 2", "2 values are missing in all"],
        ),
        (
            {"features": ["group"], "categorical": "labels", "missing": "keep"},
            ["column 'group', row 4 (line 5)", "Only numeric features"],
        ),
    ],
)
def test_what_the_policies_refuse(
    tmp_path: Path, spec: dict[str, object], parts: list[str]
) -> None:
    if "units" in spec:
        spec = {"features": ["mass"], "missing": "keep", **spec}
    with pytest.raises(DataError) as caught:
        load(tmp_path, MIXED, **spec)
    for part in ["data.csv", *parts]:
        assert part in str(caught.value)


def test_drop_looks_at_used_columns_only_and_reports(tmp_path: Path) -> None:
    data = load(tmp_path, MIXED, features=["mass"], missing="drop")
    assert data.y.tolist() == [10.0, 30.0, 40.0]
    assert data.source_rows.tolist() == [0, 2, 3]
    assert data.extra["planet"].tolist() == ["Mars", None, "Earth"]
    assert data.notes == ("1 row dropped: missing values",)


def test_drop_also_drops_rows_without_target(tmp_path: Path) -> None:
    data = load(tmp_path, "a,period\n1,\n2,3\nNA,4\n", missing="drop")
    assert data.source_rows.tolist() == [1]
    assert "2 rows dropped: missing values" in data.notes


def test_drop_that_leaves_nothing_names_the_worst_column(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no row is left.*column 'b' misses 2 of 3"):
        load(tmp_path, "a,b,period\n1,,1\n1,,2\n,1,3\n", missing="drop")


def test_keep_leaves_nan_in_features_but_not_in_the_target(tmp_path: Path) -> None:
    data = load(tmp_path, "a,period\n1,1\n,2\n", missing="keep")
    assert np.isnan(data.X[1, 0])
    with pytest.raises(DataError, match="column 'period', row 2"):
        load(tmp_path, "a,period\n1,1\n2,\n", missing="keep")


def test_labels_stay_text_and_are_no_matrix(tmp_path: Path) -> None:
    data = load(tmp_path, "g,a,period\nb,1,1\n a ,2,2\n", categorical="labels")
    assert data.columns["g"].tolist() == ["b", "a"]
    assert data.columns["g"].dtype == object
    assert data.notes == (
        "column 'g' read as labels: 2 of 2 values are text, the first in row 1: 'b'",
    )
    with pytest.raises(DataError, match="'g' holds text labels"):
        _ = data.X


def test_one_text_among_numbers_is_told(tmp_path: Path) -> None:
    data = load(tmp_path, "g,period\n1,1\n2x,2\n3,3\n", categorical="codes")
    assert data.notes == (
        "column 'g' read as codes: 1 of 3 values are text, the first in row 2: '2x'",
    )


def test_codes_follow_the_sorted_texts(tmp_path: Path) -> None:
    data = load(tmp_path, "g,period\nb,1\na,2\nc,3\na,4\n", categorical="codes")
    assert data.X[:, 0].tolist() == [1.0, 0.0, 2.0, 0.0]
    assert data.categories == {"g": ("a", "b", "c")}


def test_codes_with_missing_values(tmp_path: Path) -> None:
    text = "g,period\nb,1\n,2\nc,3\n"
    kept = load(tmp_path, text, categorical="codes", missing="keep")
    assert kept.X[:, 0].tolist()[::2] == [0.0, 1.0]
    assert np.isnan(kept.X[1, 0])
    dropped = load(tmp_path, text, categorical="codes", missing="drop")
    assert dropped.X[:, 0].tolist() == [0.0, 1.0]


def test_text_columns_can_be_left_out(tmp_path: Path) -> None:
    data = load(tmp_path, MIXED, categorical="drop", missing="drop")
    assert data.features == ("mass",)
    assert data.extra["group"].tolist() == ["b", "b", None]
    assert [note.split(":")[0] for note in data.notes] == [
        "column 'planet' left out",
        "column 'group' left out",
        "1 row dropped",
    ]


def test_an_unused_column_may_hold_anything(tmp_path: Path) -> None:
    data = load(tmp_path, "a,junk,period\n1,inf,1\n2,,3\n", features=["a"])
    assert data.n_rows == 2


def test_a_hand_made_dataset_is_checked_and_does_not_lock_its_arrays() -> None:
    values = np.zeros(3)
    Dataset({"x": values, "y": values}, "y", ("x",), np.arange(3))
    values[0] = 1.0
    with pytest.raises(DataError, match=r"column 'x' has shape \(2,\); it must be \(3,\)"):
        Dataset({"x": values[:2], "y": values}, "y", ("x",), np.arange(3))


def test_one_row_and_a_constant_target_are_data(tmp_path: Path) -> None:
    assert load(tmp_path, "a,period\n1,2\n").n_rows == 1
    data = load(tmp_path, "a,period\n1,2\n3,2\n")
    assert data.notes == ("the target 'period' is constant: r2 and correlations have no value",)


def test_unknown_suffix(tmp_path: Path) -> None:
    path = tmp_path / "data.xlsx"
    path.write_text("x")
    with pytest.raises(DataError, match=r"use one of \.csv, \.npz, \.joblib, \.pkl"):
        load_dataset(path, DataSpec(target="y"))


def test_take_follows_source_rows_and_extra(tmp_path: Path) -> None:
    data = load(tmp_path, MIXED, features=["mass"], missing="drop").take([2, 0])
    assert data.y.tolist() == [40.0, 10.0]
    assert data.source_rows.tolist() == [3, 0]
    assert data.extra["planet"].tolist() == ["Earth", "Mars"]
    assert data.take([]).n_rows == 0


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ([-1], "row -1 is out of range"),
        ([0, 4], "row 4 is out of range: there are 4 rows, 0 to 3"),
        ([True, False, True, True], "whole row numbers"),
        ([0, True], "whole row numbers"),
        (np.array([True, False, True, True]), "whole row numbers"),
        ([0.0], "whole row numbers"),
        ([[0, 1]], "flat list"),
    ],
)
def test_take_refuses_what_numpy_would_read_otherwise(
    tmp_path: Path, rows: object, part: str
) -> None:
    data = load(tmp_path, MIXED, features=["mass"], missing="keep")
    with pytest.raises(DataError, match=part):
        data.take(rows)  # type: ignore[arg-type]

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from srh.context import DataSpec, load_dataset
from srh.errors import DataError

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
Y = np.array([10.0, 20.0, 30.0])


def save(folder: Path, **arrays: Any) -> Path:
    path = folder / "data.npz"
    np.savez(path, **arrays)
    return path


def test_unnamed_features(tmp_path: Path) -> None:
    data = load_dataset(save(tmp_path, X=X, y=Y))
    assert (data.target, data.features) == ("y", ("x0", "x1"))
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.y, Y)


def test_named_features_and_target(tmp_path: Path) -> None:
    path = save(tmp_path, X=X, y=Y, feature_names=np.array(["a", "b"]))
    data = load_dataset(path, DataSpec(target="period", features=["b"]))
    assert (data.target, data.features) == ("period", ("b",))
    assert data.X[:, 0].tolist() == [2.0, 4.0, 6.0]


def test_flat_x_is_one_feature(tmp_path: Path) -> None:
    assert load_dataset(save(tmp_path, X=X[:, 0], y=Y)).X.shape == (3, 1)


def test_one_array_per_column(tmp_path: Path) -> None:
    path = save(
        tmp_path, t=np.array([1, 2, 3]), v=Y.astype(np.float32), kind=np.array(["a", "b", "NA"])
    )
    data = load_dataset(path, DataSpec(target="v", features=["t"]))
    assert data.X[:, 0].tolist() == [1.0, 2.0, 3.0]
    assert data.y.dtype == np.float64
    assert data.extra["kind"].tolist() == ["a", "b", None]


def test_column_vector_y_is_flattened_and_told(tmp_path: Path) -> None:
    data = load_dataset(save(tmp_path, X=X, y=Y[:, np.newaxis]))
    assert data.y.shape == (3,)
    assert data.notes == ("y has shape (3, 1): read as (3,)",)


def test_nan_follows_the_policy(tmp_path: Path) -> None:
    holes = X.copy()
    holes[1, 0] = np.nan
    path = save(tmp_path, X=holes, y=Y)
    with pytest.raises(DataError, match=r"column 'x0', row 2: the value is missing"):
        load_dataset(path)
    assert load_dataset(path, DataSpec(missing="drop")).source_rows.tolist() == [0, 2]


def test_text_without_any_text_is_a_missing_number(tmp_path: Path) -> None:
    path = save(tmp_path, a=np.array(["", "", ""]), b=Y, y=Y)
    data = load_dataset(path, DataSpec(target="y", missing="keep"))
    assert np.isnan(data.columns["a"]).all()


BROKEN_ARRAYS: dict[str, tuple[dict[str, Any], str | None, list[str]]] = {
    "lengths": ({"X": X, "y": Y[:2]}, None, ["X has 3 rows", "y has 2"]),
    "three dimensions": ({"X": X[np.newaxis], "y": Y}, None, ["X has shape (1, 3, 2)"]),
    "wide y": ({"X": X, "y": X}, None, ["y has shape (3, 2)"]),
    "zero rows": ({"X": X[:0], "y": Y[:0]}, None, ["no data rows"]),
    "zero columns": ({"X": X[:, :0], "y": Y}, None, ["no feature is left"]),
    "complex": ({"X": X * 1j, "y": Y}, None, ["'x0'", "complex128", "float64"]),
    "bool X": ({"X": X > 2, "y": Y}, None, ["'x0'", "bool", "store 0 and 1"]),
    "bool y": ({"X": X, "y": Y > 10}, None, ["'y'", "bool"]),
    "bytes": ({"X": X, "y": np.array([b"a", b"b", b"c"])}, None, ["'y'", "S1"]),
    "dates": ({"X": X, "y": Y.astype("datetime64[s]")}, None, ["'y'", "datetime64"]),
    "text": (
        {"X": X.astype(str), "y": Y},
        None,
        ["column 'x0', row 1", "'1.0' is stored as text", "categorical"],
    ),
    "infinite": (
        {"X": X, "y": Y * [1, np.inf, 1]},
        None,
        ["column 'y', row 2", "inf", "not finite"],
    ),
    "objects": ({"X": X.astype(object), "y": Y}, None, ["without pickles", "allow_pickle"]),
    "names too few": ({"X": X, "y": Y, "feature_names": ["a"]}, None, ["feature_names", "2 texts"]),
    "names no text": ({"X": X, "y": Y, "feature_names": [1, 2]}, None, ["2 texts", "int64"]),
    "names twice": ({"X": X, "y": Y, "feature_names": ["a", "a"]}, None, ["both named 'a'"]),
    "target is a feature": ({"X": X, "y": Y}, "x1", ["'x1' names a feature"]),
    "other arrays": ({"X": X, "Y": Y}, None, ["'X', 'Y'", "did you mean 'y'?"]),
    "X beside others": ({"X": X, "z": Y}, "z", ["'X', 'z'", "give X and y"]),
    "columns, no target": ({"a": Y, "b": Y}, None, ["'a', 'b'", "set `target`"]),
    "columns, no such target": ({"a": Y, "bb": Y}, "bbb", ["did you mean 'bb'?"]),
    "column lengths": ({"a": Y, "b": Y[:2]}, "a", ["'b' has 2", "'a' has 3"]),
    "column is a matrix": ({"a": X, "b": Y}, "b", ["array 'a' has shape (3, 2)"]),
    "scalar": ({"a": 1.0, "b": Y}, "b", ["array 'a' has shape ()"]),
    "large integer": (
        {"a": np.array([1, 2**53 + 1, 3]), "b": Y},
        "b",
        ["column 'a', row 2", "9007199254740993", "2**53"],
    ),
}


@pytest.mark.parametrize(
    ("arrays", "target", "parts"), BROKEN_ARRAYS.values(), ids=BROKEN_ARRAYS.keys()
)
def test_broken_arrays(
    tmp_path: Path, arrays: dict[str, Any], target: str | None, parts: list[str]
) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset(save(tmp_path, **arrays), DataSpec(target=target))
    for part in ["data.npz", *parts]:
        assert part in str(caught.value)


@pytest.mark.parametrize("number", [2**53, -(2**60), 2**63])
def test_large_integers_that_are_exact_pass(tmp_path: Path, number: int) -> None:
    kind = np.uint64 if number > 0 else np.int64
    path = save(tmp_path, X=X, y=np.array([1, 1, abs(number)]).astype(kind))
    assert load_dataset(path).y[2] == abs(number)


def test_not_a_zip(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    path.write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"cannot be read as \.npz"):
        load_dataset(path)
    with pytest.raises(DataError, match="does not exist"):
        load_dataset(tmp_path / "other.npz")


def test_a_truncated_archive(tmp_path: Path) -> None:
    path = save(tmp_path, X=X, y=Y)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(DataError, match=r"cannot be read as \.npz"):
        load_dataset(path)


def test_an_archive_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", b"no array")
        archive.writestr("y.npy", b"no array")
    with pytest.raises(DataError, match=r"X has shape \(\)"):
        load_dataset(path)


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", b"\0" * 1000)
    content = bytearray(path.read_bytes())
    directory = content.rfind(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = (2**32 - 2).to_bytes(4, "little")
    second = content[directory:].replace(b"X.npy", b"y.npy", 1)
    end = second.rfind(b"PK\x05\x06")
    entry, tail = second[:end], bytearray(second[end:])
    tail[8:12] = b"\x02\x00\x02\x00"
    tail[12:16] = (2 * len(entry)).to_bytes(4, "little")
    path.write_bytes(bytes(content[: directory + len(entry)] + entry + tail))
    with pytest.raises(DataError, match="unpacks to 8,589,934,588 bytes"):
        load_dataset(path)


@pytest.mark.parametrize("suffix", [".joblib", ".pkl"])
def test_pair_of_arrays(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"data{suffix}"
    joblib.dump((X, Y), path)
    data = load_dataset(path, DataSpec(target="period"))
    assert (data.target, data.features) == ("period", ("x0", "x1"))
    assert np.array_equal(data.X, X)


def test_pair_of_lists(tmp_path: Path) -> None:
    path = tmp_path / "data.joblib"
    joblib.dump([X.tolist(), Y.tolist()], path)
    assert np.array_equal(load_dataset(path).X, X)


def test_objects_in_a_pair_are_named(tmp_path: Path) -> None:
    path = tmp_path / "data.joblib"
    joblib.dump((np.array([[1.0, "a"], [2.0, "b"], [3.0, "c"]], dtype=object), Y), path)
    with pytest.raises(DataError, match=r"column 'x0', row 1: holds an object of type float"):
        load_dataset(path)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ({"X": X, "y": Y}, "pair (X, y), not a dict"),
        ((X, Y, Y), "pair (X, y), not a tuple"),
        (X, "not an array of float64 with shape (3, 2)"),
        ((3.0, Y), "X has shape ()"),
        (([[1.0], [2.0, 3.0]], Y), "X is no array"),
        ((X, [[1.0], [2.0, 3.0]]), "y is no array"),
    ],
)
def test_not_a_pair(tmp_path: Path, content: Any, part: str) -> None:
    path = tmp_path / "data.joblib"
    joblib.dump(content, path)
    with pytest.raises(DataError) as caught:
        load_dataset(path)
    assert part in str(caught.value)


def test_not_a_pickle(tmp_path: Path) -> None:
    path = tmp_path / "data.pkl"
    path.write_bytes(b"no pickle")
    with pytest.raises(DataError, match="cannot be unpickled"):
        load_dataset(path)


class Frame:
    """As much of a data frame as is used: named columns, each with values."""

    def __init__(self, **columns: list[Any]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, name: str) -> Any:
        return np.array(
            self._columns[name], dtype=object if isinstance(self._columns[name][0], str) else None
        )


def test_data_frame_names_its_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, Frame.__module__, sys.modules[__name__])
    path = tmp_path / "data.joblib"
    joblib.dump((Frame(mass=[1, 2, 3], kind=["a", "b", "a"]), Y), path)
    data = load_dataset(path, DataSpec(categorical="codes"))
    assert data.features == ("mass", "kind")
    assert data.X.tolist() == [[1.0, 0.0], [2.0, 1.0], [3.0, 0.0]]

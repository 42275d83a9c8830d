"""Folders made from tables, in the library and on the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from srh.cli import app
from srh.context import (
    DataSpec,
    import_table,
    inspect_context_data,
    load_context_data,
    load_dataset,
    write_context_data,
)
from srh.context.manifest import AxisSpec, VariableSpec
from srh.errors import DataError
from srh.scaffold import new_formula_trial, new_task

CSV = "a (cm),y,site\n1,2.5,north\n,3.5,\n3,4.5,süd\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


def test_a_table_becomes_a_folder_that_says_the_same(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "context.data"
    told = {"units": {"a (cm)": "cm"}, "descriptions": {"y": "a yield"}}
    assert import_table(table, folder, **told) == (3, 3)
    loaded = load_context_data(folder)
    assert loaded.data["a (cm)"].tolist() == pytest.approx([1.0, np.nan, 3.0], nan_ok=True)
    assert loaded.data["site"].tolist() == ["north", "", "süd"]
    assert loaded.variables == {"a (cm)": "[cm]", "y": "a yield", "site": ""}
    assert list(json.loads((folder / "manifest.json").read_text())["variables"]) == [
        "a (cm)",
        "y",
        "site",
    ]
    spec = DataSpec(target="y", missing="keep", categorical="codes")
    ours, theirs = load_dataset(folder, spec), load_dataset(table, spec)
    assert ours.features == theirs.features
    assert ours.categories == theirs.categories
    for name, column in theirs.columns.items():
        assert np.array_equal(ours.columns[name], column, equal_nan=True)


def test_a_folder_is_never_overwritten_nor_left_half(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "context.data"
    folder.mkdir()
    with pytest.raises(DataError, match="is there already"):
        import_table(table, folder)
    table.write_text("a/b,y\n1,2\n")
    with pytest.raises(DataError, match="cannot be the name of a file"):
        import_table(table, tmp_path / "other")
    with pytest.raises(DataError, match="cannot be written"):
        write_context_data(tmp_path / "no" / "where", {}, {}, {})
    x = VariableSpec(file="x.npy", description="", axes=["row"])
    with pytest.raises(DataError, match="'row' has length 3, the array 2"):
        write_context_data(
            tmp_path / "broken",
            {"x": np.zeros(2)},
            {"x": x},
            {"row": AxisSpec(description="", size=3)},
        )
    assert {entry.name for entry in tmp_path.iterdir()} == {"context.data", "table.csv"}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", "a,b\n", "has no data rows"),
        ("t.xlsx", "a", "use a .csv or .parquet file"),
        ("t.parquet", "a", "cannot be read as Parquet"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        import_table(tmp_path / name, tmp_path / "context.data")


def test_units_and_descriptions_are_for_columns(table: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column 'a'"):
        import_table(table, tmp_path / "context.data", units={"a": "cm"})


def test_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {"n": [1, 2, None], "x": [0.5, None, 1.5], "site": ["a", None, "b"]}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    import_table(tmp_path / "t.parquet", tmp_path / "context.data")
    loaded = load_context_data(tmp_path / "context.data").data
    assert loaded["n"].tolist() == pytest.approx([1.0, 2.0, np.nan], nan_ok=True)
    assert loaded["x"].tolist() == pytest.approx([0.5, np.nan, 1.5], nan_ok=True)
    assert loaded["site"].tolist() == ["a", "", "b"]
    parquet.write_table(pa.table({"flag": [True, False]}), tmp_path / "b.parquet")
    with pytest.raises(DataError, match="'flag' has the type bool; store 0 and 1"):
        import_table(tmp_path / "b.parquet", tmp_path / "b.data")


def test_parquet_takes_an_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install 'srh\[frames\]'"):
        import_table(tmp_path / "t.parquet", tmp_path / "context.data")


def test_the_commands(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def srh(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, arguments)
        return result.exit_code, result.output

    code, said = srh("data", "import", "table.csv", "--unit", "y=kg", "--describe", "y=a=b")
    assert (code, "made context.data: 3 variables of 3 rows" in said) == (0, True)
    assert load_context_data("context.data").variables["y"] == "a=b [kg]"
    code, said = srh("data", "check", "context.data")
    assert (code, "note: context.data/manifest.json: variables.site" in said) == (0, True)
    assert srh("data", "import", "table.csv", "-o", "b", "--unit", "kg")[0] == 2
    Path("context.data/y.npy").unlink()
    code, said = srh("data", "check", "context.data")
    assert code == 2
    assert "error: context.data/y.npy: variables.y.file: does not exist" in said
    assert inspect_context_data("context.data").errors


@pytest.mark.slow
def test_a_task_of_a_folder_evaluates(project, tmp_path: Path) -> None:
    from srh.report.run import run_task

    import_table(project.tasks / "line" / "data.csv", tmp_path / "context.data")
    task, _ = new_task(project, "folder", tmp_path / "context.data", "y")
    assert (task.folder / "context.data" / "manifest.json").is_file()
    new_formula_trial(project, task, "straight", formula="param('a')*x + param('b')")
    new_formula_trial(project, task, "twice", formula="2*x")
    run = run_task(project, task, [], jobs=1)
    assert not run.any_failed
    assert {row.trial for row in run.board.rows} == {"straight", "twice"}
    assert task.data_digest.startswith("sha256:")


def test_formulas_of_a_task_use_what_stands_beside_its_columns(project, tmp_path: Path) -> None:
    from srh.report.run import run_task

    times = np.linspace(1.0, 4.0, 40)
    arrays = {"t": times, "v": 9.81 * times, "g": np.array(9.81)}
    variables = {
        name: VariableSpec(file=f"{name}.npy", description=name, axes=["row"] if n.ndim else [])
        for name, n in arrays.items()
    }
    rows = {"row": AxisSpec(description="rows", size=40)}
    write_context_data(tmp_path / "context.data", arrays, variables, rows)
    task, decided = new_task(project, "fall", tmp_path / "context.data", "v")
    assert "features 't'" in decided
    new_formula_trial(project, task, "law", formula="g*t")
    (row,) = run_task(project, task, [], jobs=1).board.rows
    assert row.metrics["rmse"] < 1e-12

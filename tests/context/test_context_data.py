"""One test per rule of the ``context.data`` format: the message names file, field and rule."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from srh.context import (
    digest_data,
    inspect_context_data,
    load_context_data,
    load_dataset,
)
from srh.context.data import DataSpec
from srh.errors import ContextManifestError, DataError, FormatError, SrhError
from srh.evaluator import DefaultEvaluator

Manifest = dict[str, Any]


def make_folder(place: Path, change: Callable[[Manifest], Any] | None = None) -> Path:
    """Write a folder of a small network: 5 times, 3 nodes, 4 edges, 2 hyperedges."""
    folder = place / "context.data"
    folder.mkdir()
    arrays = {
        "t": np.arange(5.0),
        "x": np.arange(15.0).reshape(5, 3),
        "y": np.linspace(0, 1, 5),
        "omega": np.array([0.1, 0.2, 0.3]),
        "w": np.ones(4),
        "g": np.array(9.81),
        "A": np.array([[0, 1], [1, 0], [1, 2], [2, 0]]),
        "H": np.array([[0, 1, 2], [2, 1, 0]]),
    }
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    axes = {"t": ["t"], "x": ["t", "node"], "y": ["t"], "omega": ["node"], "w": ["edge"], "g": []}
    manifest: Manifest = {
        "variables": {
            name: {"file": f"{name}.npy", "description": f"the {name}", "axes": list(names)}
            for name, names in axes.items()
        },
        "axes": {
            "t": {"description": "time", "file": "t.npy"},
            "node": {"description": "nodes", "values": ["a", "b", "c"]},
            "edge": {"description": "edges", "size": 4},
            "hyper": {"description": "hyperedges", "size": 2},
            "end": {"description": "target, source", "size": 2},
            "triple": {"description": "target, two sources", "size": 3},
        },
        "num_nodes": 3,
    }
    for name, names in (("A", ["edge", "end"]), ("H", ["hyper", "triple"])):
        manifest["variables"][name] = {
            "file": f"{name}.npy",
            "description": "who acts on whom",
            "axes": names,
            "kind": "relation",
        }
    manifest["variables"]["w"]["structure"] = "A"
    if change is not None:
        change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def test_a_folder_loads_with_everything_that_it_says(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    assert inspect_context_data(folder).errors == []
    assert inspect_context_data(folder).warnings == []
    loaded = load_context_data(folder)
    assert loaded.sizes == {"t": 5, "node": 3, "edge": 4, "hyper": 2, "end": 2, "triple": 3}
    assert loaded.coordinates["node"].tolist() == ["a", "b", "c"]
    context = loaded.context("x", evaluator=DefaultEvaluator, workspace=tmp_path)
    assert context.relation_names == ("A", "H")
    assert context.structures == {"w": "A"}
    assert context.num_nodes == 3
    assert context.axes["x"] == ("t", "node")
    assert context.variables["omega"] == "the omega"
    assert context.aligned() == {"t", "x", "y"}
    assert context.train_split.data["x"].shape == (4, 3)
    assert context.train_split.data["A"] is context.data["A"]


def test_arrays_are_mapped_and_cannot_be_written(tmp_path: Path) -> None:
    loaded = load_context_data(make_folder(tmp_path))
    assert isinstance(loaded.data["x"].base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        loaded.data["x"][0, 0] = 1.0


def entry(name: str, **fields: Any) -> Callable[[Manifest], Any]:
    return lambda manifest: manifest["variables"][name].update(fields)


def axis(name: str, **fields: Any) -> Callable[[Manifest], Any]:
    return lambda manifest: manifest["axes"].update({name: {"description": "d", **fields}})


def drop(*path: str) -> Callable[[Manifest], Any]:
    def change(manifest: Manifest) -> None:
        for key in path[:-1]:
            manifest = manifest[key]
        del manifest[path[-1]]

    return change


def drop_relations(manifest: Manifest) -> None:
    for name in ("A", "H"):
        del manifest["variables"][name]["kind"]
    del manifest["variables"]["w"]["structure"]


WHERE = "context.data/manifest.json: "


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("variables"), "variables: required field is missing"),
        (drop("axes"), "axes: required field is missing"),
        (lambda m: m.update(nodes=3), "nodes: unknown field (did you mean 'num_nodes'?)"),
        (lambda m: m.update(variables={}), "variables: is empty"),
        (drop("variables", "x", "file"), "variables.x.file: required field is missing"),
        (drop("variables", "x", "description"), "variables.x.description: required field is"),
        (drop("variables", "x", "axes"), "variables.x.axes: required field is missing"),
        (entry("x", axs=[]), "variables.x.axs: unknown field (did you mean 'axes'?)"),
        (entry("x", axes="t"), "variables.x.axes: Expected `array`"),
        (entry("x", file="X.npy"), "variables.x.file: must be exactly 'x.npy', not 'X.npy'"),
        (entry("x", file="../x.npy"), "variables.x.file: must be exactly 'x.npy', not '../x.npy'"),
        (entry("x", file="/etc/x.npy"), "variables.x.file: must be exactly 'x.npy'"),
        (lambda m: m["variables"].update({"../x": {}}), "variables.../x: a name is printable"),
        (lambda m: m["variables"].update({" x": {}}), "variables.x: write the name as"),
        (
            entry("x", axes=["t", "nodes"]),
            "variables.x.axes: 'nodes' is declared in `axes` nowhere",
        ),
        (axis("spare", size=2), "axes.spare: is used by no variable; remove it"),
        (axis("node"), "axes.node: must have exactly one of `values`, `file`, `size`, not none"),
        (axis("node", size=3, values=[1, 2, 3]), "axes.node: must have exactly one of"),
        (axis("node", size=-1), "axes.node.size: must not be negative"),
        (axis("t", file="x.npy"), "axes.t.file: must be exactly 't.npy', not 'x.npy'"),
        (drop("axes", "node", "description"), "axes.node.description: required field is missing"),
        (drop("num_nodes"), "num_nodes: is required, as there is a relation"),
        (drop_relations, "num_nodes: belongs to relations, and there is none; remove it"),
        (lambda m: m.update(num_nodes=-3), "num_nodes: must not be negative"),
        (entry("A", kind="graph"), "variables.A.kind: 'graph' is not one of 'relation'"),
        (entry("A", axes=["edge"]), "variables.A.axes: a relation has two axes"),
        (entry("A", structure="H"), "variables.A.structure: a relation follows no other"),
        (entry("w", structure="x"), "variables.w.structure: 'x' is no relation"),
        (entry("g", structure="A"), "variables.g.structure: a single number has no axis"),
    ],
)
def test_what_a_manifest_must_not_say(
    tmp_path: Path, change: Callable[[Manifest], Any], message: str
) -> None:
    folder = make_folder(tmp_path, change)
    errors = inspect_context_data(folder).errors
    assert any(error.startswith(WHERE + message) for error in errors), errors
    with pytest.raises(ContextManifestError, match="manifest"):
        load_context_data(folder)


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("x", np.zeros((5, 3, 1)), "variables.x.axes: names 2 axes, and the array has 3"),
        ("x", np.zeros((5, 4)), "variables.x.axes: 'node' has length 3, the array 4 along it"),
        ("x", np.zeros((4, 3)), "variables.x.axes: 't' has length 5, the array 4 along it"),
        ("x", np.zeros((5, 3), complex), "variables.x.file: holds complex128"),
        ("t", np.zeros((5, 1)), "axes.t.file: has shape (5, 1)"),
        ("w", np.ones(5), "variables.w.structure: the last axis has 5 values, relation 'A' 4"),
        ("A", np.zeros((4, 4), int), "variables.A.kind: a relation has shape (E, 2)"),
        ("A", np.zeros((4, 2)), "variables.A.kind: a relation holds integers"),
        ("A", np.zeros((4, 2), bool), "variables.A.kind: a relation holds integers"),
        ("A", np.array([[0, 1], [0, 3], [1, 2], [2, 0]]), "variables.A.kind: row 1 is [0, 3]"),
        ("H", np.array([[0, 1, -1], [2, 1, 0]]), "variables.H.kind: row 0 is [0, 1, -1]"),
    ],
)
def test_what_an_array_must_not_be(
    tmp_path: Path, name: str, array: np.ndarray, message: str
) -> None:
    folder = make_folder(tmp_path)
    np.save(folder / f"{name}.npy", array)
    where = f"context.data/{name}.npy: "
    errors = inspect_context_data(folder).errors
    assert any(error.startswith(where + message) for error in errors), errors
    with pytest.raises(ContextManifestError):
        load_context_data(folder)


def test_files_that_are_no_arrays(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    np.save(folder / "x.npy", np.array([{}, []], dtype=object), allow_pickle=True)
    (folder / "y.npy").write_bytes(b"not an array")
    (folder / "omega.npy").unlink()
    (folder / "w.npy").unlink()
    (folder / "w.npy").symlink_to(folder / "t.npy")
    (folder / "g.npy").write_bytes((folder / "A.npy").read_bytes()[:-8])
    errors = inspect_context_data(folder).errors
    for start in (
        "context.data/x.npy: variables.x.file: holds Python objects",
        "context.data/y.npy: variables.y.file: cannot be read as .npy",
        "context.data/omega.npy: variables.omega.file: does not exist",
        "context.data/w.npy: variables.w.file: must be a regular file, not a link",
        "context.data/g.npy: variables.g.file: cannot be read as .npy",
    ):
        assert any(error.startswith(start) for error in errors), (start, errors)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"variables": {}, "axes": {}, "axes": {}}', "duplicate key 'axes'"),
        ('{"variables": {"x": {}, "x": {}}, "axes": {}}', "duplicate key 'x'"),
        ("[]", "manifest.json"),
        ("{", "not valid JSON"),
        ('{"variables": {}, "axes": {}, "num_nodes": NaN}', "not a finite number"),
    ],
)
def test_manifests_that_are_no_json_object(tmp_path: Path, content: str, message: str) -> None:
    folder = make_folder(tmp_path)
    (folder / "manifest.json").write_text(content)
    (error, *_) = inspect_context_data(folder).errors
    assert error.startswith("context.data/manifest.json: ")
    assert message in error
    with pytest.raises(ContextManifestError, match=r"manifest\.json"):
        load_context_data(folder)


def test_folders_without_a_manifest(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert inspect_context_data(tmp_path / "empty").errors == [
        "empty/manifest.json: does not exist"
    ]
    with pytest.raises(ContextManifestError, match="is no folder"):
        load_context_data(tmp_path / "nowhere")


def test_empty_arrays_and_relations(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, axis("edge", size=0))
    np.save(folder / "A.npy", np.empty((0, 2), int))
    np.save(folder / "w.npy", np.empty(0))
    assert load_context_data(folder).data["A"].shape == (0, 2)


def test_what_is_probably_not_meant_is_a_warning(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, entry("x", description=" "))
    np.save(folder / "old.npy", np.zeros(3))
    assert inspect_context_data(folder).errors == []
    assert load_context_data(folder).warnings == [
        "context.data/old.npy: is not named in manifest.json",
        "context.data/manifest.json: variables.x.description: is empty; say what it means",
    ]


def test_all_mistakes_are_told_together(tmp_path: Path) -> None:
    def change(manifest: Manifest) -> None:
        entry("x", file="z.npy")(manifest)
        drop("num_nodes")(manifest)
        axis("spare", size=2)(manifest)

    with pytest.raises(FormatError) as caught:
        load_context_data(make_folder(tmp_path, change))
    assert len(caught.value.problems) == 3


def test_the_digest_follows_manifest_and_arrays(tmp_path: Path) -> None:
    folder = make_folder(tmp_path)
    before = digest_data(folder)
    assert digest_data(folder) == before
    (folder / "notes.txt").write_text("no data")
    assert digest_data(folder) == before
    np.save(folder / "y.npy", np.linspace(0, 2, 5))
    changed = digest_data(folder)
    assert changed != before
    (folder / "y.npy").rename(folder / "z.npy")
    assert digest_data(folder) not in (before, changed)
    with pytest.raises(DataError, match="cannot be read"):
        digest_data(tmp_path / "nowhere")


def test_a_folder_as_a_task_reads_it(tmp_path: Path) -> None:
    dataset = load_dataset(make_folder(tmp_path), DataSpec(target="y"))
    assert dataset.features == ("t",)
    assert set(dataset.structured.arrays) == {"x", "omega", "w", "g", "A", "H"}
    assert dataset.structured.samples == {"x"}
    assert dataset.structured.num_nodes == 3
    assert set(dataset.formula_names) == {"t", "x", "omega", "w", "g", "A", "H"}
    some = dataset.take([3, 1])
    assert some.y.tolist() == [0.75, 0.25]
    assert some.structured.arrays["x"].tolist() == [[9.0, 10.0, 11.0], [3.0, 4.0, 5.0]]
    assert some.structured.arrays["A"] is dataset.structured.arrays["A"]


def test_what_a_task_may_choose_of_a_folder(tmp_path: Path) -> None:
    folder = make_folder(tmp_path, entry("t", unit="s"))
    chosen = load_dataset(folder, DataSpec(target="y", features=["omega"], units={"y": "m"}))
    assert chosen.features == ()
    assert set(chosen.structured.arrays) == {"omega", "A", "H"}
    assert chosen.units == {"t": "s", "y": "m"}
    for spec, message in (
        (DataSpec(), "set `target`"),
        (DataSpec(target="z"), "no column 'z'"),
        (DataSpec(target="x"), "the axes t, node; a task's target has one value per row"),
        (DataSpec(target="g"), "no axis"),
        (DataSpec(target="y", features=["omga"]), "did you mean 'omega'"),
    ):
        with pytest.raises(SrhError, match=message):
            load_dataset(folder, spec)


@pytest.mark.slow
def test_two_gigabytes_load_at_once_and_are_evaluated_in_bounded_memory(tmp_path: Path) -> None:
    script = """
import sys, time, tracemalloc
from srh.context import SplitOptions, load_context_data
from srh.engine import parse
from srh.evaluator import DefaultEvaluator

started = time.perf_counter()
loaded = load_context_data(sys.argv[1])
context = loaded.context("y", evaluator=DefaultEvaluator, args=SplitOptions(method="chronological"))
assert time.perf_counter() - started < 1.0
tracemalloc.start()
values = parse("3*x + 1").evaluate(context.validation_split)
assert values.shape == (2**23 // 4,), values.shape
assert values[0] == 1.0
held, peak = tracemalloc.get_traced_memory()
assert held < 100 * 2**20, held
assert peak < 400 * 2**20, peak
"""
    folder = tmp_path / "context.data"
    folder.mkdir()
    names = ["y", "x", *(f"z{i}" for i in range(30))]
    for name in names:  # 32 files of 64 MiB, without a block on disk but the header
        np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float64, (2**23,))
    told = {n: {"file": f"{n}.npy", "description": "d", "axes": ["row"]} for n in names}
    axes = {"row": {"description": "rows", "size": 2**23}}
    (folder / "manifest.json").write_text(json.dumps({"variables": told, "axes": axes}))
    subprocess.run([sys.executable, "-c", script, str(folder)], check=True, timeout=120)

"""Which files of packages belong to data sets, and what is granted around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from srh.sandbox import packages
from srh.sandbox.packages import bundled_data, grants_for, is_data_folder
from srh.sandbox.readable import readable, system_grants


@pytest.mark.parametrize(
    ("name", "in_data_folder", "expected"),
    [
        ("iris.csv", False, True),
        ("diabetes_data_raw.csv.gz", False, True),
        ("faithful.RData", False, True),
        ("table.parquet", False, True),
        ("_sobol_direction_numbers.npz", False, False),
        ("METADATA", False, False),
        ("__init__.py", False, False),
        ("style.css", False, False),
        ("digits.npz", True, True),
        ("cars.json", True, True),
        ("NOTICE", True, True),
        ("_base.py", True, False),
        ("_svmlight_format_fast.cpython-311-x86_64-linux-gnu.so", True, False),
    ],
)
def test_names(name, in_data_folder, expected):
    assert bundled_data(name, in_data_folder=in_data_folder) is expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("data", True),
        ("_data", True),
        ("datasets", True),
        ("Dataset", True),
        ("vega_datasets", True),
        (".cached_datasets", True),
        ("sample_data", True),
        ("package_data", False),
        ("mpl-data", False),
        ("metadata", False),
        ("tzdata", False),
        ("database", False),
    ],
)
def test_folders(name, expected):
    assert is_data_folder(name) is expected


def tree(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return root


def granted(root: Path, name: str) -> bool:
    """Tell whether a file may be read, as the kernel would judge it from the grants."""
    paths = [
        Path(grant.path) for grant in grants_for(str(root)) if grant.rights & packages.READ & 4
    ]
    return any(path == root / name or path in (root / name).parents for path in paths)


def test_a_package_without_data_is_granted_whole(tmp_path):
    root = tree(tmp_path, "plain/__init__.py", "plain/deep/er/code.py", "plain/table.npz")
    assert [grant.path for grant in grants_for(str(root))] == [str(root)]


def test_grants_lead_around_data(tmp_path):
    root = tree(
        tmp_path,
        "stats/__init__.py",
        "stats/datasets/__init__.py",
        "stats/datasets/cars/load.py",
        "stats/datasets/cars/cars.csv",
        "stats/datasets/cars/__pycache__/load.cpython-311.pyc",
        "stats/datasets/prose.rst",
        "stats/tables/coefficients.npz",
        "stats/loose.arff",
        "stats-1.0.dist-info/RECORD",
        "stats/tests/data/fixture.npz",
        "other/code.py",
    )
    readable_names = {
        str(path.relative_to(root))
        for path in root.rglob("*")
        if path.is_file() and granted(root, str(path.relative_to(root)))
    }
    everything = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert everything - readable_names == {
        "stats/datasets/cars/cars.csv",
        "stats/datasets/prose.rst",
        "stats/loose.arff",
    }


def test_the_targets_of_links_are_granted_too(tmp_path):
    """An installer may put links to its cache in place of files."""
    cache = tree(tmp_path / "cache", "code.py", "table.csv")
    root = tmp_path / "site"
    (root / "package").mkdir(parents=True)
    (root / "package" / "code.py").symlink_to(cache / "code.py")
    (root / "package" / "table.csv").symlink_to(cache / "table.csv")
    paths = [grant.path for grant in grants_for(str(root))]
    assert str(cache / "code.py") in paths
    assert str(cache / "table.csv") not in paths


def test_holes_are_left_out_wherever_they_lie(tmp_path):
    root = tree(tmp_path, "a/b/keep", "a/b/hole/x", "a/c")
    system = set(system_grants())
    hole = [root / "a" / "b" / "hole"]
    paths = {
        grant.path for grant in readable([root], hole) if grant not in system and grant.rights & 4
    }
    own = {path for path in paths if path.startswith(str(root))}
    assert own == {str(root / "a" / "c"), str(root / "a" / "b" / "keep")}


def test_neither_the_whole_prefix_nor_the_whole_system_is_granted():
    paths = {grant.path for grant in system_grants() if grant.rights & 4}
    assert not paths & {"/", "/usr", "/usr/lib", "/usr/share", "/etc", "/proc", "/home", "/root"}

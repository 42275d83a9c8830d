"""Installed packages: what of them a contestant may read.

Packages bring data sets along, whose labels a trial could simply import. A general rule withholds
them: a file in a format of tables, wherever it is in a package; and every file but code in a folder
that is named after data. Packages stay importable, and the tables of coefficients that they compute
with stay readable. So do the fixtures of their own tests: they are many, and seldom anybody's data.
"""

from __future__ import annotations

import os
import re
import site
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from srh.sandbox.landlock import READ, READ_DIR, Grant

CODE: Final = (".py", ".pyi", ".pyc", ".so", ".pyx", ".pxd", ".h")
"""Endings of what is code."""

_TABLE: Final = re.compile(
    r"\.(csv|tsv|tab|arff|parquet|feather|dta|sav|sas7bdat|xpt|xlsx?|ods|rda|rds|rdata)"
    r"(\.(gz|bz2|xz|zip|zst|lzma))?$",
    re.IGNORECASE,
)
_DATA_FOLDER: Final = re.compile(
    r"[._]*((sample|test|toy|example)_?)?data|[._]*rdata|.*data_?sets?", re.IGNORECASE
)
_TESTS: Final = ("tests", "test")
_NOT_SEARCHED: Final = ("__pycache__", ".dist-info", ".egg-info", ".libs")  # endings of names


def package_folders() -> list[str]:
    """Return the folders that packages are installed in, among those that are searched."""
    known = {os.path.realpath(place) for place in site.getsitepackages()}
    searched = dict.fromkeys(os.path.realpath(path) for path in sys.path if path)
    return [path for path in searched if path in known and Path(path).is_dir()]


def grants_for(folder: str) -> list[Grant]:
    """Return the grants for what may be read in a folder of packages, or in one package.

    Args:
        folder: The folder, without links in its path.
    """
    links: list[str] = []
    inside = is_data_folder(os.path.basename(folder))  # noqa: PTH119 - a name out of a path
    inner = _survey(folder, in_data_folder=inside, links=links)
    grants = [Grant(folder, READ)] if inner is None else [Grant(folder, READ_DIR), *inner]
    targets = {os.path.realpath(link) for link in links}
    return grants + [Grant(path, READ) for path in sorted(targets) if not within(path, folder)]


def withheld_data() -> Iterator[Path]:
    """Yield the files of data sets in the installed packages: what the general rule withholds."""
    for root in package_folders():
        for folder, folders, names in os.walk(root):
            inside = any(map(is_data_folder, Path(folder).relative_to(root).parts))
            folders[:] = [
                name
                for name in folders
                if not name.endswith(_NOT_SEARCHED) and (inside or name not in _TESTS)
            ]
            for name in names:
                if bundled_data(name, in_data_folder=inside):
                    yield Path(folder, name)


def bundled_data(name: str, *, in_data_folder: bool) -> bool:
    """Tell whether a file in a package belongs to a data set, by its name and place.

    Args:
        name: Name of the file.
        in_data_folder: Whether it lies in or under a folder that is named after data.
    """
    if name.endswith(CODE):
        return False
    return in_data_folder or _TABLE.search(name) is not None


def is_data_folder(name: str) -> bool:
    """Tell whether a folder in a package is named after data."""
    return _DATA_FOLDER.fullmatch(name) is not None


def _survey(folder: str, *, in_data_folder: bool, links: list[str]) -> list[Grant] | None:
    """Return the grants for what may be read in a folder of packages; None: all of it may.

    Args:
        folder: The folder.
        in_data_folder: Whether it is, or lies under, a folder named after data.
        links: Receives the links that are met: a folder's grant does not reach where they lead.
    """
    kept: list[str] = []
    inside: list[Grant] = []
    whole = True
    for entry in entries_of(folder):
        name = entry.name
        if entry.is_dir(follow_symlinks=False):
            inner = _survey_folder(entry, in_data_folder, links)
            if inner is not None:
                whole = False
                inside += inner
                continue
        elif bundled_data(name, in_data_folder=in_data_folder):
            whole = False
            continue
        elif entry.is_symlink():
            links.append(entry.path)
        kept.append(name)
    return None if whole else [Grant(f"{folder}/{name}", READ) for name in kept] + inside


def _survey_folder(
    entry: os.DirEntry[str], in_data_folder: bool, links: list[str]
) -> list[Grant] | None:
    name = entry.name
    if name.endswith(_NOT_SEARCHED) or (name in _TESTS and not in_data_folder):
        return None
    inside = in_data_folder or is_data_folder(name)
    return _survey(entry.path, in_data_folder=inside, links=links)


def entries_of(folder: str) -> list[os.DirEntry[str]]:
    """Return what lies in a folder; nothing if we may not list it, for then nobody here may."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def within(path: str, folder: str) -> bool:
    """Tell whether a path is a folder's or leads into it; both without links and dots."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")

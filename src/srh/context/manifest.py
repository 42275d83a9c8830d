"""``manifest.json``: what the arrays of a ``context.data`` folder are.

The file's root has ``variables`` and ``axes``, by name, and ``num_nodes`` where there are
relations. This module reads it and checks what can be checked without an array.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

from srh.context.data import column_name
from srh.errors import FormatError
from srh.files import FileRefusedError, read_regular
from srh.formats import decode, read_json
from srh.text import did_you_mean, one_line

MANIFEST = "manifest.json"
MANIFEST_LIMIT = 16 << 20
"""Largest manifest in bytes; long axes belong in files."""

_LONGEST_NAME = 200

T = TypeVar("T")


class VariableSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One array.

    Attributes:
        file: Exactly ``<name>.npy``.
        description: What it means.
        axes: Name of each of its axes.
        kind: ``"relation"`` for the integer table of a graph or hypergraph, target first.
        structure: Relation that the last axis follows: one value per row of it.
        unit: Free text.
    """

    file: str
    description: str
    axes: list[str]
    kind: Literal["relation"] | None = None
    structure: str | None = None
    unit: str = ""


class AxisSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One axis: a description, and exactly one of the others.

    Attributes:
        description: What it means.
        values: Its coordinates, numbers or texts.
        file: Exactly ``<name>.npy``, with its coordinates.
        size: Its length, where it has no coordinates.
    """

    description: str
    values: list[float | int | str] | None = None
    file: str | None = None
    size: int | None = None


@dataclass(frozen=True)
class Manifest:
    """The entries that could be read.

    Attributes:
        variables: By name, as formulas write it.
        axes: By name.
        num_nodes: Number of nodes.
    """

    variables: Mapping[str, VariableSpec] = field(default_factory=dict)
    axes: Mapping[str, AxisSpec] = field(default_factory=dict)
    num_nodes: int | None = None

    @property
    def relation_names(self) -> tuple[str, ...]:
        """Names of the variables that are relations."""
        return tuple(name for name, spec in self.variables.items() if spec.kind == "relation")

    @property
    def structures(self) -> dict[str, str]:
        """Relation of each variable that follows one."""
        return {
            name: spec.structure
            for name, spec in self.variables.items()
            if spec.structure is not None
        }


class _Root(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    variables: dict[str, Any]
    axes: dict[str, Any]
    num_nodes: int | None = None


def read_manifest(folder: Path) -> tuple[Manifest, list[str]]:
    """Read the manifest of a folder.

    Returns:
        What could be read, and what is wrong: one sentence per mistake, beginning with its field.

    Raises:
        FormatError: There is no manifest, or it is no JSON object of the right shape.
    """
    where, path = f"{folder.name}/{MANIFEST}", folder / MANIFEST
    try:
        content = read_regular(path, MANIFEST_LIMIT)
    except FileRefusedError as error:
        raise FormatError(where, [str(error).removeprefix(f"{path}: ")]) from error
    root = decode(_Root, read_json(content, where), where)
    problems: list[str] = []
    manifest = Manifest(
        _entries(VariableSpec, "variables", root.variables, problems),
        _entries(AxisSpec, "axes", root.axes, problems),
        root.num_nodes,
    )
    for name, variable in manifest.variables.items():
        problems += _variable_problems(name, variable, manifest)
    for name, axis in manifest.axes.items():
        problems += _axis_problems(name, axis)
    return manifest, problems + _whole_problems(root, manifest)


def file_problem(name: str) -> str | None:
    """Return why a name cannot be that of a variable or an axis with a file, if it cannot."""
    if not name or len(name) > _LONGEST_NAME:
        return f"a name has 1 to {_LONGEST_NAME} characters"
    if name != column_name(name):
        return f"write the name as formulas do: {column_name(name)!r}"
    if any(char in "/\\`" or not char.isprintable() for char in name) or name.startswith("."):
        return "a name is printable, without slashes and backticks, and begins with no dot"
    return None


def _entries(kind: type[T], group: str, raw: dict[str, Any], problems: list[str]) -> dict[str, T]:
    found: dict[str, T] = {}
    for name, entry in raw.items():
        where = f"{group}.{one_line(name, 60)}"
        wrong = file_problem(name)
        if wrong:
            problems.append(f"{where}: {wrong}")
            continue
        try:
            found[name] = decode(kind, entry, where)
        except FormatError as error:
            problems += [_join(where, problem) for problem in error.problems]
    return found


def _join(where: str, problem: str) -> str:
    """Put an entry's path before a problem, which may begin with the field's own name."""
    field_name, mark, _ = problem.partition(": ")
    return f"{where}.{problem}" if mark and " " not in field_name else f"{where}: {problem}"


def _variable_problems(name: str, spec: VariableSpec, manifest: Manifest) -> list[str]:
    where = f"variables.{name}"
    problems = _file_problems(name, spec.file, where)
    problems += [
        f"{where}.axes: {axis!r} is declared in `axes` nowhere{did_you_mean(axis, manifest.axes)}"
        for axis in spec.axes
        if axis not in manifest.axes
    ]
    if spec.kind == "relation" and len(spec.axes) != 2:
        problems.append(f"{where}.axes: a relation has two axes, its rows and its columns")
    if spec.structure is None:
        return problems
    if spec.kind == "relation":
        problems.append(f"{where}.structure: a relation follows no other")
    elif spec.structure not in manifest.relation_names:
        hint = did_you_mean(spec.structure, manifest.relation_names)
        problems.append(f"{where}.structure: {spec.structure!r} is no relation{hint}")
    elif not spec.axes:
        problems.append(f"{where}.structure: a single number has no axis that could follow it")
    return problems


def _axis_problems(name: str, spec: AxisSpec) -> list[str]:
    where = f"axes.{name}"
    given = [key for key in ("values", "file", "size") if getattr(spec, key) is not None]
    problems = [] if spec.file is None else _file_problems(name, spec.file, where)
    if len(given) != 1:
        found = " and ".join(given) or "none"
        problems.append(f"{where}: must have exactly one of `values`, `file`, `size`, not {found}")
    if spec.size is not None and spec.size < 0:
        problems.append(f"{where}.size: must not be negative, not {spec.size}")
    return problems


def _file_problems(name: str, file: str, where: str) -> list[str]:
    expected = f"{name}.npy"
    if file == expected:
        return []
    return [f"{where}.file: must be exactly {expected!r}, not {one_line(file, 80)!r}"]


def _whole_problems(root: _Root, manifest: Manifest) -> list[str]:
    """Return what is wrong between the entries."""
    problems = []
    if not root.variables:
        problems.append("variables: is empty; there must be at least one")
    used = {axis for spec in manifest.variables.values() for axis in spec.axes}
    if len(manifest.variables) == len(root.variables):  # else who used it could not be read
        problems += [
            f"axes.{name}: is used by no variable; remove it"
            for name in manifest.axes
            if name not in used
        ]
    has_relation = bool(manifest.relation_names)
    if has_relation and root.num_nodes is None:
        problems.append("num_nodes: is required, as there is a relation")
    if not has_relation and root.num_nodes is not None:
        problems.append("num_nodes: belongs to relations, and there is none; remove it")
    if root.num_nodes is not None and root.num_nodes < 0:
        problems.append(f"num_nodes: must not be negative, not {root.num_nodes}")
    return problems


def empty_descriptions(manifest: Manifest) -> list[str]:
    """Return one warning per entry without a description."""
    groups: dict[str, Mapping[str, VariableSpec | AxisSpec]] = {
        "variables": manifest.variables,
        "axes": manifest.axes,
    }
    return [
        f"{group}.{name}.description: is empty; say what it means"
        for group, entries in groups.items()
        for name, spec in entries.items()
        if not spec.description.strip()
    ]

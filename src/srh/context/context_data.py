"""``context.data`` folders: a manifest, and one ``.npy`` file per variable and long axis.

Arrays are mapped into memory, read-only: what nobody computes with is never read, and a folder
larger than memory can be used. Nothing is unpickled, and no link is followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.context.agent_context import AgentContext, Splitter
from srh.context.manifest import (
    MANIFEST,
    AxisSpec,
    Manifest,
    VariableSpec,
    empty_descriptions,
    read_manifest,
)
from srh.context.manifest_check import array_problems, relation_problems
from srh.context.split_options import SplitOptions
from srh.digest import digest_file, digest_value
from srh.errors import ContextManifestError, DataError, FormatError
from srh.text import one_line

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class ContextReport:
    """What is to be said of a folder, one sentence each, beginning with the file.

    Attributes:
        errors: Rules that it breaks.
        warnings: What works but is probably not meant.
    """

    errors: list[str]
    warnings: list[str]


@dataclass(frozen=True, eq=False)
class ContextData:
    """A loaded folder.

    Attributes:
        path: The folder.
        manifest: What its manifest says.
        data: Variables by name, read-only.
        coordinates: Axes by name, ``(length,)``, those that have coordinates.
        sizes: Length of every axis.
        warnings: See `ContextReport`.
    """

    path: Path
    manifest: Manifest
    data: Mapping[str, NDArray[Any]]
    coordinates: Mapping[str, NDArray[Any]]
    sizes: Mapping[str, int]
    warnings: list[str]

    @property
    def variables(self) -> dict[str, str]:
        """What each variable means, with its unit where it has one."""
        return {
            name: f"{spec.description} [{spec.unit}]".strip() if spec.unit else spec.description
            for name, spec in self.manifest.variables.items()
        }

    @property
    def axes(self) -> dict[str, tuple[str, ...]]:
        """Names of each variable's axes."""
        return {name: tuple(spec.axes) for name, spec in self.manifest.variables.items()}

    def context(
        self,
        target: str,
        *,
        evaluator: Splitter | None = None,
        args: SplitOptions | None = None,
        workspace: Path | None = None,
    ) -> AgentContext:
        """Return a context of all variables, without reading them.

        Raises:
            DataError: The target is no variable, or a single number.
        """
        return AgentContext(
            self.data,
            target,
            evaluator=evaluator,
            args=args,
            num_nodes=self.manifest.num_nodes,
            relation_names=self.manifest.relation_names,
            structures=self.manifest.structures,
            axes=self.axes,
            variables=self.variables,
            workspace=workspace,
        )


def inspect_context_data(path: str | Path) -> ContextReport:
    """Check a folder, whatever is wrong with it.

    Args:
        path: The folder.

    Returns:
        All errors and warnings. A folder without errors can be loaded.
    """
    try:
        data, errors = _read(Path(path))
    except FormatError as error:
        return ContextReport(str(error).splitlines(), [])
    return ContextReport(errors, data.warnings)


def load_context_data(path: str | Path) -> ContextData:
    """Load a folder; its arrays are mapped, not read.

    Raises:
        ContextManifestError: It breaks rules: all of them, each with file and field.
    """
    folder = Path(path)
    try:
        data, errors = _read(folder)
    except FormatError as error:
        raise ContextManifestError(error.where, error.problems) from error
    if errors:
        prefix = f"{folder.name}/"
        raise ContextManifestError(folder.name, [error.removeprefix(prefix) for error in errors])
    return data


def digest_data(path: Path) -> str:
    """Return the digest of a data file, or of a folder's manifest and arrays.

    Raises:
        DataError: It cannot be read.
    """
    try:
        if not path.is_dir():
            return digest_file(path)
        names = [MANIFEST, *sorted(entry.name for entry in path.glob("*.npy"))]
        return digest_value({name: digest_file(path / name) for name in names})
    except OSError as error:
        what = "folder" if path.is_dir() else "file"
        raise DataError(f"{path}: the data {what} cannot be read ({error.strerror})") from error


def _read(folder: Path) -> tuple[ContextData, list[str]]:
    """Return what could be loaded, and the errors."""
    if not folder.is_dir():
        raise FormatError(str(folder), ["is no folder with a manifest and arrays"])
    manifest, problems = read_manifest(folder)
    errors = [f"{folder.name}/{MANIFEST}: {problem}" for problem in problems]
    coordinates = _load_axes(folder, manifest, errors)
    sizes = {name: spec.size for name, spec in manifest.axes.items() if spec.size is not None}
    sizes |= {name: len(values) for name, values in coordinates.items()}
    arrays = {
        name: array
        for name, spec in manifest.variables.items()
        if (array := _load(folder, f"variables.{name}", name, spec, errors)) is not None
    }
    for name, array in arrays.items():
        spec = manifest.variables[name]
        found = array_problems(name, spec, array.shape, sizes)
        if spec.kind == "relation":
            found += relation_problems(name, array, manifest.num_nodes)
        elif spec.structure in arrays and array.ndim:
            found += _structure_problems(name, spec.structure, array, arrays[spec.structure])
        errors += [f"{folder.name}/{spec.file}: {problem}" for problem in found]
    used = {MANIFEST, *(spec.file for spec in manifest.variables.values())}
    used |= {spec.file for spec in manifest.axes.values() if spec.file is not None}
    unused = sorted(entry.name for entry in folder.glob("*.npy") if entry.name not in used)
    warnings = [f"{folder.name}/{name}: is not named in {MANIFEST}" for name in unused]
    warnings += [f"{folder.name}/{MANIFEST}: {told}" for told in empty_descriptions(manifest)]
    return ContextData(folder, manifest, arrays, coordinates, sizes, warnings), errors


def _load_axes(folder: Path, manifest: Manifest, errors: list[str]) -> Arrays:
    found: Arrays = {}
    for name, spec in manifest.axes.items():
        if spec.values is not None:
            try:
                found[name] = np.array(spec.values)
            except OverflowError:
                errors.append(f"{folder.name}/{MANIFEST}: axes.{name}.values: beyond float64")
        elif spec.file is not None:
            array = _load(folder, f"axes.{name}", name, spec, errors)
            if array is not None and array.ndim != 1:
                errors.append(
                    f"{folder.name}/{spec.file}: axes.{name}.file: has shape {array.shape}; the "
                    "coordinates of an axis are (length,)"
                )
            elif array is not None:
                found[name] = array
    return found


def _load(
    folder: Path, field: str, name: str, spec: VariableSpec | AxisSpec, errors: list[str]
) -> NDArray[Any] | None:
    """Map one array, or say what keeps it from being one."""
    if spec.file != f"{name}.npy":
        return None  # the manifest's check has said so
    path, problem = folder / spec.file, None
    if path.is_symlink() or not path.is_file():
        there = path.is_symlink() or path.exists()
        problem = "must be a regular file, not a link or a folder" if there else "does not exist"
    else:
        try:
            array: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
        except (OSError, ValueError, EOFError) as error:
            problem = (
                "holds Python objects; store numbers or texts"
                if "Python object" in str(error)
                else f"cannot be read as .npy: {one_line(str(error))}"
            )
        else:
            if array.dtype.kind in "biufU":
                return np.asarray(array)
            problem = f"holds {array.dtype}; store real numbers, booleans or texts"
    errors.append(f"{folder.name}/{spec.file}: {field}.file: {problem}")
    return None


def _structure_problems(
    name: str, relation: str, array: NDArray[Any], table: NDArray[Any]
) -> list[str]:
    if table.ndim != 2 or array.shape[-1] == len(table):
        return []
    return [
        f"variables.{name}.structure: the last axis has {array.shape[-1]} values, relation "
        f"{relation!r} {len(table)} rows"
    ]

"""A ``context.data`` folder as a table: the variables along one axis, and the others beside it."""

from __future__ import annotations

from pathlib import Path

from srh.context.array_files import table_column
from srh.context.context_data import ContextData, load_context_data
from srh.context.data import column_name, no_such_column
from srh.context.structured import Structured
from srh.context.table import Table, check_names
from srh.errors import DataError
from srh.text import one_line


def read_context_table(path: Path, target: str | None) -> Table:
    """Load a folder as a table whose rows are the target's only axis.

    Args:
        path: The folder.
        target: Name of the target.

    Returns:
        Variables with just that axis are columns; all others, relations among them, are
        `Table.structured`.

    Raises:
        ContextManifestError: The folder breaks the rules of its format.
        DataError: There is no such target, or it has not one axis.
    """
    loaded = load_context_data(path)
    if target is None:
        shown = ", ".join(repr(one_line(name, 40)) for name in list(loaded.data)[:12])
        raise DataError(f"{path.name}: set `target` in [data] to one of its variables: {shown}")
    target = column_name(target)
    if target not in loaded.data:
        raise no_such_column(target, list(loaded.data), f"{path.name}: target")
    axes = loaded.axes
    if len(axes[target]) != 1:
        shape = f"the axes {', '.join(axes[target])}" if axes[target] else "no axis"
        raise DataError(
            f"{path.name}: the target {target!r} has {shape}; a task's target has one value per "
            "row, along one axis"
        )
    (row_axis,) = axes[target]
    along = [name for name in loaded.data if axes[name] == (row_axis,)]
    return Table(
        where=path.name,
        columns={
            name: table_column(name, loaded.data[name], path.name)
            for name in check_names(along, path.name)
        },
        n_rows=loaded.sizes[row_axis],
        target=target,
        notes=tuple(loaded.warnings),
        units={name: spec.unit for name, spec in loaded.manifest.variables.items() if spec.unit},
        structured=_beside(loaded, along, row_axis),
    )


def _beside(loaded: ContextData, along: list[str], row_axis: str) -> Structured:
    axes, relations = loaded.axes, loaded.manifest.relation_names
    others = {name: array for name, array in loaded.data.items() if name not in along}
    return Structured(
        arrays=others,
        samples=frozenset(
            name for name in others if axes[name][:1] == (row_axis,) and name not in relations
        ),
        relation_names=relations,
        structures=loaded.manifest.structures,
        num_nodes=loaded.manifest.num_nodes,
        axes=axes,
        descriptions=loaded.variables,
    )

"""A program on fixed rows: evaluated for many parameter values, differentiated exactly.

What depends on no parameter is computed once. One reverse sweep over the nodes gives the
derivatives for all parameters: rows are independent, therefore the sweep carries one adjoint *per
row*, and the adjoints that arrive at the parameters are the columns of the Jacobian.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from srh.engine.columns import Table

if TYPE_CHECKING:
    from srh.engine.program import Program


class Frame:
    """A program on fixed rows, evaluated for many parameter values.

    ``reverse`` keeps the plans of its sweeps: a frame serves one thread, each fit makes its own.

    Args:
        program: The program.
        table: Columns of ``m`` rows, or with any shapes that broadcast together with the
            parameters given to ``forward``.
    """

    def __init__(self, program: Program, table: Table) -> None:
        self.program = program
        self._known: list[Any] = [None] * len(program.nodes)
        self._leaves: list[tuple[int, int]] = []
        steps = []
        with np.errstate(all="ignore"):
            for position, node in enumerate(program.nodes):
                if node.kind == "constant":
                    # A NumPy scalar: dividing by a Python zero would raise.
                    self._known[position] = np.float64(node.value)
                elif node.kind == "column":
                    self._known[position] = table.values[node.name]
                elif node.kind == "parameter":
                    self._leaves.append((position, program.parameters.index(node.name)))
                elif node.kernel is not None and node.mask == 0:
                    self._known[position] = node.kernel.numpy(
                        *(self._known[arg] for arg in node.args)
                    )
                elif node.kernel is not None:
                    steps.append((position, node.kernel.numpy, node.args, node.mask))
        self._steps = tuple(steps)
        self._sweeps: dict[tuple[int, int], tuple[Any, ...]] = {}

    def forward(self, parameters: Sequence[Any]) -> list[Any]:
        """Compute all nodes; the caller holds ``np.errstate``.

        Args:
            parameters: One number or array per parameter name.

        Returns:
            One number or array per node; the last is the formula's value.
        """
        values = self._known.copy()
        for position, leaf in self._leaves:
            values[position] = parameters[leaf]
        for position, function, args, _ in self._steps:
            values[position] = function(*[values[arg] for arg in args])
        return values

    def update(self, values: list[Any], parameters: Sequence[Any], mask: int) -> list[Any]:
        """Compute again only what depends on the parameters in ``mask``."""
        values = values.copy()
        for position, leaf in self._leaves:
            if mask >> leaf & 1:
                values[position] = parameters[leaf]
        for position, function, args, depends in self._steps:
            if depends & mask:
                values[position] = function(*[values[arg] for arg in args])
        return values

    def reverse(
        self, values: Sequence[Any], wanted: int, root: int | None = None
    ) -> dict[int, Any]:
        """Differentiate one node with respect to parameters, by one sweep from it.

        Args:
            values: From ``forward`` or ``update``.
            wanted: Bit mask of parameters.
            root: Position of the node to differentiate; by default the result.

        Returns:
            Per wanted parameter on which the node depends: its derivative in every row (a plain
            number where it is the same in all).
        """
        root = self.program.root if root is None else root
        sweep = self._sweeps.get((root, wanted))
        if sweep is None:
            sweep = self._sweeps[root, wanted] = self._plan_sweep(root, wanted)
        adjoint: dict[int, Any] = {root: 1.0}
        for position, args, index, partial in sweep:
            own = adjoint[position]
            slope = partial(*[values[arg] for arg in args], value=values[position])
            # Numbers 1.0 and -1.0 are what sums and negations give: no arithmetic is needed.
            if isinstance(slope, float) and slope == 1.0:
                slope = own
            elif isinstance(own, float) and own == 1.0:
                pass
            else:
                slope = own * slope
            target = args[index]
            adjoint[target] = adjoint[target] + slope if target in adjoint else slope
        return {leaf: adjoint[position] for position, leaf in self._leaves if position in adjoint}

    def _plan_sweep(self, root: int, wanted: int) -> tuple[Any, ...]:
        nodes = self.program.nodes
        reached = {root}
        sweep = []
        for position in range(root, -1, -1):
            kernel = nodes[position].kernel
            if position not in reached or kernel is None:
                continue
            args = nodes[position].args
            for index, arg in enumerate(args):
                if nodes[arg].mask & wanted:
                    reached.add(arg)
                    sweep.append((position, args, index, kernel.partials[index]))
        return tuple(sweep)

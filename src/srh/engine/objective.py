"""The sum of squares as a function of the nonlinear parameters alone.

For given nonlinear parameters θ the formula is ``f₀(θ) + Σ cₖ φₖ(θ)`` with linear parameters c.
They are solved exactly at every point, which leaves the projected residual
``r(θ) = P⊥ (y − f₀)``, where P⊥ removes the span of the φₖ. Its derivative is taken in Kaufman's
approximation ``−P⊥ ∂f/∂θ`` (at the solved c): the neglected term is of second order at the solution
(Kaufman 1975; Golub and Pereyra 2003).

Rows in which the formula is not defined count by number: a point with fewer of them is better than
any with more, so that a start in a bad region can still walk out of it. Rows are scaled by the root
of their weight, target and columns each by a power of two that brings them near 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from srh.engine.columns import Table
from srh.engine.layout import ArrowLayout, Leaf
from srh.engine.leastsquares import Basis, solve
from srh.engine.program import Program
from srh.engine.structure import bits

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

HUGE = 1e120
"""Values from here on are unusable: their squares might overflow."""
_UNDONE = 1e-11
# From so many grouped nonlinear slots on, their Jacobian is kept compressed.
_MANY_SLOTS = 24


@dataclass(frozen=True, slots=True)
class Point:
    """The objective at one place.

    Attributes:
        theta: All parameters ``(p,)``, the linear ones solved.
        undefined: Number of rows in which the formula has no usable value.
        cost: Sum of squared scaled residuals over the other rows.
        residual: Projected, scaled residual ``(n,)``; 0 in undefined rows.
        basis: Span of the linear parameters' columns.
        defined: Mask of usable rows, or None if all are.
        values: Node values of each frame, if they were kept.
    """

    theta: Array
    undefined: int
    cost: float
    residual: Array
    basis: Basis
    defined: NDArray[np.bool_] | None
    values: list[list[Any]]

    def better_than(self, other: Point) -> bool:
        """Compare by undefined rows first, then by cost."""
        return (self.undefined, self.cost) < (other.undefined, other.cost)


class Objective:
    """Least squares of one formula on fixed rows; the caller holds ``np.errstate``.

    Args:
        program: The formula.
        table: Columns of the rows to fit.
        target: ``(n,)``, finite.
        weights: Row weights ``(n,)``, positive, or None for 1.
        leaves: Layout of the parameter vector, in the order of ``program.parameters``.
        linear: Bit mask of the parameters to be solved inside.
    """

    def __init__(
        self,
        program: Program,
        table: Table,
        target: Array,
        weights: Array | None,
        leaves: Sequence[Leaf],
        linear: int,
    ) -> None:
        self.program, self.table, self.target, self.leaves = program, table, target, tuple(leaves)
        self.weights = weights
        self.evaluations = 0
        self.linear = linear
        self.nonlinear = ((1 << len(leaves)) - 1) & ~linear
        self.nonlinear_parameters = bits(self.nonlinear)
        self.size = sum(leaf.size for leaf in leaves)
        self.roots = None if weights is None else np.sqrt(weights)
        self.scale = near_one(np.max(np.abs(target), initial=0.0))
        self.factor = self.scale * (np.float64(1.0) if self.roots is None else self.roots)
        self._frames = program.frames(table)
        self._codes = [table.groups[leaf.label][1] if leaf.label else None for leaf in leaves]
        self._plan_linear()
        self.free_slots = np.array(
            [s for k in self.nonlinear_parameters for s in range(self.size)[leaves[k].slots]],
            np.intp,
        )
        self.arrow = self._plan_arrow()

    @cached_property
    def total(self) -> float:
        """Sum of squares of the scaled target."""
        return float(np.sum((self.target * self.factor) ** 2))

    @cached_property
    def variation(self) -> float:
        """Sum of squares of what the best constant leaves of the scaled target."""
        scaled = self.target * self.factor
        return float(np.sum((scaled - np.mean(scaled)) ** 2))

    @cached_property
    def rounding(self) -> float:
        """Cost if each residual is a rounding error of the largest target."""
        peak = float(np.max(np.abs(self.target), initial=0.0))
        squares = np.broadcast_to(self.factor * peak, self.target.shape) ** 2
        total = float(np.sum(squares))
        return total * float(np.finfo(np.float64).eps) ** 2

    def _plan_linear(self) -> None:
        """Decide which linear parameters are compressed blocks: those of one label column."""
        grouped = [k for k in bits(self.linear) if self.leaves[k].label]
        largest = max(grouped, key=lambda k: self.leaves[k].size, default=None)
        label = None if largest is None else self.leaves[largest].label
        self._blocked = [k for k in grouped if self.leaves[k].label == label]
        self._block_codes = None if largest is None else self._codes[largest]
        self._dense = [k for k in bits(self.linear) if k not in self._blocked]
        self._dense_rows = sum(self.leaves[k].size for k in self._dense)
        self._linear_slots = [self.leaves[k].slots for k in bits(self.linear)]

    def _plan_arrow(self) -> ArrowLayout | None:
        """Decide whether Jacobians stay compressed: many groups, all of one label column."""
        members = bits(self.nonlinear)
        local = [k for k in members if self.leaves[k].label]
        labels = {self.leaves[k].label for k in local + self._blocked}
        if sum(self.leaves[k].size for k in local) < _MANY_SLOTS or len(labels) != 1:
            return None
        codes = self._codes[local[0]]
        assert codes is not None  # noqa: S101 - grouped parameters have codes
        shared = [k for k in members if k not in local]
        groups = self.leaves[local[0]].size
        place = {slot: index for index, slot in enumerate(self.free_slots.tolist())}
        starts = np.array([place[self.leaves[k].start] for k in local], np.intp)
        return ArrowLayout(
            (local, shared),
            codes,
            groups,
            starts[:, None] + np.arange(groups),
            np.array([place[self.leaves[k].start] for k in shared], np.intp),
        )

    def arguments(self, theta: Array, rows: slice) -> list[Any]:
        """Return each parameter's value in some rows, as frames take them."""
        return [
            theta[leaf.start] if codes is None else theta[leaf.slots][codes[rows]]
            for leaf, codes in zip(self.leaves, self._codes, strict=True)
        ]

    def point(self, theta: Array) -> Point:
        """Evaluate the objective: solve the linear parameters, return the projected residual.

        Args:
            theta: All parameters ``(p,)``; entries of linear ones are ignored.
        """
        self.evaluations += 1
        theta = theta.copy()
        for slots in self._linear_slots:
            theta[slots] = 0.0
        n_rows, count = self.table.n_rows, self._dense_rows
        # The right side stands below the dense columns: they are reduced together.
        together = np.zeros((count + 1, n_rows))
        columns, right = together[:count], together[count]
        blocks = np.zeros((len(self._blocked), n_rows))
        kept: list[list[Any]] = []
        for rows, frame in self._frames:
            values = frame.forward(self.arguments(theta, rows))
            np.subtract(self.target[rows], values[-1], out=right[rows])
            if self.linear:
                slopes = frame.reverse(values, self.linear)
                self._spread(slopes, self._dense, columns, rows)
                for index, k in enumerate(self._blocked):
                    blocks[index, rows] = slopes.get(k, 0.0)
            if len(self._frames) == 1:
                kept.append(values)
        right *= self.factor
        squares = np.einsum("ij,ij->i", together, together)
        defined, scales, block_scales = self._prepare(together, blocks, squares)
        solution = solve(together, squares, list(blocks), self._block_codes)
        dense = solution.dense * (scales / self.scale)
        grouped = [c * f / self.scale for c, f in zip(solution.grouped, block_scales, strict=True)]
        self._store(theta, dense, grouped)
        residual = solution.residual
        undefined = 0 if defined is None else int(n_rows - np.count_nonzero(defined))
        cost = float(np.einsum("i,i->", residual, residual))
        if not math.isfinite(cost):
            undefined, cost = n_rows, np.inf
        return Point(theta, undefined, cost, residual, solution.basis, defined, kept)

    def _prepare(
        self, together: Array, blocks: Array, squares: Array
    ) -> tuple[NDArray[np.bool_] | None, Any, Array]:
        """Scale and weight columns in place, blank unusable rows, renew the sums of squares.

        Returns:
            The mask of usable rows or None, and the scales of dense columns and of blocks.
        """
        # Far from the ends of the range of float64 nothing needs to be scaled.
        moderate = all(1e-200 < square < 1e200 for square in squares.tolist())
        if moderate and self.roots is None and not len(blocks):
            return None, 1.0, blocks
        scales = scale_columns(together[:-1], self.roots)
        block_scales = scale_columns(blocks, self.roots)
        defined = _usable(together, blocks)
        if defined is not None:
            for array in (together, blocks):
                array[:, ~defined] = 0.0
        np.einsum("ij,ij->i", together, together, out=squares)
        return defined, scales, block_scales

    def slopes(self, point: Point) -> Array:
        """Return the projected, scaled derivatives by the nonlinear slots ``(k, n)``."""
        self.evaluations += 1
        jacobian = self._derivatives(point, self.nonlinear)
        if point.defined is not None:
            jacobian[:, ~point.defined] = 0.0
        # A derivative may be infinite where the value is finite (sqrt at 0): such rows say nothing.
        before = np.einsum("ij,ij->i", jacobian, jacobian)
        if not all(square < HUGE for square in before.tolist()):
            jacobian[~(np.abs(jacobian) < HUGE)] = 0.0
            before = np.einsum("ij,ij->i", jacobian, jacobian)
        if not self.linear:
            return jacobian
        point.basis.project(jacobian)
        # What the linear parameters can undo leaves rounding noise, which would look like a slope.
        noise = np.einsum("ij,ij->i", jacobian, jacobian) <= _UNDONE**2 * before
        if True in noise.tolist():
            jacobian[noise] = 0.0
        return jacobian

    def compressed_slopes(self, point: Point) -> tuple[Array, Array]:
        """Return what ``slopes`` does, compressed, for grouped and for shared parameters.

        Only the blocks of grouped linear parameters are projected out: they stay in their group.
        """
        assert self.arrow is not None  # noqa: S101 - the caller has looked
        found = []
        for members in self.arrow.members:
            jacobian = self.compressed_jacobian(point, members)
            if point.defined is not None:
                jacobian[:, ~point.defined] = 0.0
            before = np.einsum("ij,ij->i", jacobian, jacobian)
            for block in point.basis.blocks:
                block.remove_from(jacobian)
            after = np.einsum("ij,ij->i", jacobian, jacobian)
            jacobian[after <= _UNDONE**2 * before] = 0.0
            found.append(jacobian)
        return found[0], found[1]

    def full_jacobian(self, point: Point) -> Array:
        """Return the scaled derivatives by all slots ``(p, n)``, not projected."""
        self.evaluations += 1
        jacobian = self._derivatives(point, self.linear | self.nonlinear)
        jacobian[~np.isfinite(jacobian)] = 0.0
        return jacobian

    def compressed_jacobian(self, point: Point, members: Sequence[int]) -> Array:
        """Return scaled derivatives by parameters, grouped ones in the row's own group.

        Args:
            point: Where.
            members: Parameter indices, ``m`` of them.

        Returns:
            ``(m, n)``.
        """
        self.evaluations += 1
        jacobian = np.zeros((len(members), self.table.n_rows))
        for rows, frame in self._frames:
            values = frame.forward(self.arguments(point.theta, rows))
            slopes = frame.reverse(values, sum(1 << k for k in members))
            for index, k in enumerate(members):
                jacobian[index, rows] = slopes.get(k, 0.0)
        jacobian *= self.factor
        jacobian[~np.isfinite(jacobian)] = 0.0
        return jacobian

    def _derivatives(self, point: Point, wanted: int) -> Array:
        members = bits(wanted)
        jacobian = np.zeros((sum(self.leaves[k].size for k in members), self.table.n_rows))
        for index, (rows, frame) in enumerate(self._frames):
            arguments = self.arguments(point.theta, rows)
            if point.values:
                values = frame.update(point.values[index], arguments, self.linear)
            else:
                values = frame.forward(arguments)
            self._spread(frame.reverse(values, wanted), members, jacobian, rows)
        jacobian *= self.factor
        return jacobian

    def _spread(
        self, slopes: dict[int, Any], members: Sequence[int], out: Array, rows: slice
    ) -> None:
        """Write derivatives by parameter into one row of ``out`` per slot."""
        first = 0
        for k in members:
            codes = self._codes[k]
            if codes is None:
                out[first, rows] = slopes.get(k, 0.0)
            else:
                local = codes[rows]
                place = np.arange(rows.start, rows.start + len(local))
                out[first + local, place] = slopes.get(k, 0.0)
            first += self.leaves[k].size

    def _store(self, theta: Array, dense: Array, grouped: Sequence[Array]) -> None:
        first = 0
        for k in self._dense:
            size = self.leaves[k].size
            theta[self.leaves[k].slots] = dense[first : first + size]
            first += size
        for k, values in zip(self._blocked, grouped, strict=True):
            theta[self.leaves[k].start : self.leaves[k].start + len(values)] = values


def near_one(sizes: Any) -> Any:
    """Return the powers of two, which change no digits, that bring sizes near 1."""
    return np.ldexp(1.0, -np.maximum(np.frexp(sizes)[1], -1000))


def scale_columns(columns: Array, roots: Array | None) -> Array:
    """Bring columns ``(..., n)`` near 1 and weight their rows, in place; return the scales."""
    if not columns.size:
        return np.ones(columns.shape[:-1])
    sizes = np.max(np.abs(columns), axis=-1)
    if not np.isfinite(sizes).all():
        sizes = np.max(np.abs(columns), axis=-1, initial=0.0, where=np.isfinite(columns))
    scales = near_one(sizes)
    columns *= scales[..., None]
    if roots is not None:
        columns *= roots
    return np.asarray(scales)


def _usable(together: Array, blocks: Array) -> NDArray[np.bool_] | None:
    """Return the mask of rows whose entries are all finite and small enough, None if all are."""
    if all(np.max(np.abs(array)) < HUGE for array in (together, blocks) if array.size):
        return None
    usable = (np.abs(together) < HUGE).all(axis=0) & (np.abs(blocks) < HUGE).all(axis=0)
    return np.asarray(usable)

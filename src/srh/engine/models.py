"""Linear models of a residual around a point, and their damped least-squares steps.

``Dense`` reduces the projected Jacobian to a small triangle and decomposes it once, so that every
damping costs a handful of small products.

``Arrow`` is for nonlinear parameters with one value per group. Their Jacobian columns are zero
outside their group; each group's few normal equations are eliminated, which leaves a small problem
for what all groups share. The columns of shared linear parameters join that problem undamped: that
equals projecting them out, which would fill the groups' columns. Work and memory grow with the
rows, not with rows times groups.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from srh.engine.leastsquares import triangle
from srh.engine.objective import Objective, Point

Array: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]

# Keeps undamped normal equations solvable; relative to columns of length one.
_RIDGE = 1e-13


class Step(Protocol):
    """Steps for any damping.

    Attributes:
        promise: Reduction of the cost that the undamped step predicts.
    """

    promise: float

    def solve(self, damping: float) -> tuple[Array, float]:
        """Return the step of all nonlinear slots and the reduction that it predicts."""


class Model(Protocol):
    """A linear model at a point.

    Attributes:
        lengths: Length of each slot's column.
        gradient: Product of each slot's column with the residual.
    """

    lengths: Array
    gradient: Array

    def step(self, free: Mask, scale: Array) -> Step:
        """Return the steps of free slots, damped in units of ``scale``."""


def linearise(objective: Objective, point: Point) -> Model:
    """Make the model that suits the objective."""
    if objective.arrow is None:
        return Dense(objective.slopes(point), point.residual)
    return Arrow(objective, point)


class Dense:
    """A model with few columns."""

    def __init__(self, slopes: Array, residual: Array) -> None:
        self._matrix, self._right = triangle(slopes, residual)
        self.lengths = np.sqrt(np.einsum("ij,ij->j", self._matrix, self._matrix))
        self.gradient = self._right @ self._matrix

    def step(self, free: Mask, scale: Array) -> Step:
        """Return the steps of free slots, damped in units of ``scale``."""
        return _DenseStep(self._matrix[:, free] / scale[free], self._right, free, scale)


class _DenseStep:
    def __init__(self, matrix: Array, right: Array, free: Mask, scale: Array) -> None:
        if matrix.shape == (1, 1):
            size = abs(matrix[0])
            self._singular, self._right_vectors = size, matrix / np.where(size > 0, size, 1.0)
            self._image = right
        else:
            left, self._singular, self._right_vectors = np.linalg.svd(matrix, full_matrices=False)
            self._image = right @ left
        self._free, self._scale = free, scale
        self.promise = float(self._image @ self._image)

    def solve(self, damping: float) -> tuple[Array, float]:
        s, z = self._singular, self._image
        inverse = s / (s * s + damping)
        shrink = inverse * s
        step = np.zeros(len(self._free))
        step[self._free] = self._right_vectors.T @ (inverse * z) / self._scale[self._free]
        return step, float((z * z * shrink) @ (2.0 - shrink))


class Arrow:
    """A model with a few columns per group and a few shared ones."""

    def __init__(self, objective: Objective, point: Point) -> None:
        layout = objective.arrow
        assert layout is not None  # noqa: S101 - the caller has looked
        self._codes, self._groups = layout.codes, layout.groups
        self.local_places, self.shared_places = layout.local, layout.shared
        self._local, self._shared = objective.compressed_slopes(point)
        squares = np.asarray(point.basis.squares)
        self._fixed = point.basis.vectors[squares > 0] / np.sqrt(squares[squares > 0, None])
        self._residual = point.residual
        self.lengths = np.empty(len(objective.free_slots))
        self.gradient = np.empty_like(self.lengths)
        self._fill(self.lengths, self._local**2, np.einsum("ij,ij->i", self._shared, self._shared))
        self.lengths = np.sqrt(self.lengths)
        along = np.einsum("ij,j->i", self._shared, self._residual)
        self._fill(self.gradient, self._local * self._residual, along)

    def _fill(self, out: Array, local: Array, shared: Array) -> None:
        out[self.local_places] = [self._per_group(row) for row in local]
        out[self.shared_places] = shared

    def _per_group(self, row: Array) -> Array:
        return np.bincount(self._codes, row, self._groups).astype(np.float64)

    def step(self, free: Mask, scale: Array) -> Step:
        """Return the steps of free slots, damped in units of ``scale``."""
        unit = np.where(free, 1.0 / np.where(scale > 0, scale, 1.0), 0.0)
        return _ArrowStep(self, unit)

    def normal_equations(self, unit: Array) -> tuple[Array, Array, Array, Array, Array]:
        """Return the scaled blocks: local, mixed, shared, and the right sides of both."""
        local = self._local * unit[self.local_places][:, self._codes]
        shared = np.vstack([self._shared * unit[self.shared_places][:, None], self._fixed])
        count, across = len(local), len(shared)
        inner = np.empty((self._groups, count, count))
        mixed = np.empty((self._groups, count, across))
        right = np.empty((self._groups, count))
        for i in range(count):
            right[:, i] = self._per_group(local[i] * self._residual)
            for j in range(i + 1):
                inner[:, i, j] = inner[:, j, i] = self._per_group(local[i] * local[j])
            for j in range(across):
                mixed[:, i, j] = self._per_group(local[i] * shared[j])
        outer = np.einsum("in,jn->ij", shared, shared)
        return inner, mixed, outer, right, np.einsum("in,n->i", shared, self._residual)


class _ArrowStep:
    def __init__(self, model: Arrow, unit: Array) -> None:
        self._model, self._unit = model, unit
        self._equations = model.normal_equations(unit)
        self.promise = self.solve(_RIDGE)[1]

    def solve(self, damping: float) -> tuple[Array, float]:
        inner, mixed, outer, right, along = self._equations
        damping = max(damping, _RIDGE)
        damped = len(self._model.shared_places)
        ridge = np.full(len(outer), _RIDGE)
        ridge[:damped] = damping
        # One factorisation for the right side and for the columns that couple to what is shared.
        solved = np.linalg.solve(
            inner + damping * np.eye(inner.shape[1]),
            np.concatenate([right[:, :, None], mixed], axis=2),
        )
        reduced = outer + np.diag(ridge) - np.einsum("gia,gib->ab", mixed, solved[:, :, 1:])
        rest = along - np.einsum("gia,gi->a", mixed, solved[:, :, 0])
        across = np.linalg.lstsq(reduced, rest)[0] if len(rest) else rest
        local = solved[:, :, 0] - np.einsum("gia,a->gi", solved[:, :, 1:], across)
        step = np.zeros(len(self._unit))
        step[self._model.local_places] = local.T
        step[self._model.shared_places] = across[:damped]
        predicted = np.sum(local * right) + float(across @ along)
        predicted += damping * (np.sum(local**2) + np.sum(across[:damped] ** 2))
        return step * self._unit, float(predicted)

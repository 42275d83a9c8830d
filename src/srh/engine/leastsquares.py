"""Linear least squares by modified Gram–Schmidt, with blocks of indicator columns kept compressed.

Columns of a design matrix are the *rows* of the arrays here (``(k, n)``, contiguous), because they
are made and consumed one at a time. Modified Gram–Schmidt applied to ``[columns | right side]`` is
as backward stable for least squares as Householder's QR (Björck 1967) and never needs an
orthogonal factor. Its sums run through ``einsum``, not BLAS, so the bits do not depend on the
number of BLAS threads.

A grouped linear parameter stands for one column per group, each zero outside its group. Such
columns are orthogonal between groups, so the whole block is one array of values and one of group
numbers, whatever the number of groups, and projections are sums per group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.intp]

# A column whose part outside the earlier ones is smaller than this, relative to the column, is
# rounding noise: its coefficient is set to zero.
_DEPENDENT = 1e-13


@dataclass(slots=True)
class Basis:
    """Columns made orthogonal one after the other.

    Attributes:
        blocks: Orthogonalised compressed columns ``(n,)``, with codes and sums of squares by group.
        vectors: Orthogonalised dense columns ``(n,)``.
        squares: Their sums of squares; 0 marks a dependent column.
    """

    blocks: list[_Block] = field(default_factory=list)
    vectors: Array = field(default_factory=lambda: np.empty((0, 0)))
    squares: list[float] = field(default_factory=list)

    def project(self, columns: Array) -> None:
        """Remove from columns ``(k, n)``, in place, what the basis spans."""
        for block in self.blocks:
            block.remove_from(columns)
        for vector, square in zip(self.vectors, self.squares, strict=True):
            if square > 0:
                share = np.einsum("ij,j->i", columns, vector) / square
                columns -= share[:, None] * vector


@dataclass(slots=True)
class _Block:
    values: Array
    codes: Codes
    squares: Array

    def remove_from(self, columns: Array) -> Array:
        groups = len(self.squares)
        shares = np.empty((len(columns), groups))
        with np.errstate(all="ignore"):
            for row in range(len(columns)):
                sums = np.bincount(self.codes, columns[row] * self.values, groups)
                share = np.where(self.squares > 0, sums / self.squares, 0.0)
                columns[row] -= share[self.codes] * self.values
                shares[row] = share
        return shares


@dataclass(frozen=True, slots=True)
class Solution:
    """A solved linear problem.

    Attributes:
        dense: Coefficients of the dense columns ``(k,)``.
        grouped: Coefficients of each compressed column by group.
        residual: Right side minus the combination ``(n,)``.
        basis: For projecting further columns.
    """

    dense: Array
    grouped: list[Array]
    residual: Array
    basis: Basis


def solve(
    together: Array, squares: Array, blocks: Sequence[Array] = (), codes: Codes | None = None
) -> Solution:
    """Solve ``min |right − Σ c·columns − Σ d[codes]·blocks|²`` exactly.

    Args:
        together: Dense columns and below them the right side ``(k + 1, n)``; overwritten, the last
            row becomes the residual.
        squares: Sums of squares of its rows.
        blocks: Compressed columns ``(n,)``, all grouped by the same codes; overwritten.
        codes: Group number of each row, from 0.

    Returns:
        The coefficients; a column that depends on earlier ones gets 0.
    """
    basis = Basis()
    between: list[list[Array]] = []
    for values in blocks:
        assert codes is not None  # noqa: S101 - blocks come with their codes
        groups = int(codes.max()) + 1 if len(codes) else 0
        before = np.bincount(codes, values * values, groups)
        between.append([block.remove_from(values[None])[0] for block in basis.blocks])
        after = np.bincount(codes, values * values, groups).astype(np.float64)
        after[after <= _DEPENDENT**2 * before] = 0.0
        basis.blocks.append(_Block(values, codes, after))
    on_blocks = [block.remove_from(together) for block in basis.blocks]
    upper = _orthogonalise(together, basis, squares)
    dense = _back_substitute(upper, basis.squares)
    grouped = _grouped_coefficients(on_blocks, between, dense, basis)
    return Solution(dense, grouped, together[-1], basis)


def _orthogonalise(together: Array, basis: Basis, before: Array) -> Array:
    """Make all but the last row orthogonal; return the unit upper triangle with right side."""
    count = len(together) - 1
    upper = np.zeros((count, count + 1))
    basis.vectors = together[:count]
    least = (_DEPENDENT**2 * before).tolist()
    for index in range(count):
        vector, rest = together[index], together[index + 1 :]
        products = np.einsum("ij,j->i", together[index:], vector)
        square = float(products[0])
        if not square > least[index]:
            basis.squares.append(0.0)
            continue
        basis.squares.append(square)
        share = upper[index, index + 1 :] = products[1:] / square
        rest -= share[:, None] * vector
    return upper


def _back_substitute(upper: Array, squares: Sequence[float]) -> Array:
    count = len(upper)
    solution = np.zeros(count)
    for index in range(count - 1, -1, -1):
        if squares[index] > 0:
            row = upper[index]
            later = row[index + 1 : count] * solution[index + 1 :]
            solution[index] = row[count] - (later.sum() if len(later) else 0.0)
    return solution


def _grouped_coefficients(
    on_blocks: list[Array], between: list[list[Array]], dense: Array, basis: Basis
) -> list[Array]:
    """Undo the eliminations group by group, last block first."""
    count = len(basis.blocks)
    found: list[Array] = [np.empty(0)] * count
    for index in range(count - 1, -1, -1):
        shares = on_blocks[index]
        value = shares[-1] - np.einsum("i,ij->j", dense, shares[:-1])
        for later in range(index + 1, count):
            value = value - between[later][index] * found[later]
        found[index] = np.where(basis.blocks[index].squares > 0, value, 0.0)
    return found


def triangle(columns: Array, right: Array) -> tuple[Array, Array]:
    """Reduce ``min |right − δ·columns|`` to a triangular problem of the same solution.

    Args:
        columns: ``(k, n)``; overwritten.
        right: ``(n,)``, kept.

    Returns:
        ``R (k, k)`` upper triangular and ``z (k,)`` with ``|R δ − z|`` to be minimised.
    """
    count = len(columns)
    together = np.vstack([columns, right[None]])
    upper = np.zeros((count, count + 1))
    for index in range(count):
        vector = together[index]
        products = np.einsum("ij,j->i", together[index:], vector)
        if not products[0] > 0:
            continue
        length = np.sqrt(products[0])
        upper[index, index:] = products / length
        if index < count - 1:
            together[index + 1 :] -= (products[1:] / products[0])[:, None] * vector
    return upper[:, :count], upper[:, count]


@dataclass(frozen=True, slots=True)
class BatchBasis:
    """Orthogonalised columns of ``B`` small problems.

    Attributes:
        vectors: ``(B, k, m)``.
        inverses: Reciprocals of their sums of squares ``(B, k)``; 0 marks a dependent column.
    """

    vectors: Array
    inverses: Array

    def project(self, columns: Array) -> None:
        """Remove from columns ``(B, c, m)``, in place, what each problem's basis spans."""
        for index in range(self.vectors.shape[1]):
            vector = self.vectors[:, index]
            share = np.einsum("bcm,bm->bc", columns, vector) * self.inverses[:, index, None]
            columns -= share[:, :, None] * vector[:, None]


def solve_batch(together: Array) -> tuple[Array, BatchBasis]:
    """Solve ``B`` small problems at once.

    Args:
        together: Dense columns and below them the right side ``(B, k + 1, m)``; overwritten, the
            last row becomes the residual.

    Returns:
        Coefficients ``(B, k)``, 0 for a column that depends on earlier ones, and the basis.
    """
    size, count = len(together), together.shape[1] - 1
    upper, inverses = np.zeros((size, count, count + 1)), np.zeros((size, count))
    before = np.einsum("bij,bij->bi", together, together)
    for index in range(count):
        vector = together[:, index]
        products = np.einsum("bij,bj->bi", together[:, index:], vector)
        kept = products[:, 0] > _DEPENDENT**2 * before[:, index]
        inverses[:, index] = np.where(kept, 1.0 / np.where(kept, products[:, 0], 1.0), 0.0)
        share = upper[:, index, index + 1 :] = products[:, 1:] * inverses[:, index, None]
        together[:, index + 1 :] -= share[:, :, None] * vector[:, None]
    solution = np.zeros((size, count))
    for index in range(count - 1, -1, -1):
        row = upper[:, index]
        later = np.einsum("bi,bi->b", row[:, index + 1 : count], solution[:, index + 1 :])
        solution[:, index] = np.where(inverses[:, index] > 0, row[:, count] - later, 0.0)
    return solution, BatchBasis(together[:, :count], inverses)

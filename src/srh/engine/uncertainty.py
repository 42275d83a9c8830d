"""How well a fit's parameters are determined: covariance, standard errors, identifiability.

With Jacobian J at the solution and ``s² = loss / (n − p)`` the covariance is ``s² (JᵀJ)⁻¹``.
Columns are
scaled to length one first. Where the scaled Jacobian has a null space the data say nothing about
a combination of parameters: those that take part in it have no standard error, the others keep
theirs (the pseudo-inverse gives it).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from srh.engine.leastsquares import triangle

Array = NDArray[np.float64]

# Eigenvalues of a Gram matrix carry the square of what singular values do.
_NULL_GRAM = 1e-13
_NULL = 1e-12
_TAKES_PART = 1e-6


@dataclass(frozen=True, slots=True)
class Uncertainty:
    """What is known about the slots of a parameter vector.

    Attributes:
        covariance: ``(p, p)``, or None where it is not defined in all entries.
        standard_errors: ``(p,)``, NaN where undefined.
        unidentifiable: Mask of slots that take part in an undetermined combination.
        idle: Mask of slots that change no prediction at all.
    """

    covariance: Array | None
    standard_errors: Array
    unidentifiable: NDArray[np.bool_]
    idle: NDArray[np.bool_]


def uncertainty(jacobian: Array, loss: float, held: NDArray[np.bool_]) -> Uncertainty:
    """Compute covariance and identifiability.

    Args:
        jacobian: Weighted derivatives in the units of ``loss``, one row per slot ``(p, n)``.
        loss: Sum of squared weighted residuals.
        held: Slots that stand at a bound; they are taken as fixed and have no standard error.

    Returns:
        The uncertainty; without degrees of freedom there are no errors, only identifiability.
    """
    size, n_rows = jacobian.shape
    whole, _ = triangle(jacobian, np.zeros(n_rows))
    lengths = np.sqrt(np.einsum("ij,ij->j", whole, whole))
    moving = (lengths > 0) & ~held
    errors = np.full(size, np.nan)
    lost = (lengths == 0) & ~held
    index = np.flatnonzero(moving)
    idle = lengths == 0
    if not len(index):
        return Uncertainty(None, errors, lost, idle)
    # Of the columns that move a triangle is left, below it zeros.
    _, singular, vectors = np.linalg.svd(whole[:, index] / lengths[index], full_matrices=False)
    kept = singular > _NULL * singular[0]
    lost[index] = np.sqrt(np.sum(vectors[~kept] ** 2, axis=0)) > _TAKES_PART
    freedom = n_rows - len(index)
    if freedom <= 0:
        return Uncertainty(None, errors, lost, idle)
    half = vectors[kept] / singular[kept, None] / lengths[index]
    covariance = np.full((size, size), np.nan)
    covariance[np.ix_(index, index)] = half.T @ half * (loss / freedom)
    errors[index] = np.sqrt(np.diag(covariance)[index])
    errors[lost] = np.nan
    return Uncertainty(None if np.isnan(errors).any() else covariance, errors, lost, idle)


def blocked_uncertainty(
    dense: Array, blocks: Array, codes: NDArray[np.intp], groups: int, loss: float
) -> tuple[Uncertainty, Uncertainty]:
    """Compute standard errors where a parameter vector is too long for a matrix.

    Each group's own small normal equations are eliminated, which leaves a small problem for what
    all groups share.

    Args:
        dense: Weighted derivatives by the shared slots ``(k, n)``.
        blocks: By each grouped parameter, in the row's own group ``(b, n)``.
        codes: Group of each row.
        groups: Number of groups.
        loss: Sum of squared weighted residuals.

    Returns:
        The uncertainty of the shared slots, and of the grouped ones (block after block).
    """
    n_rows = len(codes)
    count = len(blocks)

    def per_group(values: Array) -> Array:
        return np.bincount(codes, values, groups).astype(np.float64)

    lengths = np.sqrt([per_group(block * block) for block in blocks])
    unit = blocks / np.where(lengths > 0, lengths, 1.0)[:, codes]
    gram = np.empty((groups, count, count))
    for i in range(count):
        for j in range(count):
            gram[:, i, j] = per_group(unit[i] * unit[j])
    values, vectors = np.linalg.eigh(gram)
    kept = values > _NULL_GRAM
    inverse = np.einsum("gik,gk,gjk->gij", vectors, np.where(kept, 1.0 / values, 0.0), vectors)
    lost = np.einsum("gik,gk->ig", vectors**2, ~kept) > _TAKES_PART
    mixed = np.array([[per_group(column * row) for row in unit] for column in dense])
    mixed = np.einsum("gij,kjg->kig", inverse, mixed.reshape(len(dense), count, groups))
    rest = dense - np.einsum("kin,in->kn", mixed[:, :, codes], unit)
    shared_length = np.sqrt(np.einsum("kn,kn->k", dense, dense))
    rest[np.sqrt(np.einsum("kn,kn->k", rest, rest)) < 1e-10 * shared_length] = 0.0
    shared = uncertainty(rest, loss, np.zeros(len(dense), np.bool_))
    idle = (lengths == 0).reshape(-1)
    freedom = n_rows - int(np.count_nonzero(kept)) - len(dense)
    if freedom <= 0:
        nothing = np.full(count * groups, np.nan)
        no_errors = np.full(len(dense), np.nan)
        return (
            Uncertainty(None, no_errors, shared.unidentifiable, shared_length == 0),
            Uncertainty(None, nothing, lost.reshape(-1), idle),
        )
    # The small problem does not know how many degrees of freedom the groups took.
    ratio = (n_rows - len(dense)) / freedom
    own = np.einsum("gii->ig", inverse) * (loss / freedom)
    if shared.covariance is not None:
        own = own + np.einsum("kig,kl,lig->ig", mixed, shared.covariance * ratio, mixed)
    elif len(dense):
        lost = lost | (np.abs(mixed[shared.unidentifiable]) > _TAKES_PART).any(axis=0)
    errors = np.sqrt(own) / np.where(lengths > 0, lengths, 1.0)
    errors[lost | (lengths == 0)] = np.nan
    return (
        Uncertainty(
            None,
            shared.standard_errors * np.sqrt(ratio),
            shared.unidentifiable,
            shared_length == 0,
        ),
        Uncertainty(None, errors.reshape(-1), (lost | (lengths == 0)).reshape(-1), idle),
    )

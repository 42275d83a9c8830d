"""Which parameters enter a formula linearly.

A set of parameters is linear if the formula is affine in all of them together: then least squares
solves them exactly once the others are known. Each parameter that occurs only inside sums, as a
factor or in a numerator is affine by itself; two such parameters exclude each other where one
multiplies the other. The largest set without such a pair is searched greedily.
"""

from __future__ import annotations

from collections.abc import Sequence

from srh.engine.kernels import PASSING
from srh.engine.program import Node, Program


def bits(mask: int) -> list[int]:
    """Return the positions of the set bits, in order."""
    return [index for index in range(mask.bit_length()) if mask >> index & 1]


def linear_parameters(program: Program, excluded: int = 0) -> int:
    """Find parameters in which the formula is jointly affine.

    Args:
        program: The formula.
        excluded: Bit mask of parameters that shall not be in the set.

    Returns:
        Bit mask of parameters.
    """
    affine = [0] * len(program.nodes)
    bent = [0] * len(program.nodes)
    conflicts = [0] * len(program.parameters)
    for position, node in enumerate(program.nodes):
        if node.kind == "parameter":
            affine[position] = node.mask
        elif node.kernel is not None:
            affine[position], bent[position] = _combine(node, affine, bent, conflicts)
    candidates = affine[-1] & ~bent[-1] & ~excluded
    chosen = 0
    while candidates:
        # Fewest conflicts first; the earlier one wins a tie.
        best = min(bits(candidates), key=lambda k: ((conflicts[k] & candidates).bit_count(), k))
        chosen |= 1 << best
        candidates &= ~(1 << best | conflicts[best])
    return chosen


def _combine(
    node: Node, affine: Sequence[int], bent: Sequence[int], conflicts: list[int]
) -> tuple[int, int]:
    """Return in which parameters an operation is affine, and in which it is not."""
    name = node.kernel.name if node.kernel is not None else ""
    bent_below = 0
    for arg in node.args:
        bent_below |= bent[arg]
    if name in ("+", "-", "neg") or name in PASSING:
        together = 0
        for arg in node.args:
            together |= affine[arg]
        return together, bent_below
    if name == "*":
        left, right = (affine[arg] for arg in node.args)
        for a in bits(left):
            conflicts[a] |= right & ~(1 << a)
        for b in bits(right):
            conflicts[b] |= left & ~(1 << b)
        return left | right, bent_below | (left & right)
    if name in ("/", "delay"):
        return affine[node.args[0]], bent_below | affine[node.args[1]]
    return 0, node.mask

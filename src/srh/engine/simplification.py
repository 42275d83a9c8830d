"""A shorter formula of the same value, by SymPy's rules and our own check.

SymPy proposes, in a process with a time limit; each proposal is compared with the formula at many
points before it is taken, since SymPy computes as if every root and logarithm existed
(``sqrt(x)**2`` is ``x`` to it, also where x is negative) and with numbers of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from srh.engine.expression import Expression, Number
from srh.engine.folding import fold_constants
from srh.engine.leaves import Leaves, agreed
from srh.engine.parser import parse
from srh.engine.sampling import Values, compare, compute, generic_points
from srh.engine.symbolic import DEFAULT_SECONDS, ask_sympy
from srh.errors import FormulaError

if TYPE_CHECKING:
    from collections.abc import Iterator

_SAME = 1e-13
_SMALLEST = 3  # nodes: what is smaller has no shorter form


def simplify(expression: Expression, *, seconds: float = DEFAULT_SECONDS) -> Expression:
    """Return a formula of the same value with fewer nodes, if one is found.

    Args:
        expression: Any formula. Its parameters, structured parts and their values stay as they
            are; a parameter is not a constant.
        seconds: Time for SymPy.

    Returns:
        The shortest form that has the same value, up to rounding, wherever the formula has one at
        all of a thousand points of many sizes and signs, and none elsewhere (a missing value at
        single points, as of ``x/x`` at 0, may be filled). Without such a form, and if SymPy takes
        too long, the formula with its closed parts computed.

    Raises:
        ExpressionError: Appearances of one parameter contradict each other.
    """
    folded = fold_constants(agreed(expression))
    if len(folded) < _SMALLEST or not any(_is_open(node) for node in folded.iter_preorder()):
        return folded
    leaves = Leaves(by_name=False)
    hidden = leaves.hide(folded)
    proposals = sorted(_proposals(hidden, seconds), key=_cost)
    if not proposals or _cost(proposals[0]) >= _cost(hidden):
        return folded
    points = generic_points(list(leaves.parts))
    known = compute(hidden, points)
    for proposal in proposals:
        if _cost(proposal) >= _cost(hidden):
            break
        if _is_same(known, compute(proposal, points)):
            return leaves.show(proposal)
    return folded


def _is_open(node: Expression) -> bool:
    return not node.operands and not isinstance(node, Number)


def _proposals(hidden: Expression, seconds: float) -> Iterator[Expression]:
    for text in ask_sympy("simplify", str(hidden), seconds=seconds).texts:
        try:
            yield fold_constants(parse(text))
        except FormulaError:  # too large for a formula
            continue


def _cost(expression: Expression) -> tuple[int, int]:
    return len(expression), len(str(expression))


def _is_same(known: Values, proposed: Values) -> bool:
    """Say whether a proposal has the formula's values, as float64 computes them."""
    if not compare(known, proposed, _SAME).agree:
        return False
    both = known.usable & np.isfinite(known.exact)
    with np.errstate(all="ignore"):
        off = np.abs(proposed.rounded - known.exact)
    return bool((off[both] <= (1e-12 * np.abs(known.exact) + known.noise)[both]).all())

"""Checks of the whole chain, from `evaluate_trial` to the trial's own code and back.

They stand beside the checks of what one confined process may do (``srh.sandbox.probe``): every
outcome can be reached and is told apart, each limit holds, each forgery fails, nothing is left
behind, numbers can be reproduced, and honest models run. Whatever is tried is expected to end in
one way only, so each check can fail; where a control is cheap, the same is tried where it succeeds.
"""

from __future__ import annotations

from srh._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from srh.evaluation.conformance.catalogue import CHAIN_CHECKS, EVERY_CHECK

__all__ = ["CHAIN_CHECKS", "EVERY_CHECK"]

__getattr__ = lazy_names(
    __name__,
    {
        "CHAIN_CHECKS": "srh.evaluation.conformance.catalogue",
        "EVERY_CHECK": "srh.evaluation.conformance.catalogue",
    },
)

"""Evaluation of trials: parent, child, and what they say to each other."""

from __future__ import annotations

from srh._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from srh.context import Partition
    from srh.evaluation.protocol import EvaluationResult, Request
    from srh.evaluation.runner import evaluate_trial

__all__ = ["EvaluationResult", "Partition", "Request", "evaluate_trial"]

__getattr__ = lazy_names(
    __name__,
    {
        "EvaluationResult": "srh.evaluation.protocol",
        "Partition": "srh.context",
        "Request": "srh.evaluation.protocol",
        "evaluate_trial": "srh.evaluation.runner",
    },
)

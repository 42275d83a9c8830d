"""Evaluate what an agent proposes, reproducibly and without trusting it."""

from __future__ import annotations

from srh._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from srh.context import AgentContext, Partition, load_dataset
    from srh.engine import Expression, fit, parse
    from srh.errors import SrhError
    from srh.evaluation.protocol import EvaluationResult
    from srh.evaluation.runner import evaluate_trial
    from srh.evaluator import DefaultEvaluator

__version__ = "0.1.0"

__all__ = [
    "AgentContext",
    "DefaultEvaluator",
    "EvaluationResult",
    "Expression",
    "Partition",
    "SrhError",
    "__version__",
    "evaluate_trial",
    "fit",
    "load_dataset",
    "parse",
]

__getattr__ = lazy_names(
    __name__,
    {
        "AgentContext": "srh.context",
        "DefaultEvaluator": "srh.evaluator",
        "EvaluationResult": "srh.evaluation.protocol",
        "Expression": "srh.engine",
        "Partition": "srh.context",
        "SrhError": "srh.errors",
        "evaluate_trial": "srh.evaluation.runner",
        "fit": "srh.engine",
        "load_dataset": "srh.context",
        "parse": "srh.engine",
    },
)

"""Evaluation policies: how data are split, formulas fitted, and results measured."""

from __future__ import annotations

from srh.evaluator import utils
from srh.evaluator.contract import check_metrics, scores_from_metrics
from srh.evaluator.default_evaluator import DefaultEvaluator, fit_equation, score_equation
from srh.evaluator.formula import (
    Evaluator,
    FormulaEvaluation,
    evaluate_formula,
    evaluate_on,
    is_candidate,
)

__all__ = [
    "DefaultEvaluator",
    "Evaluator",
    "FormulaEvaluation",
    "check_metrics",
    "evaluate_formula",
    "evaluate_on",
    "fit_equation",
    "is_candidate",
    "score_equation",
    "scores_from_metrics",
    "utils",
]

"""Evaluation policies: how data are split, formulas fitted, and results measured."""

from __future__ import annotations

from srh.evaluator import utils
from srh.evaluator.contract import check_metrics, scores_from_metrics
from srh.evaluator.default_evaluator import DefaultEvaluator, fit_equation, score_equation
from srh.evaluator.diagnostics import Band, Diagnostics, Sample, diagnose
from srh.evaluator.formula import (
    Evaluator,
    FormulaEvaluation,
    assess_formula,
    evaluate_formula,
    evaluate_on,
    is_candidate,
    refuse_copies,
)
from srh.evaluator.graph_evaluator import GraphEvaluator
from srh.evaluator.missing import Missing

__all__ = [
    "Band",
    "DefaultEvaluator",
    "Diagnostics",
    "Evaluator",
    "FormulaEvaluation",
    "GraphEvaluator",
    "Missing",
    "Sample",
    "assess_formula",
    "check_metrics",
    "diagnose",
    "evaluate_formula",
    "evaluate_on",
    "fit_equation",
    "is_candidate",
    "refuse_copies",
    "score_equation",
    "scores_from_metrics",
    "utils",
]

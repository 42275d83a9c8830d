"""What custom evaluators are made of: metrics and splits."""

from __future__ import annotations

from srh.evaluator.utils.metrics import (
    calc_AIC,
    calc_BIC,
    calc_complexity,
    calc_MAE,
    calc_MAPE,
    calc_MSE,
    calc_pearson_r,
    calc_R2,
    calc_RMSE,
    calc_spearman_r,
)
from srh.evaluator.utils.splitting import chronological_split, ood_split, random_split

__all__ = [
    "calc_AIC",
    "calc_BIC",
    "calc_MAE",
    "calc_MAPE",
    "calc_MSE",
    "calc_R2",
    "calc_RMSE",
    "calc_complexity",
    "calc_pearson_r",
    "calc_spearman_r",
    "chronological_split",
    "ood_split",
    "random_split",
]

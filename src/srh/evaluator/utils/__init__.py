"""What custom evaluators are made of: metrics, splits and trajectories."""

from __future__ import annotations

from srh.evaluator.utils.integration import Trajectory, integrate_ODE
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
from srh.evaluator.utils.rates import Surroundings
from srh.evaluator.utils.rollout import calc_trajectory_rollout_RMSE
from srh.evaluator.utils.splitting import chronological_split, ood_split, random_split

__all__ = [
    "Surroundings",
    "Trajectory",
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
    "calc_trajectory_rollout_RMSE",
    "chronological_split",
    "integrate_ODE",
    "ood_split",
    "random_split",
]

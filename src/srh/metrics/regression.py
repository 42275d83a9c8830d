"""The metrics of formula and model trials.

Each is a pure function of `RegressionData` whose arrays are finite and not empty; what has no
meaning for the data raises `UndefinedMetricError` instead of returning 0 or NaN. Below, y is the
target, p the predictions, n the number of rows, r = y - p. A value outside the range of float64
is ``overflow`` or ``underflow``, never infinity and never a false zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from srh.metrics.numeric import (
    FloatArray,
    Scaled,
    UndefinedMetricError,
    align,
    average_ranks,
    centred,
    difference,
    mean,
    subtract,
    unscale,
)
from srh.metrics.target import Target


@dataclass(frozen=True)
class RegressionData:
    """What the regression metrics look at.

    Attributes:
        y: Target, float64, shape (n,).
        predictions: Predictions, float64, shape (n,).
        n_parameters: Fitted parameters of what predicted; None if it has no such count.
        complexity: Size of what predicted; None if it has none.
        known: The target ``y``, with what has been worked out of it, if it is kept.
    """

    y: FloatArray
    predictions: FloatArray
    n_parameters: int | None = None
    complexity: int | None = None
    known: Target | None = None

    @cached_property
    def target(self) -> Target:
        """The target, with what has been worked out of it."""
        return Target(self.y) if self.known is None else self.known

    @cached_property
    def predictions_vary(self) -> bool:
        """Whether two predictions differ."""
        return bool(np.min(self.predictions) != np.max(self.predictions))

    @cached_property
    def residuals(self) -> Scaled:
        """``y - predictions``."""
        return subtract(self.y, self.predictions)


def mse(data: RegressionData) -> float:
    """Mean squared error, mean(r²), in squared units of the target.

    Residuals below 1e-162 or above 1e154 have a mean square beyond float64: `rmse` measures them.
    """
    residuals = data.residuals
    return unscale(residuals.mean_square(), 2 * residuals.exponent)


def rmse(data: RegressionData) -> float:
    """Root mean squared error, sqrt(mean(r²)), in units of the target."""
    residuals = data.residuals
    return unscale(math.sqrt(residuals.mean_square()), residuals.exponent)


def nrmse(data: RegressionData) -> float:
    """Root mean squared error as a share of the target's standard deviation, over the same rows.

    Predicting the mean of these rows has the value 1. The deviation is that of the rows (divided by
    n). Undefined where the target is constant (``constant_target``) or one row (``too_few_rows``).
    """
    _require_two_rows(data)
    _require_varying_target(data)
    residuals, deviations = data.residuals, data.target.deviations
    ratio = math.sqrt(residuals.mean_square()) / math.sqrt(deviations.mean_square())
    return unscale(ratio, residuals.exponent - deviations.exponent)


def max_error(data: RegressionData) -> float:
    """Largest absolute error, max(|r|), in units of the target."""
    residuals = data.residuals
    return unscale(float(np.max(np.abs(residuals.digits))), residuals.exponent)


def mae(data: RegressionData) -> float:
    """Mean absolute error, mean(|r|), in units of the target."""
    residuals = data.residuals
    return unscale(mean(np.abs(residuals.digits)), residuals.exponent)


def mape(data: RegressionData) -> float:
    """Mean absolute percentage error, mean(|r| / |y|), as a fraction: 0.05 is five per cent.

    A target of zero has no relative error (``zero_target``). Replacing it by a small number, as is
    sometimes done, makes the mean a measure of that number.

    Source: A. de Myttenaere et al., Neurocomputing 192 (2016) 38-48, eq. (1).
    """
    zeros = data.target.zeros
    if zeros.size:
        raise UndefinedMetricError(
            "zero_target",
            f"{zeros.size} of {data.y.size} targets are zero (first at row {zeros[0]}), "
            "a relative error needs others",
        )
    residuals = data.residuals
    if residuals.exponent == 0 and data.target.smallest > 2.0**-240:
        return unscale(mean(np.abs(residuals.digits / data.y)), 0)
    digits, exponents = difference(data.y, data.predictions)
    target_digits, target_exponents = np.frexp(data.y)
    ratios = align(np.abs(digits / target_digits), exponents - target_exponents)
    return unscale(mean(ratios.digits), ratios.exponent)


def r2(data: RegressionData) -> float:
    """Coefficient of determination, 1 - sum(r²) / sum((y - mean(y))²); 1 at best, no lower bound.

    The mean is that of the rows that are measured. A constant target leaves nothing to explain:
    ``constant_target``, even if it is predicted exactly. One row is ``too_few_rows``.

    Source: T. O. Kvålseth, The American Statistician 39 (1985) 279-285, eq. (1).
    """
    _require_two_rows(data)
    _require_varying_target(data)
    residuals, deviations = data.residuals, data.target.deviations
    ratio = residuals.mean_square() / deviations.mean_square()
    exponent = 2 * (residuals.exponent - deviations.exponent)
    return 1.0 - unscale(ratio, exponent, may_vanish=True)


def aic(data: RegressionData) -> float:
    """Akaike's information criterion, 2K - 2 ln L, for independent Gaussian errors.

    With the variance at its maximum-likelihood value mean(r²), -2 ln L = n (ln(2π mean(r²)) + 1).
    K is the number of fitted parameters plus one for that variance, as in R's ``AIC(lm(...))``.
    Without residuals the likelihood is unbounded (``zero_residuals``); fewer rows than K determine
    no variance (``too_few_rows``). On rows that the parameters were not fitted to, read it as a
    penalised log-likelihood: the derivation of the penalty holds on training rows.

    Source: H. Akaike, IEEE Transactions on Automatic Control 19 (1974) 716-723; K as in K. P.
    Burnham, D. R. Anderson, Model Selection and Multimodel Inference, 2nd ed. (2002), sec. 2.2.
    """
    n_estimated = _count_estimated(data)
    return 2.0 * n_estimated + _deviance(data)


def bic(data: RegressionData) -> float:
    """Bayesian information criterion, K ln n - 2 ln L, for independent Gaussian errors.

    K, L and the cases without a value are those of `aic`.

    Source: G. Schwarz, The Annals of Statistics 6 (1978) 461-464.
    """
    n_estimated = _count_estimated(data)
    return n_estimated * math.log(data.y.size) + _deviance(data)


def pearson_r(data: RegressionData) -> float:
    """Pearson's linear correlation of target and predictions, in [-1, 1].

    Undefined when either is constant (``constant_target``, ``constant_prediction``) and for one
    row (``too_few_rows``).

    Source: K. Pearson, Philosophical Transactions of the Royal Society A 187 (1896) 253-318.
    """
    _require_correlation(data)
    return _correlation(data.target.deviations, centred(data.predictions))


def spearman_r(data: RegressionData) -> float:
    """Spearman's rank correlation: `pearson_r` of the ranks, equal values sharing their mean rank.

    Undefined where `pearson_r` is.

    Source: C. Spearman, The American Journal of Psychology 15 (1904) 72-101; ties as in M. G.
    Kendall, Rank Correlation Methods (1948), ch. 3.
    """
    _require_correlation(data)
    ranks = average_ranks(data.predictions)
    return _correlation(data.target.rank_deviations, centred(ranks))


def complexity(data: RegressionData) -> float:
    """Size of what predicted, as the caller counts it; independent of the rows."""
    if data.complexity is None:
        raise UndefinedMetricError("no_complexity", "what predicted has no size")
    return float(data.complexity)


def _require_two_rows(data: RegressionData) -> None:
    if data.y.size < 2:
        raise UndefinedMetricError("too_few_rows", "needs at least 2 rows, has 1")


def _require_varying_target(data: RegressionData) -> None:
    if not data.target.varies:
        raise _constant("target", data.y)


def _constant(what: str, values: FloatArray) -> UndefinedMetricError:
    return UndefinedMetricError(
        f"constant_{what}", f"every {what} is {float(values[0]):.6g}, nothing varies"
    )


def _require_correlation(data: RegressionData) -> None:
    _require_two_rows(data)
    _require_varying_target(data)
    if not data.predictions_vary:
        raise _constant("prediction", data.predictions)


def _correlation(a: Scaled, b: Scaled) -> float:
    """Return the correlation of two arrays' deviations; scale cancels, so exponents may go."""
    covariance = mean(a.digits * b.digits)
    value = covariance / math.sqrt(a.mean_square()) / math.sqrt(b.mean_square())
    return min(1.0, max(-1.0, value))


def _count_estimated(data: RegressionData) -> int:
    """Return the number of fitted parameters plus one for the variance of the errors."""
    if data.n_parameters is None:
        raise UndefinedMetricError("no_parameter_count", "what predicted has no parameter count")
    n_estimated = data.n_parameters + 1
    if data.y.size < n_estimated:
        raise UndefinedMetricError(
            "too_few_rows",
            f"{data.y.size} rows do not determine {data.n_parameters} parameters and the "
            "variance of the errors",
        )
    return n_estimated


def _deviance(data: RegressionData) -> float:
    """Return -2 ln L of Gaussian errors at the variance of greatest likelihood."""
    residuals = data.residuals
    mean_square = residuals.mean_square()
    if mean_square == 0:
        raise UndefinedMetricError(
            "zero_residuals", "every residual is zero, the likelihood has no bound"
        )
    # Of digits near one, so that the same residuals in other units give the same bits.
    top = residuals.top
    log_variance = math.log(math.ldexp(mean_square, -2 * top))
    log_variance += 2 * (residuals.exponent + top) * math.log(2)
    return data.y.size * (math.log(2 * math.pi) + log_variance + 1)

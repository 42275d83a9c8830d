"""The evaluation policy of graph and hypergraph data."""

from __future__ import annotations

from typing import Any

import numpy as np

from srh.context import AgentContext
from srh.engine import Expression, GroupedParameter
from srh.errors import DataError
from srh.evaluator import utils
from srh.evaluator.default_evaluator import (
    DefaultEvaluator,
    fit_equation,
    left_shape,
    left_side,
    plain_metrics,
    right_side,
    split_rows,
)
from srh.evaluator.shapes import missing_axes, spread
from srh.metrics import score_predictions


class GraphEvaluator(DefaultEvaluator):
    """Splits, fits and measures values per node, ``(..., N)``, or edge, ``(..., E)``, ``(..., H)``.

    Samples are the first axis, those of one sample stay together. Relations, and what is the same
    in all samples, are shared by both views; the number of nodes and what follows which relation
    go with the context into every fit and evaluation. Metrics count every value of every sample.
    """

    @classmethod
    def split(cls, context: AgentContext) -> dict[str, AgentContext]:
        """Return ``{"train": …, "validation": …}``, two views on samples.

        Raises:
            DataError: The data cannot be split that way; the target has nodes but no samples; or a
                relation is named, but not the number of nodes.
        """
        if context.relation_names and context.num_nodes is None:
            raise DataError(
                f"the context has the relation {context.relation_names[0]!r}, but no num_nodes; "
                "set context.num_nodes"
            )
        if context.args.method != "same" and _has_no_samples(context):
            raise DataError(
                f"the target {context.target!r} has one value per node or edge and no samples, and "
                "nodes of one graph cannot be told apart into training and validation; give the "
                'data a leading axis of samples, or ask for SplitOptions(method="same")'
            )
        train, validation = split_rows(context)
        return {"train": context.take(train), "validation": context.take(validation)}

    @classmethod
    def fit(cls, f: Expression, y: Expression, context: AgentContext) -> Expression:
        """Fit the parameters of ``f`` over all values of all samples; see `DefaultEvaluator.fit`.

        Raises:
            MetricError: The two sides have shapes that do not fit.
            FitError: See there.
        """
        shape = left_shape(y, context)
        fill = {
            leaf.name: dict.fromkeys(_labels(leaf, context), 1.0)
            if isinstance(leaf, GroupedParameter)
            else 1.0
            for leaf in f.parameters
        }
        axes = missing_axes(f.bind_parameters(fill).evaluate(context).shape, shape)
        if not axes:
            return fit_equation(f, y, context).expression
        # Least squares of a formula that is the same along an axis are those of the mean along it.
        means = left_side(y, context).values.reshape(shape).mean(axes)
        return fit_equation(f, means, context).expression

    @classmethod
    def evaluate(
        cls, f: Expression, y: Expression, context: AgentContext
    ) -> dict[str, float | int]:
        """Measure the equality ``y = f`` over all values of all samples.

        A formula of what is the same in all samples counts for each of them, one of values per
        sample for each node.

        Raises:
            MetricError: The two sides have shapes that do not fit.
        """
        shape = left_shape(y, context)
        return plain_metrics(
            score_predictions(
                left_side(y, context),
                spread(right_side(f, context), shape).ravel(),
                n_parameters=f.count_parameters(),
                complexity=utils.calc_complexity(f),
            )
        )


def _has_no_samples(context: AgentContext) -> bool:
    """Return whether the target's only axis are nodes, or rows of a relation."""
    shape = context.data.shape(context.target)
    if len(shape) != 1 or context.num_nodes is None:
        return False
    if context.target in context.structures:
        return True
    relations = [context.data.shape(name)[0] for name in context.relation_names]
    if shape[0] not in (context.num_nodes, *relations):
        return False
    # As many as nodes or edges, yet samples if they are the first of several axes of an array.
    return not any(len(context.data.shape(name)) > 1 for name in context.aligned())


def _labels(leaf: GroupedParameter, context: AgentContext) -> list[Any]:
    if leaf.label not in context.data:
        return []  # whoever evaluates the formula says so
    labels: list[Any] = np.unique(context.data[leaf.label]).tolist()
    return labels

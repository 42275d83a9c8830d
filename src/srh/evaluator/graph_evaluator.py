"""The evaluation policy of graph and hypergraph data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from srh.context import AgentContext
from srh.engine import Expression
from srh.errors import DataError, MetricError
from srh.evaluator import utils
from srh.evaluator.default_evaluator import (
    DefaultEvaluator,
    left_shape,
    left_side,
    plain_metrics,
    right_side,
    split_rows,
)
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
    def evaluate(
        cls, f: Expression, y: Expression, context: AgentContext
    ) -> dict[str, float | int]:
        """Measure the equality ``y = f`` over all values of all samples.

        A formula of what is the same in all samples counts for each of them.

        Raises:
            MetricError: The two sides have shapes that do not fit.
        """
        shape = left_shape(y, context)
        return plain_metrics(
            score_predictions(
                left_side(y, context),
                _spread(right_side(f, context), shape).ravel(),
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


def _spread(values: NDArray[np.float64], shape: tuple[int, ...]) -> NDArray[np.float64]:
    try:
        return np.broadcast_to(values, shape)
    except ValueError as error:
        raise MetricError(
            f"the formula gives values of shape {values.shape}, where {shape} is needed"
        ) from error

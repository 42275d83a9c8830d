"""A host evaluator: a function of this task's author, run in a confined process."""

from __future__ import annotations

from srh.metrics import EvaluatorContext, EvidenceBundle, Example, Score


def answer_nonempty(
    example: Example, context: EvaluatorContext, bundle: EvidenceBundle
) -> Score:
    """1 if there is more than white space in the answer, else 0."""
    if example.output is None:
        return Score.non_evaluable(context.metric, "no_output", "the trial gave no output")
    return Score.scored(context.metric, float(bool(str(example.output).strip())))

"""The scores of many examples under one name, held compactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from srh.metrics.score import Score, Status

CANDIDATE_FAILURES = frozenset({"no_output", "bad_output", "too_many_outputs"})
"""Codes of what is missing because of the trial, and of nothing else."""


@dataclass(slots=True)
class ScoreColumn:
    """Scores in the order of the examples.

    Attributes:
        name: Name of the scores.
        values: One per example; None where there is none.
        missing: Status and reason, by the example's position, where there is no value.
        spreads: Spread of repeated judgements, by position, where there were several.
        evidence: References, by position, where a score rests on recorded evidence.
    """

    name: str
    values: list[float | None] = field(default_factory=list)
    missing: dict[int, tuple[Status, str]] = field(default_factory=dict)
    spreads: dict[int, float] = field(default_factory=dict)
    evidence: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)

    def add(self, score: Score) -> None:
        """Append the score of the next example."""
        position = len(self.values)
        self.values.append(score.value)
        if score.value is None:
            reason = str(score.reason)
            # Thousands of examples may lack the same: one text serves them all.
            self.missing[position] = score.status, self._reasons.setdefault(reason, reason)
        if score.spread is not None:
            self.spreads[position] = score.spread
        if score.evidence:
            self.evidence[position] = score.evidence

    @property
    def scored(self) -> list[float]:
        """The values that there are."""
        return [value for value in self.values if value is not None]

    def codes(self) -> dict[str, int]:
        """Return how many examples lack a value, by the code of the reason, most first."""
        counts = Counter(code_of(reason) for _, reason in self.missing.values())
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    def not_the_trials(self) -> Iterator[int]:
        """Yield the positions that lack a value for another reason than the trial's failure."""
        for position, (_, reason) in self.missing.items():
            if code_of(reason) not in CANDIDATE_FAILURES:
                yield position


def code_of(reason: str) -> str:
    """Return the code in front of a reason."""
    return reason.partition(": ")[0]

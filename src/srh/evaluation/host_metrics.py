"""Host evaluators: functions of a task's author, run by contestants, judged by their contract.

Theory of operation. A host evaluator is code, so it runs as a model does: in a confined process,
without network, under the task's limits. It is the author's definition of a score, so it sees the
references. A batch of examples goes to one process, one by one; whatever that process does to
itself costs the example in hand an ``error``, and the next ones get another process, a few times.
All processes of a metric share one stretch of time, so that an evaluator that hangs leaves time for
the others.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from srh.digest import digest_bytes
from srh.errors import FormatError
from srh.evaluation.contestants import Contestants
from srh.evaluation.conversation import Talk
from srh.evaluation.protocol import Request
from srh.evaluation.scorer import TrialFailedError
from srh.formats import read_json
from srh.metrics import (
    EvidenceBundle,
    Example,
    Metric,
    Score,
    ScoreBatch,
    checked,
    context_of,
    everywhere,
)
from srh.metrics.host import read_host
from srh.metrics.score import MESSAGE_CHARS
from srh.sandbox.limits import Limits
from srh.sandbox.nursery import Asking
from srh.text import one_line
from srh.trials import TrialSource

BATCH = 1000
"""Most examples that one process measures."""

MOST_DEATHS = 5
"""After so many processes have died, the rest of the examples is not tried."""

_SHARE = 0.5  # of the wall clock, for all host evaluators together
Given = tuple[Example, EvidenceBundle]


class HostMetric:
    """A host evaluator in the scoring of one trial.

    Args:
        metric: The metric.
        request: What is asked.
        folder: The task's files, as staged.
        nursery: Who forks contestants.
        data: The data file, which the evaluator must not read.
        n_hosts: Among how many the time is divided.

    Attributes:
        version: Digest of its file.
    """

    def __init__(
        self,
        metric: Metric,
        request: Request,
        folder: Path,
        nursery: Asking,
        data: Path,
        n_hosts: int,
    ) -> None:
        ref = metric.host
        assert ref is not None  # noqa: S101 - the caller has chosen it by that
        content = read_host(folder, ref)
        self.version = digest_bytes(content)
        self._metric = metric
        self._limits = request.limits
        self._budget = request.limits.wall_s * _SHARE / n_hosts
        name = PurePosixPath(ref.path).name
        source = TrialSource("evaluator", {name: content}, self.version)
        self._contestants = Contestants(
            source,
            request,
            nursery,
            data,
            role="host_metric",
            more={
                "module": name.removesuffix(".py"),
                "function": ref.function,
                "context": msgspec.to_builtins(context_of(metric.spec)),
            },
        )

    def measure(self, given: Sequence[Given]) -> Iterator[list[Score]]:
        """Yield the scores of each example, one per declared name."""
        position, deaths = 0, 0
        deadline = time.monotonic() + self._budget
        while position < len(given):
            left = deadline - time.monotonic()
            if deaths >= MOST_DEATHS or left <= 0:
                why = "its time is used up" if left <= 0 else f"{deaths} of its processes died"
                lack = Score.error(self._metric.spec.name, "host_given_up", why)
                for _ in given[position:]:
                    yield everywhere(self._metric.spec, lack)
                return
            batch = given[position : position + BATCH]
            limits = dataclasses.replace(self._limits, wall_s=left)
            for scores in self._measure_batch(batch, limits):
                position += 1
                yield scores
            deaths += self._died

    def close(self) -> None:
        """End what runs, and remove what is left of it."""
        self._contestants.close()

    def _measure_batch(self, batch: Sequence[Given], limits: Limits) -> Iterator[list[Score]]:
        """Yield the scores of a batch, up to the example that its process dies of."""
        self._died = False
        spec = self._metric.spec
        contestant = self._contestants.start(limits=limits)
        try:
            with contestant.talking() as talk:
                for at, given in enumerate(batch):
                    scores, goes_on = self._ask(talk, given, at)
                    yield scores
                    if not goes_on:
                        self._died = True
                        break
        except TrialFailedError as failure:
            self._died = True
            lack = Score.error(spec.name, f"host_{failure.outcome}", str(failure))
            yield everywhere(spec, lack)
        self._contestants.await_ends()

    def _ask(self, talk: Talk, given: Given, at: int) -> tuple[list[Score], bool]:
        """Return the scores of an example, and whether its process may be asked again.

        What answers for another example than the one in hand may not.
        """
        example, bundle = map(msgspec.to_builtins, given)
        content = talk.measure({"at": at, "example": example, "evidence": bundle})
        spec = self._metric.spec
        try:
            kind, value = _answer(read_json(content, "answer"), at)
        except (FormatError, ValueError) as error:
            return everywhere(spec, Score.error(spec.name, "host_bad_result", str(error))), False
        if kind == "scores":
            return _scores(self._metric, value), True
        code, message = _flaw(kind, value)
        return everywhere(spec, Score.error(spec.name, code, message)), kind != "exited"


def _answer(answer: Any, at: int) -> tuple[str, Any]:
    """Return kind and content of an answer, if it is one for example number ``at``."""
    if not isinstance(answer, dict) or answer.pop("at", None) != at or len(answer) != 1:
        raise ValueError("its process answered something else than was asked for")
    ((kind, value),) = answer.items()
    return kind, value


def _flaw(kind: str, value: Any) -> tuple[str, str]:
    """Return code and message of an answer that is no scores."""
    if kind == "raised" and isinstance(value, list) and len(value) == 2:
        code = _RAISED.get(str(value[0]), "evaluator_failed")
        return code, one_line(str(value[1]), MESSAGE_CHARS)
    code, sentence = _FLAWS.get(kind, ("host_bad_result", lambda _: "an unknown answer"))
    return code, sentence(one_line(str(value), 300))


_RAISED = {
    "memory": "host_memory",
    "denied": "host_denied",
    "disk_limit": "host_disk_limit",
}
_FLAWS: dict[str, tuple[str, Callable[[str], str]]] = {
    "exited": ("host_exit", lambda text: f"it ended itself (exit code {text})"),
    "mutated": ("mutated_inputs", lambda _: "it changed what it was given"),
    "wrong_type": ("wrong_type", lambda text: f"returned {text}, not a Score or ScoreBatch"),
}


def _scores(metric: Metric, raw: Any) -> list[Score]:
    try:
        scores = msgspec.convert(raw, tuple[Score, ...], strict=True)
    except (msgspec.ValidationError, RecursionError) as error:
        spec = metric.spec
        return everywhere(spec, Score.error(spec.name, "bad_score", one_line(str(error), 300)))
    harmless = (
        score
        if score.value is not None
        else Score.missing(score.name, score.status, str(score.code), str(score.message))
        for score in scores
    )
    return checked(metric.spec, ScoreBatch(tuple(harmless)))

"""The registry: what a task's metrics mean together, and everything that is wrong with them.

It is made before anything runs. Each mistake is one `Problem` that names a field and a rule, and
all of them are found at once. The rules of one metric stand in ``rules.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from srh.errors import MetricError
from srh.metrics.catalogue import CLASSIFICATION_METRICS, DEFAULT_METRICS, METRICS, find_evaluator
from srh.metrics.declared import EvaluatorInfo, complete
from srh.metrics.host import HostRef, host_problem, is_host_ref, parse_ref
from srh.metrics.rules import Problem, metric_problems
from srh.metrics.spec import Direction, Evidence, MetricSpec, Profile
from srh.text import did_you_mean, one_line


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What a task offers to its metrics.

    Attributes:
        profile: What is measured there.
        evidence: What there is to measure with; None: that is not to be checked.
        folder: The task's folder, for host evaluators; None: there are none.
    """

    profile: Profile = "regression"
    evidence: frozenset[Evidence] | None = None
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric that the registry has let in.

    Attributes:
        spec: Its declaration, complete.
        info: Its evaluator; None: a host's.
        host: Where a host's evaluator stands; None: it is none.
    """

    spec: MetricSpec
    info: EvaluatorInfo | None = None
    host: HostRef | None = None

    @property
    def evaluator(self) -> str:
        """Name of the evaluator, without its version."""
        return str(self.host) if self.info is None else self.info.name


class MetricRegistry:
    """A task's metrics, checked against each other, their evaluators, and what the task offers.

    Args:
        specs: The declarations; none: the default metrics of the profile.
        surroundings: What the task offers.

    Attributes:
        problems: All that is wrong; empty if nothing is.
        metrics: The metrics whose evaluator is known, in the order of declaration.
    """

    def __init__(
        self, specs: Sequence[MetricSpec], surroundings: Surroundings | None = None
    ) -> None:
        around = surroundings or Surroundings()
        given = list(specs) or [MetricSpec(name=name) for name in default_names(around.profile)]
        found = [_find(spec, around) for spec in given]
        self.metrics = tuple(one for one in found if isinstance(one, Metric))
        self.problems: list[Problem] = []
        for index, (spec, metric) in enumerate(zip(given, found, strict=True)):
            where = f"metrics[{index}]"
            if isinstance(metric, Problem):
                problems = [metric, *metric_problems(spec, None, spec, around.evidence)]
            else:
                evidence = around.evidence if specs else None
                problems = metric_problems(metric.spec, metric.info, spec, evidence)
            self.problems += [problem.at(where) for problem in problems]
        self.problems += _between(given)

    @property
    def columns(self) -> Mapping[str, Metric]:
        """The metric by the name of each number that comes of it."""
        return MappingProxyType(
            {name: metric for metric in self.metrics for name in metric.spec.columns}
        )

    @property
    def packages(self) -> list[str]:
        """Names of the packages, beside srh, that bring evaluators of these metrics."""
        origins = [metric.info.origin for metric in self.metrics if metric.info is not None]
        return [name for name in dict.fromkeys(origins) if name != "srh"]

    def direction(self, column: str) -> Direction | None:
        """Return which end of a number is better; None where the metric has no direction."""
        return self.columns[column].spec.direction

    def require(self) -> MetricRegistry:
        """Return the registry itself, if nothing is wrong.

        Raises:
            MetricError: With one line for every mistake.
        """
        if self.problems:
            raise MetricError("\n".join(map(str, self.problems)))
        return self


def default_names(profile: Profile) -> tuple[str, ...]:
    """Return what is measured if nobody says what."""
    named: dict[Profile, tuple[str, ...]] = {
        "regression": DEFAULT_METRICS,
        "classification": CLASSIFICATION_METRICS,
    }
    return named.get(profile, ())


def require_known(names: Sequence[str], known: Iterable[str]) -> None:
    """Refuse a list of metric names unless each is known and stands in it once.

    Raises:
        MetricError: With one line for every name that is unknown or repeated.
    """
    listed = list(known)
    problems = [
        f"metric {one_line(name)!r} is listed twice; keep one"
        if name in names[:index]
        else unknown_metric(name, listed)
        for index, name in enumerate(names)
        if name in names[:index] or name not in listed
    ]
    if problems:
        raise MetricError("\n".join(dict.fromkeys(problems)))


def unknown_metric(name: str, known: Iterable[str]) -> str:
    """Return the sentence on a metric's name that is none of the known ones."""
    listed = list(known)
    hint = did_you_mean(name, listed) or f"; known metrics: {', '.join(listed)}"
    return f"unknown metric {one_line(name)!r}{hint}"


def _find(spec: MetricSpec, around: Surroundings) -> Metric | Problem:
    """Return a metric with its evaluator, or why it has none."""
    ref = spec.evaluator or spec.name
    if spec.evaluator is not None and is_host_ref(ref):
        return _find_host(spec, around)
    name, separator, version = ref.partition("@")
    try:
        info = find_evaluator(name)
    except MetricError as error:
        return Problem("evaluator", "plug_in", str(error))
    if info is None:
        return _unknown(spec, name, around.profile)
    mismatch = _mismatch(spec, info, around.profile, version if separator else None)
    return mismatch or Metric(complete(spec, info), info)


def _mismatch(
    spec: MetricSpec, info: EvaluatorInfo, profile: Profile, version: str | None
) -> Problem | None:
    """Return why an evaluator of the right name is not the one that is meant, or None."""
    named = "name" if spec.evaluator is None else "evaluator"
    if version not in (None, str(info.version)):
        text = f"there is no {one_line(spec.evaluator or '')!r}; {info.name} has version "
        return Problem("evaluator", "exact_version", f"{text}{info.version}")
    if spec.version not in (None, info.version):
        text = f"there is no version {spec.version} of {info.name}; it has version {info.version}"
        return Problem("version", "exact_version", text)
    if info.profile != profile:
        text = f"this task measures {profile}, and {info.id} measures {info.profile}"
        return Problem(named, "task_profile", text)
    return None


def _unknown(spec: MetricSpec, name: str, profile: Profile) -> Problem:
    known = [one.name for one in METRICS.values() if one.profile == profile]
    if spec.evaluator is None:
        return Problem("name", "known_evaluator", unknown_metric(name, known))
    hint = did_you_mean(name, known) or f"; known: {', '.join(known)}"
    text = f"unknown evaluator {one_line(spec.evaluator)!r}{hint}"
    return Problem("evaluator", "known_evaluator", text)


def _find_host(spec: MetricSpec, around: Surroundings) -> Metric | Problem:
    ref = parse_ref(spec.evaluator or "")
    if isinstance(ref, str):
        return Problem("evaluator", "host_path", ref)
    if around.folder is None or around.profile != "outputs":
        text = "host evaluators measure outputs, and this task has none"
        return Problem("evaluator", "host_path", text)
    problem = host_problem(around.folder, ref)
    if problem is not None:
        return Problem("evaluator", "known_evaluator", one_line(problem, 400))
    return Metric(complete(spec, HOST), None, ref)


def _between(specs: Sequence[MetricSpec]) -> list[Problem]:
    """Return what is wrong between metrics that may each be well declared."""
    problems = []
    for index, spec in enumerate(specs):
        where = f"metrics[{index}]"
        if spec.name in [other.name for other in specs[:index]]:
            text = f"metric {one_line(spec.name)!r} is listed twice; keep one"
            problems.append(Problem(f"{where}.name", "unique_name", text))
            continue
        earlier = [
            name for other in specs[:index] for name in other.columns if other.name != spec.name
        ]
        counts = Counter(spec.columns)
        for name in counts:
            if name in earlier or counts[name] > 1:
                text = f"the score name {one_line(name)!r} is used twice"
                problems.append(Problem(f"{where}.emits", "unique_emitted", text))
    return problems + _prerequisite_problems(specs)


def _prerequisite_problems(specs: Sequence[MetricSpec]) -> list[Problem]:
    names = [spec.name for spec in specs]
    problems = []
    for index, spec in enumerate(specs):
        for name in spec.prerequisites:
            if name not in names:
                text = f"there is no metric {one_line(name)!r}{did_you_mean(name, names)}"
                problems.append(_prerequisite(index, "known_prerequisite", text))
    left = {spec.name: {name for name in spec.prerequisites if name in names} for spec in specs}
    while free := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in free:
            del left[name]
    # What merely needs a member of a cycle is left over, too; the cycle itself is what is wrong.
    cyclic = [name for name in left if _reaches(left, name)]
    if cyclic:
        text = f"they need each other in a circle: {', '.join(map(one_line, cyclic))}"
        problems.append(_prerequisite(names.index(cyclic[0]), "no_cycle", text))
    return problems


def _reaches(needs: Mapping[str, set[str]], name: str) -> bool:
    """Tell whether a metric needs itself, directly or through others."""
    seen: set[str] = set()
    waiting = list(needs[name])
    while waiting:
        one = waiting.pop()
        if one == name:
            return True
        if one not in seen:
            seen.add(one)
            waiting += needs.get(one, ())
    return False


def _prerequisite(index: int, rule: str, text: str) -> Problem:
    return Problem(f"metrics[{index}].prerequisites", rule, text)


def in_order(metrics: Sequence[Metric]) -> list[Metric]:
    """Return metrics so that each stands behind what it needs; there must be no circle."""
    waiting, done = list(metrics), set[str]()
    ordered: list[Metric] = []
    while waiting:
        ready = [one for one in waiting if done.issuperset(one.spec.prerequisites)]
        ordered += ready
        done.update(one.spec.name for one in ready)
        waiting = [one for one in waiting if one not in ready]
    return ordered


def _no_function() -> None:
    """A host evaluator: a function in a file of the task's folder."""


HOST = EvaluatorInfo(
    name="host",
    profile="outputs",
    function=_no_function,
    score_type=None,
    range=None,
    most_names=None,
)
"""What is taken of a host evaluator where its metric does not say."""

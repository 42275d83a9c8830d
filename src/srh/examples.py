"""The formats of outputs: ``examples.jsonl``, ``outputs.jsonl`` and ``judge_evidence.jsonl``.

Each line is one JSON object; empty lines do not count. The first belongs to a task, the second to a
trial, the third to whoever asked the judge: it lies with the task, and names what was judged by its
digest, so that no trial can write its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import msgspec

from srh.digest import digest_bytes
from srh.errors import DataError, FormatError
from srh.files import FileRefusedError, read_regular
from srh.formats import decode, read_json
from srh.metrics import (
    EvalUnit,
    Evidence,
    Example,
    JudgeEvidence,
    Member,
    MetricSpec,
    output_digest,
)
from srh.metrics.evidence import UnitKind
from srh.metrics.host import HostRef, is_host_ref, parse_ref
from srh.text import one_line, plural

JUDGE_FILE = "judge_evidence.jsonl"
FILE_LIMIT = 256 << 20
MOST_EXAMPLES = 200_000
"""Of one task: a result names each of them."""

_MOST_PROBLEMS = 20
_LONGEST_ID = 200
_CALL = EvalUnit()

T = TypeVar("T")
Judgements: TypeAlias = dict[tuple[str, str, str], tuple[JudgeEvidence, ...]]
"""Judgements by metric, example and digest of the output."""


class UnitLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """What an example is, as a task says.

    Attributes:
        kind: A ``call`` has no members.
        members: Ids of the members, in order.
    """

    kind: UnitKind = "call"
    members: tuple[str, ...] = ()


class ExampleLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One line of ``examples.jsonl``.

    Attributes:
        id: The example's name.
        input: What trials are given.
        reference: The right answer, if there is one.
        unit: What the example is.
    """

    id: str
    input: Any = None
    reference: Any = None
    unit: UnitLine = UnitLine()


class OutputLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One line of ``outputs.jsonl``.

    Attributes:
        id: The example that is answered.
        output: The answer; null: none.
        members: Answers of the unit's members, in order.
    """

    id: str
    output: Any = None
    members: tuple[Any, ...] = ()


def read_examples(path: Path) -> list[ExampleLine]:
    """Read a task's examples.

    Raises:
        FormatError: They do not follow the format, or two have one id; all such mistakes (the first
            20 of more), with their lines.
        DataError: There is no example, or the file cannot be read.
    """
    lines = list(_read(ExampleLine, read_task_file(path), path.name))
    problems = [
        f"line {number}: {problem}"
        for number, example in lines
        for problem in _example_problems(example)
    ]
    problems += _repeated([(number, example.id) for number, example in lines])
    if problems:
        raise FormatError(path.name, _first(problems))
    if not lines:
        raise DataError(f"{path}: holds no example")
    if len(lines) > MOST_EXAMPLES:
        raise DataError(f"{path}: holds {len(lines)} examples; at most {MOST_EXAMPLES} are scored")
    return [example for _, example in lines]


def read_outputs(content: bytes, examples: Sequence[ExampleLine], where: str) -> list[Example]:
    """Return a task's examples with a trial's outputs; an example without a line has none.

    Args:
        content: The trial's file.
        examples: The task's examples.
        where: Name of the file, for errors.

    Raises:
        FormatError: The file does not follow the format, answers an example twice, or one that
            the task does not have.
    """
    lines = list(_read(OutputLine, content, where))
    known = {example.id for example in examples}
    problems = [
        f"line {number}: the task has no example {one_line(line.id, 60)!r}"
        for number, line in lines
        if line.id not in known
    ]
    problems += _repeated([(number, line.id) for number, line in lines])
    if problems:
        raise FormatError(where, _first(problems))
    given = {line.id: line for _, line in lines}
    return [_joined(example, given.get(example.id)) for example in examples]


def read_judgements(path: Path) -> Judgements:
    """Read what was recorded of asking judges.

    Returns:
        The judgements, each key's in the order of recording.

    Raises:
        FormatError: They do not follow the format.
        DataError: The file cannot be read.
    """
    found: dict[tuple[str, str, str], list[JudgeEvidence]] = {}
    for number, line in _read(JudgeEvidence, read_task_file(path), path.name):
        one = msgspec.structs.replace(line, ref=f"{path.name}:{number}")
        found.setdefault((one.metric, one.example, one.output), []).append(one)
    return {key: tuple(ones) for key, ones in found.items()}


def judged(judgements: Judgements, metric: str, example: Example) -> tuple[JudgeEvidence, ...]:
    """Return the judgements of one example's output for one metric."""
    return judgements.get((metric, example.id, output_digest(example.output)), ())


def offered_evidence(examples: Sequence[ExampleLine], folder: Path) -> frozenset[Evidence]:
    """Return what a task of examples offers to metrics.

    Args:
        examples: The examples.
        folder: The task's folder, which may hold a judge's evidence.
    """
    offered: set[Evidence] = {"output"}
    if any(example.reference is not None for example in examples):
        offered.add("reference")
    if any(example.unit.members for example in examples):
        offered.add("members")
    if (folder / JUDGE_FILE).is_file():
        offered.add("judge_evidence")
    return frozenset(offered)


def host_refs(specs: Sequence[MetricSpec]) -> list[HostRef]:
    """Return the host evaluators among metrics, as far as they are well-formed."""
    refs = [
        parse_ref(spec.evaluator)
        for spec in specs
        if spec.evaluator is not None and is_host_ref(spec.evaluator)
    ]
    return [ref for ref in refs if isinstance(ref, HostRef)]


def task_files(specs: Sequence[MetricSpec], folder: Path) -> dict[str, str]:
    """Return the digest of each file that measuring takes beside the examples, by its path.

    Raises:
        DataError: One cannot be read.
    """
    paths = {ref.path for ref in host_refs(specs)}
    if (folder / JUDGE_FILE).is_file():
        paths.add(JUDGE_FILE)
    return {path: digest_bytes(read_task_file(folder / path)) for path in sorted(paths)}


def read_task_file(path: Path) -> bytes:
    """Return the content of a file that lies with a task.

    Raises:
        DataError: It cannot be read.
    """
    try:
        return read_regular(path.resolve(), FILE_LIMIT)
    except FileRefusedError as error:
        raise DataError(str(error)) from error


def _joined(example: ExampleLine, given: OutputLine | None) -> Example:
    line = given or OutputLine(example.id)
    if example.unit.kind == "call" and not line.members:
        return Example(example.id, example.input, line.output, example.reference, _CALL)
    names, outputs = example.unit.members, line.members
    members = tuple(
        Member(name, outputs[index] if index < len(outputs) else None)
        for index, name in enumerate(names)
    )
    unit = EvalUnit(example.unit.kind, members, len(outputs))
    return Example(example.id, example.input, line.output, example.reference, unit)


def _example_problems(example: ExampleLine) -> Iterator[str]:
    if not 0 < len(example.id) <= _LONGEST_ID:
        yield f"id: must have 1 to {_LONGEST_ID} characters"
    unit = example.unit
    if unit.kind == "call" and unit.members:
        yield "unit.members: a call has none; say what kind of unit it is"
    if len(set(unit.members)) < len(unit.members):
        yield "unit.members: one is named twice"


def _read(kind: type[T], content: bytes, where: str) -> Iterator[tuple[int, T]]:
    """Yield each line's number and content.

    Raises:
        FormatError: With all mistakes (the first 20 of more).
    """
    problems: list[str] = []
    for number, line in enumerate(content.split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            raw = read_json(line, "")
            try:
                yield number, msgspec.convert(raw, kind, strict=True)
            except msgspec.ValidationError:  # say it better, and all of it
                yield number, decode(kind, raw, "")
        except FormatError as error:
            problems += [f"line {number}: {problem}" for problem in error.problems]
            if len(problems) > _MOST_PROBLEMS:
                break
    if problems:
        raise FormatError(where, _first(problems))


def _repeated(ids: Sequence[tuple[int, str]]) -> list[str]:
    seen: dict[str, int] = {}
    problems = []
    for number, name in ids:
        first = seen.setdefault(name, number)
        if first != number:
            problems.append(f"line {number}: {one_line(name, 60)!r} is on line {first} already")
    return problems


def _first(problems: Sequence[str]) -> list[str]:
    if len(problems) <= _MOST_PROBLEMS:
        return list(problems)
    rest = len(problems) - _MOST_PROBLEMS
    return [*problems[:_MOST_PROBLEMS], f"and {plural(rest, 'more problem')}"]

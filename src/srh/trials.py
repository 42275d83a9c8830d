"""The trial format: ``trials/<task>/<id>/``, written by whoever proposes, trusted by nobody."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from srh.context import PICKLE_SUFFIXES
from srh.digest import digest_files
from srh.errors import DataError, FormatError, UsageError
from srh.files import open_folder, read_regular
from srh.formats import decode, read_toml
from srh.project import Project, is_name, require_name
from srh.tasks import Task, TrialKind
from srh.text import did_you_mean, one_line

TRIAL_FILE = "trial.toml"
SOURCES: Mapping[TrialKind, str] = {
    "formula": "formula.txt",
    "model": "model.py",
    "evaluator": "evaluator.py",
    "outputs": "outputs.jsonl",
}
CODE_KINDS: frozenset[TrialKind] = frozenset({"model", "evaluator"})
"""Kinds of trials that are code, and need a sandbox."""

COMPANIONS: Mapping[TrialKind, tuple[str, ...]] = {"model": ("helpers.py",)}
"""Files that a source may use; they count as source where they are there."""

RESERVED = frozenset({"runs"})
_SPEC_LIMIT = 16 << 10  # reading a dotted key takes time by the square of its length
_SOURCE_LIMIT = 4 << 20


class TrialSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The content of ``trial.toml``.

    Attributes:
        kind: What the trial proposes; it decides which source file is read.
        description: What is proposed, in a line.
        parents: Ids of the trials that this one grew from.
        author: Who proposed it.
    """

    kind: TrialKind
    description: str = ""
    parents: list[str] = []
    author: str = ""


@dataclass(frozen=True, slots=True)
class TrialSource:
    """What is evaluated: a private copy of a trial's source, and its digest.

    Attributes:
        kind: What the trial proposes.
        files: Content by file name.
        digest: Digest over kind and files.
    """

    kind: TrialKind
    files: Mapping[str, bytes]
    digest: str

    @property
    def size(self) -> int:
        """Return how many bytes the files hold together."""
        return sum(map(len, self.files.values()))

    def stage(self, folder: Path) -> None:
        """Write the copy into a new ``folder``: what was digested is what is evaluated."""
        folder.mkdir(mode=0o700)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


@dataclass(frozen=True, slots=True)
class Trial:
    """A trial's place.

    Attributes:
        task: Name of the task.
        id: Name of the folder.
        folder: The folder.
    """

    task: str
    id: str
    folder: Path

    @property
    def name(self) -> str:
        """The trial's name among all tasks: ``task/id``."""
        return f"{self.task}/{self.id}"


def read_source(folder: Path) -> TrialSource:
    """Read a trial's source, trusting nothing in the folder.

    ``trial.toml`` may be missing; then exactly one source file must be there, and its name tells
    the kind.

    Raises:
        FileRefusedError: The folder or a file is missing, a link, not regular, or too large.
        FormatError: ``trial.toml`` is wrong, or does not fit the files.
    """
    with open_folder(folder) as descriptor:
        names = set(os.listdir(descriptor))
        present = [kind for kind, name in SOURCES.items() if name in names]
        where = str(folder / TRIAL_FILE)
        if TRIAL_FILE in names:
            kind = _read_spec(descriptor, where).kind
            if SOURCES[kind] not in names:
                raise FormatError(where, [f"kind: {kind!r} needs a file {SOURCES[kind]!r}"])
        elif len(present) == 1:
            kind = present[0]
        else:
            wanted = ", ".join(SOURCES.values())
            found = ", ".join(SOURCES[kind] for kind in present) or "none"
            raise FormatError(where, [f"missing, and not exactly one of {wanted} ({found} found)"])
        wanted_files = [SOURCES[kind], *(n for n in COMPANIONS.get(kind, ()) if n in names)]
        files = {
            name: read_regular(name, _SOURCE_LIMIT, folder=descriptor) for name in wanted_files
        }
    return TrialSource(kind, files, digest_files({"kind": kind.encode(), **files}))


def refuse_own_pickle(folder: Path, data: Path) -> None:
    """Refuse to load, for the trial in ``folder``, data that run code and lie in a trial's folder.

    A request says where its data are, and a trial's folder may hold a planted request.

    Raises:
        DataError: The data are a pickle inside this trial's folder or another's.
    """
    place, own = data.resolve(), folder.resolve()
    if place.suffix.lower() in PICKLE_SUFFIXES and any(
        parent == own or (parent / TRIAL_FILE).exists() for parent in place.parents
    ):
        raise DataError(f"{data}: a pickle runs code when it is loaded, so none is from a trial")


def read_spec(folder: Path) -> TrialSpec | None:
    """Return a trial's ``trial.toml``, or None where it has none.

    Raises:
        FileRefusedError: The folder or file is a link, not regular, or too large.
        FormatError: It is wrong; all mistakes are listed.
    """
    with open_folder(folder) as descriptor:
        if TRIAL_FILE not in os.listdir(descriptor):
            return None
        return _read_spec(descriptor, str(folder / TRIAL_FILE))


def _read_spec(folder: int, where: str) -> TrialSpec:
    content = read_regular(TRIAL_FILE, _SPEC_LIMIT, folder=folder)
    return decode(TrialSpec, read_toml(content, where), where)


def list_trials(project: Project, task: str) -> list[Trial]:
    """Return a task's trials, sorted by id.

    A link to a folder is listed, to be refused visibly when it is evaluated. Files, hidden folders
    and `ignored_folders` are left out.
    """
    return [
        Trial(task, entry.name, entry) for entry in _entries(project, task) if is_name(entry.name)
    ]


def ignored_folders(project: Project, task: str) -> list[str]:
    """Return the names, made harmless, of the folders whose name cannot be a trial's."""
    return [one_line(entry.name) for entry in _entries(project, task) if not is_name(entry.name)]


def _entries(project: Project, task: str) -> list[Path]:
    folder = project.trials / task
    if not folder.is_dir():
        return []
    return sorted(
        entry
        for entry in folder.iterdir()
        if entry.name not in RESERVED and not entry.name.startswith(".") and entry.is_dir()
    )


def find_trial(project: Project, text: str) -> Trial:
    """Return the trial that ``task/id``, or a path to the trial's folder, names.

    Raises:
        UsageError: There is no such trial.
    """
    for folder in (project.trials / text, Path(text)):
        place = Path(os.path.abspath(folder))  # noqa: PTH100 - resolve() would follow a link
        if place.is_dir() and (project.tasks / place.parent.name).is_dir():
            return Trial(place.parent.name, place.name, place)
    known = [trial for name in project.task_names() for trial in list_trials(project, name)]
    hint = did_you_mean(text, [trial.name if "/" in text else trial.id for trial in known])
    raise UsageError(f"no trial {one_line(text)!r} in {project.trials}{hint}")


def new_trial(project: Project, task: Task, name: str, spec: TrialSpec, source: str) -> Trial:
    """Make a trial folder that nobody else can have made.

    Args:
        project: Where.
        task: What the trial is for.
        name: Its id; where it is taken, ``-2``, ``-3`` … is appended.
        spec: The content of ``trial.toml``.
        source: The content of the source file.

    Raises:
        UsageError: The name cannot be one, the task does not accept this kind, or a text of the
            spec has characters that TOML cannot carry.
    """
    require_name(name, "trial")
    if name in RESERVED:
        raise UsageError(f"{name!r} is reserved; choose another trial id")
    if spec.kind not in task.spec.accepts:
        raise UsageError(
            f"task {task.name} accepts {', '.join(task.spec.accepts)}, not {spec.kind} trials"
        )
    content = _render(spec)
    parent = project.trials / task.name
    parent.mkdir(parents=True, exist_ok=True)
    number = 1
    while True:
        unique = name if number == 1 else f"{name}-{number}"
        try:
            (parent / unique).mkdir()  # exclusive: of two writers, one gets the name
            break
        except FileExistsError:
            number += 1
    trial = Trial(task.name, unique, parent / unique)
    (trial.folder / TRIAL_FILE).write_text(content, encoding="utf-8")
    (trial.folder / SOURCES[spec.kind]).write_text(source, encoding="utf-8")
    return trial


def _render(spec: TrialSpec) -> str:
    """Return ``spec`` as TOML (JSON strings and arrays of strings are TOML)."""
    fields = ("kind", "description", "parents", "author")
    try:
        lines = [f"{name} = {msgspec.json.encode(getattr(spec, name)).decode()}" for name in fields]
        text = "\n".join(lines) + "\n"
        tomllib.loads(text)
    except ValueError as error:  # of TOML, and of text that is no Unicode
        raise UsageError("description, parents and author must be plain text") from error
    return text

"""Results on disk: sealed, whole, and believed only while they are current.

A trial's folder belongs to whoever writes trials, so a ``result.json`` found there proves nothing
by itself. It counts only if it carries this user's seal, and only as long as everything that it
rests on (task, data, trial source, evaluator, request, versions) is what it was.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from srh.errors import FormatError, HarnessError, SrhError
from srh.evaluation.protocol import EvaluationResult, Provenance, Request, read_result
from srh.evaluation.runner import Evaluation
from srh.files import (
    FileRefusedError,
    open_folder,
    read_regular,
    remove_drafts,
    write_whole,
)
from srh.formats import pretty_json, read_json
from srh.text import one_line
from srh.trials import Trial
from srh.vault import is_sealed, seal

RESULT_FILE = "result.json"
REQUEST_FILE = "request.json"
HISTORY = "history"
_LIMIT = 64 << 20
_PATIENCE_S = 10.0
_NO_SECOND_NAME = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV)
_ENVELOPE = ("task", "trial", "evaluated_at", "seal")
State = Literal["absent", "current", "unverified"]


@dataclass(frozen=True, slots=True)
class Record:
    """A trial's stored result, and whether it may be believed.

    Attributes:
        state: ``absent``, ``current``, or ``unverified``.
        reason: Why it is unverified.
        result: What it says; None where it is absent or cannot be read.
        evaluated_at: When it was made, as it says.
    """

    state: State
    reason: str | None = None
    result: EvaluationResult | None = None
    evaluated_at: str | None = None


def load_record(trial: Trial, current: Provenance | None) -> Record:
    """Read a trial's stored result and decide whether it may be believed.

    Args:
        trial: The trial.
        current: What a result would rest on if it were made now; None where the trial's source
            cannot be read, so that no result is current.

    Raises:
        HarnessError: The sealing key cannot be read.
    """
    try:
        body = _read(trial)
        if body is None:
            return Record("absent")
        claimed = body.pop("seal", None)
        content = {key: value for key, value in body.items() if key not in _ENVELOPE}
        result = read_result(content, RESULT_FILE)
    except HarnessError:
        raise
    except SrhError as error:
        return Record("unverified", f"cannot be read: {one_line(str(error))}")
    stamp = one_line(str(body.get("evaluated_at")), 40)
    if not is_sealed(body, claimed):
        return Record(
            "unverified", "not sealed by you: planted, edited or from elsewhere", result, stamp
        )
    if result.outcome == "harness":
        return Record("unverified", "made while srh itself had failed", result, stamp)
    changed = differences(result.provenance, current)
    if changed:
        reason = f"out of date: {', '.join(map(differing, changed))} changed"
        return Record("unverified", reason, result, stamp)
    return Record("current", None, result, stamp)


def differences(then: Provenance | None, now: Provenance | None) -> list[str]:
    """Return the fields of provenance in which two results differ.

    The machine is left out: the same digests and versions elsewhere are the same evaluation, whose
    last bits `srh verify` judges.
    """
    if then is None or now is None:
        return ["provenance"]
    names = ("trial", "task", "data", "evaluator", "request", "versions")
    return [name for name in names if getattr(then, name) != getattr(now, name)]


def differing(field: str) -> str:
    """Return what a field of provenance is to a reader: most are digests."""
    return field if field in ("provenance", "versions", "metrics") else f"{field} digest"


def store_record(trial: Trial, evaluation: Evaluation, request: Request) -> None:
    """Write a trial's result, request and output into its folder, each file whole.

    An older result is kept under ``history/``. Of several writers one is at work at a time: each
    keeps the result of the one before it.

    Args:
        trial: The trial.
        evaluation: What came of it.
        request: What was asked, with paths relative to the trial's folder.

    Raises:
        HarnessError: The folder cannot be written.
    """
    body: dict[str, Any] = msgspec.to_builtins(evaluation.result, str_keys=True)
    body |= {
        "task": trial.task,
        "trial": trial.id,
        "evaluated_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }
    body["seal"] = seal(body)
    result = pretty_json(body)
    beside: Mapping[str, bytes] = {
        REQUEST_FILE: request.encode(),
        "stdout.txt": evaluation.stdout.encode(),
        "stderr.txt": evaluation.stderr.encode(),
    }
    try:
        with open_folder(trial.folder) as folder, _alone(folder):
            for name, content in beside.items():
                _clear_way(folder, name)
                write_whole(name, content, folder=folder)
            _keep_old(folder)
            _clear_way(folder, RESULT_FILE)
            write_whole(RESULT_FILE, result, folder=folder)
    except (OSError, FileRefusedError) as error:
        detail = getattr(error, "strerror", None) or error
        raise HarnessError(f"{trial.folder}: the result cannot be stored ({detail})") from error


def portable_request(request: Request, trial: Trial, data_path: os.PathLike[str]) -> Request:
    """Return the request with paths that count from the trial's folder, wherever that lies."""

    def relative(path: os.PathLike[str] | str) -> str:
        return os.path.relpath(os.path.realpath(path), os.path.realpath(trial.folder))

    task_dir = None if request.task_dir is None else relative(request.task_dir)
    return msgspec.structs.replace(
        request, trial_dir=".", dataset_path=relative(data_path), task_dir=task_dir
    )


def _read(trial: Trial) -> dict[str, Any] | None:
    with open_folder(trial.folder) as folder:
        try:
            os.stat(RESULT_FILE, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:  # a folder that may be listed, but not entered
            raise FileRefusedError(f"{RESULT_FILE}: {error.strerror}") from error
        content = read_regular(RESULT_FILE, _LIMIT, folder=folder)
    body = read_json(content, RESULT_FILE)
    if not isinstance(body, dict):
        raise FormatError(RESULT_FILE, ["must be an object"])
    return body


@contextlib.contextmanager
def _alone(folder: int) -> Iterator[None]:
    """Be the only one of us who writes in a folder, and remove what somebody killed has left.

    Whoever else may lock the folder can keep us waiting, but not for ever; and there are file
    systems without locks. Then everything is written all the same, and nothing is removed.
    """
    held = _lock(folder)
    if held:
        remove_drafts(folder)
    try:
        yield
    finally:
        if held:
            fcntl.flock(folder, fcntl.LOCK_UN)


def _lock(folder: int) -> bool:
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.01)
        except OSError:
            return False


def _keep_old(folder: int) -> None:
    """Give whatever is called ``result.json`` a name in the history, following nothing."""
    stamp = _stamp()
    history = _open_history(folder, stamp)
    try:
        with contextlib.suppress(FileNotFoundError):
            try:
                _give_name(folder, history, f"{stamp}.json")
            except FileExistsError:  # the clock was set back, to the microsecond
                _give_name(folder, history, f"{stamp}-{secrets.token_hex(8)}.json")
    finally:
        os.close(history)


def _give_name(folder: int, history: int, name: str) -> None:
    """Name the result in the history; it stays in its place until a new one replaces it."""
    try:
        os.link(RESULT_FILE, name, src_dir_fd=folder, dst_dir_fd=history, follow_symlinks=False)
    except OSError as error:
        # A folder, or a file system without hard links. Where there is only no room for a second
        # name, there is none for a new result either, and the old one must not go.
        if error.errno not in _NO_SECOND_NAME:
            raise
        os.rename(RESULT_FILE, name, src_dir_fd=folder, dst_dir_fd=history)


def _clear_way(folder: int, name: str) -> None:
    """Give a folder that has the name of a file of ours another: no file could replace it."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.rename(name, f"{_stamp()}.{name}", src_dir_fd=folder, dst_dir_fd=folder)


def _open_history(folder: int, stamp: str) -> int:
    """Return a descriptor of ``history/``; whatever else has that name is moved aside."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    for _ in range(2):
        with contextlib.suppress(FileExistsError):
            os.mkdir(HISTORY, dir_fd=folder)
        try:
            return os.open(HISTORY, flags, dir_fd=folder)
        except NotADirectoryError:  # a file, or with O_DIRECTORY a link too
            os.rename(HISTORY, f"{stamp}.{HISTORY}", src_dir_fd=folder, dst_dir_fd=folder)
    raise NotADirectoryError(errno.ENOTDIR, "something keeps taking the name 'history'")


def _stamp() -> str:
    return datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")

"""What srh keeps outside every project: the key that seals results, and the count of holdout looks.

A trial folder belongs to whoever writes trials. So the proof that *srh* wrote a result, and the
record of how often a holdout was looked at, lie in a folder of the user's own.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hmac
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from srh.digest import canonical_json
from srh.errors import HarnessError
from srh.files import FileRefusedError, read_regular
from srh.formats import read_json

_KEY_BYTES = 32
_LEDGER_LIMIT = 64 * 2**20


def vault_folder() -> Path:
    """Return the user's srh folder, made if needed, private to the user.

    ``$XDG_DATA_HOME/srh``, or ``~/.local/share/srh``.

    Raises:
        HarnessError: It cannot be made or written.
    """
    base = os.environ.get("XDG_DATA_HOME", "")
    home = Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share"
    folder = home / "srh"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise HarnessError(
            f"{folder}: cannot keep the sealing key here ({error.strerror}); "
            "set XDG_DATA_HOME to a folder that you may write"
        ) from error
    return folder


def seal(body: Mapping[str, Any]) -> str:
    """Return the seal of a JSON object: its HMAC-SHA256 under this user's key.

    Raises:
        HarnessError: The key cannot be read or made.
    """
    return "hmac-sha256:" + hmac.digest(_key(), canonical_json(body), "sha256").hex()


def is_sealed(body: Mapping[str, Any], claimed: object) -> bool:
    """Tell whether ``claimed`` is this user's seal of ``body``."""
    return isinstance(claimed, str) and hmac.compare_digest(
        seal(body).encode(), claimed.encode("utf-8", "replace")
    )


def record_holdout_look(holdout: str, entry: Mapping[str, Any]) -> int:
    """Append one look at a holdout to its ledger and return its number, counted from 1.

    Args:
        holdout: Digest of the held-out rows; it names the ledger.
        entry: JSON object that says at what, by which trials, and when.

    Raises:
        HarnessError: The ledger cannot be written: a look that cannot be counted must not happen.
    """
    path = _ledger(holdout)
    try:
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o600), "rb+", buffering=0) as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            content = stream.read()
            line = canonical_json(dict(entry)) + b"\n"
            if stream.write(line) != len(line):  # as much as there was room for
                stream.truncate(len(content))
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(stream.fileno())
    except OSError as error:
        raise HarnessError(
            f"{path}: the holdout look cannot be recorded ({error.strerror}), so it is refused"
        ) from error
    return content.count(b"\n") + 1


def holdout_looks(holdout: str) -> list[dict[str, Any]]:
    """Return the recorded looks at a holdout, oldest first."""
    path = _ledger(holdout)
    if not path.exists():
        return []
    content = read_regular(path, _LEDGER_LIMIT)
    return [read_json(line, str(path)) for line in content.splitlines() if line.strip()]


def _ledger(holdout: str) -> Path:
    folder = vault_folder() / "holdout"
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        raise HarnessError(
            f"{folder}: the holdout looks cannot be counted here ({error.strerror})"
        ) from error
    return folder / (holdout.replace(":", "-") + ".jsonl")


def _key() -> bytes:
    path = vault_folder() / "seal.key"
    if not path.exists():
        _make_key(path)
    try:
        key = read_regular(path, _KEY_BYTES)
        status = path.lstat()
    except (FileRefusedError, OSError) as error:
        raise HarnessError(f"{path}: the sealing key cannot be read: {error}") from error
    if len(key) != _KEY_BYTES or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise HarnessError(
            f"{path}: the sealing key must be {_KEY_BYTES} bytes that only you may read; "
            "delete it to have a new one made (results sealed with it become unverified)"
        )
    return key


def _make_key(path: Path) -> None:
    """Create the key whole and once: of two processes that try, both end up with the same key."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(secrets.token_bytes(_KEY_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
        draft.unlink()
    except OSError as error:
        raise HarnessError(
            f"{path}: cannot make the sealing key ({error.strerror}); "
            "set XDG_DATA_HOME to a folder that you may write"
        ) from error

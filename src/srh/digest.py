"""Content digests: the identity of tasks, data, trials and requests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def digest_bytes(content: bytes) -> str:
    """Return the digest of ``content`` as ``"sha256:<64 hex digits>"``."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def digest_file(path: Path) -> str:
    """Return the digest of a file's content, read in pieces.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as stream:
        return "sha256:" + hashlib.file_digest(stream, "sha256").hexdigest()


def digest_files(contents: Mapping[str, bytes]) -> str:
    """Return one digest for several named files.

    Names and contents are length-prefixed, so that no two different sets share a digest.
    """
    whole = hashlib.sha256()
    for name in sorted(contents):
        for part in (name.encode(), contents[name]):
            whole.update(len(part).to_bytes(8, "big"))
            whole.update(part)
    return "sha256:" + whole.hexdigest()


def digest_value(value: Any) -> str:
    """Return the digest of a JSON value in its canonical form.

    Raises:
        ValueError: The value holds NaN or an infinity.
        TypeError: The value is not made of JSON types.
    """
    return digest_bytes(canonical_json(value))


def canonical_json(value: Any) -> bytes:
    """Return ``value`` as JSON with sorted keys and no spaces: equal values, equal bytes.

    Raises:
        ValueError: The value holds NaN or an infinity.
        TypeError: The value is not made of JSON types.
    """
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")

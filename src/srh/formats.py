"""Strict reading of TOML and JSON into typed values, with every mistake reported at once.

msgspec converts and checks types. Around it stand the checks that it leaves out: duplicate keys,
NaN and infinities, unknown fields with a suggestion, and more than the first mistake.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import tomllib
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from srh.errors import FormatError
from srh.text import did_you_mean, one_line

T = TypeVar("T")

_MAX_DEPTH = 64  # of arrays and tables in each other; no format of ours comes near it
_TOO_DEEP = "nested too deeply"
_MOST_PROBLEMS = 50  # a file of nothing but mistakes must not take its reader's time and memory


def read_json(content: bytes, where: str) -> Any:
    """Decode JSON strictly.

    Args:
        content: UTF-8 text.
        where: Name of the file or message, for errors.

    Raises:
        FormatError: Not UTF-8, not JSON, a duplicate key, a number that is not finite, or nested
            too deeply.
    """
    try:
        document = _DECODER.decode(content.decode("utf-8"))
    except RecursionError as error:
        raise FormatError(where, [_TOO_DEEP]) from error
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise FormatError(where, [f"not valid JSON: {one_line(str(error))}"]) from error
    # Nothing is deeper than it has opening brackets: a list of a million rows is not walked.
    if content.count(b"[") + content.count(b"{") > _MAX_DEPTH:
        _refuse_deep(document, where)
    return document


def read_toml(content: bytes, where: str) -> dict[str, Any]:
    """Decode TOML strictly.

    Raises:
        FormatError: Not UTF-8, not TOML, a duplicate key, or a number that is not finite.
    """
    try:
        document = tomllib.loads(content.decode("utf-8"))
    except RecursionError as error:
        raise FormatError(where, [_TOO_DEEP]) from error
    except ValueError as error:
        raise FormatError(where, [f"not valid TOML: {one_line(str(error))}"]) from error
    _refuse_deep(document, where)  # a dotted key makes a table per dot, without any recursion
    problems = [f"{path}: must be a finite number" for path in _non_finite(document, "")]
    if problems:
        raise FormatError(where, problems)
    return document


def decode(kind: type[T], raw: Any, where: str) -> T:
    """Convert plain JSON or TOML values into ``kind``.

    Args:
        kind: A msgspec Struct or dataclass, or any type that msgspec converts.
        raw: Decoded JSON or TOML.
        where: Name of the file or message, for errors.

    Raises:
        FormatError: With all mistakes found (the first 50 of more), each naming its field.
    """
    problems: list[str] = []
    _check(kind, raw, "", problems)
    if len(problems) >= _MOST_PROBLEMS:
        problems[_MOST_PROBLEMS:] = ["and perhaps more: these are the first"]
    if problems:
        raise FormatError(where, problems)
    try:
        return msgspec.convert(raw, kind, strict=True)
    except msgspec.ValidationError as error:
        raise FormatError(where, [_tidy(str(error), "")]) from error


def pretty_json(value: Any) -> bytes:
    """Return ``value`` (Structs included) as indented, sorted, strict JSON with a final newline.

    Raises:
        ValueError: The value holds NaN or an infinity.
    """
    plain = msgspec.to_builtins(value, str_keys=True)
    return (json.dumps(plain, indent=2, sort_keys=True, allow_nan=False) + "\n").encode("ascii")


def _check(kind: Any, value: Any, path: str, problems: list[str]) -> None:
    """Append to ``problems`` whatever keeps ``value`` from being a ``kind``."""
    if len(problems) >= _MOST_PROBLEMS:
        return
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        arms = [arm for arm in arguments if arm is not type(None)]
        if value is not None and len(arms) == 1:
            _check(arms[0], value, path, problems)
            return
    elif origin in (list, tuple) and isinstance(value, list) and _is_told_one_by_one(arguments):
        for index, item in enumerate(value):
            _check(arguments[0], item, f"{path}[{index}]", problems)
        return
    elif origin is typing.Literal and isinstance(value, str) and value not in arguments:
        known = [str(argument) for argument in arguments]
        hint = did_you_mean(value, known)
        problems.append(
            f"{path}: {one_line(value)!r} is not one of {', '.join(map(repr, known))}{hint}"
        )
        return
    elif _is_struct(kind) and isinstance(value, dict):
        before = len(problems)
        _check_fields(kind, value, path, problems)
        if len(problems) > before:
            return
    try:
        msgspec.convert(value, kind, strict=True)
    except msgspec.ValidationError as error:
        problems.append(_tidy(str(error), path))


def _check_fields(kind: Any, value: Mapping[str, Any], path: str, problems: list[str]) -> None:
    known = _fields(kind)
    prefix = f"{path}." if path else ""
    for key in value:
        if len(problems) >= _MOST_PROBLEMS:
            return
        if key not in known:
            hint = did_you_mean(str(key), known)
            problems.append(f"{prefix}{one_line(str(key))}: unknown field{hint}")
    for name, (field_kind, required) in known.items():
        if name in value:
            _check(field_kind, value[name], prefix + name, problems)
        elif required:
            problems.append(f"{prefix}{name}: required field is missing")


@functools.cache
def _fields(kind: Any) -> dict[str, tuple[Any, bool]]:
    """Return name -> (type, required) of a Struct or dataclass."""
    if issubclass(kind, msgspec.Struct):
        return {
            field.encode_name: (field.type, field.required)
            for field in msgspec.structs.fields(kind)
        }
    hints = typing.get_type_hints(kind)
    missing = dataclasses.MISSING
    return {
        field.name: (
            hints[field.name],
            field.default is missing and field.default_factory is missing,
        )
        for field in dataclasses.fields(kind)
    }


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and (
        issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind)
    )


def _is_told_one_by_one(arguments: tuple[Any, ...]) -> bool:
    if not arguments:
        return False
    return _is_struct(arguments[0]) or typing.get_origin(arguments[0]) is typing.Literal


def _tidy(message: str, path: str) -> str:
    """Turn msgspec's ``text - at `$.a.b` `` into ``path.a.b: text``."""
    text, _, inner = message.partition(" - at `$")
    full = (path + inner.rstrip("`")).lstrip(".")
    return f"{full}: {text}" if full else text


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise ValueError(f"duplicate key {one_line(name)!r}")
            seen.add(name)
    return result


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not a finite number")


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{one_line(text, 40)} is not a finite number")
    return number


# Made once: a file of lines is decoded line by line.
_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_constant=_refuse_constant, parse_float=_finite_float
)


def _refuse_deep(document: Any, where: str) -> None:
    """Refuse what later steps could not walk, print or compare without recursing too deeply."""
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(_MAX_DEPTH):
        level = [
            item
            for parent in level
            for item in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(item, dict | list)
        ]
    if level:
        raise FormatError(where, [_TOO_DEEP])


def _non_finite(value: Any, path: str) -> list[str]:
    if isinstance(value, float):
        return [] if math.isfinite(value) else [path or "value"]
    if isinstance(value, dict):
        return [
            p for key, item in value.items() for p in _non_finite(item, f"{path}.{key}".strip("."))
        ]
    if isinstance(value, list):
        return [p for i, item in enumerate(value) for p in _non_finite(item, f"{path}[{i}]")]
    return []

"""Names of columns and parameters: one spelling on both sides, and when to quote.

A name in a formula and the same name in a data file may differ in their code points (``µ`` exists
twice in Unicode). Both sides are therefore brought to NFKC before they are compared, which is also
what Python does with its identifiers.
"""

from __future__ import annotations

import keyword
import math
import re
import unicodedata
from types import MappingProxyType
from typing import TYPE_CHECKING

from srh.engine.operators import ALIASES, FUNCTIONS
from srh.errors import ExpressionError
from srh.text import UNSAFE_CATEGORIES, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_NAME = 256
"""Longest name of a column, a parameter or a group label, in characters."""

SUPERSCRIPT_DIGITS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
SUPERSCRIPTS = SUPERSCRIPT_DIGITS + "⁺⁻"
# \w holds superscript digits, which are exponents here, and lacks combining accents.
NAME_PATTERN = rf"(?!\d)[^\W{SUPERSCRIPTS}](?:[^\W{SUPERSCRIPTS}]|[\u0300-\u036f])*"

CONSTANTS: Mapping[str, float] = MappingProxyType({"pi": math.pi, "e": math.e})
"""Names that stand for a number unless the data have a column of that name."""

CALLS = frozenset({"param", "grouped_param", "RelationField"})
REDUCERS = ("sum", "mean", "prod", "max", "min")
"""What stands before an index in brackets: ``sum[j](...)``."""

STRUCTURE_CALLS = frozenset({"delay", "gather", "aggr", "targ", "sour"})
"""Calls on structured data. Not followed by ``(`` such a name is a column like any other."""
NOT_FINITE = frozenset({"nan", "NaN", "inf", "Inf", "infinity", "Infinity"})
RESERVED = frozenset(CONSTANTS) | FUNCTIONS | frozenset(ALIASES) | CALLS | NOT_FINITE
"""Names that do not mean a column when they stand alone and the columns are not known."""

_BARE = re.compile(NAME_PATTERN)
_UNSAFE = UNSAFE_CATEGORIES | {"Zl", "Zp"}  # line and paragraph separators


def normalise_name(name: str) -> str:
    """Return ``name`` in the one spelling that names are compared in (Unicode NFKC).

    Raises:
        ExpressionError: The name is empty, longer than ``MAX_NAME``, or has characters that
            cannot be seen (control, zero-width, bidi, surrogate, private use).
    """
    if not isinstance(name, str):
        raise ExpressionError(f"a name must be text, not {type(name).__name__}")
    if name.isascii() and name.isidentifier() and len(name) <= MAX_NAME:
        return str(name)
    if len(name) > MAX_NAME:
        raise ExpressionError(
            f"the name {one_line(name, 40)!r} has {len(name)} characters; the limit is {MAX_NAME}"
        )
    normal = unicodedata.normalize("NFKC", name)
    if not normal.strip() or len(normal) > MAX_NAME:
        raise ExpressionError(f"the name {one_line(name, 40)!r} is empty or too long")
    for char in normal:
        if is_unsafe(char):
            raise ExpressionError(
                f"the name {one_line(name, 40)!r} contains the invisible character "
                f"U+{ord(char):04X}; rename it"
            )
    return normal


def is_unsafe(char: str) -> bool:
    """Say whether a character cannot be seen (control, zero-width, bidi, surrogate, ...)."""
    return unicodedata.category(char) in _UNSAFE


def normalise_columns(names: Iterable[str]) -> dict[str, str]:
    """Map the normalised spelling of each column to its spelling in the data.

    Raises:
        ExpressionError: Two columns are the same name after normalisation, or a name is unusable.
    """
    found: dict[str, str] = {}
    for name in names:
        normal = normalise_name(name)
        if normal in found:
            raise ExpressionError(
                f"the columns {found[normal]!a} and {name!a} are the same name after Unicode "
                "normalisation (NFKC); rename one"
            )
        found[normal] = name
    return found


def is_bare(name: str) -> bool:
    """Say whether ``name`` means a column when written without backticks, columns unknown."""
    if name in RESERVED or keyword.iskeyword(name):
        return False
    return _BARE.fullmatch(name) is not None


def quote(name: str) -> str:
    """Return the text that the parser reads as the column ``name``, quoted where it has to be."""
    return name if is_bare(name) else "`" + name.replace("`", "``") + "`"

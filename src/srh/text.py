"""Text from outside made harmless, and phrases that messages share."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
# Control (Cc), format (Cf: bidi marks, zero-width), surrogate and private-use characters can
# rewrite a terminal line or hide text from a reader.
UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co"})
_LONGEST_WORD = 200  # nobody misspells more, and looking for a match takes time by its length


def harmless(text: str | bytes, limit: int = 2000) -> str:
    """Return ``text`` without anything that could deceive or flood its reader.

    Args:
        text: Any text or bytes; bytes are read as UTF-8, invalid sequences replaced.
        limit: Longest result in characters; a longer text keeps its end, where errors stand.

    Returns:
        Printable text: ANSI sequences and control, format and bidi characters removed, newlines
        and tabs kept.
    """
    if isinstance(text, bytes):
        text = text[-8 * limit :].decode("utf-8", errors="replace")
    text = _ANSI.sub("", text[-8 * limit :])
    kept = "".join(
        char
        for char in text
        if char in "\n\t" or unicodedata.category(char) not in UNSAFE_CATEGORIES
    )
    return kept if len(kept) <= limit else "… " + kept[-(limit - 2) :]


def one_line(text: str | bytes, limit: int = 200) -> str:
    """Return ``text`` made harmless and folded into a single line of at most ``limit`` chars."""
    line = " ".join(harmless(text, 8 * limit).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def plural(count: int, noun: str) -> str:
    """Return ``"1 fold"`` or ``"5 folds"``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return ``" (did you mean 'x'?)"`` for the nearest known name, or an empty string."""
    if len(word) > _LONGEST_WORD:
        return ""
    names = sorted({str(name) for name in known})
    close = get_close_matches(word, names, n=1, cutoff=0.6)
    if not close:
        folded = {name.casefold(): name for name in names}
        match = folded.get(word.casefold())
        close = [match] if match else []
    return f" (did you mean {close[0]!r}?)" if close else ""

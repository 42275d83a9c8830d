"""A formula's text cut into tokens, and errors that say where."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

from srh.engine.names import NAME_PATTERN, SUPERSCRIPT_DIGITS, SUPERSCRIPTS, normalise_name
from srh.errors import ParseError
from srh.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TEXT = 500_000
"""Longest formula, in characters."""

MAX_NUMBER = 400
"""Longest number literal, in characters."""

_DIGITS = "[0-9](?:_?[0-9])*+"
_TOKEN = re.compile(
    rf"""\s*+(?:
      (?P<op>[-+^(),{{}}\[\]]|\*\*?|/(?!/)|:(?!=)|=(?!=)|[−–－·⋅∙×∗÷∕（），＝：＋＊／])
    | (?P<dotted>(?:np|numpy|math)\.(?:{NAME_PATTERN}))
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*+(?![^\x00-\x7f])|{NAME_PATTERN})
    | (?P<number>(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?)
    | (?P<power>[⁺⁻]?[{SUPERSCRIPT_DIGITS}]++)
    | (?P<quoted>`(?:[^`]++|``)*+`)
    | (?P<string>'(?:[^'\\\n]++|\\.)*+'|"(?:[^"\\\n]++|\\.)*+")
    | (?P<other>//|:=|==|.)
    | \Z  # blanks at the end must match too, or they are tried again from each of them
    )""",
    re.VERBOSE,
)
_SAME_AS = {"^": "**"} | {
    other: plain
    for plain, others in {
        "-": "−–－",
        "+": "＋",
        "*": "·⋅∙×∗＊",
        "/": "÷∕／",
        "(": "（",
        ")": "）",
        ",": "，",
        "=": "＝",
        ":": "：",
    }.items()
    for other in others
}
_EXPONENT = str.maketrans(SUPERSCRIPTS, "0123456789+-")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_SIMPLE_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "r": "\r", "t": "\t"}


class Token(NamedTuple):
    """A piece of text.

    Attributes:
        kind: ``number name dotted power quoted string``, or the operator itself (look-alikes
            replaced: ``×`` is ``*``), or ``other`` for what the language does not have, or ``end``.
        text: The text itself.
        start: Offset of its first character.
        end: Offset behind its last character.
    """

    kind: str
    text: str
    start: int
    end: int


def tokenize(text: str, start: int = 0) -> Iterator[Token]:
    """Yield the tokens of ``text`` from offset ``start``, then one of kind ``end``."""
    new = tuple.__new__  # half the time of calling Token
    for match in _TOKEN.finditer(text, start):
        kind = match.lastgroup
        if kind is None:  # the end
            break
        piece = match[kind]
        end = match.end()
        if kind == "op":
            kind = _SAME_AS.get(piece, piece)
        yield new(Token, (kind, piece, end - len(piece), end))
    yield Token("end", "", len(text), len(text))


def number_value(text: str) -> int | float:
    """Return the value of a number literal; integers stay exact.

    Raises:
        ValueError: With a sentence that says why the literal is refused.
    """
    if len(text) > MAX_NUMBER:
        raise ValueError(f"a number has at most {MAX_NUMBER} characters")
    plain = text.replace("_", "")
    if plain.isdigit():
        if len(plain) > 1 and plain[0] == "0":
            raise ValueError(f"write the number without leading zeros: {plain.lstrip('0') or '0'}")
        return int(plain)
    value = float(plain)
    if value - value != 0:
        raise ValueError("the number is beyond the range of float64 (1.8e308)")
    if value == 0 and any(digit in "123456789" for digit in re.split("[eE]", plain)[0]):
        raise ValueError("the number is too small for float64 (4.9e-324); write 0")
    return value


def exponent_value(text: str) -> int:
    """Return the value of a superscript integer such as ``⁻²``."""
    return int(text.translate(_EXPONENT))


def string_value(token: str) -> str:
    """Return the text that a quoted string stands for.

    Raises:
        ValueError: It has an escape sequence other than those that ``repr`` writes.
    """

    def decode(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code:
            return chr(int(code, 16))
        if match[4] not in _SIMPLE_ESCAPES:
            raise ValueError(f"unknown escape sequence {match[0]!a}")
        return _SIMPLE_ESCAPES[match[4]]

    return _ESCAPE.sub(decode, token[1:-1])


def skip_target(text: str, target: str | None) -> int:
    """Return where the formula starts, behind ``target =`` if the text begins with that.

    Raises:
        ParseError: The text begins with another name and ``=``.
    """
    tokens = tokenize(text)
    name, equals = next(tokens), next(tokens, None)
    if name.kind not in {"name", "quoted"} or equals is None or equals.kind != "=":
        return 0
    left = column_name(name)
    if target is None:
        raise error_at(text, name.start, f"write only what stands right of {shown(left)} =")
    if left != normalise_name(target):
        raise error_at(
            text, name.start, f"the target is {shown(target)}, not {shown(left)}; write only the "
            "right hand side"
        )  # fmt: skip
    return equals.end


def column_name(token: Token) -> str:
    """Return the normalised name that a ``name`` or ``quoted`` token stands for.

    Raises:
        ExpressionError: The name is unusable.
    """
    if token.kind == "quoted":
        return normalise_name(token.text[1:-1].replace("``", "`"))
    return normalise_name(token.text)


def error_at(text: str, offset: int, message: str) -> ParseError:
    """Return an error that names the place and quotes a short, harmless excerpt."""
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    where = f"column {column}" if line == 1 else f"line {line}, column {column}"
    before = one_line(text[max(0, offset - 12) : offset], 12)
    after = one_line(text[offset : offset + 20], 20)
    gap = " " if text[offset - 1 : offset].isspace() and before and after else ""
    return ParseError(f"{message} (at {where}: {shown(before + gap + after)})")


def shown(text: str, limit: int = 40) -> str:
    """Return ``text`` quoted for a message, on one line and without anything invisible."""
    return repr(one_line(text[: 2 * limit], limit)) if text else "the end of the text"


def character_names(text: str) -> str:
    """Return a remark that names the unusual characters of a word, or an empty string.

    A Cyrillic ``а`` cannot be told from a Latin one by eye.
    """
    unusual = [char for char in dict.fromkeys(text) if not char.isascii()][:3]
    names = [f"U+{ord(char):04X} {unicodedata.name(char, 'unnamed')}" for char in unusual]
    return f" [it contains {', '.join(names)}]" if names else ""

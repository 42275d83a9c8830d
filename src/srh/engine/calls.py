"""Reading ``param(...)`` and ``grouped_param(...)``: the only calls that take texts and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from srh.engine.expression import Label, Symbol
from srh.engine.parameters import GroupedParameter, Parameter
from srh.engine.scalars import plain_label
from srh.engine.tokens import Token, shown, string_value
from srh.errors import ExpressionError, ParseError
from srh.text import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Source(Protocol):
    """What these readers need of the parser."""

    token: Token
    before: Token

    def advance(self) -> Token:
        """Step to the next token and return the one left behind."""

    def error(self, message: str, token: Token | None = None) -> ParseError:
        """Return an error at a token."""

    def expect(self, text: str, what: str) -> Token:
        """Step over an operator that has to stand here."""

    def column(self, token: Token) -> Symbol:
        """Return the column that a name stands for."""

    def relation(self, token: Token) -> str:
        """Return the name of the relation that a token names."""

    def number(self, token: Token) -> int | float:
        """Return a number token's value."""


def read_param(source: Source) -> Parameter:
    """Read the arguments of ``param('a', value=1.5)`` and the closing bracket.

    Raises:
        ParseError: They are written wrongly.
        ExpressionError: The name or value is unusable.
    """
    given = read_arguments(source, "param", {"name": _text, "value": _number_or_none})
    if "name" not in given:
        raise source.error("param needs a name in quotes: param('a')", source.before)
    return Parameter(given["name"], given.get("value"))


def read_grouped_param(source: Source) -> GroupedParameter:
    """Read the arguments of ``grouped_param(site, name='k', value={'a': 1.0}, default=0.5)``.

    Raises:
        ParseError: They are written wrongly.
        ExpressionError: A name, label or value is unusable.
    """
    readers = {"label": _label, "name": _text, "value": _table, "default": _number_or_none}
    given = read_arguments(source, "grouped_param", readers)
    if "label" not in given or "name" not in given:
        raise source.error(
            "grouped_param needs a column and a name: grouped_param(site, name='k')", source.before
        )
    return GroupedParameter(given["label"], given["name"], given.get("value"), given.get("default"))


def read_arguments(
    source: Source, call: str, readers: Mapping[str, Callable[[Source, Token, str], Any]]
) -> dict[str, Any]:
    """Read arguments up to and with ``)``, by position or keyword, as Python would bind them."""
    given: dict[str, Any] = {}
    names = list(readers)
    by_keyword = False
    while not _at(source, ")"):
        first = token = source.advance()
        if token.kind == "name" and _at(source, "="):
            by_keyword, name = True, token.text
            source.advance()
            token = source.advance()
        elif by_keyword or len(given) == len(names):
            raise source.error(f"{call} takes {', '.join(names)}; write them as name=value", first)
        else:
            name = names[len(given)]
        if name not in readers:
            hint = did_you_mean(name, names)
            raise source.error(f"{call} has no argument {shown(name)}{hint}", first)
        if name in given:
            raise source.error(f"{call} is given {name!r} twice", first)
        given[name] = readers[name](source, token, f"{call}: {name}")
        if not _at(source, ")"):
            source.expect(",", call)
    source.advance()
    return given


def _at(source: Source, text: str) -> bool:
    return source.token.kind == text


def _text(source: Source, token: Token, what: str) -> str:
    if token.kind != "string":
        raise source.error(f"{what} must be a text in quotes, such as 'a'", token)
    try:
        return string_value(token.text)
    except ValueError as error:
        raise source.error(str(error), token) from None


def _label(source: Source, token: Token, what: str) -> str:
    if token.kind not in {"name", "quoted"}:
        raise source.error(f"{what} must be a column, not {shown(token.text)}", token)
    return source.column(token).name


def _number(source: Source, token: Token, what: str) -> int | float:
    sign = 1
    while token.kind in {"+", "-"}:
        sign = -sign if token.kind == "-" else sign
        token = source.advance()
    if token.kind != "number":
        raise source.error(f"{what} must be a number, not {shown(token.text)}", token)
    value = source.number(token)
    # -0 is the integer 0, but the value that is wanted is a float.
    return -float(value) if sign < 0 else value


def _number_or_none(source: Source, token: Token, what: str) -> int | float | None:
    if token.kind == "name" and token.text == "None":
        return None
    return _number(source, token, what)


def _table(source: Source, token: Token, what: str) -> dict[Label, float] | None:
    if token.kind == "name" and token.text == "None":
        return None
    if token.kind != "{":
        raise source.error(f"{what} must be a table such as {{'a': 1.0}}", token)
    table: dict[Label, float] = {}
    while not _at(source, "}"):
        first = source.advance()
        try:
            label = plain_label(
                _text(source, first, what)
                if first.kind == "string"
                else _number(source, first, f"{what}: a label without quotes")
            )
        except ExpressionError as error:
            raise source.error(str(error), first) from None
        if label in table:
            raise source.error(f"{what} has the label {shown(str(label))} twice", first)
        source.expect(":", what)
        table[label] = _number(source, source.advance(), f"{what} of {shown(str(label))}")
        if not _at(source, "}"):
            source.expect(",", what)
    source.advance()
    return table

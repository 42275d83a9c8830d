"""What the parser says about text that it refuses: what is wrong and what to write instead."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

from srh.engine.names import CALLS, CONSTANTS, NOT_FINITE, is_bare, is_unsafe
from srh.engine.operators import ALIASES, FUNCTIONS, OPERATORS
from srh.engine.tokens import character_names, shown
from srh.text import did_you_mean, one_line, plural

if TYPE_CHECKING:
    from collections.abc import Collection

    from srh.engine.tokens import Token

_INSTEAD = {
    "pow": "x**y",
    "power": "x**y",
    "square": "x**2",
    "cbrt": "sign(x)*abs(x)**(1/3)",
    "log2": "log(x)/log(2)",
    "exp2": "2**x",
    "expm1": "exp(x) - 1",
    "log1p": "log(1 + x)",
    "logit": "log(x/(1 - x))",
    "expit": "sigmoid(x)",
    "asinh": "log(x + sqrt(x**2 + 1))",
    "arcsinh": "log(x + sqrt(x**2 + 1))",
    "acosh": "log(x + sqrt(x**2 - 1))",
    "arccosh": "log(x + sqrt(x**2 - 1))",
    "atanh": "log((1 + x)/(1 - x))/2",
    "arctanh": "log((1 + x)/(1 - x))/2",
}
_INSTEAD |= {op: f"{op}[j](A[i, j], x[j])" for op in ("sum", "mean", "prod")}
_FOREIGN = {
    "//": "there is no floor division; write / for a quotient",
    ":=": "an assignment is not part of a formula",
    "==": "a comparison is not part of a formula",
    "%": "there is no remainder operator",
    "=": "an equation is not a formula; write only its right hand side",
    "[": "square brackets can only stand behind a column, as x[i], or behind sum, mean, prod, max "
    "and min",
    "]": "this square bracket was never opened",
    "{": "braces can only stand in grouped_param",
    "}": "braces can only stand in grouped_param",
    "@": "there is no matrix product",
    "!": "there is no factorial",
    "#": "comments are not part of a formula",
    ";": "there is one formula in one text",
    "`": "this backtick has no partner",
    "'": "this quote has no partner on the same line",
    '"': "this quote has no partner on the same line",
    "\\": "write plain text, not LaTeX or line continuations",
    "$": "write plain text, not LaTeX",
}


def no_operand(text: str, before: Token, token: Token) -> str:
    """Describe a token that stands where a number, column or bracket should."""
    if token.kind == "end" and not text.strip():
        return "the formula is empty"
    if token.kind == "end":
        return f"the formula ends where a number or column is expected after {shown(before.text)}"
    if token.kind == "string":
        return "texts can only stand in param('a') and grouped_param; a column is written bare"
    if token.kind in {")", ","} and before.kind in {"(", ","}:
        return f"nothing stands between {shown(before.text)} and {shown(token.text)}"
    if token.kind in {"power", "+", "*", "/", "**"}:
        return f"a number or column is missing before {shown(token.text)}"
    return _not_of_the_language(token)


def no_operator(text: str, before: Token, token: Token, columns: Collection[str]) -> str:
    """Describe a token that stands where an operator should."""
    quoted = _quotable(text, before, columns)
    if quoted:
        return quoted
    if token.kind == "name" and keyword.iskeyword(token.text) and token.text not in columns:
        return f"the word {shown(token.text)} is not part of the language"
    if token.kind == "string" and before.kind in {"name", "string"}:
        return "texts can only stand in param('a') and grouped_param, without a prefix"
    if token.text[:1] == "." and before.kind != "number":
        return "attributes are not part of the language; a column with a dot needs backticks"
    if token.kind in {"number", "name", "dotted", "quoted", "("}:
        return _missing_operator(before, token, columns)
    return _not_of_the_language(token)


def _missing_operator(before: Token, token: Token, columns: Collection[str]) -> str:
    if before.text == "0" and token.text[0] in "xXbBoO" and token.text not in columns:
        return "write the number in decimal digits"
    if before.kind == "number" and token.text in {"j", "J"} and token.text not in columns:
        return f"there are no complex numbers; for a column write {before.text}*{token.text}"
    left = one_line(before.text[:48], 24)
    right = "(...)" if token.kind == "(" else one_line(token.text[:48], 24)
    return f"an operator is missing; for a product write {left}*{right}"


def unknown(text: str, token: Token, name: str, columns: frozenset[str]) -> str:
    """Describe a name that is nothing known."""
    quoted = _quotable(text, token, columns)
    if quoted:
        return quoted
    if name == "π":
        return "there is no column 'π'; for the constant write pi"
    hint = did_you_mean(name, columns | frozenset(CONSTANTS))
    advice = f"; for a constant to be fitted write param({shown(name)})" if is_bare(name) else ""
    return f"unknown name {shown(name)}{hint}{character_names(token.text)}{advice}"


def reserved(name: str, following: Token) -> str:
    """Describe a name that has another meaning than a column."""
    if name in NOT_FINITE:
        return f"{name} is not a number that a formula can use; a column is written `{name}`"
    if keyword.iskeyword(name):
        return f"{name} is a keyword of Python; a column of that name is written `{name}`"
    places = (
        ", ".join("xyz"[: OPERATORS[ALIASES.get(name, name)].arity]) if name not in CALLS else "..."
    )
    if following.kind in {"power", "**"}:
        return f"{name} is a function; a power of it is written {name}({places})**2"
    return (
        f"{name} is a function, write {name}({places}); a column of that name is written `{name}`"
    )


def not_a_constant(text: str, name: str) -> str:
    """Describe a dotted name that is no constant."""
    if name in NOT_FINITE:
        return f"{one_line(text, 24)} is not a number that a formula can use"
    if ALIASES.get(name, name) in FUNCTIONS:
        return f"{name} is a function: its argument in brackets is missing"
    return f"{shown(text)} is not part of the language"


def not_a_function(name: str, text: str, columns: Collection[str] | None) -> str:
    """Describe the call of something that cannot be called."""
    if columns is not None and name in columns:
        return f"{shown(name)} is a column; for a product write {one_line(text, 24)}*(...)"
    if name in CONSTANTS:
        return f"{name} is a number; for a product write {name}*(...)"
    if name in _INSTEAD:
        return f"unknown function {shown(name)}; write {_INSTEAD[name]}"
    hint = did_you_mean(name, FUNCTIONS | CALLS)
    product = f"; for a product write {one_line(text, 24)}*(...)" if columns is None else ""
    return f"unknown function {shown(text)}{hint}{character_names(text)}{product}"


def no_body(op: str) -> str:
    """Describe a reduction without anything to reduce."""
    return (
        f"{op} is a reduction, write {op}[j](A[i, j], x[j]); a column of that name is written "
        f"`{op}`[j]"
    )


def wrong_count(name: str, count: int) -> str:
    """Describe a call with too few or too many arguments."""
    arity = OPERATORS[name].arity
    needs = f"{name} takes {plural(arity, 'argument')}, not {count}"
    if name in {"min", "max"} and count > 2:
        return f"{needs}; write {name}(x, {name}(y, z))"
    if name in {"min", "max"} and count == 1:
        return f"{needs}; over a relation write {name}[j](A[i, j], x[j])"
    if name == "log" and count == 2:
        return f"{needs}; for another base write log(x)/log(base)"
    return needs


def _not_of_the_language(token: Token) -> str:
    if token.text in _FOREIGN:
        return _FOREIGN[token.text]
    if is_unsafe(token.text[0]):
        return f"the text contains the invisible character U+{ord(token.text[0]):04X}; remove it"
    if not token.text.isascii():
        return (
            f"the language has no such character{character_names(token.text)}; "
            "a column name that has it is written in backticks"
        )
    return f"{shown(token.text)} is not part of the language"


def _quotable(text: str, token: Token, columns: Collection[str]) -> str:
    """Say that a column which needs backticks seems to begin at ``token``."""
    if token.kind != "name":
        return ""
    rest = text[token.start : token.start + 300]
    found = [name for name in columns if not is_bare(name) and rest.startswith(name)]
    if not found or max(found, key=len) == token.text:
        return ""
    name = max(found, key=len)
    return f"the column {shown(name)} is written in backticks: `{one_line(name, 40)}`"

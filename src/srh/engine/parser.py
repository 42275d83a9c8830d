"""Text to expression: an operator-precedence parser over an allow-list of tokens.

Grammar, loosest binding first; ``^`` is ``**``, a superscript is a power of what it follows; a
structure is ``delay gather aggr targ sour``, a reducer ``sum mean prod max min``::

    sum      = product (("+" | "-") product)*
    product  = sign (("*" | "/") sign)*
    sign     = ("-" | "+") sign | power
    power    = atom ["**" sign]
    atom     = number | column [indices] | constant | "(" sum ")"
             | (function | structure | reducer indices) "(" sum ("," sum)* ")"
             | "param" "(" text ["," "value" "=" number] ")"
             | "grouped_param" "(" column "," "name" "=" text ["," "value" "=" table]
               ["," "default" "=" number] ")" [indices]
             | "RelationField" "(" column "," "relation" "=" column ")" [indices]
    indices  = "[" name ("," name)* "]"
    table    = "{" [(text | number) ":" number ("," ...)*] "}"

A minus directly before a number literal belongs to the number unless a power follows, and the
quotient of two integer literals is an exact fraction; nothing else is computed while parsing.
The parser is a loop with two stacks, not a set of functions that call each other, so depth costs
no recursion: every expression of up to ``MAX_DEPTH`` levels is read.

What a name means, in this order: before ``(`` a function (a column cannot be called); a column, if
the columns are known; a constant (``pi``, ``e``); otherwise a column if the columns are not known,
and an error if they are. In backticks it is always a column. ``np.``, ``numpy.`` and ``math.``
before a function or constant say that it is meant.
"""

from __future__ import annotations

import keyword
import unicodedata
from fractions import Fraction
from typing import TYPE_CHECKING

from srh.engine import complaints
from srh.engine.brackets import call_node, read_indices, read_relation_field
from srh.engine.calls import read_grouped_param, read_param
from srh.engine.expression import MAX_NODES, Binary, Expression, Number, Symbol, Unary
from srh.engine.indexed import Index, Indexed, RelationField
from srh.engine.names import (
    CALLS,
    CONSTANTS,
    REDUCERS,
    RESERVED,
    STRUCTURE_CALLS,
    normalise_columns,
)
from srh.engine.operators import ALIASES, FUNCTIONS
from srh.engine.parameters import GroupedParameter, Parameter
from srh.engine.tokens import (
    MAX_TEXT,
    Token,
    column_name,
    error_at,
    exponent_value,
    number_value,
    shown,
    skip_target,
    tokenize,
)
from srh.errors import ExpressionError, ParseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_DEPTH = 2_000
"""Deepest nesting of brackets."""

_TOO_MANY = f"a formula has at most {MAX_NODES} nodes (MAX_NODES)"
_PRECEDENCE = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}
_SIGN = 3
_OPEN = 0  # precedence of an open bracket: nothing reduces past it
_NAMES = frozenset({"name", "dotted"})
_READERS: dict[str, Callable[[_Parser], Parameter | GroupedParameter | RelationField]] = {
    "param": read_param,
    "grouped_param": read_grouped_param,
    "RelationField": read_relation_field,
}
_AFTERWARDS = frozenset({")", "power"})
# How a number on the operand stack was written.
_OTHER, _LITERAL, _SIGNED = 0, 1, 2


def parse(
    text: str,
    variables: Iterable[str] | None = None,
    *,
    target: str | None = None,
    relations: Iterable[str] = (),
) -> Expression:
    """Read a formula.

    Args:
        text: The formula.
        variables: Names of the data's columns. They win over constants and keywords of the same
            name, and any other name is refused. Without them every name that is no constant and
            no function is taken for a column.
        target: Name of the target; the text may then begin with ``target =``.
        relations: Names of relations that are not among the ``variables``.

    Returns:
        The expression. ``parse(str(expression)) == expression``.

    Raises:
        ParseError: The text is outside the grammar or its limits; the message says where and what
            to write instead.
    """
    if not isinstance(text, str):
        raise ParseError(f"a formula must be text, not {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise ParseError(
            f"the formula has {len(text)} characters; the limit is {MAX_TEXT} (MAX_TEXT)"
        )
    if isinstance(variables, str):
        raise ParseError("variables must be several names, not one text")
    try:
        columns = None
        if variables is not None:
            columns = frozenset(normalise_columns([*variables, *relations]))
        start = skip_target(text, target) if "=" in text or "＝" in text else 0
        return _Parser(text, columns, start).run()
    except ExpressionError as error:
        raise ParseError(str(error)) from None


class _Parser:
    """The state of one parse: tokens, operands not yet used, operators not yet applied."""

    def __init__(self, text: str, columns: frozenset[str] | None, start: int) -> None:
        self.text = text
        self.columns = columns
        self.tokens = tokenize(text, start)
        self.before = Token("end", "", start, start)
        self.token = next(self.tokens)
        self.operands: list[Expression] = []
        self.written: list[int] = []
        # (precedence, name, offset, number of operands below)
        self.operators: list[tuple[int, str, int, int]] = []
        self.depth = 0
        self.leaves = 0
        # By position of a reduction among the operators.
        self.over: dict[int, tuple[Index, ...]] = {}
        self.symbols: dict[str, Symbol] = {}
        self.has_parameters = False

    def run(self) -> Expression:
        """Read the whole text."""
        while True:
            self.read_operand()
            while self.token.kind in _AFTERWARDS:
                self.read_close()
            if self.token.kind == "end":
                break
            self.read_operator()
        self.reduce(_OPEN + 1)
        if self.operators:
            raise self.error(f"a bracket is not closed: {self.open_excerpt()}")
        expression = self.operands[0]
        if self.has_parameters:
            expression.parameters  # noqa: B018  raises where two of one name contradict
        return expression

    def open_excerpt(self) -> str:
        """Quote the innermost open bracket."""
        offset = self.operators[-1][2]
        return shown(self.text[offset : offset + 20])

    def advance(self) -> Token:
        """Step to the next token and return the one left behind."""
        self.before = self.token
        if self.before.kind != "end":
            self.token = next(self.tokens)
        return self.before

    def error(self, message: str, token: Token | None = None) -> ParseError:
        """Return an error at a token, by default the current one."""
        return error_at(self.text, (token or self.token).start, message)

    def expect(self, text: str, what: str) -> Token:
        """Step over an operator that has to stand here."""
        if self.token.kind != text:
            raise self.error(f"{what}: '{text}' is missing before {shown(self.token.text)}")
        return self.advance()

    def push(self, node: Expression, written: int = _OTHER) -> None:
        """Put an operand on the stack."""
        self.leaves += 1
        if self.leaves > MAX_NODES:
            raise self.error(_TOO_MANY, self.before)
        self.operands.append(node)
        self.written.append(written)

    def read_operand(self) -> None:
        """Read signs, open brackets and calls up to and with the next number or column."""
        plus = False
        while True:
            token = self.token
            kind = token.kind
            if kind in _NAMES:
                if self.read_name(self.advance()):
                    return
            elif kind == "number":
                self.advance()
                self.push(Number(self.number(token)), _LITERAL)
                return
            elif kind == "quoted":
                self.advance()
                self.push_column(token)
                return
            elif kind == "(":
                self.open("(")
            elif kind == "-":
                self.advance()
                self.operators.append((_SIGN, "neg", token.start, 0))
                if len(self.operators) > MAX_NODES:
                    raise self.error(_TOO_MANY, token)
            elif kind == "+" and not plus:
                plus = True
                self.advance()
            else:
                raise self.error(complaints.no_operand(self.text, self.before, token))

    def open(self, name: str) -> None:
        """Step over ``(`` and note what it belongs to: a function's name, or ``(`` itself."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"brackets are nested deeper than {MAX_DEPTH} (MAX_DEPTH)")
        self.operators.append((_OPEN, name, self.advance().start, len(self.operands)))

    def number(self, token: Token) -> int | float:
        """Return a number token's value."""
        try:
            return number_value(token.text)
        except ValueError as error:
            raise self.error(str(error), token) from None

    def column(self, token: Token) -> Symbol:
        """Return the column that a quoted name or a name that is no other thing stands for."""
        try:
            name = column_name(token)
        except ExpressionError as error:
            raise self.error(str(error), token) from None
        symbol = self.symbols.get(name)
        if symbol is None:
            if self.columns is not None and name not in self.columns:
                raise self.error(complaints.unknown(self.text, token, name, self.columns), token)
            symbol = self.symbols[name] = Symbol(name)
        return symbol

    def read_name(self, token: Token) -> bool:
        """Read what a name begins; say whether an operand is complete."""
        dotted = token.kind == "dotted"
        name = token.text.partition(".")[2] if dotted else token.text
        if not name.isascii():
            name = unicodedata.normalize("NFKC", name)
        if self.token.kind == "(":
            return self.read_call(ALIASES.get(name, name), token)
        if dotted:
            if name not in CONSTANTS:
                raise self.error(complaints.not_a_constant(token.text, name), token)
            self.push(Number(CONSTANTS[name]))
        elif self.token.kind == "[":
            return self.read_indexed(name, token)
        elif self.columns is not None and name in self.columns:
            self.push(self.column(token))
        elif name in CONSTANTS:
            self.push(Number(CONSTANTS[name]))
        elif name in RESERVED or keyword.iskeyword(name):
            raise self.error(complaints.reserved(name, self.token), token)
        else:
            self.push(self.column(token))
        return True

    def push_column(self, token: Token) -> None:
        """Put the column that a token names on the stack, with indices if they follow."""
        column = self.column(token)
        self.push(column if self.token.kind != "[" else Indexed(column, read_indices(self)))

    def relation(self, token: Token) -> str:
        """Return the name of the relation that a token names."""
        return self.column(token).name

    def read_indexed(self, name: str, token: Token) -> bool:
        """Read the indices behind a name; say whether an operand is complete."""
        if name not in REDUCERS:
            self.push_column(token)
            return True
        over = read_indices(self)
        if self.token.kind != "(":
            raise self.error(complaints.no_body(name), token)
        self.over[len(self.operators)] = over
        self.open(name)
        return False

    def read_call(self, name: str, token: Token) -> bool:
        """Read a call's beginning; say whether it was read whole."""
        if name in FUNCTIONS or (name in STRUCTURE_CALLS and token.kind != "dotted"):
            self.open(name)
            return False
        if name not in CALLS or token.kind == "dotted":
            raise self.error(complaints.not_a_function(name, token.text, self.columns), token)
        self.advance()
        node: Parameter | GroupedParameter | RelationField | Indexed
        try:
            node = _READERS[name](self)
            if self.token.kind == "[" and name != "param":
                node = Indexed(node, read_indices(self))
        except ParseError:
            raise
        except ExpressionError as error:
            raise self.error(str(error), token) from None
        self.has_parameters |= name != "RelationField"
        self.push(node)
        return True

    def read_close(self) -> None:
        """Read the closing bracket or superscript that stands behind an operand."""
        if self.token.kind == "power":
            self.raise_to(self.token)
            return
        self.reduce(_OPEN + 1)
        if not self.operators:
            raise self.error("this bracket was never opened")
        _, name, start, below = self.operators.pop()
        self.advance()
        self.depth -= 1
        if name != "(":
            args = self.operands[below:]
            over = self.over.pop(len(self.operators), ())
            try:
                node = call_node(name, over, args)
            except ExpressionError as error:
                raise error_at(self.text, start, str(error)) from None
            del self.operands[below:], self.written[below:]
            self.operands.append(node)
            self.written.append(_OTHER)
        self.written[-1] = _OTHER

    def raise_to(self, token: Token) -> None:
        """Apply a superscript to the operand before it."""
        if self.before.kind == "power" or len(token.text) > 20:
            raise self.error("write this power with ** and brackets")
        if self.before.kind == "name":
            joined = unicodedata.normalize("NFKC", self.before.text + token.text)
            if self.columns is not None and joined in self.columns:
                raise self.error(
                    f"this may be the column {shown(joined)} or a power; write `{joined}` in "
                    "backticks or the power with **"
                )
        self.advance()
        self.operands[-1] = Binary("**", self.operands[-1], Number(exponent_value(token.text)))
        self.written[-1] = _OTHER

    def read_operator(self) -> None:
        """Read the operator or comma between two operands."""
        token = self.token
        precedence = _PRECEDENCE.get(token.kind)
        if precedence is None:
            if token.kind == ",":
                self.read_comma()
                return
            raise self.error(
                complaints.no_operator(self.text, self.before, token, self.columns or ())
            )
        if token.kind == "**":
            if self.before.kind == "power":
                raise self.error("a power of a superscript may mean two things; use brackets")
            self.reduce(precedence + 1)  # binds to the right
        else:
            self.reduce(precedence)
        self.advance()
        self.operators.append((precedence, token.kind, token.start, 0))

    def read_comma(self) -> None:
        """Read the comma between two arguments of a function."""
        self.reduce(_OPEN + 1)
        if not self.operators or self.operators[-1][1] == "(":
            raise self.error("a comma can only stand between the arguments of a function")
        self.advance()

    def reduce(self, precedence: int) -> None:
        """Apply the waiting operators that bind at least as tight as ``precedence``."""
        operators = self.operators
        while operators and operators[-1][0] >= precedence:
            op = operators.pop()[1]
            if op == "neg":
                self.negate()
            else:
                self.join(op)

    def negate(self) -> None:
        """Apply a minus; a number literal takes it as its sign."""
        operand = self.operands[-1]
        if self.written[-1] == _LITERAL and isinstance(operand, Number):
            self.operands[-1] = Number(-operand.value)
            self.written[-1] = _SIGNED
        else:
            self.operands[-1] = Unary("-", operand)
            self.written[-1] = _OTHER

    def join(self, op: str) -> None:
        """Apply an infix operator; the quotient of two integer literals is a fraction."""
        right, right_written = self.operands.pop(), self.written.pop()
        left = self.operands[-1]
        node: Expression | None = None
        if op == "/" and self.written[-1] and right_written == _LITERAL:
            node = _fraction(left, right)
        self.operands[-1] = node or Binary(op, left, right)
        self.written[-1] = _OTHER


def _fraction(left: Expression, right: Expression) -> Number | None:
    """Return ``left/right`` as one number if both are integers and the quotient exists."""
    if not isinstance(left, Number) or not isinstance(right, Number):
        return None
    top, bottom = left.value, right.value
    if not isinstance(top, int) or not isinstance(bottom, int) or bottom == 0:
        return None
    return Number(Fraction(top, bottom))

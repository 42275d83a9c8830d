"""Expression to NumPy source that a user can paste.

Python's parser nests about a hundred brackets deep, so a deep expression is written in several
statements. Numbers meet NumPy values only: ``9**9**9`` between Python's own integers would be
computed exactly, for hours, and ``(-2.0)**0.5`` would be complex.
"""

from __future__ import annotations

import keyword
import re
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from srh.engine.expression import Binary, Expression, Function, Number, Symbol, Unary
from srh.engine.indexed import is_structured
from srh.engine.parameters import GroupedParameter, Parameter
from srh.engine.render import ATOM, PRECEDENCE, PRODUCT, SIGN, SUM
from srh.errors import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEEPEST = 30
_HELPERS = frozenset({"join", "reduce", "take", "past", "per_sample", "num_nodes", "time"})
# Variables of a structured formula's source.
_STEP = re.compile(r"[sv]\d+")
_NEEDS = {
    "+": (SUM, PRODUCT),
    "-": (SUM, PRODUCT),
    "*": (PRODUCT, SIGN),
    "/": (PRODUCT, SIGN),
    "**": (ATOM, ATOM),
}


class _Piece(NamedTuple):
    """Source of a subexpression: its text, how tight it holds together, how deep it nests."""

    text: str
    precedence: int
    depth: int


def to_numpy_source(expression: Expression, name: str = "formula") -> str:
    """Return Python source of a function that computes the expression with NumPy.

    The function takes the columns first, then the parameters; a bound parameter has its value as
    default, a grouped one its table. Names that Python does not allow are changed, and the
    docstring says which is which.

    Args:
        expression: Any expression.
        name: Name of the function.

    Raises:
        ExpressionError: ``name`` is no identifier, or a node has no NumPy form.
    """
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ExpressionError(f"{name!r} cannot be the name of a function")
    if is_structured(expression):
        return _structured_source(expression, name)
    parameters = expression.parameters
    names = python_names([*expression.variables, *(node.name for node in parameters)], name)
    columns = names[: len(expression.variables)]
    arguments = names[len(expression.variables) :]
    by_column = dict(zip(expression.variables, columns, strict=True))
    by_parameter = dict(zip((node.name for node in parameters), arguments, strict=True))
    statements = _statements(expression, by_column, by_parameter)
    required, optional = _signature(parameters, by_parameter)
    lines = [
        "import numpy as np",
        "",
        "",
        f"def {name}({', '.join([*columns, *required, *optional])}):",
        *_docstring(by_column, by_parameter),
        *_conversions(expression, by_column, by_parameter),
        '    with np.errstate(all="ignore"):',
        *(f"        {statement}" for statement in statements),
    ]
    return "\n".join(lines) + "\n"


def _structured_source(expression: Expression, name: str) -> str:
    from srh.engine.structured_source import structured_body, without_groups

    columns, relations, parameters = (
        list(expression.variables),
        [relation for relation in expression.relations if relation not in expression.variables],
        expression.parameters,
    )
    own = [*columns, *relations, *(node.name for node in parameters)]
    names = python_names(own, name, _HELPERS)
    by_column = dict(zip(columns + relations, names, strict=False))
    by_parameter = dict(zip((n.name for n in parameters), names[len(by_column) :], strict=True))
    # A grouped parameter's values, looked up, are used like a column; its name is free for that.
    grouped = {
        node.name: f"{node.name} (values)"
        for node in parameters
        if isinstance(node, GroupedParameter)
    }
    known = by_column | {column: by_parameter[key] for key, column in grouped.items()}
    plain = {n.name: by_parameter[n.name] for n in parameters if n.name not in grouped}
    helpers, keywords, statements = structured_body(
        without_groups(expression, grouped), plain, known
    )
    required, optional = _signature(parameters, by_parameter)
    arguments = [*by_column.values(), *required, *optional]
    arguments += ["*", *keywords] if keywords else []
    lines = [
        "import numpy as np",
        "",
        "",
        *(line for helper in helpers for line in [*helper.splitlines(), "", ""]),
        f"def {name}({', '.join(arguments)}):",
        *_docstring(by_column, by_parameter),
        *_lookups(parameters, by_column, by_parameter),
        '    with np.errstate(all="ignore"):',
        *(f"        {statement}" for statement in statements),
    ]
    return "\n".join(lines) + "\n"


def python_names(
    names: Sequence[str], function: str, reserved: frozenset[str] = frozenset()
) -> list[str]:
    """Return different identifiers that are as near to ``names`` as Python allows."""
    taken = {"np", "group", function, *reserved}
    result: list[str] = []
    for name in names:
        base = "".join(char if f"x{char}".isidentifier() else "_" for char in name)
        if not base.isidentifier() or keyword.iskeyword(base):
            base = f"x_{base}"
        candidate, number = base, 1
        while candidate in taken or (reserved and _STEP.fullmatch(candidate)):
            number += 1
            candidate = f"{base}_{number}"
        taken.add(candidate)
        result.append(candidate)
    return result


def _signature(
    parameters: Sequence[Parameter | GroupedParameter], names: dict[str, str]
) -> tuple[list[str], list[str]]:
    """Return the parameters without and with a default."""
    required: list[str] = []
    optional: list[str] = []
    for node in parameters:
        value = dict(node.values) if isinstance(node, GroupedParameter) else node.value
        if value is None or value == {}:
            required.append(names[node.name])
        else:
            optional.append(f"{names[node.name]}={value!r}")
    return required, optional


def _docstring(columns: dict[str, str], parameters: dict[str, str]) -> list[str]:
    changed = [(new, old) for names in (columns, parameters) for old, new in names.items()]
    notes = [f"{new} is {old!r}" for new, old in changed if new != old]
    if not notes:
        return []
    text = "; ".join(notes).replace("\\", "\\\\").replace('"', '\\"')
    return [f'    """Names: {text}."""']


def _conversions(
    expression: Expression, columns: dict[str, str], parameters: dict[str, str]
) -> list[str]:
    """Return the statements that look up grouped parameters and make everything float64."""
    lines = _lookups(expression.parameters, columns, parameters)
    used = dict.fromkeys(n.name for n in expression.iter_preorder() if isinstance(n, Symbol))
    lines += [f"    {columns[name]} = np.asarray({columns[name]}, dtype=float)" for name in used]
    return lines


def _lookups(
    leaves: Sequence[Parameter | GroupedParameter],
    columns: dict[str, str],
    parameters: dict[str, str],
) -> list[str]:
    """Return the statements that look up grouped parameters and make the others float64."""
    lines: list[str] = []
    for node in leaves:
        name = parameters[node.name]
        if isinstance(node, GroupedParameter):
            column = columns[node.label]
            lookup = "[group]" if node.default is None else f".get(group, {node.default!r})"
            lines += [
                f"    {name} = np.reshape(",
                f"        [{name}{lookup} for group in np.ravel({column}).tolist()], "
                f"np.shape({column})",
                "    )",
            ]
        else:
            lines.append(f"    {name} = np.asarray({name}, dtype=float)")
    return lines


def _statements(
    expression: Expression, columns: dict[str, str], parameters: dict[str, str]
) -> list[str]:
    """Return assignments for what nests too deep, and the return statement."""
    taken = {*columns.values(), *parameters.values()}
    lines: list[str] = []
    done: list[_Piece] = []
    for node in expression.iter_postorder():
        count = len(node.operands)
        parts = done[len(done) - count :]
        del done[len(done) - count :]
        piece = _inner(node, parts) if count else _leaf(node, columns, parameters)
        if piece.depth >= _DEEPEST:
            step = f"step{len(lines) + 1}"
            while step in taken:
                step += "_"
            lines.append(f"{step} = {piece.text}")
            piece = _Piece(step, ATOM, 0)
        done.append(piece)
    return [*lines, f"return {done[0].text}"]


def _leaf(node: Expression, columns: dict[str, str], parameters: dict[str, str]) -> _Piece:
    if isinstance(node, Number):
        return _number(node)
    if isinstance(node, Symbol):
        return _Piece(columns[node.name], ATOM, 0)
    if isinstance(node, Parameter | GroupedParameter):
        return _Piece(parameters[node.name], ATOM, 0)
    raise ExpressionError(f"{type(node).__name__} has no NumPy form")


def _number(node: Number) -> _Piece:
    value = node.value
    if isinstance(value, Fraction) and max(abs(value.numerator), value.denominator) <= 2**53:
        return _Piece(str(value), PRODUCT, 0)
    # Python's large integers would turn arrays of floats into arrays of objects.
    small = isinstance(value, int) and abs(value) <= 2**53
    text = str(value) if small else repr(float(value))
    return _Piece(text, SIGN if text.startswith("-") else ATOM, 0)


def _inner(node: Expression, parts: Sequence[_Piece]) -> _Piece:
    if all(isinstance(operand, Number) for operand in node.operands):
        parts = [_Piece(f"np.float64({part.text})", ATOM, 0) for part in parts]
    depth = 1 + max(part.depth for part in parts)
    if isinstance(node, Binary):
        left, right = (_held(p, n) for p, n in zip(parts, _NEEDS[node.op], strict=True))
        spaced = f" {node.op} " if node.op in {"+", "-"} else node.op
        return _Piece(f"{left}{spaced}{right}", PRECEDENCE[node.op], depth)
    if isinstance(node, Unary):
        return _Piece(f"-{_held(parts[0], SIGN)}", SIGN, depth)
    if isinstance(node, Function):
        return _Piece(node.operator.source.format(*(p.text for p in parts)), ATOM, depth)
    raise ExpressionError(f"{type(node).__name__} has no NumPy form")


def _held(piece: _Piece, needed: int) -> str:
    return piece.text if piece.precedence >= needed else f"({piece.text})"

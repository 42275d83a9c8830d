"""Expression to Python source that builds the SymPy expression, for a user to paste."""

from __future__ import annotations

import re

from srh.engine.expression import Expression, Symbol
from srh.engine.leaves import Leaves, agreed, with_values
from srh.engine.parameters import GroupedParameter, Parameter
from srh.engine.source import python_names
from srh.engine.symbolic import DEFAULT_SECONDS, ask_sympy
from srh.errors import ExpressionError

_WORD = re.compile(r"[A-Za-z_]\w*")


def to_sympy_source(
    expression: Expression, name: str = "formula", *, seconds: float = DEFAULT_SECONDS
) -> str:
    """Return Python source that assigns the SymPy expression to ``name``.

    Bound parameters become their values with all digits; columns, unbound and grouped parameters
    become real symbols, under a name that Python allows and that hides nothing of SymPy's.

    Args:
        expression: A formula without indices, reductions and delays.
        name: The variable that is assigned to.
        seconds: Time for SymPy.

    Raises:
        ExpressionError: The formula has structured parts, or SymPy cannot be asked or takes too
            long.
    """
    leaves = Leaves(by_name=False)
    hidden = leaves.hide(with_values(agreed(expression)))
    parts = leaves.parts
    titles = [_title(part) for part in parts.values()]
    answer = ask_sympy("source", str(hidden), seconds=seconds)
    if not answer.complete:
        raise ExpressionError(f"no SymPy form: {answer.why}")
    text = answer.texts[0]
    used = set(_WORD.findall(text)) - set(parts) - {"e"}
    plain = dict(zip(parts, python_names(titles, name, frozenset({*used, "Symbol"})), strict=True))
    imports = sorted({*used, *(["Symbol"] if parts else [])})
    lines = [f"from sympy import {', '.join(imports)}", ""] if imports else []
    for index, (key, title) in enumerate(zip(parts, titles, strict=True)):
        # To SymPy, symbols of one name are one symbol.
        shown = plain[key] if title in titles[:index] else title
        lines.append(f'{plain[key]} = Symbol("{_escaped(shown)}", real=True)')
    lines += [""] if parts else []
    formula = _WORD.sub(lambda word: plain.get(word[0], word[0]), text)
    return "\n".join([*lines, f"{name} = {formula}"]) + "\n"


def _title(part: Expression) -> str:
    if isinstance(part, Symbol | Parameter | GroupedParameter):
        return part.name
    raise ExpressionError("formulas with indices, reductions and delays have no SymPy source")


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')

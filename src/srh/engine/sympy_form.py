"""Expression to SymPy, which is imported on use: it takes half a second."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from srh.engine.expression import Binary, Expression, Function, Number, Symbol, Unary
from srh.engine.indexed import (
    Aggregate,
    Delay,
    Gather,
    Indexed,
    Reduction,
    RelationField,
    RelationLift,
)
from srh.engine.parameters import GroupedParameter, Parameter
from srh.errors import ExpressionError

if TYPE_CHECKING:
    from collections.abc import Sequence

_DEEPEST = 100


def to_sympy(expression: Expression) -> Any:
    """Return a SymPy expression over real symbols.

    Bound parameters become their values; unbound ones become symbols; a grouped parameter becomes
    a function of its label column. Columns with indices become elements of indexed bases; SymPy
    does not know relations: reductions and delays become undefined functions of their parts, and
    equal parts make them equal. SymPy rearranges as it likes.

    Raises:
        ExpressionError: The tree is too deep for SymPy, which is recursive, or compares what is
            imaginary.
    """
    import sympy

    done: list[tuple[Any, int]] = []
    for node in expression.iter_postorder():
        count = len(node.operands)
        parts = done[len(done) - count :]
        del done[len(done) - count :]
        # SymPy keeps sums and products flat, however long they are.
        flat = isinstance(node, Binary) and node.op in {"+", "-", "*"}
        depth = max((depth for _, depth in parts), default=0) + (not flat)
        if depth > _DEEPEST:
            raise ExpressionError(
                f"the expression nests functions deeper than {_DEEPEST}; that is too deep for SymPy"
            )
        try:
            form = _sympy_node(sympy, node, [form for form, _ in parts])
        except (ValueError, TypeError) as error:  # Max(x, acos(2)): imaginary, and it compares
            raise ExpressionError(f"SymPy refuses {type(node).__name__}: {error}") from error
        done.append((form, depth))
    return done[0][0]


def _sympy_node(  # noqa: PLR0911
    sympy: Any, node: Expression, args: Sequence[Any]
) -> Any:
    if isinstance(node, Unary | Binary | Function):
        if isinstance(node, Binary) and node.op == "**":
            known = _numeric_power(sympy, *args)
            if known is not None:
                return known
        how = node.operator.sympy
        return getattr(sympy, how)(*args) if isinstance(how, str) else how(sympy, *args)
    if isinstance(node, Number):
        return _sympy_number(sympy, node.value)
    if isinstance(node, Parameter) and node.value is not None:
        return _sympy_number(sympy, node.value)
    if isinstance(node, Symbol | Parameter):
        return sympy.Symbol(node.name, real=True)
    if isinstance(node, GroupedParameter):
        return sympy.Function(node.name, real=True)(sympy.Symbol(node.label, real=True))
    return _sympy_structured(sympy, node, args)


def _sympy_structured(  # noqa: PLR0911
    sympy: Any, node: Expression, args: Sequence[Any]
) -> Any:
    def element(name: str, indices: Sequence[str]) -> Any:
        places = [sympy.Symbol(index, integer=True) for index in indices]
        return sympy.IndexedBase(name, real=True)[tuple(places)]

    def undefined(name: str, *parts: Any) -> Any:
        return sympy.Function(name, real=True)(*parts)

    if isinstance(node, Indexed):
        name = node.base.name if isinstance(node.base, GroupedParameter) else node.base.column
        return element(str(name), node.names)
    if isinstance(node, RelationField):
        return sympy.Symbol(node.name, real=True)
    if isinstance(node, Reduction):
        over = [sympy.Symbol(index.name, integer=True) for index in node.over]
        bound = (
            []
            if node.incidence is None
            else [element(node.incidence.relation, node.incidence.names)]
        )
        return undefined(node.op, sympy.Tuple(*over), *bound, *args)
    if isinstance(node, Gather):
        return undefined("gather", element(node.incidence.relation, node.incidence.names), *args)
    if isinstance(node, Aggregate):
        return undefined("aggr", sympy.Symbol(node.relation), *args)
    if isinstance(node, RelationLift):
        position = [] if node.position is None else [sympy.Integer(node.position)]
        return undefined(node.role, *args, *position)
    if isinstance(node, Delay):
        return undefined("delay", *args)
    raise ExpressionError(f"{type(node).__name__} has no SymPy form")


def _numeric_power(sympy: Any, base: Any, exponent: Any) -> Any | None:
    """Return a closed power whose value float64 cannot hold as float64 has it, else ``None``.

    SymPy would compute 9**9**9 exactly, all 369,693,100 digits of it.
    """
    if not (base.is_number and exponent.is_number):
        return None
    try:
        value = float(base) ** float(exponent)
    except (OverflowError, ZeroDivisionError):
        return sympy.oo
    except TypeError:  # a complex base or exponent: nothing that grows
        return None
    return sympy.Integer(0) if value == 0 else None


def _sympy_number(sympy: Any, value: float | Fraction) -> Any:
    if value == math.pi:
        return sympy.pi
    if value == math.e:
        return sympy.E
    if isinstance(value, float):
        return sympy.Float(value)
    return sympy.Rational(value.numerator, value.denominator)

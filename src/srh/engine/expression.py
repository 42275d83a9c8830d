"""The expression tree: immutable nodes with structural equality.

Two expressions are equal when they are the same tree with the same constants: ``Number(2)`` and
``Number(2.0)`` differ, as do ``0.0`` and ``-0.0``, because they are written differently.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

from srh.engine.names import normalise_name
from srh.engine.operators import BINARY_OPERATORS, FUNCTIONS, OPERATORS, Operator
from srh.engine.scalars import Label, Real, exact_or_float, plain_label
from srh.engine.tree import MAX_NODES, Tree
from srh.errors import ExpressionError
from srh.text import did_you_mean, one_line, plural

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from srh.engine.parameters import GroupedParameter, Parameter
    from srh.engine.result import FitResult

__all__ = [
    "MAX_NODES",
    "Binary",
    "Expression",
    "Function",
    "Label",
    "Number",
    "Real",
    "Symbol",
    "Unary",
    "Variable",
    "as_expression",
    "plain_label",
]

NumberFormat: TypeAlias = str | Callable[[float], str] | None
ParameterValue: TypeAlias = float | Mapping[Label, float] | None

_set = object.__setattr__


class Expression(Tree):
    """Base class of all nodes; also what ``parse`` returns."""

    __slots__ = ()

    # NumPy scalars on the left hand side leave the arithmetic to us.
    __array_ufunc__: ClassVar[None] = None

    def replace(self, mapping: Mapping[Expression | str, Expression | Real]) -> Expression:
        """Return the tree with subtrees exchanged.

        Args:
            mapping: What to put in place of which subtree; a text stands for the column of that
                name. What was put in is not searched again.

        Raises:
            ExpressionError: A key or value is no expression, name or number.
        """
        return self.exchange(
            {
                Symbol(old) if isinstance(old, str) else _checked(old): as_expression(new)
                for old, new in mapping.items()
            }
        )

    @property
    def column(self) -> str | None:
        """Name of the data column that this node itself reads, if it reads one."""
        return None

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the columns used, in order of first appearance, group columns included."""
        names: dict[str, None] = {}
        for node in self.iter_preorder():
            if node.column is not None:
                names.setdefault(node.column)
        return tuple(names)

    @property
    def relations(self) -> tuple[str, ...]:
        """Names of the relations used, in order of first appearance."""
        from srh.engine.indexed import relations_of

        return relations_of(self)

    @property
    def parameters(self) -> tuple[Parameter | GroupedParameter, ...]:
        """The parameters, each name once, in order of first appearance.

        Where only one appearance of a name states a value, that value holds for all.

        Raises:
            ExpressionError: Two appearances of one name contradict each other.
        """
        # Modules that build on the nodes can only be imported on use, here and below.
        from srh.engine.parameters import distinct_parameters

        return distinct_parameters(self)

    def parameter_values(self) -> dict[str, float | dict[Label, float] | None]:
        """Return the values by name: ``None`` where unbound, a table for a grouped parameter."""
        from srh.engine.parameters import parameter_values

        return parameter_values(self)

    def count_parameters(self) -> int:
        """Return how many constants are fitted: a grouped parameter's table, at least 1."""
        from srh.engine.parameters import count_parameters

        return count_parameters(self)

    def bind_parameters(self, mapping: Mapping[str, ParameterValue]) -> Expression:
        """Return the expression with values given to parameters; the others keep theirs.

        Args:
            mapping: Value by parameter name (``None`` unbinds); for a grouped parameter a mapping
                from label to value, which replaces its table.

        Raises:
            ExpressionError: No parameter has that name, or a value is not a finite number.
        """
        from srh.engine.parameters import bind_parameters

        return bind_parameters(self, mapping)

    def fold_constants(self) -> Expression:
        """Return the expression with closed subexpressions computed, see ``engine.folding``."""
        from srh.engine.folding import fold_constants

        return fold_constants(self)

    def to_str(self, number_format: NumberFormat = None) -> str:
        """Return the text, which parses back to an equal expression.

        Args:
            number_format: Format specification (``".4g"``) or function for floats; with it, the
                text is for reading and need not parse back equal.
        """
        from srh.engine.render import render

        return render(self, number_format)

    def __str__(self) -> str:
        return self.to_str()

    def __repr__(self) -> str:
        return f"{type(self).__name__}<{one_line(self.to_str(), 120)}>"

    def to_tree(self) -> str:
        """Return one line per node, indented by depth, for reading."""
        from srh.engine.render import to_tree

        return to_tree(self)

    def to_latex(self) -> str:
        """Return LaTeX for math mode; bound parameters are written as their values."""
        from srh.engine.latex import to_latex

        return to_latex(self)

    def to_sympy(self) -> Any:
        """Return a SymPy expression; bound parameters become their values.

        Raises:
            ExpressionError: The tree is too deep for SymPy.
        """
        from srh.engine.sympy_form import to_sympy

        return to_sympy(self)

    def to_numpy_source(self, name: str = "formula") -> str:
        """Return Python source of a function ``name(columns..., parameters...)`` using NumPy."""
        from srh.engine.source import to_numpy_source

        return to_numpy_source(self, name)

    def evaluate(self, data: Any, **options: Any) -> NDArray[np.float64]:
        """Compute the expression on data, see ``engine.program.evaluate``."""
        from srh.engine.program import evaluate

        return evaluate(self, data, **options)

    def fit(self, target: ArrayLike | Expression, data: Any, **options: Any) -> FitResult:
        """Fit the parameters to a target, see ``engine.fit.fit``."""
        from srh.engine.fit import fit

        return fit(self, target, data, **options)

    def __add__(self, other: Expression | Real) -> Expression:
        return _binary("+", self, other)

    def __radd__(self, other: Real) -> Expression:
        return _binary("+", other, self)

    def __sub__(self, other: Expression | Real) -> Expression:
        return _binary("-", self, other)

    def __rsub__(self, other: Real) -> Expression:
        return _binary("-", other, self)

    def __mul__(self, other: Expression | Real) -> Expression:
        return _binary("*", self, other)

    def __rmul__(self, other: Real) -> Expression:
        return _binary("*", other, self)

    def __truediv__(self, other: Expression | Real) -> Expression:
        return _binary("/", self, other)

    def __rtruediv__(self, other: Real) -> Expression:
        return _binary("/", other, self)

    def __pow__(self, other: Expression | Real) -> Expression:
        return _binary("**", self, other)

    def __rpow__(self, other: Real) -> Expression:
        return _binary("**", other, self)

    def __neg__(self) -> Expression:
        return Unary("-", self)

    def __pos__(self) -> Expression:
        return self


class Number(Expression):
    """A constant.

    Args:
        value: A finite real number. Integers stay exact integers and fractions exact fractions;
            other numbers become float64.

    Raises:
        ExpressionError: Not a real number, not finite, or beyond the range of float64.
    """

    __slots__ = ("value",)
    __match_args__ = ("value",)
    value: Real

    def __init__(self, value: Real) -> None:
        value = exact_or_float(value)
        _set(self, "value", value)
        # 0.0 == -0.0 and 2 == 2.0, but their texts differ.
        sign = str(value) if value == 0 else ""
        self._seal((type(value).__name__, value, sign), ())

    @property
    def _fields(self) -> tuple[Any, ...]:
        return (self.value,)


class Symbol(Expression):
    """A data column."""

    __slots__ = ("name",)
    __match_args__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        name = normalise_name(name)
        _set(self, "name", name)
        self._seal((name,), ())

    @property
    def column(self) -> str:
        """The name."""
        return self.name


Variable = Symbol


class Unary(Expression):
    """A sign: ``-operand``."""

    __slots__ = ("op",)
    __match_args__ = ("op", "operand")
    op: str

    def __init__(self, op: str, operand: Expression) -> None:
        if op != "-":
            raise ExpressionError(f"the only unary operator is '-', not {op!r}")
        _set(self, "op", op)
        self._seal((op,), (_checked(operand),))

    @property
    def operand(self) -> Expression:
        """What is negated."""
        return self._operands[0]

    @property
    def operator(self) -> Operator:
        """The row of the operator table."""
        return OPERATORS["neg"]


class Binary(Expression):
    """Two operands joined by one of ``+ - * / **``."""

    __slots__ = ("op",)
    __match_args__ = ("op", "left", "right")
    op: str

    def __init__(self, op: str, left: Expression, right: Expression) -> None:
        if op not in BINARY_OPERATORS:
            raise ExpressionError(f"unknown operator {op!r}; there are + - * / **")
        _set(self, "op", op)
        if not (isinstance(left, Expression) and isinstance(right, Expression)):
            raise ExpressionError("an operand must be an expression; wrap numbers in Number")
        self._seal((op,), (left, right))

    @property
    def left(self) -> Expression:
        """The first operand."""
        return self._operands[0]

    @property
    def right(self) -> Expression:
        """The second operand."""
        return self._operands[1]

    @property
    def operator(self) -> Operator:
        """The row of the operator table."""
        return OPERATORS[self.op]


class Function(Expression):
    """A function of the operator table applied to arguments.

    Raises:
        ExpressionError: No such function, or a wrong number of arguments.
    """

    __slots__ = ("name",)
    __match_args__ = ("name", "args")
    name: str

    def __init__(self, name: str, args: Iterable[Expression]) -> None:
        operands = tuple(_checked(argument) for argument in args)
        if name not in FUNCTIONS:
            raise ExpressionError(f"unknown function {name!r}{did_you_mean(name, FUNCTIONS)}")
        arity = OPERATORS[name].arity
        if len(operands) != arity:
            raise ExpressionError(f"{name} takes {plural(arity, 'argument')}, not {len(operands)}")
        _set(self, "name", name)
        self._seal((name,), operands)

    @classmethod
    def _build(cls, fields: tuple[Any, ...], operands: tuple[Expression, ...]) -> Self:
        return cls(fields[0], operands)

    @property
    def args(self) -> tuple[Expression, ...]:
        """The arguments."""
        return self._operands

    @property
    def operator(self) -> Operator:
        """The row of the operator table."""
        return OPERATORS[self.name]


def as_expression(value: Expression | Real) -> Expression:
    """Return ``value`` itself or the ``Number`` that it stands for.

    Raises:
        ExpressionError: It is neither an expression nor a finite real number.
    """
    return value if isinstance(value, Expression) else Number(value)


def _checked(operand: Expression) -> Expression:
    if not isinstance(operand, Expression):
        raise ExpressionError(f"an operand must be an expression, not {type(operand).__name__}")
    return operand


def _binary(op: str, left: Expression | Real, right: Expression | Real) -> Expression:
    for side in (left, right):
        if not isinstance(side, Expression | numbers.Real) or isinstance(side, bool):
            return NotImplemented  # type: ignore[no-any-return]
    return Binary(op, as_expression(left), as_expression(right))

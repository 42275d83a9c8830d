"""Mathematical expressions: one language, its evaluation and the fitting of its constants."""

from __future__ import annotations

from srh._lazy import lazy_names
from srh.engine.expression import (
    MAX_NODES,
    Binary,
    Expression,
    Function,
    Label,
    Number,
    Symbol,
    Unary,
    Variable,
)
from srh.engine.fit import fit
from srh.engine.folding import fold_constants
from srh.engine.indexed import (
    MAX_INDICES,
    Aggregate,
    Delay,
    Gather,
    Incidence,
    Index,
    Indexed,
    Reduction,
    RelationField,
    RelationLift,
    delay,
    is_structured,
)
from srh.engine.names import MAX_NAME, normalise_columns, normalise_name
from srh.engine.operators import OPERATORS, Operator
from srh.engine.parameters import (
    GroupedParameter,
    Parameter,
    bind_parameters,
    count_parameters,
    grouped_param,
    param,
    parameter_values,
)
from srh.engine.parser import MAX_DEPTH, parse
from srh.engine.program import Program, compile_program, evaluate
from srh.engine.render import render
from srh.engine.result import FitResult
from srh.engine.tokens import MAX_NUMBER, MAX_TEXT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from srh.engine.equivalence import Equivalence, equivalent
    from srh.engine.simplification import simplify
    from srh.engine.snapping import SnapResult, snap_constants
    from srh.engine.sympy_reading import from_sympy
    from srh.engine.sympy_source import to_sympy_source

__all__ = [
    "MAX_DEPTH",
    "MAX_INDICES",
    "MAX_NAME",
    "MAX_NODES",
    "MAX_NUMBER",
    "MAX_TEXT",
    "OPERATORS",
    "Aggregate",
    "Binary",
    "Delay",
    "Equivalence",
    "Expression",
    "FitResult",
    "Function",
    "Gather",
    "GroupedParameter",
    "Incidence",
    "Index",
    "Indexed",
    "Label",
    "Number",
    "Operator",
    "Parameter",
    "Program",
    "Reduction",
    "RelationField",
    "RelationLift",
    "SnapResult",
    "Symbol",
    "Unary",
    "Variable",
    "bind_parameters",
    "compile_program",
    "count_parameters",
    "delay",
    "equivalent",
    "evaluate",
    "fit",
    "fold_constants",
    "from_sympy",
    "grouped_param",
    "is_structured",
    "normalise_columns",
    "normalise_name",
    "param",
    "parameter_values",
    "parse",
    "render",
    "simplify",
    "snap_constants",
    "to_sympy_source",
]

# What asks SymPy's process is imported on first use.
__getattr__ = lazy_names(
    __name__,
    {
        "Equivalence": "srh.engine.equivalence",
        "SnapResult": "srh.engine.snapping",
        "equivalent": "srh.engine.equivalence",
        "from_sympy": "srh.engine.sympy_reading",
        "simplify": "srh.engine.simplification",
        "snap_constants": "srh.engine.snapping",
        "to_sympy_source": "srh.engine.sympy_source",
    },
)

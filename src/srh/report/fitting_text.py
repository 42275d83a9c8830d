"""What `srh fit` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from srh.formats import pretty_json
from srh.metrics import METRICS
from srh.report.cells import number, plain_table, print_table, titled
from srh.report.fitting import FittedTable
from srh.text import harmless, one_line, plural

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN = 60  # groups of one parameter; --json has all
_CHARS = 20_000


def print_fit(fitted: FittedTable, console: Console) -> None:
    """Print parameters, metrics and the formula in four forms."""
    result, dataset = fitted.result, fitted.dataset
    rows = plural(dataset.n_rows, "row")
    if result.success:
        console.print(f"{dataset.target}: fitted on {rows}: {one_line(result.message, 600)}")
    else:
        console.print(f"FAILED on {rows}: {one_line(result.message, 600)}", style="bold red")
    for note in dataset.notes:
        console.print(f"note: {one_line(note, 400)}", soft_wrap=True)
    console.print()
    _print_parameters(fitted, console)
    if not result.success:
        console.print("The values above are where the search ended; they are no fit.")
        return
    _print_metrics(fitted, console)
    for title, text in _forms(fitted):
        console.print(title, style="bold")
        console.print(harmless(text.rstrip("\n"), _CHARS), soft_wrap=True)
        console.print()


def fit_json(fitted: FittedTable) -> str:
    """Return everything as strict JSON; what is unknown is null."""
    result = fitted.result
    content: dict[str, Any] = {
        "target": fitted.dataset.target,
        "n_rows": fitted.dataset.n_rows,
        "notes": list(fitted.dataset.notes),
        "success": result.success,
        "message": result.message,
        "parameters": result.parameters,
        "standard_errors": result.standard_errors,
        "covariance": None if result.covariance is None else result.covariance.tolist(),
        "loss": result.loss if result.loss == result.loss else None,
        "metrics": {
            name: {"value": score.value, "status": score.status, "reason": score.reason}
            for name, score in fitted.scores.items()
        },
        "formula": str(fitted.formula),
        "fitted": str(result.expression) if result.success else None,
        "python": result.expression.to_numpy_source() if result.success else None,
        "latex": fitted.latex if result.success else None,
        "sympy": fitted.sympy if result.success else None,
    }
    return pretty_json(content).decode()


def _print_parameters(fitted: FittedTable, console: Console) -> None:
    from rich.text import Text

    if not fitted.result.parameters:
        return
    table = plain_table("parameter", "value", "± standard error")
    for name, value in fitted.result.parameters.items():
        error = fitted.result.standard_errors.get(name)
        if not isinstance(value, dict):
            table.add_row(*map(Text, [one_line(name, 60), _digits(value), number(error)]))
            continue
        errors = error if isinstance(error, dict) else {}
        for label, item in list(value.items())[:_SHOWN]:
            title = one_line(f"{name}[{label}]", 60)
            table.add_row(*map(Text, [title, _digits(item), number(errors.get(label))]))
        if len(value) > _SHOWN:
            table.add_row(Text(f"… {len(value) - _SHOWN} more groups: --json has all"), "", "")
    print_table(table, console)
    console.print()


def _print_metrics(fitted: FittedTable, console: Console) -> None:
    from rich.text import Text

    table = plain_table("metric", "on the fitted rows")
    for name, score in fitted.scores.items():
        title = name if name == "complexity" else titled(name, METRICS[name].direction)
        table.add_row(*map(Text, [title, number(score.value)]))
    print_table(table, console)
    for name, score in fitted.scores.items():
        if score.value is None:
            console.print(f"{name}: {one_line(score.reason or '', 200)}", soft_wrap=True)
    console.print()


def _forms(fitted: FittedTable) -> list[tuple[str, str]]:
    expression = fitted.result.expression
    return [
        ("formula", str(expression)),
        ("Python", expression.to_numpy_source()),
        ("LaTeX (six digits)", fitted.latex),
        ("SymPy", fitted.sympy or fitted.no_sympy),
    ]


def _digits(value: float) -> str:
    return f"{value:.8g}"

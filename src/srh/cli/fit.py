"""``srh fit``: one formula, one table, no project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from srh.cli.options import Json


def fit_command(  # noqa: PLR0913, PLR0917
    data: Annotated[
        Path, typer.Argument(metavar="FILE", help="CSV, .npz or .joblib file with the data.")
    ],
    formula: Annotated[
        str,
        typer.Argument(metavar="FORMULA", help="Such as \"param('a')*exp(-param('k')*t)\"."),
    ],
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column to be explained.")
    ] = None,
    weights: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Weight of each row's squared residual."),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=LOW:HIGH", help="Bounds of a parameter. Can be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Of the fit's starts.")] = 0,
    budget: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Most evaluations of the formula.")
    ] = None,
    drop_missing: Annotated[
        bool, typer.Option("--drop-missing", help="Leave out rows that miss a value.")
    ] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw fit and residuals: .png, .svg or .pdf."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Fit a formula's parameters to a table.

    Prints parameters with standard errors, metrics, and the formula to paste as text, Python,
    LaTeX and SymPy. Exit code 1 if the fit fails, 2 if formula or data cannot be used.
    """
    from srh.report.cells import console
    from srh.report.fitting import FitOptions, fit_table
    from srh.report.fitting_text import fit_json, print_fit

    if plot is not None:
        from srh.report.fitting_plot import check_plot

        check_plot(plot)
    options = FitOptions(seed, budget, weights, bounds or (), drop_missing)
    fitted = fit_table(data, formula, target, options)
    if as_json:
        typer.echo(fit_json(fitted), nl=False)
    else:
        print_fit(fitted, console())
    if not fitted.result.success:
        raise typer.Exit(1)
    if plot is not None:
        from srh.report.fitting_plot import draw_fit

        draw_fit(fitted, plot)

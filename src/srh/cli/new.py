"""``srh new``: make a project, a task or a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from srh.cli.options import SETTINGS, Root, open_project, say

new_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings=SETTINGS,
    help="Make a project, a task or a trial that works at once.",
)


@new_app.command("project")
def project_command(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or empty folder.")],
) -> None:
    """Make a project with example tasks and trials."""
    from srh.scaffold import new_project

    project = new_project(folder)
    names = project.task_names()
    say(f"made {project.root} with tasks: {', '.join(names) or 'none'}")
    if names:
        say(f"next: cd {folder} && srh eval {names[-1]}")


@new_app.command("task")
def task_command(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new task.")],
    data: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="CSV, .npz or .joblib file, or context.data folder; it is copied."
        ),
    ],
    target: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="The column to be explained.")
    ] = None,
    root: Root = None,
) -> None:
    """Make a task from a data file."""
    from srh.scaffold import new_task

    task, decided = new_task(open_project(root), name, data, target)
    say(f"made {task.folder}: {decided}")
    say(f"next: srh new trial {task.name} ID --formula TEXT")


@new_app.command("trial")
def trial_command(
    task: Annotated[str, typer.Argument(metavar="TASK", help="The task that it is for.")],
    trial_id: Annotated[str, typer.Argument(metavar="ID", help="Name of the new trial.")],
    formula: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="The formula. Default: a straight line to begin with."),
    ] = None,
    description: Annotated[str, typer.Option(metavar="TEXT", help="What is proposed.")] = "",
    author: Annotated[str, typer.Option(metavar="TEXT", help="Who proposes it.")] = "",
    root: Root = None,
) -> None:
    """Make a formula trial; an id that is taken gets a number."""
    from srh.scaffold import new_formula_trial
    from srh.tasks import load_task

    project = open_project(root)
    loaded = load_task(project, task)
    trial = new_formula_trial(
        project, loaded, trial_id, formula=formula, description=description, author=author
    )
    taken = "" if trial.id == trial_id else f" ({trial_id} is taken)"
    say(f"made {trial.folder}{taken}")
    say(f"next: srh eval {trial.task} {trial.id}")

"""The ``srh`` command: parse, call, print.

Everything heavy is imported by the command that needs it, so that ``srh --help`` is quick.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from srh import __version__
from srh.cli.data import data_app
from srh.cli.fit import fit_command
from srh.cli.new import new_app
from srh.cli.options import (
    SETTINGS,
    Csv,
    Json,
    Markdown,
    RankBy,
    Root,
    Unsafe,
    open_project,
    say,
)
from srh.errors import SrhError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from srh.report import Board
    from srh.report.gates import TrialGate


class _Group(TyperGroup):
    """The commands, with every error that a person can cause told in a sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command.

        Raises:
            typer.Exit: With code 2 after an error, 130 after Ctrl-C.
        """
        try:
            return super().invoke(ctx)
        except SrhError as error:
            _complain(str(error))
        except BrokenPipeError:
            raise  # whoever read our output has gone; Typer ends quietly
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            _complain(f"{where}{error.strerror or error}")
        except KeyboardInterrupt as error:
            raise typer.Exit(130) from error
        raise typer.Exit(2)


def _complain(message: str) -> None:
    from srh.text import harmless

    for line in harmless(message, 20_000).splitlines():
        print(f"srh: {line}", file=sys.stderr)  # noqa: T201


app = typer.Typer(
    name="srh",
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # drawing help with Rich would take longer than all the rest
    context_settings=SETTINGS,
)

app.add_typer(new_app, name="new")
app.add_typer(data_app, name="data")
app.command("fit")(fit_command)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            # A terminal without arrows and dashes gets question marks, not a traceback.
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    # Ended by default, we could clear nothing up. Who ignores a signal (`nohup`) goes on to.
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)
    app()


def _end(number: int, frame: FrameType | None) -> None:
    """End as Ctrl-C does, with the exit code that a shell gives to a process ended by a signal."""
    del frame
    raise SystemExit(128 + number)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"srh {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Evaluate what an agent proposes, reproducibly and without trusting it.

    A project has tasks (data, and what is measured) and trials (what is proposed). `srh new
    project FOLDER` makes one with examples; `srh eval TASK` evaluates and ranks a task's trials.

    Exit codes: 0 done (a failed trial is a result, not an error), 1 `verify` found a difference,
    `fit` failed, `--strict` a failed trial or `--gate` a gate that fails or is blocked, 2 wrong
    usage or input, or a fault of srh itself.
    """


@app.command("eval")
def evaluate(  # noqa: PLR0913, PLR0917
    task: Annotated[str, typer.Argument(metavar="TASK", help="Name of the task.")],
    trials: Annotated[
        list[str] | None,
        typer.Argument(metavar="TRIAL", help="Trials to evaluate. Default: all of the task."),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Evaluations at a time. Default: by cores, memory."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Evaluate trials with a current result again.")
    ] = False,
    final: Annotated[
        bool,
        typer.Option("--final", help="Score the held-out rows. Every such look is counted."),
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if a trial fails.")] = False,
    gate: Annotated[
        bool,
        typer.Option("--gate", help="Print gates; exit with 1 if one fails or is blocked."),
    ] = False,
    unsafe: Unsafe = False,
    as_json: Json = False,
    as_csv: Csv = False,
    as_markdown: Markdown = False,
    rank_by: RankBy = None,
    root: Root = None,
) -> None:
    """Evaluate a task's trials; print the leaderboard.

    Trials whose stored result is current are not evaluated again. If trials are named, the others
    appear with what is stored for them.
    """
    from srh.report.board_text import look_message
    from srh.report.gates import is_open, judge_board
    from srh.report.run import run_task
    from srh.tasks import load_task

    shape = _shape(json=as_json, csv=as_csv, markdown=as_markdown)
    if gate and shape == "csv":
        raise UsageError("--gate goes with text, --json and --markdown; CSV has measurements only")
    project = open_project(root)
    loaded = load_task(project, task, unsafe=unsafe)
    run = run_task(
        project,
        loaded,
        trials or [],
        jobs=jobs,
        force=force,
        final=final,
        rank_by=rank_by,
        announce=lambda look: typer.echo(look_message(look), err=True),
    )
    gates = judge_board(loaded, run.board, run.trials) if gate else None
    _print_board(run.board, shape, gates)
    if run.any_harness:
        raise typer.Exit(2)
    if (strict and run.any_failed) or not is_open(gates or []):
        raise typer.Exit(1)


@app.command()
def show(
    name: Annotated[
        str, typer.Argument(metavar="TRIAL", help="TASK/ID, or a task for its leaderboard.")
    ],
    as_json: Json = False,
    as_csv: Csv = False,
    as_markdown: Markdown = False,
    rank_by: RankBy = None,
    root: Root = None,
) -> None:
    """Show a trial, or a task's stored leaderboard.

    Nothing is evaluated. --csv, --markdown and --rank-by are for leaderboards.
    """
    from srh.report.cells import console
    from srh.report.run import stored_board
    from srh.report.show import make_page, page_json, print_page
    from srh.report.stored import name_trial
    from srh.tasks import load_task

    shape = _shape(json=as_json, csv=as_csv, markdown=as_markdown)
    project = open_project(root)
    if name in project.task_names():
        board = stored_board(project, load_task(project, name), rank_by=rank_by)
        _print_board(board, shape)
        return
    trial = name_trial(project, name)
    if shape in ("csv", "markdown") or rank_by:
        raise UsageError("--csv, --markdown and --rank-by are for a task, not for one trial")
    page = make_page(load_task(project, trial.task), trial)
    if shape == "json":
        _write(page_json(page))
    else:
        print_page(page, console())


@app.command()
def compare(
    trials: Annotated[
        list[str],
        typer.Argument(metavar="TRIAL", help="The baseline A, then B, C …"),
    ],
    metric: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="Decide on this metric. Default: the task's ranking."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Compare results of different tasks or data too.")
    ] = False,
    as_json: Json = False,
    as_markdown: Markdown = False,
    root: Root = None,
) -> None:
    """Say whether trial B is really better than A.

    Better, worse, or not distinguishable: differences are taken fold by fold, and their 95 %
    interval allows for the training rows that folds share. Every trial needs a current result
    (`srh eval`); C and more are compared with A too.
    """
    from srh.report.cells import console
    from srh.report.compare import compare_trials
    from srh.report.compare_text import comparisons_json, comparisons_markdown, print_comparisons

    shape = _shape(json=as_json, markdown=as_markdown)
    found = compare_trials(open_project(root), trials, metric=metric, force=force)
    if shape == "json":
        _write(comparisons_json(found))
    elif shape == "markdown":
        _write(comparisons_markdown(found))
    else:
        print_comparisons(found, console())


@app.command()
def verify(
    trials: Annotated[
        list[str] | None, typer.Argument(metavar="TRIAL", help="Trials, as TASK/ID.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(metavar="TASK", help="Verify all trials of this task.")
    ] = None,
    unsafe: Unsafe = False,
    as_json: Json = False,
    root: Root = None,
) -> None:
    """Evaluate again; say whether the same comes out.

    A result that comes out `identical` counts as verified from then on, whoever made it. Exit
    code 1 if a result is different, 2 if there is nothing to compare with.
    """
    from srh.report.cells import console
    from srh.report.verify import verify_trials
    from srh.report.verify_text import exit_code, print_verification, verifications_json

    project = open_project(root)
    found = []
    for verification in verify_trials(project, trials or [], task, unsafe=unsafe):
        found.append(verification)
        if not as_json:
            print_verification(verification, console())
    if as_json:
        _write(verifications_json(found))
    code = exit_code(found)
    if code:
        raise typer.Exit(code)


@app.command()
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="TASK|TASK/ID", help="What to check. Default: all tasks."),
    ] = None,
    root: Root = None,
) -> None:
    """Check tasks and trials; nothing runs.

    Of a task its data, folds and metrics are checked, of a trial its files and its formula. All
    mistakes are listed. Exit code 2 if anything is wrong.
    """
    from srh.report.check import check_names, checked_lines

    found = check_names(open_project(root), names or [])
    for checked in found:
        for line in checked_lines(checked):
            say(line)
    if any(checked.problems for checked in found):
        raise typer.Exit(2)


@app.command()
def metrics(
    task: Annotated[
        str | None,
        typer.Argument(metavar="TASK", help="List this task's. Default: all that are known."),
    ] = None,
    as_json: Json = False,
    root: Root = None,
) -> None:
    """List metrics with what they declare: the known ones, or a task's.

    Packages add metrics by entry points in the group `srh.metrics`.
    """
    from srh.report.cells import console
    from srh.report.metrics_text import known_metrics, metrics_json, print_metrics, task_metrics
    from srh.tasks import load_task

    known = task is None
    found = known_metrics() if known else task_metrics(load_task(open_project(root), task or ""))
    if as_json:
        _write(metrics_json(found))
    else:
        print_metrics(found, console())


@app.command()
def doctor(
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="GROUP", help="Run the checks of this group only. Can be repeated."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Try out whether this machine confines code.

    Everything that a trial's code must not be able to do is tried in a confined process, and in a
    free one, where it has to succeed; and whole evaluations: outcomes, limits, forgeries, clean-up.
    Exit code 1 if something does not hold that code trials need.
    """
    from srh.report.cells import console
    from srh.report.doctor import (
        choose_checks,
        diagnose,
        diagnosis_json,
        print_diagnosis,
        watch,
    )

    diagnosis = diagnose(watch(choose_checks(only or [])))
    if as_json:
        _write(diagnosis_json(diagnosis))
    else:
        print_diagnosis(diagnosis, console())
    if not diagnosis.sound:
        raise typer.Exit(1)


def _shape(**wanted: bool) -> str:
    """Return the one shape of output that was asked for; ``text`` if none was."""
    chosen = [name for name, is_wanted in wanted.items() if is_wanted]
    if len(chosen) > 1:
        raise UsageError(f"choose one of {', '.join('--' + name for name in chosen)}")
    return chosen[0] if chosen else "text"


def _print_board(board: Board, shape: str, gates: Sequence[TrialGate] | None = None) -> None:
    from srh.report.board_text import board_csv, board_json, board_markdown, print_board
    from srh.report.cells import console
    from srh.report.gates import gates_markdown, print_gates

    if shape == "json":
        _write(board_json(board) if gates is None else board_json(board, gates=gates))
    elif shape == "csv":
        _write(board_csv(board))
    elif shape == "markdown":
        _write(board_markdown(board) + ("" if gates is None else gates_markdown(gates)))
    else:
        print_board(board, console())
        if gates is not None:
            print_gates(gates, console())


def _write(text: str) -> None:
    """Print a document as it is."""
    typer.echo(text, nl=False)

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from srh.cli import app
from support import add_trial, is_running

SRH = [sys.executable, "-c", "from srh.cli import main; main()"]


@pytest.fixture
def srh(project, monkeypatch):
    """Run a command in the project and return its result; nothing may be a traceback."""
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("COLUMNS", "250")

    def run(*arguments):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        return result

    return run


def strict_json(text):
    def refuse(name):
        raise AssertionError(f"{name} in JSON")

    return json.loads(text, parse_constant=refuse)


def folder_of(project, trial):
    return project.trials / "line" / trial


def plant(project, trial, **metrics):
    """Write a result that claims `metrics`, built from the trial's own, unsealed."""
    path = folder_of(project, trial) / "result.json"
    body = json.loads(path.read_text())
    body["metrics"] |= metrics
    path.write_text(json.dumps(body))
    return path


def test_starting_is_light():
    code = (
        "import sys, srh.cli; print(*(set(sys.modules) & {'numpy', 'rich', 'msgspec', 'psutil'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


def test_help_and_version(srh):
    for command in ("", "eval", "show", "compare", "verify", "check", "new project", "new trial"):
        result = srh(*command.split(), "--help")
        assert result.exit_code == 0
        assert "Usage:" in result.output
    assert srh("--version").output.startswith("srh 0.")


def test_eval_prints_a_leaderboard_and_a_failed_trial_is_a_result(srh, project):
    add_trial(project, "broken", "param('a' * x")
    add_trial(project, "flat", "param('a')")
    result = srh("eval", "line", "--jobs", 2)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line.split()[:2] for line in lines if line[:1].isdigit() and line[1] == " "] == [
        ["1", "right"],
        ["2", "flat"],
    ]
    assert any(line.startswith("broken") and "formula.txt" in line for line in lines)
    assert "right: ok in" in result.stderr
    assert srh("eval", "line", "--strict").exit_code == 1
    assert srh("eval", "line", "right", "--strict").exit_code == 0
    assert "right: current result kept" in srh("eval", "line").stderr
    assert "right: ok in" in srh("eval", "line", "right", "--force").stderr


def test_eval_writes_strict_json_csv_and_markdown(srh, project):
    add_trial(project, "broken", "1/0*x")
    found = strict_json(srh("eval", "line", "--json").stdout)
    assert [(row["rank"], row["trial"]) for row in found["trials"]] == [
        (1, "right"),
        (None, "broken"),
    ]
    assert found["trials"][0]["result"]["provenance"]["trial"].startswith("sha256:")
    assert found["scores"] == "cv"
    lines = srh("show", "line", "--csv").stdout.splitlines()
    assert lines[0].startswith("rank,trial,scores,standing,outcome,rmse,mse,")
    assert float(lines[1].split(",")[5]) == found["trials"][0]["metrics"]["rmse"]
    assert "| 1 | right |" in srh("show", "line", "--markdown").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval", "lime"], "no task 'lime'"),
        (["eval", "line/right"], "for one trial of line write `line right`"),
        (["eval", "line", "rigt"], "no trial 'rigt'"),
        (["eval", "line", "--rank-by", "rsme"], "'rsme' is not a metric of task line"),
        (["eval", "line", "--json", "--csv"], "choose one of --json, --csv"),
        (["eval", "line", "--jobs", "0"], "--jobs"),
        (["show", "line/nothing"], "no trial 'line/nothing'"),
        (["compare", "line/right"], "name at least two trials"),
        (["compare", "right", "line/right"], "named twice"),
        (["verify"], "name trials as TASK/ID"),
        (["verify", "--task", "lime"], "no task 'lime'"),
        (["check", "lime"], "no task 'lime' .*did you mean 'line'"),
        (["eval", "line", "--root", "nowhere"], "not a project root"),
        (["new", "task", "line", "--data", "tasks/line/data.csv"], "is there already"),
        (["new", "task", "../up", "--data", "tasks/line/data.csv"], "cannot name a task"),
        (["new", "task", "more", "--data", "nothing.csv"], "no such data file"),
        (["new", "task", "more", "--data", "tasks/line/data.csv"], "--target names the column"),
        (["new", "trial", "line", "runs"], "reserved"),
        (["new", "trial", "line", "bad", "--formula", "param('a'"], "no trial is made: formula"),
        (["new", "project", "tasks"], "is not empty"),
        (["new", "project", "srh.toml"], "is no folder"),
    ],
)
def test_mistakes_are_told_in_a_sentence_and_exit_with_2(srh, arguments, message):
    result = srh(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert re.search(message, result.stderr)


def test_without_a_project_the_message_says_how_to_make_one(tmp_path):
    done = subprocess.run(
        [*SRH, "eval", "kepler"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("srh: no srh.toml in ")
    assert "srh new project FOLDER" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_wrong_task_lists_every_mistake(srh, project):
    path = project.tasks / "line" / "task.toml"
    path.write_text(path.read_text().replace("n_splits = 4", "n_splits = 1\nfolds = 3"))
    result = srh("check", "line")
    assert result.exit_code == 2
    assert "partitions.folds: unknown field" in result.stdout
    result = srh("eval", "line")
    assert result.exit_code == 2
    assert "partitions.folds" in result.stderr


def test_a_planted_result_is_unverified_and_unranked(srh, project):
    add_trial(project, "cheat", "param('a')")
    srh("eval", "line")
    plant(project, "cheat", r2=1.0, rmse=0.0)
    result = srh("show", "line", "--rank-by", "r2")
    ranked, unranked = result.stdout.split("not ranked")
    assert "right" in ranked
    assert "cheat" not in ranked
    assert "unverified" in unranked
    # Whoever evaluates another trial sees it so as well; a page shows claims as claims.
    assert "unverified" in srh("eval", "line", "right").stdout
    assert "CLAIMS" in srh("show", "line/cheat").stdout
    page = strict_json(srh("show", "line/cheat", "--json").stdout)
    assert page["result"] is None
    assert page["claimed_result"]["metrics"]["r2"] == 1.0
    verified = srh("verify", "line/cheat")
    assert verified.exit_code == 1
    assert "different" in verified.stdout
    assert "r2: stored 1.0, evaluated " in verified.stdout


def test_verify_names_the_digest_of_an_edited_formula_and_leaves_the_result(srh, project):
    srh("eval", "line")
    assert srh("verify", "line/right").stdout == "line/right: identical\n"
    folder = folder_of(project, "right")
    before = (folder / "result.json").read_bytes()
    (folder / "formula.txt").write_text("param('a')*x - param('b')\n")
    result = srh("verify", "right")
    assert result.exit_code == 1
    assert "line/right: different" in result.stdout
    assert "trial digest: stored " in result.stdout
    assert (folder / "result.json").read_bytes() == before
    assert "out of date: trial digest changed" in srh("show", "line").stdout


def test_a_result_from_elsewhere_becomes_verified_if_it_comes_out_again(
    srh, project, tmp_path, monkeypatch
):
    add_trial(project, "broken", "no_such_column + 1")
    srh("eval", "line")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another-user"))
    assert srh("show", "line").stdout.count("unverified") == 2
    result = srh("verify", "--task", "line", "--json")
    assert result.exit_code == 0
    assert [
        (one["trial"], one["verdict"], one["newly_sealed"]) for one in strict_json(result.stdout)
    ] == [
        ("line/broken", "identical", True),
        ("line/right", "identical", True),
    ]
    assert "unverified" not in srh("show", "line").stdout


def test_verify_without_a_result_gives_advice(srh):
    result = srh("verify", "line/right")
    assert result.exit_code == 2
    assert "no stored result; `srh eval line right` makes one" in result.stdout


def test_compare_gives_a_verdict_and_what_differs(srh, project):
    add_trial(project, "flat", "param('a')")
    add_trial(project, "same", "param('b') + x*param('a')")
    refused = srh("compare", "line/right", "flat")
    assert refused.exit_code == 2
    assert (
        "line/right: it has no result yet; `srh eval line right` makes a current one"
        in refused.stderr
    )
    srh("eval", "line")
    result = srh("compare", "line/right", "flat", "same")
    assert result.exit_code == 0
    assert (
        "flat is worse than right on rmse: the mean difference over 4 folds is +" in result.stdout
    )
    assert "same is better" not in result.stdout
    assert "-param('a')*x + param('b')" in result.stdout
    assert "+param('a')" in result.stdout
    found = strict_json(srh("compare", "line/right", "flat", "--json", "--metric", "r2").stdout)
    assert found["metric"] == "r2"
    assert found["others"][0]["chosen"]["verdict"] == "worse"
    assert "| rmse ↓ |" in srh("compare", "right", "flat", "--markdown").stdout
    assert srh("compare", "right", "flat", "--metric", "rsme").exit_code == 2


def test_a_failed_trial_gets_no_verdict_in_a_comparison(srh, project):
    add_trial(project, "some", "log(x - 1)")
    srh("eval", "line")
    result = srh("compare", "line/right", "some")
    assert result.exit_code == 0
    assert "some failed: " in result.stdout
    assert "no verdict on rmse for some against right: it has no value in fold" in result.stdout


def test_compare_refuses_what_rests_on_other_data(srh, project):
    shutil.copytree(project.tasks / "line", project.tasks / "line2")
    (project.tasks / "line2" / "data.csv").write_text(
        (project.tasks / "line" / "data.csv").read_text().replace(",1.", ",1.5")
    )
    add_trial(project, "right", "param('a')*x + param('b')", task="line2")
    srh("eval", "line")
    srh("eval", "line2")
    refused = srh("compare", "line/right", "line2/right")
    assert refused.exit_code == 2
    assert "not comparable: they differ in data digest" in refused.stderr
    forced = srh("compare", "line/right", "line2/right", "--force")
    assert forced.exit_code == 0
    assert "forced: the two differ in data" in forced.stdout
    ambiguous = srh("show", "right")
    assert ambiguous.exit_code == 2
    assert "in several tasks; name one of line/right, line2/right" in ambiguous.stderr


def test_show_has_everything_about_a_trial(srh, project):
    folder = folder_of(project, "right")
    (folder / "trial.toml").write_text('kind = "formula"\ndescription = "a line"\nauthor = "me"\n')
    assert "not evaluated; `srh eval line right` makes one" in srh("show", "line/right").stdout
    srh("eval", "line")
    text = srh("show", folder).stdout
    for part in ("description: a line", "author: me", "param('a')*x", "sealed by you", "fold 3"):
        assert part in text
    for part in ("± standard error", "usage: ", "provenance:", "trial: sha256:", "fitted: "):
        assert part in text
    page = strict_json(srh("show", "line/right", "--json").stdout)
    assert page["state"] == "current"
    assert page["source"]["files"]["formula.txt"] == "param('a')*x + param('b')\n"
    assert page["result"]["fitted"]["parameters"]["a"] == pytest.approx(2.0, abs=0.01)


def test_show_leaves_out_what_a_failed_trial_never_reached(srh, project):
    add_trial(project, "broken", "param('a'")
    srh("eval", "line", "broken")
    text = srh("show", "line/broken").stdout
    assert "outcome: error\nerror: " in text
    assert "rmse ↓" not in text
    assert "round trip" not in text


def test_final_scores_the_holdout_and_counts_the_look(srh):
    first, second = srh("eval", "line", "--final"), srh("eval", "line", "--final", "--json")
    assert first.exit_code == 0
    assert "holdout look 1: no earlier look" in first.stderr
    assert "holdout rmse ↓" in first.stdout
    found = strict_json(second.stdout)
    assert (found["scores"], found["holdout_look"], found["folds"]) == ("holdout", 2, 1)
    assert "holdout look 2: 1 earlier look" in second.stderr


def test_check_reads_formulas_over_the_columns(srh, project):
    add_trial(project, "typo", "param('a')*z")
    folder = add_trial(project, "odd", "x")
    (folder / "trial.toml").write_text('kind = "formula"\nautor = "me"\n')
    assert srh("check").exit_code == 0
    result = srh("check", "line", "right", "typo", "line/odd")
    assert result.exit_code == 2
    assert "line: ok\n  data: 40 rows, target 'y', features x\n" in result.stdout
    assert "line/right: ok" in result.stdout
    assert "line/typo: 1 problem" in result.stdout
    assert "autor: unknown field (did you mean 'author'?)" in result.stdout


HOSTILE = "[bold]x[\x1b[31m]\u202e"


def test_a_hostile_trial_is_shown_as_harmless_text(srh, project):
    add_trial(project, HOSTILE, "[/bold]\x1b[2J" + "\u202e")
    folder = add_trial(project, "plain", "[/bold]\x1b[2J" + "\u202e")
    for trial in (folder, folder.parent / HOSTILE):
        (trial / "trial.toml").write_text(
            'kind = "formula"\ndescription = "[link=http://x]y[/link]"\n', encoding="utf-8"
        )
    for arguments in (
        ("eval", "line"),
        ("eval", "line", folder.parent / HOSTILE),
        ("show", "line"),
        ("show", "line", "--markdown"),
        ("show", "line", "--csv"),
        ("show", folder.parent / HOSTILE),
        ("check", folder.parent / HOSTILE),
        ("verify", folder.parent / HOSTILE),
        ("compare", "line/right", folder.parent / HOSTILE, "plain"),
    ):
        output = srh(*arguments).output
        assert not set(output) & set("\x1b\u202e"), arguments
        # Nothing was taken for markup and swallowed: the name, or of trials with a good name the
        # complaint about the formula, stands there as it is (Markdown escapes brackets).
        assert re.search(r"\[bold\]x\[|\[/bold\]", output.replace("\\", "")), arguments


def test_folders_that_can_be_no_trial_are_named(srh, project):
    (project.trials / "line" / HOSTILE).mkdir()
    srh("eval", "line")
    line = "ignored, for no trial can have such a name: '[bold]x[]'"
    assert line in srh("show", "line").stdout.splitlines()
    assert strict_json(srh("show", "line", "--json").stdout)["ignored_folders"] == ["[bold]x[]"]


def test_a_new_project_has_examples_and_works_at_once(srh, project, tmp_path):
    folder = tmp_path / "mine"
    result = srh("new", "project", folder)
    assert result.exit_code == 0
    tasks = "arithmetic, breast_cancer, diabetes, equations, groups, hubble, kepler, oscillator"
    assert f"with tasks: {tasks}" in result.stdout
    assert (folder / "tasks" / "arithmetic" / "evaluators" / "answers.py").is_file()
    assert (folder / "tasks" / "oscillator" / "context.data" / "manifest.json").is_file()
    assert srh("check", "--root", folder).exit_code == 0
    assert not list(folder.rglob("result.json"))
    assert (folder / "trials" / "kepler" / "right_law" / "formula.txt").is_file()
    assert srh("eval", "kepler", "right_law", "--root", folder, "--strict").exit_code == 0


@pytest.mark.parametrize(
    ("header", "cell", "setting"),
    [
        ("my speed,height", "{i}.5", ""),
        ("speed,height", "tall", 'categorical = "drop"'),
        ("speed,height", "", 'missing = "drop"'),
    ],
)
def test_a_new_task_and_trial_work_at_once(srh, project, tmp_path, header, cell, setting):
    rows = [f"{i * i},{i}.0" for i in range(1, 12)] + [f"9,{cell.format(i=3)}"]
    table = tmp_path / "my data.csv"
    table.write_text("\n".join([header, *rows]) + "\n")
    if setting.startswith("categorical"):
        table.write_text("\n".join(["speed,height,place", *(row + ",tall" for row in rows[:-1])]))
    made = srh("new", "task", "jump", "--data", table, "--target", "height")
    assert made.exit_code == 0, made.output
    assert setting in (project.tasks / "jump" / "task.toml").read_text()
    assert setting in made.stdout
    assert srh("new", "trial", "jump", "first", "--description", 'a "line"').exit_code == 0
    again = srh("new", "trial", "jump", "first", "--formula", "param('a')")
    assert "first-2" in again.stdout
    assert srh("check", "jump", "jump/first", "jump/first-2").exit_code == 0
    assert srh("eval", "jump", "--strict").exit_code == 0


def test_text_that_toml_cannot_carry_makes_no_trial(srh, project):
    result = srh("new", "trial", "line", "odd", "--description", "a\x7fb")
    assert result.exit_code == 2
    assert not folder_of(project, "odd").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read_is_told_in_a_sentence(srh, project):
    (project.trials / "line").chmod(0)
    try:
        result = srh("eval", "line")
    finally:
        (project.trials / "line").chmod(0o755)
    assert result.exit_code == 2
    assert "ermission denied" in result.stderr


def test_a_reader_that_goes_away_causes_no_traceback(project):
    command = subprocess.Popen(
        [*SRH, "show", "line"],
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    command.stdout.close()
    assert "Traceback" not in command.stderr.read()
    command.stderr.close()
    command.wait(30)


HARD = " + ".join(
    f"param('a{i}')*sin(param('b{i}')*x + param('c{i}')*exp(param('d{i}')*x))" for i in range(12)
)


def children_of(pid):
    """Return the children of all threads of a process."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for thread in threads for child in thread.read_text().split()]


def scorers_of(pid):
    """Return the processes that the templates of a process have forked, and that work."""
    forked = [child for template in children_of(pid) for child in children_of(template)]
    return [one for one in forked if "srh-run-" in str(Path(f"/proc/{one}/cwd").readlink())]


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_ctrl_c_ends_quickly_with_130(project, jobs):
    # A shell without job control starts `make test &` with this signal ignored, for children too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    data = project.tasks / "line" / "data.csv"
    data.write_text("x,y\n" + "".join(f"{i / 9000},{(i * 7919) % 101}\n" for i in range(90_000)))
    add_trial(project, "hard", HARD)
    shutil.copytree(folder_of(project, "hard"), folder_of(project, "right"), dirs_exist_ok=True)
    command = subprocess.Popen(
        [*SRH, "eval", "line", "--jobs", str(jobs)],
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 30
    while len(scorers_of(command.pid)) < jobs and time.monotonic() < deadline:
        time.sleep(0.05)
    children = [*children_of(command.pid), *scorers_of(command.pid)]
    assert len(children) == 1 + jobs
    command.send_signal(signal.SIGINT)
    started = time.monotonic()
    stdout, stderr = command.communicate(timeout=30)
    assert time.monotonic() - started < 5
    assert (command.returncode, stdout, stderr) == (130, "", "")
    while any(map(is_running, children)) and time.monotonic() - started < 7:
        time.sleep(0.05)
    assert not any(map(is_running, children))


def test_a_terminal_gets_a_bar_that_runs_no_markup(project):
    folder = add_trial(project, "[bold]b[red]", "param('a'")
    ours, theirs = pty.openpty()
    command = subprocess.Popen(
        [*SRH, "eval", "line", str(folder), "--root", str(project.root)],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm"},
    )
    os.close(theirs)
    seen = b""
    with contextlib.suppress(OSError):  # the terminal is gone when the command has ended
        while piece := os.read(ours, 65536):
            seen += piece
    os.close(ours)
    assert command.wait(30) == 0
    assert b"1/1" in seen
    assert b"[bold]b[red]: error" in seen


def test_a_broken_sealing_key_is_told_and_exits_with_2(srh, vault):
    vault.mkdir(parents=True)
    (vault / "seal.key").write_text("short")
    result = srh("eval", "line")
    assert result.exit_code == 2
    assert "seal.key: the sealing key" in result.stderr

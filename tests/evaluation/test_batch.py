from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading

import pytest

from srh.errors import UsageError
from srh.evaluation.batch import (
    evaluate_holdout,
    evaluate_one,
    evaluate_trials,
    make_request,
    stored_entry,
)
from srh.tasks import load_task
from srh.trials import Trial, list_trials
from srh.vault import holdout_looks
from support import add_trial


@pytest.fixture
def task(project):
    return load_task(project, "line")


@pytest.fixture
def right(project):
    return Trial("line", "right", project.trials / "line" / "right")


def stored(trial):
    return json.loads((trial.folder / "result.json").read_text())


def test_a_result_is_stored_sealed_and_kept(task, right):
    first = evaluate_one(task, right)
    assert first.origin == "evaluated"
    assert first.result.status == "ok"
    assert sorted(entry.name for entry in right.folder.iterdir()) == [
        "formula.txt",
        "history",
        "request.json",
        "result.json",
        "stderr.txt",
        "stdout.txt",
        "trial.toml",
    ]
    kept = evaluate_one(task, right)
    assert kept.origin == "kept"
    assert kept.result == first.result


def test_force_evaluates_again_and_keeps_the_old_one(task, right):
    evaluate_one(task, right)
    old = (right.folder / "result.json").read_bytes()
    assert evaluate_one(task, right, force=True).origin == "evaluated"
    (history,) = (right.folder / "history").iterdir()
    assert history.read_bytes() == old


def test_two_runs_differ_in_times_usage_and_seal_only(task, right):
    evaluate_one(task, right)
    first = stored(right)
    evaluate_one(task, right, force=True)
    second = stored(right)
    for result in (first, second):
        for field in ("evaluated_at", "usage", "runtime", "seal"):
            del result[field]
    assert json.dumps(first) == json.dumps(second)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("formula", "out of date: trial digest changed"),
        ("task", "task digest, request digest changed"),
        ("data", "out of date: data digest"),
        ("planted", "not sealed by you"),
        ("edited", "not sealed by you"),
        ("garbage", "cannot be read"),
        ("link", "cannot be read"),
        ("fifo", "cannot be read"),
        ("key", "not sealed by you"),
    ],
)
def test_a_result_that_may_not_be_believed_is_unverified(
    project, vault, task, right, change, reason
):
    evaluate_one(task, right)
    result = right.folder / "result.json"
    if change == "formula":
        (right.folder / "formula.txt").write_text("param('a')*x + param('c')\n")
    elif change == "task":
        toml = task.folder / "task.toml"
        toml.write_text(toml.read_text().replace("n_splits = 4", "n_splits = 3"))
    elif change == "data":
        with (task.folder / "data.csv").open("a") as stream:
            stream.write("11,23\n")
    elif change == "planted":
        shutil.copy(result, add_trial(project, "cheat", "x"))
        right = Trial("line", "cheat", project.trials / "line" / "cheat")
        body = stored(right)
        body["metrics"]["r2"] = 1.0
        (right.folder / "result.json").write_text(json.dumps(body))
    elif change == "edited":
        result.write_text(
            result.read_text().replace('"roundtrip_ok": true', '"roundtrip_ok": false')
        )
    elif change == "garbage":
        result.write_bytes(b"\x00\xff")
    elif change == "link":
        result.rename(right.folder / "moved.json")
        result.symlink_to("moved.json")
    elif change == "fifo":
        result.unlink()
        os.mkfifo(result)
    else:
        (vault / "seal.key").unlink()
    entry = stored_entry(load_task(project, "line"), right)
    assert entry.origin == "unverified"
    assert reason in entry.reason
    assert entry.trusted is None
    again = evaluate_one(load_task(project, "line"), right)
    assert again.origin == "evaluated", "what is not believed is evaluated again"
    assert stored_entry(load_task(project, "line"), right).origin == "kept"


def test_the_result_of_another_trial_proves_nothing(project, task, right):
    evaluate_one(task, right)
    other = Trial("line", "other", add_trial(project, "other", "x"))
    shutil.copy(right.folder / "result.json", other.folder)
    assert stored_entry(task, other).origin == "unverified"


def test_planted_folders_and_links_do_not_keep_a_result_from_being_stored(
    project, task, right, tmp_path
):
    outside = tmp_path / "outside"
    outside.mkdir()
    (right.folder / "result.json").mkdir()
    (right.folder / "stdout.txt").symlink_to(outside / "victim")
    assert evaluate_one(task, right).result.status == "ok"
    assert stored_entry(task, right).origin == "kept"
    for plant in ("link", "file"):
        shutil.rmtree(right.folder / "history")
        if plant == "link":
            (right.folder / "history").symlink_to(outside, target_is_directory=True)
        else:
            (right.folder / "history").write_text("planted")
        assert evaluate_one(task, right, force=True).result.status == "ok"
        assert len(list((right.folder / "history").iterdir())) == 1
    assert list(outside.iterdir()) == []


def test_a_trial_folder_that_cannot_be_written_is_loud(project, task, tmp_path, right):
    if os.geteuid() == 0:
        # root writes anywhere but on a file system that is mounted read-only
        pytest.skip("permissions do not bind root")
    right.folder.chmod(0o500)
    assert evaluate_one(task, right).result.outcome == "harness"


def test_scores_do_not_depend_on_the_number_of_jobs(project, task):
    add_trial(project, "wave", "param('a')*x + param('b') + param('c')*sin(param('w')*x)")
    add_trial(project, "bad", "x +")
    trials = list_trials(project, "line")
    one = evaluate_trials(task, trials, jobs=1)
    two = evaluate_trials(task, trials, jobs=2, force=True)
    assert [entry.trial.id for entry in two] == ["bad", "right", "wave"]
    for first, second in zip(one, two, strict=True):
        assert first.result.metrics == second.result.metrics
        assert first.result.per_fold == second.result.per_fold
        assert first.result.error == second.result.error


def test_each_trial_is_reported_as_it_ends(project, task):
    add_trial(project, "bad", "x +")
    seen = []
    evaluate_trials(task, list_trials(project, "line"), jobs=2, report=seen.append)
    assert sorted(entry.trial.id for entry in seen) == ["bad", "right"]


def test_two_runners_on_one_trial_both_end_well(project, task, right):
    code = (
        "from pathlib import Path; from srh.project import Project;"
        "from srh.tasks import load_task; from srh.trials import Trial;"
        "from srh.evaluation.batch import evaluate_one;"
        f"p = Project(Path({str(project.root)!r}));"
        "t = Trial('line', 'right', p.trials / 'line' / 'right');"
        "e = evaluate_one(load_task(p, 'line'), t, force=True); print(e.result.status)"
    )
    runners = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)
    ]
    assert [runner.communicate()[0] for runner in runners] == [b"ok\n"] * 2
    assert stored_entry(task, right).origin == "kept"


def test_an_unreadable_trial_fails_alone(project, task):
    (project.trials / "line" / "empty").mkdir()
    model = add_trial(project, "model", "x")
    (model / "trial.toml").write_text('kind = "model"\n')
    (model / "model.py").write_text("raise SystemExit\n")
    entries = {
        entry.trial.id: entry for entry in evaluate_trials(task, list_trials(project, "line"))
    }
    assert entries["right"].result.status == "ok"
    assert entries["empty"].result.outcome == "error"
    assert "accepts formula trials, not model" in entries["model"].result.error


def test_the_holdout_is_scored_counted_and_not_written_down_for_trials(project, task, right):
    entries, look = evaluate_holdout(task, [right])
    assert look == 1
    assert entries[0].result.metrics["rmse"] < 0.03
    assert entries[0].result.folds[0].n_validation == 4
    assert entries[0].result.folds[0].n_train == 36
    assert sorted(entry.name for entry in right.folder.iterdir()) == ["formula.txt", "trial.toml"]
    assert evaluate_holdout(task, [right])[1] == 2
    first, second = holdout_looks(task.holdout_digest)
    assert first["task"] == "line"
    assert list(first["trials"]) == ["right"]
    assert first["looked_at"] <= second["looked_at"]


def test_held_out_rows_cannot_influence_the_development_score(project, task, right):
    before = evaluate_one(task, right).result
    data = task.folder / "data.csv"
    lines = data.read_text().splitlines()
    for row in (0, 10, 20, 30):
        lines[1 + row] = f"{row},1e6"
    data.write_text("\n".join(lines) + "\n")
    after = evaluate_one(load_task(project, "line"), right).result
    assert after.metrics == before.metrics
    assert after.fitted.formula == before.fitted.formula


def test_no_final_score_without_a_holdout(project):
    toml = project.tasks / "line" / "task.toml"
    toml.write_text(toml.read_text().replace("[holdout]\nrows = [0, 10, 20, 30]\n", ""))
    with pytest.raises(UsageError, match="no final score"):
        evaluate_holdout(load_task(project, "line"), [])


def test_requests_are_the_same_whoever_makes_them(task):
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(make_request(task))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({request.digest for request in results}) == 1


def test_more_jobs_than_trials_are_no_more_threads(project, task):
    add_trial(project, "other", "x")
    before = threading.active_count()
    most = 0

    def watch(_entry):
        nonlocal most
        most = max(most, threading.active_count())

    entries = evaluate_trials(task, list_trials(project, "line"), jobs=100_000, report=watch)
    assert [entry.result.outcome for entry in entries] == ["ok", "ok"]
    assert most < before + 20


def test_without_a_sandbox_code_is_refused_and_formulas_are_not(project, monkeypatch):
    from srh.evaluation import runner
    from srh.sandbox.lockdown import unavailable

    def refuse():
        raise unavailable(["Landlock in the kernel"])

    monkeypatch.setattr(runner, "require_sandbox", refuse)
    toml = project.tasks / "line" / "task.toml"
    toml.write_text(
        toml.read_text().replace('accepts = ["formula"]', 'accepts = ["formula", "model"]')
    )
    model = project.trials / "line" / "model"
    model.mkdir()
    (model / "model.py").write_text("raise SystemExit\n")
    task = load_task(project, "line")
    entries = {
        entry.trial.id: entry for entry in evaluate_trials(task, list_trials(project, "line"))
    }
    assert entries["right"].result.status == "ok"
    assert (entries["model"].origin, entries["model"].result) == ("not evaluated", None)
    assert "Landlock in the kernel" in entries["model"].reason
    (final, _) = evaluate_holdout(task, [entries["model"].trial])
    assert final[0].origin == "not evaluated"

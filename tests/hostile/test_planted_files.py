"""What whoever writes a trial's folder may plant there must harm nobody else.

Each attack has a control: the same steps with a harmless plant, so that the check can fail.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import pytest

from srh.errors import DataError
from srh.evaluation import evaluate_trial
from srh.evaluation.batch import evaluate_one, stored_entry
from srh.report.show import make_page, page_json, print_page
from srh.tasks import load_task
from srh.trials import Trial

FOLDS = [(list(range(20, 40)), list(range(20)))]


@pytest.fixture
def task(project):
    return load_task(project, "line")


@pytest.fixture
def right(project):
    return Trial("line", "right", project.trials / "line" / "right")


def planted_result(trial, **fitted):
    """Change the stored result's fitted formula, as its folder's owner may."""
    path = trial.folder / "result.json"
    body = json.loads(path.read_text())
    body["fitted"] |= fitted
    path.write_text(json.dumps(body))


def shown(task, trial):
    from srh.report.cells import console

    page = make_page(task, trial)
    print_page(page, console())
    return page_json(page)


def test_a_planted_number_of_any_size_can_be_shown(task, right, capsys):
    evaluate_one(task, right)
    planted_result(right, parameters={"a": 7})
    assert json.loads(shown(task, right))["claimed_result"]["fitted"]["parameters"] == {"a": 7}
    assert "believe none of it" in capsys.readouterr().out
    planted_result(right, parameters={"a": 10**400})
    page = json.loads(shown(task, right))
    assert (page["state"], page["claimed_result"]) == ("unverified", None)
    assert "cannot be read" in capsys.readouterr().out


def test_a_planted_result_cannot_make_a_page_explode(task, right):
    evaluate_one(task, right)
    normal = len(shown(task, right))
    # Indented by its depth, each of these zeros would take two thousand characters.
    deep: object = [0] * 1000
    for _ in range(900):
        deep = {"a": deep}
    planted_result(right, parameters={"a": deep})
    assert len((right.folder / "result.json").read_bytes()) < 50_000
    assert len(shown(task, right)) < normal + 50_000


@pytest.mark.parametrize("dots", [3, 2000, 8000])
def test_a_dotted_key_in_trial_toml_fails_its_trial_alone(task, right, dots):
    key = ".".join("a" * dots)
    (right.folder / "trial.toml").write_text(f'kind = "formula"\n{key} = 1\n')
    started = time.monotonic()
    entry = evaluate_one(task, right)
    assert time.monotonic() - started < 15
    assert entry.result.outcome == "error"
    assert ("unknown field" if dots == 3 else "nested too deeply") in entry.result.error


@pytest.mark.parametrize("name", ["request.json", "stdout.txt", "stderr.txt", "result.json"])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_nothing_planted_under_the_name_of_our_files_keeps_a_result_out(task, right, name, kind):
    if kind == "file":
        (right.folder / name).write_text("planted")
    else:
        (right.folder / name / "inside").mkdir(parents=True)
    assert evaluate_one(task, right).result.outcome == "ok"
    assert stored_entry(task, right).origin == "kept"


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_a_folder_that_may_not_be_entered_is_unverified(task, right):
    evaluate_one(task, right)
    right.folder.chmod(0o444)
    assert stored_entry(task, right).origin == "unverified"
    right.folder.chmod(0o755)
    assert stored_entry(task, right).origin == "kept"


class Payload:
    """Says so when it is unpickled."""

    def __reduce__(self):
        return (print, ("UNPICKLED",))


@pytest.mark.parametrize("place", ["trial", "another trial", "elsewhere"])
def test_no_pickle_of_a_trial_is_loaded(project, right, tmp_path, place):
    other = project.trials / "line" / "other"
    other.mkdir()
    (other / "trial.toml").write_text('kind = "formula"\n')
    folder = {"trial": right.folder, "another trial": other, "elsewhere": tmp_path}[place]
    data = folder / "planted.joblib"
    data.write_bytes(pickle.dumps(Payload()))
    request = {
        "trial_dir": ".",
        "dataset_path": os.path.relpath(data, right.folder),
        "metrics": ["rmse"],
        "partitions": FOLDS,
        "tolerance": 1e-9,
    }
    (right.folder / "request.json").write_text(json.dumps(request))
    command = [sys.executable, "-P", "-m", "srh.evaluation", "request.json", str(tmp_path / "out")]
    ended = subprocess.run(
        command, cwd=right.folder, capture_output=True, timeout=60, check=False, text=True
    )
    if place == "elsewhere":  # a data file that the asker keeps outside the trials is the asker's
        assert "UNPICKLED" in ended.stdout
        return
    assert "UNPICKLED" not in ended.stdout
    assert ended.returncode == 2
    assert "a pickle runs code" in ended.stderr
    with pytest.raises(DataError, match="a pickle runs code"):
        evaluate_trial(right.folder, data, ["rmse"], FOLDS, 1e-9, 30.0)
    assert "UNPICKLED" not in ended.stdout


@contextmanager
def meddling(meddle):
    """Call a function again and again while the block runs; it has to have been called."""
    done, calls = threading.Event(), []

    def go_on():
        while not done.wait(0.01):
            meddle()
            calls.append(None)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert calls


@pytest.mark.parametrize("kind", ["planted", "harmless"])
def test_a_result_planted_during_an_evaluation_is_not_believed(task, right, kind):
    evaluate_one(task, right)
    path = right.folder / "result.json"
    forged = json.loads(path.read_text())
    forged["metrics"] = dict.fromkeys(forged["metrics"], 0.0)
    text = json.dumps(forged) if kind == "planted" else path.read_text()
    honest = stored_entry(task, right).result

    def plant():
        beside = right.folder / "beside.json"
        beside.write_text(text)
        beside.replace(path)

    with meddling(plant):
        entry = evaluate_one(task, right, force=True)
    assert entry.result.metrics == honest.metrics
    plant()
    stored = stored_entry(task, right)
    assert stored.origin == ("unverified" if kind == "planted" else "kept")
    evaluate_one(task, right, force=True)
    assert stored_entry(task, right).trusted.metrics == honest.metrics


@pytest.mark.parametrize("meddled", [True, False])
def test_what_was_digested_is_what_ran_though_the_source_changes_meanwhile(task, right, meddled):
    formula = right.folder / "formula.txt"
    written = formula.read_text()

    def change():
        formula.write_text("param('a')*sin(x)" if meddled else written)

    honest = evaluate_one(task, right).result
    running = threading.Timer(0.005, change)
    running.start()
    entry = evaluate_one(task, right, force=True)
    assert not running.is_alive()
    assert entry.result.metrics == honest.metrics
    assert entry.result.provenance.trial == honest.provenance.trial
    assert stored_entry(task, right).origin == ("unverified" if meddled else "kept")


@pytest.mark.parametrize("meddled", [True, False])
def test_a_folder_replaced_by_a_link_during_an_evaluation_brings_another_no_result(
    task, right, meddled
):
    other = right.folder.with_name("other")
    other.mkdir()
    for name in ("trial.toml", "formula.txt"):
        (other / name).write_text((right.folder / name).read_text())

    def replace():
        if meddled:
            right.folder.rename(right.folder.with_name("elsewhere"))
            right.folder.symlink_to(other)

    running = threading.Timer(0.005, replace)
    running.start()
    entry = evaluate_one(task, right)
    assert not running.is_alive()
    assert entry.result.outcome == ("harness" if meddled else "ok")
    assert (right.folder / "result.json").exists() != meddled
    assert {path.name for path in other.iterdir()} == {"trial.toml", "formula.txt"}

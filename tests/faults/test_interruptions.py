"""Ctrl-C, a polite request to end, and two runs on one folder at the same time."""

from __future__ import annotations

import signal
import time

import pytest

from faults.rig import fill, strict

SIGNALS = pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, id="SIGINT"),
        pytest.param(signal.SIGTERM, 143, id="SIGTERM"),
        pytest.param(signal.SIGHUP, 129, id="SIGHUP", marks=pytest.mark.slow),
    ],
)


@SIGNALS
def test_an_interrupted_run_ends_at_once_and_keeps_what_was_done(rig, number, code):
    interrupt(rig, number, code, jobs="1")
    assert rig.left_over() == []


@pytest.mark.slow
@SIGNALS
def test_an_interrupted_run_of_two_jobs_does_so_too(rig, number, code):
    interrupt(rig, number, code, jobs="2")
    again = rig.run("a_quick_one", "--force")
    assert again.code == 0, again.err
    assert rig.left_over() == []


@pytest.mark.slow
@SIGNALS
def test_an_interrupted_run_of_two_jobs_leaves_no_folder(rig, number, code):
    interrupt(rig, number, code, jobs="2")
    assert rig.left_over() == []


def interrupt(rig, number, code, *, jobs):
    """Interrupt a run in the middle, and demand of it all that has no say over its folders."""
    rig.add_formula("a_quick_one", "param('a')*x + param('b')")
    rig.add_model("b_slow_one", pause=20.0)
    rig.add_model("c_slow_one", pause=20.0)
    running = rig.start("--jobs", jobs)
    while running.runs and not (rig.trials / "a_quick_one" / "result.json").exists():
        time.sleep(0.01)
    while running.runs and not list(rig.temporary.rglob("model.py")):
        time.sleep(0.01)
    sent = time.monotonic()
    running.process.send_signal(number)
    ran = running.end()  # which demands that none of its processes is left
    assert ran.code == code
    assert time.monotonic() - sent < 3
    assert "Traceback" not in ran.err
    assert sorted(rig.results()) == ["a_quick_one"]
    rig.require_whole()


@pytest.mark.slow
def test_two_runs_on_one_folder_both_end_well(rig):
    fill(rig, 4, models=1)
    first = rig.run("--jobs", "2")
    assert first.code == 0
    before = rig.results()
    both = [rig.start("--force", "--jobs", "2") for _ in range(2)]
    for running in both:  # each would be taken for a leftover of the other
        running.process.wait(120)
    for running in both:
        ran = running.end()
        assert ran.code == 0, ran.err
        assert len(ran.table) == 4
    assert rig.results() == before
    rig.require_whole()
    for folder in rig.trials.iterdir():
        history = [strict(path.read_text()) for path in (folder / "history").iterdir()]
        made = {body["evaluated_at"] for body in history}
        # The first one and one of the two: each was kept once, none was lost.
        assert len(history) == len(made) == 2
        current = strict((folder / "result.json").read_text())
        assert current["evaluated_at"] not in made
        assert strict((folder / "request.json").read_text())["metrics"]
    assert rig.left_over() == []

"""SIGKILL to any process of a run, at any moment: nothing runs on, nothing is torn or lost.

Killed are only the run that the test has started and processes that descend from it. The choice of
victims and the pauses between them are drawn from a seed; the pauses are measured by how long an
undisturbed run takes.
"""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from faults.rig import Ran, Rig, Running, fill, make_rig

TRIALS = 100
MODELS = 10
KILLS = 40


@dataclass(frozen=True, slots=True)
class Undisturbed:
    """A run that nobody meddles with.

    Attributes:
        results: What it finds of each trial.
        seconds: How long it takes.
    """

    results: dict[str, dict[str, object]]
    seconds: float


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    rig = fill(make_rig(tmp_path_factory.mktemp("undisturbed")), TRIALS, models=MODELS)
    started = time.monotonic()
    ran = rig.run("--jobs", "2")
    seconds = time.monotonic() - started
    assert ran.code == 0, ran.err
    assert rig.left_over() == []
    outcomes = Counter(row["outcome"] for row in ran.table.values())
    assert outcomes.keys() == {"ok", "error"}
    return Undisturbed(rig.results() | unstored(ran, rig), seconds)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_hundred_trials_survive_forty_kills(rig, undisturbed, seed, capsys):
    fill(rig, TRIALS, models=MODELS)
    draw = random.Random(seed)  # noqa: S311 - no secret
    killed = disturb(rig, draw, undisturbed.seconds / KILLS / 2)  # the machine may get quicker
    with capsys.disabled():
        print(f"\nseed {seed}: {dict(killed)}", end=" ")  # noqa: T201
    assert killed["srh"] >= 1
    assert killed.total() >= KILLS / 2

    again = rig.run("--jobs", "2")
    assert again.code == 0, again.err
    assert len(again.table) == TRIALS
    assert rig.left_over() == []
    rig.require_whole()
    struck = [name for name, row in again.table.items() if row["outcome"] == "signal"]
    assert len(struck) <= killed.total() - killed["srh"]
    found = rig.results() | unstored(again, rig)
    for name in undisturbed.results.keys() - set(struck):
        assert found[name] == undisturbed.results[name]

    if struck:  # each has lost its process to us, and has that as its result
        assert rig.run(*struck, "--force", "--jobs", "2").code == 0
    assert rig.results() | unstored(again, rig) == undisturbed.results
    assert rig.left_over() == []


def test_a_killed_run_is_taken_up_again(rig):
    fill(rig, 4, models=0)
    running = rig.start("--jobs", "2")
    wait_for(running, running.descendants)
    running.process.kill()
    assert running.end().code == -signal.SIGKILL
    rig.require_whole()
    again = rig.run("--jobs", "2")
    assert again.code == 0, again.err
    assert {row["outcome"] for row in again.table.values()} == {"ok"}
    assert rig.left_over() == []


def test_a_killed_scorer_is_started_again(rig):
    rig.add_formula("only", "param('a')*x + param('b')")
    running = rig.start("--jobs", "1")
    wait_for(running, running.descendants)
    kill(*running.descendants())
    ran = running.end()
    assert ran.code == 0, ran.err
    assert ran.table["only"]["outcome"] == "ok"
    assert rig.left_over() == []


def test_what_somebody_killed_while_writing_has_left_is_removed(rig):
    folder = rig.add_formula("only", "param('a')*x + param('b')")
    (folder / f".result.json.{'0a' * 16}.part").write_text('{"half')
    (folder / ".mine.part").write_text("no draft of ours")
    assert rig.run("--jobs", "1").code == 0
    assert rig.left_over() == [".mine.part"]


@pytest.mark.slow
@pytest.mark.parametrize(("always", "outcome"), [(False, "ok"), (True, "signal")])
def test_a_killed_contestant_is_tried_once_more_and_disturbs_no_other(rig, always, outcome):
    rig.add_model("a_slow_one", pause=3.0)
    rig.add_formula("b", "param('a')*x + param('b')")
    running = rig.start("--jobs", "1")
    wait_for(running, lambda: fits(running))
    kill(*fits(running))
    while always and running.runs:
        kill(*fits(running))
        time.sleep(0.05)
    ran = running.end()
    assert ran.code == 0, ran.err
    assert ran.table["a_slow_one"]["outcome"] == outcome
    assert outcome == "ok" or "SIGKILL" in ran.table["a_slow_one"]["reason"]
    assert ran.table["b"]["outcome"] == "ok"
    assert rig.left_over() == []


def disturb(rig: Rig, draw: random.Random, pause: float) -> Counter[str]:
    """Evaluate until a run comes to its end, killing somebody every now and then."""
    killed: Counter[str] = Counter()
    while True:
        running = rig.start("--jobs", "2")
        while running.runs and killed.total() < KILLS:
            time.sleep(draw.expovariate(1 / pause))
            killed.update(strike(running, draw))
        ran = running.end()
        rig.require_whole()
        if ran.code != -signal.SIGKILL:
            check_table(ran)
            return killed


def strike(running: Running, draw: random.Random) -> list[str]:
    """Kill the run, one time in ten, or a process that descends from it; say whom."""
    dice, pick = draw.random(), draw.random()
    if not running.runs:
        return []
    if dice < 0.1:
        running.process.kill()
        running.process.wait()
        return ["srh"]
    victims = running.descendants()
    depths = sorted(set(victims.values()))
    if not depths:
        return []
    depth = depths[-1] if pick < 0.7 else depths[0]  # the deepest are the rarest
    victim = draw.choice(sorted(at_depth(victims, depth), key=lambda process: process.pid))
    name = f"depth {depth}: {role(victim)}"
    return [name] if kill(victim) else []


def at_depth(processes: dict[psutil.Process, int], depth: int) -> list[psutil.Process]:
    return [process for process, distance in processes.items() if distance == depth]


def role(process: psutil.Process) -> str:
    """Return what a process is, by its command line."""
    try:
        line = process.cmdline()
    except psutil.Error:
        return "gone"
    return line[line.index("-m") + 1] if "-m" in line else " ".join(line[:1])


def kill(*victims: psutil.Process) -> int:
    """Kill processes, never another one that has got the number; return how many were there."""
    count = 0
    for victim in victims:
        try:
            victim.kill()
            count += 1
        except psutil.NoSuchProcess:
            continue
    return count


def fits(running: Running) -> list[psutil.Process]:
    """Return the processes that have been at work for a while on a trial's code."""
    found = running.descendants()
    at_work = at_depth(found, max(2, *found.values())) if found else []
    return [process for process in at_work if is_settled(process)]


def is_settled(process: psutil.Process) -> bool:
    """Tell whether a process has bound itself to a scratch folder."""
    try:
        return Path(process.cwd()).name == "scratch" and age(process) > 0.3
    except psutil.Error:
        return False


def age(process: psutil.Process) -> float:
    return time.time() - process.create_time()


def wait_for(running: Running, condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert running.runs, "the run ended before it could be disturbed"
        assert time.monotonic() < deadline
        time.sleep(0.005)


def check_table(ran: Ran) -> None:
    """Demand that a run whose processes were killed has lost no trial, and says what it did."""
    outcomes = Counter(row["outcome"] for row in ran.table.values())
    assert outcomes.total() == TRIALS
    assert outcomes.keys() <= {"ok", "error", "signal", "harness"}
    assert ran.code == (2 if outcomes["harness"] else 0), ran.err


def unstored(ran: Ran, rig: Rig) -> dict[str, dict[str, object]]:
    """Return the rows of trials that cannot even be read, for which nothing is stored."""
    stored = rig.results()
    return {name: row for name, row in ran.table.items() if name not in stored}

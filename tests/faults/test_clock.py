"""A wall clock that jumps: it dates results for people, and decides nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from faults.rig import Running, strict
from srh.evaluation import records
from srh.evaluation.batch import evaluate_one, stored_entry
from srh.tasks import load_task
from srh.trials import Trial

SOURCE = Path(__file__).resolve().parents[2] / "src" / "srh"

JUMPS = """\
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* Five hours ahead and seven behind, by turns of a tenth of a second. */
static time_t jump(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return now.tv_nsec / 100000000 % 2 ? 5 * 3600 : -7 * 3600;
}

int clock_gettime(clockid_t id, struct timespec *now) {
    int result = syscall(SYS_clock_gettime, id, now);
    if (result == 0 && id == CLOCK_REALTIME) now->tv_sec += jump();
    return result;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec exact;
    int result = clock_gettime(CLOCK_REALTIME, &exact);
    (void)zone;
    now->tv_sec = exact.tv_sec;
    now->tv_usec = exact.tv_nsec / 1000;
    return result;
}

time_t time(time_t *where) {
    struct timespec exact;
    clock_gettime(CLOCK_REALTIME, &exact);
    if (where) *where = exact.tv_sec;
    return exact.tv_sec;
}
"""

WALL_CLOCK = re.compile(r"\btime\.time(_ns)?\(|datetime\.(now|utcnow|today)\(|CLOCK_REALTIME")
DATED = {
    "evaluation/records.py",  # when a result was made, and the names in its history
    "evaluation/batch.py",  # when the holdout was looked at
    "sandbox/traces.py",  # compared with dates of files, which are of the same clock
}


@pytest.fixture
def jumping(tmp_path):
    """A library that makes the wall clock of a process jump, or a skipped test."""
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        pytest.skip("no compiler here for a clock that jumps")
    (tmp_path / "jumps.c").write_text(JUMPS)
    library = tmp_path / "jumps.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "jumps.c"], check=True)
    # The control: a clock that would let every deadline pass, or none.
    code = (
        "import time\nseen = set()\n"
        "for _ in range(12):\n    seen.add(round((time.time() - {now}) / 3600))\n"
        "    time.sleep(0.05)\nprint(sorted(seen))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code.format(now=time.time())],
        env={"LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "[-7, 5]", told.stderr
    return library


def run_jumping(rig, library, *arguments):
    environment = rig.environment(LD_PRELOAD=str(library))
    return Running(rig.command(*arguments), environment, rig.folder).end()


@pytest.mark.slow
def test_nothing_but_dates_depends_on_the_wall_clock(rig, jumping):
    rig.add_formula("a", "param('a')*x + param('b')")
    rig.add_model("b", pause=0.5)
    steady = rig.run("--jobs", "2")
    assert steady.code == 0, steady.err
    before = rig.results()
    for kept in (1, 2):
        started = time.monotonic()
        ran = run_jumping(rig, jumping, "--jobs", "2", "--force")
        elapsed = time.monotonic() - started
        assert ran.code == 0, ran.err
        assert rig.results() == before
        for name in ("a", "b"):
            assert 0 < ran.table[name]["result"]["usage"]["wall_s"] < elapsed
            history = list((rig.trials / name / "history").iterdir())
            assert len(history) == kept
            assert all(strict(path.read_text())["seal"] for path in history)
    rig.require_whole()
    assert run_jumping(rig, jumping).table["b"]["origin"] == "kept"
    assert rig.left_over() == []


@pytest.mark.slow
def test_a_limit_in_seconds_is_kept_by_a_clock_that_does_not_jump(rig, jumping):
    toml = rig.task / "task.toml"
    toml.write_text(toml.read_text().replace("wall_s = 30", "wall_s = 4"))
    rig.add_model("sleeps", pause=60.0)
    ran = run_jumping(rig, jumping)
    row = ran.table["sleeps"]
    assert row["outcome"] == "wall_timeout"
    assert 4 <= row["result"]["usage"]["wall_s"] < 5


def test_a_clock_that_stands_still_loses_no_old_result(project, monkeypatch):
    monkeypatch.setattr(records, "_stamp", lambda: "20000101T000000.000000Z")
    task = load_task(project, "line")
    trial = Trial("line", "right", project.trials / "line" / "right")
    contents = set()
    for _ in range(3):
        assert evaluate_one(task, trial, force=True).result.status == "ok"
        contents.add((trial.folder / "result.json").read_bytes())
    kept = {path.read_bytes() for path in (trial.folder / "history").iterdir()}
    assert kept == contents - {(trial.folder / "result.json").read_bytes()}
    assert len(kept) == 2
    assert stored_entry(task, trial).origin == "kept"


def test_the_wall_clock_is_asked_for_dates_only():
    asking = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if WALL_CLOCK.search(path.read_text())
    }
    assert asking <= DATED, "a deadline or a duration takes time.monotonic()"
    assert "evaluation/records.py" in asking, "the search itself finds something"

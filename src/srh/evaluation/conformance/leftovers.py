"""Nothing stays behind: no process, no folder, no mount, and no result that was planted counts."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil

from srh.evaluation.conformance.models import model
from srh.evaluation.conformance.stage import PATIENCE_S, ROOMY, Stage, check, found, stage
from srh.sandbox.probe import CheckResult, runs

_GROUP: Final = "clean-up"
_DEATH_S: Final = 2.0
_NAME: Final = "srh-named"

# By its name it is found from outside: its number is perhaps another one where it runs itself.
_TAKE_NAME: Final = f"""
    import ctypes, signal, threading, time
    ctypes.CDLL(None).prctl(15, b"{_NAME}", 0, 0, 0)
"""
_SLEEPS: Final = f"{_TAKE_NAME}    time.sleep(600)\n"
_STAYS: Final = f"""{_TAKE_NAME}
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    def stay():
        while True:
            time.sleep(0.1)
    threading.Thread(target=stay).start()
    time.sleep(1)
"""
_LITTERS: Final = """
    for number in range(50):
        os.makedirs(f"deep{number}/" + "d/" * 50)
        open(f"deep{number}/file", "w").close()
        os.makedirs(f"closed{number}/inner")
    for number in range(50):
        os.mkdir(f"unreadable{number}", mode=0)
"""


@contextmanager
def driver(temporary: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a driver whose temporary files go into a folder of their own.

    Args:
        temporary: The folder.
        arguments: What the driver is to do.
    """
    temporary.mkdir(exist_ok=True)
    process = subprocess.Popen(  # noqa: S603 - the command is ours
        [sys.executable, "-s", "-P", "-m", "srh.evaluation.conformance.driver", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def _ask(process: subprocess.Popen[bytes], **question: object) -> None:
    assert process.stdin is not None  # noqa: S101 - it is a pipe
    process.stdin.write(json.dumps(question).encode() + b"\n")
    process.stdin.flush()


def _answer(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None  # noqa: S101 - it is a pipe
    line = process.stdout.readline()
    if not line:
        raise OSError("the evaluating process ended without an answer")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _no_process() -> CheckResult:
    """Have a model leave a thread running behind its last answer."""
    with stage() as place, driver(place.folder / "temporary", "evaluate") as process:
        _evaluate(process, place, place.lay_out(model(fit=_STAYS)), threads=2)
        named = [one for one in _wait_for_name(process.pid) if _is_named(one)]
        answer = _answer(process)
        # Not one moment later: the next fold of a trial starts now.
        left = [one.pid for one in named if one.is_running() and runs(one.pid)]
    wrong = [] if named else ["no model came to leave a thread"]
    wrong += [f"process {pid} still runs" for pid in left]
    if answer["outcome"] != "ok":
        wrong.append(f"the outcome is {answer['outcome']} ({answer['error']}), not ok")
    return found(_GROUP, wrong, "seen while it ran, and gone when the result was there")


def _no_folder() -> CheckResult:
    """Evaluate models that end in several ways, in a process of our own, and look around."""
    cases: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("ok", model(), {}),
        ("litters", model(fit=_LITTERS), {}),
        ("fails", model(fit="raise ValueError"), {}),
        ("overflows", model(fit="open('big', 'wb').write(bytes(64 << 20))"), {}),
        ("sleeps", model(fit="import time; time.sleep(600)"), {"timeout": 2.0}),
    )
    with stage() as place, driver(place.folder / "temporary", "evaluate") as process:
        outcomes = []
        for name, source, options in cases:
            trial = place.lay_out(source, name)
            _evaluate(process, place, trial, **options)
            outcomes.append(_answer(process)["outcome"])
        _ask(process, look=True)
        left = _answer(process)
        wrong = [f"left in the temporary folder: {name}" for name in left["files"]]
        wrong += [f"still mounted: {point}" for point in left["mounts"]]
        family = _family(process.pid)
        assert process.stdin is not None  # noqa: S101 - it is a pipe
        process.stdin.close()
        process.wait(PATIENCE_S)
        wrong += [f"process {pid} still runs" for pid in _survivors(family)]
    # A folder that the one who counts may not look into counts as full; root may.
    littered = outcomes.pop(1)
    if littered not in ("ok", "disk_limit"):
        wrong.append(f"the outcome of a model that litters is {littered}")
    if outcomes != ["ok", "error", "disk_limit", "wall_timeout"]:
        wrong.append(f"the outcomes are {outcomes}")
    seen = f"after {', '.join(outcomes)}: no folder, no mount, no process"
    return found(_GROUP, wrong, seen)


def _parent_killed() -> CheckResult:
    """Kill who evaluates while a model sleeps; all have to go, and the next run tidies up."""
    with stage() as place:
        temporary = place.folder / "temporary"
        sleeper, honest = place.lay_out(model(fit=_SLEEPS)), place.lay_out(model(), "honest")
        with driver(temporary, "evaluate") as process:
            _evaluate(process, place, sleeper)
            family = _wait_for_name(process.pid)
            process.kill()
            started = time.monotonic()
            left = _survivors(family)
            took = time.monotonic() - started
        wrong = ["no model came to sleep"] if not family else []
        wrong += [f"process {pid} runs {_DEATH_S:g} s after its parent" for pid in left]
        remains = len(list(temporary.iterdir()))
        with driver(temporary, "evaluate") as process:
            _evaluate(process, place, honest)
            answer = _answer(process)
            if answer["outcome"] != "ok":
                wrong.append(f"the next run: {answer['outcome']} ({answer['error']})")
            _ask(process, look=True)
            wrong += [f"the next run leaves {name}" for name in _answer(process)["files"]]
    seen = f"{len(family)} processes ended within {took:.2f} s; the next run removed what was left"
    return found(_GROUP, wrong, f"{seen} ({remains} in the temporary folder)")


def _planted() -> CheckResult:
    """Plant results; the control is the result that was stored with the own seal."""
    with stage() as place:
        place.lay_out(model())
        with driver(place.folder / "temporary", "planted", str(place.folder)) as process:
            states = _answer(process)
    believed = [name for name, state in states.items() if state == "current"]
    wrong = [f"a result {name} is believed" for name in believed if name != "own"]
    wrong += [] if "own" in believed else [f"the own result is {states['own']}"]
    planted = ", ".join(name for name in states if name != "own")
    return found("forgeries", wrong, f"unverified: {planted}; the own result is believed")


def _evaluate(
    process: subprocess.Popen[bytes],
    place: Stage,
    trial: Path,
    timeout: float = PATIENCE_S,
    threads: int = 1,
) -> None:
    limits = dataclasses.asdict(dataclasses.replace(ROOMY, threads=threads))
    _ask(process, place=str(place.folder), trial=str(trial), timeout=timeout, limits=limits)


def _wait_for_name(parent: int) -> list[psutil.Process]:
    """Wait until a model has taken its name; return the parent's descendants, none if never."""
    deadline = time.monotonic() + PATIENCE_S / 2
    while time.monotonic() < deadline:
        family = _family(parent)
        if any(map(_is_named, family)):
            return family
        time.sleep(0.02)
    return []


def _is_named(process: psutil.Process) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process.pid}/comm").read_text("utf-8").strip() == _NAME
    return False


def _family(parent: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return list(psutil.Process(parent).children(recursive=True))
    return []


def _survivors(family: list[psutil.Process]) -> list[int]:
    """Return which of some processes still run after a while, and end those."""
    deadline = time.monotonic() + _DEATH_S
    # A number may be somebody else's by then; psutil knows by the time of its start.
    while left := [one for one in family if one.is_running() and runs(one.pid)]:
        if time.monotonic() >= deadline:
            break
        time.sleep(0.01)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    return [process.pid for process in left]


CHECKS: Final = (
    check("Results that are planted or edited are unverified", "forgeries", _planted),
    check("No process of a model outlives its evaluation", _GROUP, _no_process),
    check("No folder and no mount outlives an evaluation, however it ends", _GROUP, _no_folder),
    check(
        "All end with srh itself, even by kill -9, and the next run tidies up",
        _GROUP,
        _parent_killed,
    ),
)
"""What has to be gone, or not believed, once an evaluation is over."""

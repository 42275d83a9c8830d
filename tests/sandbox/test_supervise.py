from __future__ import annotations

import errno
import os
import selectors
import signal
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from srh.sandbox.limits import Limits
from srh.sandbox.supervise import supervise
from support import is_running


def run(code: str, tmp_path: Path, **limits):
    return supervise(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=tmp_path,
        env={"PYTHONPATH": os.pathsep.join(sys.path)},
        limits=Limits(**limits),
    )


def test_output_and_exit_code_come_back(tmp_path):
    ended = run("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)", tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, b"out\n", b"err\n")
    assert ended.stopped is None
    assert 0 < ended.cpu_s < 5


def test_nothing_comes_in(tmp_path):
    code = """
        import sys, os
        print(repr(sys.stdin.read()))
        print(sorted(map(int, os.listdir('/proc/self/fd'))))
    """
    first, _, second = run(code, tmp_path).stdout.decode().partition("\n")
    assert first == "''"
    # 3 is the listing's own descriptor
    assert second.strip() == "[0, 1, 2, 3]"


def test_wall_clock_ends_a_child_that_ignores_signals(tmp_path):
    code = """
        import signal, time
        for number in range(1, 32):
            try: signal.signal(number, signal.SIG_IGN)
            except OSError: pass
        while True: time.sleep(1)
    """
    started = time.monotonic()
    ended = run(code, tmp_path, wall_s=0.5)
    assert ended.stopped == "wall"
    assert time.monotonic() - started < 1.5


def test_a_flood_on_both_pipes_is_bounded_and_does_not_hang(tmp_path):
    code = "import os\nfor _ in range(800): os.write(1, b'x' * 65536); os.write(2, b'y' * 65536)"
    ended = run(code, tmp_path, output_kb=16, wall_s=20)
    assert ended.stopped == "output"
    assert len(ended.stdout) <= 16 * 1024
    assert len(ended.stderr) <= 16 * 1024


def test_output_up_to_the_limit_is_no_flood(tmp_path):
    ended = run("print('x' * 1023)", tmp_path, output_kb=1)
    assert ended.stopped is None
    assert len(ended.stdout) == 1024


def test_grandchildren_in_the_group_do_not_outlive_the_child(tmp_path):
    code = """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
        print(child.pid)
    """
    started = time.monotonic()
    ended = run(code, tmp_path, wall_s=30)
    assert time.monotonic() - started < 5
    deadline = time.monotonic() + 2
    while is_running(int(ended.stdout)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(int(ended.stdout))


def test_processor_limit_ends_a_child_that_catches_everything(tmp_path):
    code = """
        from srh.sandbox.limits import Limits, apply_limits
        import signal
        apply_limits(Limits(cpu_s=1))
        signal.signal(signal.SIGXCPU, signal.SIG_IGN)
        while True:
            try:
                while True: pass
            except BaseException: pass
    """
    started = time.monotonic()
    ended = run(code, tmp_path, wall_s=30)
    assert ended.returncode == -signal.SIGKILL
    assert time.monotonic() - started < 5
    assert 1 <= ended.cpu_s < 3


def test_memory_limit_is_a_clean_error_counted_from_now(tmp_path):
    code = """
        from srh.sandbox.limits import Limits, limit_memory
        import numpy as np
        limit_memory(Limits(memory_mb=100))
        kept = np.ones(10_000_000)
        try:
            np.ones(30_000_000)
        except MemoryError:
            print('memory')
    """
    assert run(code, tmp_path).stdout == b"memory\n"


def test_file_size_limit_ends_the_child(tmp_path):
    code = """
        from srh.sandbox.limits import Limits, apply_limits
        apply_limits(Limits(disk_mb=1))
        open('big', 'wb').write(b'x' * 3_000_000)
    """
    assert run(code, tmp_path).returncode == -signal.SIGXFSZ
    assert (tmp_path / "big").stat().st_size <= 2**20


def test_a_large_parent_is_not_counted_as_the_childs_peak(tmp_path):
    ballast = b"x" * 300_000_000
    ended = run("import time; time.sleep(0.3)", tmp_path)
    assert len(ballast) > 0
    assert ended.peak_bytes is not None
    assert ended.peak_bytes < 100_000_000


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True])
def test_limits_must_be_positive_and_finite(bad):
    with pytest.raises(ValueError, match="cpu_s must be a positive finite number"):
        Limits(cpu_s=bad)


def test_a_child_dies_with_a_parent_that_is_killed(tmp_path):
    child = """
        import os, sys, time
        from srh.sandbox.limits import die_with_parent
        die_with_parent(int(sys.argv[1]))
        print(os.getpid(), flush=True)
        time.sleep(60)
    """
    (tmp_path / "child.py").write_text(textwrap.dedent(child))
    code = """
        import os, subprocess, sys
        child = subprocess.Popen([sys.executable, 'child.py', str(os.getpid())],
                                 stdout=subprocess.PIPE, start_new_session=True)
        print(child.stdout.readline().decode(), flush=True)
        os.kill(os.getpid(), 9)
    """
    ended = run(code, tmp_path)
    assert ended.returncode == -signal.SIGKILL
    pid = int(ended.stdout)
    deadline = time.monotonic() + 2
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(pid)


def test_no_child_is_left_when_it_cannot_be_watched(tmp_path, monkeypatch):
    def fail():
        raise OSError(errno.EMFILE, "Too many open files")  # other threads may have taken them

    before = set(psutil.Process().children())
    monkeypatch.setattr(selectors, "DefaultSelector", fail)
    with pytest.raises(OSError, match="Too many open files"):
        run("import time; time.sleep(30)", tmp_path)
    assert set(psutil.Process().children()) <= before

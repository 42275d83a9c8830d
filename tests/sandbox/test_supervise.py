from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import textwrap
import time

import psutil
import pytest

from srh.environment import clean_environment
from srh.sandbox.limits import Limits
from srh.sandbox.nursery import Nursery, NurseryError, Order
from srh.sandbox.supervise import Child, supervise
from support import is_running


@pytest.fixture(scope="module")
def nursery():
    made = Nursery(["gc:collect"], clean_environment(), scratch=False)
    yield made
    made.close()


@pytest.fixture
def run(nursery, tmp_path):
    def run(code, **limits):
        order = Order(
            entry="builtins:exec",
            arguments=(textwrap.dedent(code),),
            cwd=tmp_path,
            environment=clean_environment(),
        )
        return supervise(nursery, order, Limits(**limits))

    return run


def test_output_and_exit_code_come_back(run):
    ended = run("""
        import os, sys
        print('out', flush=True); print('err', file=sys.stderr); os._exit(3)
    """)
    assert (ended.returncode, ended.stdout, ended.stderr) == (3, b"out\n", b"err\n")
    assert ended.stopped is None
    assert 0 < ended.cpu_s < 5


def test_nothing_comes_in(run):
    code = """
        import sys, os
        print(repr(os.read(0, 10)))
        print(sorted(map(int, os.listdir('/proc/self/fd'))))
    """
    first, _, second = run(code).stdout.decode().partition("\n")
    assert first == "b''"
    # 3 is the listing's own descriptor
    assert second.strip() == "[0, 1, 2, 3]"


def test_wall_clock_ends_a_child_that_ignores_signals(run):
    code = """
        import signal, time
        for number in range(1, 32):
            try: signal.signal(number, signal.SIG_IGN)
            except OSError: pass
        while True: time.sleep(1)
    """
    started = time.monotonic()
    ended = run(code, wall_s=0.5)
    assert ended.stopped == "wall"
    assert time.monotonic() - started < 1.5


def test_a_flood_on_both_pipes_is_bounded_and_does_not_hang(run):
    code = "import os\nfor _ in range(800): os.write(1, b'x' * 65536); os.write(2, b'y' * 65536)"
    ended = run(code, output_kb=16, wall_s=20)
    assert ended.stopped == "output"
    assert len(ended.stdout) <= 16 * 1024
    assert len(ended.stderr) <= 16 * 1024


def test_output_up_to_the_limit_is_no_flood(run):
    ended = run("print('x' * 1023)", output_kb=1)
    assert ended.stopped is None
    assert len(ended.stdout) == 1024


def test_grandchildren_in_the_group_do_not_outlive_the_child(run):
    code = """
        import subprocess, sys
        child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])
        print(child.pid)
    """
    started = time.monotonic()
    ended = run(code, wall_s=30)
    assert time.monotonic() - started < 5
    deadline = time.monotonic() + 2
    while is_running(int(ended.stdout)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(int(ended.stdout))


def test_processor_limit_ends_a_child_that_catches_everything(run):
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
    ended = run(code, wall_s=30)
    assert ended.returncode == -signal.SIGKILL
    assert time.monotonic() - started < 5
    assert 1 <= ended.cpu_s < 3


def test_memory_limit_is_a_clean_error_counted_from_now(run):
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
    assert run(code).stdout == b"memory\n"


def test_file_size_limit_ends_the_child(run, tmp_path):
    code = """
        from srh.sandbox.limits import Limits, apply_limits
        apply_limits(Limits(disk_mb=1))
        open('big', 'wb').write(b'x' * 3_000_000)
    """
    assert run(code).returncode == -signal.SIGXFSZ
    assert (tmp_path / "big").stat().st_size <= 2**20


def test_a_large_parent_is_not_counted_as_the_childs_peak(run):
    ballast = b"x" * 300_000_000
    ended = run("import time; time.sleep(0.3)")
    assert len(ballast) > 0
    assert ended.peak_bytes < 20_000_000


def test_the_peak_is_what_a_child_takes_beyond_its_template(run):
    idle = run("pass").peak_bytes
    busy = run("kept = bytearray(100 * 2**20)\ndel kept").peak_bytes
    assert abs(busy - idle - 100 * 2**20) < 2 * 2**20


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True])
def test_limits_must_be_positive_and_finite(bad):
    with pytest.raises(ValueError, match="cpu_s must be a positive finite number"):
        Limits(cpu_s=bad)


def test_all_die_with_an_owner_that_is_killed(tmp_path):
    code = """
        import os, sys, textwrap, threading, time
                from srh.environment import clean_environment
        from srh.environment import clean_environment
        from srh.sandbox.limits import Limits
        from srh.sandbox.nursery import Nursery, Order
        from srh.sandbox.supervise import Child

        made = Nursery(["gc:collect"], clean_environment(), scratch=False)
        # Deaf to everything, in a group and session of its own.
        stubborn = "import os, signal, time\\n" \\
            "for n in range(1, 32):\\n  if n not in (9, 19): signal.signal(n, signal.SIG_IGN)\\n" \\
            "while True: time.sleep(1)"
        order = Order(entry="builtins:exec", arguments=(stubborn,), cwd=Path.cwd(),
                      environment=clean_environment())
        forked = []
        # Asked for by a thread that does not live on.
        asking = threading.Thread(target=lambda: forked.append(made.fork(order)))
        asking.start(); asking.join()
        print(forked[0].pid, made._process.pid, flush=True)
        time.sleep(60)
    """
    owner = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, stdout=subprocess.PIPE
    )
    with owner:
        pids = list(map(int, owner.stdout.readline().split()))
        time.sleep(0.3)
        assert all(map(is_running, pids)), "though the thread that asked has ended"
        owner.kill()
    deadline = time.monotonic() + 2
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(is_running, pids))


def test_all_die_with_their_template(tmp_path):
    made = Nursery(["gc:collect"], clean_environment(), scratch=False)
    order = Order(
        entry="time:sleep", arguments=(60,), cwd=tmp_path, environment=clean_environment()
    )
    child = Child(made, order, Limits())
    psutil.Process(made._process.pid).kill()
    with pytest.raises(NurseryError, match="ended"), child:
        child.wait()
    assert not is_running(child._process.pid)
    with pytest.raises(NurseryError):
        made.fork(order)
    made.close()


def test_nobody_is_left_when_there_are_no_descriptors(tmp_path, nursery):
    order = Order(
        entry="time:sleep", arguments=(30,), cwd=tmp_path, environment=clean_environment()
    )
    template = psutil.Process(nursery._process.pid)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for spare in range(12):
        held = len(os.listdir("/proc/self/fd")) - 1
        resource.setrlimit(resource.RLIMIT_NOFILE, (held + spare, hard))
        try:
            with contextlib.suppress(OSError, NurseryError), Child(nursery, order, Limits()):
                pass
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    deadline = time.monotonic() + 2
    while at_work(template, tmp_path) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert at_work(template, tmp_path) == []


def at_work(template, place):
    """Return what a template has forked, spare processes aside."""
    return [one for one in template.children() if one.cwd() == str(place)]


def test_a_paused_child_stands_still(tmp_path, nursery):
    code = "import time\nn = 0\nwhile True:\n  n += 1; print(n, flush=True); time.sleep(.001)"
    order = Order(
        entry="builtins:exec", arguments=(code,), cwd=tmp_path, environment=clean_environment()
    )

    def seen(child):
        child._pump(0.1)
        return len(child._kept[0])

    with Child(nursery, order, Limits()) as child:
        while not seen(child):
            pass
        with child.paused():
            seen(child)  # what it said before it stood still
            before = seen(child)
            time.sleep(0.1)
            assert seen(child) == before
        assert seen(child) > before


def test_scratch_folders_are_full_when_their_limit_is_reached(tmp_path):
    made = Nursery(["gc:collect"], clean_environment(), scratch=True)
    scratch = tmp_path / "scratch"
    code = """
        import os, time
        kept = []
        try:
            for number in range(100):
                stream = open(str(number), 'wb')
                os.unlink(str(number))  # not to be seen any more, but there
                kept.append(stream)
                stream.write(b'x' * 2**20)
                stream.flush()
        except OSError as error:
            print(error.strerror, flush=True)
    """
    scratch.mkdir()
    order = Order(
        entry="builtins:exec",
        arguments=(textwrap.dedent(code),),
        cwd=scratch,
        environment=clean_environment(),
        scratch=scratch,
        disk_mb=4,
    )
    ended = supervise(made, order, Limits(disk_mb=4))
    made.close()
    if ended.stdout == b"":
        pytest.skip("this machine lets us have no mounts of our own")
    assert ended.stdout == b"No space left on device\n"
    assert list(scratch.iterdir()) == []


def test_a_spare_process_that_was_ended_is_not_missed(tmp_path, run, nursery):
    run("pass")
    template = psutil.Process(nursery._process.pid)
    deadline = time.monotonic() + 5
    while len(template.children()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    spares = template.children()
    assert len(spares) == 2
    for spare in spares:
        spare.kill()
    while any(is_running(spare.pid) for spare in spares):
        time.sleep(0.01)
    assert run("print('still there', flush=True)").stdout == b"still there\n"
    while len(template.children()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert {one.pid for one in template.children()}.isdisjoint(one.pid for one in spares)

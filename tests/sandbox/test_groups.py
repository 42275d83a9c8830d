from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from srh.environment import clean_environment
from srh.sandbox.groups import Groups, _clear
from srh.sandbox.limits import Limits
from srh.sandbox.nursery import Nursery, Order
from srh.sandbox.supervise import supervise


@pytest.fixture
def groups():
    taken = Groups.take()
    if taken is None:
        pytest.skip("this user may not make control groups")
    yield taken
    taken.close()
    assert not taken._folder.exists()


def run_in(group, act):
    pid = os.fork()
    if pid == 0:
        try:
            group.join()
            act()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_what_is_beyond_the_bound_ends_the_process(groups):
    group = groups.make()
    group.bound(16 << 20)
    assert run_in(group, lambda: b"x" * (4 << 20)) == 0
    assert not group.was_short()
    assert run_in(group, lambda: b"x" * (64 << 20)) == -signal.SIGKILL
    assert group.was_short()
    groups.remove(group)
    assert not group.folder.exists()


def test_a_group_with_a_process_in_it_goes_later(groups):
    group, another = groups.make(), groups.make()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        (group.folder / "cgroup.procs").write_text(str(process.pid))
        groups.remove(group)
        assert group.folder.exists()
        process.stdin.close()
    groups.remove(another)
    assert not group.folder.exists()


def test_groups_of_a_killed_template_are_cleared_away(groups):
    code = (
        "from srh.sandbox.groups import Groups; g = Groups.take(); print(g.make().folder); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        left = Path(process.stdout.readline().strip())
        _clear(groups._folder.parent)
        assert left.exists()
        process.kill()
    _clear(groups._folder.parent)
    assert not left.parent.exists()


def test_memory_that_no_limit_of_a_process_counts_is_bounded(groups, tmp_path):
    """Files in memory, of which the process holds nothing."""
    code = """
        with open("file", "wb") as file:
            for block in range(megabytes):
                file.write(b"x" * (1 << 20))
    """
    made = Nursery(["gc:collect"], clean_environment() | {"TMPDIR": str(tmp_path)}, scratch=True)

    def write(megabytes):
        place = tmp_path / str(megabytes)
        place.mkdir()
        order = Order(
            entry="builtins:exec",
            arguments=(textwrap.dedent(code), {"megabytes": megabytes}),
            cwd=place,
            environment=clean_environment(),
            scratch=place,
            disk_mb=1000.0,
            memory_mb=10.0,
        )
        return supervise(made, order, Limits())

    try:
        assert write(5).returncode == 0
        ended = write(500)
        assert (ended.returncode, ended.short) == (-signal.SIGKILL, True)
        assert ended.group == groups.version
    finally:
        made.close()
    assert not (groups._folder.parent / f"srh-{made._process.pid}").exists()

"""The filter, run by an interpreter of our own, for both architectures.

What the kernel makes of it is among the checks of test_probe.
"""

from __future__ import annotations

import errno
import re
import struct
from pathlib import Path

import pytest

from confined import run_confined
from srh.sandbox import bpf, policy, seccomp
from srh.sandbox.syscalls import ARCHITECTURES, Architecture

PID = 4242
BELOW = 0x7FFC_1234_5000
ALLOWED, KILLED = "allowed", "killed"
THREAD = 0x3D_0F00  # what the C library asks for
HIGH = 1 << 32
BOTH = pytest.mark.parametrize("machine", sorted(ARCHITECTURES))


class Filter:
    """A filter that can be asked."""

    def __init__(
        self,
        machine: str,
        *,
        role: policy.Role = "contestant",
        threads: bool = False,
        truncation: bool = True,
    ) -> None:
        self.known: Architecture = ARCHITECTURES[machine]
        rules = policy.rules(role, PID, threads=threads, truncation=truncation, below_stack=BELOW)
        code = bpf.assemble(rules, self.known, unknown=policy.FACILITIES, foreign=policy.FOREIGN)
        self.program = list(struct.iter_unpack("=HBBI", code))

    def __call__(self, call: str | int, *arguments: int, audit: int | None = None) -> str:
        number = call if isinstance(call, int) else self.known.numbers[call]
        padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
        words = [word & (2**64 - 1) for word in padded]
        audit = self.known.audit if audit is None else audit
        return _run(self.program, struct.pack("=iIQ6Q", number, audit, 0, *words))


def _run(program: list[tuple[int, int, int, int]], data: bytes) -> str:
    at, value = 0, 0
    while True:
        code, if_true, if_false, k = program[at]
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("=I", data, k)
        elif code == 0x54:
            value &= k
        elif code in (0x15, 0x35):
            at += if_true if (value == k if code == 0x15 else value >= k) else if_false
        else:
            assert code == 0x06
            return _named(k)


def _named(answer: int) -> str:
    if answer == 0x7FFF_0000:
        return ALLOWED
    if answer == 0x8000_0000:
        return KILLED
    assert answer >> 16 == 5
    return errno.errorcode[answer & 0xFFFF]


@BOTH
def test_another_architecture_and_another_convention_are_refused(machine):
    ask = Filter(machine)
    assert ask("getpid") == ALLOWED
    assert ask("getpid", audit=0x40000003) == KILLED
    others = [known.audit for name, known in ARCHITECTURES.items() if name != machine]
    assert [ask("getpid", audit=audit) for audit in others] == [KILLED]
    x32 = ask(0x4000_0000 | ask.known.numbers["getpid"])
    assert x32 == ("ENOEXEC" if machine == "x86_64" else "ENOSYS")


@BOTH
def test_a_call_that_nobody_named_is_refused(machine):
    ask = Filter(machine)
    named = {ask.known.numbers[rule.call] for rule in _rules() if rule.call in ask.known.numbers}
    unnamed = set(range(2000)) - named
    assert {ask(number) for number in unnamed} == {"ENOSYS"}
    assert "ENOSYS" == ask("io_uring_setup") == ask("bpf") == ask("keyctl") == ask("clone3")
    assert "ENOSYS" == ask("seccomp") == ask("perf_event_open") == ask("inotify_init1")


@BOTH
def test_jumps_stay_inside_the_program_and_every_path_ends(machine):
    program = Filter(machine).program
    assert len(program) < 4096
    for at, (code, if_true, if_false, _) in enumerate(program):
        if code in (0x15, 0x35):
            assert at + 1 + max(if_true, if_false) < len(program)
    assert program[-1][0] == 0x06


@BOTH
def test_threads_only_where_they_are_allowed_and_nothing_but_threads(machine):
    none, some = Filter(machine), Filter(machine, threads=True)
    assert (none("clone", THREAD), some("clone", THREAD)) == ("EAGAIN", ALLOWED)
    assert some("clone", THREAD | 0x40_0000) == ALLOWED  # as another C library asks
    process = 17  # SIGCHLD
    missing = [THREAD & ~(1 << bit) for bit in (8, 9, 10, 11, 16)]
    added = [THREAD | (1 << bit) for bit in (0, 12, 13, 14, 15, 17, 23, 24, *range(25, 64))]
    refused = {some("clone", flags) for flags in (process, 0, *missing, *added)}
    assert refused == {"ECHILD"}


@BOTH
@pytest.mark.parametrize("call", ["kill", "tgkill"])
def test_signals_only_to_itself(machine, call):
    ask = Filter(machine)
    assert ask(call, PID) == ALLOWED
    assert ask(call, PID | HIGH) == ALLOWED  # the kernel reads 32 bits: it is its own id
    others = (0, 1, PID - 1, PID + 1, -PID, -1, PID << 32)
    assert {ask(call, other) for other in others} == {"ESRCH"}


@BOTH
@pytest.mark.parametrize("call", ["prlimit64", "sched_setaffinity", "sched_setscheduler", "getsid"])
def test_limits_and_scheduling_only_of_itself(machine, call):
    ask = Filter(machine)
    assert [ask(call, who) for who in (0, PID)] == [ALLOWED, ALLOWED]
    assert {ask(call, who) for who in (1, PID + 1, -1, PID << 32 | 5)} == {"ESRCH"}


@BOTH
def test_priorities_only_of_itself(machine):
    ask = Filter(machine)
    assert [ask("setpriority", 0, who) for who in (0, PID)] == [ALLOWED, ALLOWED]
    others = [(0, 1), (1, 0), (1, PID), (2, 0), (2, PID)]
    assert {ask("setpriority", *other) for other in others} == {"ESRCH"}


@BOTH
def test_mappings(machine):
    ask = Filter(machine)

    def mapped(flags: int) -> str:
        return ask("mmap", 0, 4096, 3, flags, 5, 0)

    private, shared, validated, anonymous = 2, 1, 3, 0x20
    for flags in (private, shared, private | anonymous, private | anonymous | 0x2_0000 | 0x4000):
        assert mapped(flags) == ALLOWED
    refused = (
        shared | anonymous,
        validated | anonymous,
        anonymous,
        private | anonymous | 0x100,  # grows
        private | 0x100,
        private | anonymous | 0x4_0000,  # huge
        private | anonymous | HIGH,
        shared | HIGH,
    )
    assert {mapped(flags) for flags in refused} == {"ENODEV"}


@BOTH
def test_only_what_lies_below_the_stack_is_remapped(machine):
    ask = Filter(machine)
    below = (0, 0x1000, BELOW - 1, (BELOW & ~0xFFFF_FFFF) - 1, BELOW - HIGH, 0xFFFF_FFFF)
    above = (BELOW, BELOW + 1, BELOW + HIGH, 2**63, 2**64 - 1, (BELOW | 0xFFFF_FFFF) + 1)
    assert {ask("mremap", address) for address in below} == {ALLOWED}
    assert {ask("mremap", address) for address in above} == {"ENODEV"}


@BOTH
def test_commands_on_descriptors(machine):
    ask = Filter(machine)
    assert {ask("fcntl", 0, command) for command in (0, 1, 2, 3, 1030)} == {ALLOWED}
    assert ask("fcntl", 0, 4, 0x800) == ALLOWED  # O_NONBLOCK
    assert ask("fcntl", 0, 4, 0x2000) == ask("fcntl", 0, 4, 0x2800) == "EINVAL"  # O_ASYNC
    assert {ask("fcntl", 0, command) for command in (5, 6, 7, 36, 37, 38, 1024)} == {"ENOLCK"}
    assert {ask("fcntl", 0, command) for command in (8, 10, 15, 1026, 1031, 1033)} == {"EINVAL"}
    assert {ask("ioctl", 0, command) for command in (0x5401, 0x541B, 0x5451)} == {ALLOWED}
    refused = (0x5412, 0x8901, 0x8902, 0x5452, 0x5402, 0x540E, 0x5435, 0)
    assert {ask("ioctl", 0, command) for command in refused} == {"ENOTTY"}
    assert ask("prctl", 15) == ALLOWED
    assert {ask("prctl", option) for option in (1, 4, 8, 22, 24, 38, 47, 59)} == {"EINVAL"}


@BOTH
def test_truncation_where_landlock_does_not_know_it(machine):
    old, new = Filter(machine, truncation=False), Filter(machine)
    truncate, writing = 0x200, (1, 2)
    for mode in range(4):
        assert new("openat", 0, 0, mode | truncate) == ALLOWED
        assert old("openat", 0, 0, mode) == ALLOWED
        allowed = ALLOWED if mode in writing else "ETXTBSY"
        assert old("openat", 0, 0, mode | truncate) == allowed
    assert (old("truncate"), new("truncate"), old("ftruncate")) == ("ETXTBSY", ALLOWED, ALLOWED)


def test_every_call_has_one_rule_and_is_known():
    calls = [rule.call for rule in _rules()]
    assert len(calls) == len(set(calls))
    known = {name for machine in ARCHITECTURES.values() for name in machine.numbers}
    assert set(calls) <= known


@pytest.mark.parametrize(
    ("machine", "header"),
    [
        ("x86_64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        ("aarch64", "/usr/include/asm-generic/unistd.h"),
    ],
)
def test_numbers_are_the_kernels(machine, header):
    if not Path(header).exists():
        pytest.skip("the kernel's headers are not installed")
    text = Path(header).read_text()
    found = re.findall(r"#define\s+__NR(?:3264)?_(\w+)\s+(\d+)\s", text)
    numbers = {name: int(number) for name, number in found}
    numbers.setdefault("newfstatat", numbers.get("fstatat", -1))
    ours = ARCHITECTURES[machine].numbers
    newer = {"fchmodat2": 452}
    assert {name: numbers.get(name, newer.get(name)) for name in ours} == ours


def test_the_filter_holds_in_a_thread_too(tmp_path):
    snippet = """
        import errno, os, threading
        said = []
        def act():
            try: os.fork()
            except OSError as error: said.append(errno.errorcode[error.errno])
            try: open("/etc/passwd")
            except OSError as error: said.append(errno.errorcode[error.errno])
        thread = threading.Thread(target=act)
        thread.start(); thread.join()
        print(*said)
    """
    assert str(run_confined(snippet, tmp_path, threads=2)) == "ECHILD EACCES"


def _rules() -> list[bpf.Rule]:
    return policy.rules("contestant", PID, threads=True, truncation=False, below_stack=BELOW)


@BOTH
def test_nobody_has_the_kernel_forget_what_others_would_read(machine):
    ask = Filter(machine)
    dontneed, cold, pageout, mergeable = 4, 20, 21, 12
    assert ask("fadvise64", 3, 0, 0, dontneed) == "ENOSYS"
    assert {ask("fadvise64", 3, 0, 0, advice) for advice in (0, 1, 2, 3, 5)} == {ALLOWED}
    assert {ask("madvise", 0, 1, advice) for advice in (cold, pageout, mergeable)} == {"ENOSYS"}
    assert ask("madvise", 0, 1, 2**32 + pageout) == "ENOSYS"  # the kernel reads 32 bits
    assert {ask("madvise", 0, 1, advice) for advice in (dontneed, 8, 14, 102)} == {ALLOWED}


def test_one_program_serves_every_process_but_for_its_number():
    rules = policy.rules("contestant", PID, threads=False, truncation=True, below_stack=BELOW)
    known = ARCHITECTURES[seccomp.machine()]
    straight = bpf.assemble(rules, known, unknown=policy.FACILITIES, foreign=policy.FOREIGN)
    shared = seccomp.assembled("contestant", False, True, BELOW)
    assert seccomp.for_process(shared, PID) == straight


@BOTH
def test_a_scorer_may_do_no_more_than_it_needs_to_have_contestants(machine):
    contestant, scorer = Filter(machine), Filter(machine, role="scorer")
    more = {
        call
        for call in ARCHITECTURES[machine].numbers
        if contestant(call) != ALLOWED and scorer(call) == ALLOWED
    }
    assert more - {"pipe", "chmod"} == {
        *("fchmod", "fchmodat", "fchmodat2", "getsockname", "getsockopt", "memfd_create"),
        *("pipe2", "recvfrom", "sendmsg", "sendto", "socketpair"),
    }
    for call in ("socket", "connect", "clone", "execve", "ptrace", "mount"):
        assert scorer(call) == contestant(call) != ALLOWED

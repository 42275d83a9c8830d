"""Which system calls a contestant, or a scorer, may make: an allow-list, conditions on arguments.

What is refused fails with an error number that tells who refused it. The numbers are such as the
kernel and Landlock would not give for the same call, and such as libraries take in their stride:

============= ================ ==================================================================
family        error            refused
============= ================ ==================================================================
processes     ECHILD           fork, vfork, clone of a process, exec, sessions, process groups
threads       EAGAIN           clone of a thread, unless threads are allowed
others        ESRCH            signals, limits, priorities, memory and handles of other processes
network       EAFNOSUPPORT     every kind of socket, pairs included
shared memory ENODEV           mappings that are shared, huge or growing; memfd, SysV and POSIX IPC
locks         ENOLCK           flock, and locks and leases by fcntl
fcntl         EINVAL           signal owners, asynchronous input, pipe sizes, unknown commands
ioctl         ENOTTY           everything but asking for sizes and setting close-on-exec
attributes    EROFS            modes, owners, times, extended attributes
links         EMLINK           links, devices, pipes (whose numbers tell how many others made)
truncation    ETXTBSY          where Landlock does not yet know it: truncate, open to truncate only
privileges    EOPNOTSUPP       user ids, namespaces, mounts, modules, clocks, the machine's state
facilities    ENOSYS           io_uring, bpf, keyrings, tracing, watching files; having the kernel
                               forget what it has read of a file (who reads it next would notice)
                               or merge equal memory; and all the rest
foreign calls ENOEXEC          x32 calls on x86-64 (calls of a wholly other kind end the process)
============= ================ ==================================================================

``clone3`` gives ENOSYS, so that the C library falls back on ``clone``, whose flags a filter can
read. A condition compares 64 bits where the kernel reads 64, and 32 where it reads 32 (a process
id, a command): comparing more would refuse what it takes, comparing less would miss what it takes.

A contestant may receive on its channel (``recvmsg``): descriptors of its arrays, and nothing else,
come that way. A scorer runs no code of a trial. It makes pipes, pairs of sockets and memory for its
contestants, and is else held to the same.
"""

from __future__ import annotations

import errno
from typing import Final, Literal

from srh.sandbox.bpf import ALLOW, WORD, Below, Clause, Rule, Test, int_test

Role = Literal["contestant", "scorer"]
"""Who is bound."""

PROCESSES: Final = errno.ECHILD
THREADS: Final = errno.EAGAIN
OTHERS: Final = errno.ESRCH
NETWORK: Final = errno.EAFNOSUPPORT
SHARED_MEMORY: Final = errno.ENODEV
LOCKS: Final = errno.ENOLCK
FCNTL: Final = errno.EINVAL
IOCTL: Final = errno.ENOTTY
ATTRIBUTES: Final = errno.EROFS
LINKS: Final = errno.EMLINK
TRUNCATION: Final = errno.ETXTBSY
PRIVILEGES: Final = errno.EOPNOTSUPP
FACILITIES: Final = errno.ENOSYS
FOREIGN: Final = errno.ENOEXEC
PRCTL: Final = errno.EINVAL

_ALLOWED: Final = """
access chdir close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
fallocate fchdir fdatasync fstat fstatfs fsync ftruncate getcwd getdents getdents64 lseek lstat
mkdir mkdirat newfstatat pread64 preadv pwrite64 pwritev read readlink
readlinkat readv recvmsg rename renameat renameat2 rmdir sendfile stat statfs statx umask unlink
unlinkat write writev
epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait poll ppoll pselect6 select
brk get_mempolicy mbind membarrier mprotect msync munmap set_mempolicy
futex gettid rseq set_robust_list set_tid_address
alarm getitimer pause restart_syscall rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn
rt_sigsuspend rt_sigtimedwait setitimer sigaltstack
gettimeofday nanosleep time times
arch_prctl exit exit_group getcpu getegid geteuid getgid getgroups getpgrp getpid getppid getrandom
getresgid getresuid getrlimit getrusage getuid sched_get_priority_max sched_get_priority_min
sched_yield setrlimit sysinfo uname wait4 waitid
"""

_REFUSED: Final = {
    PROCESSES: "execve execveat fork setpgid setsid vfork",
    OTHERS: """
        get_robust_list ioprio_get ioprio_set kcmp migrate_pages move_pages pidfd_getfd pidfd_open
        pidfd_send_signal process_madvise process_mrelease process_vm_readv process_vm_writev ptrace
        rt_sigqueueinfo rt_tgsigqueueinfo tkill""",
    NETWORK: """
        accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg
        sendmmsg sendmsg sendto setsockopt shutdown socket socketpair""",
    SHARED_MEMORY: """
        memfd_create memfd_secret mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend
        mq_unlink msgctl msgget msgrcv msgsnd remap_file_pages semctl semget semop semtimedop shmat
        shmctl shmdt shmget""",
    LOCKS: "flock",
    ATTRIBUTES: """
        chmod chown fchmod fchmodat fchmodat2 fchown fchownat fremovexattr fsetxattr futimesat
        lchown lremovexattr lsetxattr removexattr setxattr utime utimensat utimes""",
    LINKS: "link linkat mknod mknodat pipe pipe2 symlink symlinkat",
    PRIVILEGES: """
        acct adjtimex capset chroot clock_adjtime clock_settime delete_module finit_module fsconfig
        fsmount fsopen fspick init_module ioperm iopl kexec_file_load kexec_load mount
        mount_setattr move_mount open_tree personality pivot_root quotactl reboot setdomainname
        setfsgid setfsuid setgid setgroups sethostname setns setregid setresgid setresuid setreuid
        settimeofday setuid swapoff swapon syslog umount2 unshare vhangup""",
}

# What a scorer may do besides.
_SCORER: Final = """
chmod fchmod fchmodat fchmodat2 getsockname getsockopt memfd_create pipe pipe2 recvfrom sendmsg
sendto socketpair
"""

# Their first argument is a process id, 0 for the caller.
_ABOUT_A_PROCESS: Final = """
getpgid getsid prlimit64 sched_getaffinity sched_getattr sched_getparam sched_getscheduler
sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler
"""

# Clocks by number; below 0 they are those of a process or a descriptor, but for 4 to 6 modulo 8: of
# its own threads, which are all that the kernel lets it name.
_CLOCK_SIGN: Final = 0x8000_0000
_CLOCKS: Final = (
    Clause((int_test(0, 0, _CLOCK_SIGN),)),
    *(Clause((int_test(0, kind, 7),)) for kind in (4, 5, 6)),
)

_THREAD_NEEDS: Final = 0x1_0F00  # CLONE_VM, _FS, _FILES, _SIGHAND, _THREAD
_THREAD_MAY: Final = 0x7C_0000  # _SYSVSEM, _SETTLS, _PARENT_SETTID, _CHILD_CLEARTID, _DETACHED

_MAP_TYPE: Final = 0x0F
_MAP_PRIVATE: Final = 0x02
_MAP_ANONYMOUS: Final = 0x20
# A growing mapping counts as stack, a huge one as the system's reserve: neither as memory.
_MAP_UNCOUNTED: Final = 0x100 | 0x4_0000  # MAP_GROWSDOWN, MAP_HUGETLB
_HIGH: Final = WORD ^ (2**32 - 1)

_O_TRUNC: Final = 0x200
_O_ACCMODE: Final = 0x3
_O_ASYNC: Final = 0x2000
_F_SETFL: Final = 4
_F_ADD_SEALS: Final = 1033
# F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_DUPFD_CLOEXEC
_FCNTL_ALLOWED: Final = (0, 1, 2, 3, 1030)
# F_GETLK, F_SETLK, F_SETLKW, their open-file kind, F_SETLEASE, F_GETLEASE
_FCNTL_LOCKS: Final = (5, 6, 7, 36, 37, 38, 1024, 1025)
# TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
_IOCTL_ALLOWED: Final = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
# GET_PDEATHSIG, GET_DUMPABLE, SET_NAME, GET_NAME, GET_SECCOMP, CAPBSET_READ, SET_TIMERSLACK,
# GET_TIMERSLACK, GET_NO_NEW_PRIVS, SET_VMA (with which the C library names its memory)
_PRCTL_ALLOWED: Final = (2, 3, 15, 16, 21, 23, 29, 30, 39, 0x53564D41)

# NORMAL, RANDOM, SEQUENTIAL, WILLNEED, NOREUSE, but not DONTNEED: it empties what is kept of a file
_FADVISE_ALLOWED: Final = (0, 1, 2, 3, 5)
# The first four again, DONTNEED, FREE, DONTFORK, DOFORK, HUGEPAGE, NOHUGEPAGE, DONTDUMP, DODUMP,
# WIPEONFORK, KEEPONFORK, POPULATE_READ, POPULATE_WRITE, GUARD_INSTALL, GUARD_REMOVE: all about the
# caller's own memory. COLD and PAGEOUT reach what the kernel keeps of files for everybody.
_MADVISE_ALLOWED: Final = (0, 1, 2, 3, 4, 8, 10, 11, *range(14, 20), 22, 23, 102, 103)


def rules(role: Role, pid: int, *, threads: bool, truncation: bool, below_stack: int) -> list[Rule]:
    """Return the rules for a process; a call without one is unknown, and refused.

    Args:
        role: Who it is.
        pid: Its process id.
        threads: Whether it may start threads.
        truncation: Whether truncating is left to Landlock; if not, what Landlock cannot see of it
            is refused here.
        below_stack: An address between the stack and what is mapped below it. The stack counts
            towards no memory limit, and keeps that when it is remapped: only what lies below may
            be.
    """
    scorer = role == "scorer"
    more = _SCORER.split() if scorer else []
    found = [Rule(call, ALLOW) for call in (*_ALLOWED.split(), *more)]
    found += [
        Rule(call, error)
        for error, calls in _REFUSED.items()
        for call in calls.split()
        if call not in more
    ]
    found += _process_rules(pid, threads=threads)
    found += [Rule("mmap", ALLOW) if scorer else _mmap_rule(), _fcntl_rule(seals=scorer)]
    found.append(Rule("mremap", SHARED_MEMORY, (Clause((Below(0, below_stack),)),)))
    found.append(Rule("ioctl", IOCTL, _any_of(1, _IOCTL_ALLOWED)))
    found.append(Rule("prctl", PRCTL, _any_of(0, _PRCTL_ALLOWED)))
    found.append(Rule("fadvise64", FACILITIES, _any_of(3, _FADVISE_ALLOWED)))
    found.append(Rule("madvise", FACILITIES, _any_of(2, _MADVISE_ALLOWED)))
    return found + _truncation_rules(truncation)


def _process_rules(pid: int, *, threads: bool) -> list[Rule]:
    itself = _any_of(0, (pid,))
    whole_process = int_test(0, 0)  # PRIO_PROCESS
    priorities = tuple(Clause((whole_process, int_test(1, who))) for who in (0, pid))
    thread = Test(0, _THREAD_NEEDS, WORD ^ _THREAD_MAY)
    return [
        Rule("clone", PROCESSES, (Clause((thread,), ALLOW if threads else THREADS),)),
        *(Rule(f"clock_{call}", OTHERS, _CLOCKS) for call in ("getres", "gettime", "nanosleep")),
        Rule("kill", OTHERS, itself),
        Rule("tgkill", OTHERS, itself),
        Rule("getpriority", OTHERS, priorities),
        Rule("setpriority", OTHERS, priorities),
        *(Rule(call, OTHERS, _any_of(0, (0, pid))) for call in _ABOUT_A_PROCESS.split()),
    ]


def _mmap_rule() -> Rule:
    of_a_file = Test(3, 0, _HIGH | _MAP_ANONYMOUS | _MAP_UNCOUNTED)
    private = Test(3, _MAP_PRIVATE, _HIGH | _MAP_TYPE | _MAP_UNCOUNTED)
    return Rule("mmap", SHARED_MEMORY, (Clause((of_a_file,)), Clause((private,))))


def _fcntl_rule(*, seals: bool) -> Rule:
    no_signals = Clause((int_test(1, _F_SETFL), int_test(2, 0, _O_ASYNC)))
    locks = _any_of(1, _FCNTL_LOCKS, LOCKS)
    allowed = (*_FCNTL_ALLOWED, _F_ADD_SEALS) if seals else _FCNTL_ALLOWED
    return Rule("fcntl", FCNTL, (*_any_of(1, allowed), no_signals, *locks))


def _truncation_rules(truncation: bool) -> list[Rule]:
    """Return the rules of opening and truncating.

    Without truncation in Landlock, a file that may only be read could be emptied: by name, or by
    opening it to read and truncate. Opening to write is in Landlock's sight in any case. Mode 3
    asks for neither, so it is not among the writing ones.
    """
    if truncation:
        return [Rule(call, ALLOW) for call in ("open", "openat", "truncate")]
    return [
        Rule("truncate", TRUNCATION),
        *(Rule(call, TRUNCATION, _opening(flags)) for call, flags in (("open", 1), ("openat", 2))),
    ]


def _opening(flags: int) -> tuple[Clause, ...]:
    writing = (Clause((int_test(flags, mode, _O_ACCMODE),)) for mode in (1, 2))
    return (Clause((int_test(flags, 0, _O_TRUNC),)), *writing)


def _any_of(argument: int, values: tuple[int, ...], action: int = ALLOW) -> tuple[Clause, ...]:
    return tuple(Clause((int_test(argument, value),), action) for value in values)

"""Run a snippet locked down as a contestant is, or free: the control."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path

from srh.environment import FLAGS, THREAD_VARIABLES, clean_environment

SOURCE = Path(__file__).resolve().parents[1] / "src"

_PRELUDE = """\
import json, sys
from pathlib import Path
sys.path.append({source!r})
{before}
from srh.sandbox.limits import Limits
from srh.sandbox.lockdown import Confinement, finish_memory, lock_down
_asked = json.loads(sys.argv[1])
_limits = Limits(**_asked["limits"])
lock_down(Confinement(
    read=tuple(map(Path, _asked["read"])),
    withheld=tuple(map(Path, _asked["withheld"])),
    scratch=Path(_asked["scratch"]),
    keep=tuple(_asked["keep"]),
    limits=_limits,
))
{imports}
finish_memory(_limits)
"""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a snippet ended.

    Attributes:
        code: Exit code, or minus the number of a signal.
        out: Standard output.
        err: Standard error.
    """

    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return self.out.strip() if self.code == 0 else f"{self.code}: {self.err.strip()[-600:]}"


def run_free(snippet: str, scratch: Path, *, threads: int = 1, timeout: float = 60) -> Ran:
    """Run a snippet as the user could; its working folder is ``scratch``."""
    return _run(textwrap.dedent(snippet), "{}", scratch, (), threads, timeout)


def run_confined(
    snippet: str,
    scratch: Path,
    *,
    read: tuple[Path, ...] = (),
    withheld: tuple[Path, ...] = (),
    keep: tuple[int, ...] = (0, 1, 2),
    before: str = "",
    imports: str = "",
    timeout: float = 60,
    python: tuple[str, ...] = (sys.executable,),
    **limits: float,
) -> Ran:
    """Run a snippet locked down.

    Args:
        snippet: The code.
        scratch: The folder that it may write, and its working folder.
        read: What it may read.
        withheld: What stays unread in that.
        keep: Descriptors to keep, also across its start.
        before: Code that runs free, before the lock.
        imports: Code that runs locked down, before memory is counted.
        timeout: Seconds after which the test has failed.
        python: The command that starts the interpreter.
        limits: Fields of its limits.
    """
    asked = {
        "scratch": str(scratch),
        "read": list(map(str, read)),
        "withheld": list(map(str, withheld)),
        "keep": list(keep),
        "limits": limits,
    }
    prelude = _PRELUDE.format(source=str(SOURCE), before=textwrap.dedent(before), imports=imports)
    code = prelude + textwrap.dedent(snippet)
    threads = int(limits.get("threads", 1))
    return _run(code, json.dumps(asked), scratch, keep[3:], threads, timeout, python)


def _run(
    code: str,
    asked: str,
    scratch: Path,
    keep: tuple[int, ...],
    threads: int,
    timeout: float,
    python: tuple[str, ...] = (sys.executable,),
) -> Ran:
    environment = clean_environment() | dict.fromkeys(THREAD_VARIABLES, str(threads))
    environment["JOBLIB_MULTIPROCESSING"] = "0"
    ended = subprocess.run(
        [*python, *FLAGS, "-c", code, asked],
        cwd=scratch,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        pass_fds=keep,
        timeout=timeout,
        check=False,
    )
    return Ran(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

"""`srh doctor` and `srh eval` without a protection: a filter of system calls takes it away."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from srh.sandbox.seccomp import architecture

# Installs a filter by which one system call does not exist, then becomes `srh`.
WITHOUT = """
import ctypes, errno, os, struct, sys
number, user, *command = sys.argv[1:]
allow, refuse = 0x7FFF0000, 0x00050000 | errno.ENOSYS
code = b"".join(struct.pack("=HBBI", *step) for step in (
    (0x20, 0, 0, 0),                    # load the number of the call
    (0x15, 0, 1, int(number)),          # is it this one?
    (0x06, 0, 0, refuse),
    (0x06, 0, 0, allow),
))
class Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))
libc = ctypes.CDLL(None, use_errno=True)
if user != "-":
    os.setgroups([])
    os.setgid(65534)
    os.setuid(int(user))
assert libc.prctl(38, 1, 0, 0, 0) == 0  # no new privileges
assert libc.prctl(22, 2, ctypes.byref(Program(4, code)), 0, 0) == 0  # a filter
os.execv(sys.executable, [sys.executable, "-c", "from srh.cli import main; main()", *command])
"""
MODEL = """
import numpy as np
class Model:
    def fit(self, X, y): pass
    def predict(self, X): return np.zeros(len(X))
    def save(self, folder): pass
    @classmethod
    def load(cls, folder): return cls()
"""
CALLS = {"Landlock in the kernel": "landlock_create_ruleset", "(seccomp) in the kernel": "seccomp"}


def number_of(call):
    known = architecture()
    if known is None:
        pytest.skip("there is no policy for this kind of machine anyway")
    return 444 if call == "landlock_create_ruleset" else known.numbers[call]


def user_number(who):
    """Return the number of the user to become, ``-`` for nobody else than we are."""
    if who == "ourselves":
        return "-"
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else; as whom this runs is tried anyway")
    number = pwd.getpwnam("nobody").pw_uid
    command = [sys.executable, "-c", "import srh.cli"]
    try:
        runs = subprocess.run(command, user=number, cwd="/", check=False, capture_output=True)
    except PermissionError:
        runs = None
    if runs is None or runs.returncode != 0:
        pytest.skip(f"user nobody may not run {sys.executable}")
    return str(number)


@pytest.fixture
def srh_without(project, tmp_path):
    """Run `srh` in a process for which a system call does not exist."""
    trial = project.trials / "line" / "code"
    trial.mkdir()
    (trial / "model.py").write_text(MODEL)
    (trial / "trial.toml").write_text('kind = "model"\n')
    task = project.tasks / "line" / "task.toml"
    task.write_text(task.read_text().replace('["formula"]', '["formula", "model"]'))
    for folder, _, _ in os.walk(tmp_path):
        os.chmod(folder, 0o777)  # noqa: PTH101, S103 - somebody else writes here too
    # Others can only come here if all folders above let them: those of pytest do not.
    closed = [above for above in tmp_path.parents if not above.stat().st_mode & 0o001]
    temporary = Path(tempfile.gettempdir())
    ours = [above for above in closed if temporary in above.parents]
    for above in ours:
        above.chmod(above.stat().st_mode | 0o011)

    def run(call, who, *command):
        user = user_number(who)
        return subprocess.run(
            [sys.executable, "-c", WITHOUT, str(number_of(call)), user, *command],
            cwd=project.root,
            env={**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "vault")},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    yield run
    for above in ours:
        above.chmod(above.stat().st_mode & ~0o011)


@pytest.mark.parametrize("who", ["ourselves", "nobody"])
@pytest.mark.parametrize("missing", CALLS)
def test_doctor_says_what_is_missing(srh_without, missing, who):
    ended = srh_without(CALLS[missing], who, "doctor", "--json")
    document = json.loads(ended.stdout)
    assert ended.returncode == 1, ended.stderr
    assert document["sound"] is False
    assert document["verdict"].startswith("code trials are refused on this machine: missing: ")
    assert missing in document["verdict"]
    first, *others = document["findings"]
    assert (first["group"], first["status"]) == ("platform", "failed")
    assert first["meaning"] == "code trials are refused on this machine"
    assert {finding["status"] for finding in others} == {"absent"}
    assert len(others) > 140
    other = next(name for name in CALLS if name != missing)
    assert other not in document["verdict"]


@pytest.mark.parametrize("who", ["ourselves", "nobody"])
@pytest.mark.parametrize("missing", CALLS)
def test_code_is_refused_and_formulas_run(srh_without, missing, who):
    ended = srh_without(CALLS[missing], who, "eval", "line", "--json")
    assert ended.returncode == 0, ended.stderr
    rows = {row["trial"]: row for row in json.loads(ended.stdout)["trials"]}
    assert (rows["right"]["standing"], rows["right"]["outcome"]) == ("ranked", "ok")
    assert (rows["code"]["origin"], rows["code"]["result"]) == ("not evaluated", None)
    assert "code trials are refused on this machine: it lacks" in rows["code"]["reason"]
    assert missing in rows["code"]["reason"]


def test_with_all_calls_the_same_command_finds_nothing_missing(srh_without):
    """The control: a filter that takes away what nobody needs."""
    ended = srh_without("acct", "ourselves", "doctor", "--json", "--only", "network")
    assert ended.returncode == 0, ended.stdout
    assert json.loads(ended.stdout)["findings"][0]["status"] == "ok"

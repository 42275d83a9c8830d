"""The checks of `srh doctor`: the very same list, and that it can find fault."""

from __future__ import annotations

import dataclasses
import errno
from collections import Counter

import pytest

from srh.errors import SandboxUnavailableError
from srh.sandbox import landlock, lockdown, probe
from srh.sandbox.conformance.attempt import ATTEMPTS
from srh.sandbox.probe import CHECKS, require_sandbox, run_checks


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_check(check):
    result = check.run()
    if result.status == "absent":
        pytest.skip(result.detail)
    if check.group == "optional" and result.status == "info":
        assert result.meaning
        pytest.skip(result.detail)
    assert result.status == "ok", result.detail
    assert result.meaning == ""


def test_a_protection_that_need_not_hold_is_no_failure_where_it_cannot_be_tried(monkeypatch):
    monkeypatch.setattr(probe, "_TIMEOUT_S", 0.0)
    result = probe._try_optional("own_mounts")
    assert (result.status, result.detail) == ("info", "not here: it could not be tried")
    assert "size is sampled" in result.meaning


def test_two_at_a_time_give_the_same_in_the_same_order():
    some = [check for check in CHECKS if check.group in ("platform", "network")]
    one = [(check.name, result.status) for check, result in run_checks(some)]
    assert [(check.name, result.status) for check, result in run_checks(some, jobs=2)] == one
    assert [name for name, _ in one] == [check.name for check in some]


def test_names_are_unique_and_every_group_has_a_meaning():
    assert max(Counter(check.name for check in CHECKS).values()) == 1
    assert {check.group for check in CHECKS} <= set(probe._MEANINGS)
    assert len(CHECKS) > 100


def test_a_check_fails_if_the_attempt_succeeds():
    allowed = ATTEMPTS["use_scratch"]
    wrong = dataclasses.replace(allowed, group="files", endings=("EACCES",))
    result = probe._check_attempt(wrong)
    assert (result.status, result.detail) == ("failed", "locked down: done, not EACCES")
    assert result.meaning == "a trial could read labels, or tamper with results"


def test_a_check_fails_if_somebody_else_refuses():
    wrong = dataclasses.replace(ATTEMPTS["fork"], endings=(errno.errorcode[errno.EPERM],))
    assert probe._check_attempt(wrong).detail == "locked down: ECHILD, not EPERM"


def test_an_attempt_that_fails_in_a_free_process_shows_nothing():
    impossible = dataclasses.replace(ATTEMPTS["fork"], free_endings=("never",))
    result = probe._check_attempt(impossible)
    assert result.status == "absent"
    assert "a free process cannot do it either" in result.detail


def test_an_attempt_that_does_not_end_is_a_failure_and_the_next_works(monkeypatch):
    monkeypatch.setattr(probe, "_TIMEOUT_S", 0.01)
    burning = dataclasses.replace(ATTEMPTS["burn_deaf"], free_endings=("no end within 0.01 s",))
    assert probe._check_attempt(burning).detail == "locked down: no end within 0.01 s, not SIGKILL"
    monkeypatch.undo()
    assert probe._check_attempt(ATTEMPTS["fork"]).status == "ok"


def test_without_a_protection_nothing_else_is_tried_and_code_is_refused(monkeypatch):
    require_sandbox()
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    with pytest.raises(SandboxUnavailableError, match="it lacks Landlock in the kernel"):
        require_sandbox()
    results = list(run_checks())
    assert [result.status for _, result in results[:2]] == ["failed", "absent"]
    assert {result.status for _, result in results[1:]} == {"absent"}
    assert results[0][1].meaning == "code trials are refused on this machine"


def test_both_protections_are_named(monkeypatch):
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    monkeypatch.setattr(lockdown.seccomp, "available", lambda: False)
    with pytest.raises(SandboxUnavailableError, match=r"seccomp.* and Landlock"):
        require_sandbox()

from __future__ import annotations

import io
import json

from rich.console import Console
from typer.testing import CliRunner

from srh.cli import app
from srh.report.doctor import diagnose, diagnosis_json, print_diagnosis
from srh.sandbox import landlock
from srh.sandbox.probe import Check, CheckResult

HOLDS = Check("It holds", "files", lambda: CheckResult("ok", "seen"))
FAILS = Check("It fails", "files", lambda: CheckResult("failed", "done", "labels could be read"))
ABSENT = Check("It cannot be tried", "files", lambda: CheckResult("absent", "no such call"))


def diagnosed(*checks: Check):
    return diagnose([(check, check.run()) for check in checks])


def printed(*checks: Check) -> str:
    stream = io.StringIO()
    print_diagnosis(diagnosed(*checks), Console(file=stream, width=100))
    return stream.getvalue()


def test_what_cannot_be_tried_is_no_fault():
    assert diagnosed(HOLDS, ABSENT).sound
    assert "2 checks, none failed" in printed(HOLDS, ABSENT)
    assert "absent: It cannot be tried: no such call." in printed(HOLDS, ABSENT)


def test_a_failure_is_told_with_what_it_means():
    text = printed(HOLDS, FAILS)
    assert "FAILED: It fails: done. This means: labels could be read." in text
    assert "1 check of 2 failed" in text
    assert not diagnosed(HOLDS, FAILS).sound


def test_as_json():
    document = json.loads(diagnosis_json(diagnosed(HOLDS, FAILS)))
    assert document["sound"] is False
    assert [finding["status"] for finding in document["findings"]] == ["ok", "failed"]
    assert document["findings"][1] == {
        "name": "It fails",
        "group": "files",
        "status": "failed",
        "detail": "done",
        "meaning": "labels could be read",
    }
    summary = document["summary"]
    assert summary["counts"] == {"ok": 1, "info": 0, "absent": 0, "failed": 1}
    assert set(summary["versions"]) == {"kernel", "machine", "landlock", "python", "srh"}
    assert summary["versions"]["landlock"] == landlock.abi()


def test_what_need_not_hold_is_no_fault_and_failures_come_last():
    extra = Check(
        "It is handy", "optional", lambda: CheckResult("info", "not here", "it is slower")
    )
    assert diagnosed(HOLDS, extra).sound
    lines = printed(FAILS, ABSENT, extra).splitlines()
    assert lines[:3] == ["files", "  FAILED   It fails", "  absent   It cannot be tried"]
    assert lines[3:5] == ["optional", "  info     It is handy"]
    assert [line.partition(":")[0] for line in lines[5:8]] == ["absent", "info", "FAILED"]
    assert lines[6] == "info: It is handy: not here. This means: it is slower."


def test_one_group_only_and_the_platform_always():
    ended = CliRunner().invoke(app, ["doctor", "--json", "--only", "optional"])
    assert ended.exit_code == 0, ended.output
    groups = [finding["group"] for finding in json.loads(ended.stdout)["findings"]]
    assert (groups[0], set(groups[1:])) == ("platform", {"optional"})


def test_an_unknown_group_is_refused_with_those_that_there_are():
    ended = CliRunner().invoke(app, ["doctor", "--only", "outcome"])
    assert ended.exit_code == 2
    assert "no such group of checks (did you mean 'outcomes'?)" in ended.output
    assert "same numbers" in ended.output


def test_the_command_exits_with_1_where_a_protection_is_missing(monkeypatch):
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    ended = CliRunner().invoke(app, ["doctor", "--json"])
    document = json.loads(ended.stdout)
    assert ended.exit_code == 1
    assert document["verdict"].startswith("code trials are refused on this machine: missing: Land")
    assert {finding["status"] for finding in document["findings"][1:]} == {"absent"}
    text = CliRunner().invoke(app, ["doctor"])
    assert text.exit_code == 1
    assert "code trials are refused on this machine" in text.stdout

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
    assert document["findings"][1]["meaning"] == "labels could be read"


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

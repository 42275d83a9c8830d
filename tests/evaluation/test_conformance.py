"""The checks of the whole chain: the list that `srh doctor` has, and that they find fault."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections import Counter

import pytest

from srh.errors import HarnessError
from srh.evaluation.conformance import CHAIN_CHECKS, EVERY_CHECK, forgeries, leftovers, outcomes
from srh.evaluation.conformance.models import MEAN, model
from srh.evaluation.conformance.sameness import differences
from srh.evaluation.conformance.stage import (
    MEANINGS,
    check,
    evaluate_source,
    honest,
    score_naively,
    stage,
)
from srh.evaluation.protocol import EvaluationResult, Outcome
from srh.sandbox.mounts import mount_scratch, take_mounts
from srh.sandbox.probe import CHECKS

EVERYDAY = ("outcomes",)


@pytest.mark.parametrize(
    "named",
    [
        pytest.param(one, id=one.name, marks=[] if one.group in EVERYDAY else [pytest.mark.slow])
        for one in CHAIN_CHECKS
    ],
)
def test_check(named):
    result = named.run()
    if result.status == "absent":
        pytest.skip(result.detail)
    assert result.status == "ok", result.detail
    assert result.meaning == ""


def test_one_list_with_unique_names_and_whole_groups():
    assert sorted(one.name for one in EVERY_CHECK) == sorted(
        one.name for one in (*CHECKS, *CHAIN_CHECKS)
    )
    assert max(Counter(one.name for one in EVERY_CHECK).values()) == 1
    assert {one.group for one in CHAIN_CHECKS} == set(MEANINGS)
    groups = [one.group for one in EVERY_CHECK]
    changes = [
        group for group, before in zip(groups, ["", *groups], strict=False) if group != before
    ]
    assert len(changes) == len(set(groups))
    assert (groups[0], groups[-1]) == ("platform", "optional")


def test_every_outcome_has_a_check():
    text = " ".join(one.name for one in outcomes.CHECKS)
    assert [
        name for name in Outcome.__args__ if name not in text.replace("an error", "error")
    ] == []


def test_a_fault_of_the_check_itself_is_a_failure():
    def broken():
        raise HarnessError("no template")

    result = check("It holds", "outcomes", broken).run()
    assert (result.status, result.meaning) == ("failed", MEANINGS["outcomes"])
    assert result.detail == "it could not be tried: HarnessError: no template"


def test_another_outcome_another_reason_or_a_value_is_a_failure():
    bad = EvaluationResult.failed("memory", "limit of 3 MiB", ["r2"])
    assert outcomes.faults(bad, "memory", "3 MiB") == []
    assert "the outcome is memory (limit of 3 MiB), not signal" in outcomes.faults(bad, "signal")
    assert "without '4 MiB'" in outcomes.faults(bad, "memory", "4 MiB")[0]
    assert outcomes.faults(dataclasses.replace(bad, metrics={"r2": 1.0}), "memory") == [
        "a failed trial has a value of r2"
    ]


def test_a_model_that_does_not_do_what_is_expected_fails_its_check():
    expected = outcomes._expect("It crashes", "signal", "SIGSEGV", model())
    result = expected.run()
    assert result.status == "failed"
    assert result.detail.startswith("the outcome is ok, not signal; a failed trial has a value of")


def test_a_forgery_that_deceives_nobody_shows_nothing():
    harmless = forgeries._Forgery("It forges", model(), ("ok",))
    assert forgeries._try(harmless).status == "absent"


def test_a_forgery_that_earns_other_numbers_is_a_failure(monkeypatch):
    monkeypatch.setattr(forgeries, "_deceives", lambda _: True)
    result = forgeries._try(forgeries._Forgery("", model(returned=f"1 + {MEAN}"), ("ok",)))
    assert result.status == "failed"
    assert "not the honest model's" in result.detail


def test_the_control_scores_an_honest_model_as_we_do():
    said, written, code = score_naively(model()).split("\n")
    assert (said, code) == (written, "0")
    assert json.loads(written)["r2"] == pytest.approx(honest().metrics["r2"], abs=1e-12)


def test_any_other_bit_is_a_difference():
    result = dict.fromkeys(("outcome", "metrics", "per_fold", "scores"), 0.0)
    result |= dict.fromkeys(("folds", "fitted", "roundtrip_ok"), 0.0)
    assert differences(result, dict(result), "again") == []
    assert differences(result, {**result, "metrics": -0.0}, "again") == [
        "metrics is 0.0, and again -0.0"
    ]


def test_a_process_that_stays_is_found_and_ended(monkeypatch):
    monkeypatch.setattr(leftovers, "_DEATH_S", 0.2)
    with subprocess.Popen(["/bin/sleep", "60"]) as staying:
        family = [one for one in leftovers._family(os.getpid()) if one.pid == staying.pid]
        assert leftovers._survivors(family) == [staying.pid]
        assert staying.wait(5) < 0
        assert leftovers._survivors(family) == []


def test_what_stays_in_the_temporary_folder_is_seen(tmp_path):
    with leftovers.driver(tmp_path / "temporary", "evaluate") as process:
        (tmp_path / "temporary" / "srh-run-left").mkdir()
        leftovers._ask(process, look=True)
        assert leftovers._answer(process) == {"files": ["srh-run-left"], "mounts": []}


def test_what_stays_mounted_is_seen(tmp_path):
    code = (
        "import os, sys; from pathlib import Path\n"
        f"from {take_mounts.__module__} import mount_scratch, take_mounts\n"
        "from srh.evaluation.conformance.driver import left_mounts\n"
        "if not take_mounts(): sys.exit('no mounts')\n"
        "folder = Path(sys.argv[1]); print(left_mounts(str(folder)))\n"
        f"{mount_scratch.__name__}(os.open(folder, 0), 1); print(left_mounts(str(folder)))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=False
    )
    if "no mounts" in ended.stderr:
        pytest.skip("this machine does not permit mounts of one's own")
    assert ended.stdout.splitlines() == ["[]", f"['{tmp_path}']"], ended.stderr


def test_a_stage_leaves_nothing_and_options_reach_the_evaluation():
    with stage() as place:
        folder = place.folder
        assert place.data.exists()
    assert not folder.exists()
    failed = evaluate_source(model(fit="import time; time.sleep(60)"), timeout=1.0)
    assert failed.outcome == "wall_timeout"

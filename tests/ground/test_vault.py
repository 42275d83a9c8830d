from __future__ import annotations

import multiprocessing
import os
import stat

import pytest

from srh.errors import HarnessError
from srh.vault import holdout_looks, is_sealed, record_holdout_look, seal


def test_a_seal_holds_for_what_was_sealed_only():
    body = {"metrics": {"r2": 0.5}}
    mark = seal(body)
    assert is_sealed(body, mark)
    assert not is_sealed({"metrics": {"r2": 1.0}}, mark)
    for forged in (None, "", 1, mark[:-1], mark.upper(), "\udc80"):
        assert not is_sealed(body, forged)


def test_the_key_is_private_and_another_key_does_not_verify(vault):
    mark = seal({"a": 1})
    key = vault / "seal.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    key.unlink()
    assert not is_sealed({"a": 1}, mark)


@pytest.mark.parametrize("flaw", ["readable", "short", "link"])
def test_a_key_that_is_not_private_is_refused(vault, flaw):
    seal({})
    key = vault / "seal.key"
    if flaw == "readable":
        key.chmod(0o644)
    elif flaw == "short":
        key.write_bytes(b"x")
    else:
        key.rename(vault / "elsewhere")
        key.symlink_to(vault / "elsewhere")
    with pytest.raises(HarnessError, match="sealing key"):
        seal({})


def test_many_first_users_end_up_with_one_key(vault):
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        assert len(set(pool.map(seal, [{"a": 1}] * 16))) == 1
    assert [entry.name for entry in vault.iterdir()] == ["seal.key"]


def test_an_unwritable_home_is_one_clear_sentence(monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/nowhere")
    with pytest.raises(HarnessError, match="set XDG_DATA_HOME to a folder that you may write"):
        seal({})


def test_holdout_looks_are_counted_in_order():
    assert holdout_looks("sha256:aa") == []
    assert [record_holdout_look("sha256:aa", {"n": n}) for n in range(3)] == [1, 2, 3]
    assert record_holdout_look("sha256:bb", {}) == 1
    assert [look["n"] for look in holdout_looks("sha256:aa")] == [0, 1, 2]


def test_a_look_that_cannot_be_counted_is_refused(vault):
    record_holdout_look("sha256:aa", {})
    ledger = vault / "holdout" / "sha256-aa.jsonl"
    ledger.unlink()
    ledger.symlink_to(os.devnull)
    with pytest.raises(HarnessError, match="cannot be recorded"):
        record_holdout_look("sha256:aa", {})

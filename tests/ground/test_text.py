from __future__ import annotations

import time

import pytest

from srh.text import did_you_mean, harmless, one_line


@pytest.mark.parametrize(
    ("poisoned", "clean"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x00b\x08c", "abc"),
        ("user\u202etxt.exe", "usertxt.exe"),
        ("zero\u200bwidth", "zerowidth"),
        ("line\nand\ttab", "line\nand\ttab"),
        ("\r overwritten", " overwritten"),
        ("\udc80", ""),
        ("µ ² é 漢", "µ ² é 漢"),
    ],
)
def test_what_could_deceive_a_reader_is_removed(poisoned, clean):
    assert harmless(poisoned) == clean


def test_invalid_utf8_is_replaced():
    assert harmless(b"a\xffb") == "a\ufffdb"


def test_long_text_keeps_its_end():
    text = harmless("x" * 10_000 + "the error", 100)
    assert len(text) == 100
    assert text.endswith("the error")


def test_one_line_folds_and_bounds():
    assert one_line("a\n  b\t c") == "a b c"
    assert len(one_line("word " * 1000, 50)) == 50


def test_suggestions():
    assert did_you_mean("rmes", ["rmse", "mae"]) == " (did you mean 'rmse'?)"
    assert did_you_mean("R2", ["r2", "mae"]) == " (did you mean 'r2'?)"
    assert did_you_mean("zzz", ["rmse"]) == ""


def test_no_suggestion_for_what_nobody_types():
    started = time.process_time()
    assert did_you_mean("rmse" * 5_000_000, ["rmse", "mae"]) == ""
    assert time.process_time() - started < 1

from __future__ import annotations

import csv
import json
import math
import random

import numpy as np
import pytest
from typer.testing import CliRunner

from srh.cli import app
from srh.engine import parse
from srh.errors import UsageError
from srh.report.fitting import fit_table, read_bounds

DECAY = "param('a')*exp(-param('k')*t)"


@pytest.fixture
def decay(tmp_path, monkeypatch):
    """A table of a noisy decay, with a column of text, one with gaps, and one of weights."""
    rng = random.Random(1)  # noqa: S311
    path = tmp_path / "decay.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["t", "activity", "site", "gaps", "w", "E"])
        for k in range(40):
            t = k / 4
            y = 5 * math.exp(-0.4 * t) + rng.gauss(0, 0.02)
            gap = "" if k == 7 else 1.0
            writer.writerow([t, y, "ab"[k % 2], gap, 0.5 + (k % 3), 2 * t])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return path


def run(*arguments):
    result = CliRunner().invoke(app, ["fit", *map(str, arguments)])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result


def test_what_is_printed_can_be_pasted(decay):
    result = run(decay, DECAY, "--target", "activity")
    assert result.exit_code == 0, result.output
    fitted = json.loads(run(decay, DECAY, "--target", "activity", "--json").output)
    for key in ("fitted", "python", "latex", "sympy"):
        assert fitted[key].strip() in result.output
    assert fitted["parameters"]["k"] == pytest.approx(0.4, abs=4 * fitted["standard_errors"]["k"])
    t = np.arange(40) / 4
    expected = parse(fitted["fitted"]).evaluate({"t": t})
    scope: dict[str, object] = {}
    exec(fitted["python"], scope)  # noqa: S102
    assert scope["formula"](t) == pytest.approx(expected, rel=1e-15)
    exec(fitted["sympy"], scope)  # noqa: S102
    symbolic = [float(scope["formula"].subs(scope["t"], value)) for value in t[:5]]
    assert symbolic == pytest.approx(expected[:5], rel=1e-14)
    assert 0.99 < fitted["metrics"]["r2"]["value"] < 1


def test_options_reach_the_fit(decay):
    plain = fit_table(decay, DECAY, "activity").result
    assert run(decay, DECAY, "--target", "activity", "--seed", 3).exit_code == 0
    bound = json.loads(
        run(decay, DECAY, "--target", "activity", "--bounds", "a=:4", "--json").output
    )
    assert bound["parameters"]["a"] == 4
    assert "at a bound" in bound["message"]
    weighted = json.loads(run(decay, DECAY, "--target=activity", "--weights=w", "--json").output)
    assert weighted["parameters"]["a"] != plain.parameters["a"]
    t, y, w = (np.genfromtxt(decay, delimiter=",", names=True)[c] for c in ("t", "activity", "w"))
    model = weighted["parameters"]["a"] * np.exp(-weighted["parameters"]["k"] * t)
    assert weighted["loss"] == pytest.approx(np.sum(w * (y - model) ** 2))


def test_groups_and_names_that_mean_something_elsewhere(decay):
    grouped = json.loads(
        run(decay, "grouped_param(site, name='a')*exp(-param('k')*E/2)", "--target", "activity",
            "--json").output
    )  # fmt: skip
    assert sorted(grouped["parameters"]["a"]) == ["a", "b"]
    assert grouped["metrics"]["r2"]["value"] > 0.99
    shown = run(decay, "grouped_param(site, name='a')*exp(-param('k')*E/2)", "--target", "activity")
    assert "a[b]" in shown.output
    constant = json.loads(run(decay, "param('c')", "--target", "activity", "--json").output)
    assert constant["metrics"]["r2"]["value"] == pytest.approx(0, abs=1e-9)


def test_columns_that_are_not_used_may_have_gaps(decay):
    assert run(decay, DECAY, "--target", "activity").exit_code == 0
    refused = run(decay, "param('a')*gaps", "--target", "activity")
    assert refused.exit_code == 2
    assert "row 8" in refused.output
    kept = run(decay, "param('a')*gaps", "--target", "activity", "--drop-missing")
    assert kept.exit_code == 0
    assert "1 row dropped" in kept.output


def test_a_failed_fit_says_so(decay):
    failed = run(decay, "param('a')*log(-t)", "--target", "activity")
    assert failed.exit_code == 1
    assert "FAILED" in failed.output
    assert "undefined" in failed.output
    assert "Python" not in failed.output
    told = run(decay, "param('a')*log(-t)", "--target", "activity", "--json")
    assert told.exit_code == 1
    body = json.loads(told.output)
    assert (body["success"], body["fitted"], body["metrics"]) == (False, None, {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([DECAY], "--target COLUMN is needed"),
        ([DECAY, "--target", "activty"], "did you mean 'activity'"),
        (["param('a')*activity", "--target", "activity"], "uses the target"),
        (["param('a')*tt", "--target", "activity"], "tt"),
        (["param('a'", "--target", "activity"], "is missing before the end"),
        (["param('a')*site", "--target", "activity"], "text"),
        ([DECAY, "--target", "site"], "number"),
        ([DECAY, "--target", "activity", "--weights", "ww"], "did you mean 'w'"),
        ([DECAY, "--target", "activity", "--weights", "activity"], "that is the target"),
        ([DECAY, "--target", "activity", "--bounds", "b=0:1"], "no parameter"),
        ([DECAY, "--target", "activity", "--bounds", "a=0"], "NAME=LOW:HIGH"),
        ([DECAY, "--target", "activity", "--bounds", "a=x:1"], "not a number"),
        ([DECAY, "--target", "activity", "--plot", "fit.gif"], ".png"),
        ([DECAY, "--target", "activity", "--plot", "nowhere/fit.png"], "no folder"),
    ],
)
def test_mistakes_are_told(decay, arguments, message):
    result = run(decay, *arguments)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_bounds():
    assert read_bounds(["a=0:10", "b = :1", "c=2:"]) == {
        "a": (0.0, 10.0),
        "b": (None, 1.0),
        "c": (2.0, None),
    }
    with pytest.raises(UsageError, match="already"):
        read_bounds(["a=0:1", "a=2:3"])


@pytest.mark.parametrize("formula", [DECAY, "param('a')*exp(-param('k')*t) + 0*E"])
def test_plots(decay, formula):
    pytest.importorskip("matplotlib")
    picture = decay.parent / "fit.png"
    result = run(decay, formula, "--target", "activity", "--plot", picture)
    assert result.exit_code == 0, result.output
    assert picture.read_bytes().startswith(b"\x89PNG")
    picture.unlink()
    assert run(decay, "log(-t)", "--target", "activity", "--plot", picture).exit_code == 1
    assert not picture.exists()

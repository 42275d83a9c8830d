from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from srh.errors import FormatError, UsageError
from srh.files import FileRefusedError
from srh.tasks import load_task
from srh.trials import (
    TrialSpec,
    find_trial,
    ignored_folders,
    list_trials,
    new_trial,
    read_source,
    read_spec,
)
from support import add_trial


def test_the_digest_covers_kind_and_source_only(project):
    first = read_source(project.trials / "line" / "right")
    other = add_trial(project, "same", "param('a')*x + param('b')")
    (other / "trial.toml").write_text('kind = "formula"\ndescription = "the same"\n')
    (other / "notes.txt").write_text("whatever")
    assert read_source(other).digest == first.digest
    (other / "formula.txt").write_text("param('a')*x + param('c')\n")
    assert read_source(other).digest != first.digest


def test_without_trial_toml_the_only_source_file_tells_the_kind(project):
    folder = project.trials / "line" / "right"
    digest = read_source(folder).digest
    (folder / "trial.toml").unlink()
    assert read_source(folder).digest == digest
    (folder / "model.py").write_text("")
    with pytest.raises(FormatError, match=r"not exactly one of .*formula.txt, model.py found"):
        read_source(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('kind = "formula"\nauthr = "x"', "authr: unknown field (did you mean 'author'?)"),
        ('kind = "formulae"', "kind: 'formulae' is not one of 'formula', "),
        ("", "kind: required field is missing"),
        ('kind = "model"', "kind: 'model' needs a file 'model.py'"),
        ("kind = ", "not valid TOML"),
        ('kind = "formula"\nparents = "a"', "parents: Expected `array`, got `str`"),
    ],
)
def test_a_wrong_trial_toml_is_refused_by_field(project, content, message):
    folder = project.trials / "line" / "right"
    (folder / "trial.toml").write_text(content)
    with pytest.raises(FormatError) as caught:
        read_source(folder)
    assert message in str(caught.value)


def test_nothing_in_a_trial_is_followed(project, tmp_path):
    folder = project.trials / "line" / "right"
    (tmp_path / "secret").write_text("x")
    (folder / "formula.txt").unlink()
    (folder / "formula.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(FileRefusedError):
        read_source(folder)
    (folder / "formula.txt").unlink()
    os.mkfifo(folder / "formula.txt")
    with pytest.raises(FileRefusedError):
        read_source(folder)
    (project.trials / "line" / "linked").symlink_to(folder, target_is_directory=True)
    with pytest.raises(FileRefusedError):
        read_source(project.trials / "line" / "linked")


def test_a_huge_source_is_refused(project):
    folder = add_trial(project, "huge", "x")
    with (folder / "formula.txt").open("wb") as stream:
        stream.truncate(1 << 40)  # sparse: its nominal size must not matter
    with pytest.raises(FileRefusedError, match="larger than the limit"):
        read_source(folder)


def test_what_was_digested_is_what_is_staged(project, tmp_path):
    folder = project.trials / "line" / "right"
    source = read_source(folder)
    (folder / "formula.txt").write_text("x")
    source.stage(tmp_path / "staged")
    assert read_source(tmp_path / "staged").digest == source.digest


def test_two_writers_never_share_an_id(project):
    task = load_task(project, "line")
    spec = TrialSpec(kind="formula", description='quotes " and \\ and µ')

    def make(number: int) -> str:
        return new_trial(project, task, "try", spec, f"x + {number}\n").id

    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(make, range(24)))
    assert len(set(ids)) == 24
    assert read_spec(project.trials / "line" / "try") == spec


@pytest.mark.parametrize(
    "name", ["", "..", "a/b", ".hidden", "a b", "-x", "x" * 101, "runs", "a\n"]
)
def test_a_trial_id_is_a_plain_name(project, name):
    task = load_task(project, "line")
    with pytest.raises(UsageError):
        new_trial(project, task, name, TrialSpec(kind="formula"), "x")


def test_a_kind_that_the_task_does_not_accept_is_refused(project):
    with pytest.raises(UsageError, match="accepts formula, not model"):
        new_trial(project, load_task(project, "line"), "m", TrialSpec(kind="model"), "")


def test_trials_are_found_by_name_and_path(project, monkeypatch):
    folder = project.trials / "line" / "right"
    for text in ("line/right", str(folder), f"{folder}/"):
        assert find_trial(project, text).name == "line/right"
    monkeypatch.chdir(project.root)
    assert find_trial(project, "trials/line/right").name == "line/right"
    with pytest.raises(UsageError, match="did you mean 'line/right'"):
        find_trial(project, "line/rigth")
    with pytest.raises(UsageError, match="did you mean 'right'"):
        find_trial(project, "rigth")


def test_listing_leaves_out_what_is_no_trial(project):
    parent = project.trials / "line"
    (parent / "runs").mkdir()
    (parent / ".cache").mkdir()
    (parent / "file").write_text("")
    (parent / "a\x1b[2Jb").mkdir()
    add_trial(project, "another", "x")
    assert [trial.id for trial in list_trials(project, "line")] == ["another", "right"]
    assert ignored_folders(project, "line") == ["ab"]

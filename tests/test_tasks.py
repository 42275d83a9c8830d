from __future__ import annotations

import pytest

from srh.context import DataSpec
from srh.errors import FormatError, SrhError, UsageError
from srh.project import find_project
from srh.task_check import check_task
from srh.tasks import declared_data, load_task


def edit(project, old, new):
    path = project.tasks / "line" / "task.toml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def problems(project):
    with pytest.raises(FormatError) as caught:
        load_task(project, "line")
    return caught.value.problems


def test_a_task_loads_with_its_data_folds_and_holdout(project):
    task = load_task(project, "line")
    assert task.dataset.n_rows == 40
    assert task.holdout.tolist() == [0, 10, 20, 30]
    assert len(task.partitions) == 4
    used = {row for train, validation in task.partitions for row in (*train, *validation)}
    assert used == set(range(40)) - {0, 10, 20, 30}
    assert task.final_partitions[0][1] == [0, 10, 20, 30]
    assert any("40 rows" in line for line in check_task(task))


def test_several_mistakes_are_reported_together(project):
    edit(project, 'path = "data.csv"', 'path = "dta.csv"')
    edit(project, 'metric = "rmse"', 'metric = "rmes"')
    edit(project, "tolerance = 1e-9", "tolerance = 2.0")
    edit(project, "n_splits = 4", "n_splits = 1")
    found = "\n".join(problems(project))
    assert "data.path: no file 'dta.csv'" in found
    assert "did you mean 'data.csv'?" in found
    assert (
        "ranking.metric: 'rmes' is not a metric here (did you mean 'rmse'?); metrics here: "
        in found
    )
    assert "tolerance: must be at least 0" in found
    assert "partitions.n_splits: is 1" in found


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("wall_s = 30", "wall = 30", "limits.wall: unknown field (did you mean 'wall_s'?)"),
        ("wall_s = 30", "wall_s = -1", "limits: wall_s must be a positive finite number"),
        ('title = "A straight line"', "", "title: required field is missing"),
        (
            'accepts = ["formula"]',
            'accepts = ["formulas"]',
            "accepts[0]: 'formulas' is not one of ",
        ),
        ('path = "data.csv"', 'path = "../data.csv"', "must stay inside the task's folder"),
        ('path = "data.csv"', 'path = "/etc/passwd"', "must stay inside the task's folder"),
        (
            'target = "y"',
            'target = "y"\nmissing = "ignore"',
            "missing: 'ignore' is not one of 'error', ",
        ),
        ('metric = "rmse"', 'metric = "r2"\ndirection = "minimize"', "ranking.direction"),
        (
            "[ranking]",
            '[[metrics]]\nname = "rmse"\n[[metrics]]\nname = "rmsee"\n[ranking]',
            "metrics[1].name: unknown metric 'rmsee' (did you mean 'rmse'?) (known_evaluator)",
        ),
        ('accepts = ["formula"]', 'requires = ["no-such-package"]', "is not installed"),
    ],
)
def test_each_mistake_names_its_field(project, old, new, message):
    edit(project, old, new)
    assert any(message in problem for problem in problems(project)), problems(project)


def test_unknown_task_lists_those_that_exist(project):
    with pytest.raises(UsageError, match=r"no task 'lin'.*did you mean 'line'.*tasks there: line"):
        load_task(project, "lin")


def test_description_does_not_change_the_digest_but_everything_else_does(project):
    before = load_task(project, "line").digest
    edit(project, "A straight line", "Another title")
    assert load_task(project, "line").digest == before
    edit(project, "n_splits = 4", "n_splits = 5")
    assert load_task(project, "line").digest != before


def test_explicit_partitions_come_from_a_file_and_count_in_the_digest(project):
    folds = project.tasks / "line" / "folds.json"
    folds.write_text("[[[1, 2, 3], [4, 5]], [[4, 5], [1, 2]]]")
    edit(project, 'kind = "kfold"\nn_splits = 4', 'kind = "explicit"\nfile = "folds.json"')
    task = load_task(project, "line")
    assert task.partitions == [([1, 2, 3], [4, 5]), ([4, 5], [1, 2])]
    before = task.digest
    folds.write_text("[[[1, 2], [4, 5]]]")
    assert load_task(project, "line").digest != before
    folds.write_text("[[[1, 2], [2, 10]]]")
    with pytest.raises(SrhError, match="2") as caught:
        _ = load_task(project, "line").partitions
    assert "10" in str(caught.value), "the held-out row is named too"


def test_evaluator_partitions_use_the_evaluators_own_split(project):
    edit(project, 'kind = "kfold"\nn_splits = 4', 'kind = "evaluator"')
    ((train, validation),) = load_task(project, "line").partitions
    assert sorted([*train, *validation]) == sorted(set(range(40)) - {0, 10, 20, 30})
    assert len(validation) == 9


def test_a_task_without_holdout_has_no_final_score(project):
    edit(project, "[holdout]\nrows = [0, 10, 20, 30]\n", "")
    with pytest.raises(UsageError, match="no \\[holdout\\]"):
        _ = load_task(project, "line").final_partitions


def test_the_task_beside_a_data_file_declares_only_its_own_data(project, tmp_path):
    data = project.tasks / "line" / "data.csv"
    assert declared_data(data) == load_task(project, "line").spec.data.spec()
    assert declared_data(data).target == "y"
    other = data.with_name("other.csv")
    other.write_text("a,b\n1,2\n")
    assert declared_data(other) == DataSpec()
    assert declared_data(tmp_path / "lonely.csv") == DataSpec()


def test_the_project_is_found_upwards_or_refused(project, tmp_path):
    assert find_project(project.tasks / "line").root == project.root
    with pytest.raises(UsageError, match=r"no srh.toml in .* or above it"):
        find_project(tmp_path)
    with pytest.raises(UsageError, match="has no tasks/ folder"):
        find_project(tmp_path, tmp_path)


@pytest.mark.parametrize(
    ("kind", "rows", "note"),
    [
        ('group_kfold"\ngroup = "half', "[0, 10]", "2 groups of 'half' have rows in the holdout"),
        ('group_kfold"\ngroup = "half', "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]", None),
        ("chronological", "[0, 10]", "the holdout is not the last rows"),
        ("chronological", "[38, 39]", None),
    ],
)
def test_a_holdout_that_asks_less_than_the_folds_is_noted(project, kind, rows, note):
    data = project.tasks / "line" / "data.csv"
    lines = data.read_text().splitlines()
    lines = [f"{lines[0]},half", *(f"{line},{i // 10}" for i, line in enumerate(lines[1:]))]
    data.write_text("\n".join(lines) + "\n")
    edit(project, 'target = "y"', 'target = "y"\nfeatures = ["x"]')
    edit(project, 'kind = "kfold"\nn_splits = 4', f'kind = "{kind}"\nn_splits = 3')
    edit(project, "rows = [0, 10, 20, 30]", f"rows = {rows}")
    notes = [line for line in check_task(load_task(project, "line")) if line.startswith("note")]
    assert len(notes) == (0 if note is None else 1)
    assert note is None or note in notes[0]
